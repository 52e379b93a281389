# The declaration of this program, read by make and by Python: lines "fluid.key = value".
# {data} is the folder of the generated data.
fluid.title   = a stirred fluid in a box (3-D stable fluids)
fluid.order   = 4
fluid.sources = main.c arguments.c events.c profile.c picture.c
fluid.shared  = run/png.c
fluid.libs    = -lpng
fluid.recipes = stir short storm plume still tiny
fluid.suffix  = txt
fluid.rate    = Mcells/s
fluid.outputs = out:density velocity:velocity totals:totals
fluid.groups  = local=1,1,1 local=3,5,2

# make run: the boxes of the paper that a CPU computes in a few seconds. Names: n (100
# steps) or n x steps.
fluid.set.42    = events={data}/stir.txt n=42
fluid.set.84x25 = events={data}/stir.txt n=84 steps=25
fluid.set.84x10 = events={data}/stir.txt n=84 steps=10
fluid.show      = 84x10

# Boxes that do not fit in any cache; step 00 takes a minute and a half for the larger.
fluid.set.168x2 = events={data}/stir.txt n=168 steps=2
fluid.set.336x1 = events={data}/stir.txt n=336 steps=1
fluid.long      = 168x2 336x1 84x4
fluid.quick     = 42

# make bench RUNGS=1: four time steps.
fluid.set.84x4  = events={data}/stir.txt n=84 steps=4
fluid.rung_sets = 84x4

# make bars: what is promised. Step 09 keeps planes in a cache, which pays in large boxes;
# step 10 solves for the pressure by cosine transforms.
fluid.bar.84x25 = 09 omp / 08 omp >= 0.97; 10 omp / 09 omp >= 1; 08 ocl / 08 omp >= 0.8; 09 ocl / 09 omp >= 0.8; 10 ocl / 10 omp >= 0.8
fluid.bar.168x2 = 09 omp / 08 omp >= 1.25; 10 omp / 09 omp >= 1

# make shares: enough work to measure both sides.
fluid.shares = 84x10

# make report: a picture of the result.
fluid.picture.plume = events={data}/plume.txt n=64 dt=0.03 visc=0 diff=1e-6 picture={png} | Dye carried upwards by a swaying jet, the middle slice

# make verify: small boxes with three different sides; fixed sweeps and a tolerance; rows
# longer than a vector, and of one cell. Cases with many launches have small groups, since
# cuda-cpu switches between the threads of a block at each barrier.
fluid.case.short = events={data}/short.txt nx=7 ny=4 nz=5 sweeps=3
fluid.case.storm = events={data}/storm.txt nx=4 ny=5 nz=6 sweeps=2 dt=0.07 visc=0.003 diff=0.002 local=2,3,2
fluid.case.still = events={data}/still.txt nx=5 ny=6 nz=3
fluid.case.eddy  = events={data}/tiny.txt nx=18 ny=5 nz=4
fluid.case.minho = events={data}/short.txt nx=6 ny=5 nz=4 sweeps=2 compat=minho steps=2
fluid.case.thin  = events={data}/short.txt nx=1 ny=4 nz=2 sweeps=2
fluid.case.wide  = events={data}/stir.txt nx=37 ny=3 nz=40 steps=2 local=5,1,2
fluid.case.calm  = events={data}/short.txt nx=9 ny=3 nz=30 visc=0.1 diff=0.1 steps=12 local=2,1,1

# make san: the smallest query that executes every line.
fluid.tiny = events={data}/tiny.txt nx=17 ny=3 nz=2 sweeps=2
# For race detectors: rows of several vectors, several rows per thread.
fluid.wide = events={data}/stir.txt nx=34 ny=5 nz=4 steps=1 sweeps=2

# make instructions: one time step.
fluid.unit = updates
fluid.instructions = events={data}/stir.txt n=42 steps=1

# make registers: the -D options of opencl.c if the device is a GPU.
fluid.gpu = NX=84 NY=84 NZ=84 PLANES=16 SHARED=1 LANES=1 PITCH=84 WORKERS=1
