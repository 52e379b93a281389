"""The paper of fluid: figure 1 and tables I to IV. Its table V, the time by kernel on a GTX 1650
at n = 168, is what the argument profile=1 prints here: black and red sweeps 39 % each, set_bnd
11 %, copies 4 %."""
from tools.publish.paper import Run, Table, by_threads

ABOUT = """
C. Silva, T. Silva, *Trabalho Prático de Computação Paralela, Parte 3*, Universidade do Minho, is a
student report about a fluid in a box of n x n x n cells, simulated for 100 time steps. Its three
parts tune a sequential Gauss-Seidel solver, distribute a red-black solver among threads, and move
it to a GPU. A set is n, followed by the number of our time steps if that is not 100: `84x25`.
"""
MACHINE = "GeForce GTX 1650, and a cluster with 24 cores and an unnamed GPU"
SETS = {"wa1": "events={data}/stir.txt n=42 solver=gs",
        "168x10": "events={data}/stir.txt n=168 steps=10"}
STEPS = [Run("sequential", "00", "seq"), Run("unit stride", "01", "seq"),
         Run("OpenMP", "01", "omp"), Run("3-D", "03", "ocl"),
         Run("3-D", "03", "cuda", "", ["CUDA cluster", "CUDA GTX 1650"]),
         Run("walls fused", "04", "omp"), Run("no division", "05", "omp"),
         Run("columns in registers", "07", "cuda")]
TABLES = [
    Table("Figure 1", by_threads("84x25"), [
        Run("OpenMP", "01", "omp"), Run("OpenMP, dynamic schedule", "01/dynamic", "omp"),
        Run("no division", "05", "omp")], "speedup", "threads", about="""
The paper draws the speedup of its OpenMP program with up to 24 threads, and gives no numbers. It
reports that a static schedule is much better than a dynamic one. The set is `84x25`.

- *OpenMP*: step 01, schedule static. *dynamic schedule*: a variant of step 01.
- *no division*: a multiplication replaces the division per cell, an integer maximum the maximum of
  floats, and denormals count as 0 (step 05).
"""),
    Table("Tables I and II, Gauss-Seidel: each change alone, then all", {"wa1": "wa1"}, [
        Run("as given", "00", "seq", "", ["Gauss-Seidel as given"]),
        Run("-O2", "00", "seq", "OPT=-O2"), Run("loops along memory", "00/gs-loops", "seq"),
        Run("tiles of 4", "00/gs-tiles", "seq"), Run("reciprocal", "00/gs-reciprocal", "seq"),
        Run("unrolled", "00", "seq", "EXTRA=-funroll-loops"),
        Run("-march=native", "00", "seq", "ARCH=-march=native"),
        Run("all three", "00/gs-all", "seq"),
        Run("all, unrolled, native", "00/gs-all", "seq",
            "EXTRA=-funroll-loops ARCH=-march=native", ["Gauss-Seidel tuned"])], about="""
The paper tunes the program that its course provides, with n = 42, and gives two times: before and
after all changes. Our set `wa1` is the same box in step 00 with the solver of the course
(`solver=gs`); we also measured each change alone.

- *as given*: without a change. *-O2*: compiled with `-O2` instead of our `-O3`.
- *loops along memory*: the innermost loop has unit stride.
- *tiles of 4*: cells are relaxed in tiles of 4 x 4 x 4. *reciprocal*: no division per cell.
- *unrolled*, *-march=native*: compiled with `-funroll-loops` or `-march=native`.
- *all three*: loop order, tiles and reciprocal. The last row is *all three*,
  compiled with both options.
"""),
    Table("Tables III and IV", {n: n for n in ("42", "84x25", "168x10")}, STEPS,
          theirs=("the paper, cluster GPU", "the paper, GTX 1650"), about="""
The paper gives the times of its CUDA program for n = 42, 84 and 168 on two GPUs; only those for
n = 42 have our number of time steps. The other rows show what our steps gain on a CPU.

- *sequential*: step 00. *unit stride*, *OpenMP*: step 01 without and with threads.
- *3-D*: a work-item per cell (step 03), as in the paper's CUDA program.
- *walls fused*: the thread that writes a cell at a wall also writes the ghost cell (step 04).
- *no division*: as above (step 05). In steps 06 and 07 the OpenMP program does not change.
""")]
