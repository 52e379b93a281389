title    = OpenMP
kind     = refactor
backends = seq omp

changes.semblance     = body.h cpu.c vector.h
predict.semblance.cpu = 2.0 on 2 threads: the values of A share nothing, and whoever is free takes the next
predict.semblance.gpu = none
