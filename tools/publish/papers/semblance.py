"""V. M. do Rosario, "Aceleracao de uma Aplicacao Cientifica com OpenCL: Regularizacao de Dados
Sismicos", Unicamp: figures 1 to 10, and section 3.4 with the steps that follow."""
from tools.publish.paper import Run, Table

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
        ("nodes and bounds", "10")) for backend in ("omp", "ocl"))])]
