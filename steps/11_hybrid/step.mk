title    = Host and device share the work
kind     = port
backends = hybrid hybrid-cuda hybrid-cuda-cpu
shown    = hybrid.c
backends.fluid    = hybrid

title.semblance       = One order of search, from which threads and a device take
changes.semblance     = body.h hybrid.c sides.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.semblance      = hybrid.c is new: what was the whole search on each side becomes a side, and what is left of it is to divide
predict.semblance.cpu = 1 as two threads of step 10, which have the same two cores: what there is to gain is that the device's core is not lost; of the two rates alone, 0.93
predict.semblance.gpu = 1.1 over the device alone: a panel on 16 cores and a GPU, if the cores have a tenth of its rate; 1 for a search with bounds, whose few parts are through before a chunk is back

title.fletcher       = A slab each, and a cut that follows the clock
changes.fletcher     = hybrid.c sides.h host.h cpu.c opencl.c kernel.cl cuda.cu tile.h
reason.fletcher      = the two sides become functions that hybrid.c calls, and hybrid.c, sides.h and host.h are new
predict.fletcher.cpu = 0.95: a device made of half of the cores adds none; what is left is what the cut costs, two halos of 2 MB a step and a piece of 4 planes on each side
predict.fletcher.gpu = 1.05 over the GPU alone: the host has a twentieth of its rate
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples

title.gridding       = Segments of the grid for whoever comes first
changes.gridding     = hybrid.c sides.h cpu.c opencl.c kernel.cl cuda.cu host.h
reason.gridding      = both sides in one binary: who takes what is new, and the device's side is cut in what is paid once, what is started and what has come
predict.gridding.cpu = 1.85 of one thread of the host alone, beside PoCL on the other core: the sum of both rates, less what one sorts while nobody grids; 0.9 of two threads, who have no grid to copy
predict.gridding.gpu = 1 + Td / Th over the device alone: 1.05 where it is twenty times as fast as its host

title.fluid       = Fields shared as tasks, by a timetable
changes.fluid     = hybrid.c sides.h cpu.c opencl.c kernel.cl
reason.fluid      = whose a task is, and where its fields are, is new; a device that goes on by itself must keep for each solve what it started from and how far it got
predict.fluid.cpu = 1.5 over either side alone, each with one core: of about 84 sweeps' worth of work a step, 36 are pressures and what they need, which nothing can stand beside but the density (the ratio was written before it was run, the count put right after)
predict.fluid.gpu = 1.0: what a GPU does ten times as fast is not worth a field's way to the host and back

title.sandpile       = Host and device each compute a part of the rows, with 64 ghost rows
changes.sandpile     = body.h slab.h cpu.c cuda.cu host.h hybrid.c kernel.cl opencl.c device.h
cflags.sandpile      = $(NATIVE)
reason.sandpile      = each back-end becomes one side, which computes given steps of given rows; hybrid.c, device.h and slab.h are new
predict.sandpile.cpu = 0.7: one of two threads becomes a device that computes a quarter more rows than its own
predict.sandpile.gpu = 1.0: a temporal block of dim=1024 takes less time than a launch; from dim=8192 on it should reach the sum of both rates
