"""synthetic.py - synthetic surveys with known traces, for make survey.

A 2-D line of 120 shots with 60 channels. Five reflectors, some of which cross, and a
diffractor, or others at other velocities or positions, are modelled by Kirchhoff's integral: each
point of a reflector scatters the wavelet of the source to the receiver, delayed by the length of
the path over a velocity of the reflector's own. So amplitudes, curved and crossing events, edges
and diffractions are those of waves, but velocities are constant along each event. Every third
shot is dead. Another line (split) has a split spread and uneven stations.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SHOTS, CHANNELS, SPACING, FIRST_OFFSET = 120, 60, 25.0, 100.0  # metres
SAMPLES, DT = 500, 0.004  # seconds
NOISE_BAND = 3.0, 75.0  # Hz
POINT_SPACING = 10.0  # metres between the points of a reflector: below half a wavelength
DEAD = 2


@dataclass
class Layout:
    """Shots one after the other, with as many channels each."""
    source: Array  # [traces], metres
    receiver: Array
    dead: NDArray[np.bool_]
    channels: int
    spacing: float  # of the shots, metres
    # The shots and channels that are scored, and those that are drawn.
    scored: tuple[tuple[int, ...], range]
    more: tuple[int, ...]  # traces that are scored, too
    shown: tuple[range, int]
    uneven: float  # metres: half-offsets that differ by less are the same channel's


def marine() -> Layout:
    """Receivers behind the source; every third shot is dead."""
    shot = np.repeat(np.arange(SHOTS), CHANNELS)
    source = shot * SPACING
    receiver = source + FIRST_OFFSET + np.tile(np.arange(CHANNELS), SHOTS) * SPACING
    return Layout(source, receiver, shot % 3 == 1, CHANNELS, SPACING,
                  ((19, 40, 64, 85), range(2, 60, 4)), (), (range(22, 82), 22), 1.0)


def split() -> Layout:
    """60 shots on uneven stations, 24 channels on each side of the source; every fourth shot
    and a channel are dead."""
    shots, channels, station = 60, 48, 25.0
    shift = np.random.default_rng(77).integers(-5, 6, 2 * shots + channels)  # metres
    at = np.arange(len(shift)) * station + shift
    first = np.repeat(2 * np.arange(shots), channels)  # the station of the first channel
    channel = np.tile(np.arange(channels), shots)
    source = at[first + channels // 2] - station / 2  # between two stations
    shot = first // 2
    dead = (shot % 4 == 2) | (channel == 30)
    return Layout(source, at[first + channel], dead, channels, 2 * station,
                  ((10, 22, 34, 46), range(1, 48, 3)),
                  tuple(shot * channels + 30 for shot in (12, 25, 36, 49)), (range(4, 56), 36),
                  station / 2)


@dataclass
class Model:
    """What is below the line."""
    reflectors: list[tuple[Array, Array, float, float]]  # x, depth, velocity, amplitude
    diffractor: tuple[float, float, float, float]  # the same of a point
    frequency: float  # Hz, of the Ricker wavelet
    # Root-mean-square velocity, m/s, at times of offset 0, s: what an analyst would pick.
    picks: tuple[tuple[float, ...], tuple[float, ...]]
    velocity: str  # velocity= of the program
    layout: Callable[[], Layout] = marine


@dataclass
class Survey:
    """Traces in the order of the file; shots one after the other."""
    source: Array    # metres
    receiver: Array
    truth: Array     # [traces][SAMPLES], without noise; largest amplitudes are about 1
    dead: NDArray[np.bool_]
    below: Model
    layout: Layout

    @property
    def m(self) -> Array:
        return (self.source + self.receiver) / 2

    @property
    def h(self) -> Array:
        return (self.receiver - self.source) / 2


def line() -> Model:
    """An undulating reflector, three that dip or are flat and cross in time, a syncline, a
    fault."""
    x = np.arange(-1500, 6000, POINT_SPACING)
    middle, left = (x > 300) & (x < 3900), x < 2200
    return Model([(x, 430 + 30 * np.sin(2 * np.pi * x / 1700), 1850, 1.0),
                  (x, 560 + 0.13 * x, 2050, 0.9),
                  (x[middle], 1900 - 0.32 * x[middle], 2200, 0.8),
                  (x, 1430 - 180 * np.exp(-((x - 2100) / 320) ** 2), 2300, 0.9),
                  (x[left], np.full(left.sum(), 1790.0), 2500, 0.8),
                  (x[~left], np.full((~left).sum(), 1850.0), 2500, 0.8)],
                 (1750.0, 1120.0, 2200.0, 10.0), 25.0,
                 ((0.45, 0.75, 1.25, 1.6), (1850.0, 2050.0, 2250.0, 2450.0)), "1700,3000")


def other() -> Model:
    """Faster and deeper reflectors, a lower frequency."""
    x = np.arange(-1500, 6000, POINT_SPACING)
    middle, left = (x > 0) & (x < 3300), x < 2600
    return Model([(x, 520 + 0.09 * x, 2200, 0.9),
                  (x[middle], 1650 - 0.25 * x[middle], 2500, 1.0),
                  (x, 1250 + 60 * np.sin(2 * np.pi * x / 2300), 2450, 0.8),
                  (x, 1900 - 200 * np.exp(-((x - 1700) / 400) ** 2), 2800, 0.9),
                  (x[left], np.full(left.sum(), 2300.0), 3000, 0.9),
                  (x[~left], np.full((~left).sum(), 2380.0), 3000, 0.9)],
                 (2300.0, 1500.0, 2600.0, 10.0), 20.0,
                 ((0.45, 0.75, 1.1, 1.6), (2200.0, 2350.0, 2550.0, 2900.0)), "1900,3600")


def untuned() -> Model:
    """Two reflectors that dip by 9 degrees and cross, a flat one, a diffractor. No default was
    tuned with them."""
    x = np.arange(-1500, 6000, POINT_SPACING)
    slope = np.tan(np.radians(9))
    return Model([(x, 750 + slope * (x - 2000), 2000, 1.0),
                  (x, 850 - slope * (x - 2000), 2100, 0.9),
                  (x, np.full(len(x), 1500.0), 2400, 0.8)],
                 (2150.0, 1000.0, 2150.0, 12.0), 28.0,
                 ((0.5, 0.8, 1.25, 1.6), (1950.0, 2050.0, 2400.0, 2500.0)), "1700,3000", split)


def add_arrivals(traces: Array, time: Array, amplitude: Array) -> None:
    """Adds amplitudes [trace][arrival] at times in seconds to traces [trace][sample], split
    between the two samples around them."""
    count, length = traces.shape
    sample = time / DT
    first = np.floor(sample).astype(int)
    part = sample - first
    inside = first < length - 1
    index = (np.arange(count)[:, None] * length + first)[inside]
    for step, weight in ((0, 1 - part), (1, part)):
        traces += np.bincount(index + step, (amplitude * weight)[inside],
                              traces.size).reshape(traces.shape)


def shot_traces(below: Model, source: Array, receiver: Array) -> Array:
    """The traces of a shot, without noise."""
    length = 2 * SAMPLES
    traces = np.zeros((len(source), length))
    for x, depth, velocity, amplitude in below.reflectors:
        slope = np.gradient(depth, x)
        down, up = (np.hypot(x - end[:, None], depth) for end in (source, receiver))
        # The cosines of the angles between the two rays and the normal of the reflector.
        cosines = sum((depth - slope * (x - end[:, None])) / ray / np.hypot(1, slope)
                      for end, ray in ((source, down), (receiver, up)))
        taper = np.clip(np.minimum(x - x[0], x[-1] - x) / 200, 0, 1)
        add_arrivals(traces, (down + up) / velocity,
                     amplitude * taper * POINT_SPACING * np.hypot(1, slope) * cosines / 2
                     * np.sqrt((down + up) / (down * up)))
    x0, depth0, velocity, amplitude = below.diffractor
    path = np.hypot(x0 - source, depth0) + np.hypot(x0 - receiver, depth0)
    add_arrivals(traces, path[:, None] / velocity, np.full((len(source), 1), amplitude))
    # A line of scatterers integrates the wavelet by half an order: it is differentiated.
    f = np.fft.rfftfreq(length, DT)
    ricker = f ** 2 / below.frequency ** 3 * np.exp(-(f / below.frequency) ** 2)
    spectrum = ricker * np.sqrt(2j * np.pi * f) / np.sinc(f * DT) ** 2
    found: Array = np.fft.irfft(np.fft.rfft(traces) * spectrum)[:, :SAMPLES]
    return found


def rows(shot: int, channels: int = CHANNELS) -> slice:
    """The traces of a shot."""
    return slice(shot * channels, (shot + 1) * channels)


def geometry(below: Model) -> Survey:
    """The survey without samples: they are zero."""
    at = below.layout()
    return Survey(at.source, at.receiver, np.zeros((len(at.source), SAMPLES)), at.dead, below, at)


def survey(below: Model) -> Survey:
    made = geometry(below)
    channels = made.layout.channels
    for row in (rows(shot, channels) for shot in range(len(made.source) // channels)):
        made.truth[row] = shot_traces(below, made.source[row], made.receiver[row])
    made.truth /= np.median(abs(made.truth).max(axis=1))
    return made


def noise(of: Survey, ratio: float, seed: int = 1) -> Array:
    """Noise of NOISE_BAND whose signal-to-noise ratio is `ratio` dB."""
    f = np.fft.rfftfreq(SAMPLES, DT)
    band = (f > NOISE_BAND[0]) & (f < NOISE_BAND[1])
    white = np.random.default_rng(seed).standard_normal(of.truth.shape)
    coloured: Array = np.fft.irfft(np.fft.rfft(white) * band, SAMPLES)
    return coloured * (of.truth.std() / coloured.std() * 10 ** (-ratio / 20))


def write(path: Path, of: Survey, samples: Array) -> None:
    """Writes an SU file, in which dead traces are marked and zero."""
    names = {"tracl": (0, "i4"), "tracr": (4, "i4"), "fldr": (8, "i4"), "tracf": (12, "i4"),
             "cdp": (20, "i4"), "trid": (28, "i2"), "offset": (36, "i4"), "scalco": (70, "i2"),
             "sx": (72, "i4"), "gx": (80, "i4"), "counit": (88, "i2"), "ns": (114, "u2"),
             "dt": (116, "u2"), "samples": (240, f"({SAMPLES},)f4")}
    record = np.dtype({"names": list(names), "formats": ["<" + t if t[0] != "(" else t
                                                         for _, t in names.values()],
                       "offsets": [first for first, _ in names.values()],
                       "itemsize": 240 + 4 * SAMPLES})
    count = len(of.m)
    traces: Any = np.zeros(count, record)
    number = np.arange(count)
    values = {"tracl": number + 1, "tracr": number + 1, "fldr": number // of.layout.channels + 1,
              "tracf": number % of.layout.channels + 1, "cdp": np.round(of.m / (SPACING / 2)) + 1,
              "trid": np.where(of.dead, DEAD, 1), "offset": np.round(2 * of.h), "scalco": 1,
              "sx": np.round(of.source), "gx": np.round(of.receiver), "counit": 1,
              "ns": SAMPLES, "dt": round(DT * 1e6),
              "samples": np.where(of.dead[:, None], 0, samples)}
    for name, value in values.items():
        traces[name] = value
    path.parent.mkdir(parents=True, exist_ok=True)
    traces.tofile(path)
