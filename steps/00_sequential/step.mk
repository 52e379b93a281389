title    = Sequential
kind     = start
backends = seq

flops.semblance     = 24 visits + 12 samples
bytes.semblance.l1  = 26 visits + 4 used + 4 samples

flops.fletcher      = 578 samples
bytes.fletcher.dram = 64 samples

flops.gridding    = 8 points
bytes.gridding.l1 = 24 points

flops.fluid    = 8 updates + 40 advected
bytes.fluid.l1 = 28 updates

flops.sandpile    = 1 cells
bytes.sandpile.l1 = 12 cells
