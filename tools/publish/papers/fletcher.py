"""J. Panetta, P. P. Lopes, R. L. Machado, "Descricao Modelagem Fletcher 3.0", 2019: figures 1 to 4
and tables 1 to 3, which are the speeds of four versions, on grids of 24 + 32 k points per side.

The grids have fewer time steps than the paper's 100, on which a speed does not depend: on the
smallest grid, 100 take float further from double than the check allows.
"""
from tools.publish.paper import Run, Table

MACHINE = "two Xeon E5-2699 (44 cores), and a P100"
TIMES = {"56": 0.06, "88": 0.05, "120": 0.02, "152": 0.01, "216": 0.006}
SETS = {n: f"form=TTI nx={n} ny={n} nz={n} tmax={tmax}" for n, tmax in TIMES.items()}


def version(name: str, step: str, paper: str) -> list[Run]:
    """A version of the paper; from Der1Der1Orig on, with OpenMP also our step."""
    own = [] if step == "04" else [Run(f"{name}, our step {step}", step, "omp")]
    code = step if step == "04" else f"{step}/paper"
    return [Run(name, "01/no-simd" if step == "04" else code, "omp", "", [f"{name} OpenMP"], paper),
            *own, Run(name, code, "openacc", "", [f"{name} OpenACC"], paper),
            Run(name, code, "ocl", "", (), paper), Run(name, code, "cuda", "", [f"{name} CUDA"],
                                                       paper)]


TABLES = [Table("Figures 1 to 4 and tables 1 to 3",
                {n: n for n in SETS}, [
    *version("Original", "04", "1"), Run("Original, with vectors", "01", "omp"),
    *version("Der1Der1Orig", "05", "2"), *version("Der1Der1LM", "07", "4")],
                "rate", "points per side")]
