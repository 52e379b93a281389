"""The paper of sandpile: figures 1 to 5 and 7. They give no running time.

Machines: miro (room 008) for figures 1 to 4, quark (room 203) for figure 5; neither is described.
The paper's program divides the rows between threads and a device, half and half, with cells of
32 bits, for 4partout; figures 1 to 6 are those of the threads' part here. Its text says: static
with tiles of 16 x 16 is the best of figures 1 and 2, and above 22 threads all become noisy; 22
threads are best for the whole stabilization of 512 (figure 4); 2048 is far ahead of 1024
(figure 5). Its one speedup, of figure 3, is 9 (static, dim=1024, 1000 iterations, 18 to 44
threads). Figure 6, the thread of each tile, is what the argument trace= writes. Before a number of
iterations that it guesses, dim / 32 * 8 * dim, it does not test for the end (1.1.1).
"""
from tools.publish.paper import Run, Table, by_threads

ABOUT = """
Aguibou Barry, *Projet : Tas de sable abéliens, version avancée (GPU + OpenMP)*, course
*Programmation Parallèle*, CREMI, 2022, is a student report about a pile of dim x dim cells, of
which the threads and a GPU compute one half each. Its figures compare schedules, tiles, sizes and
numbers of threads, and give almost no numbers. We measured the same comparisons with the threads
alone (figures 1 to 5), and the division of the work with step 11 (figure 7).
"""
MACHINE = "the machines miro and quark, with up to 44 threads and a GPU"
DIMS = "64 128 256 512 1024 2048".split()
SETS = {"short": "dim=1024 max_iterations=100", "longer": "dim=1024 max_iterations=10000",
        "whole": "dim=512", "small": "dim=128",
        **{dim: f"dim={dim} max_iterations=1000" for dim in DIMS}}


def tiled(schedule: str, *sides: int, name: str = "") -> list[Run]:
    """Step 01 with square tiles, and with rows; name is appended to the labels."""
    return [*(Run(f"{n} x {n}{name}", "01", "omp", f"tilew={n} tileh={n} OMP_SCHEDULE={schedule}")
              for n in sides),
            Run(f"rows, 64 per tile{name}", "01", "omp", f"OMP_SCHEDULE={schedule}")]


TILES = """- *16 x 16* and so on: width and height of a tile in cells.
- *rows, 64 per tile*: a tile is 64 whole rows.
"""


TABLES = [
    Table("Figures 1 and 2, schedules and tiles", by_threads("short"), [
        run for schedule in ("static", "dynamic,4")
        for run in tiled(schedule, 64, 32, 16, 8, name=f", {schedule}")],
          "speedup", "threads", about=f"""
100 steps of a pile with dim 1024, computed by step 01. The threads process tiles, by an OpenMP
schedule that is static (figure 1) or dynamic with four tiles at a time (figure 2). The paper finds
static with tiles of 16 x 16 best.

{TILES}"""),
    Table("Figure 3, the shape of a tile", {f"{w}": f"short tilew={w}" for w in (
        8, 16, 32, 64, 128, 256, 512, 1024)},
          [Run(f"tileh {h}", "01", "omp", f"OMP_SCHEDULE=static tileh={h}")
           for h in (2, 4, 8, 16, 32, 64, 128)], "rate", "tilew", about="""
The same 100 steps with the schedule static and all threads. A row is the height of a tile in cells
(`tileh`), and a column its width (`tilew`). The paper draws such a map of colors for 1000 steps;
its largest speedup is 9, with 18 to 44 threads.
"""),
    Table("Figure 4, the whole stabilization", {
        f"{dim}, {n}": columns for dim, name in (("128", "small"), ("512", "whole"))
        for n, columns in by_threads(name).items()},
          tiled("static", 16), "speedup", "dim, threads", about="""
Steps until the pile is stable, for two sizes. In the paper, 22 threads are best for dim 512.
"""),
    Table("Figure 5, 1000 iterations", {dim: dim for dim in DIMS},
          [*tiled("static", 16), Run("rows of bytes", "05", "omp", "OMP_SCHEDULE=static")],
          "speedup", "dim", about="""
1000 steps of piles of six sizes, with all threads. In the paper, dim 2048 has by far the largest
speedup, and dim 1024 the second. *rows of bytes*: step 05, which stores a cell in one byte instead
of four.
"""),
    Table("Figure 7, a thread and a device", {"1024": "longer"}, [
        Run(label, "11", "hybrid", f"share={share} OMP_NUM_THREADS=1") for label, share in (
            ("a thread alone", 0), ("device alone", 100), ("equal parts", 50),
            ("parts by measured times", "auto"))], "seconds", "dim", about="""
Up to 10,000 steps of dim 1024 with step 11: one thread, and OpenCL on the same CPU as the device.
The paper compares two such programs, and finds that *equal parts* are slightly faster than parts
that follow the measured times.
""")]
