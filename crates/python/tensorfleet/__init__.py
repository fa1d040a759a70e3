"""TensorFlow's distributed runtime, rewritten in Rust, inside this process.

    >>> import tensorfleet
    >>> server = tensorfleet.Server.create_local_server()
    >>> server.target
    'grpc://localhost:40123'

`Server` and `create_local_cluster` are what `tf.distribute.Server` and
`tf.test.create_local_cluster` are; after `tensorfleet.patch()` TensorFlow's own names mean them, so
that a program need not change. TensorFlow itself is neither needed nor imported.
"""

from importlib import import_module as _import
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from tensorfleet import errors as errors
    from tensorfleet import testing as testing
    from tensorfleet._patch import patch as patch
    from tensorfleet._patch import patched as patched
    from tensorfleet._patch import unpatch as unpatch
    from tensorfleet._server import Server as Server
    from tensorfleet._server import create_local_cluster as create_local_cluster

__all__ = ["Server", "create_local_cluster", "errors", "patch", "patched", "testing", "unpatch"]

# The command line starts without what it does not need.
_WHERE = {
    "Server": "_server",
    "create_local_cluster": "_server",
    "patch": "_patch",
    "patched": "_patch",
    "unpatch": "_patch",
}


def __getattr__(name: str) -> object:
    if name in ("errors", "testing"):
        return _import(f"{__name__}.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    if name in _WHERE:
        return getattr(_import(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
