"""Differential tests: one-op graphs on TensorFlow and on a server, compared.

TensorFlow runs in a process of its own (`reference`): a case that it does not survive is reported and
costs nothing else.

How to cover an op
------------------
Add a generator to the file of its family, `families/<family>.py`, where the family is the
directory of the op in `crates/ops/src/`:

    from conformance.differential.cases import Case, Tolerance, generates

    @generates("Add", "Mul")
    def binary(op, draw):
        for dtype in draw.types(op, "T"):
            x, y = draw.broadcast_shapes()
            yield Case(op, [draw.array(dtype, x), draw.array(dtype, y)])

A generator gets the op's name and a seeded source of inputs (`draw.Draw`), and yields cases. It
may yield as many as are interesting: the tests take some, spread evenly, and the command line
takes all and starts again with another seed until its time is up.

A case has the op's inputs, in the order of its definition or by name, and its attributes:

    Case("ConcatV2", [[a, b], axis])             an input that is a list is a list of arrays
    Case("Cast", [x], {"DstT": tf.int32})        attributes that TensorFlow can infer are left out
    Case("Sum", {"input": x, "reduction_indices": axes}, {"keep_dims": True})

Arrays are NumPy's; strings are arrays of bytes objects. Inputs reach the op through placeholders
without shape, so what is wrong with them is found by the server and not by the client. A case that
fails in TensorFlow must fail on the server with the same code: yield bad input too.

Values must be equal to the last bit, NaN equal to NaN, unless the generator says why not:

    @generates("Exp", tolerance=Tolerance(ulps=4, reason="vectorised approximation"))

An array for an input that is a reference or a resource becomes a variable with that value, which is
fetched after the op:

    Case("ScatterAdd", [variable, indices, updates])

Ops that need others beside them (queues, tables) build their graph themselves; `build` gets the
inputs as tensors, and what it returns is fetched:

    Case("QueueSizeV2", [element], build=lambda element: ...)

`variations` makes further cases of these: of types that a generator leaves out, and with broken
inputs.

How to run
----------
    pytest conformance/differential -k Add                     a fixed seed, a few cases an op
    cargo xtask differential ops --only Add --minutes 1
    cargo xtask golden math                                    writes crates/ops/golden/math.jsonl

Whole programs are compared by `conformance.programs`.
"""
