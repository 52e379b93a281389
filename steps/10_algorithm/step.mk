title    = A better algorithm
kind     = algebra
backends = omp ocl cuda cuda-cpu

title.semblance       = 16 interpolation nodes instead of 400 points, and pruning by upper bounds
changes.semblance     = body.h bound.h share.h moveout.h moveout_host.h cpu.c host.h opencl.c kernel.cl cuda.cu
cflags.semblance      = -ffp-contract=fast $(NATIVE)
reason.semblance      = two algorithms: cubic interpolation between nodes, and bounds with a search order, which the hosts of both devices maintain
predict.semblance.cpu = 20: 16 visits instead of 400 for a trace without knots; the gain of the bounds depends on the data, from 1 to 100 (the first was written after a prototype had 5, the second before anything was measured)
predict.semblance.gpu = 5: the same, but a thread has 16 nodes to store, and all threads start before there is an incumbent

title.fletcher       = Only the box that the wave can have reached is updated
shown.fletcher       = box.h
kind.fletcher        = refactor
changes.fletcher     = box.h march.h tile.h cpu.c opencl.c kernel.cl cuda.cu
cflags.fletcher      = $(NATIVE)
reason.fletcher      = box.h is new, and all back-ends loop over a box that grows instead of over the grid
predict.fletcher.cpu = 20 for set 2, 3.7 for 208 points per axis and 30 steps, 1 for runs in which the wave fills the grid: the ratio of the points (written after a prototype had 9.3 and 3.1)
predict.fletcher.gpu = the same
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples

title.gridding       = Footprints only as wide as their w-plane needs
changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding       = footprints of a class end and begin in the middle of blocks, which needs three instances of the sums; bins have sizes of their own
predict.gridding.cpu = 1.8 for askap, whose w is evenly distributed, 6.5 for default, whose w is mostly small: the ratio of the remaining blocks (counted before it was written)
predict.gridding.gpu = the same

title.fluid       = Direct pressure solver: discrete cosine transform and Thomas algorithm
shown.fluid       = cosine.h
changes.fluid     = cosine.h cpu.c host.h opencl.c kernel.cl cuda.cu
check.fluid       = pressure=direct
reason.fluid      = DCT-II, its inverse, and the Thomas algorithm along x: cosine.h is new, and so is the part of cpu.c that transforms planes and slabs
predict.fluid.cpu = 1.5: about as many operations as 8 sweeps instead of 20, for two of six solves; at equal accuracy a factor of hundreds, since 20 sweeps would have to be thousands (written after a prototype)
predict.fluid.gpu = 1.2: two of the six solves of a step take five launches each, and no flags that the host waits for, instead of up to 40 half sweeps with a barrier after each (written before any run on a GPU)

title.sandpile       = Symmetry: one quarter of a pile that equals its mirror images
changes.sandpile     = odometer.h body.h cpu.c host.h opencl.c kernel.cl cuda.cu
cflags.sandpile      = $(NATIVE)
kind.sandpile        = refactor
reason.sandpile      = the packed part is smaller than the pile, which changes packing, steps and unpacking in all three back-ends
predict.sandpile.cpu = 3.0: a quarter of the cells, but as many barriers
predict.sandpile.gpu = 1.5: a quarter of the pile does not fill a GPU
flops.sandpile       = 0.0625 cells
bytes.sandpile.l1    = 0.023 cells
