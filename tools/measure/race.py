"""race.py - make race PROGRAM= PEER=CHECKOUT: times a public code and ours.

PEER is a checkout of the public code for the program (peers.py; a missing one is named).
A copy of it is built with its own flags and with -O3 -march=native after them; the faster
one counts. Both codes do the same work (SET= chooses how much: 84 or 168 cells for fluid, 208
or 120 points for fletcher) with as many threads as there are cores, or OMP_NUM_THREADS,
bound to cores. They run interleaved, like the items of make bench (item.py). Our runs are
verified, and in each run of the public code what can be compared is compared with our first
step in the table. Our last row also runs under a second name (an A/A pair).

Writes results/MACHINE-race.csv, replacing the rows of the same program and set.
"""
from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path

from tools.base import options, results, runs, tree, verdict
from tools.base.results import Row
from tools.base.tree import Program
from tools.measure import bench
from tools.measure.bars import Side
from tools.measure.item import Item, run_interleaved
from tools.measure.peers import PEERS, Peer

COLUMNS = """machine compiler commit program set public flags public_seconds ours threads clock
rounds seconds ratio low high aa_spread fastest compared difference mark""".split()
FEWEST = 7  # repetitions


class PublicItem(Item):
    """A build of the public code. Its result is compared with that of one of our items."""

    def __init__(self, peer: Peer, flags: str, ours: Item) -> None:
        super().__init__(ours.program, ours.set, ours.step, ours.backend)
        self.peer, self.flags = peer, flags
        self.copy = peer.build(flags)
        self.difference = 0.0  # the largest

    def label(self) -> str:
        return f"{self.peer.source}, {self.flags}"

    def once(self) -> dict[str, Path]:
        threads = {"OMP_NUM_THREADS": str(runs.threads("omp")), "POCL_AFFINITY": "1"}
        result = runs.run(self.peer.command(self.copy), 600, runs.bound("omp", threads), self.copy)
        if result.failure():
            raise SystemExit(f"{self.label()}: {result.failure()}")
        seconds = self.peer.time(result)
        if not seconds > 0:
            raise SystemExit(f"{self.label()}: prints no time: expected {self.peer.seconds}")
        self.printed = f"Time_init=0\nTime_run={seconds}\nTime_kernel={seconds}\n"
        self.output, self.process = result.out, result.seconds
        return {}

    def verify(self, files: Mapping[str, Path]) -> None:
        try:
            found = self.peer.difference(self.output, self.copy)
        except (OSError, ValueError) as error:
            raise SystemExit(f"{self.label()}: its result cannot be read: {error}") from error
        if not found <= self.peer.limit:
            raise SystemExit(f"{self.label()}: {self.peer.compared}: differs from ours by "
                             f"{found:.2g}: expected at most {self.peer.limit:g}")
        self.difference = max(self.difference, found)


def our_items(peer: Peer, program: Program, name: str) -> dict[str, Item]:
    """Our side of the race, as far as it is built and selected."""
    class OurItem(Item):
        """One of our back-ends. If the checker needs too long for the problem, only a short
        run is verified by it, and the others are compared like the public code."""

        def verify(self, files: Mapping[str, Path]) -> None:
            if not peer.short or self.arguments[-1:] == peer.short:
                super().verify(files)
            elif not peer.difference(peer.as_public(self.printed), Path()) <= peer.limit:
                raise SystemExit(f"{self.label()}: {peer.compared}: differs from that of the "
                                 "first step")

    found = {str(side): item for side in map(Side.parse, peer.sides)
             for item in side.items(program, name, OurItem)}
    if not found:
        raise SystemExit(f"nothing to race: expected one of {', '.join(peer.sides)}, built")
    for item in found.values():
        item.arguments = tree.with_arguments(peer.arguments(), item.arguments)
        item.outputs = peer.outputs or item.outputs
    return found


def times(item: Item, clock: str) -> list[float | None]:
    """Seconds by repetition, None if a measurement does not count."""
    return [sum(m[key] for key in clock.split("+")) if m else None for m in item.counted]


def median(item: Item, clock: str) -> float:
    return statistics.median(t for t in times(item, clock) if t)


def race(peer: Peer, program: Program, name: str, repeat: int) -> list[Row]:
    """Builds the public code and measures both sides. Returns our rows."""
    ours, clock = our_items(peer, program, name), peer.clock
    reference = next(iter(ours.values()))
    public = {flags: PublicItem(peer, flags, reference) for flags in peer.builds}
    peer.expect(reference, reference.once())
    accepted: dict[str, float] = {}
    for item in ours.values():
        item.accepted, full = accepted, item.arguments
        if peer.short:
            item.arguments = tree.with_arguments(full, peer.short)
            item.verify(item.once())
            item.arguments = full
    for item in [*ours.values(), *public.values()]:
        item.warmup_cpu = item.measure()["cpu"]
    last = list(ours.values())[-1]
    second = bench.second_item(last)
    run_interleaved([*ours.values(), *public.values(), second], f"{program.name}, {name}", repeat)
    spread = verdict.spread_of([verdict.compare(times(second, clock), times(last, clock))])
    flags = min(public, key=lambda f: median(public[f], clock))
    best = min(ours, key=lambda o: median(ours[o], clock))
    print(f"{program.name}, {name}: {peer.source}\n"
          f"{peer.compared}: differs from ours by at most {public[flags].difference:.1g}\n"
          f"medians of {repeat} repetitions, seconds (our time: {clock}); 95 % intervals\n"
          + runs.table([["public code", "seconds"]] + [
              [f, f"{median(item, clock):.6f}"] for f, item in public.items()]))
    rows = []
    for side, item in ours.items():
        found = verdict.compare(times(item, clock), times(public[flags], clock), spread)
        rows.append({
            "program": program.name, "set": name, "public": peer.source, "flags": flags,
            "public_seconds": f"{median(public[flags], clock):.6f}", "ours": side,
            "threads": runs.threads(item.backend), "clock": clock,
            "rounds": bench.common(item, public[flags]),
            "seconds": f"{median(item, clock):.6f}", "ratio": f"{found.ratio:.3f}",
            "low": f"{found.low:.3f}", "high": f"{found.high:.3f}",
            "aa_spread": f"{spread:.3f}", "fastest": "yes" if side == best else "",
            "compared": peer.compared, "difference": f"{public[flags].difference:.2g}",
            "mark": " ".join(sorted(item.marks | public[flags].marks))})
    return rows


def main() -> None:
    parser = options.parser(__doc__, "STEP", "PROGRAM", "BACKEND", "SET", "REPEAT", "QUICK",
                            "RESULTS")
    parser.add_argument("peer", metavar="CHECKOUT", type=Path, help="of the public code")
    arguments = options.parse(parser, own_sets=True)
    programs = [p for p in tree.selected(tree.programs(), "PROGRAM") if p.name in PEERS]
    if len(programs) != 1:
        raise SystemExit(f"PROGRAM={arguments.program}: expected one of {' '.join(PEERS)}")
    program, = programs
    kind = PEERS[program.name]
    quick = [name for name in kind.problems if name == "quick" and arguments.quick]
    name = arguments.set or [*quick, *kind.problems][0]
    if name not in kind.problems:
        raise SystemExit(f"SET={name}: no such set: expected one of {' '.join(kind.problems)}")
    peer = kind(arguments.peer.resolve(), name, tree.build() / "race")
    repeat, about = bench.repetitions(arguments.quick, FEWEST), bench.about_this()
    rows = [{**about, **row} for row in race(peer, program, name, repeat)]
    for row in rows if arguments.quick else []:
        row["mark"] = f"{row['mark']} quick".strip()
    print(runs.table([["ours", "seconds", "times as fast", "fastest"]] + [
        [r["ours"], r["seconds"], f"{r['ratio']} ({r['low']} to {r['high']})", r["fastest"]]
        for r in rows]))
    path, written = bench.target(arguments, "-race")
    if written:
        results.replace(path, COLUMNS, rows, lambda r: (r["program"], r["set"], r["ours"]))
    bench.report_target(path, written)


if __name__ == "__main__":
    main()
