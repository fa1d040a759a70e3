"""What kernels do with inputs that are unusual or wrong: TensorFlow's numbers, codes and words."""

import re

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.framework import function

raw = tf.raw_ops
ones = np.ones


def fed(value, dtype=np.float32):
    """A tensor of which the client does not know the shape, so that the kernel has to look at it."""
    return v1.placeholder_with_default(np.asarray(value, dtype), None)


def avg_pool_gradient(rows, columns, sizes=(1, 4, 6, 1)):
    return raw.FractionalAvgPoolGrad(
        orig_input_tensor_shape=fed(sizes, np.int64),
        out_backprop=fed(ones([1, 2, 3, 1])),
        row_pooling_sequence=fed(rows, np.int64),
        col_pooling_sequence=fed(columns, np.int64),
        overlapping=False,
    )


def max_pool_gradient(image, result, rows=(0, 2, 4)):
    return raw.FractionalMaxPoolGrad(
        orig_input=fed(image),
        orig_output=fed(result),
        out_backprop=fed(result),
        row_pooling_sequence=fed(rows, np.int64),
        col_pooling_sequence=fed([0, 2, 4, 6], np.int64),
    )


def batch_norm(x=ones([1, 2, 2, 3]), scale=ones(3), mean=ones(3), training=False, factor=1.0):
    return raw.FusedBatchNormV3(
        x=fed(x), scale=fed(scale), offset=fed(ones(3)), mean=fed(mean), variance=fed(ones(3)),
        is_training=training, exponential_avg_factor=factor,
    ).y  # fmt: skip


def batch_norm_gradient(dy=ones([1, 2, 2, 3]), scale=ones(3), mean=ones(3)):
    return raw.FusedBatchNormGradV2(
        y_backprop=fed(dy), x=fed(ones([1, 2, 2, 3])), scale=fed(scale), reserve_space_1=fed(mean),
        reserve_space_2=fed(ones(3)),
    ).x_backprop  # fmt: skip


def suppression(limit=2, overlap=0.5):
    return raw.NonMaxSuppressionV3(
        boxes=fed(ones([2, 4])), scores=fed(ones(2)), max_output_size=fed(limit, np.int32),
        iou_threshold=fed(overlap), score_threshold=fed(0),
    )  # fmt: skip


def array():
    made = raw.TensorArrayV3(size=2, dtype=tf.float32)
    return made.handle, raw.TensorArrayWriteV3(handle=made.handle, index=0, value=fed([3]), flow_in=made.flow)


def gathered(element_shape):
    handle, flow = array()
    return raw.TensorArrayGatherV3(
        handle=handle, indices=[0], flow_in=flow, dtype=tf.float32, element_shape=element_shape
    )


def scattered(value, dtype):
    handle, flow = array()
    return raw.TensorArrayScatterV3(handle=handle, indices=[1], value=fed(value, dtype), flow_in=flow)


def joined(elements, shape, lengths):
    return raw.TensorListConcatV2(
        input_handle=elements, element_shape=fed(shape, np.int32), leading_dims=fed(lengths, np.int64),
        element_dtype=tf.float32,
    ).tensor  # fmt: skip


def scatter_to_list():
    return raw.TensorListLength(
        input_handle=raw.TensorListScatterV2(
            tensor=fed([[1]]), indices=fed([0, 1], np.int32), element_shape=fed([1], np.int32), num_elements=-1
        )
    )


def gathered_from_list(index):
    made = raw.TensorListReserve(element_shape=-1, num_elements=3, element_dtype=tf.float32)
    return raw.TensorListGather(
        input_handle=made, indices=fed([index], np.int32), element_shape=-1, element_dtype=tf.float32
    )


def split(lengths):
    made = raw.TensorArrayV3(size=3, dtype=tf.float32)
    return raw.TensorArraySplitV3(
        handle=made.handle, value=fed([1, 2, 3]), lengths=fed(lengths, np.int64), flow_in=made.flow
    )


def no_string():
    made = raw.TensorArrayV3(size=2, dtype=tf.string, element_shape=[2])
    return raw.TensorArrayReadV3(handle=made.handle, index=0, flow_in=made.flow, dtype=tf.string)


REFUSED = {
    "negative rows of windows": (lambda: avg_pool_gradient([-9, 1, 2], [0, 2, 4, 6]), "Row sequence tensor values must not be negative, got -9  1  2"),
    "negative columns of windows": (lambda: avg_pool_gradient([0, 2, 4], [1, 2, -3, 4]), "Column sequence tensor values must not be negative, got  1  2 -3  4"),
    "too few rows of windows": (lambda: avg_pool_gradient([0, 2], [0, 2, 4, 6]), "row_seq_tensor must have at least 3 elements, but got 2"),
    "another pooled image": (lambda: max_pool_gradient(ones([1, 4, 6, 1]), 2 * ones([1, 2, 3, 1])), "tensor_out_dup is not the same as tensor_out"),
    "windows of no image": (lambda: max_pool_gradient(ones([1, 4, 6, 1]), ones([1, 2, 3, 1]), [0, 2]), "tensor_out_dup is not the same as tensor_out"),
    "no image": (lambda: max_pool_gradient(ones([0, 4, 6, 1]), ones([1, 2, 3, 1])), "orig_input must not be empty"),
    "a matrix of scales": (lambda: batch_norm(scale=ones([3, 1])), "scale must be 1-dimensional[3,1]"),
    "too few means": (lambda: batch_norm(mean=ones(2), training=True, factor=0.5), "When exponential_avg_factor != 1, mean must have the same number of elements as the channels of x, got 2 and 3"),
    "another gradient's shape": (lambda: batch_norm_gradient(dy=ones([1, 2, 2, 2])), "x and y_backprop must have same shape, but x has shape [1,2,2,3] and y_backprop has shape [1,2,2,2]"),
    "too few saved means": (lambda: batch_norm_gradient(mean=ones(2)), "reserve_space_1 must have the same number of elements as the channels of x, got 2 and 3"),
    "a vector of limits": (lambda: suppression(limit=[2]), "max_output_size must be 0-D, got shape [1] (Shape must be rank 0 but is rank 1)"),
    "elements of another shape": (lambda: gathered([2]), "TensorArray was passed element_shape [2] which does not match the Tensor at index 0: [1]"),
    "elements of another type": (lambda: scattered([[1]], np.int32), "TensorArray dtype is float but Op is trying to write dtype int32."),
    "a scalar of elements": (lambda: scattered(1, np.float32), "Input value for unpack must be at least a vector but received shape: []"),
    "scalars in a row": (lambda: joined(raw.TensorListFromTensor(tensor=fed([1]), element_shape=fed([], np.int32)), [], []), "Concat requires elements to be at least vectors, found scalars instead."),
    "elements without length": (lambda: joined(raw.TensorListReserve(element_shape=fed([-1], np.int32), num_elements=3, element_dtype=tf.float32), [-1], [1]), "List contains uninitialized tensor at index 1 but leading_dims has only 1 elements."),
    "a vector of counts": (lambda: raw.StatelessRandomUniformV2(shape=[2], key=np.uint64([1]), counter=np.uint64([1, 2]), alg=fed([1], np.int32)), "input 3 (0-based) must have shape [], not [1]"),
    "more samples than there are": (lambda: raw.RFFT(input=fed(ones([2, 64])), fft_length=fed([100], np.int32)), "Input dimension 1 must have length of at least 100 but got: 64"),
    "a vector of names": (lambda: raw.ImageSummary(tag=v1.placeholder_with_default(["a"], None), tensor=fed(ones([1, 2, 2, 1]))), "Tags must be a scalar"),
    "elements that are not there": (lambda: gathered_from_list(7), "Trying to gather element 7 in a list with 3 elements."),
    "lengths that do not add up": (lambda: split([1, 2, -1]), "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is 2 and value's shape is: [3]"),
    "strings without a value": (no_string, "tensor_array::TensorSetZero type not supported: string"),
    "more places than rows": (scatter_to_list, "Invalid number of rows in input tensor. Expected: 2 Actual: 1"),
    "depth to space": (
        lambda: raw.DepthToSpace(input=fed(ones([1, 2, 2, 4])), block_size=46341),
        "Block size should be > 1 and <= 46340 but was: 46341",
    ),
    "scalars side by side": (
        lambda: raw.ConcatV2(values=[fed([1, 2]), fed(1)], axis=0),
        "ConcatOp : Can't concatenate scalars (use tf.stack instead)",
    ),
    "a file name of no scalar": (
        lambda: raw.ShardedFilename(basename=fed_bytes([b"a"]), shard=1, num_shards=2),
        "basename must be a scalar, got shape [1]",
    ),
    "a file name of many shards": (
        lambda: raw.ShardedFilespec(basename="a", num_shards=fed([2], np.int32)),
        "num_shards must be a scalar, got shape [1]",
    ),
    "windows in padding alone": (
        lambda: raw.MaxPool(
            input=fed(ones([1, 3, 3, 1])), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="EXPLICIT",
            explicit_paddings=[0, 0, 0, 1, 0, 2, 0, 0],
        ),
        "Right padding 2 needs to be smaller than the window size 2",
    ),  # fmt: skip
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_inputs_are_refused_in_the_same_words(target, case):
    build, words = REFUSED[case]
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            session.run(build())


def test_updates_of_another_shape_are_refused_in_the_same_words(target):
    variable = tf.Variable(ones([2, 3], np.float32))
    update = raw.ResourceScatterAdd(resource=variable.handle, indices=fed([0], np.int32), updates=fed(ones([2, 3])))
    words = "The shape of indices ([1]) must be a prefix of the shape of updates ([2,3])"
    with v1.Session(target) as session:
        session.run(variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
            session.run(update)


def test_pooling_does_not_know_depth(target):
    pooled = {
        "average": raw.FractionalAvgPool(value=fed(ones([2, 4, 4, 1])), pooling_ratio=[2, 1, 1, 1]),
        "max": raw.FractionalMaxPool(value=fed(ones([2, 4, 4, 1])), pooling_ratio=[2, 1, 1, 1]),
    }
    with v1.Session(target) as session:
        for what, op in pooled.items():
            words = f"Fractional {what} pooling is not yet supported on the batch nor channel dimension."
            with pytest.raises(tf.errors.UnimplementedError, match=words):
                session.run(op.output)


def test_windows_end_where_the_image_does(target):
    with v1.Session(target) as session:
        np.testing.assert_array_equal(
            session.run(avg_pool_gradient([0, 2, 40], [0, 2, 4, 6])), np.full([1, 4, 6, 1], 0.25)
        )


def test_nothing_has_no_mean(target):
    nothing = raw.FusedBatchNormV2(
        x=fed(ones([0, 2, 2, 3])), scale=ones(3, np.float32), offset=ones(3, np.float32), mean=ones(3, np.float32),
        variance=ones(3, np.float32), is_training=False,
    )  # fmt: skip
    with v1.Session(target) as session:
        mean, variance = session.run([tf.identity(nothing.batch_mean), tf.identity(nothing.batch_variance)])
    assert np.isnan(mean).all() and np.isnan(variance).all()


def test_halves_between_two_levels_are_rounded_alike(target):
    tenths = np.arange(-90, 91).astype(np.float32) / 10
    low, high, quarter = np.float32(0), np.float32(6), np.float32(0.4)
    shared = raw.FakeQuantWithMinMaxVars(inputs=tenths, min=low, max=high, num_bits=4)
    by_channel = raw.FakeQuantWithMinMaxVarsPerChannel(inputs=tenths[:, None], min=[low], max=[high], num_bits=4)
    fixed = raw.FakeQuantWithMinMaxArgs(inputs=tenths, min=0, max=6, num_bits=4)
    with v1.Session(target) as session:
        shared, by_channel, fixed = session.run([shared, by_channel, fixed])
    inside = tenths.clip(0, 6)
    np.testing.assert_array_equal(shared, np.floor(inside / quarter + np.float32(0.5)) * quarter)
    multiplied = np.floor(inside * np.float32(2.5) + np.float32(0.5)) * quarter
    np.testing.assert_array_equal(fixed, multiplied)
    np.testing.assert_array_equal(by_channel[:, 0], multiplied)


def test_infinite_pivots_have_a_sign_and_late_nan_spreads(target):
    infinite = fed([[np.inf, 1], [2, 3]])
    broken = fed([[1, 2, 3], [4, np.nan, 6], [7, 8, 10]])
    with v1.Session(target) as session:
        sign, logarithm = session.run(raw.LogMatrixDeterminant(input=infinite))
        inverse = session.run(raw.MatrixInverse(input=broken))
        solution = session.run(raw.MatrixSolve(matrix=broken, rhs=fed([[1], [2], [3]])))
    assert (sign, logarithm) == (1, np.inf)
    assert np.isnan(inverse).all() and np.isnan(solution).all()


def test_boxes_without_end_are_not_drawn(target):
    images = np.zeros([1, 4, 4, 3], np.float32)
    boxes = fed([[[0, 0, np.inf, np.inf], [0, 0, 1e20, 1e20]]])
    with v1.Session(target) as session:
        np.testing.assert_array_equal(session.run(tf.image.draw_bounding_boxes(images, boxes, None)), images)


def test_boxes_that_are_nowhere_suppress_each_other(target):
    kept = raw.NonMaxSuppressionV3(
        boxes=fed(np.full([3, 4], np.nan)), scores=fed([0.9, 0.8, 0.7]), max_output_size=3, iou_threshold=np.float32(0.5),
        score_threshold=np.float32(0),
    )  # fmt: skip
    with v1.Session(target) as session:
        np.testing.assert_array_equal(session.run(kept), [0])


def test_the_colours_of_a_jpeg_file_are_averages(target):
    """Of single pixels: taking one of four changes noise far more than its compression does."""
    noise = np.random.RandomState(3).randint(96, 160, [32, 32, 3]).astype(np.uint8)
    decoded = tf.io.decode_jpeg(tf.io.encode_jpeg(noise, quality=95))
    with v1.Session(target) as session:
        fetched = session.run(decoded).astype(float)
    blocks = lambda image: image.reshape(16, 2, 16, 2, 3).mean(axis=(1, 3))  # noqa: E731
    assert np.abs(blocks(fetched) - blocks(noise.astype(float))).mean() < 5


def test_a_gradient_may_align_corners_and_centres(target):
    gradient = raw.ResizeNearestNeighborGrad(
        grads=fed(ones([1, 4, 4, 1])), size=[2, 2], align_corners=True, half_pixel_centers=True
    )
    with v1.Session(target) as session:
        assert session.run(gradient).sum() == 16


def test_an_algorithm_of_other_devices_is_not_there(target):
    state = raw.VarHandleOp(dtype=tf.int64, shape=[3], shared_name="state")
    made = raw.AssignVariableOp(resource=state, value=np.int64([1, 2, 3]))
    drawn = raw.StatefulStandardNormalV2(resource=state, algorithm=fed(2, np.int64), shape=[2])
    with v1.Session(target) as session:
        session.run(made)
        with pytest.raises(tf.errors.UnimplementedError, match="Non-XLA devices don't support the ThreeFry algorithm"):
            session.run(drawn)


def test_what_a_summary_says_of_itself_may_be_nonsense(target):
    written = raw.TensorSummaryV2(tag="t", tensor=[1.0], serialized_summary_metadata=fed_bytes(b"zz"))
    with v1.Session(target) as session:
        (value,) = v1.Summary.FromString(session.run(written)).value
    assert value.HasField("metadata") and not value.metadata.ListFields()


def fed_bytes(value):
    return v1.placeholder_with_default(tf.constant(value), None)


def test_steps_between_channels_do_not_matter_to_windows_of_one(target):
    pooled = raw.AvgPool(value=fed(ones([1, 2, 2, 2])), ksize=[1, 2, 2, 1], strides=[1, 1, 1, 2], padding="VALID")
    with v1.Session(target) as session:
        assert session.run(pooled).shape == (1, 1, 1, 2)


def test_a_gradient_reaches_no_input_from_padding_alone(target):
    """Windows far behind the image leave its gradient as it is."""
    image, filter = np.float64(range(24)).reshape([1, 3, 4, 2]), np.float64(range(40)).reshape([5, 4, 2, 1])
    for strides in ([1, 1, 2, 1], [1, 3, 2, 1]):
        y = raw.Conv2D(
            input=fed(image, float), filter=fed(filter, float), strides=strides, padding="EXPLICIT",
            explicit_paddings=[0, 0, 0, 7, 0, 9, 0, 0],
        )  # fmt: skip
        gradient = tf.gradients(y, y.op.inputs[0])[0]
        found = []
        for where in ("", target):
            with v1.Session(where) as session:
                found.append(session.run(gradient))
        np.testing.assert_array_equal(*found)


def test_loops_keep_the_number_of_their_values(target):
    @function.Defun(tf.float32)
    def goes_on(x):
        return x < 10.0

    @function.Defun(tf.float32)
    def doubles(x):
        return x, x

    @function.Defun(tf.int32, tf.float32)
    def doubles_with_index(i, x):
        return x, x

    loop = raw.While(input=[1.0], cond=goes_on, body=doubles)
    counted = raw.For(start=0, limit=3, delta=1, input=[1.0], body=doubles_with_index)
    with v1.Session(target) as session:
        for op, name in [(loop, "While"), (counted, "For")]:
            words = f"{name} loop body returned 2 arguments. Expected: 1"
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(op)
