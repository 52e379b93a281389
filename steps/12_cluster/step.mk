title    = More than one machine
kind     = port
backends = mpi
after    = 10
shown    = mpi.c
backends.semblance = mpi mpi-ocl

title.sandpile       = Slabs of rows with a deep halo, and an end that nobody waits for
changes.sandpile     = body.h column.h cpu.c cuda.cu host.h kernel.cl mpi.c opencl.c
reason.sandpile      = the threads' toppling becomes one of some rows between others; mpi.c and column.h are new, and what is a device's is gone
predict.sandpile.cpu = 0.95: two ranks make as much twice as two threads, and an exchange of rows costs more than a barrier
