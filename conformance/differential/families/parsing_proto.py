"""Fields of messages that a descriptor describes."""

import numpy as np
import tensorflow as tf
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from conformance.differential.cases import Case, generates
from conformance.differential.families.parsing import texts

FIELDS = [
    ("d", "double", "double"), ("f", "float", "float"), ("i64", "int64", "int64"), ("u64", "uint64", "uint64"),
    ("i32", "int32", "int32"), ("x64", "fixed64", "uint64"), ("x32", "fixed32", "uint32"), ("b", "bool", "bool"),
    ("s", "string", "string"), ("m", "message", "string"), ("y", "bytes", "string"), ("u32", "uint32", "uint32"),
    ("e", "enum", "int32"), ("sx32", "sfixed32", "int32"), ("sx64", "sfixed64", "int64"), ("s32", "sint32", "int32"),
    ("s64", "sint64", "int64"),
]
WIDER = {"float": "double", "int32": "int64", "uint32": "uint64"}
DEFAULTS = {"d": "1.5", "i32": "-7", "u32": "300", "s": "none", "y": r"a\000b", "s64": "-9", "b": "true", "e": "THREE"}


def _descriptors():
    """The descriptors of a message with fields of every type: optional, repeated and packed."""
    files = descriptor_pb2.FileDescriptorSet()
    file = files.file.add(name="fields.proto", package="p")
    message = file.message_type.add(name="M")
    for index, (name, kind, _) in enumerate(FIELDS):
        for offset, form in [(1, ""), (100, "_list"), (200, "_packed")]:
            if form == "_packed" and kind in ("string", "message", "bytes"):
                continue
            field = message.field.add(name=name + form, number=offset + index)
            field.type = getattr(field, f"TYPE_{kind.upper()}")
            field.label = field.LABEL_REPEATED if form else field.LABEL_OPTIONAL
            if form == "_packed":
                field.options.packed = True
            elif not form and name in DEFAULTS:
                field.default_value = DEFAULTS[name]
            if kind in ("message", "enum"):
                field.type_name = ".p.M" if kind == "message" else ".p.E"
    group = message.field.add(name="g", number=50, type_name=".p.M.G", label=1, type=10)
    message.nested_type.add(name="G").field.add(name="x", number=1, label=1, type=5)
    message.extension_range.add(start=1000, end=2000)
    file.extension.add(name="ext", number=1000, label=1, type=5, extendee=".p.M")
    file.message_type.add(name="Strict").field.add(name="r", number=1, label=2, type=5)
    names = file.enum_type.add(name="E")
    names.value.add(name="THREE", number=3)
    names.value.add(name="FIVE", number=5)
    assert group.type == group.TYPE_GROUP
    return files


DESCRIPTORS = _descriptors()
SOURCE = b"bytes://" + DESCRIPTORS.SerializeToString()


def _message(draw):
    pool = descriptor_pool.DescriptorPool()
    pool.Add(DESCRIPTORS.file[0])
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName("p.M"))()
    for field in message.DESCRIPTOR.fields:
        repeated = field.name.endswith(("_list", "_packed"))
        kind = field.name.removesuffix("_list").removesuffix("_packed")
        dtype = dict((name, dtype) for name, _, dtype in FIELDS).get(kind)
        if draw.chance(0.3) or dtype is None:
            continue
        if kind == "m":
            children = [message.m_list.add()] if repeated else [message.m]
            for child in children:
                child.i32 = draw.integer(-9, 9)
            continue
        count = draw.integer(0, 3) if repeated else 1
        if kind in ("s", "y"):
            values = list(draw.strings((count,)))
            values = [value.decode() for value in values] if kind == "s" else values
        elif kind == "e":
            values = [draw.choice([3, 5]) for _ in range(count)]
        else:
            values = draw.array(tf.as_dtype(dtype), (count,), special=dtype not in ("float", "double")).tolist()
        if repeated:
            getattr(message, field.name).extend(values)
        else:
            setattr(message, field.name, values[0])
    return message


BROKEN = [
    b"\x09\x01", b"\x0a\x08" + bytes(8), b"\xd2\x0c\x02\x80\x80", b"\xd2\x0c\x05\x01", b"\x12\x03abc", b"\x4a\x05ab",
    b"\x28" + b"\xff" * 9 + b"\x01", b"\x28" + b"\xff" * 11, b"\x00", b"\x93\x03\x08\x01\x94\x03", b"\x93\x03\x08",
    b"\x4c", b"\xff", b"\x0a\x00", b"\x07", b"\x40\x05", b"\xf8\x7f\x01", b"\xf8\x7f", b"\x92\x03\x01\x00",
    b"\x4a\x80\x80\x80\x80\x80\x01", b"\x09" + bytes(8) + b"\x0a\x08" + bytes(8), b"\x40",
]


@generates("DecodeProtoV2")
def decode_proto(op, draw):
    def case(messages, names, dtypes, kind="p.M", source=SOURCE, **attrs):
        attrs = {"field_names": names, "output_types": dtypes, "message_type": kind, "descriptor_source": source, **attrs}
        return Case(op, [messages], attrs)

    names = [name for name, _, _ in FIELDS]
    forms = [names, [f"{name}_list" for name in names]]
    packed = [name for name, kind, _ in FIELDS if kind not in ("string", "message", "bytes")]
    dtypes = {name: tf.as_dtype(dtype) for name, _, dtype in FIELDS}
    for form in forms + [[f"{name}_packed" for name in packed]]:
        for wider in (False, True):
            own = [dtypes[name.removesuffix("_list").removesuffix("_packed")] for name in form]
            for index, (name, kind, dtype) in enumerate(FIELDS[: len(form)] if wider else []):
                if len(form) == len(FIELDS) and kind != "enum":
                    own[index] = tf.as_dtype(WIDER.get(dtype, dtype))
            messages = [_message(draw) for _ in range(3)]
            binary = texts(*(message.SerializeToString() for message in messages))
            yield case(binary, form, own)
            yield case(binary.reshape(3, 1), form, own, sanitize=True)
            written = texts(*(text_format.MessageToString(message).encode() for message in messages))
            yield case(written, form, own, message_format="text")
            yield case(texts(b"", binary[0], binary[1] + binary[2]), form, own)
    asked = (["i32", "g", "d", "s", "i32_packed", "b"], [tf.int32, tf.string, tf.double, tf.string, tf.int32, tf.bool])
    for broken in BROKEN:
        yield case(texts(broken), *asked)
    yield case(texts(BROKEN[0]), *asked, sanitize=True)
    yield case(texts(b""), ["r"], [tf.int32], kind="p.Strict", sanitize=True)
    yield case(texts(b"r: 1"), ["r"], [tf.int32], kind="p.Strict", message_format="text")
    yield case(texts(b"zzz"), ["r"], [tf.int32], kind="p.Strict", message_format="text")
    yield case(texts(b"\xc0\x3e\x05"), ["p.ext"], [tf.int32])
    yield case(texts(b"\x08\x05"), ["x"], [tf.int32], kind="p.M.G")
    yield case(texts(), ["d"], [tf.double])
    yield case(texts(b""), [], [])
    yield case(texts(b"\x09" + bytes(8)), ["d", "d"], [tf.double] * 2)
    yield case(texts(b""), ["zz"], [tf.double])
    yield case(texts(b""), ["d"], [tf.float32])
    yield case(texts(b""), ["e"], [tf.int64])
    yield case(texts(b""), ["d"], [tf.double], kind="p.Q")
    yield case(texts(b""), ["d"], [tf.double], message_format="json")
    yield case(texts(b""), ["features"], [tf.string], kind="tensorflow.Example", source="local://")
    for source in ["", "local://", "/nowhere", "bytes://abc"]:
        yield case(texts(b""), ["d"], [tf.double], source=source)


@generates("EncodeProto")
def encode_proto(op, draw):
    def case(sizes, values, names, kind="p.M"):
        attrs = {"field_names": names, "message_type": kind, "descriptor_source": SOURCE}
        return Case(op, [np.int32(sizes), values], attrs)

    for form in ["", "_list", "_packed"]:
        for wider in (False, True):
            fields = [field for field in FIELDS if form != "_packed" or field[1] not in ("string", "message", "bytes")]
            fields = [fields[index] for index in draw.permutation(len(fields))]
            values = []
            for _, kind, dtype in fields:
                dtype = WIDER.get(dtype, dtype) if wider and kind != "enum" else dtype
                special = dtype not in ("float", "double")
                shape = (2, 3)
                value = draw.strings(shape) if dtype == "string" else draw.array(tf.as_dtype(dtype), shape, special=special)
                values.append(value)
            sizes = draw.integers((2, len(fields)), 0, 3 if form else 1)
            yield case(sizes, values, [name + form for name, _, _ in fields])
    one = np.float64([[1.5]])
    yield case([[1]], [np.array([[b"\x08\x04"]], dtype=object)], ["g"])
    yield case([[1], [0]], [np.array([[b"\xff"], [b""]], dtype=object)], ["s"])
    yield case([[3]], [np.float64([[1, 2, 3]])], ["d"])
    yield case([[[1], [1]]], [np.float64([[[1], [2]]])], ["d"])
    yield case([[-1]], [one], ["d"])
    yield case(np.zeros((0, 1)), [np.zeros((0, 1))], ["d"])
    yield case([[2]], [one], ["d"])
    yield case([1], [one], ["d"])
    yield case([1], [one[0]], ["d"])
    yield case([[1]], [np.float32(one)], ["d"])
    yield case([[1]], [one], ["d", "f"])
    yield case([[1, 1]], [one, np.float32([[1], [2]])], ["d", "f"])
    yield case([[1]], [one], ["zz"])
    yield case([[1]], [one], ["d"], kind="p.Q")
