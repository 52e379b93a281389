03_ocl_3d.title             = OpenCL in three dimensions
03_ocl_3d.kind              = refactor
03_ocl_3d.backends          = omp ocl cuda cuda-cpu
03_ocl_3d.backends.fletcher = omp openacc ocl cuda cuda-cpu

03_ocl_3d.title.semblance       = One work-item for each (A, B, C)
03_ocl_3d.changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
03_ocl_3d.shown.semblance       = kernel.cl
03_ocl_3d.predict.semblance.cpu = 1.0: 20 parts occupy 2 threads as well as 8000 do
03_ocl_3d.predict.semblance.gpu = 100: 8000 work-items instead of 20, on a device with thousands of lanes
03_ocl_3d.flops.semblance       = 24 visits + 12 samples
03_ocl_3d.bytes.semblance.l1    = 12 visits + 4 used + 4 samples

03_ocl_3d.title.fletcher       = One work-item per point, and OpenACC
03_ocl_3d.shown.fletcher       = kernel.cl
03_ocl_3d.changes.fletcher     = opencl.c kernel.cl cuda.cu openacc.c
03_ocl_3d.reason.fletcher      = the OpenACC back-end is a new file; the other files change in less than 60 lines
03_ocl_3d.predict.fletcher.cpu = 1.0 for omp, which does not change; 3.0 for ocl: neighboring work-items become lanes of a vector
03_ocl_3d.predict.fletcher.gpu = 100: one work-item per point, and neighboring work-items read neighboring floats
03_ocl_3d.flops.fletcher       = 578 samples
03_ocl_3d.bytes.fletcher.dram  = 64 samples

03_ocl_3d.title.gridding       = One work-group per copy, one work-item per strip of a footprint
03_ocl_3d.kind.gridding        = algebra
03_ocl_3d.changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
03_ocl_3d.reason.gridding      = four more arguments pass through three functions and three back-ends; the idea is the ten lines of body.h
03_ocl_3d.predict.gridding.cpu = 0.8: a barrier after each visibility, and no core was idle
03_ocl_3d.predict.gridding.gpu = 20: hundreds of work-items per copy instead of one
03_ocl_3d.flops.gridding       = 8 points
03_ocl_3d.bytes.gridding.l1    = 24 points

03_ocl_3d.title.fluid       = One work-item per cell, with a three-dimensional index
03_ocl_3d.shown.fluid       = kernel.cl
03_ocl_3d.changes.fluid     = body.h opencl.c kernel.cl cuda.cu
03_ocl_3d.predict.fluid.cpu = 1.1: a work-item finds its cell without a division
03_ocl_3d.predict.fluid.gpu = 1.2: the same, and the cells of a group share their neighbors
03_ocl_3d.flops.fluid       = 8 updates + 40 advected
03_ocl_3d.bytes.fluid.l1    = 28 updates

03_ocl_3d.title.sandpile       = Columns and rows as two axes
03_ocl_3d.shown.sandpile       = kernel.cl
03_ocl_3d.changes.sandpile     = opencl.c kernel.cl cuda.cu
03_ocl_3d.predict.sandpile.cpu = 1.2: no integer division per cell
03_ocl_3d.predict.sandpile.gpu = 1.2: no integer division per cell
03_ocl_3d.flops.sandpile       = 10 cells
03_ocl_3d.bytes.sandpile.l1    = 12 cells
