title    = Simplify the algebra
kind     = algebra
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h host.h opencl.c
predict.semblance.cpu = 2.0: five divisions, two midpoints and an ordered sum leave every visit
predict.semblance.gpu = 2.0: for the same reason
flops.semblance       = 15 visits + 2 used + 6 samples
bytes.semblance.l1    = 8 visits + 4 used + 4 samples

changes.sandpile       = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
kind.sandpile          = refactor
reason.sandpile        = the toppling in bytes stands beside the one in words of 32 bits, which tall piles begin with: a second loop for each of three back-ends
predict.sandpile.cpu   = 4.0: four times as many cells in a vector and in a cache line; the means about make up for the masks
predict.sandpile.gpu   = 3.0: a quarter of the bytes, a few more instructions a word
flops.sandpile         = 1 cells
bytes.sandpile.l1      = 3 cells
