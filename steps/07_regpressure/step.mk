title    = Relieve the registers
kind     = memory
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: nothing was spilled, and the paper saw no change either
predict.semblance.gpu = 2.0: two arrays leave private memory, one for good and one for local memory
flops.semblance       = 15 visits + 3 used + 6 samples
bytes.semblance.l1    = 8 visits + 4 used + 4 samples

changes.fluid     = body.h cpu.c march.h opencl.c kernel.cl cuda.cu
reason.fluid      = march.h is new: both colours in one pass is another loop
predict.fluid.cpu = 1.2: the black cells find the red ones in the cache; one barrier a sweep instead of two
predict.fluid.gpu = 1.3: 12 bytes a cell instead of 16, and half as many launches
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates
