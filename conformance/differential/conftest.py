"""Fixtures of the differential tests."""

import pytest

from conformance.differential.reference import Reference


@pytest.fixture(scope="session")
def reference():
    """TensorFlow's own engine, whatever engine is under test."""
    reference = Reference()
    yield reference
    reference.close()
