"""Free ports for servers whose address others must know before they start.

A port is picked below the range from which the kernel serves outgoing connections, so that no
client takes it between our look and the server's bind. Lock files keep concurrent test runs apart.
"""

import fcntl
import os
import random
import socket
import tempfile

_FIRST = 10_000
_PAST_LAST = 32_000

# Open lock files by port; a port stays ours for the life of this process.
_held = {}


def reserve():
    """Returns a port on which a server of ours may listen."""
    for port in random.sample(range(_FIRST, _PAST_LAST), k=1000):
        if port not in _held and _lock(port) and _is_free(port):
            return port
    raise RuntimeError(f"found no free port between {_FIRST} and {_PAST_LAST}")


def _lock(port):
    path = os.path.join(tempfile.gettempdir(), f"tensorfleet-port-{port}.lock")
    try:
        lock = open(path, "w")
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    _held[port] = lock
    return True


def _is_free(port):
    # TensorFlow's server binds every address, so every address must be free.
    for family, address in [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")]:
        try:
            probe = socket.socket(family)
        except OSError:
            continue  # The machine has no such addresses.
        with probe:
            try:
                probe.bind((address, port))
            except OSError:
                return False
    return True
