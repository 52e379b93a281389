# The declaration of this program, read by make and by Python: lines "sandpile.key = value".
# {data} is the folder of the generated data.
sandpile.title   = the Abelian sandpile
sandpile.order   = 5
sandpile.sources = main.c arguments.c pile.c picture.c
sandpile.shared  = run/png.c
sandpile.libs    = -lpng
sandpile.recipes = identity wide batch large tiny
sandpile.suffix  = npy
sandpile.rate    = Gcells/s
sandpile.peak    = integer
sandpile.outputs = out:result counts:counts

# make run: 1: a pile until it is stable; 2: 1000 steps of a larger pile, for comparisons;
# 3: a batch of three sparse piles, whose cells exceed 8 bits at first. The steps from 08 on
# need longer ones: in set 2 they spend half of their time on packing. Set 1024 ends with the
# stable pile, after 276,198 steps.
sandpile.set.1 = dim=256
sandpile.set.2 = dim=1024 max_iterations=1000
sandpile.set.3 = config=alea dim=200 batch=3
sandpile.set.20000 = dim=1024 max_iterations=20000
sandpile.set.1024  = dim=1024
sandpile.set.4096  = dim=4096 max_iterations=1000
sandpile.long    = 20000 1024 4096 half 10000
sandpile.quick = 2

# make bench RUNGS=1: half of set 2, and of set 20000 for the steps from 08 on (SET=10000).
sandpile.set.half  = dim=1024 max_iterations=500
sandpile.set.10000 = dim=1024 max_iterations=10000
sandpile.rung_sets = half 10000

# make bars: what is promised of two threads.
sandpile.bar.20000 = 10 omp / 10 omp OMP_NUM_THREADS=1 >= 1.8; 10 ocl / 10 ocl POCL_MAX_PTHREAD_COUNT=1 >= 1.4; 10 ocl dim=512 / 10 ocl dim=512 POCL_MAX_PTHREAD_COUNT=1 >= 1; 09 omp / 08 omp >= 0.95; 10 omp / 09 omp >= 0.95

# make shares: queries with enough work to measure both sides.
sandpile.shares = 2 max_iterations=40000 | 2 dim=2048 max_iterations=10000

# make cluster.
sandpile.cluster = dim=1024 max_iterations=20000
sandpile.cluster.outputs  = out counts

# make report: pictures.
sandpile.picture.pile = dim=512 picture={png} | Four grains in every cell of 512 x 512, after 69190 steps: 0 dark blue, 1 blue, 2 yellow, 3 red
sandpile.picture.big  = config=big dim=256 max_iterations=2000 picture={png} | 100000 grains spread from one cell; white cells are unstable

# make verify: small, awkward inputs; only one size is a power of two. max_iterations is
# slightly above the number of steps, so that a wrong program ends, too. Cases with many
# steps use small blocks, because cuda-cpu executes the threads of a block one after
# the other. Small halos make neighbors exchange ghost rows. Tall piles are toppled until
# their cells fit in three bits, after 483, 455, 350 and 259 steps, and some steps more.
sandpile.case.odd      = dim=17 tilew=5 tileh=4 max_iterations=80 halo=3
sandpile.case.wide     = config={data}/wide.npy max_iterations=490 local=1,1,1 halo=4
sandpile.case.identity = config={data}/identity.npy max_iterations=66 local=6,3,1 halo=1
sandpile.case.batch    = config={data}/batch.npy max_iterations=88 local=6,3,1 halo=5
sandpile.case.least    = dim=3 max_iterations=9
sandpile.case.word     = dim=6 batch=2 max_iterations=9
sandpile.case.lattice  = config=dim dim=22 tilew=7 tileh=2 max_iterations=30 local=6,3,1
sandpile.case.power    = dim=16 batch=2 tilew=1 tileh=3 max_iterations=60 local=6,3,1
sandpile.case.sparse   = config=alea dim=70 batch=2 seed=7 max_iterations=460 local=1,1,1
sandpile.case.lanes    = config=alea dim=45 seed=1 max_iterations=700 local=1,1,1
sandpile.case.tall     = config=big dim=15 max_iterations=302 local=6,3,1
sandpile.case.large    = config={data}/large.npy max_iterations=70 tilew=70 tileh=9 local=1,1,1 halo=10

# make san: the smallest input that still executes every line.
sandpile.tiny = config={data}/tiny.npy
# For data races: rows of several vectors, several rows per thread.
sandpile.wide = config=4partout dim=200 max_iterations=4

# make instructions: 50 steps of 126 x 126 cells.
sandpile.unit = cells
sandpile.instructions = dim=128 max_iterations=50

# make registers: the macros that opencl.c defines with -D for a GPU.
sandpile.gpu = DIM=1024 WORDS=256 LAST=0xffffu SIDE=513 WIDTH=16 MIRROR=1 LANES=1 RUN=4 ROWS=8 TILE=32
