"""Random TensorFlow 2 programs on TensorFlow's servers and on ours.

A seed makes a program of the statements that `programs.kinds` has for functions, run one after the other
on the tasks of a cluster: eager ops, functions with control flow and functions in them, gradients by
tapes, variables on any task that functions capture. A client for each engine (`client`), in a process of
its own, runs what it is sent; values and error codes of all statements, and what the variables hold in
the end, must agree.

    cargo xtask differential eager --minutes 10
    cargo xtask differential eager --seed 4711 --count 1
"""
