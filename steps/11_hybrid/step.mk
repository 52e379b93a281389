title    = Host and device share the work
kind     = port
backends = hybrid hybrid-cuda hybrid-cuda-cpu
shown    = hybrid.c

title.semblance       = One order of search, from which threads and a device take
changes.semblance     = hybrid.c sides.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.semblance      = hybrid.c is new: what was the whole search on each side becomes a side, and what is left of it is to divide
predict.semblance.cpu = 1 as two threads of step 10, which have the same two cores: what there is to gain is that the device's core is not lost; of the two rates alone, 0.93
predict.semblance.gpu = 1.1 over the device alone: a panel on 16 cores and a GPU, if the cores have a tenth of its rate; 1 for a search with bounds, whose few parts are through before a chunk is back
