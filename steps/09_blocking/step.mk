title    = Blocking
kind     = algebra
backends = omp ocl cuda cuda-cpu

title.semblance       = A trace is read once for all (D, E): its window as hinges
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.semblance      = the loops over traces and over (D, E) change places, and between them lies a list of hinges, with a way around it for traces that cannot have any
predict.semblance.cpu = 2.5: two operations a sample instead of six, and no loads of samples (written after a prototype had 2.5)
predict.semblance.gpu = 0.7: a thread's hinges lie in device memory, and are read again for each (D, E)

title.sandpile       = Eight steps of a tile before the next tile's first
changes.sandpile     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
kind.sandpile        = refactor
reason.sandpile      = x
predict.sandpile.cpu = 1.5: x
predict.sandpile.gpu = 2.0: x
flops.sandpile       = 1 cells
bytes.sandpile.l1    = 1 cells
