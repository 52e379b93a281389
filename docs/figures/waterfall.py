"""Draw the speed of every step of semblance relative to step 00 on the reference machine.

    python3 docs/figures/waterfall.py

One bar per step and back-end, on a logarithmic scale. Steps 00 to 09 execute the operations
of the reference (blue: OpenMP, orange: OpenCL on the CPU). Step 10 avoids operations, and
how many depends on the data, so its bars are outlined.
"""
from __future__ import annotations

import theme

SET = "2"
SERIES = {"omp": ("OpenMP, 2 threads", theme.A), "ocl": ("OpenCL on the same 2 cores", theme.B)}
NAMES = {"00": "00 sequential", "01": "01 OpenMP", "02": "02 OpenCL 1-D", "03": "03 OpenCL 3-D",
         "04": "04 inline", "05": "05 algebra", "06": "06 constant memory", "07": "07 registers",
         "08": "08 vectors", "09": "09 blocking", "10": "10 algorithm"}


def main() -> None:
    machine = theme.reference("cpu")
    # {(step number, back-end): speedup over step 00}
    found = {(row["step"][:2], row["backend"]): float(row["over_first"])
             for row in theme.measured(machine)
             if (row["program"], row["set"]) == ("semblance", SET) and row["over_first"]
             and row["backend"] in SERIES and "/" not in row["step"] and "." not in row["step"]}
    steps = [number for number in NAMES if number == "00"
             or any((number, backend) in found for backend in SERIES)]
    fig, ax = theme.figure(7.6, 4.2)
    for place, number in enumerate(steps):
        for shift, (backend, (_, color)) in zip((0.19, -0.19), SERIES.items()):
            value = 1.0 if number == "00" and backend == "omp" else found.get((number, backend))
            if value is None:
                continue
            y = len(steps) - 1 - place + (shift if number not in ("00", "01") else 0)
            if number == "10":
                ax.barh(y, value, height=0.34, facecolor=theme.FILL, edgecolor=color, linewidth=1.4)
            else:
                ax.barh(y, value, height=0.34, color=theme.GREY if number == "00" else color)
            ax.text(value * 1.08, y, f"{value:.3g}" if value < 1000 else f"{value:.0f}",
                    va="center", fontsize=8.3)
    for label, color in SERIES.values():
        ax.barh([0], [0], color=color, label=label)
    ax.barh([0], [0], facecolor=theme.FILL, edgecolor=theme.INK,
            label="fewer operations; the gain depends on the data")
    ax.set_xscale("log")
    ax.set_xticks([1, 10, 100, 1000], labels=["1", "10", "100", "1000"])
    ax.minorticks_off()
    ax.set(xlim=(0.8, 40000), ylim=(-0.6, len(steps) - 0.4),
           yticks=range(len(steps)), yticklabels=[NAMES[n] for n in reversed(steps)],
           xlabel="speed of the computation relative to step 00 (logarithmic)",
           title=f"semblance, set {SET}, {theme.machine_name(machine)}")
    ax.legend(loc="upper right", bbox_to_anchor=(1, 1), fontsize=8.3)
    best = max(found.values())
    theme.save(fig, "waterfall-semblance.svg",
               "Bars: the speed of each step of semblance relative to step 00, on a "
               f"logarithmic scale, from 1 to {best:.0f}. Step 10 is outlined because it "
               "computes less, depending on the data.")


if __name__ == "__main__":
    main()
