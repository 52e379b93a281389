title             = Relieve the registers
kind              = memory
backends          = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

title.semblance       = A scalar for den, local memory for num
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: nothing was spilled, and the paper saw no change either
predict.semblance.gpu = 2.0: two arrays leave private memory, one for good and one for local memory
flops.semblance       = 6 visits + 3 used + 6 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

title.fletcher       = The column along z is read once; one plane of derivatives
shown.fletcher       = body.h
kind.fletcher        = refactor
changes.fletcher     = body.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
reason.fletcher      = the loop over z leaves the kernels for the host, and six planes take the place of four fields, in five back-ends: 40 new lines in each
predict.fletcher.cpu = 1.3: 64 bytes a point instead of 128 to and from memory, and nine planes of p and q are gone through once instead of twice
predict.fletcher.gpu = 0.7: as the paper found of its planes: two launches for each, and each waits for the one before
flops.fletcher       = 254 samples
bytes.fletcher.dram  = 64 samples

title.gridding       = Sums of a block of cells in registers
kind.gridding        = algebra
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding      = the loops are turned inside out: cells ask for visibilities, which must lie in bins for that, so that bins, blocks and every launch are new
predict.gridding.cpu = 2.0: cells are written once, not read and written for each visibility, as far as compilers keep sums where they should (written after a prototype had 2 with gcc, 4 with clang)
predict.gridding.gpu = 10: no copies, no barriers, and all of the machine has work
flops.gridding       = 8 points

title.fluid       = A column of neighbours in registers, one flag a group
changes.fluid     = body.h host.h opencl.c kernel.cl cuda.cu
kind.fluid        = refactor
predict.fluid.cpu = 1.5 for OpenCL: no buffer of moves, no second kernel, and the host looks once in four sweeps (written after a first measurement); 1.0 for OpenMP, which does not change
predict.fluid.gpu = 2.0: the same, and 6 loads a cell instead of 8
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = Rolling rows: each word is loaded once for three rows
changes.sandpile     = body.h opencl.c kernel.cl cuda.cu
kind.sandpile        = refactor
predict.sandpile.cpu = 1.0 for omp, which does not change; 1.5 for OpenCL: three loads per word instead of five, and one barrier per eight rows instead of one per row
predict.sandpile.gpu = 1.2: three loads per word instead of five, but an eighth of the work-items
flops.sandpile       = 1 cells
bytes.sandpile.l1    = 3 cells
