title    = Relieve the registers
kind     = memory
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: nothing was spilled, and the paper saw no change either
predict.semblance.gpu = 2.0: two arrays leave private memory, one for good and one for local memory
flops.semblance       = 15 visits + 3 used + 6 samples
bytes.semblance.l1    = 8 visits + 4 used + 4 samples

changes.sandpile       = body.h opencl.c kernel.cl cuda.cu
kind.sandpile          = refactor
reason.sandpile        = the tile in local memory is a kernel of its own kind: fetch, four steps, store
predict.sandpile.cpu   = 1.0 for omp, which does not change; 0.5 for OpenCL: local memory is memory here, and the halo is toppled twice
predict.sandpile.gpu   = 2.0: a quarter of the launches and of the traffic, for a third more work
flops.sandpile         = 1 cells
bytes.sandpile.l1      = 3 cells
