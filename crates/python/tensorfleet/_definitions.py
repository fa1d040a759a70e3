"""What a server is told, from the objects that TensorFlow's servers take: its `ServerDef`,
`ClusterDef`, `ClusterSpec` and `ConfigProto`, or dictionaries where TensorFlow is not installed."""

from collections.abc import Mapping
from typing import Any

from tensorfleet import _wire

Cluster = dict[str, dict[int, str]]


def serialized_server_def(
    server_or_cluster_def: Any,
    job_name: str | None,
    task_index: int | None,
    protocol: str | None,
    config: Any,
) -> bytes:
    """A serialized `ServerDef` with the rules that TensorFlow has for what is not given."""
    _check("job_name", job_name, str)
    _check("task_index", task_index, int)
    _check("protocol", protocol, str)
    changes = dict(
        job_name=job_name,
        task_index=task_index,
        protocol=protocol,
        config=None if config is None else serialized_config(config),
    )
    if _message_name(server_or_cluster_def) == "tensorflow.ServerDef":
        # Later fields replace earlier ones, and messages are merged.
        return server_or_cluster_def.SerializeToString() + _wire.server_def(**changes)
    cluster = to_cluster(server_or_cluster_def)
    if job_name is None:
        if len(cluster) != 1:
            raise ValueError("Must specify an explicit `job_name`.")
        (changes["job_name"],) = cluster
    if task_index is None:
        name = changes["job_name"]
        if name not in cluster:
            raise ValueError(f"No such job in cluster: {name!r}")
        if len(cluster[name]) != 1:
            raise ValueError("Must specify an explicit `task_index`.")
        (changes["task_index"],) = cluster[name]
    return _wire.server_def(cluster=_wire.cluster_def(cluster), **changes)


def serialized_config(config: Any) -> bytes:
    """A serialized `ConfigProto`."""
    if _message_name(config) == "tensorflow.ConfigProto":
        return config.SerializeToString()
    if isinstance(config, Mapping):
        return _wire.config_proto(config)
    raise TypeError(f"`config` must be a `ConfigProto` or a dictionary, not {config!r}")


def to_cluster(cluster: Any) -> Cluster:
    """Addresses by job and index."""
    if _message_name(cluster) == "tensorflow.ClusterDef":
        return {job.name: dict(job.tasks) for job in cluster.job}
    if callable(getattr(cluster, "as_dict", None)):
        cluster = cluster.as_dict()
    if not isinstance(cluster, Mapping):
        raise TypeError(
            "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or "
            f"`tf.train.ClusterSpec`: {cluster!r}"
        )
    return {_text("a job name", job): _tasks(job, tasks) for job, tasks in cluster.items()}


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, Mapping):
        for index in tasks:
            _check(f"a task index of job {job!r}", index, int)
        return {index: _text("an address", address) for index, address in tasks.items()}
    if isinstance(tasks, (list, tuple)):
        return {index: _text("an address", address) for index, address in enumerate(tasks)}
    raise TypeError(
        f"The tasks for job {job!r} must be a list or dictionary mapping integers to strings."
    )


def _text(what: str, value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value
    raise TypeError(f"{what} must be a string, not {value!r}")


def _check(what: str, value: Any, kind: type) -> None:
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise TypeError(f"`{what}` must be of type {kind.__name__}, not {value!r}")


def _message_name(value: Any) -> str | None:
    """The full name of a protocol buffer's message type; nothing for other values."""
    return getattr(getattr(value, "DESCRIPTOR", None), "full_name", None)
