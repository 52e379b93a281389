title    = More than one machine
kind     = port
backends = mpi
after    = 10
shown    = mpi.c
backends.semblance = mpi mpi-ocl

title.fluid       = Slabs, with a halo for each half sweep
changes.fluid     = mpi.c slab.h cpu.c block.h kernel.cl opencl.c
reason.fluid      = a slab has borders in each loop over planes; halos, the stop, far planes and the pressure's turn are what ranks tell one another
predict.fluid.cpu = 0.9 of one rank with as many threads: a half sweep has a message where threads have a barrier, and the wavefront of step 09 is given up
predict.fluid.gpu = 1.0: not written for one
