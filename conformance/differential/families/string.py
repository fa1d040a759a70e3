"""Strings."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, generates


def texts(*values):
    """An array of byte strings."""
    array = np.empty(len(values), dtype=object)
    array[:] = [value if isinstance(value, bytes) else value.encode() for value in values]
    return array


def text(value):
    return np.asarray(value if isinstance(value, bytes) else value.encode(), dtype=object)


# Valid and broken UTF-8: lone trailing bytes, cut characters, surrogates, overlong forms, marks.
UNICODE = texts(
    "a\u00e9\u4e2d\U0001f600", b"a\xffb\xe2\x82c\xf0\x9f\x98\x80\x01", b"", b"\xed\xa0\x80x",
    b"\xc0\x80", b"\xf0\x9f\x98", b"\xe2\x82", b"\xf8\x88\x80\x80\x80", b"\x80\x80a",
    b"\xef\xbb\xbfa", b"tab\tline\n\x7f\xc2\x80",
)


@generates("StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong")
def hash_bucket(op, draw):
    keys = {"key": [draw.integer(0, 2**40), -7]} if op.endswith("Strong") else {}
    for length in [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 32, 33, 48, 63, 64, 65, 127, 128, 129, 200]:
        some = texts(*(draw.random.bytes(length) for _ in range(4)))
        yield Case(op, [some], {"num_buckets": 2**62, **keys})
    yield Case(op, [draw.strings((2, 3))], {"num_buckets": 7, **keys})
    yield Case(op, [draw.strings((0,))], {"num_buckets": 1, **keys})


@generates("Fingerprint")
def fingerprint(op, draw):
    method = text("farmhash64")
    for dtype in [tf.float32, tf.uint8, tf.int64, tf.bool, tf.complex128]:
        for shape in [(3,), (2, 5), (4, 0), (0, 3), (2, 3, 4)]:
            yield Case(op, [draw.array(dtype, shape), method])
    for shape in [(3,), (2, 2), (1, 3), (0,)]:
        yield Case(op, [draw.strings(shape), method])
    yield Case(op, [np.float32(1), method])
    yield Case(op, [np.float32([1]), text("farm")])
    yield Case(op, [np.float32([1]), texts("farmhash64")])


@generates("ReduceJoin")
def reduce_join(op, draw):
    for shape in [(), (3,), (2, 3), (2, 3, 2), (2, 0), (0, 2)]:
        for _ in range(3):
            axes = draw.permutation(len(shape))[: draw.integer(0, len(shape))]
            axes = [axis - len(shape) if draw.chance() else axis for axis in axes]
            attrs = {"keep_dims": draw.chance(), "separator": draw.choice(["", "-", ", "])}
            yield Case(op, [draw.strings(shape), np.int32(axes)], attrs)
    some = draw.strings((2, 2))
    for axes in [[2], [-3], [0, 0], [0, -2], [[0]], 1]:
        yield Case(op, [some, np.int32(axes)])


@generates("StringJoin")
def join(op, draw):
    for count in range(1, 4):
        shape = draw.shape()
        parts = [draw.strings(shape if draw.chance(0.7) else ()) for _ in range(count)]
        yield Case(op, [parts], {"separator": draw.choice(["", "+"])})
    yield Case(op, [[draw.strings((2,)), draw.strings((3,))]])
    yield Case(op, [[draw.strings((1,)), draw.strings((2,))]])


@generates("StringSplit")
def split(op, draw):
    for delimiter in [" ", ",", " ,", "", "ab"]:
        for skip_empty in (True, False):
            some = draw.strings((4,), alphabet=b"ab ,", longest=10)
            yield Case(op, [some, text(delimiter)], {"skip_empty": skip_empty})
    yield Case(op, [texts("", " ", ","), text(",")], {"skip_empty": False})
    yield Case(op, [draw.strings((0,)), text(" ")])
    yield Case(op, [draw.strings((1, 2)), text(" ")])
    yield Case(op, [draw.strings((2,)), texts(" ")])


@generates("StringSplitV2")
def split_v2(op, draw):
    spaces = texts(" a  b\t\nc ", "", " ", "a", "a ", " a b ", "a\x0bb\x0cc", "x y z w")
    for limit in [-1, 0, 1, 2, 3, 10, -5]:
        yield Case(op, [spaces, text("")], {"maxsplit": limit})
        for separator in [",", ",,", "ab"]:
            some = draw.strings((5,), alphabet=b"ab,", longest=10)
            yield Case(op, [some, text(separator)], {"maxsplit": limit})
    yield Case(op, [texts("a,,b,,c,", "", ","), text(",")], {"maxsplit": 2})
    yield Case(op, [draw.strings((0,)), text(" ")])
    yield Case(op, [draw.strings((1, 2)), text(" ")])
    yield Case(op, [draw.strings((2,)), texts(" ")])


@generates("Substr")
def substr(op, draw):
    for unit in ["BYTE", "UTF8_CHAR"]:
        kind = draw.choice([np.int32, np.int64])
        for pos, length in [(1, 3), (-3, 2), (5, 1), (6, 1), (-5, 9), (-6, 1), (0, -1), (0, 0)]:
            yield Case(op, [text("hello"), kind(pos), kind(length)], {"unit": unit})
        for pos, length in [(0, 2), (1, 1), (-1, 1), (-2, 5), (2, 2)]:
            yield Case(op, [UNICODE[:2], kind(pos), kind(length)], {"unit": unit})
        for one in UNICODE:
            yield Case(op, [text(one), kind(draw.integer(-1, 1)), kind(2)], {"unit": unit})
        for shape, other in [
            ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (3,)), ((3,), (2, 1)),
            ((1, 2, 2), (1, 2, 2)), ((1, 2, 2), (2,)), ((2,), (3,)), ((2, 2, 2), ()), ((0,), (0,)),
        ]:
            some = np.vectorize(lambda one: one + b"xyz", otypes=[object])(draw.strings(shape)) if shape != (0,) else draw.strings(shape)
            pos, length = draw.integers(other, 0, 3), draw.integers(other, 0, 4)
            yield Case(op, [some, pos.astype(kind), length.astype(kind)], {"unit": unit})
    yield Case(op, [draw.strings((2,)), np.int32([0, 0]), np.int32([1])])


@generates("AsString")
def as_string(op, draw):
    for dtype in draw.types(op, "T"):
        some = draw.array(dtype, (5,), special=dtype != tf.string and dtype != tf.bool)
        yield Case(op, [some])
        for width in (-1, 0, 9):
            yield Case(op, [some], {"width": width, "fill": draw.choice(["", " ", "+", "-", "0", "#"])})
        precise = {"precision": draw.integer(0, 4), "width": 8, "fill": draw.choice(["", "0", "#", "-"])}
        yield Case(op, [some], precise)
        yield Case(op, [some], {"scientific": True, **precise})
        yield Case(op, [some], {"shortest": True, **precise})
    for dtype in [tf.float32, tf.float64]:
        some = draw.array(dtype, (6,), -1e9, 1e9, special=True)
        some[0] = 1e-7
        for notation in [{}, {"scientific": True}, {"shortest": True}, {"scientific": True, "shortest": True}]:
            yield Case(op, [some], notation)
            yield Case(op, [some], {"precision": draw.integer(0, 12), **notation})
    yield Case(op, [np.int32(1)], {"fill": "x"})
    yield Case(op, [np.int32(1)], {"fill": "00"})
    yield Case(op, [np.int32(1)], {"precision": 2})


@generates("EncodeBase64")
def encode_base64(op, draw):
    for length in range(8):
        some = texts(*(draw.random.bytes(length) for _ in range(2)))
        yield Case(op, [some], {"pad": draw.chance()})


@generates("DecodeBase64")
def decode_base64(op, draw):
    for one in [
        "", "Zm9v", "Zg", "Zg==", "Zg=", "Z", "Zm9", "Zm9=", "_-_-", "+/+/", "Zm9v Zm9v", "Zh==",
        "Zm8=Zm8=", "====", "=", "Zm9vYmFy", "Z===",
    ]:
        yield Case(op, [text(one)])
    yield Case(op, [draw.strings((2, 3), alphabet=b"abcABC019-_", longest=3)])


@generates("StringLength")
def length(op, draw):
    for unit in ["BYTE", "UTF8_CHAR"]:
        yield Case(op, [UNICODE], {"unit": unit})
        yield Case(op, [draw.strings()], {"unit": unit})


@generates("StringLower", "StringUpper")
def case(op, draw):
    for encoding in ["", "utf-8"]:
        yield Case(op, [UNICODE], {"encoding": encoding})
        letters = texts("\u00c0B\u03a3 \u0130", "\u00e0\u00df\u0149", "AbC", "\ufb01\u01c5", "\u1f80\u03a3a")
        yield Case(op, [letters], {"encoding": encoding})
    yield Case(op, [draw.strings()], {"encoding": "latin"})


@generates("StringStrip")
def strip(op, draw):
    yield Case(op, [texts("\t a b\n\v\f\r ", "\u00a0x", "\x00 a", "", " ")])
    yield Case(op, [draw.strings((2, 3), alphabet=b" a\t", longest=6)])


@generates("StringToNumber")
def to_number(op, draw):
    written = [
        "1.5", " 1.5 ", "1e400", "-1e400", "inf", "-Infinity", "nan", "0x10", "1.5x", "", "1e-400",
        "1,2", "+5", "- 5", "99999999999", "-0", "1_0", "\t7\n", "0x1p3", "infinit", "NaN(1)", "5.",
        " .5", "1e", "3.4e38", "3.5e38", "1e-46", "0x1.8p1", "--5", "4294967295", "-2147483648",
        "9223372036854775807", "9223372036854775808", "0.1", "123456789.123456789", "\x0b8\x0c",
    ]
    for dtype in draw.types(op, "out_type"):
        for one in written:
            yield Case(op, [text(one)], {"out_type": dtype})
        numbers = texts(*(str(draw.integer(0, 1000)) for _ in range(6))).reshape(2, 3)
        yield Case(op, [numbers], {"out_type": dtype})


@generates("UnsortedSegmentJoin")
def segment_join(op, draw):
    for shape, rank in [((4,), 1), ((3, 2), 1), ((2, 3), 2), ((2, 2, 2), 2), ((0,), 1), ((2, 0), 1)]:
        kind, count = draw.choice([np.int32, np.int64]), draw.choice([np.int32, np.int64])(3)
        ids = draw.integers(shape[:rank], 0, 2).astype(kind)
        yield Case(op, [draw.strings(shape), ids, count], {"separator": draw.choice(["", ":"])})
    some = draw.strings((3,))
    for ids, count in [([0, -1, 0], 3), ([0, 3, 0], 3), ([0, 1], 3), ([0, 1, 2], -1), ([0, 1, 2], [3]), (0, 2)]:
        yield Case(op, [some, np.int32(ids), np.int32(count)])


@generates("StringNGrams")
def ngrams(op, draw):
    def one(splits=(0, 2, 4), data=texts("a", "b", "c", "d"), kind=np.int64, **attrs):
        full = {
            "separator": "|", "ngram_widths": [2], "left_pad": "L", "right_pad": "R",
            "pad_width": 0, "preserve_short_sequences": False, **attrs,
        }
        return Case(op, [data, kind(splits)], full)

    for pad in (-1, 0, 1, 5):
        for preserve in (False, True):
            widths = [draw.integer(1, 5) for _ in range(draw.integer(1, 3))]
            yield one(pad_width=pad, preserve_short_sequences=preserve, ngram_widths=widths)
            yield one((0, 0, 1, 4), kind=np.int32, pad_width=pad, preserve_short_sequences=preserve, ngram_widths=[3])
    for splits in [(0, 2, 5), (1, 4), (0, 3, 2, 4), (0, 3), ()]:
        yield one(splits)
    yield one((0, 0), data=draw.strings((0,)), pad_width=-1)
    yield one(ngram_widths=[0])
    yield one(left_pad="", separator="", pad_width=1)


# Encodings with tables, each with a text that it can write.
TABLES = {
    "Big5": "a\u8853\u4e2db", "EUC-JP": "a\u6280\u30b0\uff7ab", "EUC-KR": "a\ud55c\ubbfcb", "GB18030": "a\u672f\u00e9\U0001f600b",
    "GBK": "a\u672fb", "IBM866": "a\u043f", "ISO-2022-JP": "a\u6280\u30b0b", "ISO-8859-2": "a\u0159", "ISO-8859-5": "a\u043f",
    "ISO-8859-7": "a\u03b1", "ISO-8859-15": "a\u20ac", "KOI8-R": "a\u043f", "KOI8-U": "\u0457", "Shift_JIS": "a\u6280\u30b0\uff76b",
    "windows-1250": "a\u0159", "windows-1251": "a\u043f", "windows-1252": "a\u20ac", "windows-1253": "\u03b1",
    "windows-1254": "\u011f", "windows-1256": "\u0628", "windows-1257": "\u0173", "windows-1258": "\u01b0", "sjis": "\u6280",
    "SHIFT-JIS": "\u6280", "cp1252": "\u20ac",
}


@generates("UnicodeDecode", "UnicodeDecodeWithOffsets")
def unicode_decode(op, draw):
    for encoding, content in TABLES.items():
        yield Case(op, [texts(content.encode(encoding), b"ab", b"")], {"input_encoding": encoding})
    for encoding in ["windows-1252", "KOI8-R", "ISO-8859-2", "ISO-8859-5", "IBM866"]:
        yield Case(op, [text(bytes(range(256)))], {"input_encoding": encoding, "errors": draw.choice(["replace", "ignore"])})
    for errors in ["replace", "ignore", "strict"]:
        broken = texts(b"\x83", b"a\x83", b"\x81\x20b")
        yield Case(op, [broken], {"input_encoding": "Shift_JIS", "errors": errors, "replacement_char": 63})
    for errors in ["replace", "ignore", "strict"]:
        for control in (False, True):
            attrs = {"input_encoding": "UTF-8", "errors": errors, "replace_control_characters": control}
            yield Case(op, [UNICODE], attrs)
        yield Case(op, [UNICODE[:1]], {"input_encoding": "utf8", "errors": errors})
    wide = texts(b"\x00a\xd8\x3d\xde\x00\x00", b"\xd8\x3d", b"\xde\x00\x00a", b"\xfe\xff\x00a", b"\xff\xfea\x00", b"\x00\x00\x00a\x00\x11\x00\x00\x00\x00\xd8\x00")
    for encoding in ["UTF-16", "UTF-16-BE", "UTF-16-LE", "UTF-32", "UTF-32-BE", "UTF-32-LE", "US-ASCII", "ISO-8859-1", "latin1"]:
        for one in wide:
            yield Case(op, [text(one)], {"input_encoding": encoding, "replacement_char": 63})
    yield Case(op, [wide], {"input_encoding": "no such"})
    yield Case(op, [wide], {"input_encoding": "UTF-8", "replacement_char": 0x110000})


@generates("UnicodeEncode")
def unicode_encode(op, draw):
    codes = np.int32([97, 0x1F600, 0xE9, 0xD800, 0x110000, -1, 98, 0xFFFE, 0x4E2D])
    for encoding in ["UTF-8", "UTF-16-BE", "UTF-32-BE"]:
        for errors in ["replace", "ignore", "strict"]:
            attrs = {"output_encoding": encoding, "errors": errors, "replacement_char": 63}
            yield Case(op, [codes, np.int64([0, 1, 3, 3, 9])], attrs)
            yield Case(op, [codes[:3], np.int32([0, 2, 3])], attrs)
    for splits in [[0, 2], [1], [], [0, 1], [0, 4, 3, 9]]:
        yield Case(op, [codes, np.int64(splits)], {"output_encoding": "UTF-8"})
    yield Case(op, [codes.reshape(3, 3), np.int64([0, 9])], {"output_encoding": "UTF-8"})
    yield Case(op, [codes, np.int64([0, 9])], {"output_encoding": "UTF-8", "replacement_char": -1})


@generates("UnicodeTranscode")
def unicode_transcode(op, draw):
    for encoding in ["UTF-8", "UTF-16-BE", "UTF-32-BE"]:
        for errors in ["replace", "ignore", "strict"]:
            attrs = {"input_encoding": "UTF-8", "output_encoding": encoding, "errors": errors}
            yield Case(op, [UNICODE], attrs)
            yield Case(op, [UNICODE[:1]], {**attrs, "replace_control_characters": True})
    for encoding, content in TABLES.items():
        attrs = {"input_encoding": encoding, "output_encoding": draw.choice(["UTF-8", "UTF-16-BE", "UTF-32-BE"])}
        yield Case(op, [texts(content.encode(encoding))], attrs)
    for encoding in ["UTF-16", "UTF-16-LE", "UTF-32-BE", "US-ASCII", "ISO-8859-1", "none"]:
        yield Case(op, [UNICODE], {"input_encoding": encoding, "output_encoding": "UTF-8", "replacement_char": 32})


@generates("UnicodeScript")
def unicode_script(op, draw):
    yield Case(op, [np.int32([97, 0x3B1, 0x1F600, -1, 0x110000, 0xD800, 0x4E00, 0, 0x10FFFF, 0x378])])
    yield Case(op, [draw.integers((8, 8), 0, 0x10FFFF)])
    yield Case(op, [draw.integers((8, 8), 0, 0x3000)])


# What RE2 refuses.
WRONG_PATTERNS = [
    "(", ")", "a**", "a{2}{3}", "a???", "x{1001}", "x{2,1}", "(x{100}){100}", "*a", "a|+", "(?i", "(?<n>a)",
    "(?P<a b>x)", "(?-)", "(?=a)", "(?x)a", "[a", "[b-a]", "[[:foo:]]", "[a-\\d]", "[\\p", "[\\b]", "\\", "(a)\\1",
    "\\x4", "\\x{110000}", "\\q", "\\Z", "\\E", "\\u0041", "\\p", "\\pX", "\\p{Foo", "\\p{Cn}", "\\p{greek}",
    "(?P<n", "\\x{", "[\\pL]{1000}",
]

# What RE2 reads in ways of its own.
OWN_PATTERNS = [
    "\\d", "\\W", "\\s+", "\\b", "\\B", "\\C", "\\pN", "\\p{^Latin}", "\\pC", "[[:^alpha:]]", "[[:word:]-a]", "[]a]",
    "[a&&b]", "[[a]]", "[a--]", "\\Qa.*\\E", "\\012", "\\x{e9}", "(?i)\u212a", "(?i)[k-s]", "(?U)a+", "a{,2}", "a{01}",
    "x{", "^*", "a*(?i)*", "a*\\Q\\E*", "(?P<n>a)(?P<n>b)", "(|a)*", "(a|b|)+", ".", "(?s).", "(?m)^", "$", "\\A|\\z",
]

OWN_TEXTS = texts(
    "", "a", "aab", "a.*", "ab \t\n\v", "\u00e9\u4e2d\u0663", "kK\u212a", "a\nb", b"\xff\xffa", b"\xc3", "x{a{,2}", "[]&-",
)


@generates("RegexFullMatch", "StaticRegexFullMatch")
def full_match(op, draw):
    patterns = ["a.*", "a|ab", "", "[0-9]+", "a$", "\\d\\w", "(?i)ABC.*", "a{2}"]
    for pattern in patterns + OWN_PATTERNS + WRONG_PATTERNS:
        some = OWN_TEXTS if pattern in OWN_PATTERNS else draw.strings((6,), alphabet=b"ab01", longest=3)
        if op.startswith("Static"):
            yield Case(op, [some], {"pattern": pattern})
        else:
            yield Case(op, [some, text(pattern)])


@generates("RegexReplace", "StaticRegexReplace")
def replace(op, draw):
    for pattern, rewrite in [
        ("a", "x"), ("(a)(b)?", r"<\2\1>"), ("", "-"), ("b*", "."), ("[0-9]+", r"\0\0"), ("(", "x"),
        ("^a", "A"), ("b$", "B"), ("a|b", r"\\"), ("a", r"\9"), ("(a)", r"\2"), ("a", r"x\y\0"), ("a", "x\\"),
        *((pattern, r"<\0>") for pattern in OWN_PATTERNS), *((pattern, "") for pattern in WRONG_PATTERNS[::4]),
    ]:
        for everywhere in (True, False):
            own = pattern in OWN_PATTERNS
            some = OWN_TEXTS if own else draw.strings((5,), alphabet=b"ab01", longest=6)
            if op.startswith("Static"):
                attrs = {"pattern": pattern, "rewrite": rewrite, "replace_global": everywhere}
                yield Case(op, [some], attrs)
            else:
                yield Case(op, [some, text(pattern), text(rewrite)], {"replace_global": everywhere})


@generates("SdcaFprint")
def example_name(op, draw):
    for length in [0, 1, 3, 4, 7, 8, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 100, 143, 144, 145, 160, 176, 300, 400]:
        yield Case(op, [texts(*(draw.random.bytes(length) for _ in range(2)))])
    yield Case(op, [texts()])
    yield Case(op, [text("a")])
