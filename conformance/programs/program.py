"""Programs as data: statements that make graphs, and steps that run parts of them.

A statement is a call of a kind (see `kinds`) on results of earlier statements. An argument says what
it is, so that a program makes sense without the statement that it names: a constant of that type
takes its place. So every part of a program can be taken out, which is how programs are shrunk.
"""

import dataclasses
import json
from typing import NamedTuple

import numpy as np
import tensorflow as tf


class Type(NamedTuple):
    """The type and shape of a result, as its statement was drawn."""

    dtype: str
    shape: tuple


class Arg(NamedTuple):
    """A result of an earlier statement."""

    id: int
    index: int
    type: Type


@dataclasses.dataclass
class Body:
    """Statements of a branch, a loop or a function."""

    params: list  # the ids of its arguments, each a statement with one result
    types: list  # their types
    statements: list
    results: list  # arguments, each an `Arg`
    # Statements that change state, and the result that waits for them; nothing means that all do.
    effects: list = dataclasses.field(default_factory=list)
    tied: int | None = None


@dataclasses.dataclass
class Statement:
    id: int
    kind: str
    results: list
    args: list = dataclasses.field(default_factory=list)
    params: dict = dataclasses.field(default_factory=dict)
    device: str = ""
    control: list = dataclasses.field(default_factory=list)
    colocate: int | None = None
    bodies: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Feed:
    arg: Arg
    value: list
    shape: tuple


@dataclasses.dataclass
class Step:
    fetches: list
    targets: list
    feeds: list
    mode: str = "run"
    # Of a step that is run in two parts: how many feeds and fetches belong to the first.
    first: tuple = (0, 0)


@dataclasses.dataclass
class Part:
    """Statements that are added to the graph, and steps that follow."""

    statements: list
    steps: list


@dataclasses.dataclass
class Program:
    parts: list
    # The task that sessions go to, and what they ask for in their configuration (see `options`).
    master: str = "worker:0"
    options: list = dataclasses.field(default_factory=list)

    def to_json(self):
        return json.dumps(_plain(self), separators=(",", ":"))

    def __str__(self):
        lines = [f"  session at {self.master} with {self.options}"]
        for part in self.parts:
            lines += _lines(part.statements, "  ")
            lines += [f"  {_step(step)}" for step in part.steps]
        return "\n".join(lines)


def from_json(text):
    data = json.loads(text)
    return Program(**{**data, "parts": [_part(part) for part in data["parts"]]})


def array(value, dtype, shape):
    """Returns a drawn value, a flat list of numbers or strings, as an array."""
    dtype = tf.as_dtype(dtype)
    if dtype == tf.string:
        flat = np.array([text.encode() for text in value], dtype=object)
    else:
        flat = np.array(value).astype(dtype.as_numpy_dtype)
    return flat.reshape(shape)


def _plain(data):
    """Returns data without the fields that have their defaults."""
    if dataclasses.is_dataclass(data):
        fields = {f.name: f for f in dataclasses.fields(data)}
        kept = {name: getattr(data, name) for name in fields}
        return {n: _plain(v) for n, v in kept.items() if v != _default(fields[n])}
    return [_plain(each) for each in data] if isinstance(data, (list, tuple)) else data


def _default(field):
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _part(data):
    steps = []
    for step in data["steps"]:
        fetches = [_arg(arg) for arg in step["fetches"]]
        feeds = [Feed(_arg(f["arg"]), f["value"], tuple(f["shape"])) for f in step["feeds"]]
        first = tuple(step.get("first", (0, 0)))
        steps.append(Step(**{**step, "fetches": fetches, "feeds": feeds, "first": first}))
    return Part([_statement(each) for each in data["statements"]], steps)


def _statement(data):
    typed = {
        "results": [_type(each) for each in data["results"]],
        "args": [_arg(each) for each in data.get("args", [])],
        "bodies": [_body(each) for each in data.get("bodies", [])],
    }
    return Statement(**{**data, **typed})


def _body(data):
    typed = {
        "types": [_type(each) for each in data["types"]],
        "statements": [_statement(each) for each in data["statements"]],
        "results": [_arg(each) for each in data["results"]],
    }
    return Body(**{**data, **typed})


def _arg(data):
    return Arg(data[0], data[1], _type(data[2]))


def _type(data):
    return Type(data[0], tuple(data[1]))


def _name(arg):
    return f"%{arg.id}" + (f".{arg.index}" if arg.index else "")


def _lines(statements, indent):
    for each in statements:
        results = ", ".join(f"{t.dtype}{list(t.shape)}" for t in each.results)
        words = [_name(arg) for arg in each.args]
        words += [f"{name}={value}" for name, value in each.params.items()]
        line = f"{indent}%{each.id}: {results or '-'} = {each.kind}({', '.join(words)})"
        if each.device:
            line += f" on {each.device}"
        if each.control:
            line += " after " + ", ".join(f"%{id}" for id in each.control)
        if each.colocate is not None:
            line += f" with %{each.colocate}"
        yield line
        for body in each.bodies:
            params = ", ".join(f"%{p}: {t.dtype}{list(t.shape)}" for p, t in zip(body.params, body.types))
            yield f"{indent}  body({params})"
            yield from _lines(body.statements, indent + "    ")
            tail = ", ".join(map(_name, body.results))
            if body.effects:
                tail += f"  after {body.effects} (result {'all' if body.tied is None else body.tied})"
            yield f"{indent}    return {tail}"


def _step(step):
    words = [f"{_name(feed.arg)}={feed.value}{list(feed.shape)}" for feed in step.feeds]
    mode = f"{step.mode} {list(step.first)}" if step.mode == "partial" else step.mode
    return (
        f"{mode} fetch [{', '.join(map(_name, step.fetches))}] "
        f"target [{', '.join(f'%{id}' for id in step.targets)}] feed {{{', '.join(words)}}}"
    )
