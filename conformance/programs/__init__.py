"""Random programs on TensorFlow's servers and on ours: the machine that finds what no test resembles.

A seed makes a program (`generate`): statements of many kinds (`kinds`) in a graph, and steps with
fetches, targets and feeds of any tensors. Both engines run it (`run`) on clusters of three tasks with
two CPU devices each; values, error codes and the node that an error names must agree. A program on
which they do not is shrunk (`shrink`) and printed.

    cargo xtask differential programs --minutes 10
    cargo xtask differential programs --seed 4711 --count 1
    cargo xtask differential programs --replay found.json

A shrunk program whose cause is mended belongs into `found/`, where it is a test.

Programs leave nothing to chance: whatever touches one variable or queue is in one chain of control
edges, whichever part of the program a step runs; reads of variables by reference are copies; floats
are compared within a tolerance and no decision is made on one that is rounded.
"""
