00_sequential.title    = Sequential
00_sequential.kind     = start
00_sequential.backends = seq

00_sequential.title.semblance    = The sequential search, five nested loops
00_sequential.flops.semblance    = 24 visits + 12 samples
00_sequential.bytes.semblance.l1 = 26 visits + 4 used + 4 samples

00_sequential.title.fletcher      = The wave equation with finite differences
00_sequential.flops.fletcher      = 578 samples
00_sequential.bytes.fletcher.dram = 64 samples

00_sequential.title.gridding    = Each visibility is added to its footprint
00_sequential.flops.gridding    = 8 points
00_sequential.bytes.gridding.l1 = 24 points

00_sequential.title.fluid    = Red-black relaxation, with the largest stride innermost
00_sequential.flops.fluid    = 8 updates + 40 advected
00_sequential.bytes.fluid.l1 = 28 updates

00_sequential.title.sandpile    = All cells topple at once, step after step
00_sequential.flops.sandpile    = 10 cells
00_sequential.bytes.sandpile.l1 = 12 cells
