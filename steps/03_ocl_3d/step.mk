title    = A work-item per (A, B, C)
kind     = refactor
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h cpu.c opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: 20 parts keep 2 threads busy as well as 8000 do
predict.semblance.gpu = 100: 8000 work-items instead of 20, and a machine that wants more
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

changes.fluid     = opencl.c kernel.cl cuda.cu
reason.fluid      = every kernel and every launch changes its index in two languages; nothing else does
predict.fluid.cpu = 1.1: no division per work-item any more to find its cell
predict.fluid.gpu = 1.2: the same, and a group's cells share their neighbours
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates
