08_vector.title    = Vectors
08_vector.kind     = algebra
08_vector.backends = omp ocl cuda cuda-cpu

08_vector.title.semblance       = Vectors of neighboring samples, or of neighboring values of (D, E)
08_vector.changes.semblance     = body.h block.h cpu.c host.h opencl.c kernel.cl cuda.cu
08_vector.cflags.semblance      = -ffp-contract=fast $(NATIVE)
08_vector.reason.semblance      = lanes that are close together and lanes that are not take two paths through a window, samples and parameters are searched in blocks, and the best lane is selected at the end
08_vector.predict.semblance.cpu = 7, expected after a prototype: with vectors of 16, 400 values of (D, E) fill 25 vectors; a window sample costs one load with a permutation, one multiplication, two fused operations and one addition for 16 points, instead of about eight instructions for one point
08_vector.predict.semblance.gpu = 1.2: a GPU's lanes are its threads already; it gains because num is in registers again
08_vector.flops.semblance       = 6 visits + 3 used + 6 samples

08_vector.title.fletcher       = Explicit vectors along a row, and fused multiply-add
08_vector.changes.fletcher     = body.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
08_vector.cflags.fletcher      = $(NATIVE)
08_vector.reason.fletcher      = each load and store of body.h has LANES points; the OpenACC back-end ends with step 07
08_vector.predict.fletcher.cpu = 1.3 with AVX-512, 1.1 with AVX2: a derivative has 9 or 10 operations instead of 12 or 14, and vectors of 16 floats halve the instructions; the compiler vectorized the loops already
08_vector.predict.fletcher.gpu = 1.0: the lanes of a GPU are threads, and its compiler fuses operations already
08_vector.flops.fletcher       = 260 samples
08_vector.bytes.fletcher.dram  = 52 samples

08_vector.title.gridding       = A row of a block is one vector
08_vector.changes.gridding     = body.h cpu.c opencl.c kernel.cl cuda.cu
08_vector.predict.gridding.cpu = 4.0: a row of sums is one vector register, so the compiler cannot place it on the stack
08_vector.predict.gridding.gpu = 1.0: on a GPU the lanes are already threads
08_vector.flops.gridding       = 8 points

08_vector.title.fluid       = Colors stored separately, vectors of cells
08_vector.shown.fluid       = strip.h
08_vector.kind.fluid        = refactor
08_vector.changes.fluid     = body.h strip.h cpu.c host.h opencl.c kernel.cl rows.cl cuda.cu
08_vector.reason.fluid      = every cell has another index, and the rows of a plane are one loop: each function that computes an index changes, and strip.h and rows.cl are new
08_vector.predict.fluid.cpu = 2.5, expected after a prototype: eight cells per instruction, which are now contiguous
08_vector.predict.fluid.gpu = 1.5: coalesced loads, which use all of each cache line instead of half
08_vector.flops.fluid       = 8 updates + 40 advected
08_vector.bytes.fluid.l1    = 28 updates

08_vector.title.sandpile       = Bit planes: 32 cells per word, and no barrier
08_vector.changes.sandpile     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
08_vector.shown.sandpile       = kernel.cl
08_vector.cflags.sandpile      = $(NATIVE)
08_vector.kind.sandpile        = refactor
08_vector.reason.sandpile      = bit planes replace bytes in all three back-ends: packing, steps, unpacking
08_vector.predict.sandpile.cpu = 4.0 for omp, 30 for OpenCL, expected after a prototype: 22 operations per vector of bits, where bytes need 8 for an eighth as many cells; and no barrier
08_vector.predict.sandpile.gpu = 4.0: three eighths of the bytes, and 32 cells for about twice the operations of four
08_vector.flops.sandpile       = 0.25 cells
08_vector.bytes.sandpile.l1    = 1 cells
