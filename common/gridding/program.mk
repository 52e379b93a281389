# The declaration of this program, read by make and by Python: lines "gridding.key = value".
# {data} is the folder of the generated data.
gridding.title   = W-projection gridding of visibilities
gridding.order   = 3
gridding.sources = main.c arguments.c sky.c taps.c image.c stack.c degrid.c parallel.c
gridding.shared  = run/png.c
gridding.libs    = -lfftw3_threads -lfftw3 -lfftw3f -lpng -lpthread
gridding.recipes = file
gridding.suffix  = npy
gridding.rate    = Mpts/s
gridding.outputs = out:result

# -fcx-limited-range: without it, the complex product of C tests for infinities; gcc then
# emits a branch per product and no vector instructions. -fno-loop-unroll-and-jam: from step
# 04 on, gcc would process two rows of a footprint together, two streams of the table, which
# is slower than one row after the other. Clang has neither option. NATIVE: step 00 is
# fastest with all instructions of the processor (AVX-512 if it has them); ARCH= overrides it.
gridding.gcc_flags = -fcx-limited-range -fno-loop-unroll-and-jam
gridding.cflags := $(shell $(CC) -Werror $(gridding.gcc_flags) -E -x c /dev/null >/dev/null 2>&1 && echo $(gridding.gcc_flags)) -ffp-contract=fast $(NATIVE)

# Every step is compiled a second time for precision=double (common/gridding/real.h).
gridding.double = -DREAL=double -DREAL_BYTES=8 -Dgridding=gridding_double

# make run: the imaging case, and the paper's benchmark with a twentieth of its visibilities.
# Taps below a hundredth of the largest may be omitted; the steps before 10 use all taps.
# image has a method of its own, whose taps and planes follow from the accuracy.
gridding.set.default = preset=default accuracy=0.01
gridding.set.askap   = preset=askap accuracy=0.01
gridding.set.image   = preset=default task=image accuracy=0.00001
gridding.show  = askap
gridding.quick = default

# make bench RUNGS=1: half of the visibilities.
gridding.set.half  = preset=askap visibilities=80000 accuracy=0.01
gridding.long      = half
gridding.rung_sets = half

# make bars: with all taps, step 10 does the same work as step 09, also without AVX-512.
gridding.bar.askap = 10 omp accuracy=0 / 09 omp accuracy=0 >= 1; 09 omp / 08 omp >= 0.95; 10 omp accuracy=0 ARCH=-march=haswell / 09 omp accuracy=0 ARCH=-march=haswell >= 0.95; 09 omp ARCH=-march=haswell / 08 omp ARCH=-march=haswell >= 0.95

# make shares: enough work to measure both sides.
gridding.shares = askap

# make report: pictures of the results.
gridding.picture.points = preset=default grid=512 cell=1 baseline=100 support=48 planes=65 image={png} | Six sources over a wide field, gridded with the w term: points
gridding.picture.arcs   = preset=default grid=512 cell=1 baseline=100 support=48 planes=1 image={png} | The same visibilities without it: arcs

# make verify: small cases with awkward sizes. The strips divide no footprint evenly; the
# first case is run with each of `groups`.
gridding.groups = strips=1,1 strips=5,2 copies=3
gridding.case.double  = uv=random visibilities=1009 grid=150 support=7 oversampling=5 planes=4 cell=80 precision=double
gridding.case.sky     = preset=small oversampling=16 strips=3,2
gridding.case.integer = preset=small kernel=integer uv=random strips=3,2
gridding.case.file    = in={data}/file.npy grid=257 support=9 oversampling=8 planes=5 cell=40 strips=2,1
gridding.case.nearest = uv=random visibilities=997 grid=131 support=0 oversampling=1 planes=1 cell=90 strips=1,2
gridding.case.tall    = uv=random visibilities=3001 grid=600 support=6 oversampling=3 planes=3 cell=16 kernel=integer strips=2,2
gridding.case.reach   = preset=small oversampling=16 accuracy=0.001 strips=2,3
gridding.case.short   = uv=random visibilities=1501 grid=300 support=20 oversampling=3 planes=9 cell=40 accuracy=0.01 precision=double strips=1,2
gridding.case.image   = preset=small task=image accuracy=0.0001 field=0.8 strips=3,2
gridding.case.wrapped = uv=random visibilities=301 grid=60 cell=40 baseline=700 task=image accuracy=0.001 field=1 strips=1,2
gridding.case.degrid  = preset=small oversampling=16 task=degrid strips=3,2
gridding.case.adjoint = uv=random visibilities=1009 grid=150 support=7 oversampling=5 planes=4 cell=80 precision=double task=degrid model=noise strips=2,3
gridding.case.exact   = visibilities=1501 grid=257 support=9 oversampling=4 planes=5 cell=40 kernel=integer task=degrid strips=3,2

# make instructions: Valgrind lacks AVX-512, so set ARCH=-march=haswell.
gridding.unit = points
gridding.instructions = uv=random visibilities=1000 grid=1024 support=64 oversampling=4 planes=3 cell=20

# make san: the smallest case that executes every line.
gridding.tiny = uv=random visibilities=5 grid=23 support=2 oversampling=2 planes=2 cell=520 strips=2,2
# For races: rows of several vectors, several rows per thread.
gridding.wide = uv=random visibilities=60 grid=64 support=4 oversampling=2 planes=2 cell=190

# make registers: the -D options that opencl.c passes for a GPU.
gridding.gpu = ROWS=8 COLUMNS=32 COLUMNS_PER_ITEM=1 LANES=1 BLOCKS=1 CHUNK=1
