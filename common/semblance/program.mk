# The declaration of this program, read by make and by Python: lines "semblance.key = value".
# {data} is the folder of the generated data.
semblance.title   = seismic data regularization by semblance search
semblance.order   = 1
semblance.sources = main.c arguments.c tables.c job.c line.c survey.c headers.c criterion.c mute.c pass.c section.c dead.c choose.c check.c coarse.c refine.c fill.c journal.c processes.c pick.c
semblance.shared  = su/su.c
semblance.recipes = paper awkward scaled big edges outside empty line survey small silent faint loud
semblance.suffix  = su
semblance.timed   = out

# make run: the paper's three parameter sets on data of the paper's shape.
semblance.set.1 = in={data}/paper.su set=1
semblance.set.2 = in={data}/paper.su set=2
semblance.set.3 = in={data}/paper.su set=3
# A quarter of set 2: 5 of the 20 values of A. Like the sets of `long` of other programs, it is
# run only if it is named.
semblance.set.quarter = in={data}/paper.su set=2 a=-0.00088484,0.00111516,5
# Another quarter of set 2, 5 of the 20 values of B, for make run.
semblance.set.look = in={data}/paper.su set=2 b=-0.000394,0.000106,5
semblance.long  = quarter look
semblance.show  = 2
semblance.quick = 1

# make run and make bench: whole output traces, the real job. The traces that are missing in
# a line, with windows of 3 and of 5 samples, by many tuples; and those of a survey, by few
# tuples, with windows of 17 samples. make run shows the jobs of the steps `run_jobs` alone, and
# omits rows whose code is in effect that of another row.
semblance.job.line3  = in={data}/line.su m0=4070,50,3 h0=-480 tau=0.004 aperture=160,110 a=-0.0002,0.00025,9 b=-0.0004,0,9 c=5e-7,1e-6,6 d=5e-8,3.5e-7,4 e=-5e-8,1e-7,2
semblance.job.line5  = line3 tau=0.008
semblance.job.survey = in={data}/survey.su m0=4120 h0=-530,50,3 tau=0.032 aperture=160,110 a=-0.00025,0.00023,6 b=-0.0009,0.0002,11 c=6e-7,6e-7,1 d=0,8e-7,2 e=0,0,1
semblance.jobs       = line3 survey
semblance.run        = look
semblance.run_jobs   = 00 05 08 10
semblance.run_omits  = 01-seq 02-omp 03-omp 04-omp 06-omp 12-mpi-ocl
# Only for the bars: windows of 21 samples, and 10 values of A, C and D.
semblance.job.line21 = line3 tau=0.04
semblance.job.cube   = line3 m0=4020,6,18 tau=0.008 a=-0.0002,0.00025,10 b=-0.0002,-0.0002,1 c=5e-7,1e-6,10 d=5e-8,3.5e-7,10 e=0,0,1

# make bench RUNGS=1: a quarter of set 2, and one of the three traces of line3.
semblance.job.trace = line3 m0=4070
semblance.rung_sets = quarter trace

# make bars: what is promised, for two cores with AVX-512 (AMD EPYC 9004 reaches it with a tenth to
# spare). Without AVX-512 half of the first two factors is expected. The fourth bar of line21 is
# for the time with windows of 3 samples.
# The last four bars: no step from 09 on is slower than the one before.
semblance.bar.line3  = 08 omp / 05 omp,ocl >= 6.5; 08 ocl / 05 omp,ocl >= 5.5; 10 omp window=moveout / 08 omp >= 1.5; 10 omp window=moveout / 10 omp window=moveout OMP_NUM_THREADS=1 >= 1.6; 09 omp / 08 omp >= 0.95; 10 omp / 09 omp >= 0.95; 09 ocl / 08 ocl >= 0.95; 10 ocl / 09 ocl >= 0.95
semblance.bar.line5  = 08 omp / 05 omp,ocl >= 5; 08 ocl / 05 omp,ocl >= 4.8; 10 omp window=moveout / 08 omp >= 1.8; 09 omp / 08 omp >= 0.95; 10 omp / 09 omp >= 0.95; 09 ocl / 08 ocl >= 0.95; 10 ocl / 09 ocl >= 0.95
semblance.bar.line21 = 08 omp / 05 omp,ocl >= 4; 08 ocl / 05 omp,ocl >= 3.8; 10 omp window=moveout / 08 omp >= 4; 10 omp window=moveout / 10 omp window=moveout tau=0.004 >= 0.87; 09 omp / 08 omp >= 0.95; 10 omp / 09 omp >= 0.95; 09 ocl / 08 ocl >= 0.95; 10 ocl / 09 ocl >= 0.95
semblance.bar.cube   = 08 omp / 05 omp,ocl >= 7; 08 ocl / 05 omp,ocl >= 6.5; 10 omp window=moveout / 08 omp >= 1.7; 09 omp / 08 omp >= 0.95; 10 omp / 09 omp >= 0.95; 09 ocl / 08 ocl >= 0.95; 10 ocl / 09 ocl >= 0.95
semblance.bar.survey = 08 omp / 05 omp,ocl >= 4; 08 ocl / 05 omp,ocl >= 3.5; 10 omp window=moveout / 08 omp >= 2.8; 09 omp / 08 omp >= 0.95; 10 omp / 09 omp >= 0.95; 09 ocl / 08 ocl >= 0.95; 10 ocl / 09 ocl >= 0.95

# make section (and the end of make run): {data}/line.su.missing has the true traces.
semblance.section = line3

# make shares: enough work to measure both sides.
semblance.shares = 2 panel a=-0.00088484,0.00111516,40 b=-0.001194,0.000806,40

# make cluster: a section of many short traces.
semblance.cluster = in={data}/line.su m0=3900,6,64 h0=-480 t0=0.3,0.016,15 tau=0.004 aperture=160,110 a=-0.0002,0.00025,9 b=-0.0004,0,9 c=5e-7,1e-6,6 d=5e-8,3.5e-7,4 e=-5e-8,1e-7,2
semblance.cluster.outputs  = stack

# make verify: small cases at the limits: np all different, ns prime, all kinds of windows.
semblance.case.awkward = in={data}/awkward.su m0=4120 h0=-480 t0=1.5 tau=0.008 a=-0.00002,0.00026,7 b=-0.00032,-0.00008,6 c=4e-7,9e-7,5 d=0,4e-7,4 e=0,3e-7,3
semblance.case.scaled  = in={data}/scaled.su m0=4120.3 h0=-480.7 t0=0.9 tau=0.02 a=-0.00022,0.00006,7 b=0.00018,0.00042,6 c=3e-7,8e-7,5 d=1e-7,5e-7,4 e=-2e-7,1e-7,3
semblance.case.big     = in={data}/big.su m0=4120 h0=-480 t0=1.1 tau=0 a=0.00008,0.00036,7 b=-0.00002,0.00022,6 c=5e-7,1e-6,5 d=-1e-7,3e-7,4 e=1e-7,4e-7,3
semblance.case.first   = in={data}/edges.su m0=4120 h0=-480 t0=0.01 tau=0.008 a=-0.00012,0.00016,7 b=-0.00012,0.00012,6 c=3e-7,8e-7,5 d=1.5e-7,3.5e-7,4 e=-1e-7,2e-7,3
semblance.case.start   = in={data}/edges.su m0=4120 h0=-480 t0=0.006 tau=0.008 a=-0.00012,0.00016,7 b=-0.00012,0.00012,6 c=3e-7,8e-7,5 d=1.5e-7,3.5e-7,4 e=-1e-7,2e-7,3
semblance.case.last    = in={data}/edges.su m0=4120 h0=-480 t0=0.7852 tau=0.008 a=-0.00012,0.00016,7 b=-0.00012,0.00012,6 c=3e-7,8e-7,5 d=1.5e-7,3.5e-7,4 e=-1e-7,2e-7,3
semblance.case.outside = in={data}/outside.su m0=4120 h0=-480 t0=0.6 tau=0.008 a=-0.00002,0.00026,7 b=-0.00022,0.00002,6 c=4e-7,9e-7,5 d=2e-7,6e-7,4 e=0,3e-7,3
semblance.case.empty   = in={data}/empty.su m0=4120 h0=-480 t0=0.6 tau=0.008 a=-0.0003,0.0004,7 b=-0.0003,0.0003,6 c=3e-7,8e-7,5 d=0,4e-7,4 e=-1e-7,2e-7,3
semblance.case.small   = in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.008 a=-0.00002,0.00026,7 b=-0.00032,-0.00008,6 c=4e-7,9e-7,5 d=1e-7,5e-7,4 e=0,3e-7,3
semblance.case.wide    = in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.04 a=-0.00002,0.00026,7 b=-0.00032,-0.00008,6 c=4e-7,9e-7,5 d=1e-7,5e-7,4 e=0,3e-7,3
semblance.case.lanes   = in={data}/awkward.su m0=4120 h0=-480 t0=1.496 tau=0.012 a=0.00008,0.00014,2 b=-0.00026,-0.0001,3 c=5e-7,7e-7,2 d=-3e-7,5e-7,9 e=3e-7,-2e-7,17
semblance.case.bends   = in={data}/awkward.su m0=4120 h0=-480 t0=1.2 tau=0.028 a=-0.004,0.004,3 b=-0.00032,0.00008,2 c=-2e-5,2e-5,3 d=-9e-6,9e-6,5 e=-8e-6,8e-6,11
semblance.case.flat    = in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.004 a=0.0001,0.0001,2 b=-0.0003,0.0001,3 c=6e-7,6e-7,1 d=3e-7,3e-7,2 e=1e-7,1e-7,10
semblance.case.bounds  = in={data}/awkward.su m0=4120 h0=-480 t0=1.5 tau=0.008 a=0.00007,0.00013,6 b=-0.00023,-0.00017,6 c=-3e-6,6e-6,15 d=2e-7,2.2e-7,2 e=1e-7,1.2e-7,2
semblance.case.loud    = in={data}/loud.su m0=4120 h0=-480 t0=0.601 tau=0.004 a=0.0001,0.00012,2 b=-0.0002,-0.00018,2 c=6e-7,7e-7,1 d=-5e-7,5e-7,40 e=1e-7,1.2e-7,2
semblance.case.silent  = in={data}/silent.su m0=4120 h0=-480 t0=0.3 tau=0.008 a=-0.0003,0.0004,2 b=-0.0003,0.0003,3 c=4e-7,9e-7,2 d=0,4e-7,2 e=-1e-7,2e-7,9
semblance.case.faint   = in={data}/faint.su m0=4120 h0=-480 t0=0.6 tau=0.008 a=-0.0003,0.0004,2 b=-0.0003,0.0003,3 c=4e-7,9e-7,2 d=0,4e-7,2 e=-1e-7,2e-7,9

# make san: the smallest query that still executes every line.
semblance.tiny = in={data}/small.su m0=4120 h0=-480 t0=0.6 tau=0.008 a=-0.00002,0.00026,3 b=-0.00032,-0.00008,2 c=4e-7,9e-7,2 d=1e-7,5e-7,2 e=0,3e-7,2

# make instructions: a part of set 2, with as many values of D and E per (A, B, C).
semblance.unit = visits
semblance.instructions = in={data}/paper.su set=2 a=-0.00018484,0.00021516,2 b=-0.000294,0.000006,2 c=7.3e-7,7.5e-7,2 d=6.0e-10,8.0e-10,8 e=4.61e-8,6.61e-8,8

# make registers: the options that opencl.c passes with -D if the device is a GPU.
semblance.gpu = LANES=1
