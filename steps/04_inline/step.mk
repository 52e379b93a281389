04_inline.title             = Inline by hand
04_inline.kind              = refactor
04_inline.backends          = omp ocl cuda cuda-cpu
04_inline.backends.fletcher = omp openacc ocl cuda cuda-cpu

04_inline.title.semblance       = All functions of a visit inlined by hand
04_inline.changes.semblance     = body.h
04_inline.reason.semblance      = one function takes over six: the 61 new lines are the old ones, moved
04_inline.predict.semblance.cpu = 1.0: the compilers inline these functions already
04_inline.predict.semblance.gpu = 1.0: a GPU has no other way to call them
04_inline.flops.semblance       = 24 visits + 12 samples
04_inline.bytes.semblance.l1    = 12 visits + 4 used + 4 samples

04_inline.title.fletcher       = Derivatives as macros
04_inline.changes.fletcher     = body.h openacc.c
04_inline.predict.fletcher.cpu = 1.0: the compilers inline these functions already
04_inline.predict.fletcher.gpu = 1.0: compilers for GPUs inline these functions
04_inline.flops.fletcher       = 578 samples
04_inline.bytes.fletcher.dram  = 64 samples

04_inline.title.gridding       = Row pointers and signs are computed outside the inner loop
04_inline.kind.gridding        = algebra
04_inline.changes.gridding     = body.h
04_inline.predict.gridding.cpu = 1.2: row pointers and signs leave the inner loop; compilers do not always do this by themselves
04_inline.predict.gridding.gpu = 1.0: a GPU inlines everything
04_inline.flops.gridding       = 8 points
04_inline.bytes.gridding.l1    = 24 points

04_inline.title.fluid       = Boundary condition fused into the stencil
04_inline.changes.fluid     = body.h cpu.c opencl.c kernel.cl cuda.cu
04_inline.predict.fluid.cpu = 1.05: set_bnd took 3 % of the time, and OpenCL saves three launches per sweep
04_inline.predict.fluid.gpu = 1.5: three of the six launches of a sweep are removed
04_inline.flops.fluid       = 8 updates + 40 advected
04_inline.bytes.fluid.l1    = 28 updates

04_inline.title.sandpile       = A reduction on the device, polled every 16 steps
04_inline.shown.sandpile       = kernel.cl
04_inline.changes.sandpile     = host.h opencl.c kernel.cl cuda.cu
04_inline.reason.sandpile      = both devices reduce the stability flags, and the host polls every 16 steps: 40 lines each
04_inline.predict.sandpile.cpu = 1.0 for omp, which has tested while it topples since step 01; 2.0 for OpenCL: no grid of flags to write, read and search
04_inline.predict.sandpile.gpu = 20: a few bytes every 16 steps instead of a grid in each step
04_inline.flops.sandpile       = 10 cells
04_inline.bytes.sandpile.l1    = 12 cells
