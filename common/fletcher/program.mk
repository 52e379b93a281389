# The declaration of this program, read by make and by Python: one "key = value" per line;
# {data} is the folder of the generated data.
title   = wave modelling in tilted transversely isotropic rock
order   = 2
sources = main.c model.c field.c picture.c slab.c
shared  = run/png.c
libs    = -lpng
recipes = fold.vpz fold.epsilon fold.delta fold.theta fold.phi
suffix  = npy
rate    = MSamples/s

# gcc does not optimize the address computations of a loop with more than 250 of them, and
# the inner loop of steps 00 to 04 has about 700: each would become a variable in memory
# that every iteration increments. Clang has no such limit and no such option.
cflags = $(shell $(CC) -Werror --param=iv-max-considered-uses=2000 -E -x c /dev/null >/dev/null 2>&1 && echo --param=iv-max-considered-uses=2000)

outputs = out:p q:q

# make run: grids of the paper's series, 24 + 32 k points per axis and a band of 16.
set.1 = form=TTI nx=56 ny=56 nz=56 tmax=0.03
set.2 = form=TTI nx=120 ny=120 nz=120 tmax=0.01
set.3 = form=VTI nx=184 ny=88 nz=120 tmax=0.006
show  = 2
quick = 1

# The grid for which the paper counts operations: a field has 65 MB, more than a cache.
set.216 = form=TTI nx=216 ny=216 nz=216 tmax=0.006
# Grids for the bars: in 120 the wave soon reaches the sides, in 208 it does not.
set.120 = form=TTI nx=120 ny=120 nz=120 tmax=0.1
set.208 = form=TTI nx=208 ny=208 nz=208 tmax=0.03
long    = 216 120 208

# make bars: what is promised. Step 10 updates a box around the source that contains the
# wave; OpenCL on a CPU should be nearly as fast as OpenMP.
bar.2   = 10 omp / 09 omp >= 9; 08 ocl / 08 omp >= 0.95
bar.120 = 10 omp / 09 omp >= 0.98; 09 ocl / 09 omp >= 0.95; 10 ocl / 10 omp >= 0.95
bar.208 = 10 omp / 09 omp >= 3

# make shares: enough work for host and device to be measured.
shares = 2

# make cluster.
cluster          = form=TTI nx=216 ny=216 nz=216 tmax=0.008
cluster.outputs  = out q

# make report: a picture of the result.
picture.front = form=TTI nx=160 ny=160 nz=160 tmax=0.25 dt=0.0015 picture={png} | p in the xz plane of the source after 0.25 s: the wavefront is an ellipse, tilted like the layers

# make verify: small grids with different sizes, few of them divisible by 4 or 8. In iso, rows
# have no padding, so the last vector of a row is stored in part.
case.small   = form=TTI nx=5 ny=8 nz=6 absorb=2 dx=12.5 dy=11 dz=10 dt=0.001 tmax=0.02
case.awkward = form=TTI nx=31 ny=45 nz=27 absorb=5 dx=12.5 dy=11 dz=13 dt=0.001 tmax=0.02
case.long    = form=TTI nx=11 ny=29 nz=9 absorb=2 dx=12.5 dy=12.5 dz=12.5 dt=0.0015 tmax=0.75
case.iso     = form=ISO nx=19 ny=13 nz=17 absorb=0 dx=10 dy=12.5 dz=11 dt=0.001 tmax=0.1 pad=0
case.vti     = form=VTI nx=13 ny=19 nz=17 absorb=4 dx=12.5 dy=10 dz=11 dt=0.001 tmax=0.0603
case.fold    = vpz={data}/fold.vpz.npy epsilon={data}/fold.epsilon.npy delta={data}/fold.delta.npy theta={data}/fold.theta.npy phi={data}/fold.phi.npy nx=19 ny=23 nz=21 absorb=3 dx=12.5 dy=11 dz=10 dt=0.0008 tmax=0.04

# Block sizes for cuda-cpu, where each thread of a block is a thread of the system.
groups = local=2,3,1 local=5,1,2 local=1,1,1

# make san: the smallest grid that executes every line.
tiny = form=TTI nx=3 ny=4 nz=4 absorb=1 tmax=0.002 local=2,2,1
# For data races: rows of several vectors, and several rows per thread.
wide = form=TTI nx=20 ny=5 nz=4 absorb=1 tmax=0.002

# make perf and make instructions (Valgrind): rows of the length of set 2.
entry = Propagate
unit = samples
perf = form=TTI nx=120 ny=12 nz=10 absorb=4 tmax=0.001

# make registers: the macro that opencl.c defines if the device is a GPU.
gpu = LANES=1
