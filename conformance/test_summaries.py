"""Summary writers: event files that TensorBoard reads."""

import glob

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1


def events(directory):
    """The events of the only file in a directory."""
    (path,) = glob.glob(f"{directory}/events.out.tfevents.*")
    return list(v1.train.summary_iterator(path))


def writer(directory, name="writer", max_queue=10, suffix=".v2"):
    """A writer's handle, and the op that makes its file."""
    handle = tf.raw_ops.SummaryWriter(shared_name=name, container="")
    create = tf.raw_ops.CreateSummaryFileWriter(
        writer=handle, logdir=str(directory), max_queue=max_queue, flush_millis=1_000_000,
        filename_suffix=suffix,
    )
    return handle, create


def test_every_kind_of_summary(target, tmp_path):
    directory = tmp_path / "deep" / "logs"
    handle, create = writer(directory)
    raw = v1.Summary(value=[v1.Summary.Value(tag="raw", simple_value=2)])
    graph = tf.Graph().as_graph_def().SerializeToString()
    event = v1.Event(step=8, wall_time=5, summary=raw)
    metadata = v1.SummaryMetadata(display_name="shown").SerializeToString()
    ops = tf.raw_ops
    writes = [
        ops.WriteScalarSummary(writer=handle, step=1, tag="scalar", value=1.5),
        ops.WriteSummary(writer=handle, step=2, tensor=[1.0, 2.0], tag="tensor", summary_metadata=b""),
        ops.WriteSummary(writer=handle, step=3, tensor=["s"], tag="text", summary_metadata=metadata),
        ops.WriteHistogramSummary(writer=handle, step=4, tag="histogram", values=[1.0, 2.0, 2.0]),
        ops.WriteImageSummary(
            writer=handle, step=5, tag="image", tensor=np.zeros([2, 1, 1, 3], np.uint8),
            bad_color=np.uint8([255, 0, 0, 255]), max_images=2,
        ),
        ops.WriteAudioSummary(
            writer=handle, step=6, tag="audio", tensor=np.zeros([1, 4], np.float32),
            sample_rate=8000.0, max_outputs=1,
        ),
        ops.WriteRawProtoSummary(writer=handle, step=7, tensor=raw.SerializeToString()),
        ops.ImportEvent(writer=handle, event=event.SerializeToString()),
        ops.WriteGraphSummary(writer=handle, step=9, tensor=graph),
    ]
    close = ops.CloseSummaryWriter(writer=handle)
    with v1.Session(target) as session:
        session.run(create)
        for write in writes:
            session.run(write)
        session.run(close)
        with pytest.raises(tf.errors.NotFoundError, match="SummaryWriterInterface"):
            session.run(writes[0])
    first, *rest = events(directory)
    assert first.file_version == "brain.Event:2"
    assert [event.step for event in rest] == list(range(1, 10))
    values = [list(event.summary.value) for event in rest]
    assert [value.tag for found in values for value in found] == [
        "scalar", "tensor", "text", "histogram", "image/image/0", "image/image/1", "audio/audio",
        "raw", "raw",
    ]
    assert values[0][0].simple_value == 1.5
    assert tf.make_ndarray(values[1][0].tensor).tolist() == [1, 2]
    assert not values[1][0].HasField("metadata")
    assert values[2][0].metadata.display_name == "shown"
    assert tf.make_ndarray(values[2][0].tensor).tolist() == [b"s"]
    assert values[3][0].histo.num == 3 and values[3][0].histo.max == 2
    assert values[4][0].image.encoded_image_string[1:4] == b"PNG"
    assert values[5][0].audio.encoded_audio_string[:4] == b"RIFF"
    assert rest[7].wall_time == 5
    assert rest[8].graph_def == graph


def test_events_are_seen_after_a_flush(target, tmp_path):
    handle, create = writer(tmp_path, max_queue=100)
    write = tf.raw_ops.WriteScalarSummary(writer=handle, step=1, tag="a", value=np.int32(3))
    flush = tf.raw_ops.FlushSummaryWriter(writer=handle)
    with v1.Session(target) as session:
        session.run(create)
        session.run(write)
        session.run(flush)
        assert [len(event.summary.value) for event in events(tmp_path)] == [0, 1]
        # Making it again changes nothing.
        session.run(create)
        session.run(write)
        session.run(tf.raw_ops.CloseSummaryWriter(writer=handle))
    assert [len(event.summary.value) for event in events(tmp_path)] == [0, 1, 1]


def test_bad_messages(target, tmp_path):
    handle, create = writer(tmp_path)
    ops = tf.raw_ops
    wrong = [
        (tf.errors.DataLossError, "Bad tf.Event", ops.ImportEvent(writer=handle, event=b"\xff")),
        (tf.errors.DataLossError, "Bad tf.compat.v1.Summary binary proto tensor string at index 0",
         ops.WriteRawProtoSummary(writer=handle, step=1, tensor=b"\xff")),
        (tf.errors.DataLossError, "Bad tf.GraphDef", ops.WriteGraphSummary(writer=handle, step=1, tensor=b"\xff")),
        (tf.errors.InvalidArgumentError, "Nan in summary histogram for: h",
         ops.WriteHistogramSummary(writer=handle, step=1, tag="h", values=[float("nan")])),
    ]
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.NotFoundError):
            session.run(wrong[0][2])
        session.run(create)
        for error, words, op in wrong:
            with pytest.raises(error, match=words):
                session.run(op)


def test_the_summary_api_of_tensorflow_2(target, tmp_path):
    with tf.Graph().as_default():
        step = v1.placeholder(tf.int64, [])
        value = v1.placeholder(tf.float32, [])
        to = tf.summary.create_file_writer(str(tmp_path))
        with to.as_default():
            tf.summary.write("loss", value, step=step)
            tf.summary.write("words", ["hello"], step=step)
        write = v1.summary.all_v2_summary_ops()
        with v1.Session(target) as session:
            session.run(to.init())
            for i in range(3):
                session.run(write, {step: i, value: i / 2})
            session.run(to.close())
    _, *rest = events(tmp_path)
    values = [(event.step, value) for event in rest for value in event.summary.value]
    losses = {step: tf.make_ndarray(v.tensor).item() for step, v in values if v.tag == "loss"}
    assert losses == {0: 0.0, 1: 0.5, 2: 1.0}
    assert {value.tag for _, value in values} == {"loss", "words"}


def test_a_debugger_reads_tensors_from_files(target, tmp_path):
    device = "/job:localhost/replica:0/task:0/cpu:0"
    watched = tf.constant([[1.0, np.nan, 3.0]])
    attrs = {"device_name": device, "tensor_name": "scope/node:0", "debug_urls": [f"file://{tmp_path}"]}
    passed = tf.raw_ops.DebugIdentity(input=watched, **attrs)
    broken = tf.raw_ops.DebugNanCount(input=watched, **attrs)
    healthy = tf.raw_ops.DebugNumericSummary(input=tf.ones([2]), mute_if_healthy=True, **attrs)
    with v1.Session(target) as session:
        value, count, _ = session.run([passed, broken, healthy])
    np.testing.assert_array_equal(value, [[1, np.nan, 3]])
    assert count == [1]
    folder = tmp_path / "_tfdbg_device_,job_localhost,replica_0,task_0,cpu_0" / "scope"
    files = {path.name.rsplit("_", 1)[0]: path for path in folder.iterdir()}
    assert sorted(files) == ["node_0_DebugIdentity", "node_0_DebugNanCount"]
    event = v1.Event.FromString(files["node_0_DebugIdentity"].read_bytes())
    (shown,) = event.summary.value
    assert (shown.tag, shown.node_name) == ("scope/node", "scope/node:0:DebugIdentity")
    np.testing.assert_array_equal(tf.make_ndarray(shown.tensor), value)
    plugin = shown.metadata.plugin_data
    assert plugin.plugin_name == "debugger"
    assert plugin.content == b'{"device":"%s","outputSlot":0,"numChunks":1,"chunkIndex":0}' % device.encode()
