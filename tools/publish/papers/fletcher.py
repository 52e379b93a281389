"""The paper of fletcher: figures 1 to 4 and tables 1 to 3.

The grids have fewer time steps than the paper's 100, on which a speed does not depend: on the
smallest grid, 100 take float further from double than the check allows.
"""
from tools.publish.paper import Run, Table

ABOUT = """
J. Panetta, P. P. Lopes, R. L. Machado, *Descrição Modelagem Fletcher 3.0*, 2019, propagates a
seismic wave in an anisotropic medium. The report measures the speed of four versions, each written
in OpenMP, OpenACC and CUDA, on twelve grids of 24 + 32 k points per side; its tables have the means
over the grids. We measured three of the versions on five of these grids, with fewer time steps.
"""
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
                "rate", "points per side", about="""
A row is a version and a back-end. The two columns of means compare our speed with that of the
paper; our `openacc` runs on one thread of the CPU, that of the paper on 44 cores. The versions
differ in the cross derivatives, such as the one in x and y:

- *Original*: a formula with 64 points of the grid (step 04). The paper's OpenMP program is not
  vectorized in this version, so the first row is step 01 without vectors; *with vectors* is
  step 01.
- *Der1Der1Orig*: the first derivative of a first derivative. The first derivatives of the whole
  grid along x and y are stored.
- *Der1Der1LM* (low memory): the same, but only nine planes of derivatives are stored, in a ring
  buffer.
- *our step 05*, *our step 07*: the corresponding steps of the course, which store other
  derivatives.

The table leaves out the paper's *Der1Der1HM* (high memory, figure 3). It computes plane by plane,
too, but stores the whole fields of derivatives.
""")]
