title             = Inline by hand
kind              = refactor
backends          = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

title.semblance       = All functions of a visit inlined by hand
changes.semblance     = body.h
reason.semblance      = one function takes over six: the 61 new lines are the old ones, moved
predict.semblance.cpu = 1.0: the compilers inline these functions already
predict.semblance.gpu = 1.0: a GPU has no other way to call them
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

title.fletcher       = Derivatives as macros
changes.fletcher     = body.h openacc.c
predict.fletcher.cpu = 1.0: the compilers inline these functions already
predict.fletcher.gpu = 1.0: compilers for GPUs inline these functions
flops.fletcher       = 578 samples
bytes.fletcher.dram  = 64 samples

title.gridding       = Row pointers and signs are computed outside the inner loop
kind.gridding        = algebra
changes.gridding     = body.h
predict.gridding.cpu = 1.2: row pointers and signs leave the inner loop; compilers do not always do this by themselves
predict.gridding.gpu = 1.0: a GPU inlines everything
flops.gridding       = 8 points
bytes.gridding.l1    = 24 points

title.fluid       = Boundary condition fused into the stencil
changes.fluid     = body.h cpu.c opencl.c kernel.cl cuda.cu
predict.fluid.cpu = 1.05: set_bnd took 3 % of the time, and OpenCL saves three launches per sweep
predict.fluid.gpu = 1.5: three of seven launches are removed
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = Stability test on the device, polled every 16 steps
shown.sandpile       = kernel.cl
changes.sandpile     = host.h opencl.c kernel.cl cuda.cu
reason.sandpile      = both devices reduce the stability flags and the host polls every 16 steps: 40 lines each
predict.sandpile.cpu = 1.0 for omp, which has tested while it topples since step 01; 2.0 for OpenCL: no grid of flags to write, read and search
predict.sandpile.gpu = 20: a few bytes every 16 steps instead of a grid in each step
flops.sandpile       = 10 cells
bytes.sandpile.l1    = 12 cells
