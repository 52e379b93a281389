02_ocl_1d.title    = OpenCL in one dimension
02_ocl_1d.kind     = port
02_ocl_1d.backends = omp ocl cuda cuda-cpu

02_ocl_1d.title.semblance       = One work-item for each value of A
02_ocl_1d.changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
02_ocl_1d.shown.semblance       = kernel.cl
02_ocl_1d.reason.semblance      = the first OpenCL and CUDA programs are 3 new files; the old ones change by fewer than 60 lines
02_ocl_1d.predict.semblance.cpu = 1.0: the same loops on the same threads, built by another compiler
02_ocl_1d.predict.semblance.gpu = 0.1 of the CPU: 20 work-items for thousands of lanes
02_ocl_1d.flops.semblance       = 24 visits + 12 samples
02_ocl_1d.bytes.semblance.l1    = 12 visits + 4 used + 4 samples

02_ocl_1d.title.fletcher       = One work-item per plane
02_ocl_1d.shown.fletcher       = kernel.cl
02_ocl_1d.changes.fletcher     = body.h opencl.c kernel.cl cuda.cu
02_ocl_1d.reason.fletcher      = the first OpenCL and CUDA programs are three new files; body.h changes in 16 lines
02_ocl_1d.predict.fletcher.cpu = 1.0 for omp, which does not change; 0.2 for ocl: the OpenCL compiler does not know that the points of a row are independent
02_ocl_1d.predict.fletcher.gpu = 0.1 of the CPU: a few hundred work-items, each with a whole plane
02_ocl_1d.flops.fletcher       = 578 samples
02_ocl_1d.bytes.fletcher.dram  = 64 samples

02_ocl_1d.title.gridding       = One work-item per copy of the grid
02_ocl_1d.changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
02_ocl_1d.reason.gridding      = the first OpenCL and CUDA programs are complete: 3 new files; complex numbers become pairs, because OpenCL C and CUDA C have no complex type
02_ocl_1d.predict.gridding.cpu = 1.0: the same loops on the same threads
02_ocl_1d.predict.gridding.gpu = 0.1 of the CPU: there are as many work-items as copies, tens of them on a device that needs thousands
02_ocl_1d.flops.gridding       = 8 points
02_ocl_1d.bytes.gridding.l1    = 24 points

02_ocl_1d.title.fluid       = One work-item per cell, with a one-dimensional index
02_ocl_1d.shown.fluid       = cpu.c
02_ocl_1d.kind.fluid        = refactor
02_ocl_1d.changes.fluid     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
02_ocl_1d.predict.fluid.cpu = 0.5: one more buffer to write and read for the largest change, and the host waits after every sweep
02_ocl_1d.predict.fluid.gpu = 10: thousands of cells at once, but the host waits after every sweep
02_ocl_1d.flops.fluid       = 8 updates + 40 advected
02_ocl_1d.bytes.fluid.l1    = 28 updates

02_ocl_1d.title.sandpile       = One work-item per cell, numbered along one axis
02_ocl_1d.shown.sandpile       = kernel.cl
02_ocl_1d.changes.sandpile     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
02_ocl_1d.reason.sandpile      = the first OpenCL and CUDA programs: 4 new files; a few lines change in the old ones
02_ocl_1d.predict.sandpile.cpu = 0.3: every step launches a kernel and reads a grid of flags back
02_ocl_1d.predict.sandpile.gpu = 2: the kernel takes no time compared with the flags, which cross the bus in every step
02_ocl_1d.flops.sandpile       = 10 cells
02_ocl_1d.bytes.sandpile.l1    = 12 cells
