# What the tree must know about this program. Both make and Python read it: one
# "key = value" a line; {data} stands for the folder of the generated data.
title   = W-projection gridding of visibilities
order   = 3
sources = main.c arguments.c sky.c taps.c image.c
shared  = run/png.c
libs    = -lfftw3 -lpng
recipes = file
suffix  = npy
rate    = Mpts/s
outputs = out:result

# C's complex product looks for infinities unless told that there are none: gcc then takes a
# branch for each and no vectors. Two rows of a footprint taken together, as gcc would from
# step 04 on, are two streams of the table and slower than one after the other. Clang has
# no such words. Step 00 is fastest with all that this processor has, AVX-512 where it has
# that; an ARCH of the user's is left alone.
gcc_words = -fcx-limited-range -fno-loop-unroll-and-jam
cflags = $(shell $(CC) -Werror $(gcc_words) -E -x c /dev/null >/dev/null 2>&1 && echo $(gcc_words)) -ffp-contract=fast $(NATIVE)

# Every step is compiled once more for precision=double (common/gridding/real.h).
double = -DREAL=double -DREAL_BYTES=8 -Dgridding=gridding_double -Ddegridding=degridding_double

# make run: the imaging case, and the paper's benchmark at a twentieth of its visibilities.
# Taps under a hundredth of the largest may be left out; who does not know how takes all.
set.default = preset=default accuracy=0.01
set.askap   = preset=askap accuracy=0.01
show  = askap
quick = default

# make shares: enough work for both sides to be measured.
shares = askap

# make cluster: each rank looks for its own among all visibilities; rank 0 gathers rows.
cluster.messages = P - 1
cluster.bytes    = 8 * grid ** 2 * (P - 1) / P
cluster.serial   = 72 * visibilities / dram
cluster.grow     = visibilities: visibilities * P

# make report: what comes out.
picture.points = preset=default grid=512 cell=1 baseline=100 support=48 planes=65 image={png} | Six sources over a wide field, gridded with the w term: points
picture.arcs   = preset=default grid=512 cell=1 baseline=100 support=48 planes=1 image={png} | The same visibilities without it: arcs

# make verify: small and awkward. Strips, where a step has them, divide
# no footprint evenly; the first case is run with several.
groups = strips=1,1 strips=5,2 copies=3
case.double  = uv=random visibilities=1009 grid=150 support=7 oversampling=5 planes=4 cell=80 precision=double
case.sky     = preset=small oversampling=16 strips=3,2
case.integer = preset=small kernel=integer uv=random strips=3,2
case.file    = in={data}/file.npy grid=257 support=9 oversampling=8 planes=5 cell=40 strips=2,1
case.nearest = uv=random visibilities=997 grid=131 support=0 oversampling=1 planes=1 cell=90 strips=1,2
case.tall    = uv=random visibilities=3001 grid=600 support=6 oversampling=3 planes=3 cell=16 kernel=integer strips=2,2
case.reach   = preset=small oversampling=16 accuracy=0.001 strips=2,3
case.short   = uv=random visibilities=1501 grid=300 support=20 oversampling=3 planes=9 cell=40 accuracy=0.01 precision=double strips=1,2
case.degrid  = preset=small oversampling=16 task=degrid strips=3,2
case.adjoint = uv=random visibilities=1009 grid=150 support=7 oversampling=5 planes=4 cell=80 precision=double task=degrid model=noise strips=2,3
case.exact   = visibilities=1501 grid=257 support=9 oversampling=4 planes=5 cell=40 kernel=integer task=degrid strips=3,2

# make perf, where Valgrind counts: it knows no AVX-512, ARCH=-march=haswell leaves that out.
entry = gridding
perf = uv=random visibilities=1000 grid=1024 support=64 oversampling=4 planes=3 cell=20

# make san: the smallest that still reaches every line.
tiny = uv=random visibilities=5 grid=23 support=2 oversampling=2 planes=2 cell=520 strips=2,2
# For races: rows of several vectors, some for each thread.
wide = uv=random visibilities=60 grid=64 support=4 oversampling=2 planes=2 cell=190

# make registers: what opencl.c says with -D when the device is a GPU.
gpu = ROWS=4 COLUMNS=32 VECTORS=1 LANES=1 BLOCKS=1 CHUNK=1
