//! The messages of a `saved_model.pb`: what is needed of them, by TensorFlow's numbers. Fields that
//! are not named here are passed over.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;
use tensorfleet_graph::wire::{graph, graph_def_of};
use tensorfleet_graph::{FunctionLibrary, NodeDef};
use tensorfleet_tensor::{DType, PartialShape, Result, data_loss, invalid_argument};

use super::{INIT, Meta, Port, Signature};

#[derive(Clone, PartialEq, Message)]
struct SavedModel {
    #[prost(int64, tag = "1")]
    schema_version: i64,
    #[prost(message, repeated, tag = "2")]
    meta_graphs: Vec<MetaGraph>,
}

#[derive(Clone, PartialEq, Message)]
struct MetaGraph {
    #[prost(message, optional, tag = "1")]
    info: Option<MetaInfo>,
    #[prost(bytes = "bytes", tag = "2")]
    graph: Bytes,
    #[prost(message, optional, tag = "3")]
    saver: Option<SaverDef>,
    #[prost(btree_map = "string, message", tag = "5")]
    signatures: BTreeMap<String, SignatureDef>,
}

#[derive(Clone, PartialEq, Message)]
struct MetaInfo {
    #[prost(string, repeated, tag = "4")]
    tags: Vec<String>,
    #[prost(string, tag = "5")]
    tensorflow_version: String,
}

#[derive(Clone, PartialEq, Message)]
struct SaverDef {
    #[prost(string, tag = "1")]
    filename: String,
    #[prost(string, tag = "2")]
    save: String,
    #[prost(string, tag = "3")]
    restore: String,
    #[prost(int32, tag = "7")]
    version: i32,
}

#[derive(Clone, PartialEq, Message)]
struct SignatureDef {
    #[prost(btree_map = "string, message", tag = "1")]
    inputs: BTreeMap<String, TensorInfo>,
    #[prost(btree_map = "string, message", tag = "2")]
    outputs: BTreeMap<String, TensorInfo>,
    #[prost(string, tag = "3")]
    method: String,
}

#[derive(Clone, PartialEq, Message)]
struct TensorInfo {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    dtype: i32,
    #[prost(bytes = "bytes", tag = "3")]
    shape: Bytes,
}

/// The versions of the schema and of the checkpoints, and the release whose graphs ours are like.
const SCHEMA: i64 = 1;
const CHECKPOINTS: i32 = 2;
const RELEASE: &str = "2.21.0";

fn tensor_info(port: &Port) -> TensorInfo {
    let shape = tensorfleet_tensor::wire::partial_shape_proto(&port.shape);
    let (name, dtype) = (port.tensor.clone(), port.dtype as i32);
    TensorInfo { name, dtype, shape: shape.encode_to_vec().into() }
}

fn port(info: TensorInfo) -> Result<Port> {
    let TensorInfo { name, dtype, shape } = info;
    let dtype = DType::from_number(dtype)
        .ok_or_else(|| invalid_argument!("{name} has the type {dtype}, which is not known"))?;
    let shape = Message::decode(shape).map_err(|error| data_loss!("{name}: {error}"))?;
    let shape: PartialShape = tensorfleet_tensor::wire::partial_shape(&shape);
    Ok(Port { tensor: name, dtype, shape })
}

/// Encodes a model.
pub(super) fn encode(meta: &Meta, nodes: &[NodeDef], library: &FunctionLibrary) -> Result<Vec<u8>> {
    let signatures = meta.signatures.iter().map(|(name, signature)| {
        let ports = |ports: &BTreeMap<String, Port>| {
            ports.iter().map(|(name, port)| (name.clone(), tensor_info(port))).collect()
        };
        let signature = SignatureDef {
            inputs: ports(&signature.inputs),
            outputs: ports(&signature.outputs),
            method: "tensorflow/serving/predict".to_owned(),
        };
        (name.clone(), signature)
    });
    let saver = meta.restore.as_ref().map(|(filename, restore)| SaverDef {
        filename: filename.clone(),
        save: filename.clone(),
        restore: restore.clone(),
        version: CHECKPOINTS,
    });
    let graph = MetaGraph {
        info: Some(MetaInfo { tags: meta.tags.clone(), tensorflow_version: RELEASE.to_owned() }),
        graph: graph_def_of(nodes, library)?.encode_to_vec().into(),
        saver,
        signatures: signatures.collect(),
    };
    let model = SavedModel { schema_version: SCHEMA, meta_graphs: vec![graph] };
    Ok(model.encode_to_vec())
}

/// Decodes the graph of a model that has all of these tags.
pub(super) fn decode(
    message: Vec<u8>,
    tags: &[&str],
) -> Result<(Meta, Vec<NodeDef>, FunctionLibrary)> {
    let model = SavedModel::decode(Bytes::from(message)).map_err(|error| data_loss!("{error}"))?;
    let has_tags = |meta: &MetaGraph| {
        let own = meta.info.as_ref().map_or(&[][..], |info| &info.tags[..]);
        tags.iter().all(|tag| own.iter().any(|own| own == tag))
    };
    let found = model.meta_graphs.into_iter().find(has_tags);
    let meta = found.ok_or_else(|| invalid_argument!("there is no graph for {tags:?}"))?;
    let (nodes, library) = graph(meta.graph)?;
    let mut signatures = BTreeMap::new();
    let mut init = Vec::new();
    for (name, signature) in meta.signatures {
        if name == INIT {
            // What it makes is no tensor but a node, without a type.
            init.extend(signature.outputs.into_values().map(|info| info.name));
            continue;
        }
        let ports = |infos: BTreeMap<String, TensorInfo>| -> Result<BTreeMap<String, Port>> {
            infos.into_iter().map(|(name, info)| Ok((name, port(info)?))).collect()
        };
        let (inputs, outputs) = (ports(signature.inputs)?, ports(signature.outputs)?);
        signatures.insert(name, Signature { inputs, outputs });
    }
    let meta = Meta {
        tags: meta.info.map(|info| info.tags).unwrap_or_default(),
        signatures,
        restore: meta.saver.map(|saver| (saver.filename, saver.restore)),
        init,
    };
    Ok((meta, nodes, library))
}
