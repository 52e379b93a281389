"""survey.py - make survey: fills missing traces of test surveys, and compares.

The surveys (synthetic.py) differ in their noise; the third one also in its reflectors, the last
two in their geometry: no default was tuned with them. Scored are some channels of four dead shots,
and some traces of a dead channel: SNR = 10 log10 (energy of the truth / energy of the error), dB.
The rivals are what a processing package offers: the mean of the traces after normal moveout (NMO)
with picked velocities, in the aperture that is best for it by the truth; the same mean times the
weight of the program; linear interpolation between the nearest traces of the same offset after NMO.

For each survey, a section of one offset is drawn: the input, filled in two passes, the truth, the
difference, and the SNR of each trace (FOLDER/survey-NAME.svg).

If the program advises another dip=, the survey is filled again with it. What limits the result is
in these lines: the dip that was searched, and with it the gain of a second pass, which separates
events that cross.

The last lines are one for each survey and number of passes. The exit status is 1 if a bar is
missed: BARS, the gain over the best NMO mean, with the dip that the program advises; and LOSS, by
window=moveout and by search=coarse, which take less time.
"""
from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.base import options, runs, tree
from tools.measure import section, synthetic
from tools.publish import draw

Array = NDArray[np.float64]

# The model of the ground, signal-to-noise ratio of the input in dB, seed of the noise. Only the
# velocities are set; the other options have defaults that were tuned without "other".
SURVEYS: dict[str, tuple[Callable[[], synthetic.Model], float | None, int]] = {
    "noisy": (synthetic.line, -3.0, 1),
    "clean": (synthetic.line, None, 1),
    "other": (synthetic.other, 0.0, 5),
    "untuned": (synthetic.untuned, -7.4, 9),
    "untuned-clean": (synthetic.untuned, None, 9)}
PASSES = 1, 2
# The gain over the best NMO mean, dB, that a survey must reach with a number of passes.
BARS = {("noisy", 1): 3.0, ("noisy", 2): 5.0, ("clean", 2): 2.0, ("other", 1): 3.0,
        ("other", 2): 3.0, ("untuned", 1): 4.0, ("untuned", 2): 4.0, ("untuned-clean", 2): 4.0}
LOSS = {"window=moveout": 0.3, "search=coarse": 0.2}  # the most that these may lose, dB
FIRST, LAST = 85, 460          # samples that are filled and scored
# Apertures of the NMO mean, metres in midpoint and half-offset, for shots at 25 m.
APERTURES = [(6, 60), (12.5, 60), (12.5, 120), (12.5, 200), (25, 60), (25, 120)]
NOISE_SEMBLANCE = 1, 3  # constants of the weight: without a search, and as in the program
HALF_WINDOW = 8         # samples, of the semblance of the NMO mean


def folder() -> Path:
    """Where the surveys and the filled traces are written."""
    return tree.build() / "survey"


def scored_traces(line: synthetic.Survey) -> Array:
    """The indices of the scored traces."""
    shots, channels = line.layout.scored
    traces = [shot * line.layout.channels + channel for shot in shots for channel in channels]
    return np.array(traces + list(line.layout.more))


def apertures(line: synthetic.Survey) -> list[tuple[float, float]]:
    scale = line.layout.spacing / synthetic.SPACING
    return [*APERTURES, *((m * scale, h) for m, h in APERTURES if scale > 1),
            *((m * scale, h * scale) for m, h in APERTURES if scale > 1)]


def snr(truth: Array, found: Array) -> float:
    return float(10 * np.log10((truth ** 2).sum() / ((found - truth) ** 2).sum()))


# ---- rivals ----------------------------------------------------------------------------


def moveout(line: synthetic.Survey, h0: float) -> tuple[Array, Array]:
    """(time of offset 0, 4 / v^2) of the filled samples of a trace of half-offset h0."""
    t = np.arange(FIRST, LAST) * synthetic.DT
    tn = t
    for _ in range(10):
        squared = 4 / np.interp(tn, *line.below.picks) ** 2
        tn = np.sqrt(np.maximum(t ** 2 - squared * h0 ** 2, 0.01))
    return tn, squared


def along(line: synthetic.Survey, samples: Array, h: Array, h0: float, delay: int = 0) -> Array:
    """The traces [trace][time] after NMO, at half-offset h0; delay in samples."""
    tn, squared = moveout(line, h0)
    x = np.sqrt(tn ** 2 + squared * h[:, None] ** 2) / synthetic.DT + delay
    x = np.clip(x, 0, samples.shape[1] - 1.001)
    i = x.astype(int)
    row = np.arange(len(h))[:, None]
    return samples[row, i] + (x - i) * (samples[row, i + 1] - samples[row, i])


def nmo_mean(line: synthetic.Survey, samples: Array, reach: tuple[float, float],
             traces: Array) -> tuple[Array, Array, Array]:
    """(mean, semblance, number of traces) of the traces around each one after NMO."""
    means, coherences, counts = [], [], []
    for i in traces:
        near = ~line.dead & (abs(line.m - line.m[i]) <= reach[0]) & (
            abs(line.h - line.h[i]) <= reach[1])
        rows = samples[near] if near.any() else samples[:1] * 0
        h = line.h[near] if near.any() else line.h[:1]
        stack, energy = np.zeros(LAST - FIRST), np.zeros(LAST - FIRST)
        for delay in range(-HALF_WINDOW, HALF_WINDOW + 1):
            v = along(line, rows, h, line.h[i], delay)
            stack += v.mean(axis=0) ** 2
            energy += (v ** 2).mean(axis=0)
        means.append(along(line, rows, h, line.h[i]).mean(axis=0))
        coherences.append(stack / np.maximum(energy, 1e-30))
        counts.append(len(rows))
    return np.array(means), np.array(coherences), np.array(counts)[:, None]


def linear(line: synthetic.Survey, samples: Array, traces: Array) -> Array:
    """Linear interpolation in midpoint between the nearest traces of the same offset."""
    result = []
    for i in traces:
        same = np.flatnonzero(~line.dead & (abs(line.h - line.h[i]) < line.layout.uneven))
        left = max(same[line.m[same] < line.m[i]], key=lambda k: line.m[k])
        right = min(same[line.m[same] > line.m[i]], key=lambda k: line.m[k])
        part = (line.m[i] - line.m[left]) / (line.m[right] - line.m[left])
        result.append((1 - part) * samples[left, FIRST:LAST] + part * samples[right, FIRST:LAST])
    return np.array(result)


def best_mean(line: synthetic.Survey, samples: Array, traces: Array) -> Array:
    """The NMO mean in the aperture that is best for it by the truth."""
    truth = line.truth[traces, FIRST:LAST]
    means = [nmo_mean(line, samples, reach, traces)[0] for reach in apertures(line)]
    return max(means, key=lambda mean: snr(truth, mean))


def rivals(line: synthetic.Survey, samples: Array) -> Iterator[tuple[str, float]]:
    """(name, SNR in dB); the first is the best NMO mean."""
    traces = scored_traces(line)
    truth = line.truth[traces, FIRST:LAST]
    plain, weighted = -np.inf, -np.inf
    for reach in apertures(line):
        mean, coherence, count = nmo_mean(line, samples, reach, traces)
        plain = max(plain, snr(truth, mean))
        for constant in NOISE_SEMBLANCE:
            floor = np.minimum(constant / count, 0.9)
            weight = np.maximum(coherence - floor, 0) / (1 - floor) / np.maximum(coherence, 1e-30)
            weighted = max(weighted, snr(truth, mean * weight))
    yield "best NMO mean", plain
    yield "best NMO mean times the weight", weighted
    yield "linear after NMO", snr(truth, linear(line, samples, traces))


# ---- the program -----------------------------------------------------------------------


def fill(line: synthetic.Survey, data: Path, backend: str, passes: int, words: list[str],
         wanted: Array) -> tuple[Array, float, str]:
    """(traces as the last step fills them, seconds, what it says on stderr)."""
    step = [s for s in tree.steps() if backend in s.available(tree.programs()[0])][-1]
    places, output = data.with_suffix(".places"), data.with_suffix(".filled.su")
    rows = [f"{line.source[i]:g} {line.receiver[i]:g}" for i in wanted]
    places.write_text("\n".join(["sx gx", *rows]) + "\n")
    for path in data.parent.glob(f"{output.name}*"):
        path.unlink()
    command: list[runs.Argument] = [
        step.binary(tree.programs()[0], backend), f"in={data}", f"positions={places}",
        f"t0={FIRST * synthetic.DT:g},{synthetic.DT:g},{LAST - FIRST}"]
    start = time.monotonic()
    # Threads that wait must not spin: each of the searches is short.
    waiting = os.environ.get("OMP_WAIT_POLICY", "passive")
    result = runs.run([*command, *words, f"passes={passes}",
                       f"stack={output}"], 3600, {"OMP_WAIT_POLICY": waiting})
    if result.failure():
        raise SystemExit(f"survey: {step.name} {backend} {result.failure()}")
    print(result.err.strip())
    return section.traces(output)["samples"].astype(float), time.monotonic() - start, result.err


def find_advice(messages: str) -> list[str]:
    """The options that the program advises."""
    return re.findall(r"\btry (dip=\S+)", messages)


@dataclass
class Picture:
    """A section of one offset, and how well its missing traces were filled."""
    name: str
    path: Path
    sheets: list[tuple[str, Array]]  # title, samples [trace][sample]
    m: Array                         # midpoints, km
    times: tuple[float, float]       # of the first and the last sample, s
    dead: Array                      # midpoints of the filled traces, km
    snr: list[tuple[str, Array]]     # of each of them, dB


def picture(line: synthetic.Survey, samples: Array, data: Path, backend: str, words: list[str],
            path: Path, name: str) -> Picture:
    shots, channel = line.layout.shown
    shown = np.array([shot * line.layout.channels + channel for shot in shots])
    dead = shown[line.dead[shown]]
    filled, truth = line.truth * 0, line.truth[shown, FIRST:LAST]
    filled[shown, FIRST:LAST] = samples[shown, FIRST:LAST] * ~line.dead[shown, None]
    before = filled[shown, FIRST:LAST].copy()
    filled[dead, FIRST:LAST] = fill(line, data, backend, PASSES[-1], words, dead)[0]
    after = filled[shown, FIRST:LAST]
    mean = best_mean(line, samples, dead)
    rows = {"filled, two passes": after[line.dead[shown]], "best NMO mean": mean}
    right = truth[line.dead[shown]]
    each = [(label, np.array([snr(*pair) for pair in zip(right, found, strict=True)]))
            for label, found in rows.items()]
    difference: Array = np.where(line.dead[shown, None], after - truth, 0.0)
    return Picture(name, path, [("input", before), ("filled", after), ("truth", truth),
                                ("4 x (filled - truth)", 4.0 * difference)], line.m[shown] / 1000,
                   (FIRST * synthetic.DT, LAST * synthetic.DT), line.m[dead] / 1000, each)


def main(words: list[str] | None = None) -> int:
    parser = options.parser(__doc__, "BACKEND")
    parser.add_argument("--args", default=os.environ.get("ARGS", ""), metavar="ARGS",
                        help="further arguments of the program")
    parser.add_argument("--figures", default=os.environ.get("FIGURES", str(folder())),
                        metavar="FOLDER", help="where the figures are written")
    arguments = options.parse(parser, words)
    further = options.split("ARGS", arguments.args)
    backend = arguments.backend or "omp"
    last, missed = [], False
    for name, (below, ratio, seed) in SURVEYS.items():
        line = synthetic.survey(below())
        traces = scored_traces(line)
        truth = line.truth[traces, FIRST:LAST]
        samples = line.truth if ratio is None else line.truth + synthetic.noise(line, ratio, seed)
        data = folder() / f"{name}.su"
        synthetic.write(data, line, samples)
        best, *others = rivals(line, samples)
        print(f"{name}: " + ", ".join(f"{rival} {value:.1f} dB" for rival, value in others))
        job = tree.with_arguments([f"velocity={line.below.velocity}"], further)
        for passes in PASSES:
            count = f"{passes} pass" + "es" * (passes > 1)
            found, seconds, messages = fill(line, data, backend, passes, job, traces)
            if find_advice(messages):
                last.append(f"{name}, {count}, default dip: filled {snr(truth, found):.1f} dB")
                job = tree.with_arguments(job, find_advice(messages))
                found, seconds, messages = fill(line, data, backend, passes, job, traces)
            filled = snr(truth, found)
            print(f"{name}, {count}: {len(truth)} traces of {LAST - FIRST} samples in "
                  f"{seconds:.1f} s")
            bar = best[1] + BARS.get((name, passes), -np.inf)
            missed = missed or filled < bar
            last.append(f"{name}, {count}: filled {filled:.1f} dB in {seconds:.1f} s, {best[0]} "
                        f"{best[1]:.1f} dB" + f": below the bar, {bar:.1f} dB" * (filled < bar))
            for faster, loss in LOSS.items():
                found, seconds, _ = fill(line, data, backend, passes,
                                         tree.with_arguments(job, [faster]), traces)
                gain = snr(truth, found) - filled
                missed = missed or gain < -loss
                last.append(f"{name}, {count}, {faster}: filled {filled + gain:.1f} dB "
                            f"({gain:+.2f}) in {seconds:.1f} s"
                            + f": loses more than {loss} dB" * (gain < -loss))
        path = Path(arguments.figures) / f"survey-{name}.svg"
        path.parent.mkdir(parents=True, exist_ok=True)
        draw.filled_survey(picture(line, samples, data, backend, job, path, name))
        print(path)
    print("\n".join(last))
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
