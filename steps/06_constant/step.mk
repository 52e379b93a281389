title             = Constant memory
kind              = memory
backends          = omp ocl cuda cuda-cpu
backends.fletcher = omp openacc ocl cuda cuda-cpu

title.semblance       = Trace headers and the query in constant memory
changes.semblance     = body.h opencl.c kernel.cl cuda.cu
predict.semblance.cpu = 1.0: a CPU has no constant memory, only caches, and they hold these data already
predict.semblance.gpu = 1.1: all lanes read the same trace at the same time, one broadcast instead of a load
flops.semblance       = 6 visits + 2 used + 6 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

title.fletcher       = The weights in constant memory
kind.fletcher        = refactor
changes.fletcher     = body.h
predict.fletcher.cpu = 1.0: the compilers know the values of the tables and generate the same code
predict.fletcher.gpu = 1.0: an operand in the instruction or in constant memory, which all lanes read at the same address
flops.fletcher       = 254 samples
bytes.fletcher.dram  = 128 samples

# gridding: absent. All lanes read the same address only for the visibility and for the taps
# of its row. The taps of all planes have 0.27 MB, constant memory has 64 KiB. Those of one
# plane would fit if the visibilities were sorted by plane, which is a change of its own; and
# a visibility is read only once.

title.fluid       = Sides of the box as constants
shown.fluid       = kernel.cl
changes.fluid     = opencl.c kernel.cl cuda.cu
kind.fluid        = refactor
predict.fluid.cpu = 1.05 for OpenCL: the compiler knows the strides; 1.0 for OpenMP, which does not change
predict.fluid.gpu = 1.05: the same
flops.fluid       = 8 updates + 40 advected
bytes.fluid.l1    = 28 updates

title.sandpile       = The shape as constants, a ring of zeros for the border
shown.sandpile       = kernel.cl
changes.sandpile     = body.h host.h opencl.c kernel.cl cuda.cu
kind.sandpile        = refactor
reason.sandpile      = the packed layout changes, and with it packing, clearing and unpacking; the shape moves from the kernels to the host
predict.sandpile.cpu = 1.0 for omp, which does not change; 1.1 for OpenCL: two tests fewer per word
predict.sandpile.gpu = 1.1: two tests fewer per word
flops.sandpile       = 2.5 cells
bytes.sandpile.l1    = 3 cells
