"""Supervised sessions: monitored training with its hooks, supervisors, waiting for the chief."""

import glob

import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1

Hook = v1.train.SessionRunHook


def training(rate=0.5):
    """A variable that runs towards 3, a step counter and a loss."""
    step = v1.train.get_or_create_global_step()
    weight = v1.get_variable("weight", initializer=0.0, use_resource=False)
    loss = tf.square(weight - 3.0, name="error")
    v1.summary.scalar("loss", loss)
    train = v1.train.GradientDescentOptimizer(rate / 2).minimize(loss, global_step=step)
    return step, weight, loss, train


def events(directory):
    for path in sorted(glob.glob(f"{directory}/events*")):
        yield from v1.train.summary_iterator(path)


def test_training_goes_on_from_its_checkpoint(target, tmp_path):
    runs = []
    for last in (3, 7):
        with v1.Graph().as_default():
            step, _, _, train = training()
            with v1.train.MonitoredTrainingSession(
                target, checkpoint_dir=str(tmp_path), hooks=[v1.train.StopAtStepHook(last_step=last)],
                save_checkpoint_steps=2, save_summaries_steps=1, log_step_count_steps=2,
            ) as session:
                first = session.run(step)
                count = 0
                while not session.should_stop():
                    session.run(train)
                    count += 1
            runs.append((first, count))
    assert runs == [(0, 3), (3, 4)]
    assert v1.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-7")
    tags = {value.tag for event in events(tmp_path) for value in event.summary.value}
    assert {"loss", "global_step/sec"} <= tags
    assert any(event.HasField("graph_def") for event in events(tmp_path))


class Recorder(Hook):
    def __init__(self, fetch=None, feed=None):
        self.calls, self.fetch, self.feed = [], fetch, feed

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("create")

    def before_run(self, context):
        return v1.train.SessionRunArgs(self.fetch, self.feed)

    def after_run(self, context, values):
        self.calls.append(values.results)
        if len(self.calls) == 5:
            context.request_stop()

    def end(self, session):
        self.calls.append("end")


def test_hooks_see_the_session_fetch_feed_and_stop(target):
    fed = v1.placeholder_with_default(1.0, [])
    double = fed * 2
    hook = Recorder(double, {fed: 21.0})
    with v1.train.MonitoredSession(v1.train.ChiefSessionCreator(master=target), [hook]) as session:
        while not session.should_stop():
            session.run(fed)
    assert hook.calls == ["begin", "create", 42.0, 42.0, 42.0, "end"]


def test_logging_stopping_feeding_and_final_hooks(target, tmp_path):
    step, weight, loss, train = training()
    noise = v1.placeholder(tf.float32, [])
    lines = []
    hooks = [
        v1.train.LoggingTensorHook({"loss": loss}, every_n_iter=2, formatter=lambda t: lines.append(t["loss"]) or ""),
        v1.train.StopAtStepHook(num_steps=4),
        v1.train.FeedFnHook(lambda: {noise: 0.5}),
        v1.train.StepCounterHook(every_n_steps=2, output_dir=str(tmp_path)),
        v1.train.SummarySaverHook(save_steps=2, output_dir=str(tmp_path), summary_op=v1.summary.merge_all()),
        v1.train.NanTensorHook(loss),
        v1.train.GlobalStepWaiterHook(wait_until_step=0),
        v1.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path)),
        final := v1.train.FinalOpsHook([weight, step]),
    ]
    with v1.train.MonitoredSession(v1.train.ChiefSessionCreator(master=target), hooks) as session:
        fed = []
        while not session.should_stop():
            fed.append(session.run([train, noise])[1])
    assert fed == [0.5] * 4 and final.final_ops_values[1] == 4
    assert lines[0] == 9.0 and len(lines) >= 2
    assert glob.glob(f"{tmp_path}/timeline-*.json")
    assert {value.tag for event in events(tmp_path) for value in event.summary.value} >= {"loss", "global_step/sec"}


@pytest.mark.parametrize("fail", [False, True])
def test_a_loss_that_is_no_number_ends_training(target, fail):
    loss = tf.math.log(v1.get_variable("x", initializer=-1.0, use_resource=False))
    hook = v1.train.NanTensorHook(loss, fail_on_nan_loss=fail)
    with v1.train.MonitoredSession(v1.train.ChiefSessionCreator(master=target), [hook]) as session:
        if fail:
            with pytest.raises(v1.train.NanLossDuringTrainingError):
                session.run(loss)
        else:
            session.run(loss)
        assert fail or session.should_stop()


def test_the_end_of_the_data_is_the_end_of_training(target):
    value = v1.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()
    seen = []
    with v1.train.MonitoredSession(v1.train.ChiefSessionCreator(master=target)) as session:
        while not session.should_stop():
            seen.append(session.run(value))
    assert seen == [0, 1, 2]


def test_queue_runners_feed_a_monitored_session(target):
    numbers = v1.train.limit_epochs(tf.constant([1, 2, 3]), num_epochs=2)
    batches = v1.train.batch([numbers], batch_size=2, enqueue_many=True, allow_smaller_final_batch=True)
    seen = []
    with v1.train.MonitoredSession(v1.train.ChiefSessionCreator(master=target)) as session:
        while not session.should_stop():
            seen.extend(session.run(batches))
    assert seen == [1, 2, 3, 1, 2, 3]


def test_scaffolds_initialise_as_they_say(target):
    v1.get_variable("v", initializer=tf.zeros([]), use_resource=False)
    local = v1.get_variable("l", initializer=5, collections=["local_variables"], use_resource=False)
    fed = v1.placeholder(tf.float32, [])
    other = v1.get_variable("w", initializer=fed, use_resource=False)
    called = []
    scaffold = v1.train.Scaffold(
        init_op=v1.global_variables_initializer(), init_feed_dict={fed: 4.0},
        init_fn=lambda scaffold, session: called.append(session.run(other)),
    )
    creator = v1.train.ChiefSessionCreator(scaffold, master=target)
    with v1.train.MonitoredSession(creator) as session:
        assert session.run([other, local]) == [4.0, 5]
    assert called == [4.0]


def test_a_restarted_parameter_server_is_noticed_and_restored(cluster, tmp_path):
    tasks = cluster(num_workers=1, num_ps=1)
    with v1.device(v1.train.replica_device_setter(ps_tasks=1)):
        step, weight, _, train = training()
    stop = v1.train.StopAtStepHook(last_step=8)
    count = 0
    with v1.train.MonitoredTrainingSession(
        tasks.target(), checkpoint_dir=str(tmp_path), hooks=[stop], save_checkpoint_steps=1,
        save_checkpoint_secs=None, save_summaries_steps=None, save_summaries_secs=None,
    ) as session:
        while not session.should_stop():
            session.run(train)
            count += 1
            if count == 4:
                tasks.restart("ps", 0)
    assert v1.train.latest_checkpoint(str(tmp_path)).endswith("-8")
    reader = tf.train.load_checkpoint(str(tmp_path))
    assert reader.get_tensor("weight") == pytest.approx(3.0 * (1 - 0.5**8))


def test_workers_wait_for_the_chief(cluster):
    tasks = cluster(num_workers=2, num_ps=1)
    with v1.device(v1.train.replica_device_setter(ps_tasks=1)):
        weight = v1.get_variable("weight", initializer=7.0, use_resource=False)
        ready, initialize = v1.report_uninitialized_variables(), v1.global_variables_initializer()
    waiting = v1.train.SessionManager(ready_op=ready, recovery_wait_secs=1)
    with pytest.raises(tf.errors.DeadlineExceededError):
        waiting.wait_for_session(tasks.target("worker", 1), max_wait_secs=1)
    with v1.Session(tasks.target("worker", 0)) as chief:
        chief.run(initialize)
        with waiting.wait_for_session(tasks.target("worker", 1), max_wait_secs=30) as session:
            assert session.run(weight) == 7.0


def test_session_managers_prepare_and_recover(target, tmp_path):
    variable = v1.get_variable("v", initializer=1.0, use_resource=False)
    ready, saver = v1.report_uninitialized_variables(), v1.train.Saver()
    manager = v1.train.SessionManager(ready_op=ready)
    with manager.prepare_session(target, init_op=v1.global_variables_initializer()) as session:
        session.run(variable.assign(9.0))
        path = saver.save(session, str(tmp_path / "model"))
    v1.Session.reset(target)
    with pytest.raises(RuntimeError, match="Init operations did not make model ready"):
        manager.prepare_session(target, init_op=tf.no_op())
    session, was_there = manager.recover_session(target, saver=saver, checkpoint_filename_with_path=path)
    assert was_there and session.run(variable) == 9.0
    session.close()
    v1.Session.reset(target)
    session, was_there = manager.recover_session(target, saver=saver, checkpoint_dir=str(tmp_path / "none"))
    assert not was_there


def test_supervisors_save_stop_and_go_on(target, tmp_path):
    step, weight, _, train = training()
    supervisor = v1.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
    with supervisor.managed_session(target) as session:
        for _ in range(3):
            session.run(train)
        supervisor.saver.save(session, supervisor.save_path, global_step=step)
        supervisor.request_stop()
        assert supervisor.should_stop()
    with v1.Graph().as_default():
        step, weight, _, _ = training()
        again = v1.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
        with again.managed_session(target) as session:
            assert session.run(step) == 3
            assert session.run(weight) == pytest.approx(3.0 * (1 - 0.5**3))
    assert any(event.HasField("graph_def") for event in events(tmp_path))


def test_coordinators_stop_threads_at_the_end_of_a_queue(target):
    queue = v1.FIFOQueue(10, [tf.int32], shapes=[[]])
    counter = v1.get_variable("c", initializer=0, use_resource=False)
    runner = v1.train.QueueRunner(
        queue, [queue.enqueue(counter.assign_add(1))] * 2,
        queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
    )
    taken = queue.dequeue()
    with v1.Session(target) as session:
        session.run(counter.initializer)
        coordinator = v1.train.Coordinator()
        threads = runner.create_threads(session, coordinator, start=True)
        for _ in range(5):
            session.run(taken)
        session.run(queue.close(cancel_pending_enqueues=True))
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=30)
        assert not any(thread.is_alive() for thread in threads)
        assert session.run(counter) >= 5
