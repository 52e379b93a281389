title    = More than one machine
kind     = port
backends = mpi
after    = 10
shown    = mpi.c
backends.semblance = mpi mpi-ocl

title.semblance       = Output traces from a counter, into one file that says what is done
changes.semblance     = mpi.c cuda.cu
predict.semblance.cpu = 0.4 for one point, which is not what it is for: a value of A each, without the best of the others to rule it out; 1.0 for a section, where two ranks meet at the start and at the end
predict.semblance.gpu = the same
