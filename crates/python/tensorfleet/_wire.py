"""As much of protocol buffers as a server's definition needs, where TensorFlow is not there to
write it."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any


def varint(value: int) -> bytes:
    # Negative numbers travel as 64 bits.
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def block(field: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def cluster_def(jobs: Mapping[str, Mapping[int, str]]) -> bytes:
    """A serialized `ClusterDef`."""

    def tasks(addresses: Mapping[int, str]) -> bytes:
        return b"".join(block(2, number(1, i) + block(2, a)) for i, a in addresses.items())

    return b"".join(block(1, block(1, job) + tasks(of)) for job, of in jobs.items())


def server_def(
    cluster: bytes | None = None,
    job_name: str | None = None,
    task_index: int | None = None,
    protocol: str | None = None,
    config: bytes | None = None,
) -> bytes:
    """A serialized `ServerDef`; what is not given is not in it, so that it can be put behind another
    one to change some of its fields."""
    return b"".join(
        (
            b"" if cluster is None else block(1, cluster),
            b"" if job_name is None else block(2, job_name),
            b"" if task_index is None else number(3, task_index),
            b"" if config is None else block(4, config),
            b"" if protocol is None else block(5, protocol),
        )
    )


# The fields of `ConfigProto` that mean something to a server, with the kinds of their values.
_CONFIG: dict[str, tuple[int, type]] = {
    "device_count": (1, dict),
    "intra_op_parallelism_threads": (2, int),
    "device_filters": (4, list),
    "inter_op_parallelism_threads": (5, int),
    "allow_soft_placement": (7, bool),
    "log_device_placement": (8, bool),
    "operation_timeout_in_ms": (11, int),
    "isolate_session_state": (15, bool),
}


def config_proto(fields: Mapping[str, object]) -> bytes:
    """A serialized `ConfigProto` with these fields."""
    out = bytearray()
    for name, value in fields.items():
        if name not in _CONFIG:
            known = ", ".join(_CONFIG)
            raise ValueError(f"config: no field {name!r}; the fields of a dictionary are {known}")
        field, kind = _CONFIG[name]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise TypeError(f"config: {name} must be of type {kind.__name__}, not {value!r}")
        if isinstance(value, dict):
            for device, count in value.items():
                out += block(field, block(1, device) + number(2, count))
        elif isinstance(value, list):
            for text in value:
                out += block(field, text)
        else:
            out += number(field, int(value))  # type: ignore[call-overload]
    return bytes(out)


def read_server_def(message: bytes) -> Any:
    """A `ServerDef`: TensorFlow's where that is imported, else as a dictionary."""
    theirs = sys.modules.get("tensorflow.core.protobuf.tensorflow_server_pb2")
    if theirs is not None:
        return theirs.ServerDef.FromString(message)
    definition: dict[str, Any] = {"cluster": {}, "job_name": "", "task_index": 0, "protocol": ""}
    for field, value in _fields(message):
        if field == 1:
            for _, job in _fields(value):
                name, tasks = "", {}
                for part, content in _fields(job):
                    if part == 1:
                        name = content.decode()
                    else:
                        entry = dict(_fields(content))
                        tasks[entry.get(1, 0)] = entry[2].decode()
                definition["cluster"][name] = tasks
        elif field == 2:
            definition["job_name"] = value.decode()
        elif field == 3:
            definition["task_index"] = value
        elif field == 5:
            definition["protocol"] = value.decode()
    return definition


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message that has numbers and blocks only."""
    at = 0

    def read() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = read()
        value = read()
        if tag & 7 == 2:
            yield tag >> 3, message[at : at + value]
            at += value
        else:
            yield tag >> 3, value
