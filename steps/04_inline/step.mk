title    = Inline by hand
kind     = refactor
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h
reason.semblance      = one function takes in six: the 61 new lines are the old ones, moved
predict.semblance.cpu = 1.0: the compilers inline these functions already
predict.semblance.gpu = 1.0: a GPU has no other way to call them
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

changes.fluid     = body.h cpu.c opencl.c kernel.cl cuda.cu
reason.fluid      = six branches that write ghosts instead of three kernels; more lines go than come
predict.fluid.cpu = 1.05: set_bnd was 3 % of the time, and for OpenCL three launches a sweep
predict.fluid.gpu = 1.5: three launches in seven are gone
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates
