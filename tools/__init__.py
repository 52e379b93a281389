"""The tools that build, verify, measure, publish and teach the history.

history   the table of steps, programs and back-ends; running, comparing and copying them
verify    correctness: cases, random queries, sanitizers
measure   times, peaks, registers: what is written to results/
publish   lessons, README and report, which are made from results/
teach     make run, exercises, grading, exports, new steps

history imports none of the others. verify imports history; measure imports both; publish and
teach import all three.
"""
