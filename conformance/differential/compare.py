"""Outcomes of a case, and whether two are the same."""

import dataclasses
import re
import signal

import ml_dtypes
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import errors_impl

from conformance.differential.cases import OnlyShapes, Tolerance


@dataclasses.dataclass(frozen=True)
class Failed:
    """A case that ended with an error."""

    code: int
    message: str

    def __str__(self):
        name = errors_impl.exception_type_from_error_code(self.code).__name__
        return f"{name} ({self.code}): {self.message.strip()}"


@dataclasses.dataclass(frozen=True)
class Died:
    """A case that ended the process of the engine."""

    exit_code: int

    def __str__(self):
        how = signal.Signals(-self.exit_code).name if self.exit_code < 0 else self.exit_code
        return f"died with {how}"


@dataclasses.dataclass(frozen=True)
class Returned:
    """A case that ended with values."""

    outputs: list

    def __str__(self):
        return "; ".join(
            f"{output.dtype}{list(output.shape)} "
            + np.array2string(output, separator=",", threshold=64, floatmode="unique")
            for output in self.outputs
        )


# What TensorFlow says where it has a kernel in oneDNN only, and runs without that.
_ONLY_IN_ONEDNN = {
    "Conv2DBackpropFilter": "only supports NHWC|do not yet support dilation",
    "Conv2DBackpropInput": "only supports NHWC|do not yet support dilation",
    "Conv3D": "currently only supports",
    "Conv3DBackpropFilterV2": "only supports NDHWC|does not yet support dilation",
    "Conv3DBackpropInputV2": "only supports NDHWC|does not yet support dilation",
    "DepthwiseConv2dNative": "only supported for NHWC",
    "DepthwiseConv2dNativeBackpropFilter": "only supported for NHWC",
    "DepthwiseConv2dNativeBackpropInput": "only supported for NHWC",
    "Dequantize": "When output type is bfloat16",
    "FusedBatchNormGrad": "only support NHWC",
    "FusedBatchNormGradV2": "only support NHWC",
    "FusedBatchNormGradV3": "only support NHWC",
    "_FusedBatchNormEx": "Missing 0-th output",
    "_FusedConv3D": "Op does not support",
    "_FusedMatMul": "Fusion is not implemented",
}


def is_lacking(case, outcome):
    """Whether TensorFlow failed for want of a kernel, which tells nothing about other engines."""
    words = _ONLY_IN_ONEDNN.get(case.op)
    return bool(words and isinstance(outcome, Failed) and re.search(words, outcome.message))


def difference(case, expected, actual):
    """Returns what is different about an outcome, or nothing."""
    if is_lacking(case, expected):
        return None
    if isinstance(expected, Failed) and isinstance(actual, Failed):
        return None if expected.code == actual.code else "error codes differ"
    if isinstance(expected, Failed):
        return "should have failed"
    if isinstance(actual, Failed):
        return "failed"
    if len(expected.outputs) != len(actual.outputs):
        return "numbers of outputs differ"
    compared = zip(expected.outputs[: case.compared], actual.outputs)
    for index, (want, have) in enumerate(compared):
        if why := _difference(case.tolerance, want, have):
            return f"output {index}: {why}"
    return None


def relative_tolerance(case, outcome):
    """Returns how far results may lie apart relative to their size, one at least; 0 if exact."""
    if not isinstance(case.tolerance, Tolerance):
        return 0
    floats = [o.dtype for o in outcome.outputs if o.dtype != object and o.dtype.kind in "fcV"]
    epsilon = max((_epsilon(dtype) for dtype in floats if not dtype.names), default=0)
    return max(case.tolerance.atol, case.tolerance.ulps * epsilon)


def _difference(tolerance, want, have):
    if want.dtype != have.dtype:
        return "types differ"
    if want.shape != have.shape:
        return "shapes differ"
    if isinstance(tolerance, OnlyShapes):
        return None
    if want.dtype.kind in "iu" and isinstance(tolerance, Tolerance) and tolerance.whole:
        apart = np.abs(want.astype(np.int64) - have.astype(np.int64))
        return None if (apart <= tolerance.whole).all() else "values differ"
    if want.dtype == object or want.dtype.kind in "biu" or want.dtype.names:
        return None if np.array_equal(want, have) else "values differ"
    epsilon = _epsilon(want.dtype)
    if want.dtype.kind == "c":
        # Each part on its own: a NaN in one says nothing of the other.
        pairs = [(want.real, have.real), (want.imag, have.imag)]
        scale = np.abs(want)
    else:
        # The types of ml_dtypes lack functions that double has, and all their values fit in it.
        pairs = [(want.astype(np.float64), have.astype(np.float64))]
        scale = np.abs(pairs[0][0])
    allowed = _allowed(tolerance, epsilon, scale)
    for one, other in pairs:
        with np.errstate(invalid="ignore"):
            close = (one == other) | (np.abs(one - other) <= allowed)
        close |= np.isnan(one) & np.isnan(other)
        if tolerance is None:
            close &= (np.signbit(one) == np.signbit(other)) | np.isnan(one)
        if not close.all():
            return f"values differ at {np.argwhere(~close)[0].tolist()}"
    return None


def _allowed(tolerance, epsilon, scale):
    if tolerance is None:
        return np.zeros_like(scale, dtype=np.float64)
    scale = np.where(np.isfinite(scale), scale, 0).astype(np.float64)
    # `atol` is meant for single precision; what cancels leaves errors of the type's own size.
    atol = tolerance.atol * max(1.0, epsilon / np.finfo(np.float32).eps)
    return atol + tolerance.ulps * epsilon * scale


def _epsilon(dtype):
    """The distance from one to the next value of a type."""
    if dtype.kind == "c":
        return np.finfo(dtype).eps
    return float(ml_dtypes.finfo(dtype).eps)
