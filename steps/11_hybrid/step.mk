title    = Host and device share the work
kind     = port
backends = hybrid hybrid-cuda hybrid-cuda-cpu
shown    = hybrid.c

title.gridding       = Segments of the grid for whoever comes first
changes.gridding     = hybrid.c sides.h cpu.c opencl.c kernel.cl cuda.cu host.h
reason.gridding      = both sides in one binary: who takes what is new, and the device's side is cut in what is paid once, what is started and what has come
predict.gridding.cpu = 1.85 of one thread of the host alone, beside PoCL on the other core: the sum of both rates, less what one sorts while nobody grids; 0.9 of two threads, who have no grid to copy
predict.gridding.gpu = 1 + Td / Th over the device alone: 1.05 where it is twenty times as fast as its host
