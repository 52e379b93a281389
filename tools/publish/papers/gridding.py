"""C. A. T. Aguni, D. Cordeiro, "Analise e Paralelizacao de um algoritmo para Gridding", USP: its
serial and host-parallel programs next to the steps, and figures 8 and 9. The text gives the ends
of figures 8 and 9, seconds by the fraction of an accelerator, and the best: 67.27 s on the Xeon
alone, 29.32 with half on a Xeon Phi; 202.93 s on the Opteron alone, 30.05 with 90 percent on a
K20x. It had 129 strips of rows and five of columns."""
from tools.publish.paper import Run, Table

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
        theirs=("the paper, Xeon", "the paper, Opteron")),
    Table("Work-items per footprint in step 03, strips of rows and of columns",
          {s: f"default strips={s}" for s in STRIPS}, [
              Run("work-items", "03", "ocl"), Run("work-items", "03", "cuda")], "rate", "strips"),
    Table("Figures 8 and 9, the visibilities divided between host and device",
          {f"{p}": f"askap share={p}" for p in range(0, 101, 10)}, [
              Run("one thread and a CPU device", "11", "hybrid", "OMP_NUM_THREADS=1"),
              Run("host and GPU", "11", "hybrid-cuda")], "run", "percent for the device")]
