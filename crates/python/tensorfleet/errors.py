"""The exceptions of servers: TensorFlow's own where it is imported, else these, which have the same
names, the same codes and the same attributes.

    >>> from tensorfleet import Server, errors
    >>> try:
    ...     Server({"worker": ["localhost:0"]}, job_name="ps", task_index=0)
    ... except errors.InvalidArgumentError as error:
    ...     print(error.error_code)
    3
"""

import contextlib
import sys
from collections.abc import Iterator

from tensorfleet._native import Failure


class OpError(Exception):
    """What all exceptions of servers are."""

    error_code = 2

    def __init__(self, node_def: object, op: object, message: str, *_: object) -> None:
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message


class CancelledError(OpError):
    error_code = 1


class UnknownError(OpError):
    error_code = 2


class InvalidArgumentError(OpError):
    error_code = 3


class DeadlineExceededError(OpError):
    error_code = 4


class NotFoundError(OpError):
    error_code = 5


class AlreadyExistsError(OpError):
    error_code = 6


class PermissionDeniedError(OpError):
    error_code = 7


class ResourceExhaustedError(OpError):
    error_code = 8


class FailedPreconditionError(OpError):
    error_code = 9


class AbortedError(OpError):
    error_code = 10


class OutOfRangeError(OpError):
    error_code = 11


class UnimplementedError(OpError):
    error_code = 12


class InternalError(OpError):
    error_code = 13


class UnavailableError(OpError):
    error_code = 14


class DataLossError(OpError):
    error_code = 15


class UnauthenticatedError(OpError):
    error_code = 16


_BY_CODE: dict[int, type[OpError]] = {kind.error_code: kind for kind in OpError.__subclasses__()}


def _from_code(code: int, message: str) -> Exception:
    theirs = sys.modules.get("tensorflow.python.framework.errors_impl")
    if theirs is None:
        return _BY_CODE.get(code, UnknownError)(None, None, message)
    try:
        kind = theirs.exception_type_from_error_code(code)
    except KeyError:
        return theirs.UnknownError(None, None, message)
    return kind(None, None, message)


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Turns what the native part raises into the exception of its code."""
    try:
        yield
    except Failure as failure:
        code, message = failure.args
    else:
        return
    raise _from_code(code, message) from None
