# config.mk - the settings of the build: change them here or on the command line (make OPT=-O2).

CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif

# The flags of all CPU code: those with which 00_sequential is fastest (make flags).
# x86-64-v3 includes AVX2, which most x86 processors since 2015 have; on other processors the
# compiler's default is used. If measurements show that more instruction sets pay off,
# program.mk and step.mk declare $(NATIVE): all that this processor has, unless ARCH is set.
OPT     ?= -O3
ifeq ($(origin ARCH),undefined)
ARCH    := $(shell $(CC) -march=x86-64-v3 -E -x c /dev/null >/dev/null 2>&1 && \
             grep -qsw avx2 /proc/cpuinfo && echo -march=x86-64-v3)
endif
NATIVE   = $(if $(filter -march=x86-64-v3,$(ARCH)),-march=native)
EXTRA   ?=
# Compilation results are reused where ccache is installed and works (it needs a folder that it
# can write); CCACHE= turns that off.
ifeq ($(origin CCACHE),undefined)
CCACHE  := $(shell command -v ccache 2>/dev/null)
CCACHE  := $(if $(CCACHE),$(shell folder=$$(mktemp -d) && echo >$$folder/a.c && \
             $(CCACHE) $(CC) -c $$folder/a.c -o $$folder/a.o >/dev/null 2>&1 && echo $(CCACHE); \
             rm -rf "$$folder"))
endif
# Copies of the tree, which tests make, reuse the results of the tree: of the folder's name only
# a debugger would need to know.
export CCACHE_NOHASHDIR = 1
BUILD   ?= build

# The GPU architecture: that of this machine, or else the oldest that CUDA 13 supports; newer
# GPUs translate its PTX when the program starts.
ifeq ($(origin NVCC),undefined)
NVCC    := $(firstword $(wildcard /usr/local/cuda/bin/nvcc) $(shell command -v nvcc))
endif
has_gpu := $(if $(shell nvidia-smi -L 2>/dev/null),yes)
CUDA_ARCH ?= $(if $(has_gpu),native,sm_75)

# The Python of an active virtual environment that has numpy, or else the system's, for which
# setup.sh installs packages.
ifeq ($(origin PYTHON),undefined)
virtual := $(if $(filter 1,$(words $(VIRTUAL_ENV))),$(wildcard $(VIRTUAL_ENV)/bin/python3))
PYTHON  := $(firstword $(if $(virtual),$(shell $(virtual) -c 'import numpy' 2>/dev/null && \
             echo $(virtual))) $(wildcard /usr/bin/python3) python3)
endif

# ------------------------------------------------------------------------------------
# Everything below is detected.

# Warnings are errors, unless the compiler is newer than those with which the tree is tested: it
# may have new warnings.
ifeq ($(origin WERROR),undefined)
newer  := __clang_major__ > 19 || !defined __clang__ && __GNUC__ > 14
WERROR := $(shell printf '\043if $(newer)\n\043error\n\043endif\n' | \
             $(CC) -E -x c - >/dev/null 2>&1 && echo -Werror)
endif

# -ffp-contract=off: no multiplication is fused with an addition, so that results have the same
# bytes at every level of optimization and with every compiler.
# -g1: names and lines for tools; the places of variables would double the time of compiling.
# -Wno-pass-failed: clang need not vectorize each loop that requests it.
CFLAGS   = -std=c11 -ffp-contract=off $(OPT) $(ARCH) -fno-math-errno -g1 \
           -Wall -Wextra $(WERROR) -Wno-pass-failed $(EXTRA)
NVFLAGS  = -O3 -arch=$(CUDA_ARCH) $(if $(WERROR),--Werror all-warnings) \
           -Xcompiler -Wall,-Wextra$(WERROR:%=,%)

has_opencl := $(shell echo 'int main(void) { return clGetPlatformIDs(0, 0, 0); }' | \
                $(CC) -DCL_TARGET_OPENCL_VERSION=120 -include CL/cl.h -x c - -lOpenCL \
                -o /dev/null 2>/dev/null && echo yes)
# OpenACC: gcc would have its PTX checked by a ptxas that no longer supports the oldest GPUs;
# the driver translates it anyway.
ACCFLAGS = -foffload-options=-Wa,--no-verify -no-pie
has_openacc := $(shell printf 'int main(void) {\n\043pragma acc parallel\n { } return 0; }' | \
                $(CC) -fopenacc $(ACCFLAGS) -Wall -Werror -x c - -o /dev/null 2>/dev/null && \
                echo yes)
has_cuda   := $(if $(NVCC),yes)
# A launch of common/cuda/cuda_cpu.h is a block in clang and a nested function in gcc, which
# would need the stack of its caller with -O0.
BLOCKS     := $(shell $(CC) -fblocks -E -x c /dev/null >/dev/null 2>&1 && echo -fblocks)
BLOCKS     += $(if $(filter -O0,$(OPT)),-O1)
# mpicc is a wrapper of a compiler: that of Open MPI reads OMPI_CC, that of MPICH MPICH_CC.
MPICC    = OMPI_CC="$(CC)" MPICH_CC="$(CC)" mpicc
has_mpi := $(shell printf '\043include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }' | \
             $(MPICC) -x c - -o /dev/null 2>/dev/null && echo yes)

without_opencl = OpenCL not found: its back-ends are skipped (./setup.sh installs it)
without_mpi    = mpicc not found: back-ends with MPI are skipped (./setup.sh installs it)
without_cuda   = nvcc not found: CUDA back-ends are skipped; cuda-cpu checks their code
