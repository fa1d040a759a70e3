"""What is stopped at the end of a `with` block."""

from types import TracebackType
from typing import TypeVar

_Self = TypeVar("_Self", bound="Stoppable")


class Stoppable:
    """Has a `stop()`, which ends a `with` block."""

    def stop(self) -> None:
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
