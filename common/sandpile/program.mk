# What the tree must know about this program. Both make and Python read it: one
# "key = value" a line; {data} stands for the folder of the generated data.
title   = the Abelian sandpile
order   = 5
sources = main.c arguments.c pile.c picture.c
shared  = run/png.c
libs    = -lpng
recipes = identity wide batch large tiny
suffix  = npy
rate    = Gcells/s
outputs = out:result counts:counts

# make run: a pile toppled to its end, the size of the must-reach for a while, and a batch
# of three sparse ones, too tall for 8 bits at first.
set.1 = dim=256
set.2 = dim=1024 max_iterations=1000
set.3 = config=alea dim=200 batch=3
quick = 2

# make shares: enough work for both sides to be measured.
shares = 2 max_iterations=40000 | 2 batch=4 max_iterations=20000

# make cluster: a quarter of the pile, four bits a cell, with 32 rows of each neighbour,
# which last for 32 steps and are half of that work on the average; all have packed it.
cluster = dim=1024 max_iterations=20000
cluster.outputs  = out counts
cluster.part     = min(ceil(dim / 2 / P) + 16 * min(P - 1, 2), dim / 2) / (dim / 2)
cluster.messages = steps / 32 * (min(P - 1, 2 * ceil(64 * P / dim)) + ceil(log2(P)))
cluster.bytes    = steps * dim / 4 * min(P - 1, 2)
cluster.serial   = 12 * dim ** 2 / dram
cluster.grow     = dim: dim * sqrt(P)

# make report: what comes out.
picture.pile = dim=512 picture={png} | Four grains in every cell of 512 x 512, after 69190 steps: 0 night, 1 water, 2 sand, 3 brick
picture.big  = config=big dim=256 max_iterations=2000 picture={png} | 100000 grains from one cell, on their way: what is white is about to topple

# make verify: small and awkward; no size is a power of two but one. Limits just above
# what a pile takes keep a wrong one from toppling for ever. Small blocks, where many steps
# are taken: cuda-cpu has a thread of the system for each of theirs, and one that is alone
# waits for nobody; and so small a halo that neighbours meet.
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

# make san: the smallest that still reaches every line.
tiny = config={data}/tiny.npy
# For races: rows of several vectors, some for each thread.
wide = config=4partout dim=200 max_iterations=4

# make perf, where Valgrind has to count: inside the toppling, 126 x 126 cells, 50 steps.
entry = topple
perf = dim=128 max_iterations=50

# make registers: what opencl.c says with -D when the device is a GPU.
gpu = DIM=1024 WORDS=32 LAST=0x3fffffffu SIDE=513 WIDTH=16 MIRROR=1 LANES=1 RUN=4 CELLS=1 STEPS=8 ROWS=8 TILE=32
