"""The paper of gridding: its serial and host-parallel programs next to the steps, and figures 8
and 9."""
from tools.publish.paper import Run, Table

ABOUT = """
C. A. T. Aguni, D. Cordeiro, *Análise e Paralelização de um algoritmo para Gridding*, USP, adds
3.2 million visibilities to a grid of 4096 x 4096 cells, each visibility to 129 x 129 cells. The
paper measures a serial program, one with 16 threads, and hybrid programs in which a Xeon Phi or a
K20x processes a fraction of the visibilities. Our set `askap` is the same work with a twentieth of
the visibilities, in float instead of double.
"""
MACHINE = "Xeon E5-2650 and Opteron 6380, 16 threads"
SETS: dict[str, str] = {}
STRIPS = "1,1 2,1 4,1 8,1 65,1 1,2 1,4 1,8 4,4 65,5".split()
TABLES = [
    Table("Section 5, serial and host-parallel, and later steps", {"askap": "askap"}, [
        Run("serial", "00", "seq", "", ["serial Xeon E5-2650", "serial Opteron 6380"]),
        Run("a grid per thread", "01", "omp", "", [
            f"host parallel {name} 16 threads" for name in ("Xeon E5-2650", "Opteron 6380")]),
        Run("atomic additions", "01/atomic", "omp"), Run("separable functions", "05", "omp"),
        Run("cells in registers", "07", "omp"), Run("rows as vectors", "08", "omp"),
        Run("blocks of segments", "09", "omp")], "rate",
        theirs=("the paper, Xeon", "the paper, Opteron"), about="""
A row is a program. The first two have the algorithms of the paper; the others are ours.

- *serial*: step 00.
- *a grid per thread*: each thread adds to a copy of the grid; the copies are added up (step 01).
- *atomic additions*: all threads add to one grid (a variant of step 01).
- *separable functions*: products of a factor per row and a factor per column replace the table of
  the convolution functions (step 05).
- *cells in registers*: a work-item collects the visibilities of a block of cells (step 07).
- *rows as vectors*: a row of a block is one vector (step 08).
- *blocks of segments*: contributions of a visibility are computed once for many blocks (step 09).
"""),
    Table("Work-items per footprint in step 03, strips of rows and of columns",
          {s: f"default strips={s}" for s in STRIPS}, [
              Run("work-items", "03", "ocl"), Run("work-items", "03", "cuda")], "rate", "strips",
          about="""
The paper divides the cells of a visibility into strips, one per thread of the accelerator: 129
strips of rows times 5 strips of columns on the K20x. A column r,c of our table has r strips of rows
and c strips of columns, so r times c work-items share a visibility. The set is `default`.
"""),
    Table("Figures 8 and 9, the visibilities divided between host and device",
          {f"{p}": f"askap share={p}" for p in range(0, 101, 10)}, [
              Run("one thread and a CPU device", "11", "hybrid", "OMP_NUM_THREADS=1"),
              Run("host and GPU", "11", "hybrid-cuda")], "run", "percent for the device", about="""
A column gives the device this percentage of the work, and the host the rest (step 11). Our device
is the same CPU, with OpenCL. The paper gives these times: 67.27 s for the Xeon alone
and 29.32 s with 50 percent on the Xeon Phi; 202.93 s for the Opteron alone and 30.05 s with 90
percent on the K20x.
""")]
