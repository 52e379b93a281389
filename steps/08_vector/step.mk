title    = X
kind     = algebra
backends = omp ocl cuda cuda-cpu
title.semblance = X
changes.semblance = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 3.0: x
