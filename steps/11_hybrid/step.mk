title    = Host and device share the work
kind     = port
backends = hybrid hybrid-cuda hybrid-cuda-cpu
shown    = hybrid.c

title.sandpile       = One cut through all rows, which both sides may cross for 64 steps
changes.sandpile     = body.h column.h cpu.c cuda.cu host.h hybrid.c kernel.cl opencl.c sides.h
reason.sandpile      = each back-end's toppling becomes a side that can be asked for some steps of some rows; hybrid.c, sides.h and column.h are new
predict.sandpile.cpu = 0.7: one of two threads becomes a device that makes a quarter more steps than it keeps
predict.sandpile.gpu = 1.0: an epoch of dim=1024 is shorter than a launch; it should be the sum of both rates from dim=8192 on
