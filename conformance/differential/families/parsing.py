"""Decoding of records."""

import gzip
import zlib

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, generates

BYTES, FLOAT, INT64 = tf.string, tf.float32, tf.int64
KINDS = [BYTES, FLOAT, INT64]


def texts(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = [value if isinstance(value, bytes) else value.encode() for value in values]
    return array


def text(value):
    return np.asarray(value if isinstance(value, bytes) else value.encode(), dtype=object)


def empty(dtype):
    return np.empty([0], dtype=tf.as_dtype(dtype).as_numpy_dtype)


def feature(dtype, values):
    if dtype == BYTES:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if dtype == FLOAT:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def random_feature(draw, dtype, count):
    return feature(dtype, draw.array(dtype, (count,)).tolist())


def features(**given):
    return tf.train.Features(feature=given)


def example(**given):
    return tf.train.Example(features=features(**given)).SerializeToString()


def field(number, data):
    """A field that holds bytes, shorter than 128."""
    return bytes([number << 3 | 2, len(data)]) + data


def entry(key, data):
    return field(1, field(1, key) + field(2, data))


ONE = example(a=feature(FLOAT, [1, 2]), b=feature(INT64, [3]), c=feature(BYTES, [b"x", b"y"]))
UNPACKED = field(2, b"\x0d" + np.float32(5).tobytes() + b"\x0d" + np.float32(6).tobytes())
ODD = [
    ONE,
    b"garbage",
    b"",
    b"\x0a",
    b"\x78\x01" + ONE,
    example(a=feature(FLOAT, [1])) + example(b=feature(INT64, [2])),
    field(1, entry(b"a", feature(FLOAT, [1]).SerializeToString()) + entry(b"a", feature(FLOAT, [2, 3]).SerializeToString())),
    field(1, entry(b"a", UNPACKED)),
    field(1, entry(b"a", b"")),
    field(1, entry(b"a", field(2, b"\x0a\x03abc"))),
    example(a=tf.train.Feature(), b=feature(INT64, [-1])),
]


def batch(draw, count, keys):
    """Examples with a random number of values for each key, or without it."""
    records = []
    for _ in range(count):
        given = {
            key: random_feature(draw, dtype, draw.integer(0, 3))
            for key, dtype in keys.items()
            if draw.chance(0.8)
        }
        records.append(example(**given))
    return texts(*records)


def parse_example(serialized, names=(), sparse=(), dense=()):
    """A case with sparse features (key, type) and dense ones (key, shape, default)."""
    return Case(
        "ParseExample",
        {
            "serialized": serialized,
            "names": texts(*names),
            "sparse_keys": [text(key) for key, _ in sparse],
            "dense_keys": [text(key) for key, *_ in dense],
            "dense_defaults": [default for *_, default in dense],
        },
        {
            "sparse_types": [dtype for _, dtype in sparse],
            "dense_shapes": [tf.TensorShape(shape) for _, shape, _ in dense],
        },
    )


@generates("ParseExample")
def examples(op, draw):
    keys = {"a": FLOAT, "b": INT64, "c": BYTES}
    sparse = list(keys.items())
    for count in (0, 1, 2, 5):
        yield parse_example(batch(draw, count, keys), sparse=sparse)
        dense = [(key, [draw.integer(1, 2)], empty(dtype)) for key, dtype in keys.items()]
        yield parse_example(batch(draw, count, keys), dense=dense)
        padded = [(key, [None], draw.array(dtype, (1,))) for key, dtype in keys.items()]
        yield parse_example(batch(draw, count, keys), dense=padded)
        full = texts(*(example(a=random_feature(draw, FLOAT, 4), b=random_feature(draw, INT64, 1), c=random_feature(draw, BYTES, 2)) for _ in range(count)))
        dense = [("a", [2, 2], empty(FLOAT)), ("b", [], empty(INT64)), ("c", [2], empty(BYTES)), ("d", [2], np.float32([8, 9]))]
        yield parse_example(full, dense=dense)
        yield parse_example(full, sparse=[("a", FLOAT)], dense=[("b", [1], empty(INT64))])
        yield parse_example(full, dense=[("a", [None, 2], np.float32([7])), ("c", [None, 1], texts("p"))])
    for record in ODD:
        one = texts(record)
        yield parse_example(one, sparse=[("a", FLOAT), ("b", INT64)])
        yield parse_example(one, dense=[("a", [2], np.float32([8, 9]))])
        yield parse_example(one, names=["name"], dense=[("a", [2], empty(FLOAT))])
    yield parse_example(texts(b"garbage"))
    yield parse_example(texts(ONE), sparse=[("b", FLOAT)])
    yield parse_example(texts(ONE), dense=[("b", [1], empty(FLOAT))])
    yield parse_example(texts(ONE), dense=[("a", [3], empty(FLOAT))])
    yield parse_example(texts(ONE), dense=[("a", [None, 3], np.float32([1]))])
    yield parse_example(texts(ONE), dense=[("a", [None], empty(FLOAT))])
    yield parse_example(texts(ONE), dense=[("a", [3], np.float32([1, 2]))])
    yield parse_example(texts(ONE), names=["a", "b"], sparse=[("a", FLOAT)])
    yield parse_example(text(ONE), sparse=[("a", FLOAT)])
    yield parse_example(texts(ONE).reshape(1, 1), sparse=[("a", FLOAT)])


def parse_example_v2(serialized, names=(), sparse=(), dense=(), ragged=()):
    return Case(
        "ParseExampleV2",
        {
            "serialized": serialized,
            "names": texts(*names),
            "sparse_keys": texts(*(key for key, _ in sparse)),
            "dense_keys": texts(*(key for key, *_ in dense)),
            "ragged_keys": texts(*(key for key, *_ in ragged)),
            "dense_defaults": [default for *_, default in dense],
        },
        {
            "num_sparse": len(sparse),
            "sparse_types": [dtype for _, dtype in sparse],
            "dense_shapes": [tf.TensorShape(shape) for _, shape, _ in dense],
            "ragged_value_types": [dtype for _, dtype, _ in ragged],
            "ragged_split_types": [splits for *_, splits in ragged],
        },
    )


@generates("ParseExampleV2")
def examples_v2(op, draw):
    keys = {"a": FLOAT, "b": INT64, "c": BYTES}
    splits = lambda: draw.choice([tf.int32, tf.int64])
    for count in (0, 1, 2, 5):
        yield parse_example_v2(batch(draw, count, keys), ragged=[(key, dtype, splits()) for key, dtype in keys.items()])
        yield parse_example_v2(batch(draw, count, keys), sparse=[("a", FLOAT)], dense=[("c", [None], texts("p"))], ragged=[("b", INT64, splits())])
    for record in [ONE, example(a=feature(FLOAT, [4, 5])), b"garbage", b"", UNPACKED]:
        yield parse_example_v2(text(record), sparse=[("a", FLOAT)], dense=[("b", [1], np.int64([9]))], ragged=[("c", BYTES, splits())])
        yield parse_example_v2(text(record), dense=[("a", [None], np.float32(9)), ("c", [None, 1], texts("p"))])
        yield parse_example_v2(text(record), dense=[("b", [], empty(INT64)), ("d", [2], np.float32([1, 2]))])
    yield parse_example_v2(text(ONE), dense=[("a", [3], empty(FLOAT))])
    yield parse_example_v2(text(ONE), dense=[("a", [None, 3], np.float32([3]))])
    yield parse_example_v2(text(ONE), dense=[("b", [1], empty(FLOAT))])
    yield parse_example_v2(text(ONE), ragged=[("b", FLOAT, tf.int32)])
    yield parse_example_v2(texts(ONE), ragged=[("b", FLOAT, tf.int32)])
    yield parse_example_v2(texts(ONE).reshape(1, 1), ragged=[("a", FLOAT, tf.int32)])


@generates("ParseSingleExample")
def single_examples(op, draw):
    def one(record, sparse=(), dense=()):
        return Case(
            op,
            {"serialized": record, "dense_defaults": [default for *_, default in dense]},
            {
                "num_sparse": len(sparse),
                "sparse_keys": [key for key, _ in sparse],
                "sparse_types": [dtype for _, dtype in sparse],
                "dense_keys": [key for key, *_ in dense],
                "dense_shapes": [tf.TensorShape(shape) for _, shape, _ in dense],
            },
        )

    for record in ODD:
        yield one(text(record), sparse=[("a", FLOAT), ("b", INT64), ("z", BYTES)])
        yield one(text(record), dense=[("a", [2], np.float32([8, 9]))])
        yield one(text(record), dense=[("a", [None], np.float32([8]))])
    yield one(text(ONE), dense=[("a", [2, 1], empty(FLOAT)), ("b", [], empty(INT64)), ("c", [2], empty(BYTES))])
    yield one(text(ONE), dense=[("a", [None, 1], np.float32([4])), ("q", [None, 1], np.float32([5]))])
    yield one(texts(ONE), sparse=[("a", FLOAT)])
    yield one(text(ONE), dense=[("z", [1], empty(FLOAT))])
    yield one(text(ONE), dense=[("b", [1], empty(FLOAT))])
    yield one(text(ONE), dense=[("a", [3], empty(FLOAT))])
    yield one(text(ONE), dense=[("a", [1], empty(FLOAT))])
    yield one(text(ONE), sparse=[("b", FLOAT)])


@generates("DecodeCSV")
def csv(op, draw):
    def one(records, *defaults, **attrs):
        records = records if isinstance(records, np.ndarray) else texts(*records)
        return Case(op, {"records": records, "record_defaults": list(defaults)}, attrs)

    i, f, s = empty(tf.int32), empty(FLOAT), empty(BYTES)
    yield one(["1,2.5,a", '4,5,"b,""c"'], i, f, s)
    yield one(["9,1e3", "-3,inf"], empty(tf.int64), empty(tf.float64))
    given = [np.int32([7]), np.float32([1.5]), texts("d"), np.int64([8]), np.float64([2.5])]
    yield one([",,,,", "1,2,x,3,4"], *given)
    yield one(["NA,1,NA,2,NA"], *given, na_value="NA")
    for record in ["1,2", "1,2,3,4", "", ",1,2", "x,1,2", "1,x,2", "1,2,", " 1 , 2.5 ,  x "]:
        yield one([record], i, f, s)
    for record in ['"a"b,c', 'a"b,c', '"a', '"a\nb",c', "a\nb,c", "a,b\n", "a,\nb", "\r\na,b", '"",1', ' "a",1', '"a,b"', 'a,"b"', 'a,b"', '"a""",b', "a\r,b", '"a",']:
        yield one([record], s, texts("d"))
        yield one([record], s, texts("d"), use_quote_delim=False)
    yield one(["a;b"], s, s, field_delim=";")
    yield one(["a\tb"], s, s, field_delim="\t")
    yield one(["a;;b"], s, s, field_delim=";;")
    yield one(["a,b,c"], s, s, select_cols=[0, 2])
    yield one(["a,b,c,"], s, texts("d"), select_cols=[1, 3])
    yield one(["a,b"], s, s, select_cols=[0, 2])
    yield one(["a,b"], s, s, select_cols=[1, 0])
    yield one(["a,b"], s, select_cols=[-1])
    yield one(["a,b"], s, select_cols=[0, 1])
    yield one(texts("1", "2").reshape(2, 1), i)
    yield one(text("5"), i)
    yield one(["1"], np.int32([1, 2]))
    yield one([","], np.int32(3), np.int32([4]))
    yield one(["99999999999"], i)
    yield one(["inf,0x10,1e400,1e-400"], f, f, f, f)
    rows = [f"{draw.integer(-99, 99)},{draw.integer(0, 99)}.{draw.integer(0, 9)},t{row}" for row in range(20)]
    yield one(rows, i, f, s)


@generates("DecodeRaw")
def raw(op, draw):
    for dtype in draw.types(op, "out_type"):
        for shape in [(), (3,), (2, 2), (0,)]:
            data = np.empty(shape, dtype=object)
            for index in np.ndindex(*shape):
                data[index] = draw.array(dtype, (2,)).tobytes()
            for little in (True, False):
                if little or not dtype.is_floating or shape:
                    # Bytes in the wrong order may be a NaN; those keep no payload on the way.
                    values = data if little or dtype.is_integer or dtype.is_bool else np.full(shape, bytes(2 * dtype.size), dtype=object)
                    yield Case(op, [values], {"out_type": dtype, "little_endian": little})
    yield Case(op, [texts(b"\x01\x02\x03")], {"out_type": tf.int16})
    yield Case(op, [texts(b"\x01\x02", b"")], {"out_type": tf.int16})
    yield Case(op, [texts(b"", b"")], {"out_type": tf.int16})


@generates("DecodePaddedRaw")
def padded_raw(op, draw):
    for dtype in draw.types(op, "out_type"):
        data = texts(*(draw.array(dtype, (count,)).tobytes() for count in (0, 1, 2, 3)))
        yield Case(op, [data, np.int32(2 * dtype.size)], {"out_type": dtype})
    for little in (True, False):
        attrs = {"out_type": tf.int16, "little_endian": little}
        for one, length in [([b"\x01\x00\x02", b""], 6), ([b"\x01\x00\x02\x00"], 2), ([b"\x01\x00"], 3), ([b"\x01"], 0), ([b"\x01"], -2), ([b"\x01"], [2]), ([], 4)]:
            yield Case(op, [texts(*one), np.int32(length)], attrs)
    yield Case(op, [text(b"\x01"), np.int32(4)], {"out_type": tf.int16})


@generates("DecodeCompressed")
def compressed(op, draw):
    data = draw.random.bytes(50) + b"a" * 500
    for kind, packed in [("ZLIB", zlib.compress(data)), ("GZIP", gzip.compress(data, mtime=0)), ("", data)]:
        attrs = {"compression_type": kind}
        yield Case(op, [texts(packed, b"")], attrs)
        yield Case(op, [text(packed)], attrs)
        yield Case(op, [texts(packed[:-9])], attrs)
        yield Case(op, [texts(b"xxxxxxxx")], attrs)
    yield Case(op, [texts(b"x")], {"compression_type": "FOO"})


@generates("SerializeTensor")
def serialize_tensor(op, draw):
    for dtype in [tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.bool, tf.string, tf.complex64, tf.float16, tf.bfloat16]:
        for shape in [(), (3,), (2, 2), (0,)]:
            yield Case(op, [draw.array(dtype, shape)])


@generates("ParseTensor")
def parse_tensor(op, draw):
    for dtype in [tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.bool, tf.string, tf.complex64, tf.float16, tf.bfloat16]:
        for shape in [(), (3,), (2, 2), (0,)]:
            message = tf.make_tensor_proto(draw.array(dtype, shape), dtype=dtype, shape=shape)
            yield Case(op, [text(message.SerializeToString())], {"out_type": dtype})
    ones = tf.make_tensor_proto(np.float32([1, 2])).SerializeToString()
    yield Case(op, [text(ones)], {"out_type": tf.int32})
    yield Case(op, [texts(ones)], {"out_type": tf.float32})
    yield Case(op, [text(b"xx")], {"out_type": tf.float32})
    yield Case(op, [text(b"")], {"out_type": tf.float32})
    yield Case(op, [text(b"\x08\x01\x12\x04\x12\x02\x08\x05")], {"out_type": tf.float32})
    yield Case(op, [text(b"\x08\x01\x12\x04\x12\x02\x08\x05*\x04" + np.float32(2).tobytes())], {"out_type": tf.float32})


def sequence(context=None, **lists):
    lists = {key: tf.train.FeatureList(feature=steps) for key, steps in lists.items()}
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=context or {}),
        feature_lists=tf.train.FeatureLists(feature_list=lists),
    ).SerializeToString()


def random_sequence(draw):
    """A context with `i`, `s` and `x`; lists `f` of two floats, `g` of integers, `h` of strings."""
    context = {"i": random_feature(draw, INT64, 1)}
    if draw.chance(0.7):
        context["s"] = random_feature(draw, FLOAT, draw.integer(0, 3))
    if draw.chance(0.7):
        context["x"] = random_feature(draw, BYTES, draw.integer(0, 2))
    lists = {"f": [random_feature(draw, FLOAT, 2) for _ in range(draw.integer(0, 3))]}
    if draw.chance(0.7):
        lists["g"] = [random_feature(draw, INT64, draw.integer(0, 2)) for _ in range(draw.integer(0, 3))]
    if draw.chance(0.7):
        lists["h"] = [random_feature(draw, BYTES, draw.integer(1, 2)) for _ in range(draw.integer(0, 3))]
    return sequence(context, **lists)


SEQUENCE = sequence(
    {"i": feature(INT64, [7]), "s": feature(FLOAT, [1, 2])},
    f=[feature(FLOAT, [1, 2]), feature(FLOAT, [3, 4])],
    g=[feature(INT64, [1]), feature(INT64, []), feature(INT64, [2, 3])],
)
HOLES = sequence({}, f=[feature(FLOAT, [1, 2]), tf.train.Feature()], g=[tf.train.Feature(), feature(INT64, [1])])


def sequence_kinds(draw):
    """What may be asked of a sequence example: context sparse and dense, lists sparse and dense."""
    yield {"sparse": [("s", FLOAT), ("x", BYTES)]}
    yield {"dense": [("i", [], empty(INT64))]}
    yield {"dense": [("i", [1], empty(INT64)), ("z", [2], np.float32([8, 9]))]}
    yield {"list_sparse": [("g", INT64), ("h", BYTES)]}
    yield {"list_dense": [("f", FLOAT, [2])]}
    yield {"list_dense": [("g", INT64, [1])], "missing": ["g"]}
    yield {"list_dense": [("z", FLOAT, [2])], "missing": ["z"]}
    yield {"list_dense": [("z", FLOAT, [2])]}
    yield {
        "sparse": [("s", FLOAT)], "dense": [("i", [], empty(INT64))], "list_sparse": [("g", INT64)],
        "list_dense": [("f", FLOAT, [2, 1])],
    }
    # Wrong types and counts.
    yield {"sparse": [("i", FLOAT)]}
    yield {"dense": [("i", [], empty(FLOAT))]}
    yield {"dense": [("i", [3], empty(INT64))]}
    yield {"dense": [("z", [], empty(INT64))]}
    yield {"list_sparse": [("f", INT64)]}
    yield {"list_dense": [("f", INT64, [2])]}
    yield {"list_dense": [("f", FLOAT, [3])]}


def sequence_case(op, serialized, names=(), sparse=(), dense=(), ragged=(), list_sparse=(), list_dense=(), list_ragged=(), missing=()):
    kinds = {
        "context_sparse_types": [dtype for _, dtype in sparse],
        "context_dense_shapes": [tf.TensorShape(shape) for _, shape, _ in dense],
        "feature_list_sparse_types": [dtype for _, dtype in list_sparse],
        "feature_list_dense_types": [dtype for _, dtype, _ in list_dense],
        "feature_list_dense_shapes": [tf.TensorShape(shape) for *_, shape in list_dense],
    }
    keys = {
        "context_sparse_keys": [key for key, _ in sparse],
        "context_dense_keys": [key for key, *_ in dense],
        "feature_list_sparse_keys": [key for key, _ in list_sparse],
        "feature_list_dense_keys": [key for key, *_ in list_dense],
    }
    defaults = {"context_dense_defaults": [default for *_, default in dense]}
    counts = {
        "Ncontext_sparse": len(sparse), "Nfeature_list_sparse": len(list_sparse),
        "Nfeature_list_dense": len(list_dense),
    }
    if op == "ParseSingleSequenceExample":
        scalars = {name: [text(key) for key in found] for name, found in keys.items()}
        inputs = {
            "serialized": serialized, "feature_list_dense_missing_assumed_empty": texts(*missing),
            **scalars, **defaults, "debug_name": text("".join(names)),
        }
        return Case(op, inputs, kinds)
    if op == "ParseSequenceExample":
        inputs = {"serialized": serialized, "debug_name": texts(*names), **defaults}
        attrs = {"feature_list_dense_missing_assumed_empty": list(missing), "Ncontext_dense": len(dense)}
        return Case(op, inputs, {**attrs, **keys, **kinds, **counts})
    vectors = {name: texts(*found) for name, found in keys.items()}
    inputs = {
        "serialized": serialized, "debug_name": texts(*names),
        "context_sparse_keys": vectors["context_sparse_keys"],
        "context_dense_keys": vectors["context_dense_keys"],
        "context_ragged_keys": texts(*(key for key, *_ in ragged)),
        "feature_list_sparse_keys": vectors["feature_list_sparse_keys"],
        "feature_list_dense_keys": vectors["feature_list_dense_keys"],
        "feature_list_ragged_keys": texts(*(key for key, *_ in list_ragged)),
        "feature_list_dense_missing_assumed_empty": np.array([key in missing for key, *_ in list_dense], bool),
        **defaults,
    }
    attrs = {
        "context_ragged_value_types": [dtype for _, dtype, _ in ragged],
        "context_ragged_split_types": [splits for *_, splits in ragged],
        "feature_list_ragged_value_types": [dtype for _, dtype, _ in list_ragged],
        "feature_list_ragged_split_types": [splits for *_, splits in list_ragged],
    }
    return Case(op, inputs, {**attrs, **kinds, **counts})


@generates("ParseSequenceExample", "ParseSequenceExampleV2")
def sequences(op, draw):
    for wanted in sequence_kinds(draw):
        several = texts(*(random_sequence(draw) for _ in range(draw.integer(1, 4))))
        yield sequence_case(op, several, **wanted)
        yield sequence_case(op, texts(SEQUENCE), names=["name"], **wanted)
        yield sequence_case(op, texts(HOLES), **wanted)
        yield sequence_case(op, texts(), **wanted)
        if op.endswith("V2"):
            yield sequence_case(op, text(SEQUENCE), **wanted)
    if op.endswith("V2"):
        for splits in (tf.int32, tf.int64):
            several = texts(*(random_sequence(draw) for _ in range(3)))
            for serialized in (several, texts(SEQUENCE, HOLES), texts()):
                yield sequence_case(op, serialized, ragged=[("s", FLOAT, splits), ("x", BYTES, splits)])
                yield sequence_case(op, serialized, list_ragged=[("g", INT64, splits), ("h", BYTES, splits)])
        yield sequence_case(op, texts(SEQUENCE), list_ragged=[("g", FLOAT, tf.int32)])
    yield sequence_case(op, texts(b"garbage"), list_dense=[("f", FLOAT, [2])])
    yield sequence_case(op, texts(SEQUENCE).reshape(1, 1), list_dense=[("f", FLOAT, [2])])
    yield sequence_case(op, texts(SEQUENCE), names=["a", "b"], list_dense=[("f", FLOAT, [2])])


@generates("ParseSingleSequenceExample")
def single_sequences(op, draw):
    for wanted in sequence_kinds(draw):
        yield sequence_case(op, text(random_sequence(draw)), **wanted)
        yield sequence_case(op, text(SEQUENCE), names=["name"], **wanted)
    yield sequence_case(op, text(b"garbage"), sparse=[("s", FLOAT)])
    yield sequence_case(op, texts(SEQUENCE), sparse=[("s", FLOAT)])


@generates("DecodeJSONExample")
def json_examples(op, draw):
    def lists(name, values):
        return '{"features":{"feature":{"a":{"%s":{"value":%s}}}}}' % (name, values)

    for one in [
        "{}", '{"features":{}}', '{"features":null}', '{"features":{"feature":{"c":{}}}}',
        lists("floatList", '[1,2.5,"NaN","-Infinity","7",-3e2]'), lists("int64List", '["3",4,1e3,-5]'),
        lists("bytesList", '["eHk=","-_8","+/8=",""]'), lists("float_list", "[1]"), lists("int64List", "[]"),
        lists("floatList", '["x"]'), lists("int64List", "[1.5]"), lists("int64List", "[99999999999999999999]"),
        lists("bytesList", '["!"]'), lists("bytesList", "[1]"), lists("other", "[1]"), lists("floatList", "1"),
        "[]", '{"x":1}', "{bad", "", '{"features":{"feature":{"a":{"floatList":{"value":[1]}}}}} ',
        ' { "features" : { "feature" : { "k\\u00e9" : { "int64List" : { "value" : [ 1 , 2 ] } } } } } ',
    ]:
        yield Case(op, [texts(one)])
    yield Case(op, [texts("{}", "{}").reshape(2, 1)])
