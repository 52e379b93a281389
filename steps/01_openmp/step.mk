title    = OpenMP
kind     = refactor
backends = seq omp

title.semblance       = The values of A distributed among threads, one result for each (A, B)
changes.semblance     = body.h cpu.c vector.h moveout.h
shown.semblance       = cpu.c
predict.semblance.cpu = 2.0 on 2 threads: the values of A are independent, and each thread takes the next one when it is free
predict.semblance.gpu = none
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 18 visits + 4 used + 4 samples

title.fletcher       = Threads share the planes, vectors process the rows
shown.fletcher       = cpu.c
changes.fletcher     = cpu.c
predict.fletcher.cpu = 5.0 on 2 threads: 2 for the threads, because planes are independent, and 2.5 for vectors of eight floats, which need an unaligned load per weight
predict.fletcher.gpu = none
flops.fletcher       = 578 samples
bytes.fletcher.dram  = 64 samples

title.gridding       = Visibilities divided among threads, one copy of the grid per thread
kind.gridding        = algebra
changes.gridding     = body.h cpu.c host.h
predict.gridding.cpu = 1.9 on 2 threads: the work per thread is equal, and clearing and adding the copies is little work compared with gridding
predict.gridding.gpu = none
flops.gridding       = 8 points
bytes.gridding.l1    = 24 points

title.fluid       = Loop interchange, and rows distributed over threads
shown.fluid       = cpu.c
changes.fluid     = cpu.c
predict.fluid.cpu = 4 on 2 threads: a factor of 2 from two threads, a factor of 2 from unit stride
predict.fluid.gpu = none
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = Tiles of the grid in parallel (OpenMP)
shown.sandpile       = cpu.c
changes.sandpile     = cpu.c
predict.sandpile.cpu = 1.9 on 2 threads: the tiles of a step write to disjoint memory
predict.sandpile.gpu = none
flops.sandpile       = 10 cells
bytes.sandpile.l1    = 12 cells
