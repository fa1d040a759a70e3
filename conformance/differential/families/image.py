"""Images: resizing, cropping, colours, boxes."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

FUSED = Tolerance(ulps=32, atol=2e-5, reason="TensorFlow fuses products and sums")
HALVES = Tolerance(ulps=8, atol=1e-3, reason="half precision is computed in single")
ALIGNMENTS = [
    {},
    {"align_corners": True},
    {"half_pixel_centers": True},
]
SIZES = [((3, 4), (3, 4)), ((3, 4), (5, 7)), ((4, 5), (2, 3)), ((1, 1), (3, 2)), ((4, 4), (1, 1)), ((2, 6), (6, 2))]


def _images(draw, dtype, height, width, batch=None, channels=None):
    batch = draw.integer(1, 2) if batch is None else batch
    channels = draw.integer(1, 2) if channels is None else channels
    low = 0 if dtype.is_unsigned else -50
    return draw.array(dtype, (batch, height, width, channels), low, 50)


def _int(*values):
    return np.array(values, np.int32)


@generates("ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor", tolerance=FUSED)
def resize(op, draw):
    types = draw.types(op, "T")
    for dtype in types:
        for alignment in ALIGNMENTS if dtype == tf.float32 else [draw.choice(ALIGNMENTS)]:
            if op == "ResizeArea":
                alignment = {k: v for k, v in alignment.items() if k == "align_corners"}
            for (height, width), size in SIZES if dtype == tf.float32 else SIZES[:2]:
                yield Case(op, [_images(draw, dtype, height, width), _int(*size)], alignment)
    image = _images(draw, tf.float32, 4, 4)
    for images, size in (
        (image[0], _int(2, 2)), (image, _int(2)), (image, _int(2, 2, 2)), (image, np.array([[2, 2]], np.int32)),
        (image, _int(0, 2)), (image, _int(-1, 2)), (image[:0], _int(2, 2)), (image[..., :0], _int(2, 2)), (image[:, :0], _int(2, 2)),
    ):
        yield Case(op, [images, size])
    if op != "ResizeArea":
        yield Case(op, [image, _int(2, 2)], {"align_corners": True, "half_pixel_centers": True})


@generates("ResizeBilinearGrad", "ResizeBicubicGrad", tolerance=FUSED)
def resize_grad(op, draw):
    for dtype in draw.types(op, "T"):
        for alignment in ALIGNMENTS:
            for original, resized in SIZES:
                tolerance = FUSED if dtype.size > 2 else Tolerance(ulps=8, atol=0.05, reason="sums round in another order")
                grads = draw.array(tf.float32, (1, *resized, 2), -3, 3)
                yield Case(op, [grads, _images(draw, dtype, *original, 1, 2)], alignment, tolerance=tolerance)
    image = _images(draw, tf.float32, 4, 4)
    for grads, original in ((image[0], image), (image, image[0]), (image[:, :0], image), (image, image[:, :0])):
        yield Case(op, [grads, original])


@generates("ResizeNearestNeighborGrad", tolerance=HALVES)
def nearest_grad(op, draw):
    for dtype in draw.types(op, "T"):
        for alignment in ALIGNMENTS:
            for original, resized in SIZES[:4]:
                yield Case(op, [_images(draw, dtype, *resized, 1), _int(*original)], alignment)
    image = _images(draw, tf.float32, 4, 4)
    for grads, size in ((image[0], _int(2, 2)), (image, _int(2)), (image, _int(0, 2)), (image[:, :0], _int(2, 2))):
        yield Case(op, [grads, size])


FILTERS = ["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]


def _transformations(draw):
    for kind in FILTERS:
        for antialias in (False, True):
            scale = draw.random.uniform(0.3, 2, 2).astype(np.float32)
            translation = draw.random.uniform(-2, 2, 2).astype(np.float32)
            yield scale, translation, {"kernel_type": kind, "antialias": antialias}


@generates("ScaleAndTranslate", tolerance=Tolerance(ulps=64, atol=1e-3, reason="filters of sines"))
def scale_and_translate(op, draw):
    for scale, translation, attrs in _transformations(draw):
        size = _int(draw.integer(1, 6), draw.integer(1, 6))
        yield Case(op, [_images(draw, tf.float32, 4, 5), size, scale, translation], attrs)
    one, zero, image = np.ones(2, np.float32), np.zeros(2, np.float32), _images(draw, tf.float32, 4, 4)
    for dtype in draw.types(op, "T"):
        yield Case(op, [_images(draw, dtype, 4, 4), _int(3, 2), one * 0.5, zero])
    for images, size, scale, translation in (
        (image[0], _int(2, 2), one, zero), (image, _int(2), one, zero), (image, _int(0, 2), one, zero),
        (image, _int(2, 2), one[:1], zero), (image, _int(2, 2), zero, zero), (image, _int(2, 2), one, zero[:1]),
        (image, _int(2, 2), one, one * 100), (image, _int(2, 2), one, one * np.nan),
    ):
        yield Case(op, [images, size, scale, translation])
    yield Case(op, [image, _int(2, 2), one, zero], {"kernel_type": "bad"})


@generates("ScaleAndTranslateGrad", tolerance=Tolerance(ulps=64, atol=1e-3, reason="filters of sines"))
def scale_and_translate_grad(op, draw):
    for scale, translation, attrs in _transformations(draw):
        grads = _images(draw, tf.float32, draw.integer(1, 5), draw.integer(1, 5), 1, 2)
        yield Case(op, [grads, _images(draw, tf.float32, 4, 5, 1, 2), scale, translation], attrs)
    one, zero, image = np.ones(2, np.float32), np.zeros(2, np.float32), _images(draw, tf.float32, 3, 3)
    yield Case(op, [image[0], image, one, zero])
    yield Case(op, [image, image[0], one, zero])


def _boxes(draw, count):
    return draw.random.uniform(-0.2, 1.2, (count, 4)).astype(np.float32)


@generates("CropAndResize", tolerance=FUSED)
def crop_and_resize(op, draw):
    for dtype in draw.types(op, "T"):
        if dtype in (tf.bfloat16, tf.uint32, tf.uint64):
            continue
        for method in ("bilinear", "nearest"):
            image = _images(draw, dtype, 4, 5, 2, 1)
            count = draw.integer(1, 3)
            inputs = [image, _boxes(draw, count), draw.integers((count,), 0, 1), _int(draw.integer(1, 4), draw.integer(1, 4))]
            yield Case(op, inputs, {"method": method, "extrapolation_value": 7.0})
    image, box, index, size = _images(draw, tf.float32, 4, 4, 1, 1), _boxes(draw, 1), _int(0), _int(2, 2)
    for inputs in (
        (image, np.array([[0, 0, 1, 1]], np.float32), index, size), (image, box, index, _int(1, 1)),
        (image[0], box, index, size), (image, box, _int(1), size), (image, box, _int(-1), size), (image, box, _int(0, 0), size),
        (image, box, np.array([[0]], np.int32), size), (image, box[:, :3], index, size), (image, box[0], index, size),
        (image, box, index, _int(0, 1)), (image, box, index, _int(1, 1, 1)), (image, box[:0], index[:0], size),
        (image[:, :0], box, index, size), (image, box * np.nan, index, size),
    ):
        yield Case(op, list(inputs))


@generates("CropAndResizeGradImage", tolerance=FUSED)
def crop_grad_image(op, draw):
    for dtype in draw.types(op, "T"):
        for method in ("bilinear", "nearest"):
            for height, width in ((2, 3), (1, 1), (4, 1)):
                grads = draw.array(tf.float32, (3, height, width, 2), -2, 2)
                inputs = [grads, _boxes(draw, 3), draw.integers((3,), 0, 1), _int(2, 4, 5, 2)]
                tolerance = FUSED if dtype != tf.half else Tolerance(ulps=8, atol=0.02, reason="sums round")
                yield Case(op, inputs, {"method": method, "T": dtype}, tolerance=tolerance)
    grads, box, index, size = np.ones((1, 2, 2, 1), np.float32), _boxes(draw, 1), _int(0), _int(1, 3, 3, 1)
    for inputs in (
        (grads[0], box, index, size), (grads[:, :0], box, index, size), (grads, box, index, size[:3]), (grads, box, index, _int(1, -3, 3, 1)),
        (grads, box, index, _int(1, 3, 3, 2)), (grads, _boxes(draw, 2), _int(0, 0), size), (grads, box, _int(1), size),
    ):
        yield Case(op, list(inputs), {"T": tf.float32})


@generates("CropAndResizeGradBoxes", tolerance=Tolerance(ulps=64, atol=1e-3, reason="sums"))
def crop_grad_boxes(op, draw):
    for dtype in (tf.float32, tf.float64, tf.half, tf.uint8, tf.int32, tf.int64):
        for height, width in ((2, 3), (1, 1), (4, 1)):
            grads = draw.array(tf.float32, (3, height, width, 1), -2, 2)
            image = _images(draw, dtype, 4, 5, 2, 1)
            yield Case(op, [grads, image, _boxes(draw, 3), draw.integers((3,), 0, 1)])
    grads, box, index, image = np.ones((1, 2, 2, 1), np.float32), _boxes(draw, 1), _int(0), _images(draw, tf.float32, 3, 3, 1, 1)
    for inputs in (
        (grads, image[0], box, index), (np.ones((1, 2, 2, 2), np.float32), image, box, index), (np.ones((2, 2, 2, 1), np.float32), image, box, index),
        (grads, image, box, _int(3)), (grads[:, :0], image, box, index), (grads, image[:, :0], box, index),
    ):
        yield Case(op, list(inputs))


@generates("RGBToHSV", "HSVToRGB", tolerance=Tolerance(ulps=16, atol=1e-5, reason="divisions are approximated"))
def hsv(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in ((3,), (2, 3), (0, 3), (2, 2, 3, 3)):
            tolerance = None if dtype.size > 2 else Tolerance(ulps=8, atol=2e-2, reason="half precision is computed in single")
            yield Case(op, [draw.array(dtype, shape, 0, 1)], tolerance=tolerance)
    yield Case(op, [draw.array(tf.float32, (8, 3), -3, 3)])
    yield Case(op, [np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 1]], np.float32)])
    yield Case(op, [np.float32(1)])
    yield Case(op, [draw.array(tf.float32, (4,))])


@generates("AdjustContrastv2", "AdjustHue", "AdjustSaturation", tolerance=FUSED)
def adjust(op, draw):
    for shape in ((2, 3, 3), (2, 2, 2, 3), (1, 2, 3, 2, 3), (0, 3, 3), (3, 1, 3)):
        for number in draw.random.uniform(-1 if op == "AdjustHue" else 0, 2, 3):
            yield Case(op, [draw.array(tf.float32, shape, 0, 1), np.float32(number)])
    image = draw.array(tf.float32, (2, 3, 3), -1, 1)
    yield Case(op, [image, np.float32(0.3)])
    yield Case(op, [image[0], np.float32(0.3)])
    yield Case(op, [image, np.ones(1, np.float32)])
    yield Case(op, [draw.array(tf.float32, (2, 3, 4), 0, 1), np.float32(0.3)])


def _candidates(draw, dtype, count):
    corners = draw.random.uniform(0, 1, (count, 2))
    boxes = np.concatenate([corners, corners + draw.random.uniform(-0.2, 0.6, (count, 2))], 1)
    scores = draw.random.permutation(count) / max(count, 1) + 0.05
    return boxes.astype(dtype.as_numpy_dtype), scores.astype(dtype.as_numpy_dtype)


@generates(
    "NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5",
    tolerance=HALVES,
)
def non_max_suppression(op, draw):
    version = int(op[-1]) if op[-1].isdigit() else 1

    def case(boxes, scores, limit=3, overlap=0.5, score=0.2, sigma=0.0, pad=False):
        dtype = boxes.dtype
        if version == 1:
            return Case(op, [boxes, scores, np.int32(limit)], {"iou_threshold": overlap})
        inputs = [boxes, scores, np.int32(limit), np.asarray(overlap, dtype)]
        if version >= 3:
            inputs.append(np.asarray(score, dtype))
        if version >= 5:
            inputs.append(np.asarray(sigma, dtype))
        return Case(op, inputs, {"pad_to_max_output_size": pad} if version >= 4 else {})

    for dtype in [tf.float32] if version == 1 else draw.types(op, "T"):
        for count in (0, 1, 5, 12):
            for pad in (False, True):
                boxes, scores = _candidates(draw, dtype, count)
                sigma = draw.choice([0.0, 0.5]) if dtype == tf.float32 else 0.0
                yield case(boxes, scores, draw.integer(0, 8), draw.choice([0.0, 0.3, 0.5, 1.0]), draw.choice([0.0, 0.3]), sigma, pad)
    boxes, scores = _candidates(draw, tf.float32, 4)
    yield case(boxes, scores * 0 + 1)
    yield case(boxes, scores * np.nan)
    yield case(boxes, scores, overlap=1.5)
    yield case(boxes, scores, limit=-1)
    yield case(boxes[:, :3], scores)
    yield case(boxes[0], scores)
    yield case(boxes, scores[:2])
    yield case(boxes, scores[None])
    if version > 1:
        yield case(boxes, scores, overlap=[0.5])
    if version == 5:
        yield case(boxes, scores, sigma=-1.0)


@generates("NonMaxSuppressionWithOverlaps")
def with_overlaps(op, draw):
    for count in (0, 1, 4, 7):
        overlaps = draw.array(tf.float32, (count, count), 0, 1)
        overlaps = ((overlaps + overlaps.T) / 2).astype(np.float32)
        scores = _candidates(draw, tf.float32, count)[1]
        for limit in (0, 3, 9):
            yield Case(op, [overlaps, scores, np.int32(limit), np.float32(0.5), np.float32(0.2)])
    ones = np.ones((2, 2), np.float32)
    for overlaps, scores, limit in ((ones[:1], ones[0], 1), (ones[0], ones[0], 1), (ones, ones[0, :1], 1), (ones, ones[0], -1), (ones, ones, 1)):
        yield Case(op, [overlaps, scores, np.int32(limit), np.float32(0.5), np.float32(0.2)])


@generates("CombinedNonMaxSuppression")
def combined(op, draw):
    def case(boxes, scores, per_class=2, total=5, overlap=0.5, score=0.1, **attrs):
        numbers = [np.int32(per_class), np.int32(total), np.asarray(overlap, np.float32), np.float32(score)]
        return Case(op, [boxes, scores, *numbers], attrs)

    for batch, count, variants, classes in ((1, 4, 1, 1), (1, 4, 1, 3), (2, 3, 2, 2), (1, 0, 1, 2), (0, 3, 1, 2)):
        boxes = _candidates(draw, tf.float32, batch * count * variants)[0].reshape(batch, count, variants, 4)
        scores = _candidates(draw, tf.float32, batch * count * classes)[1].reshape(batch, count, classes)
        for pad in (False, True):
            yield case(boxes, scores, draw.integer(1, 4), draw.integer(1, 8), pad_per_class=pad, clip_boxes=draw.chance())
    boxes = np.ones((1, 3, 1, 4), np.float32)
    scores = np.ones((1, 3, 2), np.float32)
    yield case(np.ones((1, 3, 3, 4), np.float32), scores)
    yield case(boxes, scores[:, :2])
    yield case(boxes[..., :3], scores)
    yield case(boxes, scores[:0])
    yield case(boxes, scores, 0)
    yield case(boxes, scores, 1, 0)
    yield case(boxes, scores, overlap=2.0)
    yield case(boxes, scores, overlap=[0.2])


@generates("DrawBoundingBoxes", "DrawBoundingBoxesV2")
def draw_boxes(op, draw):
    def case(images, boxes, colors=None):
        if op == "DrawBoundingBoxes":
            return Case(op, [images, boxes])
        colors = draw.array(tf.float32, (2, 4), 0, 1) if colors is None else colors
        return Case(op, [images, boxes, colors])

    for dtype in draw.types(op, "T"):
        for channels in (1, 3, 4):
            boxes = draw.random.uniform(-0.3, 1.3, (1, 4, 4)).astype(np.float32)
            boxes.sort(-1)
            boxes = boxes[..., [0, 1, 2, 3]]
            yield case(draw.array(dtype, (1, 3, 4, channels), 0, 1), boxes)
    images = np.zeros((1, 1, 13, 3), np.float32)
    yield case(images, np.array([[[0, i / 12, 1, i / 12] for i in range(13)]], np.float32))
    images = np.zeros((1, 4, 4, 3), np.float32)
    box = np.array([[[0.1, 0.2, 0.7, 0.8]]], np.float32)
    yield case(images, box[..., [2, 1, 0, 3]])
    yield case(images, box * np.array([np.nan, 1, 1, 1], np.float32))
    yield case(images[..., :2], box)
    yield case(images[0], box)
    yield case(images, box[0])
    yield case(images, box[[0, 0]])
    yield case(images, box[..., :3])
    if op == "DrawBoundingBoxesV2":
        yield case(images, box, np.zeros((0, 3), np.float32))
        yield case(images, box, np.ones((1, 2), np.float32))
        yield case(images, box, np.ones(3, np.float32))


@generates("ExtractGlimpse", "ExtractGlimpseV2")
def glimpse(op, draw):
    zero = {"noise": "zero", "uniform_noise": False}
    for centered in (False, True):
        for normalized in (False, True):
            for size in ((2, 3), (3, 3), (6, 7)):
                offsets = draw.random.uniform(-1.5, 1.5, (2, 2)).astype(np.float32)
                image = draw.array(tf.float32, (2, 4, 5, 1))
                yield Case(op, [image, _int(*size), offsets], {"centered": centered, "normalized": normalized, **zero})
    image, offsets = draw.array(tf.float32, (1, 4, 5, 1)), np.zeros((1, 2), np.float32)
    yield Case(op, [image, _int(0, 2), offsets], zero)
    for inputs in (
        (image[0], _int(2, 2), offsets), (image, _int(2), offsets), (image, _int(-1, 2), offsets),
        (image, _int(2, 2), offsets[0]), (image, _int(2, 2), np.zeros((2, 2), np.float32)), (image, _int(2, 2), np.zeros((1, 3), np.float32)),
    ):
        yield Case(op, list(inputs), zero)


@generates("ImageProjectiveTransformV2", "ImageProjectiveTransformV3", tolerance=FUSED)
def projective(op, draw):
    def case(images, transforms, size, fill=7.0, interpolation="BILINEAR", fill_mode="CONSTANT"):
        inputs = [images, transforms, size] + ([np.asarray(fill, np.float32)] if op[-1] == "3" else [])
        return Case(op, inputs, {"interpolation": interpolation, "fill_mode": fill_mode})

    identity = np.array([1, 0, 0, 0, 1, 0, 0, 0])
    for dtype in draw.types(op, "dtype"):
        for interpolation in ("BILINEAR", "NEAREST"):
            for fill_mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
                if dtype.is_integer and interpolation == "BILINEAR":
                    continue
                count = draw.integer(1, 2)
                transforms = identity + draw.random.uniform(-0.3, 0.3, (count, 8)) * [1, 1, 9, 1, 1, 9, 0.2, 0.2]
                images = _images(draw, dtype, 4, 5, 2, 1)
                size = _int(draw.integer(1, 5), draw.integer(1, 5))
                tolerance = FUSED if dtype.size > 2 else HALVES
                made = case(images, transforms.astype(np.float32), size, interpolation=interpolation, fill_mode=fill_mode)
                made.tolerance = tolerance
                yield made
    image, one, size = _images(draw, tf.float32, 4, 4), identity[None].astype(np.float32), _int(3, 3)
    yield case(image[0], one, size)
    yield case(image, one[:, :7], size)
    yield case(image, one[[0, 0, 0]], size)
    yield case(image, one[0], size)
    yield case(image, one, _int(1, 2, 3))
    yield case(image, one, _int(0, 2))
    far = np.float32([[1, 0, 3e9, 0, 1, -1e30, 0, 0]])
    for fill_mode in ("CONSTANT", "NEAREST"):
        yield case(image, far, size, fill_mode=fill_mode, interpolation="NEAREST")
    if op[-1] == "3":
        aside = np.float32([[1, 0, 2, 0, 1, 0, 0, 0]])
        for dtype in (tf.uint8, tf.int32, tf.int64):
            for fill in (300.7, -5.2, 1e30, np.nan):
                yield case(_images(draw, dtype, 4, 4), aside, size, fill=fill, interpolation="NEAREST")
        yield case(image, one, size, fill=[1.0])


@generates("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "StatelessSampleDistortedBoundingBox")
def sample_box(op, draw):
    def case(size, boxes, covered=0.1, seed=None, **attrs):
        seed = [draw.integer(1, 99), draw.integer(1, 99)] if seed is None else seed
        inputs = [size, boxes]
        if op == "SampleDistortedBoundingBox":
            attrs["min_object_covered"] = covered
        else:
            inputs.append(np.asarray(covered, np.float32))
        if op.startswith("Stateless"):
            inputs.append(np.array(seed, np.int32))
        else:
            attrs.update(seed=seed[0], seed2=seed[1])
        return Case(op, inputs, attrs)

    box = np.array([[[0.1, 0.2, 0.5, 0.6], [0.3, 0.1, 0.9, 0.4]]], np.float32)
    for dtype in (tf.uint8, tf.int8, tf.int16, tf.int32, tf.int64):
        for height, width in ((100, 120), (64, 64), (7, 90), (1, 1)):
            yield case(np.array([height, width, 3], dtype.as_numpy_dtype), box)
    size = _int(100, 120, 3)
    for _ in range(4):
        low = draw.random.uniform(0.1, 0.5)
        yield case(size, box, draw.random.uniform(0, 1), area_range=[low, 0.9], aspect_ratio_range=[0.5, 2.0], max_attempts=draw.choice([1, 5]))
    yield case(size, box[:, :0], use_image_if_no_bounding_boxes=True)
    yield case(size, box[:, :0])
    yield case(size[:2], box)
    yield case(size[None], box)
    yield case(size, box[0])
    yield case(size, box[..., :3])
    yield case(size, box + 0.5)
    yield case(_int(-5, 3, 3), box)
    yield case(_int(0, 3, 3), box)
    if op != "SampleDistortedBoundingBox":
        yield case(size, box, -1.0)
        yield case(size, box, [1.0])
    if op.startswith("Stateless"):
        yield case(size, box, seed=[1, 2, 3])
    yield case(size, box, aspect_ratio_range=[1.0])
    yield case(size, box, aspect_ratio_range=[-1.0, 1.0])
    yield case(size, box, area_range=[0.5, 1.5])
    yield case(size, box, max_attempts=0)
