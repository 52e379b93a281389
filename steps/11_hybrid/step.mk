title    = Host and device share the work
kind     = port
backends = hybrid hybrid-cuda hybrid-cuda-cpu
shown    = hybrid.c

backends.fluid    = hybrid
title.fluid       = Fields shared as tasks, by a timetable
changes.fluid     = hybrid.c sides.h cpu.c opencl.c kernel.cl
reason.fluid      = whose a task is, and where its fields are, is new; a device that goes on by itself must keep for each solve what it started from and how far it got
predict.fluid.cpu = 1.5 over either side alone, each with one core: of about 84 sweeps' worth of work a step, 36 are pressures and what they need, which nothing can stand beside but the density (counted before it was run)
predict.fluid.gpu = 1.0: what a GPU does ten times as fast is not worth a field's way to the host and back
