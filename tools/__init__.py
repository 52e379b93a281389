"""What is done with the history besides running it.

history   the tree, the step before, a diff, a copy of the tree, a run, a verdict: the
          words that everything else is said in
measure   times, ceilings, registers, the papers' figures: what ends in results/
publish   lessons, README and report: what is made of results/
teach     make run, exercises, grades, exports, new steps
"""
