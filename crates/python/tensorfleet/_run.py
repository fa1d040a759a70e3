"""`python -m tensorfleet run model.py …`: a program with its servers replaced by ours."""

import runpy
import sys
from importlib.util import find_spec

HELP = """\
Usage: python -m tensorfleet run [-m MODULE | PROGRAM] [ARGUMENTS…]

Runs a Python program in which TensorFlow's servers are tensorfleet's: tf.distribute.Server,
tf.compat.v1.train.Server and tf.test.create_local_cluster.
"""


def run(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(HELP, end="")
        sys.exit(0 if arguments else 2)
    module = arguments[0] == "-m"
    if module:
        arguments = arguments[1:]
    if not arguments:
        sys.exit("tensorfleet run: -m needs the name of a module")
    if find_spec("tensorflow") is None:
        sys.exit("tensorfleet run: this Python has no `tensorflow`, whose servers would be replaced")
    from tensorfleet._patch import patch

    patch()
    sys.argv = arguments
    if module:
        sys.path[0] = ""
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        import os.path

        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")
