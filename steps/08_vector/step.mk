title    = Vectors
kind     = algebra
backends = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

title.semblance       = Vectors of neighbouring samples, or of neighbouring values of (D, E)
changes.semblance     = body.h block.h cpu.c host.h opencl.c kernel.cl cuda.cu
cflags.semblance      = -ffp-contract=fast $(NATIVE)
reason.semblance      = lanes that are close together and lanes that are not take two paths through a window, samples and parameters are searched in blocks, and the best lane is selected at the end
predict.semblance.cpu = 7: with vectors of 16, 400 values of (D, E) fill 25 vectors; a window sample costs one load with a permutation, one multiplication, two fused operations and one addition for 16 points, instead of about eight instructions for one (written after measuring)
predict.semblance.gpu = 1.2: a GPU's lanes are its threads already; it gains because num is in registers again
flops.semblance       = 6 visits + 3 used + 6 samples

title.fletcher       = Wider vectors, fused multiply-add, and three cosines instead of six products
changes.fletcher     = body.h cpu.c opencl.c kernel.cl cuda.cu openacc.c
reason.fletcher      = each load and store of body.h has LANES points, and the medium has other fields
predict.fletcher.cpu = 1.4: two thirds of the instructions, and seven fields of the medium instead of ten
predict.fletcher.gpu = 1.2: 52 bytes per point instead of 64; the lanes of a GPU are threads, and its compiler fuses operations already
flops.fletcher       = 260 samples
bytes.fletcher.dram  = 52 samples

title.gridding       = A row of a block is one vector
changes.gridding     = body.h cpu.c opencl.c kernel.cl cuda.cu
predict.gridding.cpu = 4.0: a row of sums is one vector register, so the compiler cannot place it on the stack
predict.gridding.gpu = 1.0: on a GPU the lanes are already threads
flops.gridding       = 8 points

title.fluid       = Colours stored separately, vectors of cells
shown.fluid       = strip.h
kind.fluid        = refactor
changes.fluid     = body.h strip.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.fluid      = every cell has another index, and the rows of a plane are one loop: each function that computes an index changes, and strip.h is new
predict.fluid.cpu = 2.5: eight cells per instruction, which are now contiguous (written after the same layout had gained 2.9 together with the changes of step 05)
predict.fluid.gpu = 1.5: coalesced loads, which use all of each cache line instead of half
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = Bit planes: 32 cells per word, and no barrier
changes.sandpile     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
cflags.sandpile      = $(NATIVE)
kind.sandpile        = refactor
reason.sandpile      = bit planes replace bytes in all three back-ends: packing, steps, unpacking
predict.sandpile.cpu = 4.0 for omp, 30 for OpenCL: 22 operations per vector of bits, where bytes need 8 for an eighth as many cells; and no barrier (written after a prototype had been timed: 4 and 25)
predict.sandpile.gpu = 4.0: three eighths of the bytes, and 32 cells for about twice the operations of four
flops.sandpile       = 0.25 cells
bytes.sandpile.l1    = 1 cells
