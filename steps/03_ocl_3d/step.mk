title    = A work-item per (A, B, C)
kind     = refactor
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h cpu.c opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: 20 parts keep 2 threads busy as well as 8000 do
predict.semblance.gpu = 100: 8000 work-items instead of 20, and a machine that wants more
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

kind.gridding         = algebra
changes.gridding      = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding       = four more arguments pass through three functions and three back-ends; the idea is the ten lines of body.h
predict.gridding.cpu  = 0.8: a barrier after each visibility, and no core was idle
predict.gridding.gpu  = 20: hundreds of work-items a copy instead of one
flops.gridding        = 8 points
bytes.gridding.l1     = 24 points
