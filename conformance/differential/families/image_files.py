"""Files of images.

What encoders write is compared by decoding it again, because no two of them write the same bytes.
"""

import base64
import struct
import zlib

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

ENCODED = Tolerance(atol=0.06, reason="encoders round in other places")


def _pixels(draw, height, width, channels, dtype=np.uint8):
    """Draws an image that is smooth enough for a lossy format."""
    rows, columns = np.mgrid[:height, :width][..., None] / max(height, width)
    phase, speed = draw.random.uniform(0, 6, (2, 1, 1, channels))
    wave = np.sin(phase + speed * rows * 4) * np.cos(speed + phase * columns * 3)
    noise = draw.random.uniform(-0.2, 0.2, (height, width, channels))
    return ((wave / 2.5 + 0.5 + noise).clip(0, 1) * np.iinfo(dtype).max).astype(dtype)


def _file(encode, *arguments, **attrs):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(encode(*arguments, **attrs))


def _contents(file):
    return np.array(file, dtype=object)


def _jpegs(draw):
    for height, width, channels, attrs in (
        (8, 8, 3, {}), (16, 16, 3, {}), (5, 7, 3, {}), (17, 23, 3, {}), (1, 1, 3, {}), (2, 3, 3, {}), (3, 40, 3, {}),
        (16, 24, 3, {"chroma_downsampling": False}), (9, 13, 3, {"chroma_downsampling": False, "quality": 40}),
        (12, 20, 1, {}), (20, 33, 3, {"progressive": True}), (9, 9, 1, {"progressive": True}),
        (15, 31, 3, {"quality": 10}), (33, 15, 3, {"quality": 100, "optimize_size": True}),
        (11, 12, 3, {"progressive": True, "chroma_downsampling": False, "quality": 100}),
    ):
        yield _file(tf.io.encode_jpeg, _pixels(draw, height, width, channels), **attrs)


@generates("DecodeJpeg")
def decode_jpeg(op, draw):
    for file in _jpegs(draw):
        for channels in (0, 1, 3):
            yield Case(op, [_contents(file)], {"channels": channels})
        for ratio in (2, 4, 8):
            yield Case(op, [_contents(file)], {"ratio": ratio})
            yield Case(op, [_contents(file)], {"ratio": ratio, "channels": 1})
        yield Case(op, [_contents(file)], {"fancy_upscaling": False})
    file = _file(tf.io.encode_jpeg, _pixels(draw, 16, 16, 3))
    yield Case(op, [_contents(file)], {"channels": 4})
    yield Case(op, [_contents(file[:-40])])
    yield Case(op, [_contents(file[:100])])
    yield Case(op, [_contents(b"\xff\xd8\xff")])
    yield Case(op, [_contents(b"nothing")])
    yield Case(op, [_contents(b"")])
    yield Case(op, [np.array([file], object)])
    yield Case(op, [_contents(file)], {"ratio": 3})
    yield Case(op, [_contents(file)], {"dct_method": "OTHER"})
    yield Case(op, [_contents(file)], {"dct_method": "INTEGER_ACCURATE"})
    yield Case(op, [_contents(_file(tf.io.encode_png, _pixels(draw, 3, 4, 3)))])


@generates("DecodeAndCropJpeg")
def decode_and_crop(op, draw):
    for file in list(_jpegs(draw))[3::3]:
        height, width = _file(tf.io.extract_jpeg_shape, file)[:2]
        top, left = draw.integer(0, height - 1), draw.integer(0, width - 1)
        window = [top, left, draw.integer(1, height - top), draw.integer(1, width - left)]
        # TensorFlow decodes only the window, and sees no neighbours of it when it scales colours.
        yield Case(op, [_contents(file), np.array(window, np.int32)], {"fancy_upscaling": False})
        yield Case(op, [_contents(file), np.array([0, 0, height, width], np.int32)])
    file = _contents(_file(tf.io.encode_jpeg, _pixels(draw, 8, 8, 3)))
    for window in ([1, 1, 8, 3], [-1, 1, 5, 3], [1, 5, 3], [1, 1, 0, 3]):
        yield Case(op, [file, np.array(window, np.int32)])
    png = _contents(_file(tf.io.encode_png, _pixels(draw, 8, 8, 3)))
    yield Case(op, [png, np.array([0, 0, 2, 2], np.int32)])


@generates("ExtractJpegShape")
def jpeg_shape(op, draw):
    for file in list(_jpegs(draw))[::3]:
        yield Case(op, [_contents(file)], {"output_type": draw.choice([tf.int32, tf.int64])})
    yield Case(op, [_contents(b"nothing")])
    yield Case(op, [_contents(_file(tf.io.encode_png, _pixels(draw, 3, 4, 3)))])


def _chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _made_png(width, height, depth, color, rows, *chunks):
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))
    pixels = _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + pixels


def _pngs(draw):
    for channels in (1, 2, 3, 4):
        for dtype in (np.uint8, np.uint16):
            yield _file(tf.io.encode_png, _pixels(draw, 3, 4, channels, dtype))
    palette = _chunk(b"PLTE", bytes(range(12)))
    yield _made_png(4, 1, 2, 3, b"\0\x1b", palette)
    yield _made_png(4, 1, 2, 3, b"\0\x1b", palette, _chunk(b"tRNS", b"\x05\x80"))
    yield _made_png(8, 1, 1, 0, b"\0\xa5")
    yield _made_png(4, 1, 2, 0, b"\0\x1b")
    yield _made_png(8, 1, 1, 0, b"\0\xa5", _chunk(b"tRNS", b"\0\1"))
    yield _made_png(2, 1, 8, 2, b"\0\1\2\3\4\5\6", _chunk(b"tRNS", b"\0\1\0\2\0\3"))


@generates("DecodePng")
def decode_png(op, draw):
    for file in _pngs(draw):
        for channels in (0, 1, 3, 4):
            for dtype in (tf.uint8, tf.uint16):
                yield Case(op, [_contents(file)], {"channels": channels, "dtype": dtype})
    file = _file(tf.io.encode_png, _pixels(draw, 3, 4, 3))
    for bad in (file[:50], b"", b"nothing", _made_png(30000, 30000, 8, 0, b"\0\1"), _made_png(2**30, 2**30, 8, 0, b"\0\1")):
        yield Case(op, [_contents(bad)])
    yield Case(op, [_contents(file)], {"channels": 2})
    yield Case(op, [np.array([file], object)])


def _gif(frames, width, height, transparent=None):
    palette = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (9, 8, 7)]
    file = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x81, 0, 0) + b"".join(map(bytes, palette))
    for left, top, frame_width, frame_height, indices in frames:
        flags = 0 if transparent is None else 1
        file += b"\x21\xf9\x04" + struct.pack("<BHB", flags, 0, transparent or 0) + b"\0"
        file += b"\x2c" + struct.pack("<HHHHB", left, top, frame_width, frame_height, 0) + b"\x02"
        # A clear code after every two pixels keeps all codes at three bits.
        codes = [4]
        for position, index in enumerate(indices):
            codes += [index, 4] if position % 2 else [index]
        bits = "".join(f"{code:03b}"[::-1] for code in codes + [5])
        data = bytes(int(bits[start : start + 8][::-1], 2) for start in range(0, len(bits), 8))
        file += bytes([len(data)]) + data + b"\0"
    return file + b"\x3b"


def _gifs():
    first, second = (0, 0, 3, 2, [0, 1, 2, 3, 0, 1]), (1, 0, 2, 1, [2, 1])
    yield _gif([first], 3, 2)
    yield _gif([first, second], 3, 2)
    yield _gif([first, second], 3, 2, transparent=2)
    yield _gif([second], 3, 2)
    yield _gif([first, (1, 1, 3, 2, [0, 1, 2, 3, 0, 1])], 3, 2)


@generates("DecodeGif")
def decode_gif(op, draw):
    for file in _gifs():
        yield Case(op, [_contents(file)])
    for bad in (_gif([], 3, 2), b"GIF89a", next(_gifs())[:-20], b"nothing"):
        yield Case(op, [_contents(bad)])
    yield Case(op, [_contents(_file(tf.io.encode_png, _pixels(draw, 3, 4, 1)))])
    yield Case(op, [_contents(_file(tf.io.encode_jpeg, _pixels(draw, 3, 4, 3)))])


def _bmp(height, width, bits, top_down=False):
    row = (width * bits // 8 + 3) // 4 * 4
    pixels = bytes(index * 7 % 256 for index in range(row * height))
    head = struct.pack("<IHHI", 54 + len(pixels), 0, 0, 54)
    return b"BM" + head + struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits, 0, len(pixels), 0, 0, 0, 0) + pixels


# Lossless WebP images of 4 x 3 pixels without and with alpha, of one pixel, and of 2 x 2 pixels with alpha.
WEBP = {
    "plain": base64.b64decode(
        "UklGRpgAAABXRUJQVlA4TIwAAAAvA4AAAM1VICICHggkAAAAAABAAGAAAAAAAAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgDAOCB"
        "BAAAAAAAnH8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACAgAcSAAAAAABw/oEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AAAAAAAAkTySAw=="
    ),
    "alpha": base64.b64decode(
        "UklGRsIAAABXRUJQVlA4TLYAAAAvA4AAEM1VICICHggkAAAAAAAgADAAAAAAAAAAAgAAAAAAAAAAAAAAAAAAAAAAAAAAAAgDAOCB"
        "BAAAAAAAnH8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAggcSAAAAAABw/iEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AAAAAAAAHogEAAAAAMD5AwCYAQAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAguXHiAA=="
    ),
    "pixel": base64.b64decode(
        "UklGRhwAAABXRUJQVlA4TA8AAAAvAAAAAM1VICICFeh/RgIA"
    ),
    "small": base64.b64decode(
        "UklGRsIAAABXRUJQVlA4TLYAAAAvAUAAEM1VICICHogEAAAAAIAADAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAMAAHgg"
        "EgAAAAAA5+8BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA9EAgAAAADg/B8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AAAAAAAA5IEgAAAAAACc/wAAAAAAAAAAAAAAAAAAAKAAAAAAAAAAAAAAAAAAAABAEv9iBA=="
    ),
}


def _webp_chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _webp_animation(*frames):
    """An animation of 4 x 3 pixels: names of images, places, and whether frames go away and replace."""
    three = lambda number: number.to_bytes(3, "little")
    body = _webp_chunk(b"VP8X", b"\x12\0\0\0" + three(3) + three(2)) + _webp_chunk(b"ANIM", b"\1\2\3\xff\0\0")
    for name, left, top, flags in frames:
        width, height = (2, 2) if name == "small" else (4, 3)
        place = three(left // 2) + three(top // 2) + three(width - 1) + three(height - 1) + three(100)
        body += _webp_chunk(b"ANMF", place + bytes([flags]) + WEBP[name][12:])
    return _webp_chunk(b"RIFF", b"WEBP" + body)


def _webps():
    yield from WEBP.values()
    yield _webp_animation(("plain", 0, 0, 0))
    yield _webp_animation(("alpha", 0, 0, 0), ("small", 2, 0, 0))
    yield _webp_animation(("plain", 0, 0, 1), ("small", 0, 0, 2), ("small", 2, 0, 0), ("small", 2, 0, 3), ("alpha", 0, 0, 0))


@generates("DecodeWebP")
def decode_webp(op, draw):
    for file in _webps():
        for channels in (0, 3, 4):
            yield Case(op, [_contents(file)], {"channels": channels})
    plain, moving = WEBP["plain"], _webp_animation(("alpha", 0, 0, 0), ("small", 2, 0, 0))
    for file in [plain + b"xx", plain[:-5], plain[:16], moving[:-5], b"abc", b""]:
        yield Case(op, [_contents(file)])
    yield Case(op, [_contents(plain)], {"channels": 1})
    yield Case(op, [_contents(plain)[None]])
    yield Case(op, [_contents(_file(tf.io.encode_png, _pixels(draw, 3, 4, 3)))])


@generates("DecodeBmp")
def decode_bmp(op, draw):
    for bits in (8, 16, 24, 32):
        for top_down in (False, True):
            for channels in (0, 3, 4):
                yield Case(op, [_contents(_bmp(2, 3, bits, top_down))], {"channels": channels})
    file = _bmp(2, 3, 24)
    huge = file[:18] + struct.pack("<ii", 2**30, 2**30) + file[26:]
    negative = file[:18] + struct.pack("<ii", -3, 2) + file[26:]
    for bad in (file[:60], file[:20], huge, negative, b"nothing", _file(tf.io.encode_png, _pixels(draw, 3, 4, 3))):
        yield Case(op, [_contents(bad)])
    yield Case(op, [_contents(file)], {"channels": 1})


@generates("DecodeImage", tolerance=Tolerance(ulps=2, reason="division by 255"))
def decode_image(op, draw):
    files = [*list(_pngs(draw))[::3], *list(_jpegs(draw))[::5], *list(_gifs())[:2], _bmp(2, 3, 24), *list(_webps())[-2:], b"nothing"]
    for file in files:
        for dtype in (tf.uint8, tf.uint16, tf.float32):
            yield Case(op, [_contents(file)], {"dtype": dtype, "expand_animations": draw.chance()})
        for channels in (1, 3, 4):
            yield Case(op, [_contents(file)], {"channels": channels})


@generates("EncodePng")
def encode_png(op, draw):
    for dtype in (np.uint8, np.uint16):
        for channels in (1, 2, 3, 4):
            image = _pixels(draw, 3, 4, channels, dtype)
            compression = draw.integer(-1, 9)
            yield Case(op, [image], build=lambda x, c=compression, d=dtype: tf.raw_ops.DecodePng(
                contents=tf.raw_ops.EncodePng(image=x, compression=c), dtype=d))
    for image in (_pixels(draw, 2, 2, 5), np.zeros((0, 2, 3), np.uint8), np.zeros((2, 3), np.uint8)):
        yield Case(op, [image])


@generates("EncodeJpeg", tolerance=ENCODED)
def encode_jpeg(op, draw):
    def again(image, **attrs):
        file = tf.raw_ops.EncodeJpeg(image=image, **attrs)
        return tf.cast(tf.raw_ops.DecodeJpeg(contents=file), tf.float32) / 255

    for height, width, channels, attrs in (
        (16, 16, 3, {}), (9, 13, 3, {"chroma_downsampling": False}), (12, 20, 1, {}), (20, 33, 3, {"progressive": True}),
        (15, 31, 3, {"quality": 50}), (8, 8, 3, {"optimize_size": True, "xmp_metadata": "words"}),
    ):
        image = _pixels(draw, height, width, channels)
        yield Case(op, [image], build=lambda x, a=attrs: again(x, **a))
    for image, attrs in (
        (_pixels(draw, 2, 2, 4), {}), (_pixels(draw, 2, 2, 1), {"format": "rgb"}), (_pixels(draw, 2, 2, 3), {"format": "grayscale"}),
        (_pixels(draw, 2, 2, 3), {"quality": 101}), (_pixels(draw, 2, 2, 3)[0], {}), (np.zeros((0, 2, 3), np.uint8), {}),
    ):
        yield Case(op, [image], attrs)


@generates("EncodeJpegVariableQuality", tolerance=ENCODED)
def encode_variable(op, draw):
    def again(image, quality):
        file = tf.raw_ops.EncodeJpegVariableQuality(images=image, quality=quality)
        return tf.cast(tf.raw_ops.DecodeJpeg(contents=file), tf.float32) / 255

    for quality in (40, 80, 100):
        yield Case(op, [_pixels(draw, 16, 16, 3), np.int32(quality)], build=again)
    image = _pixels(draw, 4, 4, 3)
    yield Case(op, [image, np.int32(500)])
    yield Case(op, [image, np.array([50], np.int32)])
