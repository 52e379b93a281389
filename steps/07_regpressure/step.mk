title             = Register pressure
kind              = memory
backends          = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

title.semblance       = A scalar for den, local memory for num
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: nothing was spilled, and the paper saw no change either
predict.semblance.gpu = 2.0: two arrays leave private memory; den becomes a scalar, num goes to local memory
flops.semblance       = 6 visits + 3 used + 6 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

title.fletcher       = Loop fusion: derivatives of one plane at a time
shown.fletcher       = body.h
kind.fletcher        = refactor
changes.fletcher     = body.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
reason.fletcher      = the loop over z moves from the kernels to the host, which launches a slab of planes on a GPU, and six planes replace four fields, in five back-ends: 40 to 70 new lines in each
predict.fletcher.cpu = 1.3: 64 bytes per point of memory traffic instead of 128, and nine planes of p and q are read once instead of twice
predict.fletcher.gpu = 0.7: the result of the paper for its planes: two dependent launches per plane
flops.fletcher       = 254 samples
bytes.fletcher.dram  = 64 samples

title.gridding       = Output-driven: the sums of a block of cells stay in registers
kind.gridding        = algebra
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding      = the loops are inverted: each block of cells iterates over its visibilities, which must be binned first; so bins, blocks and every launch are new
predict.gridding.cpu = 2.0: a cell is written once instead of read and written for each visibility, if the compiler keeps the sums in registers (written after a prototype had 2 with gcc, 4 with clang)
predict.gridding.gpu = 10: no copies, no barriers, and enough work-items for the whole device
flops.gridding       = 8 points

title.fluid       = Columns in registers, one flag per sweep, stop on the device
changes.fluid     = body.h host.h opencl.c kernel.cl cuda.cu
kind.fluid        = refactor
predict.fluid.cpu = 1.5 for OpenCL: no buffer of changes, no second kernel, and the host polls once in four sweeps (written after a first measurement); 1.0 for OpenMP, which does not change
predict.fluid.gpu = 2.0: the same, and 6 loads per cell instead of 8
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = Rolling rows: each word is loaded once for three rows
changes.sandpile     = body.h opencl.c kernel.cl cuda.cu
kind.sandpile        = refactor
predict.sandpile.cpu = 1.0 for omp, which does not change; 1.5 for OpenCL: three loads per word instead of five, and one barrier per eight rows instead of one per row
predict.sandpile.gpu = 1.2: three loads per word instead of five, but an eighth of the work-items
flops.sandpile       = 2.5 cells
bytes.sandpile.l1    = 3 cells
