title    = Constant memory
kind     = memory
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: a CPU has no constant memory, only caches, and they hold this already
predict.semblance.gpu = 1.1: all lanes read the same trace at once, one broadcast instead of a load
flops.semblance       = 15 visits + 2 used + 6 samples
bytes.semblance.l1    = 8 visits + 4 used + 4 samples

kind.gridding         = algebra
changes.gridding      = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding       = constant memory holds one plane, so that visibilities are sorted by plane first and every launch becomes a loop over planes
predict.gridding.cpu  = 0.9: a CPU has no constant memory, and pays for sorting
predict.gridding.gpu  = 1.2: the taps of a row are read by many at once
flops.gridding        = 8 points
bytes.gridding.l1     = 16 points
