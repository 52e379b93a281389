"""The paper of semblance: figures 1 to 10, and section 3.4 with the steps that follow."""
from tools.publish.paper import Run, Table

ABOUT = """
V. M. do Rosario, *Aceleração de uma Aplicação Científica com OpenCL: Regularização de Dados
Sísmicos*, Unicamp, speeds up the search for one output sample. The paper measures the time
of a sequential program, of OpenMP, and of a sequence of OpenCL versions on a CPU and a GPU, each
for three parameter sets with 20 values of each of A to E. Next to each version stands the step of
the course that makes the same change. In the `ocl` rows, the times of the paper are those of its
CPU; in the `cuda` rows, those of OpenCL on its GPU.
"""
MACHINE = "Core i5-4590 (4 cores), HD Graphics 4600"
SETS: dict[str, str] = {}
TABLES = [Table("Figures 1 to 10, and section 3.4", {"1": "1", "2": "2", "3": "3"}, [
    Run("sequential -O0", "00", "seq", "OPT=-O0", figures="1"),
    Run("sequential -O2", "00", "seq", "OPT=-O2", figures="1"),
    Run("sequential -O3", "00", "seq", "", ["sequential -O3"], "1, 2, 10"),
    Run("OpenMP, with a vector that grows", "01/vector", "omp", figures="2"),
    Run("OpenMP", "01", "omp", "", ["OpenMP"], "2, 3, 10"),
    Run("1-D, complete headers", "02/full-header", "ocl", "", ["OpenCL 1-D"], "3, 4, 10"),
    Run("1-D, reduced headers", "02", "ocl", "", ["OpenCL 1-D trimmed"], "4, 5, 10"),
    Run("1-D", "02", "cuda", figures="5"),
    Run("2-D", "03/two-dimensions", "ocl", figures="5"),
    Run("2-D", "03/two-dimensions", "cuda", figures="5"),
    Run("3-D", "03", "ocl", figures="5, 6, 10"),
    Run("3-D", "03", "cuda", "", ["OpenCL 3-D"], "5, 6, 10"),
    Run("inlined", "04", "ocl", "", ["inlined"], "6, 7, 10"),
    Run("inlined", "04", "cuda", "", ["inlined"], "6, 7, 10"),
    Run("simplified", "05", "ocl", "", ["algebra"], "7, 8, 10"),
    Run("simplified", "05", "cuda", figures="7, 8, 10"),
    Run("constant memory", "06", "ocl", figures="8, 9, 10"),
    Run("constant memory", "06", "cuda", figures="8, 9, 10"),
    Run("fewer registers", "07", "ocl", figures="9, 10"),
    Run("fewer registers", "07", "cuda", "", ["register pressure"], "9, 10"),
    Run("simplified", "05", "omp", figures="3.4"),
    *(Run(label, step, backend, figures="3.4") for label, step in (
        ("lanes", "08"), ("blocking", "09"), ("nodes", "10/no-bounds"),
        ("nodes and bounds", "10")) for backend in ("omp", "ocl"))], about="""
A row is one version. An OpenCL version contains the changes of those above it. The column
*figures* has the figures of the paper that show this version. *3.4* marks our later steps:
section 3.4 of the paper names vectors and blocking as optimizations that it did not keep.

- *sequential -O0* to *-O3*: step 00, compiled with this option.
- *OpenMP*: threads share the values of A (step 01). The version *with a vector that grows* keeps
  the traces in the array to which the program appends while it reads the file.
- *1-D*, *2-D*, *3-D*: a work-item has one value of A, one (A, B), or one (A, B, C).
- *complete headers*, *reduced headers*: the device gets the 240 bytes of each trace header, or only
  the fields that the search needs (step 02).
- *inlined*: the functions of the inner loops are inlined by hand (step 04).
- *simplified*: computations whose operands do not change are moved out of the inner loops (step
  05).
- *constant memory*: the data that all work-items read at the same time are in constant memory
  (step 06).
- *fewer registers*: the sums of the window need less private memory (step 07).
- *lanes*: each vector lane has a point of its own (step 08).
- *blocking*: the points of one (A, B, C) share interpolated samples (step 09).
- *nodes*, *bounds*: the sums of most points (D, E) are interpolated; (A, B, C) that cannot have the
  largest semblance are skipped (step 10).
""")]
