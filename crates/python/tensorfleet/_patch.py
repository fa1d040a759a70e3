"""TensorFlow's names for servers, made to mean ours."""

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

from tensorfleet._server import Server, create_local_cluster

_SERVERS = "tensorflow.python.training.server_lib"
_LOCAL_CLUSTERS = "tensorflow.python.framework.test_util"

# Name in its own module, by that module: what TensorFlow had there.
_originals: dict[tuple[str, str], object] = {}


def patch() -> None:
    """Makes TensorFlow's names mean our servers until `unpatch`.

    These are `tf.distribute.Server`, `tf.compat.v1.train.Server` and
    `tf.test.create_local_cluster`, wherever a module has them under some name.

        >>> import tensorfleet
        >>> tensorfleet.patch()
        >>> import tensorflow as tf
        >>> workers, ps = tf.test.create_local_cluster(num_workers=2, num_ps=2)
    """
    if _originals:
        return
    for module_name, name, ours in (
        (_SERVERS, "Server", Server),
        (_LOCAL_CLUSTERS, "create_local_cluster", create_local_cluster),
    ):
        module = importlib.import_module(module_name)
        theirs = getattr(module, name)
        _originals[module_name, name] = theirs
        _replace(theirs, ours)


def unpatch() -> None:
    """Gives TensorFlow's names back to TensorFlow's servers."""
    for (_, name), theirs in _originals.items():
        _replace(Server if name == "Server" else create_local_cluster, theirs)
    _originals.clear()


@contextlib.contextmanager
def patched() -> Iterator[None]:
    """`patch()` for the time of a `with` block.

    >>> import tensorfleet, tensorflow as tf
    >>> with tensorfleet.patched():
    ...     server = tf.compat.v1.train.Server.create_local_server()
    """
    was_patched = bool(_originals)
    patch()
    try:
        yield
    finally:
        if not was_patched:
            unpatch()


def _replace(old: object, new: object) -> None:
    """Puts `new` wherever a module of TensorFlow has `old`, under whatever name."""
    for module in list(sys.modules.values()):
        if not isinstance(module, ModuleType) or not _is_tensorflows(module):
            continue
        # Modules of TensorFlow's interface are loaded on demand: only what is there counts.
        for name, value in list(vars(module).items()):
            if value is old:
                setattr(module, name, new)


def _is_tensorflows(module: ModuleType) -> bool:
    name = vars(module).get("__name__")
    return isinstance(name, str) and (name == "tensorflow" or name.startswith("tensorflow."))
