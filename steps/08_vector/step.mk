title    = Lanes
kind     = algebra
backends = omp ocl cuda cuda-cpu

title.semblance       = Eight values of E side by side
changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.semblance      = what all lanes share and what each does for itself are two ways through a window, and the best of the lanes is picked at the end
predict.semblance.cpu = 4.0: eight lanes instead of one, of which 20 values of E fill 20 of 24, and a window's samples are loaded once for all (written after a prototype had 4)
predict.semblance.gpu = 1.2: a GPU's lanes are its threads already; what it gains is num in registers again
flops.semblance       = 6 visits + 3 used + 6 samples

title.fluid       = The colours apart, a vector of cells at once
shown.fluid       = strip.h
kind.fluid        = refactor
changes.fluid     = body.h strip.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.fluid      = another place for every cell, and a strip of them for a work-item: each function that knows where a cell lies says it anew, and strip.h is new
predict.fluid.cpu = 2.5: eight cells an instruction, which lie next to each other now (written after the same layout had 2.9 together with the changes of step 05)
predict.fluid.gpu = 1.5: lanes read next to each other, and half of each line is no longer fetched in vain
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates
