# backends.mk - the back-ends: what each is made of, needs, and runs on.
#
# Make, and all Python through tools/base/tree.py, read this file; nothing else lists
# back-ends. To add one, add a block, and name it in `backends` of the steps that have it.
#
#   sources   files of a step's folder. A .c file is compiled by gcc (mpicc), a .cu file by
#             gcc as C or by nvcc, and a .cl file becomes a C array of its text.
#   common    objects of common/ that are linked along
#   compiler  NVCC: nvcc compiles .cu files and links; MPICC: mpicc compiles and links
#   flags     for gcc; in `libs`, those for the linker
#   needs     what must be installed, as config.mk detects it; without it the back-end is
#             left out
#   limits    gpu: runs on a GPU only; checking: for results, not for speed; shared: divides
#             one problem among a host and a device or among ranks
#   launch    mpirun: is started as several ranks
#   threads   1: uses one core; unless set, all of them
#   device    what computes, as tables name it: core, threads, cpu, opencl, gpu, or, for
#             OpenACC, acc, which is either a GPU or a core
#   sides     of a shared problem: the back-ends of the host's and of the device's part
#   vary      how make verify varies one case: threads, ranks, shares (of the device),
#             groups (sizes of work-groups), as-gpu (the OpenCL device is taken for a GPU)
#   bind      VARIABLE=VALUE that binds its threads to cores when it is timed
#   label     what tables and figures call it

backends   += seq
seq.label   = sequential
seq.sources = cpu.c
seq.flags   = -Wno-unknown-pragmas
seq.threads = 1
seq.device  = core

backends   += omp
omp.label   = OpenMP
omp.sources = cpu.c
omp.flags   = -fopenmp
omp.device  = threads
omp.vary    = threads
omp.bind    = OMP_PROC_BIND=true

backends       += openacc
openacc.label   = OpenACC
openacc.sources = openacc.c
openacc.flags   = -fopenacc $(ACCFLAGS)
openacc.needs   = openacc
openacc.threads = 1
openacc.device  = acc

backends   += ocl
ocl.label   = OpenCL
ocl.sources = opencl.c kernel.cl
ocl.common  = opencl/ocl.o
ocl.libs    = -lOpenCL
ocl.needs   = opencl
ocl.device  = opencl
ocl.vary    = groups as-gpu
ocl.bind    = POCL_AFFINITY=1

backends        += cuda-cpu
cuda-cpu.label   = CUDA on the CPU
cuda-cpu.sources = cuda.cu
cuda-cpu.common  = cuda/cuda_device-cpu.o cuda/cuda_cpu.o
cuda-cpu.flags   = -fopenmp $(BLOCKS)
cuda-cpu.limits  = checking
cuda-cpu.device  = cpu
cuda-cpu.vary    = groups

backends     += cuda
cuda.label    = CUDA
cuda.sources  = cuda.cu
cuda.common   = cuda/cuda_device.o
cuda.compiler = NVCC
cuda.needs    = cuda
cuda.limits   = gpu
cuda.device   = gpu
cuda.vary     = groups

backends      += hybrid
hybrid.label   = OpenMP and OpenCL
hybrid.sources = hybrid.c cpu.c opencl.c kernel.cl
hybrid.common  = hybrid/hybrid.o opencl/ocl.o
hybrid.flags   = -fopenmp
hybrid.libs    = -lOpenCL
hybrid.needs   = opencl
hybrid.limits  = shared
hybrid.sides   = omp ocl
hybrid.vary    = shares as-gpu

backends               += hybrid-cuda-cpu
hybrid-cuda-cpu.label   = OpenMP and CUDA on the CPU
hybrid-cuda-cpu.sources = hybrid.c cpu.c cuda.cu
hybrid-cuda-cpu.common  = hybrid/hybrid.o cuda/cuda_device-cpu.o cuda/cuda_cpu.o
hybrid-cuda-cpu.flags   = -fopenmp $(BLOCKS)
hybrid-cuda-cpu.limits  = checking
hybrid-cuda-cpu.sides   = omp cuda-cpu
hybrid-cuda-cpu.vary    = shares

backends            += hybrid-cuda
hybrid-cuda.label    = OpenMP and CUDA
hybrid-cuda.sources  = hybrid.c cpu.c cuda.cu
hybrid-cuda.common   = hybrid/hybrid.o cuda/cuda_device.o
hybrid-cuda.compiler = NVCC
hybrid-cuda.flags    = -fopenmp
hybrid-cuda.needs    = cuda
hybrid-cuda.limits   = gpu shared
hybrid-cuda.sides    = omp cuda
hybrid-cuda.vary     = shares

backends    += mpi
mpi.label    = MPI
mpi.sources  = mpi.c cpu.c
mpi.common   = mpi/ranks.o
mpi.compiler = MPICC
mpi.flags    = -fopenmp
mpi.needs    = mpi
mpi.limits   = shared
mpi.launch   = mpirun
mpi.vary     = ranks

backends        += mpi-ocl
mpi-ocl.label    = MPI and OpenCL
mpi-ocl.sources  = mpi.c opencl.c kernel.cl
mpi-ocl.common   = mpi/ranks.o opencl/ocl.o
mpi-ocl.compiler = MPICC
mpi-ocl.flags    = -fopenmp
mpi-ocl.libs     = -lOpenCL
mpi-ocl.needs    = mpi opencl
mpi-ocl.limits   = shared
mpi-ocl.launch   = mpirun
mpi-ocl.device   = opencl
mpi-ocl.vary     = ranks
