"""Sound: files of samples, spectrograms, and what is heard of them."""

import struct

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

SUMS = Tolerance(ulps=64, atol=1e-4, reason="sums are in another order")


def _wav(channels, rate, samples, kind=1, bits=16, extra=b"", head=16):
    data = struct.pack(f"<{len(samples)}h", *samples)
    width = channels * bits // 8
    form = struct.pack("<IHHIIHH", head, kind, channels, rate, rate * width, width, bits) + b"\0" * (head - 16)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + form + extra + b"data" + struct.pack("<I", len(data)) + data


def _contents(file):
    return np.array(file, dtype=object)


@generates("DecodeWav")
def decode_wav(op, draw):
    for channels in (1, 2, 3):
        samples = [int(v) for v in draw.random.integers(-32768, 32768, channels * 5)]
        for attrs in ({}, {"desired_channels": 1}, {"desired_channels": 3}, {"desired_samples": 2}, {"desired_samples": 8}):
            yield Case(op, [_contents(_wav(channels, 16000, samples))], attrs)
    some = [1, -2, 3, 4]
    chunk = b"LIST" + struct.pack("<I", 4) + b"text"
    for file in (
        _wav(1, 8000, some, extra=chunk), _wav(1, 8000, some, head=18), _wav(1, 8000, some, head=20), _wav(1, 8000, []),
        b"nothing", b"", _wav(1, 8000, some, kind=3), _wav(1, 8000, some, bits=8), _wav(1, 8000, some)[:-3],
        _wav(1, 8000, some)[:36], _wav(0, 8000, some), b"RIFX" + _wav(1, 8000, some)[4:],
    ):
        yield Case(op, [_contents(file)])
    yield Case(op, [np.array([_wav(1, 8000, some)], object)])


@generates("EncodeWav")
def encode_wav(op, draw):
    for shape in ((5, 1), (3, 2), (0, 1), (4, 3)):
        yield Case(op, [draw.array(tf.float32, shape, -1.2, 1.2), np.int32(draw.choice([8000, 44100]))])
    audio = draw.array(tf.float32, (3, 1))
    for value, rate in ((audio[0], np.int32(8000)), (audio, np.array([8000], np.int32)), (audio, np.int32(0)), (audio, np.int32(-1))):
        yield Case(op, [value, rate])


@generates("AudioSpectrogram", tolerance=SUMS)
def spectrogram(op, draw):
    for samples, channels, window, stride in ((40, 1, 16, 8), (40, 1, 10, 7), (30, 2, 8, 3), (12, 1, 12, 5), (5, 1, 8, 2), (64, 1, 2, 9)):
        for squared in (False, True):
            sound = draw.array(tf.float32, (samples, channels), -1, 1)
            yield Case(op, [sound], {"window_size": window, "stride": stride, "magnitude_squared": squared})
    sound = draw.array(tf.float32, (20, 1), -1, 1)
    yield Case(op, [sound[:, 0]], {"window_size": 8, "stride": 4})


@generates("Mfcc", tolerance=SUMS)
def mfcc(op, draw):
    for bins, rate, attrs in (
        (9, 1000, {"upper_frequency_limit": 450, "filterbank_channel_count": 6, "dct_coefficient_count": 4}),
        (17, 8000, {"upper_frequency_limit": 3500, "lower_frequency_limit": 100, "filterbank_channel_count": 8, "dct_coefficient_count": 8}),
        (33, 16000, {}), (33, 16000, {"filterbank_channel_count": 20}), (9, 1000, {}),
    ):
        power = draw.array(tf.float32, (1, 2 if bins < 30 else 1, bins), 0, 2)
        yield Case(op, [power, np.int32(rate)], attrs)
    power = draw.array(tf.float32, (1, 2, 9), 0, 2)
    yield Case(op, [power[0], np.int32(8000)])
    yield Case(op, [power, np.array([8000], np.int32)])
    yield Case(op, [power, np.int32(0)])
    yield Case(op, [power, np.int32(16000)], {"filterbank_channel_count": 3})
    yield Case(op, [power, np.int32(16000)], {"upper_frequency_limit": 10})
