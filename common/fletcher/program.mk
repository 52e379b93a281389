# The declaration of this program, read by make and by Python: lines "fletcher.key = value".
# {data} is the folder of the generated data.
fletcher.title   = wave modelling in tilted transversely isotropic rock
fletcher.order   = 2
fletcher.sources = main.c model.c field.c picture.c slab.c
fletcher.shared  = run/png.c
fletcher.libs    = -lpng
fletcher.recipes = fold.vpz fold.epsilon fold.delta fold.theta fold.phi
fletcher.suffix  = npy
fletcher.rate    = MSamples/s

# gcc does not optimize the address computations of a loop with more than 250 of them, and
# the inner loop of steps 00 to 04 has about 700: each would become a variable in memory
# that every iteration increments. Clang has no such limit and no such option.
fletcher.cflags := $(shell $(CC) -Werror --param=iv-max-considered-uses=2000 -E -x c /dev/null >/dev/null 2>&1 && echo --param=iv-max-considered-uses=2000)

fletcher.outputs = out:p q:q

# make run: grids of the paper's series, 24 + 32 k points per axis and a band of 16.
fletcher.set.1 = form=TTI nx=56 ny=56 nz=56 tmax=0.03
fletcher.set.2 = form=TTI nx=120 ny=120 nz=120 tmax=0.01
fletcher.set.3 = form=VTI nx=184 ny=88 nz=120 tmax=0.006
fletcher.show  = 2
fletcher.quick = 1

# The grid for which the paper counts operations: a field has 65 MB, more than a cache.
fletcher.set.216 = form=TTI nx=216 ny=216 nz=216 tmax=0.006
# Grids for the bars: in 120 the wave soon reaches the sides, in 208 it does not.
fletcher.set.120 = form=TTI nx=120 ny=120 nz=120 tmax=0.1
fletcher.set.208 = form=TTI nx=208 ny=208 nz=208 tmax=0.03
fletcher.long    = 216 120 208

# make bench RUNGS=1: the fields exceed the caches.
fletcher.rung_sets = 216

# make bars: what is promised. Step 10 updates a box around the source that contains the
# wave; OpenCL on a CPU should be nearly as fast as OpenMP.
fletcher.bar.2   = 10 omp / 09 omp >= 9; 08 ocl / 08 omp >= 0.95
fletcher.bar.120 = 10 omp / 09 omp >= 0.98; 09 ocl / 09 omp >= 0.95; 10 ocl / 10 omp >= 0.95
fletcher.bar.208 = 10 omp / 09 omp >= 3

# make shares: enough work for host and device to be measured.
fletcher.shares = 2

# make cluster.
fletcher.cluster          = form=TTI nx=216 ny=216 nz=216 tmax=0.008
fletcher.cluster.outputs  = out q

# make report: a picture of the result.
fletcher.picture.front = form=TTI nx=160 ny=160 nz=160 tmax=0.25 dt=0.0015 picture={png} | p in the xz plane of the source after 0.25 s: the wavefront is an ellipse, tilted like the layers

# make verify: small grids with different sizes, few of them divisible by 4 or 8.
fletcher.case.small   = form=TTI nx=5 ny=8 nz=6 absorb=2 dx=12.5 dy=11 dz=10 dt=0.001 tmax=0.02
fletcher.case.awkward = form=TTI nx=31 ny=45 nz=27 absorb=5 dx=12.5 dy=11 dz=13 dt=0.001 tmax=0.02
fletcher.case.long    = form=TTI nx=11 ny=29 nz=9 absorb=2 dx=12.5 dy=12.5 dz=12.5 dt=0.0015 tmax=0.75
fletcher.case.iso     = form=ISO nx=19 ny=13 nz=17 absorb=0 dx=10 dy=12.5 dz=11 dt=0.001 tmax=0.1
fletcher.case.vti     = form=VTI nx=13 ny=19 nz=17 absorb=4 dx=12.5 dy=10 dz=11 dt=0.001 tmax=0.0603
fletcher.case.fold    = vpz={data}/fold.vpz.npy epsilon={data}/fold.epsilon.npy delta={data}/fold.delta.npy theta={data}/fold.theta.npy phi={data}/fold.phi.npy nx=19 ny=23 nz=21 absorb=3 dx=12.5 dy=11 dz=10 dt=0.0008 tmax=0.04

# Block sizes for cuda-cpu, where each thread of a block is a thread of the system.
fletcher.groups = local=2,3,1 local=5,1,2 local=1,1,1

# make san: the smallest grid that executes every line.
fletcher.tiny = form=TTI nx=3 ny=4 nz=4 absorb=1 tmax=0.002 local=2,2,1
# For data races: rows of several vectors, and several rows per thread.
fletcher.wide = form=TTI nx=20 ny=5 nz=4 absorb=1 tmax=0.002

# make instructions: rows of the length of set 2.
fletcher.unit = samples
fletcher.instructions = form=TTI nx=120 ny=12 nz=10 absorb=4 tmax=0.001

# make registers: the macro that opencl.c defines if the device is a GPU.
fletcher.gpu = LANES=1
