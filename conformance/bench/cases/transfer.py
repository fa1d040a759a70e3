"""Large tensors between two tasks, from a parameter server to a worker and back."""

import tensorflow as tf

from conformance.bench.case import Curve, Step, case, on, variable

_SIZES = {"1KB": 2**10, "32KB": 2**15, "1MB": 2**20, "10MB": 10 * 10**6, "100MB": 100 * 10**6}
_SIZES["1GB"] = 10**9


def add_cases(sizes):
    for label, size in _SIZES.items():
        if size <= sizes.transfer_mb * 10**6:
            options = {
                "jobs": {"worker": 1, "ps": 1},
                "moved_bytes": size,
                "target": 0.5 if label == "100MB" else None,
                # The tensor at both ends, and once more on its way, on both sides.
                "memory": 2 * 4 * size,
                "slow": size > 100 * 10**6,
            }
            case(f"pull/{label}", curve=Curve("pull", size, "bytes"), **options)(_pull(size))
            case(f"push/{label}", curve=Curve("push", size, "bytes"), **options)(_push(size))


def _pull(size):
    def pull():
        """A worker reads a variable of a parameter server"""
        with on("ps"):
            shared = variable("shared", [size // 4])
        with on("worker"):
            # Of what arrives only a little goes on to the client.
            return Step(tf.strided_slice(shared.read_value(), [size // 4 - 3], [size // 4]))

    return pull


def _push(size):
    def push():
        """A worker overwrites a variable of a parameter server"""
        with on("worker"):
            own = variable("own", [size // 4])
        with on("ps"):
            shared = tf.compat.v1.get_variable(
                "shared", [size // 4], tf.float32, tf.zeros_initializer(), use_resource=True
            )
            update = shared.assign(own, read_value=False)
            end = tf.strided_slice(shared.read_value(), [size // 4 - 3], [size // 4])
        return Step(update, values=end)

    return push


@case(
    "pull/32 x 1MB", jobs={"worker": 1, "ps": 1}, target=0.3, moved_bytes=32 * 2**20, memory=2**28
)
def many_tensors():
    """A worker reads 32 variables of 1 MB in one step"""
    with on("ps"):
        shared = [variable(f"v{index}", [2**18], seed=index) for index in range(32)]
    with on("worker"):
        return Step(tf.stack([each.read_value()[-1] for each in shared]))
