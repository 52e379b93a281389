title    = Simplify the algebra
kind     = algebra
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h host.h opencl.c
predict.semblance.cpu = 2.0: five divisions, two midpoints and an ordered sum leave every visit
predict.semblance.gpu = 2.0: for the same reason
