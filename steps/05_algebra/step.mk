title    = Simplify the algebra
kind     = algebra
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h host.h opencl.c
predict.semblance.cpu = 2.0: five divisions, two midpoints and an ordered sum leave every visit
predict.semblance.gpu = 2.0: for the same reason
flops.semblance       = 15 visits + 2 used + 6 samples
bytes.semblance.l1    = 8 visits + 4 used + 4 samples

changes.fluid     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.fluid      = another place for every cell: each function that knows where a cell lies says it anew
predict.fluid.cpu = 2.5: rows of one colour are vectors, and no division is left
predict.fluid.gpu = 1.5: lanes read next to each other, and half of each line is no longer fetched in vain
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates
