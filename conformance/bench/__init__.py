"""Benchmarks: the same client and the same graphs on TensorFlow's servers and on ours.

    cargo xtask bench                        every case; writes docs/benchmarks.md
    cargo xtask bench --only step,pull       cases whose names contain one of the words
    cargo xtask bench --list

A case is a graph and a cluster to run it on (`cases/`, one idea a file). Both sides are up at the
same time and take turns, so that whatever else the machine does falls on both (`measure.py`).
Before the clock starts and after it stops, each side's numbers are compared with the other's: a
fast wrong answer is an error, not a result.

Times on a shared machine lie, ratios of one run less so. Hence every run has an identity, results
of two runs are never put together, and processor time stands beside time on the clock.
"""
