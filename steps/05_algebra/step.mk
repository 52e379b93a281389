05_algebra.title             = Simplify the algebra
05_algebra.kind              = algebra
05_algebra.backends          = omp ocl cuda cuda-cpu
05_algebra.backends.fletcher = omp openacc ocl cuda cuda-cpu

05_algebra.title.semblance       = No division, and loop-invariant terms moved out of the loops
05_algebra.changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
05_algebra.reason.semblance      = the rows of t2_abc need memory: kernels and hosts of both devices compute where it is, 20 lines each
05_algebra.predict.semblance.cpu = 2.0: five divisions, two midpoints and an ordered sum are removed from each visit
05_algebra.predict.semblance.gpu = 2.0: for the same reason
05_algebra.flops.semblance       = 6 visits + 2 used + 6 samples
05_algebra.bytes.semblance.l1    = 12 visits + 4 used + 4 samples

05_algebra.title.fletcher       = Cross derivatives in two passes, three cosines instead of six products
05_algebra.changes.fletcher     = body.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
05_algebra.reason.fletcher      = two loops instead of one in five back-ends, 30 new lines in each, and the medium has other fields
05_algebra.predict.fletcher.cpu = 1.6, expected after a prototype: 262 operations per point instead of 578, but four more fields are written and read
05_algebra.predict.fletcher.gpu = 2.0: the result of the paper, for the same reason
05_algebra.flops.fletcher       = 262 samples
05_algebra.bytes.fletcher.dram  = 108 samples

05_algebra.title.gridding       = Separable convolution functions: two rows of taps replace a table
05_algebra.changes.gridding     = body.h host.h
05_algebra.predict.gridding.cpu = 1.2, expected after a prototype: the table fits in a cache, but two thirds of the bytes are the grid's, and these still come from memory
05_algebra.predict.gridding.gpu = 1.4: 16 bytes of memory traffic per cell instead of 24
05_algebra.flops.gridding       = 8 points
05_algebra.bytes.gridding.l1    = 16 points

05_algebra.title.fluid       = Reciprocal, integer maximum, and no denormals
05_algebra.changes.fluid     = body.h cpu.c opencl.c kernel.cl cuda.cu
05_algebra.predict.fluid.cpu = 1.3, expected after a prototype: no division, no test for NaN, and no slow denormals in nearly empty cells
05_algebra.predict.fluid.gpu = 1.0: limited by memory, and computes denormals at full speed
05_algebra.flops.fluid       = 8 updates + 40 advected
05_algebra.bytes.fluid.l1    = 28 updates

05_algebra.title.sandpile       = One byte per cell, four cells per word
05_algebra.changes.sandpile     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
05_algebra.kind.sandpile        = refactor
05_algebra.reason.sandpile      = the cell is another type in all three back-ends; the host packs four cells into a word for the devices, and topples tall piles
05_algebra.predict.sandpile.cpu = 4.0: four times as many cells in a vector and in a cache line; the averages are about as fast as the shifts, despite the masks
05_algebra.predict.sandpile.gpu = 3.0: a quarter of the bytes, and a few more instructions per word
05_algebra.flops.sandpile       = 2.5 cells
05_algebra.bytes.sandpile.l1    = 3 cells
