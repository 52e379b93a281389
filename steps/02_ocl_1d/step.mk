title    = OpenCL, one work-item per A
kind     = port
backends = omp ocl cuda cuda-cpu

changes.semblance     = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.semblance      = the first OpenCL and CUDA programs arrive whole: 3 new files; what changes in the old ones is under 60 lines
predict.semblance.cpu = 1.0: the same loops on the same threads, built by another compiler
predict.semblance.gpu = 0.1 of the CPU: 20 work-items for thousands of lanes
flops.semblance       = 24 visits + 12 samples
bytes.semblance.l1    = 12 visits + 4 used + 4 samples

changes.gridding      = body.h cpu.c host.h opencl.c kernel.cl cuda.cu
reason.gridding       = the first OpenCL and CUDA programs arrive whole: 3 new files; C's complex numbers become pairs, which no device's C has
predict.gridding.cpu  = 1.0: the same loops on the same threads
predict.gridding.gpu  = 0.1 of the CPU: as many work-items as copies, tens on a machine for thousands
flops.gridding        = 8 points
bytes.gridding.l1     = 24 points
