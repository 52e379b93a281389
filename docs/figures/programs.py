"""Draw the time of each step of the four companions on the reference machine:
bars-fletcher.svg, bars-gridding.svg, bars-fluid.svg and bars-sandpile.svg.

    python3 docs/figures/programs.py

One bar per step and back-end, on a logarithmic scale, from results/MACHINE.csv. A step without a
bar was not measured.
"""
from __future__ import annotations

import theme

# The set of the table in README.md.
SETS = {"fletcher": "2", "gridding": "askap", "fluid": "84x10", "sandpile": "2"}
SERIES = {"omp": ("OpenMP, 2 threads", theme.A), "ocl": ("OpenCL on the same 2 cores", theme.B)}


def draw(program: str, machine: str) -> None:
    name = SETS[program]
    # {(step, back-end): milliseconds}
    found = {(row["step"], row["backend"]): 1000 * float(row["run_median"])
             for row in theme.measured(machine)
             if (row["program"], row["set"]) == (program, name)
             and row["step"].count("/") == 0 and "." not in row["step"]}
    steps = sorted({step for step, backend in found if backend in SERIES or step[:2] == "00"})
    fig, ax = theme.figure(7.6, 0.6 + 0.34 * len(steps))
    for place, step in enumerate(steps):
        bars = ([(0, found[step, "seq"], theme.GREY)] if step[:2] == "00" else
                [(shift, found[step, backend], SERIES[backend][1])
                 for shift, backend in ((-0.19, "omp"), (0.19, "ocl")) if (step, backend) in found])
        for shift, value, color in bars:
            ax.barh(place + shift, value, height=0.34, color=color)
            ax.text(value * 1.08, place + shift, f"{value:,.0f}" if value >= 100 else
                    f"{value:.3g}", va="center", fontsize=8.3)
    for label, color in SERIES.values():
        ax.barh([0], [0], color=color, label=label)
    low, high = min(found.values()), max(found.values())
    ax.set_xscale("log")
    ticks = [10.0 ** power for power in range(-1, 6) if low / 4 < 10.0 ** power < high * 4]
    ax.set_xticks(ticks, labels=[f"{tick:,g}" for tick in ticks])
    ax.minorticks_off()
    ax.set(xlim=(low / 2.5, high * 2.2), ylim=(len(steps) - 0.4, -0.6), yticks=range(len(steps)),
           yticklabels=[step.replace("_", " ") for step in steps],
           xlabel="milliseconds (logarithmic)",
           title=f"{program}, set {name}, {theme.machine_name(machine)}")
    ax.legend(loc="lower right", fontsize=8.3)
    theme.save(fig, f"bars-{program}.svg",
               f"Bars: the time of each step of {program}, set {name}, on a logarithmic scale, "
               f"from {high:,.0f} milliseconds in step 00 to {low:.3g} milliseconds at best.")


def main() -> None:
    for program in SETS:
        draw(program, theme.reference("cpu"))


if __name__ == "__main__":
    main()
