backends = seq
