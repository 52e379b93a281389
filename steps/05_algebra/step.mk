title             = Simplify the algebra
kind              = algebra
backends          = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

title.semblance       = No division, and loop-invariant terms moved out of the loops
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.semblance      = the rows of t2_abc need memory: kernels and hosts of both devices compute where it is, 20 lines each
predict.semblance.cpu = 2.0: five divisions, two midpoints and an ordered sum are removed from each visit
predict.semblance.gpu = 2.0: for the same reason
flops.semblance       = 6 visits + 2 used + 6 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

title.fletcher       = Cross derivatives in two passes
changes.fletcher     = body.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
reason.fletcher      = two loops instead of one in five back-ends, 30 new lines in each
predict.fletcher.cpu = 1.6: 254 operations per point instead of 578, but four more fields are written and read
predict.fletcher.gpu = 2.0: the result of the paper, for the same reason
flops.fletcher       = 254 samples
bytes.fletcher.dram  = 128 samples

title.gridding       = Separable convolution functions: two rows of taps replace a table
changes.gridding     = body.h host.h
predict.gridding.cpu = 1.2: the table fits in a cache, but two thirds of the bytes are the grid's, and these still come from memory (written after a prototype had 1.2)
predict.gridding.gpu = 1.4: 16 bytes of memory traffic per cell instead of 24
flops.gridding       = 8 points
bytes.gridding.l1    = 16 points

title.fluid       = Reciprocal, integer maximum, and no denormals
changes.fluid     = body.h cpu.c opencl.c kernel.cl cuda.cu
predict.fluid.cpu = 1.3: no division, no test for NaN, and no slow denormals in nearly empty cells (written after a prototype on another machine had gained 1.7 by the last)
predict.fluid.gpu = 1.0: limited by memory, and computes denormals at full speed
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = One byte per cell, and quarters by averaging
changes.sandpile     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
kind.sandpile        = refactor
reason.sandpile      = the code for bytes is added to the code for words of 32 bits, with which tall piles begin: a second loop for each of three back-ends
predict.sandpile.cpu = 4.0: four times as many cells in a vector and in a cache line; the averages are about as fast as the shifts, despite the masks
predict.sandpile.gpu = 3.0: a quarter of the bytes, and a few more instructions per word
flops.sandpile       = 2.5 cells
bytes.sandpile.l1    = 3 cells
