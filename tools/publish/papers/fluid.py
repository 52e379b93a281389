"""C. Silva, T. Silva, "Trabalho Pratico de Computacao Paralela, Parte 3", Universidade do Minho:
figure 1 and tables I to IV. Its table V, the time by kernel on a GTX 1650 at n = 168, is what the
argument profile=1 prints here: black and red sweeps 39 % each, set_bnd 11 %, copies 4 %."""
from tools.publish.paper import Run, Table, by_threads

MACHINE = "GeForce GTX 1650, and a cluster with 24 cores and an unnamed GPU"
SETS = {"wa1": "events={data}/stir.txt n=42 solver=gs",
        "168": "events={data}/stir.txt n=168 steps=10"}
STEPS = [Run("sequential", "00", "seq"), Run("unit stride", "01", "seq"),
         Run("OpenMP", "01", "omp"), Run("3-D", "03", "ocl"),
         Run("3-D", "03", "cuda", "", ["CUDA cluster"]),
         Run("walls inlined", "04", "omp"), Run("split colors", "05", "omp"),
         Run("one pass", "07", "omp"), Run("one pass", "07", "cuda")]
TABLES = [
    Table("Figure 1", by_threads("84x25"), [
        Run("OpenMP", "01", "omp"), Run("OpenMP, dynamic schedule", "01/dynamic", "omp"),
        Run("split colors", "05", "omp"), Run("one pass", "07", "omp")], "speedup", "threads"),
    Table("Tables I and II, Gauss-Seidel: each change alone, then all", {"wa1": "wa1"}, [
        Run("as given", "00", "seq", "", ["Gauss-Seidel as given"]),
        Run("-O2", "00", "seq", "OPT=-O2"), Run("loops along memory", "00/gs-loops", "seq"),
        Run("tiles of 4", "00/gs-tiles", "seq"), Run("reciprocal", "00/gs-reciprocal", "seq"),
        Run("unrolled", "00", "seq", "EXTRA=-funroll-loops"),
        Run("-march=native", "00", "seq", "ARCH=-march=native"),
        Run("all three", "00/gs-all", "seq"),
        Run("all, unrolled, native", "00/gs-all", "seq",
            "EXTRA=-funroll-loops ARCH=-march=native", ["Gauss-Seidel tuned"])]),
    Table("Tables III and IV", {"42": "42", "84x25": "84x25"}, STEPS),
    Table("Tables III and IV, relaxed cells per second",
          {n: n for n in ("42", "84x25", "168")}, STEPS, "rate")]
