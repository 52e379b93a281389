# What the tree must know about this program. Both make and Python read it: one
# "key = value" a line; {data} stands for the folder of the generated data.
title   = a stirred fluid in a box (3-D stable fluids)
order   = 4
sources = main.c arguments.c events.c profile.c picture.c
shared  = run/png.c
libs    = -lpng
recipes = stir short storm plume still tiny
suffix  = txt
rate    = Mcells/s
outputs = out:density velocity:velocity totals:totals
groups  = local=1,1,1 local=3,5,2

# make run: the paper's boxes that a CPU does not wait for too long: n, 100 steps or n x steps.
set.42    = events={data}/stir.txt n=42
set.84x25 = events={data}/stir.txt n=84 steps=25
set.84x10 = events={data}/stir.txt n=84 steps=10
show      = 84x10

# Boxes that no cache holds; 00 takes a minute and a half for the larger one.
set.168x2 = events={data}/stir.txt n=168 steps=2
set.336x1 = events={data}/stir.txt n=336 steps=1
long      = 168x2 336x1
quick     = 42

# make shares: enough work for both sides to be measured.
shares = 84x10

# make cluster: half a plane to each neighbour, a half sweep; and a step: two pressures,
# there and back between planes and rows, six fields whose neighbours are looked at, and
# four solves that ask all whether something moves.
cluster.part     = ceil(n / P) / n
cluster.messages = 2 * sweeps * min(P - 1, 2) + steps * (4 * (P - 1) + 12 * min(P - 1, 2) + 8 * ceil(log2(P)))
cluster.bytes    = (4 * sweeps + 24 * steps) * n ** 2 * min(P - 1, 2) + 16 * steps * n ** 3 * (P - 1) / P ** 2
cluster.grow     = n: n * P ** (1 / 3)

# make report: what comes out.
picture.plume = events={data}/plume.txt n=64 dt=0.03 visc=0 diff=1e-6 picture={png} | Dye carried upwards by a swaying jet, the middle slice

# make verify: small and awkward, no side like another; sweeps fixed and not; rows longer
# than a vector and of one cell. Small groups where much is launched: cuda-cpu has a thread
# of the system for each of theirs.
case.short = events={data}/short.txt nx=7 ny=4 nz=5 sweeps=3
case.storm = events={data}/storm.txt nx=4 ny=5 nz=6 sweeps=2 dt=0.07 visc=0.003 diff=0.002 local=2,3,2
case.still = events={data}/still.txt nx=5 ny=6 nz=3
case.eddy  = events={data}/tiny.txt nx=18 ny=5 nz=4
case.minho = events={data}/short.txt nx=6 ny=5 nz=4 sweeps=2 compat=minho steps=2
case.thin  = events={data}/short.txt nx=1 ny=4 nz=2 sweeps=2
case.wide  = events={data}/stir.txt nx=37 ny=3 nz=40 steps=2 local=5,1,2
case.calm  = events={data}/short.txt nx=9 ny=3 nz=30 visc=0.1 diff=0.1 steps=12 local=2,1,1

# make san: the smallest that still reaches every line.
tiny = events={data}/tiny.txt nx=17 ny=3 nz=2 sweeps=2
# For races: rows of several vectors, some for each thread.
wide = events={data}/stir.txt nx=34 ny=5 nz=4 steps=1 sweeps=2

# make perf, where Valgrind has to count: inside the solver, one time step.
entry = fluid_solve
perf = events={data}/stir.txt n=42 steps=1

# make registers: what opencl.c says with -D when the device is a GPU.
gpu = NX=84 NY=84 NZ=84 SHARED=1 LANES=1 PITCH=84
