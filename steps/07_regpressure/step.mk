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

title.fletcher       = A tile's own plane of derivatives
shown.fletcher       = cpu.c
kind.fletcher        = refactor
changes.fletcher     = body.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
reason.fletcher      = the index of every derivative changes, in body.h and five back-ends: 20 new lines in each; cpu.c goes through tiles
predict.fletcher.cpu = 1.4: a tile stays in a core's own cache, nine planes of it, and no thread waits
predict.fletcher.gpu = 0.9: as the paper found: nothing is gained but memory
flops.fletcher       = 254 samples
bytes.fletcher.dram  = 64 samples

title.gridding       = Sums of a block of cells in registers
shown.gridding       = cpu.c
kind.gridding        = algebra
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding      = the loops are turned inside out: cells ask for visibilities, so that bins, blocks and every launch are new
predict.gridding.cpu = 3.0: cells are written once instead of read and written for each visibility
predict.gridding.gpu = 10: no copies, no barriers, and all of the machine has work
flops.gridding       = 8 points

title.fluid       = A column of neighbours in registers, one flag a group
changes.fluid     = body.h host.h opencl.c kernel.cl cuda.cu
kind.fluid        = refactor
predict.fluid.cpu = 1.5 for OpenCL: no buffer of moves, no second kernel, and the host looks once in four sweeps (written after a first measurement); 1.0 for OpenMP, which does not change
predict.fluid.gpu = 2.0: the same, and 6 loads a cell instead of 8
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = Four steps a launch, in local memory
changes.sandpile     = body.h opencl.c kernel.cl cuda.cu
kind.sandpile        = refactor
reason.sandpile      = the tile in local memory is a kernel of its own kind: fetch, four steps, store
predict.sandpile.cpu = 1.0 for omp, which does not change; 0.5 for OpenCL: local memory is memory here, and the halo is toppled twice
predict.sandpile.gpu = 2.0: a quarter of the launches and of the traffic, for a third more work
flops.sandpile       = 1 cells
bytes.sandpile.l1    = 3 cells
