title    = Relieve the registers
kind     = memory
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: nothing was spilled, and the paper saw no change either
predict.semblance.gpu = 2.0: two arrays leave private memory, one for good and one for local memory
