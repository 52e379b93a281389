06_constant.title             = Constant memory
06_constant.kind              = memory
06_constant.backends          = omp ocl cuda cuda-cpu

06_constant.title.semblance       = Trace headers and the query in constant memory
06_constant.changes.semblance     = body.h opencl.c kernel.cl cuda.cu
06_constant.predict.semblance.cpu = 1.0: a CPU has no constant memory, only caches, and they hold these data already
06_constant.predict.semblance.gpu = 1.1: all lanes read the same trace at the same time, one broadcast instead of a load
06_constant.flops.semblance       = 6 visits + 2 used + 6 samples
06_constant.bytes.semblance.l1    = 12 visits + 4 used + 4 samples

# fletcher: absent. Its only constants are the nine weights of the derivatives. Compilers place
# literals in the instructions already, and tables in constant memory compile to the same code.
#
# gridding: absent. All lanes read the same address only for the visibility and for the taps
# of its row. The taps of all planes have 0.27 MB, constant memory has 64 KiB. Those of one
# plane would fit if the visibilities were sorted by plane, which is a change of its own; and
# a visibility is read only once.

06_constant.title.fluid       = Sides of the box as constants
06_constant.shown.fluid       = kernel.cl
06_constant.changes.fluid     = opencl.c kernel.cl cuda.cu
06_constant.kind.fluid        = refactor
06_constant.predict.fluid.cpu = 1.05 for OpenCL: the compiler knows the strides; 1.0 for OpenMP, which does not change
06_constant.predict.fluid.gpu = 1.05: the same
06_constant.flops.fluid       = 8 updates + 40 advected
06_constant.bytes.fluid.l1    = 28 updates

06_constant.title.sandpile       = The shape as constants, a ring of zeros for the border
06_constant.shown.sandpile       = kernel.cl
06_constant.changes.sandpile     = body.h host.h opencl.c kernel.cl cuda.cu
06_constant.kind.sandpile        = refactor
06_constant.reason.sandpile      = the layout of packed grids changes, and the shape moves from the kernels to the host
06_constant.predict.sandpile.cpu = 1.0 for omp, which does not change; 1.1 for OpenCL: two tests fewer per word
06_constant.predict.sandpile.gpu = 1.1: two tests fewer per word
06_constant.flops.sandpile       = 2.5 cells
06_constant.bytes.sandpile.l1    = 3 cells
