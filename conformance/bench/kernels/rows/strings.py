"""Texts and the numbers in them."""

import tensorflow as tf

from conformance.bench.kernels.row import SIZES, add, real, texts, whole

raw = tf.raw_ops

COUNTS = {"small": 100, "cache": 10_000, "memory": 200_000}


def _words(n):
    return texts(n, lambda i: f"Word number {i * 7919 % n} of Some text".encode())


def _numbers(n):
    return texts(n, lambda i: f"{i * 7919 % 100_003 / 997:.4f}".encode())


CASES = [
    ("StringUpper", _words, lambda x: raw.StringUpper(input=x)),
    ("StringLower", _words, lambda x: raw.StringLower(input=x)),
    ("StringLength", _words, lambda x: raw.StringLength(input=x)),
    ("StringStrip", _words, lambda x: raw.StringStrip(input=x)),
    ("Substr", _words, lambda x: raw.Substr(input=x, pos=3, len=7)),
    ("StringJoin", _words, lambda x: raw.StringJoin(inputs=[x, x], separator=" ")),
    ("ReduceJoin", _words, lambda x: raw.ReduceJoin(inputs=x, reduction_indices=[0])),
    ("StringSplitV2", _words, lambda x: raw.StringSplitV2(input=x, sep=" ")),
    ("RegexReplace", _words, lambda x: raw.RegexReplace(input=x, pattern="[0-9]+", rewrite="<n>")),
    ("RegexFullMatch", _words, lambda x: raw.RegexFullMatch(input=x, pattern=".*9 of.*")),
    ("StringToHashBucketFast", _words, lambda x: raw.StringToHashBucketFast(input=x, num_buckets=1000)),
    ("StringToHashBucketStrong", _words, lambda x: raw.StringToHashBucketStrong(input=x, num_buckets=1000, key=[1, 2])),
    ("StringToNumber", _numbers, lambda x: raw.StringToNumber(string_tensor=x)),
    ("EncodeBase64", _words, lambda x: raw.EncodeBase64(input=x)),
]
for size in SIZES:
    count = COUNTS[size]
    for name, make, compute in CASES:
        add(name, size, name, lambda make=make, count=count: [make(count)], compute)
    add("AsString int32", size, "AsString", lambda count=count: [whole(count, 0, 10**6)], lambda x: raw.AsString(input=x))
    add("AsString float32", size, "AsString", lambda count=count: [real(count)], lambda x: raw.AsString(input=x))
