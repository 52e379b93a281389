title    = A work-item per (A, B, C)
kind     = refactor
backends = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

changes.semblance     = body.h cpu.c opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: 20 parts keep 2 threads busy as well as 8000 do
predict.semblance.gpu = 100: 8000 work-items instead of 20, and a machine that wants more
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

changes.sandpile       = cpu.c host.h opencl.c kernel.cl cuda.cu
reason.sandpile        = the loop over grids goes inside the step in all three back-ends: 100 lines lose a level of indentation or gain an index
predict.sandpile.cpu   = 1.2: no division for a cell any more
predict.sandpile.gpu   = 1.2: the same, and the grids of a batch fill the machine together
flops.sandpile         = 1 cells
bytes.sandpile.l1      = 12 cells
changes.fletcher      = opencl.c kernel.cl cuda.cu openacc.c
reason.fletcher       = OpenACC arrives whole, one file; what changes in the others is under 60 lines
predict.fletcher.cpu  = 1.0 for omp, which stays the same; 3.0 for ocl: work-items side by side become lanes of a vector
predict.fletcher.gpu  = 100: a work-item a point, and neighbours read neighbouring floats
flops.fletcher        = 578 samples
bytes.fletcher.dram   = 64 samples
