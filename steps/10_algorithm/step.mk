10_algorithm.title    = A better algorithm
10_algorithm.kind     = algebra
10_algorithm.backends = omp ocl cuda cuda-cpu

10_algorithm.title.semblance       = 16 interpolation nodes serve all (D, E), and upper bounds skip (A, B, C)
10_algorithm.changes.semblance     = body.h block.h bound.h nodes.h share.h cpu.c host.h opencl.c moveout_opencl.h kernel.cl cuda.cu moveout_cuda.h
10_algorithm.cflags.semblance      = -ffp-contract=fast $(NATIVE)
10_algorithm.reason.semblance      = two algorithms: cubic interpolation between nodes, and bounds with a search order, which the hosts of both devices maintain
10_algorithm.predict.semblance.cpu = 20, of which 5 for the nodes, expected after a prototype: 16 visits instead of 400 for a trace whose arrivals cross no sample; the gain of the bounds depends on the data, from 1 to 100
10_algorithm.predict.semblance.gpu = 5: of the bounds alone, since the nodes of all threads would not fit into the caches, and all threads start before there is an incumbent

10_algorithm.title.fletcher       = Only the box that the wave can have reached is updated
10_algorithm.shown.fletcher       = box.h
10_algorithm.kind.fletcher        = refactor
10_algorithm.changes.fletcher     = box.h tile.h cpu.c opencl.c kernel.cl cuda.cu
10_algorithm.cflags.fletcher      = $(NATIVE)
10_algorithm.reason.fletcher      = box.h is new, and all back-ends loop over a box that grows instead of over the grid
10_algorithm.predict.fletcher.cpu = 20 for set 2, 3.7 for 208 points per axis and 30 steps, 1 for runs in which the wave fills the grid, expected after a prototype: the ratio of the points
10_algorithm.predict.fletcher.gpu = the same
10_algorithm.flops.fletcher       = 260 samples
10_algorithm.bytes.fletcher.dram  = 52 samples

10_algorithm.title.gridding       = Footprints only as wide as their w-plane needs
10_algorithm.changes.gridding     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
10_algorithm.predict.gridding.cpu = 1.8 for askap, whose w is evenly distributed, 6.5 for default, whose w is mostly small: the ratio of the numbers of blocks (counted before the code was written)
10_algorithm.predict.gridding.gpu = the same

10_algorithm.title.fluid       = Direct pressure solver: discrete cosine transform and Thomas algorithm
10_algorithm.shown.fluid       = cosine.h
10_algorithm.changes.fluid     = cosine.h cpu.c host.h opencl.c kernel.cl cuda.cu
10_algorithm.check.fluid       = pressure=direct
10_algorithm.reason.fluid      = DCT-II, its inverse, and the Thomas algorithm along x: cosine.h is new, and so is the part of cpu.c that transforms planes and slabs
10_algorithm.predict.fluid.cpu = 1.5, expected after a prototype: about as many operations as 8 sweeps instead of 20, for two of six solves; at equal accuracy a factor of hundreds, since 20 sweeps would have to be thousands
10_algorithm.predict.fluid.gpu = 1.2: two of the six solves of a step take five launches each instead of up to 40 half sweeps with a barrier after each, and the host waits for no flags (written before any run on a GPU)

10_algorithm.title.sandpile       = Symmetry: one quarter of a pile that equals its mirror images
10_algorithm.changes.sandpile     = levels.h body.h cpu.c host.h opencl.c kernel.cl cuda.cu
10_algorithm.cflags.sandpile      = $(NATIVE)
10_algorithm.kind.sandpile        = refactor
10_algorithm.reason.sandpile      = the packed part is smaller than the pile, which changes packing, steps and unpacking in all three back-ends; its rows are so short that threads compute several steps of them in registers
10_algorithm.predict.sandpile.cpu = 3.0: a quarter of the cells, but as many barriers
10_algorithm.predict.sandpile.gpu = 1.5: a quarter of the pile does not fill a GPU
10_algorithm.flops.sandpile       = 0.0625 cells
10_algorithm.bytes.sandpile.l1    = 0.023 cells
