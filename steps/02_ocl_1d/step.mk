title    = OpenCL in one dimension
kind     = port
backends = omp ocl cuda cuda-cpu

title.semblance       = One work-item for each value of A
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
shown.semblance       = kernel.cl
reason.semblance      = the first OpenCL and CUDA programs are 3 new files; the old ones change by fewer than 60 lines
predict.semblance.cpu = 1.0: the same loops on the same threads, built by another compiler
predict.semblance.gpu = 0.1 of the CPU: 20 work-items for thousands of lanes
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

title.fletcher       = One work-item per plane
shown.fletcher       = kernel.cl
changes.fletcher     = body.h opencl.c kernel.cl cuda.cu
reason.fletcher      = the first OpenCL and CUDA programs are three new files; body.h changes in 16 lines
predict.fletcher.cpu = 1.0 for omp, which does not change; 0.2 for ocl: its compiler does not know that the points of a row are independent
predict.fletcher.gpu = 0.1 of the CPU: a few hundred work-items, each with a whole plane
flops.fletcher       = 578 samples
bytes.fletcher.dram  = 64 samples

title.gridding       = One work-item per copy of the grid
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding      = the first OpenCL and CUDA programs are complete: 3 new files; complex numbers become pairs, because OpenCL C and CUDA C have no complex type
predict.gridding.cpu = 1.0: the same loops on the same threads
predict.gridding.gpu = 0.1 of the CPU: there are as many work-items as copies, tens of them on a device that needs thousands
flops.gridding       = 8 points
bytes.gridding.l1    = 24 points

title.fluid       = One work-item per cell, with a one-dimensional index
shown.fluid       = kernel.cl
kind.fluid        = refactor
changes.fluid     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
predict.fluid.cpu = 0.5: one more buffer to write and read for the largest change, and the host waits after every sweep
predict.fluid.gpu = 10: thousands of cells at once, but the host waits after every sweep
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = One work-item per cell, numbered along one axis
shown.sandpile       = kernel.cl
changes.sandpile     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.sandpile      = the first OpenCL and CUDA programs: 4 new files; a few lines change in the old ones
predict.sandpile.cpu = 0.3: every step launches a kernel and reads a grid of flags back
predict.sandpile.gpu = 2: the kernel takes no time compared with the flags, which cross the bus in every step
flops.sandpile       = 10 cells
bytes.sandpile.l1    = 12 cells
