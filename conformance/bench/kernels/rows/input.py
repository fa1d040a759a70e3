"""What input pipelines do with bytes: pictures, records, tables of text."""

import zlib

import numpy as np
import tensorflow as tf

from conformance.bench.kernels.row import SIZES, add, texts, whole

raw = tf.raw_ops

# Height and width of a picture, and records in a batch.
SIDES = {"small": 32, "cache": 224, "memory": 1024}
RECORDS = {"small": 8, "cache": 512, "memory": 16_384}


def _smooth(side):
    """A picture with both soft and hard edges, as photographs have."""
    y, x = np.mgrid[:side, :side]
    red = 127 + 120 * np.sin(x / 17) * np.cos(y / 23)
    blue = np.where((x // 16 + y // 16) % 2, 200, 40) + whole((side, side), 0, 20)
    return np.stack([red, (x + y) * 255 / (2 * side), blue], 2).astype(np.uint8)


def _encoded(encode, side):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return np.array(session.run(encode(_smooth(side))), dtype=object)


def _example(number):
    feature = {
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
        "pixels": tf.train.Feature(float_list=tf.train.FloatList(value=np.arange(32) + number)),
        "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"number %d" % number])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def _parsed(serialized):
    features = {
        "label": tf.io.FixedLenFeature([], tf.int64),
        "pixels": tf.io.FixedLenFeature([32], tf.float32),
        "name": tf.io.FixedLenFeature([], tf.string),
    }
    return list(tf.io.parse_example(serialized, features).values())


for size in SIZES:
    side, records = SIDES[size], RECORDS[size]
    jpeg = lambda side=side: [_encoded(lambda x: raw.EncodeJpeg(image=x, quality=90), side)]
    png = lambda side=side: [_encoded(lambda x: raw.EncodePng(image=x), side)]
    add("DecodeJpeg", size, "DecodeJpeg", jpeg, lambda x: raw.DecodeJpeg(contents=x, channels=3))
    add("DecodeJpeg, half as large", size, "DecodeJpeg", jpeg, lambda x: raw.DecodeJpeg(contents=x, channels=3, ratio=2))
    add("DecodePng", size, "DecodePng", png, lambda x: raw.DecodePng(contents=x, channels=3))
    add(
        "DecodeJpeg, ResizeBilinear", size, ("DecodeJpeg", "ResizeBilinear"), jpeg,
        lambda x: raw.ResizeBilinear(images=raw.DecodeJpeg(contents=x, channels=3)[None], size=[96, 96]),
    )
    add("EncodePng", size, "EncodePng", lambda side=side: [_smooth(side)], lambda x: raw.StringLength(input=raw.EncodePng(image=x)), None)
    add("EncodeJpeg", size, "EncodeJpeg", lambda side=side: [_smooth(side)], lambda x: raw.StringLength(input=raw.EncodeJpeg(image=x)), None)
    add(
        "DecodeCSV", size, "DecodeCSV",
        lambda count=records: [texts(count, lambda i: b'%d,%.3f,"word %d",%d' % (i, i / 7, i, -i))],
        lambda x: raw.DecodeCSV(records=x, record_defaults=[[0], [0.0], [""], [np.int64(0)]]),
    )
    add("DecodeRaw", size, "DecodeRaw", lambda count=records: [texts(count, lambda i: np.arange(i, i + 64, dtype=np.float32).tobytes())], lambda x: raw.DecodeRaw(bytes=x, out_type=tf.float32))
    add(
        "DecodeCompressed", size, "DecodeCompressed",
        lambda count=records: [np.array([zlib.compress(b"".join(b"row %d, " % (i % 999) for i in range(64 * count // 8)))], dtype=object)],
        lambda x: raw.DecodeCompressed(bytes=x, compression_type="ZLIB"),
    )
    add("ParseExampleV2", size, "ParseExampleV2", lambda count=records: [texts(count, _example)], _parsed)
    add("StringNGrams", size, "StringNGrams", lambda count=records: [texts(count, lambda i: b"w%d" % i)], lambda x: raw.StringNGrams(data=x, data_splits=[0, int(x.shape[0])], separator=" ", ngram_widths=[2], left_pad="", right_pad="", pad_width=0, preserve_short_sequences=False).ngrams)
    add("UnicodeDecode", size, "UnicodeDecode", lambda count=records: [texts(count, lambda i: f"wörd {i} 中".encode())], lambda x: raw.UnicodeDecode(input=x, input_encoding="UTF-8"))
    add("DecodeBase64", size, "DecodeBase64", lambda count=records: [texts(count, lambda i: b"d29yZCBudW1iZXI%c" % (65 + i % 26))], lambda x: raw.DecodeBase64(input=x))
