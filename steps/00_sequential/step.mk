title    = Sequential
kind     = start
backends = seq

flops.semblance     = 24 visits + 12 samples
bytes.semblance.l1  = 26 visits + 4 used + 4 samples

flops.fluid      = 8 updates + 40 advected
bytes.fluid.l1   = 28 updates
