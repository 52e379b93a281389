title    = Simplify the algebra
kind     = algebra
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h host.h opencl.c
predict.semblance.cpu = 2.0: five divisions, two midpoints and an ordered sum leave every visit
predict.semblance.gpu = 2.0: for the same reason
flops.semblance       = 15 visits + 2 used + 6 samples
bytes.semblance.l1    = 8 visits + 4 used + 4 samples

changes.gridding      = body.h host.h
predict.gridding.cpu  = 4.0: a table that fills memory becomes one that fits in a cache
predict.gridding.gpu  = 3.0: half of the bytes, and these from a cache
flops.gridding        = 8 points
bytes.gridding.l1     = 16 points
