title    = Relieve the registers
kind     = memory
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: nothing was spilled, and the paper saw no change either
predict.semblance.gpu = 2.0: two arrays leave private memory, one for good and one for local memory
flops.semblance       = 15 visits + 3 used + 6 samples
bytes.semblance.l1    = 8 visits + 4 used + 4 samples

kind.gridding         = algebra
changes.gridding      = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding       = the loops are turned inside out: cells ask for visibilities, so that sorting, lists and every launch are new
predict.gridding.cpu  = 3.0: cells are written once instead of read and written for each visibility
predict.gridding.gpu  = 10: no copies, no barriers, and all of the machine has work
flops.gridding        = 8 points
