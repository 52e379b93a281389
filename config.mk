# config.mk - what you may set, here or on the command line (make OPT=-O2 ...).

CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif

# One set of flags for all CPU code: the one under which 00_sequential is fastest (make
# flags). x86-64-v3 has AVX2, as most x86 made since 2015; elsewhere the compiler's default
# is taken. -std=c11 keeps gcc from fusing a multiplication with an addition, so results
# are the same to the byte at every level of optimization. Where more than that has been
# measured to pay, program.mk and step.mk say $(NATIVE): all that this processor has,
# unless you have set ARCH.
OPT     ?= -O3
ifeq ($(origin ARCH),undefined)
ARCH    := $(shell $(CC) -march=x86-64-v3 -E -x c /dev/null >/dev/null 2>&1 && \
             grep -qsw avx2 /proc/cpuinfo && echo -march=x86-64-v3)
endif
NATIVE   = $(if $(filter -march=x86-64-v3,$(ARCH)),-march=native)
EXTRA   ?=
# Compilation results are reused where ccache is installed; CCACHE= turns that off.
CCACHE  ?= $(shell command -v ccache 2>/dev/null)
BUILD   ?= build

# The GPU to compile for: the one in this machine, or the oldest that is supported, whose
# PTX newer ones translate when the program starts.
ifeq ($(origin NVCC),undefined)
NVCC    := $(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc))
endif
has_gpu := $(if $(shell nvidia-smi -L 2>/dev/null),yes)
CUDA_ARCH ?= $(if $(has_gpu),native,sm_75)

# The Python of an active virtual environment, or else the system's, which has the packages
# that setup.sh installs.
PYTHON  ?= $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV)/bin/python3,$(firstword $(wildcard /usr/bin/python3) python3))

# ------------------------------------------------------------------------------------
# Detected: nothing to set below this line.

# -Wno-pass-failed: a loop that asks for vectors and gets none is slow, not wrong (clang).
CFLAGS   = -std=c11 -ffp-contract=off $(OPT) $(ARCH) -fno-math-errno -g -Wall -Wextra -Werror -Wno-pass-failed $(EXTRA)
NVFLAGS  = -O3 -arch=$(CUDA_ARCH) --Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror

has_opencl := $(shell echo 'int main(void) { return clGetPlatformIDs(0, 0, 0); }' | \
                $(CC) -DCL_TARGET_OPENCL_VERSION=120 -include CL/cl.h -x c - -lOpenCL \
                -o /dev/null 2>/dev/null && echo yes)
# OpenACC: a gcc that can make code for NVIDIA's devices would have it checked by a ptxas
# that no longer knows the oldest of them. The driver translates it all the same.
ACCFLAGS = -foffload-options=-Wa,--no-verify -no-pie
has_openacc := $(shell printf 'int main(void) {\n\043pragma acc parallel\n { } return 0; }' | \
                $(CC) -fopenacc $(ACCFLAGS) -Wall -Werror -x c - -o /dev/null 2>/dev/null && echo yes)
has_cuda   := $(if $(NVCC),yes)
# MPI's compiler is a word before ours: Open MPI's reads OMPI_CC, MPICH's MPICH_CC.
MPICC    = OMPI_CC="$(CC)" MPICH_CC="$(CC)" mpicc
has_mpi := $(shell printf '\043include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }' | \
             $(MPICC) -x c - -o /dev/null 2>/dev/null && echo yes)

without_opencl = OpenCL headers or library not found: ocl back-ends are left out (Debian: ocl-icd-opencl-dev, pocl-opencl-icd)
without_mpi    = mpicc not found: mpi back-ends are left out (Debian: openmpi-bin libopenmpi-dev)
without_cuda   = nvcc not found: cuda back-ends are left out, cuda-cpu checks their code (CUDA Toolkit)
