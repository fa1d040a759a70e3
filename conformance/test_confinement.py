"""A server whose clients may use the files of one directory, and attackers who want others.

`serve --fs-root` is ours, so are the tests.
"""

import contextlib
import os
import sqlite3

import pytest
import tensorflow as tf

from conformance.rig.fleet import Fleet, Process

v1 = tf.compat.v1
pytestmark = pytest.mark.ours("TensorFlow's server lets everybody use all files")

SECRET = "nobody reads this"


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A room for clients with links that lead out of it, and a server; a secret is beside the room."""
    directory = tmp_path_factory.mktemp("scene")
    room = directory / "room"
    room.mkdir()
    (room / "open.txt").write_text("open\n")
    (directory / "secret").write_text(SECRET)
    (directory / "beside").mkdir()
    (room / "link").symlink_to(directory / "secret")
    (room / "up").symlink_to("..")
    (room / "root").symlink_to("/proc/self/root")
    database = sqlite3.connect(directory / "secret.db")
    database.execute("create table t (c text)")
    database.execute("insert into t values (?)", [SECRET])
    database.commit()
    (room / "own.db").write_bytes((directory / "secret.db").read_bytes())
    server = Process(directory, "serve", "--worker=localhost:0", "--job_name=worker", f"--fs-root={room}")
    yield directory, server.target
    server.kill()


def config():
    return v1.ConfigProto(operation_timeout_in_ms=60_000)


def ways_out(directory):
    """Paths that would lead to the secret."""
    room = directory / "room"
    return [
        f"{directory}/secret",
        f"file://{directory}/secret",
        f"{room}/../secret",
        f"{room}/link",
        f"{room}/up/secret",
        f"{room}/root{directory}/secret",
        f"/proc/self/root{directory}/secret",
        # The server's working directory is that of the scene.
        "secret",
        "/proc/self/cwd/secret",
    ]


def run(target, make, *, options=None):
    with tf.Graph().as_default():
        made = make()
        with v1.Session(target, config=config()) as session:
            return session.run(made, options=options)


def first(dataset):
    return tf.data.experimental.get_single_element(dataset.take(1))


def attach(directory):
    source = str(directory / "room" / "own.db")
    for query in (
        f"attach database '{directory}/secret.db' as other",
        f"vacuum into '{directory}/beside/made.db'",
        "pragma temp_store_directory = '/'",
        "insert into t values ('more')",
    ):
        yield lambda query=query: first(tf.data.experimental.SqlDataset("sqlite", source, query, (tf.string,)))


def readers(path):
    yield lambda: tf.io.read_file(path)
    yield lambda: first(tf.data.TextLineDataset(path))
    yield lambda: first(tf.data.TFRecordDataset(path))
    yield lambda: first(tf.data.FixedLengthRecordDataset(path, 4))
    yield lambda: first(tf.data.experimental.CsvDataset(path, [""]))
    yield lambda: first(tf.data.experimental.SqlDataset("sqlite", path, "select c from t", (tf.string,)))
    yield lambda: tf.raw_ops.RestoreV2(
        prefix=path, tensor_names=["t"], shape_and_slices=[""], dtypes=[tf.float32]
    )
    yield lambda: tf.raw_ops.Restore(file_pattern=path, tensor_name="t", dt=tf.float32)
    yield lambda: tf.raw_ops.ImmutableConst(dtype=tf.uint8, shape=[4], memory_region_name=path)
    yield lambda: tf.raw_ops.RecordInput(file_pattern=path)
    yield lambda: tf.raw_ops.DecodeProtoV2(
        bytes=[b""], message_type="a.B", field_names=[], output_types=[], descriptor_source=path
    ).sizes
    yield lambda: tf.random.fixed_unigram_candidate_sampler([[0]], 1, 1, False, 1, vocab_file=path)[0]
    yield lambda: first(tf.data.Dataset.load(path, tf.TensorSpec([], tf.int64)))
    yield lambda: v1.WholeFileReader().read(filled_queue(path))[1]
    yield lambda: v1.TextLineReader().read(filled_queue(path))[1]


def filled_queue(path):
    """A queue that has the path in it when somebody reads from it."""
    queue = v1.FIFOQueue(2, [tf.string], [[]])
    with tf.control_dependencies([queue.enqueue(path)]):
        return tf.identity(queue.queue_ref)


def writers(path):
    yield lambda: tf.io.write_file(path, "forged")
    yield lambda: tf.raw_ops.PrintV2(input="forged", output_stream=f"file://{path.removeprefix('file://')}")
    yield lambda: tf.raw_ops.SaveV2(
        prefix=path, tensor_names=["t"], shape_and_slices=[""], tensors=[tf.ones([1])]
    )
    yield lambda: tf.raw_ops.Save(filename=path, tensor_names=["t"], data=[tf.ones([1])])
    yield lambda: tf.raw_ops.CreateSummaryFileWriter(
        writer=tf.raw_ops.SummaryWriter(), logdir=path, max_queue=1, flush_millis=1, filename_suffix=""
    )
    yield lambda: tf.raw_ops.DatasetToTFRecord(
        input_dataset=tf.data.Dataset.from_tensors("forged")._variant_tensor,
        filename=path,
        compression_type="",
    )
    yield lambda: first(tf.data.Dataset.range(1).cache(path))


def assert_untouched(directory):
    assert (directory / "secret").read_text() == SECRET
    names = {"room", "secret", "beside", "secret.db"}
    assert set(os.listdir(directory)) == names and not os.listdir(directory / "beside")


def test_nothing_outside_is_read(scene):
    directory, target = scene
    for path in ways_out(directory):
        with pytest.raises(tf.errors.PermissionDeniedError, match="--fs-root") as refused:
            run(target, lambda: tf.io.read_file(path))
        assert path in str(refused.value)
    for number in range(len(list(readers("")))):
        with pytest.raises(tf.errors.PermissionDeniedError, match="--fs-root"):
            run(target, lambda: list(readers(f"{directory}/secret"))[number]())
        # Those who look for a name first do not even find one that a link would lead to.
        with pytest.raises((tf.errors.PermissionDeniedError, tf.errors.NotFoundError)):
            run(target, lambda: list(readers(f"{directory}/room/up/secret"))[number]())
    for pattern in (f"{directory}/*", "/etc/*", "*"):
        with pytest.raises(tf.errors.PermissionDeniedError, match="--fs-root"):
            run(target, lambda: tf.io.matching_files(pattern))
    for pattern in (f"{directory}/room/up/*", f"{directory}/room/link*"):
        assert run(target, lambda: tf.io.matching_files(pattern)).tolist() == []


def test_nothing_outside_is_written(scene):
    directory, target = scene
    room = directory / "room"
    for number in range(len(list(writers("")))):
        for path in (f"{directory}/secret", f"{room}/up/beside/made", "made", f"{room}/../made"):
            with pytest.raises(tf.errors.PermissionDeniedError, match="--fs-root"):
                run(target, lambda: list(writers(path))[number]())
            assert_untouched(directory)
        # A link that leads out may be replaced, as it is itself inside; what it led to stays.
        link = room / f"link{number}"
        link.symlink_to(directory / "secret")
        with contextlib.suppress(tf.errors.OpError):
            run(target, lambda: list(writers(str(link)))[number]())
        assert_untouched(directory)


def test_queries_do_not_lead_out(scene):
    directory, target = scene
    source = str(directory / "room" / "own.db")
    own = lambda: first(
        tf.data.experimental.SqlDataset("sqlite", source, "select upper(c) from t order by c", (tf.string,))
    )
    assert run(target, own)[0].decode() == SECRET.upper()
    for make in attach(directory):
        with pytest.raises((tf.errors.PermissionDeniedError, tf.errors.InvalidArgumentError)):
            run(target, make)
    assert_untouched(directory)
    assert run(target, own)[0].decode() == SECRET.upper()


def test_a_debugger_stays_inside_too(scene):
    directory, target = scene
    for place, is_inside in ((directory / "room" / "dump", True), (directory / "dump", False)):
        options = v1.RunOptions()
        options.debug_options.debug_tensor_watch_opts.add(
            node_name="two", output_slot=0, debug_ops=["DebugIdentity"], debug_urls=[f"file://{place}"]
        )
        make = lambda: tf.add(v1.placeholder_with_default(1, []), 1, name="two")
        if is_inside:
            assert run(target, make, options=options) == 2
            assert os.listdir(place)
        else:
            with pytest.raises(tf.errors.PermissionDeniedError, match="--fs-root"):
                run(target, make, options=options)
    assert_untouched(directory)


def train(target, place):
    """A training with checkpoints and summaries, as programs of TensorFlow 1 write them."""
    with tf.Graph().as_default():
        v = v1.get_variable("v", [], initializer=v1.zeros_initializer())
        step = v1.train.get_or_create_global_step()
        train_op = tf.group(v.assign_add(1.0), step.assign_add(1))
        writer = tf.raw_ops.SummaryWriter()
        opened = tf.raw_ops.CreateSummaryFileWriter(
            writer=writer, logdir=f"{place}/logs", max_queue=1, flush_millis=1, filename_suffix=""
        )
        written = tf.raw_ops.WriteScalarSummary(writer=writer, step=step, tag="v", value=v)
        closed = tf.raw_ops.CloseSummaryWriter(writer=writer)
        saver = v1.train.Saver()
        with v1.Session(target, config=config()) as session:
            session.run([v1.global_variables_initializer(), opened])
            for _ in range(3):
                session.run([train_op, written])
            session.run(closed)
            # The client itself writes the list of checkpoints beside it.
            saver.save(session, f"{place}/model/m", global_step=3)
            session.run(v.assign(0.0))
            saver.restore(session, f"{place}/model/m-3")
            return session.run(v)


def test_one_flag_lets_a_training_program_work(scene):
    directory, target = scene
    assert train(target, directory / "room" / "training") == 3.0
    assert any("events" in name for name in os.listdir(directory / "room" / "training" / "logs"))


def test_with_tls_too(tmp_path):
    for name in ("fleet", "room"):
        (tmp_path / name).mkdir()
    fleet = Fleet(tmp_path / "fleet", f"--fs-root={tmp_path / 'room'}")
    try:
        target = fleet.proxy().target
        assert train(target, tmp_path / "room") == 3.0
        with pytest.raises(tf.errors.PermissionDeniedError, match="--fs-root"):
            run(target, lambda: tf.io.read_file(str(tmp_path / "fleet" / "certs" / "ca-key.pem")))
    finally:
        fleet.kill()


def test_keys_are_not_put_where_clients_read(tmp_path):
    (tmp_path / "keys").mkdir()
    server = Process(
        tmp_path,
        "serve",
        "--worker=localhost:0",
        "--job_name=worker",
        f"--fs-root={tmp_path}",
        f"--data-dir={tmp_path / 'keys'}",
    )
    assert server.process.wait(60) != 0
    assert "--data-dir" in server.target
