//! Encodings worked out by hand, and properties that the rest of the workspace relies on.

use std::fmt::Debug;

use bytes::Bytes;
use prost::{Message, Name};
use prost_reflect::{DescriptorPool, DynamicMessage};
use tensorfleet_proto::FILE_DESCRIPTOR_SET;
use tensorfleet_proto::tensorflow::core::platform::ErrorSourceProto;
use tensorfleet_proto::tensorflow::core::platform::error_source_proto::ErrorSource;
use tensorfleet_proto::tensorflow::distributed_runtime::{
    GrpcPayloadContainer, WorkerPossiblyRestarted,
};
use tensorfleet_proto::tensorflow::eager::{Operation, operation};
use tensorfleet_proto::tensorflow::tensor_shape_proto::Dim;
use tensorfleet_proto::tensorflow::{
    AttrValue, DataType, DerivedStatus, DeviceAttributes, FullTypeDef, NodeDef, ServerDef,
    TensorProto, TensorShapeProto, attr_value,
};

/// The message has these bytes, and these bytes are the message.
fn check<M: Message + Default + PartialEq + Debug>(message: &M, encoded: &[u8]) {
    assert_eq!(message.encode_to_vec(), encoded);
    assert_eq!(&M::decode(encoded).expect("hand-written bytes decode"), message);
}

fn shape(sizes: &[i64]) -> TensorShapeProto {
    let dim = sizes.iter().map(|&size| Dim { size, ..Dim::default() }).collect();
    TensorShapeProto { dim, unknown_rank: false }
}

#[test]
fn tensor_with_raw_content() {
    let tensor = TensorProto {
        dtype: DataType::DtFloat.into(),
        tensor_shape: Some(shape(&[2])),
        tensor_content: Bytes::from_static(&[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]),
        ..TensorProto::default()
    };
    check(
        &tensor,
        &[
            0x08, 1, // dtype: DT_FLOAT
            0x12, 4, 0x12, 2, 0x08, 2, // tensor_shape { dim { size: 2 } }
            0x22, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, // tensor_content: [1.0, 2.0]
        ],
    );
}

#[test]
fn typed_values_are_packed() {
    let tensor = TensorProto {
        dtype: DataType::DtInt32.into(),
        int_val: vec![1, 300, -1],
        ..TensorProto::default()
    };
    #[rustfmt::skip]
    check(
        &tensor,
        &[
            0x08, 3, // dtype: DT_INT32
            0x3a, 13, // int_val, one block of 13 bytes
            1,
            0xac, 0x02,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ],
    );
}

#[test]
fn scalar_shape_differs_from_no_shape() {
    let scalar = TensorProto { tensor_shape: Some(shape(&[])), ..TensorProto::default() };
    check(&scalar, &[0x12, 0]);
    check(&TensorProto::default(), &[]);
}

#[test]
fn unknown_dimension_is_minus_one() {
    check(&shape(&[-1]), &[0x12, 11, 8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
}

#[test]
fn incarnation_has_fixed_width() {
    let device = DeviceAttributes { incarnation: 0x0102_0304_0506_0708, ..Default::default() };
    check(&device, &[0x31, 8, 7, 6, 5, 4, 3, 2, 1]);
}

#[test]
fn attributes_are_in_order_of_name() {
    let int = |i| AttrValue { value: Some(attr_value::Value::I(i)) };
    let node = NodeDef {
        op: "Op".into(),
        attr: [("b".to_owned(), int(2)), ("a".to_owned(), int(1))].into(),
        ..NodeDef::default()
    };
    check(
        &node,
        &[
            0x12, 2, b'O', b'p', // op
            0x2a, 7, 0x0a, 1, b'a', 0x12, 2, 0x18, 1, // attr { key: "a" value { i: 1 } }
            0x2a, 7, 0x0a, 1, b'b', 0x12, 2, 0x18, 2, // attr { key: "b" value { i: 2 } }
        ],
    );
}

#[test]
fn attribute_with_default_value_is_still_sent() {
    check(&AttrValue { value: Some(attr_value::Value::B(false)) }, &[0x28, 0]);
}

#[test]
fn eager_input_by_value() {
    let item = operation::input::Item::Tensor(TensorProto {
        dtype: DataType::DtBool.into(),
        bool_val: vec![true],
        ..TensorProto::default()
    });
    let operation = Operation {
        id: 7,
        name: "Identity".into(),
        op_inputs: vec![operation::Input { item: Some(item) }],
        ..Operation::default()
    };
    #[rustfmt::skip]
    check(
        &operation,
        &[
            0x08, 7, // id
            0x12, 8, b'I', b'd', b'e', b'n', b't', b'i', b't', b'y', // name
            0x52, 7, 0x12, 5, 0x08, 10, 0x5a, 1, 1, // op_inputs { tensor { DT_BOOL, [true] } }
        ],
    );
}

#[test]
fn error_payloads_are_keyed_by_type_url() {
    assert_eq!(DerivedStatus::type_url(), "type.googleapis.com/tensorflow.DerivedStatus");
    assert_eq!(
        WorkerPossiblyRestarted::type_url(),
        "type.googleapis.com/tensorflow.distributed_runtime.WorkerPossiblyRestarted"
    );
    assert_eq!(
        ErrorSourceProto::type_url(),
        "type.googleapis.com/tensorflow.core.platform.ErrorSourceProto"
    );

    check(&ErrorSourceProto { error_source: ErrorSource::EagerRemoteMgr.into() }, &[8, 5]);
    let payloads = [("k".to_owned(), Bytes::from_static(&[8, 5]))].into();
    check(&GrpcPayloadContainer { payloads }, &[0x0a, 7, 0x0a, 1, b'k', 0x12, 2, 8, 5]);
}

#[test]
fn decoded_bytes_share_the_memory_of_the_message() {
    let tensor =
        TensorProto { tensor_content: Bytes::from(vec![7; 1024]), ..TensorProto::default() };
    let encoded = Bytes::from(tensor.encode_to_vec());
    let decoded = TensorProto::decode(encoded.clone()).unwrap();
    assert!(encoded.as_ptr_range().contains(&decoded.tensor_content.as_ptr()));
}

#[test]
fn too_deep_nesting_is_an_error() {
    assert!(FullTypeDef::decode(nested_types(90).as_slice()).is_ok());
    assert!(FullTypeDef::decode(nested_types(10_000).as_slice()).is_err());
}

/// A type whose only argument has only one argument, and so on.
fn nested_types(depth: usize) -> Vec<u8> {
    let mut encoded = Vec::new();
    for _ in 0..depth {
        let mut outer = vec![0x12];
        prost::encoding::encode_varint(encoded.len() as u64, &mut outer);
        outer.append(&mut encoded);
        encoded = outer;
    }
    encoded
}

#[test]
fn text_format_is_read_through_the_descriptors() {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
    let descriptor = pool.get_message_by_name("tensorflow.ServerDef").unwrap();
    let text = r#"
        cluster { job { name: "ps" tasks { key: 0 value: "localhost:2222" } } }
        job_name: "ps"
        protocol: "grpc"
    "#;
    let server: ServerDef =
        DynamicMessage::parse_text_format(descriptor, text).unwrap().transcode_to().unwrap();
    let job = &server.cluster.unwrap().job[0];
    assert_eq!((server.job_name.as_str(), server.protocol.as_str()), ("ps", "grpc"));
    assert_eq!((job.name.as_str(), job.tasks[&0].as_str()), ("ps", "localhost:2222"));
}
