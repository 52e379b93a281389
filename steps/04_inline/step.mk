title    = Inline by hand
kind     = refactor
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h
reason.semblance      = one function takes in six: the 61 new lines are the old ones, moved
predict.semblance.cpu = 1.0: the compilers inline these functions already
predict.semblance.gpu = 1.0: a GPU has no other way to call them
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

kind.gridding         = algebra
changes.gridding      = body.h
predict.gridding.cpu  = 1.2: rows and signs leave the inner loop, which compilers do not always see
predict.gridding.gpu  = 1.0: a GPU inlines everything
flops.gridding        = 8 points
bytes.gridding.l1     = 24 points
