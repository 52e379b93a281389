title    = Host and device share the work
kind     = port
backends = hybrid hybrid-cuda hybrid-cuda-cpu
shown    = hybrid.c

title.semblance       = Host threads and a device take work from one ordered list
changes.semblance     = moveout.h moveout_host.h share.h hybrid.c sides.h cpu.c host.h opencl.c kernel.cl cuda.cu
cflags.semblance      = -ffp-contract=fast $(NATIVE)
reason.semblance      = hybrid.c is new: the search of each side becomes a function, and hybrid.c distributes the work between the sides
predict.semblance.cpu = 1 relative to two threads of step 10 on the same two cores: the gain would be that the device's core is used; 0.93 from the two rates alone
predict.semblance.gpu = 1.1 over the device alone: a panel on 16 cores and a GPU, if the cores have a tenth of its rate; 1 for a search with bounds, whose few parts are completed before a chunk returns

after.fletcher       = 09
title.fletcher       = A slab per side, divided by measured times
cflags.fletcher      = $(NATIVE)
changes.fletcher     = hybrid.c sides.h host.h cpu.c opencl.c kernel.cl cuda.cu tile.h
reason.fletcher      = host and device become functions that hybrid.c calls; hybrid.c, sides.h and host.h are new
predict.fletcher.cpu = 0.95: a device that consists of half of the cores adds no compute power; the cut costs two halos of 2 MB per step and a separate pass over 4 planes on each side
predict.fletcher.gpu = 1.05 over the GPU alone: the host has a twentieth of its speed
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples

title.gridding       = Host and device take segments of the grid from a common list
changes.gridding     = hybrid.c sides.h cpu.c opencl.c kernel.cl cuda.cu host.h
reason.gridding      = both sides are in one binary: the distribution of work is new, and the code of the device is split into set-up, start and completion
predict.gridding.cpu = 1.85 of one host thread alone, with PoCL on the other core: the sum of both rates, minus the sorting, during which only one core works; 0.9 of two host threads, which have no grid to copy
predict.gridding.gpu = 1 + Td / Th over the device alone: 1.05 if the device is twenty times as fast as its host

title.fluid       = Fields as tasks, distributed by list scheduling
changes.fluid     = hybrid.c sides.h body.h strip.h block.h cpu.c opencl.c kernel.cl cuda.cu
check.fluid       = pressure=direct
reason.fluid      = the side of each task, and the place of its fields, are new; a device that stops by itself must keep for each solve its initial values and its progress; both sides keep the layout of rows that step 08 had before it joined the rows of a plane
predict.fluid.cpu = 1.5 over either side alone, each with one core: of about 84 sweeps worth of work per step, 36 are the pressure solves and their inputs, with which only the density can overlap (the ratio was written before the first run, the count was corrected after it)
predict.fluid.gpu = 1.0: a task that a GPU does ten times as fast is not worth the transfers of its fields

title.sandpile       = Host and device each compute a part of the rows, with 64 ghost rows
changes.sandpile     = odometer.h body.h slab.h cpu.c cuda.cu host.h hybrid.c kernel.cl opencl.c sides.h
cflags.sandpile      = $(NATIVE)
reason.sandpile      = each back-end becomes one side, which computes given steps of given rows; hybrid.c, sides.h and slab.h are new; without estimates for rule=async
predict.sandpile.cpu = 0.7: one of two threads becomes a device that computes a quarter more rows than its own
predict.sandpile.gpu = 1.0: a temporal block of dim=1024 takes less time than a launch; from dim=8192 on it should reach the sum of both rates
