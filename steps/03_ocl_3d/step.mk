title             = OpenCL in three dimensions
kind              = refactor
backends          = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

title.semblance       = One work-item for each (A, B, C)
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
shown.semblance       = kernel.cl
predict.semblance.cpu = 1.0: 20 parts occupy 2 threads as well as 8000 do
predict.semblance.gpu = 100: 8000 work-items instead of 20, on a device with thousands of lanes
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

title.fletcher       = One work-item per point, and OpenACC
shown.fletcher       = kernel.cl
changes.fletcher     = opencl.c kernel.cl cuda.cu openacc.c
reason.fletcher      = the OpenACC back-end is a new file; the other files change in less than 60 lines
predict.fletcher.cpu = 1.0 for omp, which does not change; 3.0 for ocl: neighbouring work-items become lanes of a vector
predict.fletcher.gpu = 100: one work-item per point, and neighbouring work-items read neighbouring floats
flops.fletcher       = 578 samples
bytes.fletcher.dram  = 64 samples

title.gridding       = One work-group per copy, one work-item per strip of a footprint
kind.gridding        = algebra
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding      = four more arguments pass through three functions and three back-ends; the idea is the ten lines of body.h
predict.gridding.cpu = 0.8: a barrier after each visibility, and no core was idle
predict.gridding.gpu = 20: hundreds of work-items per copy instead of one
flops.gridding       = 8 points
bytes.gridding.l1    = 24 points

title.fluid       = One work-item per cell, with a three-dimensional index
shown.fluid       = kernel.cl
changes.fluid     = opencl.c kernel.cl cuda.cu
predict.fluid.cpu = 1.1: a work-item finds its cell without a division
predict.fluid.gpu = 1.2: the same, and the cells of a group share their neighbours
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = Columns, rows and the grids of a batch as three axes
shown.sandpile       = kernel.cl
changes.sandpile     = cpu.c host.h opencl.c kernel.cl cuda.cu
reason.sandpile      = the loop over grids moves into the step in all three back-ends: 100 lines lose a level of indentation or gain an index
predict.sandpile.cpu = 1.2: no integer division per cell
predict.sandpile.gpu = 1.2: no integer division per cell, and the grids of a batch fill the device together
flops.sandpile       = 10 cells
bytes.sandpile.l1    = 12 cells
