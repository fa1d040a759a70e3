//! The parsers.

use std::sync::Arc;

use futures_util::StreamExt;
use prost::Message;
use tensorfleet_checkpoint::{Checkpoint, LocalFileSystem};
use tensorfleet_framework::{DeviceName, ParsedKey};
use tensorfleet_graph::wire as graph_wire;
use tensorfleet_graph::{AttrValue, Graph};
use tensorfleet_journal::{LocalDisk, fill, hostile};
use tensorfleet_ops::library;
use tensorfleet_ops::record::{Compression, RecordReader, Stream};
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{DType, Shape, Tensor};
use tensorfleet_testing::OpRun;
use tensorfleet_transport::{Connection, Limits, Memory, Methods, Peer, Reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

use crate::Target;

pub(crate) const ALL: &[Target] = &[
    Target { name: "frames", run: frames, seeds: frame_seeds },
    Target { name: "hpack", run: hpack, seeds: hpack_seeds },
    Target { name: "links", run: links, seeds: link_seeds },
    Target { name: "graphs", run: graphs, seeds: graph_seeds },
    Target { name: "tensors", run: tensors, seeds: tensor_seeds },
    Target { name: "keys", run: keys, seeds: key_seeds },
    Target { name: "checkpoints", run: checkpoints, seeds: checkpoint_seeds },
    Target { name: "records", run: records, seeds: record_seeds },
    Target { name: "journals", run: journals, seeds: journal_seeds },
    Target { name: "images", run: images, seeds: image_seeds },
];

/// A server of HTTP/2 that hears the bytes, and then that nobody is left.
fn frames(bytes: &[u8]) {
    let mut methods = Methods::default();
    methods.unary("/a/b", |_, message| Box::pin(async { Ok(Reply::message(vec![message])) }));
    methods.streaming("/a/s", |_, requests| {
        let answers = requests.map(|message| message.map(|message| vec![message]));
        Box::pin(async { Ok(Reply::messages(answers)) })
    });
    let limits = Limits { server_memory: 4 << 20, ..Limits::default() };
    let serving = async {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (mut reading, mut writing) = tokio::io::split(near);
        let memory = Memory::new(limits.server_memory);
        let methods = Arc::new(methods);
        let connection = Connection::new(far, Peer::Inside, methods, &limits, Arc::clone(&memory));
        let (_running, stop) = watch::channel(false);
        let speaking = async {
            // The server may have hung up.
            let _ = writing.write_all(bytes).await;
            let _ = writing.shutdown().await;
            let mut heard = Vec::new();
            let _ = reading.read_to_end(&mut heard).await;
        };
        let (served, ()) = tokio::join!(connection.serve(stop), speaking);
        drop(served);
        assert_eq!(memory.used(), 0, "all memory is given back");
    };
    run(serving);
}

fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work);
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let len = payload.len() as u32;
    let mut frame = len.to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags, 0, 0, 0, stream]);
    frame.extend_from_slice(payload);
    frame
}

/// The headers of a call, most of them from the table of the standard.
fn headers(path: &[u8]) -> Vec<u8> {
    let mut block = vec![0x83, 0x86, 0x44, path.len() as u8];
    block.extend_from_slice(path);
    block.extend_from_slice(b"\x40\x02te\x08trailers\x5f\x10application/grpc");
    block
}

fn frame_seeds() -> Vec<Vec<u8>> {
    let begin = [PREFACE, &frame(4, 0, 0, &[0, 4, 0, 0, 0xff, 0xff])].concat();
    let call = [
        frame(1, 4, 1, &headers(b"/a/b")),
        frame(0, 1, 1, b"\0\0\0\0\x03abc"),
        frame(1, 4, 3, &headers(b"/a/s")),
        frame(0, 8, 3, b"\x02\0\0\0\0\x01a\0\0"),
        frame(8, 0, 3, &[0, 0, 1, 0]),
        frame(6, 0, 0, b"12345678"),
        frame(0, 1, 3, b"\0\0\0\0\x01b"),
    ]
    .concat();
    let rest = [
        frame(1, 0, 5, &headers(b"/a/b")[..9]),
        frame(9, 4, 5, &headers(b"/a/b")[9..]),
        frame(2, 0, 5, &[0; 5]),
        frame(3, 0, 5, &[0, 0, 0, 8]),
        frame(7, 0, 0, &[0; 8]),
        frame(4, 1, 0, &[]),
    ]
    .concat();
    vec![[&begin[..], &call].concat(), [&begin[..], &rest].concat(), begin]
}

/// A block of headers, in a call.
fn hpack(bytes: &[u8]) {
    let begin = [PREFACE, &frame(4, 0, 0, &[])].concat();
    let (one, other) = bytes.split_at(bytes.len() / 2);
    // Twice, because the second finds what the first left in the table.
    let calls = [frame(1, 5, 1, one), frame(1, 5, 3, other), frame(1, 5, 5, bytes)];
    frames(&[&begin[..], &calls.concat()].concat());
}

fn hpack_seeds() -> Vec<Vec<u8>> {
    let huffman = b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff";
    let resized = [&b"\x3f\x45"[..], &headers(b"/a/b"), &[0xbe, 0xbf]].concat();
    vec![headers(b"/a/b"), huffman.to_vec(), resized]
}

/// A task that waits for answers over a link.
fn links(bytes: &[u8]) {
    run(tensorfleet_rpc::hear_link(bytes));
}

fn link_seeds() -> Vec<Vec<u8>> {
    let frame = |kind: u8, call: u8, message: &[u8]| {
        let mut frame = vec![kind, 0, 0, 0];
        frame.extend_from_slice(&(message.len() as u32).to_le_bytes());
        frame.extend_from_slice(&[call, 0, 0, 0, 0, 0, 0, 0]);
        frame.extend_from_slice(message);
        frame
    };
    let tensor = |content: &[u8]| {
        let shape = tensor_wire::shape_proto(&Shape::vector(3));
        let tensor = pb::TensorProto {
            dtype: DType::Float as i32,
            tensor_shape: Some(shape),
            tensor_content: content.to_vec().into(),
            ..Default::default()
        };
        pb::RecvTensorResponse { tensor: Some(tensor), ..Default::default() }.encode_to_vec()
    };
    let lent = [&[0; 8][..], &12u64.to_le_bytes(), &tensor(&[])].concat();
    vec![
        frame(5, 1, &tensor(&[0; 12])),
        [frame(6, 1, &tensor(&[])), frame(7, 1, &[1; 5]), frame(7, 1, &[2; 7])].concat(),
        [frame(8, 1, b"\x0e\x01words"), frame(13, 0, &[]), frame(5, 2, &[])].concat(),
        frame(9, 1, &lent),
    ]
}

/// A graph that a client sends.
fn graphs(bytes: &[u8]) {
    let ops = library();
    let Ok((nodes, library)) = graph_wire::graph(bytes.to_vec().into()) else { return };
    if let Ok(graph) = Graph::from_nodes(nodes, Arc::new(library), &*ops) {
        // What was read can be written.
        let _ = graph_wire::graph_def(&graph);
    }
}

fn graph_seeds() -> Vec<Vec<u8>> {
    let value = |value| pb::AttrValue { value: Some(value) };
    let float = || value(pb::attr_value::Value::Type(DType::Float as i32));
    let constant = pb::NodeDef {
        name: "a".to_owned(),
        op: "Const".to_owned(),
        attr: [
            ("dtype".to_owned(), float()),
            (
                "value".to_owned(),
                value(pb::attr_value::Value::Tensor(pb::TensorProto {
                    dtype: DType::Float as i32,
                    float_val: vec![1.0],
                    ..Default::default()
                })),
            ),
        ]
        .into(),
        ..Default::default()
    };
    let sum = pb::NodeDef {
        name: "b".to_owned(),
        op: "AddV2".to_owned(),
        input: vec!["a".to_owned(), "a:0".to_owned(), "^a".to_owned()],
        device: "/job:worker/task:0".to_owned(),
        attr: [("T".to_owned(), float())].into(),
        ..Default::default()
    };
    let graph = pb::GraphDef { node: vec![constant, sum], ..Default::default() };
    vec![graph.encode_to_vec()]
}

/// A tensor that a client sends.
fn tensors(bytes: &[u8]) {
    let Ok(message) = pb::TensorProto::decode(bytes) else { return };
    if let Ok(tensor) = tensor_wire::tensor(&message) {
        let written = tensor_wire::tensor_proto(&tensor).expect("what was read can be written");
        let again = tensor_wire::tensor(&written).expect("and be read again");
        assert_eq!((again.dtype(), again.shape()), (tensor.dtype(), tensor.shape()));
    }
}

fn tensor_seeds() -> Vec<Vec<u8>> {
    let floats = Tensor::from_slice(Shape::vector(3), &[1.0f32, 2.0, 3.0]).expect("three");
    let text = Tensor::from_strings(Shape::vector(2), vec!["a".into(), "bc".into()]).expect("two");
    let tensors = [floats, text, Tensor::scalar(true), Tensor::scalar(7i64)];
    let protos = tensors.iter().map(|tensor| tensor_wire::tensor_proto(tensor).expect("plain"));
    let mut seeds: Vec<_> = protos.map(|proto| proto.encode_to_vec()).collect();
    let repeated = pb::TensorProto {
        dtype: DType::Int32 as i32,
        tensor_shape: Some(tensor_wire::shape_proto(&Shape::vector(100))),
        int_val: vec![1, 2],
        ..Default::default()
    };
    seeds.push(repeated.encode_to_vec());
    seeds
}

/// The key of a tensor that one task asks another one for, and names of devices.
fn keys(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = ParsedKey::parse(text);
    if let Ok(name) = DeviceName::parse(text) {
        let again = DeviceName::parse(&name.to_string()).expect("what was written can be read");
        assert_eq!(again, name);
    }
}

fn key_seeds() -> Vec<Vec<u8>> {
    let device = "/job:worker/replica:0/task:1/device:CPU:0";
    let key = format!("{device};00000000000000ff;/job:ps/replica:0/task:0/device:CPU:0;edge_1;0:0");
    vec![key.into_bytes(), device.as_bytes().to_vec(), b"/job:a/task:*".to_vec()]
}

/// Records of a journal, as if their checksums were right.
fn journals(bytes: &[u8]) {
    // What is no record is refused.
    let _ = hostile::replay_bytes(bytes, &library());
}

fn journal_seeds() -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().expect("a directory");
    let variable = Tensor::vector(&[1f32, 2.0]).map(|value| ("v".to_owned(), value));
    let task = ("/job:ps/replica:0/task:0", "ps");
    fill(directory.path(), task, &library(), false, [variable]).expect("a data directory");
    vec![hostile::records(&LocalDisk::new(directory.path())).expect("a log")]
}

/// The index of a checkpoint.
fn checkpoints(bytes: &[u8]) {
    let Ok(directory) = tempfile::tempdir() else { return };
    let prefix = directory.path().join("model").display().to_string();
    let written = std::fs::write(format!("{prefix}.index"), bytes)
        .and_then(|()| std::fs::write(format!("{prefix}.data-00000-of-00001"), [7; 64]));
    if written.is_err() {
        return;
    }
    let Ok(checkpoint) = Checkpoint::open(Arc::new(LocalFileSystem), &prefix) else { return };
    for (name, dtype, _) in checkpoint.tensors().unwrap_or_default() {
        let _ = checkpoint.restore(&name, "", dtype);
    }
}

fn checkpoint_seeds() -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().expect("a directory");
    let prefix = directory.path().join("model").display().to_string();
    let save = || {
        let files = Arc::new(LocalFileSystem);
        let mut writer = tensorfleet_checkpoint::bundle::Writer::new(files, &prefix)?;
        writer.add("a", &Tensor::scalar(1.0f32))?;
        writer.add("b/c", &Tensor::from_slice(Shape::vector(4), &[1i32, 2, 3, 4])?)?;
        writer.finish()
    };
    save().expect("a checkpoint");
    vec![std::fs::read(format!("{prefix}.index")).expect("its index")]
}

/// A file of records, plain and compressed.
fn records(bytes: &[u8]) {
    use Compression::{Gzip, None, Snappy, Zlib};
    for compression in [None, Gzip, Zlib, Snappy] {
        let source = std::io::Cursor::new(bytes.to_vec());
        let mut reader = RecordReader::new(Stream::new(source, compression, Some(1000)));
        // A small file may hold much once it is decompressed.
        for _ in 0..100 {
            if !matches!(reader.read(), Ok(Some(_))) {
                break;
            }
        }
    }
}

fn record_seeds() -> Vec<Vec<u8>> {
    let mut writer = tensorfleet_ops::record::RecordWriter::new(Vec::new());
    for record in [&b"hello"[..], b"", &[7; 100]] {
        writer.write(record).expect("memory takes it");
    }
    vec![writer.into_inner()]
}

/// An image of any kind.
fn images(bytes: &[u8]) {
    let Ok(contents) = Tensor::from_strings(Shape::SCALAR, vec![bytes.to_vec().into()]) else {
        return;
    };
    let _ = OpRun::new("DecodeImage")
        .attr("channels", AttrValue::Int(0))
        .attr("dtype", AttrValue::Type(DType::UInt8))
        .attr("expand_animations", AttrValue::Bool(true))
        .input(contents)
        .run(&library());
}

fn image_seeds() -> Vec<Vec<u8>> {
    let pixels: Vec<u8> = (0..48).collect();
    let pixels =
        Tensor::from_slice(Shape::new(&[4, 4, 3]).expect("small"), &pixels).expect("a picture");
    let encoded = ["EncodePng", "EncodeJpeg"].map(|op| {
        let mut run = OpRun::new(op).input(pixels.clone());
        if op == "EncodePng" {
            run = run.attr("T", AttrValue::Type(DType::UInt8));
        }
        run.run(&library())
    });
    let mut seeds: Vec<Vec<u8>> = encoded
        .into_iter()
        .map(|image| {
            let image = image.expect("it can be encoded");
            image[0].strings().expect("it is text")[0].to_vec()
        })
        .collect();
    seeds.push(
        b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"
            .to_vec(),
    );
    let mut bitmap =
        b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0".to_vec();
    bitmap.resize(58, 0);
    seeds.push(bitmap);
    seeds
}
