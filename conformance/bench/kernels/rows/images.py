"""Pictures: sizes and colours."""

import tensorflow as tf

from conformance.bench.kernels.row import each_size, real

raw = tf.raw_ops


def _pictures(n):
    side = {1 << 10: 16, 1 << 16: 64, 1 << 22: 256}[n]
    return real((max(n // (side * side * 3), 1), side, side, 3), 0, 1)


def _size(x):
    return [x.shape[1] * 3 // 2, x.shape[2] * 3 // 2]


for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
    function = getattr(raw, name)
    sizes = ("small", "cache", "memory") if name != "ResizeArea" else ("small", "cache")
    each_size(f"{name}, larger", name, lambda n: [_pictures(n)], lambda x, f=function: f(images=x, size=_size(x)), sizes=sizes, tolerance=1e-3)
each_size(
    "ResizeBilinear, smaller, half pixels", "ResizeBilinear", lambda n: [_pictures(n)],
    lambda x: raw.ResizeBilinear(images=x, size=[x.shape[1] // 2, x.shape[2] // 2], half_pixel_centers=True),
)
each_size(
    "CropAndResize", "CropAndResize", lambda n: [_pictures(n)],
    lambda x: raw.CropAndResize(image=x, boxes=[[0.1, 0.1, 0.9, 0.9]] * 8, box_ind=[0] * 8, crop_size=[32, 32]),
)
each_size("AdjustHue", "AdjustHue", lambda n: [_pictures(n)], lambda x: raw.AdjustHue(images=x, delta=0.1), tolerance=1e-3)
each_size("AdjustSaturation", "AdjustSaturation", lambda n: [_pictures(n)], lambda x: raw.AdjustSaturation(images=x, scale=1.5), tolerance=1e-3)
each_size("AdjustContrastv2", "AdjustContrastv2", lambda n: [_pictures(n)], lambda x: raw.AdjustContrastv2(images=x, contrast_factor=1.5), tolerance=1e-3)
each_size("RGBToHSV", "RGBToHSV", lambda n: [_pictures(n)], lambda x: raw.RGBToHSV(images=x), tolerance=1e-3)
each_size("HSVToRGB", "HSVToRGB", lambda n: [_pictures(n)], lambda x: raw.HSVToRGB(images=x), tolerance=1e-3)
each_size("ExtractImagePatches", "ExtractImagePatches", lambda n: [_pictures(n)], lambda x: raw.ExtractImagePatches(images=x, ksizes=[1, 3, 3, 1], strides=[1, 2, 2, 1], rates=[1, 1, 1, 1], padding="SAME"))
