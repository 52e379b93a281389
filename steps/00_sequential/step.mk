title    = Sequential
kind     = start
backends = seq
