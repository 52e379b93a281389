title             = Constant memory
kind              = memory
backends          = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

title.semblance       = Traces' headers and the query in constant memory
changes.semblance     = body.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: a CPU has no constant memory, only caches, and they hold this already
predict.semblance.gpu = 1.1: all lanes read the same trace at once, one broadcast instead of a load
flops.semblance       = 6 visits + 2 used + 6 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

title.fletcher       = Weights as constants, derivatives a plane at a time
shown.fletcher       = cpu.c
kind.fletcher        = refactor
changes.fletcher     = body.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
reason.fletcher      = the loop over z leaves the kernels for the host, in five back-ends: 30 new lines in each
predict.fletcher.cpu = 1.2: a plane of derivatives is read again while it is in the cache; constants gain nothing
predict.fletcher.gpu = 0.6: as the paper found: two launches a plane, and each waits for the one before
flops.fletcher       = 254 samples
bytes.fletcher.dram  = 96 samples

title.gridding       = Plane by plane in w, its taps in constant memory
kind.gridding        = algebra
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding      = constant memory holds one plane, so that visibilities are sorted by plane first and every launch becomes a loop over planes
predict.gridding.cpu = 0.9: a CPU has no constant memory, and pays for sorting
predict.gridding.gpu = 1.2: the taps of a row are read by many at once
flops.gridding       = 8 points
bytes.gridding.l1    = 16 points

title.fluid       = The box as constants
shown.fluid       = kernel.cl
changes.fluid     = opencl.c kernel.cl cuda.cu
kind.fluid        = refactor
predict.fluid.cpu = 1.05 for OpenCL: strides that the compiler knows; 1.0 for OpenMP, which does not change
predict.fluid.gpu = 1.05: the same
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = The shape as constants, a ring of zeros for the border
shown.sandpile       = kernel.cl
changes.sandpile     = body.h host.h opencl.c kernel.cl cuda.cu
kind.sandpile        = refactor
reason.sandpile      = another layout is packed, emptied and unpacked: the shape has moved from the kernels to the host
predict.sandpile.cpu = 1.0 for omp, which does not change; 1.1 for OpenCL: two tests less a word
predict.sandpile.gpu = 1.1: the same
flops.sandpile       = 1 cells
bytes.sandpile.l1    = 3 cells
