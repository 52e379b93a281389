01_openmp.title    = OpenMP
01_openmp.kind     = refactor
01_openmp.backends = seq omp

01_openmp.title.semblance       = The values of A distributed among threads, one result for each (A, B)
01_openmp.changes.semblance     = body.h cpu.c vector.h moveout.h
01_openmp.shown.semblance       = cpu.c
01_openmp.predict.semblance.cpu = 2.0 on 2 threads: the values of A are independent, and each thread takes the next one when it is free
01_openmp.predict.semblance.gpu = none
01_openmp.flops.semblance       = 24 visits + 12 samples
01_openmp.bytes.semblance.l1    = 18 visits + 4 used + 4 samples

01_openmp.title.fletcher       = Threads share the planes, vectors process the rows
01_openmp.shown.fletcher       = cpu.c
01_openmp.changes.fletcher     = cpu.c
01_openmp.predict.fletcher.cpu = 5.0 on 2 threads, expected after a prototype: 2 for the threads, because planes are independent, and 2.5 for vectors of eight floats, which need an unaligned load per weight
01_openmp.predict.fletcher.gpu = none
01_openmp.flops.fletcher       = 578 samples
01_openmp.bytes.fletcher.dram  = 64 samples

01_openmp.title.gridding       = Visibilities divided among threads, one copy of the grid per thread
01_openmp.kind.gridding        = algebra
01_openmp.changes.gridding     = body.h cpu.c host.h
01_openmp.predict.gridding.cpu = 1.9 on 2 threads: the work per thread is equal, and clearing and adding the copies is little work compared with gridding
01_openmp.predict.gridding.gpu = none
01_openmp.flops.gridding       = 8 points
01_openmp.bytes.gridding.l1    = 24 points

01_openmp.title.fluid       = Loop interchange, and rows distributed over threads
01_openmp.shown.fluid       = cpu.c
01_openmp.changes.fluid     = cpu.c
01_openmp.predict.fluid.cpu = 4 on 2 threads: a factor of 2 from two threads, a factor of 2 from unit stride
01_openmp.predict.fluid.gpu = none
01_openmp.flops.fluid       = 8 updates + 40 advected
01_openmp.bytes.fluid.l1    = 28 updates

01_openmp.title.sandpile       = Tiles of the grid in parallel (OpenMP)
01_openmp.shown.sandpile       = cpu.c
01_openmp.changes.sandpile     = cpu.c
01_openmp.predict.sandpile.cpu = 1.9 on 2 threads: the tiles of a step write to disjoint memory
01_openmp.predict.sandpile.gpu = none
01_openmp.flops.sandpile       = 10 cells
01_openmp.bytes.sandpile.l1    = 12 cells
