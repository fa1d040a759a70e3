"""Our `.proto` files agree with TensorFlow's: every message, field, enum and method.

TensorFlow's side comes from the shared libraries of the installed wheel. They carry the serialized
descriptor of each file that is compiled into the runtime, the messages of its services included,
which have no Python module.
"""

import importlib.util
import mmap
import pathlib
import re

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

OUR_DESCRIPTORS = (
    pathlib.Path(__file__).resolve().parent.parent
    / "crates/proto/src/generated/descriptors.bin"
)

# What TensorFlow has no descriptor for, by full name, and why we have it.
OURS_ALONE = {
    "grpc.health.v1.HealthCheckRequest": "TensorFlow serves no health checks",
    "grpc.health.v1.HealthCheckResponse": "TensorFlow serves no health checks",
    "grpc.health.v1.HealthCheckResponse.ServingStatus": "TensorFlow serves no health checks",
    "grpc.health.v1.Health": "TensorFlow serves no health checks",
    "tensorflow.DerivedStatus": "TensorFlow knows it by its type URL alone",
    "tensorflow.MasterService": "its stubs are written by hand: see the test of method paths",
    "tensorflow.WorkerService": "its stubs are written by hand: see the test of method paths",
}

PACKABLE = set(Field.Type.values()) - {
    Field.TYPE_STRING,
    Field.TYPE_BYTES,
    Field.TYPE_MESSAGE,
    Field.TYPE_GROUP,
}


def definitions(files):
    """Everything the files define that the wire can show, by full name."""
    found = {}
    for file in files:
        scope = file.package
        for message in file.message_type:
            add_message(found, scope, message, file.syntax)
        for enum in file.enum_type:
            add_enum(found, scope, enum)
        for service in file.service:
            found[f"{scope}.{service.name}"] = service_facts(service)
    return found


def add_message(found, scope, message, syntax):
    name = f"{scope}.{message.name}"
    found[name] = {field.number: field_facts(field, message, syntax) for field in message.field}
    for nested in message.nested_type:
        add_message(found, name, nested, syntax)
    for enum in message.enum_type:
        add_enum(found, name, enum)


def field_facts(field, message, syntax):
    proto3 = syntax == "proto3"
    repeated = field.label == Field.LABEL_REPEATED
    packed = field.options.packed if field.options.HasField("packed") else proto3
    in_oneof = field.HasField("oneof_index")
    return {
        "name": field.name,
        "label": Field.Label.Name(field.label),
        "type": Field.Type.Name(field.type),
        "type name": field.type_name,
        "packed": repeated and field.type in PACKABLE and packed,
        "oneof": message.oneof_decl[field.oneof_index].name if in_oneof else None,
        "presence of a scalar": not repeated and not in_oneof and not proto3,
        "default": field.default_value,
    }


def add_enum(found, scope, enum):
    found[f"{scope}.{enum.name}"] = {value.name: value.number for value in enum.value}


def service_facts(service):
    return {
        method.name: {
            "request": method.input_type,
            "response": method.output_type,
            "streams": (method.client_streaming, method.server_streaming),
        }
        for method in service.method
    }


def our_files():
    return descriptor_pb2.FileDescriptorSet.FromString(OUR_DESCRIPTORS.read_bytes()).file


OURS = definitions(our_files())


def shared_libraries():
    """The bytes of TensorFlow's own libraries, without starting TensorFlow."""
    package = pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent
    for path in sorted(package.glob("libtensorflow*")):
        with path.open("rb") as file:
            yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def embedded_files(library):
    """The `FileDescriptorProto`s stored in a library.

    Each begins with its name, field 1; nothing says where it ends, so it ends where the bytes stop
    being fields of that message.
    """
    for start in re.finditer(rb"\n(.)((?:tensorflow|xla|tsl|google)/[\w/]+\.proto)", library, re.S):
        if start[1][0] == len(start[2]):
            end = end_of_file_descriptor(library, start.start())
            yield descriptor_pb2.FileDescriptorProto.FromString(library[start.start() : end])


def end_of_file_descriptor(data, position):
    fields = {field.number for field in descriptor_pb2.FileDescriptorProto.DESCRIPTOR.fields}
    while True:
        tag, after_tag = read_varint(data, position)
        if tag >> 3 not in fields or tag & 7 not in (0, 2):
            return position
        value, after_value = read_varint(data, after_tag)
        position = after_value + (value if tag & 7 == 2 else 0)


def read_varint(data, position):
    value = 0
    for shift in range(0, 64, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return value, position


@pytest.fixture(scope="module")
def libraries():
    return list(shared_libraries())


@pytest.fixture(scope="module")
def theirs(libraries):
    return definitions(file for library in libraries for file in embedded_files(library))


@pytest.mark.parametrize("name", sorted(OURS.keys() - OURS_ALONE.keys()))
def test_definition_is_tensorflows(name, theirs):
    assert OURS[name] == theirs.get(name)


@pytest.mark.parametrize("name", sorted(OURS_ALONE))
def test_exception_is_needed(name, theirs):
    assert name in OURS
    assert name not in theirs


@pytest.mark.parametrize("service", ["tensorflow.MasterService", "tensorflow.WorkerService"])
def test_method_paths_are_tensorflows(service, libraries):
    pattern = re.compile(rb"/%s/(\w+)\0" % re.escape(service).encode())
    paths = {match[1].decode() for library in libraries for match in pattern.finditer(library)}
    assert OURS[service] == {
        method: {
            "request": f".tensorflow.{method}Request",
            "response": f".tensorflow.{method}Response",
            "streams": (False, False),
        }
        for method in paths
    }


def test_type_url_of_derived_errors_is_tensorflows(libraries):
    url = b"type.googleapis.com/tensorflow.DerivedStatus\0"
    assert any(library.find(url) >= 0 for library in libraries)


def change_number(message):
    message.field[0].number = 99


def change_name(message):
    message.field[0].name = "other"


def change_type(message):
    message.field[2].type = Field.TYPE_INT64


def change_label(message):
    message.field[0].label = Field.LABEL_REPEATED


def change_packing(message):
    next(f for f in message.field if f.name == "int_val").options.packed = False


def change_referenced_type(message):
    message.field[0].type_name = ".tensorflow.Other"


def drop_field(message):
    del message.field[-1]


def add_field(message):
    message.field.add(name="extra", number=99, type=Field.TYPE_BOOL, label=Field.LABEL_OPTIONAL)


@pytest.mark.parametrize(
    "change",
    [
        change_number,
        change_name,
        change_type,
        change_label,
        change_packing,
        change_referenced_type,
        drop_field,
        add_field,
    ],
)
def test_comparison_sees(change, theirs):
    files = list(our_files())
    messages = [message for file in files for message in file.message_type]
    change(next(message for message in messages if message.name == "TensorProto"))
    assert definitions(files)["tensorflow.TensorProto"] != theirs["tensorflow.TensorProto"]


def test_comparison_sees_enum_values(theirs):
    files = list(our_files())
    enums = [enum for file in files for enum in file.enum_type]
    next(enum for enum in enums if enum.name == "DataType").value[1].number = 99
    assert definitions(files)["tensorflow.DataType"] != theirs["tensorflow.DataType"]
