backends = omp ocl cuda cuda-cpu
