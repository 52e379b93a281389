"""Draw what each rung of steps 01 to 07 of semblance gains, and its place in the roofline,
from results/MACHINE.csv and results/MACHINE-ceilings.csv.

    python3 docs/figures/semblance_rungs.py

semblance-rungs.svg: the speed relative to step 00 after each rung, a quarter of set 2.
semblance-roofline.svg: floating-point operations per second against operations per byte that
a visit reads. The operations per visit (window of 5) are counted in the source; the lesson of
step 05 has them for each of its rungs. The bytes are those that step.mk of each step declares;
from 05.4 on the entry of a trace has 4 bytes less, and from 05.8 on a value of t2_abc is read.
MACHINE is not the reference machine, on which the rungs have not been measured.
"""
from __future__ import annotations

import theme

MACHINE = "Intel-R-Xeon-R-Processor-family-6h-model-A7h-2-cores"
NAME = theme.machine_name(MACHINE)
SERIES = {"omp": ("OpenMP, 2 threads", theme.A), "ocl": ("OpenCL on the same cores", theme.B)}
VISITS = 92.8e6  # of a quarter of set 2
OPERATIONS = {"05.1": 79, "05.2": 55, "05.3": 56, "05.4": 48, "05.5": 47, "05.6": 46, "05.7": 46,
              "05.8": 38, "05.9": 38}
Row = dict[str, str]


def measured() -> dict[str, dict[str, Row]]:
    """{rung, or step without rungs: {back-end: its row}}, in the order of the history."""
    of_set = [r for r in theme.measured(MACHINE)
              if (r["program"], r["set"]) == ("semblance", "quarter")]
    names = {r["step"] for r in of_set}
    cut = {name[:2] for name in names if "." in name}
    found: dict[str, dict[str, Row]] = {}
    for r in sorted(of_set, key=lambda r: r["step"]):
        if "." in r["step"] or r["step"][:2] not in cut:
            place = r["step"] if "." in r["step"] else r["step"][:2]
            found.setdefault(place, {})[r["backend"]] = r
    return found


def operations(place: str) -> int:
    """Floating-point operations per visit."""
    return OPERATIONS.get(place, 84 if place < "05" else 38)


def read_bytes(place: str) -> int:
    """Bytes per visit."""
    if place < "02":
        return 50 if place == "00" else 42
    return 32 if "05.4" <= place < "05.8" else 36


def draw_rungs(found: dict[str, dict[str, Row]]) -> None:
    places = list(found)
    fig, ax = theme.figure(7.6, 3.6)
    for n, place in enumerate(places):
        if n and place[:2] != places[n - 1][:2]:
            ax.axvline(n - 0.5, color=theme.LINE, linewidth=0.8, zorder=0)
    for backend, (label, color) in SERIES.items():
        points = [(n, float(found[p][backend]["over_first"])) for n, p in enumerate(places)
                  if backend in found[p] and found[p][backend]["over_first"]]
        if backend == "omp":
            points.insert(0, (0, 1.0))
        ax.plot(*zip(*points), color=color, drawstyle="steps-mid", linewidth=1.4)
        ax.plot(*zip(*points), "o", color=color, markersize=4, label=label)
    ax.set_yscale("log")
    ax.set_yticks([0.5, 1, 2, 4, 8], labels=["0.5", "1", "2", "4", "8"])
    ax.minorticks_off()
    ax.set_xticks(range(len(places)), labels=places, rotation=90)
    ax.set(ylabel="speed relative to step 00", xlabel="rung, or step without rungs",
           title=f"semblance, a quarter of set 2, {NAME}")
    ax.legend(loc="upper left", fontsize=8.3)
    best = max(float(r["over_first"] or 0) for of in found.values() for r in of.values())
    theme.save(fig, "semblance-rungs.svg",
               "The speed of semblance relative to step 00 after each rung of steps 01 to 07, in "
               f"a quarter of set 2 ({NAME}): it rises from 1 to at most {best:.1f}. Most of it "
               "is gained by rungs 05.1, 05.2 and 05.4, and rung 07.1 loses a part.")


def draw_roofline(found: dict[str, dict[str, Row]]) -> None:
    peaks = {r["ceiling"]: float(r["value"]) for r in theme.measured(MACHINE, "-ceilings")
             if r["threads"] == "2"}
    fig, ax = theme.figure(7.6, 3.8)
    x = [0.5, peaks["fma"] / peaks["l1"], 4]
    ax.plot(x, [peaks["l1"] * x[0], peaks["fma"], peaks["fma"]], color=theme.INK, linewidth=1.4)
    ax.text(0.52, 0.4 * peaks["fma"], f"reads from the L1 cache: {peaks['l1']:.0f} GB/s",
            fontsize=8.3)
    ax.text(1.5, 1.15 * peaks["fma"], f"peak: {peaks['fma']:.0f} GFLOP/s", fontsize=8.3)
    for backend, (label, color) in SERIES.items():
        points = [(place, operations(place) / read_bytes(place),
                   operations(place) * VISITS / float(of[backend]["run_median"]) / 1e9)
                  for place, of in found.items() if backend in of]
        ax.plot([p[1] for p in points], [p[2] for p in points], "o-", color=color, linewidth=0.7,
                markersize=4, label=label)
        for place in (("02.4", "04", "05.1", "05.2", "05.4", "05.9") if backend == "ocl" else
                      ("01.3", "01.4", "06")):
            u, v = next((u, v) for name, u, v in points if name == place)
            ax.annotate(place, (u, v), xytext=(4, 4 if backend == "ocl" else -9),
                        textcoords="offset points", fontsize=8.3, color=color)
    ax.set(xscale="log", yscale="log", xlim=(0.5, 4), ylim=(3.5, 700))
    ax.set_xticks([0.5, 1, 2, 4], labels=["0.5", "1", "2", "4"])
    ax.set_yticks([10, 100, 1000], labels=["10", "100", "1000"])
    ax.minorticks_off()
    ax.set(xlabel="floating-point operations per byte read", ylabel="GFLOP/s",
           title=f"semblance, a quarter of set 2, {NAME}")
    ax.legend(loc="lower left", fontsize=8.3)
    theme.save(fig, "semblance-roofline.svg",
               "Roofline: floating-point operations per second against operations per byte that a "
               f"visit reads, for each rung of semblance ({NAME}). All rungs are far below both "
               "the peak of arithmetic and the bandwidth of the L1 cache.")


def main() -> None:
    found = measured()
    draw_rungs(found)
    draw_roofline(found)


if __name__ == "__main__":
    main()
