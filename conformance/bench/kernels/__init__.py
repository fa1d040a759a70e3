"""Single ops on TensorFlow's server and on ours: which kernel is slower than TensorFlow's?

A `Row` is an op (or a short chain that clients compose), inputs of one size, and a function that
makes the graph. The inputs are variables of the server, so that a step moves no data; a step runs
the op and fetches nothing. Values are compared before the clock starts.

    cargo xtask bench kernels --only Atan,FFT
    cargo xtask bench kernels --sizes memory --seconds 0.2
    cargo xtask bench kernels --generated            # also one small case of each op without a row

The tables are in `rows`: one file a family. Ops of our library that no row names are listed.
"""
