backends = seq omp
