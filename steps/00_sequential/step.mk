title    = Sequential
kind     = start
backends = seq

flops.semblance     = 24 visits + 12 samples
bytes.semblance.l1  = 26 visits + 4 used + 4 samples

flops.gridding        = 8 points
bytes.gridding.l1     = 24 points
