# Properties of this program, read by make and by Python: one "key = value" per line.
# {data} is the folder of the generated data.
title   = the Abelian sandpile
order   = 5
sources = main.c arguments.c pile.c picture.c
shared  = run/png.c
libs    = -lpng
recipes = identity wide batch large tiny
suffix  = npy
rate    = Gcells/s
peak    = integer
outputs = out:result counts:counts

# make run: 1: a pile until it is stable; 2: 1000 steps of a larger pile, for comparisons;
# 3: a batch of three sparse piles, whose cells exceed 8 bits at first. The steps from 08 on
# need longer ones: in set 2 they spend half of their time on packing. Set 1024 ends with the
# stable pile, after 276,198 steps.
set.1 = dim=256
set.2 = dim=1024 max_iterations=1000
set.3 = config=alea dim=200 batch=3
set.20000 = dim=1024 max_iterations=20000
set.1024  = dim=1024
set.4096  = dim=4096 max_iterations=1000
long    = 20000 1024 4096
quick = 2

# make bars: what is promised of two threads.
bar.20000 = 10 omp / 10 omp OMP_NUM_THREADS=1 >= 1.8; 10 ocl / 10 ocl POCL_MAX_PTHREAD_COUNT=1 >= 1.4; 10 ocl dim=512 / 10 ocl dim=512 POCL_MAX_PTHREAD_COUNT=1 >= 1; 09 omp / 08 omp >= 0.95; 10 omp / 09 omp >= 0.95

# make shares: queries with enough work to measure both sides.
shares = 2 max_iterations=40000 | 2 batch=4 max_iterations=20000

# make cluster.
cluster = dim=1024 max_iterations=20000
cluster.outputs  = out counts

# make report: pictures.
picture.pile = dim=512 picture={png} | Four grains in every cell of 512 x 512, after 69190 steps: 0 dark blue, 1 blue, 2 yellow, 3 red
picture.big  = config=big dim=256 max_iterations=2000 picture={png} | 100000 grains spread from one cell; white cells are unstable

# make verify: small, awkward inputs; only one size is a power of two. max_iterations is
# slightly above the number of steps, so that a wrong program ends, too. Cases with many
# steps use small blocks, because cuda-cpu executes the threads of a block one after
# the other. Small halos make neighbors exchange ghost rows.
case.odd      = dim=17 tilew=5 tileh=4 max_iterations=80 halo=3
case.wide     = config={data}/wide.npy max_iterations=25 halo=4
case.identity = config={data}/identity.npy max_iterations=66 local=6,3,1 halo=1
case.batch    = config={data}/batch.npy max_iterations=88 local=6,3,1 halo=5
case.least    = dim=3 max_iterations=9
case.word     = dim=6 batch=2 max_iterations=9
case.lattice  = config=dim dim=22 tilew=7 tileh=2 max_iterations=30 local=6,3,1
case.power    = dim=16 batch=2 tilew=1 tileh=3 max_iterations=60 local=6,3,1
case.sparse   = config=alea dim=70 batch=2 seed=7 max_iterations=37 local=1,1,1
case.lanes    = config=alea dim=45 seed=1 max_iterations=700 local=1,1,1
case.tall     = config=big dim=15 max_iterations=40 local=6,3,1
case.large    = config={data}/large.npy max_iterations=70 tilew=70 tileh=9 local=1,1,1 halo=10

# make san: the smallest input that still executes every line.
tiny = config={data}/tiny.npy
# For data races: rows of several vectors, several rows per thread.
wide = config=4partout dim=200 max_iterations=4

# make perf: Valgrind counts instructions inside this function, for 126 x 126 cells and 50
# steps. make instructions has the same query.
entry = topple
unit = cells
perf = dim=128 max_iterations=50

# make registers: the macros that opencl.c defines with -D for a GPU.
gpu = DIM=1024 WORDS=32 LAST=0x3fffffffu SIDE=513 WIDTH=16 MIRROR=1 LANES=1 RUN=4 CELLS=1 STEPS=8 ROWS=8 TILE=32
