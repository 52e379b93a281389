title    = Sequential
kind     = start
backends = seq

title.semblance    = The sequential search, five nested loops
flops.semblance    = 24 visits + 12 samples
bytes.semblance.l1 = 26 visits + 4 used + 4 samples

title.fletcher      = The wave equation with finite differences
flops.fletcher      = 578 samples
bytes.fletcher.dram = 64 samples

title.gridding    = Each visibility is added to its footprint
flops.gridding    = 8 points
bytes.gridding.l1 = 24 points

title.fluid    = Red-black relaxation, with the largest stride innermost
flops.fluid    = 8 updates + 40 advected
bytes.fluid.l1 = 28 updates

title.sandpile    = All cells topple at once, step after step
flops.sandpile    = 10 cells
bytes.sandpile.l1 = 12 cells
