11_hybrid.title    = Host and device share the work
11_hybrid.kind     = port
11_hybrid.backends = hybrid hybrid-cuda hybrid-cuda-cpu
11_hybrid.shown    = hybrid.c

11_hybrid.title.semblance       = Host threads and a device take work from one list
11_hybrid.changes.semblance     = block.h host.h part.h sides.h hybrid.c cpu.c opencl.c kernel.cl cuda.cu moveout.h moveout_host.h moveout_cpu.h moveout_opencl.h moveout_cuda.h
11_hybrid.cflags.semblance      = -ffp-contract=fast $(NATIVE)
11_hybrid.reason.semblance      = hybrid.c is new: the search of each side becomes functions for some items of a list, the device's without waiting, and hybrid.c distributes the items; window=moveout is left out
11_hybrid.predict.semblance.cpu = 1.0 relative to two threads of step 10, for whole traces, expected after a prototype: both use the same two cores; to cut and to combine the chunks of 128 samples costs 3 percent
11_hybrid.predict.semblance.gpu = 1.1 over the device alone, for whole traces: 16 cores and a GPU, if the cores have a tenth of its rate; 1 for a search with bounds, whose few parts are completed before a batch returns

11_hybrid.after.fletcher       = 09
11_hybrid.title.fletcher       = A slab per side, with a measured cut
11_hybrid.cflags.fletcher      = $(NATIVE)
11_hybrid.changes.fletcher     = hybrid.c sides.h host.h cpu.c opencl.c kernel.cl cuda.cu tile.h
11_hybrid.reason.fletcher      = host and device become functions that hybrid.c calls; hybrid.c, sides.h and host.h are new
11_hybrid.predict.fletcher.cpu = 0.93 relative to two host threads: a device that consists of half of the cores adds no compute power; both sides wait for each other in each step, and copy two halos of 2 MB (208 points per axis) while neither computes
11_hybrid.predict.fletcher.gpu = 1.0 over the GPU alone: the host has a twentieth of its speed, and the exchange, which nothing overlaps, takes as long as what it saves
11_hybrid.flops.fletcher       = 260 samples
11_hybrid.bytes.fletcher.dram  = 52 samples

11_hybrid.title.gridding       = Host and device take segments of the grid from a common list
11_hybrid.changes.gridding     = hybrid.c sides.h cpu.c opencl.c cuda.cu
11_hybrid.reason.gridding      = both sides are in one binary: the distribution of work is new, and the code of the device is split into set-up, start and completion
11_hybrid.predict.gridding.cpu = 1.85 relative to one host thread alone, with PoCL on the other core: the sum of both rates, minus the sorting, during which only one core works; 0.9 of two host threads, which have no grid to copy
11_hybrid.predict.gridding.gpu = 1 + Td / Th over the device alone: 1.05 if the device is twenty times as fast as its host

11_hybrid.title.fluid       = The device computes the velocity, the host the density
11_hybrid.changes.fluid     = hybrid.c sides.h cpu.c opencl.c cuda.cu
11_hybrid.check.fluid       = pressure=direct
11_hybrid.reason.fluid      = hybrid.c and sides.h are new: the calls of a step become two lists, which host and device execute at the same time; each side keeps the code of step 10
11_hybrid.predict.fluid.cpu = 1.15 over the device alone, each with one core: the host takes one of four diffusions and one of four advections, about a seventh of the work, and then waits (written before any timing)
11_hybrid.predict.fluid.gpu = 0.9 of the GPU alone: the three components of the velocity are copied to the host in each step, and the GPU would compute the density in less time than that

11_hybrid.title.sandpile       = Host and device each compute a part of the rows, with 64 ghost rows
11_hybrid.changes.sandpile     = levels.h slab.h cpu.c cuda.cu hybrid.c kernel.cl opencl.c sides.h
11_hybrid.cflags.sandpile      = $(NATIVE)
11_hybrid.reason.sandpile      = each back-end becomes one side, which computes given steps of given rows; hybrid.c, sides.h and slab.h are new; steps in registers are left out
11_hybrid.predict.sandpile.cpu = 0.7 relative to two host threads: one of two threads becomes a device that computes an eighth more rows than its own
11_hybrid.predict.sandpile.gpu = 1.0: a temporal block of dim=1024 takes less time than a launch; from dim=8192 on it should reach the sum of both rates
