"""What pytest finds where the package is installed: the fixture `tensorfleet_cluster`."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tensorfleet.testing import Cluster


@pytest.fixture
def tensorfleet_cluster() -> Iterator[Callable[..., "Cluster"]]:
    """Makes clusters, with the arguments of `tensorfleet.testing.Cluster`, that end with the test."""
    from tensorfleet.testing import Cluster

    made: list[Cluster] = []

    def make(*arguments: Any, **options: Any) -> "Cluster":
        made.append(Cluster(*arguments, **options))
        return made[-1]

    yield make
    for cluster in made:
        cluster.stop()
