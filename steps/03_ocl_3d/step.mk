title             = OpenCL in three dimensions
kind              = refactor
backends          = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

title.semblance       = A work-item for each (A, B, C)
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
shown.semblance       = kernel.cl
predict.semblance.cpu = 1.0: 20 parts keep 2 threads busy as well as 8000 do
predict.semblance.gpu = 100: 8000 work-items instead of 20, and a machine that wants more
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

title.fletcher       = A work-item a point, and OpenACC
shown.fletcher       = kernel.cl
changes.fletcher     = opencl.c kernel.cl cuda.cu openacc.c
reason.fletcher      = OpenACC arrives whole, one file; what changes in the others is under 60 lines
predict.fletcher.cpu = 1.0 for omp, which stays the same; 3.0 for ocl: work-items side by side become lanes of a vector
predict.fletcher.gpu = 100: a work-item a point, and neighbours read neighbouring floats
flops.fletcher       = 578 samples
bytes.fletcher.dram  = 64 samples

title.gridding       = A group for each copy, a work-item for each strip of a footprint
kind.gridding        = algebra
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding      = four more arguments pass through three functions and three back-ends; the idea is the ten lines of body.h
predict.gridding.cpu = 0.8: a barrier after each visibility, and no core was idle
predict.gridding.gpu = 20: hundreds of work-items a copy instead of one
flops.gridding       = 8 points
bytes.gridding.l1    = 24 points

title.fluid       = A work-item a cell, counted along three axes
shown.fluid       = kernel.cl
changes.fluid     = opencl.c kernel.cl cuda.cu
predict.fluid.cpu = 1.1: no division per work-item any more to find its cell
predict.fluid.gpu = 1.2: the same, and a group's cells share their neighbours
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = Columns, rows and the grids of a batch as three axes
shown.sandpile       = kernel.cl
changes.sandpile     = cpu.c host.h opencl.c kernel.cl cuda.cu
reason.sandpile      = the loop over grids moves into the step in all three back-ends: 100 lines lose a level of indentation or gain an index
predict.sandpile.cpu = 1.2: no integer division per cell
predict.sandpile.gpu = 1.2: no integer division per cell, and the grids of a batch fill the device together
flops.sandpile       = 1 cells
bytes.sandpile.l1    = 12 cells
