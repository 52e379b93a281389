title    = Blocking
kind     = algebra
backends = omp ocl cuda cuda-cpu

title.semblance       = A trace is read once for all (D, E): its window as hinges
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.semblance      = the loops over traces and over (D, E) change places, and between them lies a list of hinges, with a way around it for traces that cannot have any
predict.semblance.cpu = 2.5: two operations a sample instead of six, and no loads of samples (written after a prototype had 2.5)
predict.semblance.gpu = 0.7: a thread's hinges lie in device memory, and are read again for each (D, E)

title.fluid       = Four sweeps in one pass, as a wavefront
backends.fluid    = omp ocl
shown.fluid       = block.h
kind.fluid        = refactor
changes.fluid     = block.h cpu.c opencl.c kernel.cl cuda.cu
reason.fluid      = a pass begins and ends in two phases, and a solve that went too far goes back to its start: both hosts must keep where it began
predict.fluid.cpu = 1.5 where a field is larger than the second level of the cache, and twice that where it is larger than the last: the box is read once in four sweeps (written after a prototype)
predict.fluid.gpu = 1.0: it keeps the sweeps of step 08, since its groups cannot wait for each other
flops.fluid       = 8 updates + 40 advected
