title    = Constant memory
kind     = memory
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: a CPU has no constant memory, only caches, and they hold this already
predict.semblance.gpu = 1.1: all lanes read the same trace at once, one broadcast instead of a load
flops.semblance       = 15 visits + 2 used + 6 samples
bytes.semblance.l1    = 8 visits + 4 used + 4 samples

changes.fluid     = body.h host.h opencl.c kernel.cl cuda.cu
reason.fluid      = the reduction moves into the kernel in two languages
predict.fluid.cpu = 0.5 for OpenCL: barriers where there are no lanes; 1.0 for OpenMP, which does not change
predict.fluid.gpu = 2.0: no buffer of moves, and the host looks once in four sweeps
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates
