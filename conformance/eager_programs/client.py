"""A client that runs programs on a cluster: one line in is a program, one line out what it gave.

A process connects to one cluster, once, so each engine has a client of its own.
"""

import base64
import json
import os
import pickle
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")


def main(jobs):
    from conformance.programs.program import from_json
    from conformance.rig import tf2

    tf2.connect(jobs)
    print("ready", flush=True)
    for line in sys.stdin:
        outcome = base64.b64encode(pickle.dumps(_run(from_json(line)))).decode()
        print(outcome, flush=True)


def _run(program):
    """Returns the outcome of each statement, and of the variables, as far as it came."""
    from conformance.eager_programs.build import EagerBuilder

    builder, outcomes = EagerBuilder(), []
    for statement in program.parts[0].statements:
        outcome = builder.run(statement)
        outcomes.append((statement.id, outcome))
        if isinstance(outcome, tuple) and builder.resources:
            # What else happened before the failure is a matter of luck.
            return outcomes
    if builder.resources:
        outcomes.append(("variables", list(builder.variables().values())))
    return outcomes


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    # Threads of TensorFlow's that wait for servers must not keep the process.
    os._exit(0)
