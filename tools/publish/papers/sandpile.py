"""Aguibou Barry, "Projet : Tas de sable abeliens, version avancee (GPU + OpenMP)", course
Programmation Parallele, CREMI, 2022: figures 1 to 5 and 7. They give no running time.

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

MACHINE = "the machines miro and quark, with up to 44 threads and a GPU"
DIMS = "64 128 256 512 1024 2048".split()
SETS = {"short": "dim=1024 max_iterations=100", "longer": "dim=1024 max_iterations=10000",
        "whole": "dim=512", "small": "dim=128",
        **{dim: f"dim={dim} max_iterations=1000" for dim in DIMS}}


def tiled(schedule: str, *sides: int) -> list[Run]:
    """Step 01 with square tiles, and with rows."""
    return [*(Run(f"{n} x {n}", "01", "omp", f"tilew={n} tileh={n} OMP_SCHEDULE={schedule}")
              for n in sides), Run("rows, 64 per tile", "01", "omp", f"OMP_SCHEDULE={schedule}")]


TABLES = [
    Table("Figure 1, schedule static, dim 1024, 100 iterations", by_threads("short"),
          tiled("static", 64, 32, 16, 8), "speedup", "threads"),
    Table("Figure 2, schedule dynamic,4", by_threads("short"),
          tiled("dynamic,4", 64, 32, 16, 8), "speedup", "threads"),
    Table("Figure 3, the shape of a tile", {f"{w}": f"short tilew={w}" for w in (
        8, 16, 32, 64, 128, 256, 512, 1024)},
          [Run(f"tileh {h}", "01", "omp", f"OMP_SCHEDULE=static tileh={h}")
           for h in (2, 4, 8, 16, 32, 64, 128)], "rate", "tilew"),
    Table("Figure 4, the whole stabilization of dim 128", by_threads("small"),
          tiled("static", 16), "speedup", "threads"),
    Table("Figure 4, the whole stabilization of dim 512", by_threads("whole"),
          tiled("static", 16), "speedup", "threads"),
    Table("Figure 5, 1000 iterations", {dim: dim for dim in DIMS},
          [*tiled("static", 16), Run("rows of bytes", "05", "omp", "OMP_SCHEDULE=static")],
          "speedup", "dim"),
    Table("Figure 7, a thread and a device", {"1024": "longer"}, [
        Run(label, "11", "hybrid", f"share={share} OMP_NUM_THREADS=1") for label, share in (
            ("a thread alone", 0), ("device alone", 100), ("equal parts", 50),
            ("parts by measured times", "auto"))], "seconds", "dim")]
