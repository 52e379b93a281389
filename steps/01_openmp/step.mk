title    = OpenMP
kind     = refactor
backends = seq omp

changes.semblance     = body.h cpu.c vector.h
predict.semblance.cpu = 2.0 on 2 threads: the values of A share nothing, and whoever is free takes the next
predict.semblance.gpu = none
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 18 visits + 4 used + 4 samples

kind.gridding        = algebra
changes.gridding     = body.h cpu.c host.h
predict.gridding.cpu  = 1.9 on 2 threads: shares are equal, and clearing and adding the copies is small beside gridding
predict.gridding.gpu  = none
flops.gridding        = 8 points
bytes.gridding.l1     = 24 points
