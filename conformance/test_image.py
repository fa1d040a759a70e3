"""Image programs: files in and out, input pipelines that distort, and decompositions of matrices."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1


def smooth_image(height, width, channels=3):
    rows, columns, channel = np.mgrid[:height, :width, :channels]
    wave = np.sin(rows / 7 + channel) * np.cos(columns / 5 - channel)
    return ((wave / 2 + 0.5) * 255).astype(np.uint8)


@pytest.mark.parametrize("attrs", [{}, {"chroma_downsampling": False}, {"progressive": True}], ids=str)
def test_a_jpeg_file_is_near_to_its_image(target, attrs):
    image = smooth_image(37, 51)
    fed = v1.placeholder(tf.uint8, [None, None, 3])
    decoded = tf.io.decode_jpeg(tf.io.encode_jpeg(fed, quality=95, **attrs))
    with v1.Session(target) as session:
        fetched = session.run(decoded, {fed: image})
    assert fetched.shape == image.shape
    assert np.abs(fetched.astype(int) - image).mean() < 4


@pytest.mark.parametrize("dtype", [tf.uint8, tf.uint16], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_png_file_is_its_image(target, dtype, channels):
    image = smooth_image(9, 14, channels).astype(dtype.as_numpy_dtype) * (dtype.max // 255)
    fed = v1.placeholder(dtype, [None, None, channels])
    decoded = tf.io.decode_png(tf.io.encode_png(fed), dtype=dtype)
    with v1.Session(target) as session:
        np.testing.assert_array_equal(session.run(decoded, {fed: image}), image)


def test_a_crop_of_a_jpeg_file_is_the_crop_of_its_image(target):
    contents = tf.io.encode_jpeg(smooth_image(40, 48), chroma_downsampling=False)
    whole = tf.io.decode_jpeg(contents)
    window = tf.io.decode_and_crop_jpeg(contents, [3, 5, 20, 30])
    with v1.Session(target) as session:
        whole, window = session.run([whole, window])
    np.testing.assert_array_equal(window, whole[3:23, 5:35])


def test_any_file_is_recognised(target):
    image = smooth_image(8, 8)
    files = [tf.io.encode_png(image), tf.io.encode_jpeg(image)]
    images = [tf.io.decode_image(file, dtype=tf.float32) for file in files]
    with v1.Session(target) as session:
        png, jpeg = session.run(images)
    np.testing.assert_allclose(png, image / 255, atol=1e-6)
    np.testing.assert_allclose(jpeg, image / 255, atol=0.1)


def test_what_is_no_image_is_an_invalid_argument(target):
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown image file format"):
            session.run(tf.io.decode_image(tf.constant(b"words")))


def test_a_distorting_pipeline_gives_tensorflows_numbers(target):
    def distorted():
        image = tf.image.convert_image_dtype(tf.constant(smooth_image(60, 70)), tf.float32)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            [60, 70, 3], tf.zeros([1, 0, 4]), seed=3, use_image_if_no_bounding_boxes=True, min_object_covered=0.1
        )
        image = tf.slice(image, begin, size)
        image = tf.image.resize(image, [24, 24], method="bicubic")
        image = tf.image.adjust_hue(tf.image.adjust_saturation(image, 1.3), 0.1)
        return tf.image.adjust_contrast(tf.image.flip_left_right(image), 0.8)

    v1.set_random_seed(7)
    output = distorted()
    with v1.Session(target) as session:
        have = session.run(output)
    with v1.Session(graph=output.graph) as session:
        want = session.run(output)
    np.testing.assert_allclose(have, want, atol=1e-5)


def test_an_orthogonal_initializer_gives_tensorflows_numbers(target):
    kernel = v1.get_variable("kernel", [12, 8], initializer=v1.orthogonal_initializer(seed=5))
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        have = session.run(kernel)
    with v1.Session(graph=kernel.graph) as session:
        session.run(v1.global_variables_initializer())
        want = session.run(kernel)
    np.testing.assert_allclose(have, want, atol=1e-5)
    np.testing.assert_allclose(have.T @ have, np.eye(8), atol=1e-5)


def test_decompositions_multiply_back(target):
    matrices = np.random.default_rng(0).normal(size=(3, 6, 6))
    fed = v1.placeholder(tf.float64, [None, 6, 6])
    s, u, v = tf.linalg.svd(fed)
    symmetric = fed + tf.linalg.matrix_transpose(fed)
    values, vectors = tf.linalg.eigh(symmetric)
    rebuilt = [
        tf.matmul(u * s[..., None, :], v, adjoint_b=True),
        tf.matmul(vectors * values[..., None, :], vectors, adjoint_b=True),
        tf.matmul(*tf.linalg.qr(fed)),
        tf.matmul(tf.linalg.inv(fed), fed),
    ]
    with v1.Session(target) as session:
        svd, eigh, qr, identity = session.run(rebuilt, {fed: matrices})
    np.testing.assert_allclose(svd, matrices, atol=1e-9)
    np.testing.assert_allclose(eigh, matrices + matrices.swapaxes(1, 2), atol=1e-9)
    np.testing.assert_allclose(qr, matrices, atol=1e-9)
    np.testing.assert_allclose(identity, np.broadcast_to(np.eye(6), (3, 6, 6)), atol=1e-9)


def test_gradients_pass_through_resizing_and_decompositions(target):
    image = v1.placeholder(tf.float32, [1, 5, 5, 1])
    matrix = tf.linalg.matmul(image[0, :, :, 0], image[0, :, :, 0], transpose_b=True) + tf.eye(5)
    loss = tf.reduce_sum(tf.image.resize(image, [8, 9]) ** 2) + tf.reduce_sum(tf.linalg.cholesky(matrix))
    (gradient,) = v1.gradients(loss, image)
    value = np.random.default_rng(1).normal(size=(1, 5, 5, 1)).astype(np.float32)
    with v1.Session(target) as session:
        have = session.run(gradient, {image: value})
    with v1.Session(graph=gradient.graph) as session:
        want = session.run(gradient, {image: value})
    np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4)


def test_sound_survives_a_file_and_has_a_spectrum(target):
    sound = np.sin(np.arange(800) * 0.3).astype(np.float32)[:, None]
    audio, rate = tf.audio.decode_wav(tf.audio.encode_wav(sound, 8000))
    spectrum = tf.abs(tf.signal.rfft(audio[:, 0]))
    with v1.Session(target) as session:
        audio, rate, spectrum = session.run([audio, rate, spectrum])
    assert rate == 8000
    np.testing.assert_allclose(audio, sound, atol=1e-4)
    np.testing.assert_allclose(spectrum, np.abs(np.fft.rfft(audio[:, 0])), atol=1e-2)
