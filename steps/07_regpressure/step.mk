07_regpressure.title             = Register pressure
07_regpressure.kind              = memory
07_regpressure.backends          = omp ocl cuda cuda-cpu
07_regpressure.backends.fletcher = omp openacc ocl cuda cuda-cpu

07_regpressure.title.semblance       = A scalar for den, local memory for num
07_regpressure.changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
07_regpressure.predict.semblance.cpu = 1.0: nothing was spilled, and the paper saw no change either
07_regpressure.predict.semblance.gpu = 2.0: two arrays leave private memory; den becomes a scalar, num goes to local memory
07_regpressure.flops.semblance       = 6 visits + 3 used + 6 samples
07_regpressure.bytes.semblance.l1    = 12 visits + 4 used + 4 samples

07_regpressure.title.fletcher       = Loop fusion: derivatives of one plane at a time
07_regpressure.shown.fletcher       = body.h
07_regpressure.kind.fletcher        = refactor
07_regpressure.changes.fletcher     = body.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
07_regpressure.reason.fletcher      = the loop over z moves from the kernels to the host, which launches a slab of planes on a GPU, and six planes replace four fields, in five back-ends: 40 to 70 new lines in each
07_regpressure.predict.fletcher.cpu = 1.3, expected after a prototype: 52 bytes per point of memory traffic instead of 108, and nine planes of p and q are read once instead of twice
07_regpressure.predict.fletcher.gpu = 0.7: the result of the paper, whose program also computes plane by plane; two dependent launches per plane
07_regpressure.flops.fletcher       = 262 samples
07_regpressure.bytes.fletcher.dram  = 52 samples

07_regpressure.title.gridding       = Output-driven: the sums of a block of cells stay in registers
07_regpressure.kind.gridding        = algebra
07_regpressure.changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
07_regpressure.reason.gridding      = the loops are inverted: each block of cells iterates over its visibilities, which must be binned first; so bins, blocks and every launch are new
07_regpressure.predict.gridding.cpu = 2.0, expected after a prototype: a cell is written once instead of read and written for each visibility, if the compiler keeps the sums in registers
07_regpressure.predict.gridding.gpu = 10: no copies, no barriers, and enough work-items for the whole device
07_regpressure.flops.gridding       = 8 points

07_regpressure.title.fluid       = Two columns in registers, one flag per sweep, and a device that stops by itself
07_regpressure.shown.fluid       = kernel.cl
07_regpressure.changes.fluid     = body.h host.h opencl.c kernel.cl cuda.cu
07_regpressure.kind.fluid        = refactor
07_regpressure.predict.fluid.cpu = 1.5 for OpenCL, expected after a prototype, and 1.0 for OpenMP: no buffer of changes, no second kernel, and the host polls once in four sweeps; OpenMP does not change
07_regpressure.predict.fluid.gpu = 2.0: no buffer of changes, no second kernel, the host polls once in four sweeps, and 6 loads per cell instead of 8; with CUDA another factor of 2.0: one launch per solve instead of up to 40
07_regpressure.flops.fluid       = 8 updates + 40 advected
07_regpressure.bytes.fluid.l1    = 28 updates

07_regpressure.title.sandpile       = Rolling rows: each word is loaded once for three rows
07_regpressure.changes.sandpile     = body.h opencl.c kernel.cl cuda.cu
07_regpressure.kind.sandpile        = refactor
07_regpressure.predict.sandpile.cpu = 1.0 for omp, which does not change; 1.5 for OpenCL, expected after a prototype: three loads per word instead of five, and one barrier per eight rows instead of one per row
07_regpressure.predict.sandpile.gpu = 1.2, expected after a prototype: three loads per word instead of five, but an eighth of the work-items
07_regpressure.flops.sandpile       = 2.5 cells
07_regpressure.bytes.sandpile.l1    = 3 cells
