title    = Host and device share the work
kind     = port
backends = hybrid hybrid-cuda hybrid-cuda-cpu
shown    = hybrid.c

title.fletcher       = A slab each, and a cut that follows the clock
changes.fletcher     = hybrid.c sides.h host.h cpu.c opencl.c kernel.cl cuda.cu tile.h
reason.fletcher      = the two sides become functions that hybrid.c calls, and hybrid.c, sides.h and host.h are new
predict.fletcher.cpu = 0.95: a device made of half of the cores adds none; what is left is what the cut costs, two halos of 2 MB a step and a piece of 4 planes on each side
predict.fletcher.gpu = 1.05 over the GPU alone: the host has a twentieth of its rate
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples
