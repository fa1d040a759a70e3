//! Graphs, functions and definitions as protocol messages.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::wire as tensor_wire;
use tensorfleet_tensor::{DType, Result, internal};

use crate::{
    ArgDef, AttrDef, AttrList, AttrMap, AttrValue, Func, FunctionDef, FunctionLibrary, Graph,
    Nature, NodeDef, OpDef,
};

/// A `GraphDef` whose nodes are still encoded: as messages they take many times their memory.
#[derive(Clone, PartialEq, Message)]
struct EncodedNodes {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    node: Vec<Bytes>,
    #[prost(message, optional, tag = "2")]
    library: Option<pb::FunctionDefLibrary>,
}

/// Reads a graph and its functions.
pub fn graph(message: Bytes) -> Result<(Vec<NodeDef>, FunctionLibrary)> {
    let wrong = |error: prost::DecodeError| internal!("{error}");
    let EncodedNodes { node: nodes, library: functions } =
        EncodedNodes::decode(message).map_err(wrong)?;
    // From a slice, so that what is kept is copied: otherwise it would keep the whole message.
    let decode = |node: Bytes| pb::NodeDef::decode(&node[..]).map_err(wrong);
    let nodes = nodes.into_iter().map(|node| node_def(decode(node)?));
    Ok((nodes.collect::<Result<_>>()?, library(functions.as_ref())?))
}

/// Reads the nodes of a graph.
pub fn node_defs(message: pb::GraphDef) -> Result<Vec<NodeDef>> {
    message.node.into_iter().map(node_def).collect()
}

/// Reads one node.
pub fn node_def(message: pb::NodeDef) -> Result<NodeDef> {
    let pb::NodeDef { name, op, device, input, attr, .. } = message;
    let attrs: Result<AttrMap> =
        attr.into_iter().map(|(name, value)| Ok((name, attr_value(&value)?))).collect();
    let attrs = attrs.map_err(|error| error.at_node(&name))?;
    Ok(NodeDef { name, op, device, inputs: input, attrs })
}

/// Reads a library of functions.
pub fn library(message: Option<&pb::FunctionDefLibrary>) -> Result<FunctionLibrary> {
    let mut library = FunctionLibrary::default();
    let Some(message) = message else { return Ok(library) };
    for function in &message.function {
        library.insert(Arc::new(function_def(function)?));
    }
    for gradient in &message.gradient {
        library.insert_gradient(gradient.function_name.clone(), gradient.gradient_func.clone());
    }
    Ok(library)
}

/// Reads one function.
pub fn function_def(message: &pb::FunctionDef) -> Result<FunctionDef> {
    let signature = message.signature.as_ref().map(op_def).transpose()?.unwrap_or_default();
    let arg_attrs: Result<BTreeMap<u32, AttrMap>> = message
        .arg_attr
        .iter()
        .map(|(index, attrs)| Ok((*index, attr_map(&attrs.attr)?)))
        .collect();
    Ok(FunctionDef {
        signature: Arc::new(signature),
        attrs: attr_map(&message.attr)?,
        arg_attrs: arg_attrs?,
        nodes: message.node_def.iter().cloned().map(node_def).collect::<Result<_>>()?,
        returns: message.ret.clone(),
        control_returns: message.control_ret.clone(),
    })
}

/// Reads a signature.
pub fn op_def(message: &pb::OpDef) -> Result<OpDef> {
    Ok(OpDef {
        name: message.name.clone(),
        inputs: message.input_arg.iter().map(arg_def).collect::<Result<_>>()?,
        outputs: message.output_arg.iter().map(arg_def).collect::<Result<_>>()?,
        attrs: message.attr.iter().map(attr_def).collect::<Result<_>>()?,
        control_outputs: message.control_output.clone(),
        is_stateful: message.is_stateful,
        is_commutative: message.is_commutative,
        is_aggregate: message.is_aggregate,
        allows_uninitialized_input: message.allows_uninitialized_input,
        is_distributed_communication: message.is_distributed_communication,
        nature: Nature::PLAIN,
    })
}

fn arg_def(message: &pb::op_def::ArgDef) -> Result<ArgDef> {
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Ok(ArgDef {
        name: message.name.clone(),
        dtype: DType::from_number(message.r#type % REF_OFFSET),
        type_attr: named(&message.type_attr),
        number_attr: named(&message.number_attr),
        type_list_attr: named(&message.type_list_attr),
        is_ref: message.is_ref || message.r#type > REF_OFFSET,
    })
}

/// The wire numbers reference types this much above the type itself.
const REF_OFFSET: i32 = 100;

fn attr_def(message: &pb::op_def::AttrDef) -> Result<AttrDef> {
    let allowed = match message.allowed_values.as_ref().map(attr_value).transpose()? {
        Some(AttrValue::List(list)) => Some(list),
        _ => None,
    };
    Ok(AttrDef {
        name: message.name.clone(),
        kind: message.r#type.clone(),
        default: message.default_value.as_ref().map(attr_value).transpose()?,
        minimum: message.has_minimum.then_some(message.minimum),
        allowed,
    })
}

/// Reads attributes.
pub fn attr_map(message: &BTreeMap<String, pb::AttrValue>) -> Result<AttrMap> {
    message.iter().map(|(name, value)| Ok((name.clone(), attr_value(value)?))).collect()
}

/// Reads one attribute.
pub fn attr_value(message: &pb::AttrValue) -> Result<AttrValue> {
    use pb::attr_value::Value;
    Ok(match &message.value {
        None => AttrValue::Unset,
        Some(Value::S(v)) => AttrValue::String(v.clone()),
        Some(Value::I(v)) => AttrValue::Int(*v),
        Some(Value::F(v)) => AttrValue::Float(*v),
        Some(Value::B(v)) => AttrValue::Bool(*v),
        Some(Value::Type(v)) => {
            DType::from_number(*v % REF_OFFSET).map_or(AttrValue::Unset, AttrValue::Type)
        }
        Some(Value::Shape(v)) => AttrValue::Shape(tensor_wire::partial_shape(v)),
        Some(Value::Tensor(v)) => AttrValue::Tensor(tensor_wire::tensor(v)?),
        Some(Value::Func(v)) => AttrValue::Func(func(v)?),
        Some(Value::Placeholder(v)) => AttrValue::Placeholder(v.clone()),
        Some(Value::List(v)) => AttrValue::List(attr_list(v)?),
    })
}

fn attr_list(message: &pb::attr_value::ListValue) -> Result<AttrList> {
    let m = message;
    Ok(if !m.s.is_empty() {
        AttrList::Strings(m.s.clone())
    } else if !m.i.is_empty() {
        AttrList::Ints(m.i.clone())
    } else if !m.f.is_empty() {
        AttrList::Floats(m.f.clone())
    } else if !m.b.is_empty() {
        AttrList::Bools(m.b.clone())
    } else if !m.r#type.is_empty() {
        let types: Result<Vec<DType>> =
            m.r#type.iter().map(|&number| tensor_wire::dtype(number % REF_OFFSET)).collect();
        AttrList::Types(types?)
    } else if !m.shape.is_empty() {
        AttrList::Shapes(m.shape.iter().map(tensor_wire::partial_shape).collect())
    } else if !m.tensor.is_empty() {
        AttrList::Tensors(m.tensor.iter().map(tensor_wire::tensor).collect::<Result<_>>()?)
    } else if !m.func.is_empty() {
        AttrList::Funcs(m.func.iter().map(func).collect::<Result<_>>()?)
    } else {
        AttrList::Empty
    })
}

fn func(message: &pb::NameAttrList) -> Result<Func> {
    Ok(Func { name: message.name.clone(), attrs: attr_map(&message.attr)? })
}

/// Writes a graph with its library.
pub fn graph_def(graph: &Graph) -> Result<pb::GraphDef> {
    let node: Result<Vec<_>> =
        graph.iter().map(|(id, _)| node_def_proto(&graph.node_def(id))).collect();
    Ok(pb::GraphDef {
        node: node?,
        library: (!graph.library().is_empty())
            .then(|| library_proto(graph.library()))
            .transpose()?,
        versions: Some(versions()),
        ..Default::default()
    })
}

/// Writes a graph that is still a list of nodes.
pub fn graph_def_of(nodes: &[NodeDef], library: &FunctionLibrary) -> Result<pb::GraphDef> {
    Ok(pb::GraphDef {
        node: nodes.iter().map(node_def_proto).collect::<Result<_>>()?,
        library: (!library.is_empty()).then(|| library_proto(library)).transpose()?,
        versions: Some(versions()),
        ..Default::default()
    })
}

/// The version of the graph format that we write: TensorFlow 2.21's.
pub fn versions() -> pb::VersionDef {
    pb::VersionDef { producer: 2474, min_consumer: 12, bad_consumers: Vec::new() }
}

fn node_def_proto(node: &NodeDef) -> Result<pb::NodeDef> {
    Ok(pb::NodeDef {
        name: node.name.clone(),
        op: node.op.clone(),
        device: node.device.clone(),
        input: node.inputs.clone(),
        attr: attr_map_proto(&node.attrs)?,
        ..Default::default()
    })
}

/// Writes a library of functions, sorted by name.
pub fn library_proto(library: &FunctionLibrary) -> Result<pb::FunctionDefLibrary> {
    let mut functions: Vec<_> = library.iter().collect();
    functions.sort_by(|a, b| a.signature.name.cmp(&b.signature.name));
    let mut gradients: Vec<_> = library.gradients().collect();
    gradients.sort_unstable();
    Ok(pb::FunctionDefLibrary {
        function: functions.into_iter().map(|f| function_def_proto(f)).collect::<Result<_>>()?,
        gradient: gradients
            .into_iter()
            .map(|(function, gradient)| pb::GradientDef {
                function_name: function.to_owned(),
                gradient_func: gradient.to_owned(),
            })
            .collect(),
        ..Default::default()
    })
}

/// Writes one function.
pub fn function_def_proto(function: &FunctionDef) -> Result<pb::FunctionDef> {
    let arg_attr: Result<BTreeMap<u32, pb::function_def::ArgAttrs>> = function
        .arg_attrs
        .iter()
        .map(|(index, attrs)| {
            Ok((*index, pb::function_def::ArgAttrs { attr: attr_map_proto(attrs)? }))
        })
        .collect();
    Ok(pb::FunctionDef {
        signature: Some(op_def_proto(&function.signature)?),
        attr: attr_map_proto(&function.attrs)?,
        arg_attr: arg_attr?,
        node_def: function.nodes.iter().map(node_def_proto).collect::<Result<_>>()?,
        ret: function.returns.clone(),
        control_ret: function.control_returns.clone(),
        ..Default::default()
    })
}

/// Writes a signature.
pub fn op_def_proto(def: &OpDef) -> Result<pb::OpDef> {
    let arg = |arg: &ArgDef| pb::op_def::ArgDef {
        name: arg.name.clone(),
        r#type: arg.dtype.map_or(0, |dtype| dtype as i32),
        type_attr: arg.type_attr.clone().unwrap_or_default(),
        number_attr: arg.number_attr.clone().unwrap_or_default(),
        type_list_attr: arg.type_list_attr.clone().unwrap_or_default(),
        is_ref: arg.is_ref,
        ..Default::default()
    };
    let attr = |attr: &AttrDef| -> Result<pb::op_def::AttrDef> {
        let allowed = attr.allowed.clone().map(|list| attr_value_proto(&AttrValue::List(list)));
        Ok(pb::op_def::AttrDef {
            name: attr.name.clone(),
            r#type: attr.kind.clone(),
            default_value: attr.default.as_ref().map(attr_value_proto).transpose()?,
            has_minimum: attr.minimum.is_some(),
            minimum: attr.minimum.unwrap_or(0),
            allowed_values: allowed.transpose()?,
            ..Default::default()
        })
    };
    Ok(pb::OpDef {
        name: def.name.clone(),
        input_arg: def.inputs.iter().map(arg).collect(),
        output_arg: def.outputs.iter().map(arg).collect(),
        control_output: def.control_outputs.clone(),
        attr: def.attrs.iter().map(attr).collect::<Result<_>>()?,
        is_stateful: def.is_stateful,
        is_commutative: def.is_commutative,
        is_aggregate: def.is_aggregate,
        allows_uninitialized_input: def.allows_uninitialized_input,
        is_distributed_communication: def.is_distributed_communication,
        ..Default::default()
    })
}

/// Encodes a list of signatures as an `OpList`.
pub fn op_list<'a>(defs: impl Iterator<Item = &'a OpDef>) -> Result<Vec<u8>> {
    Ok(pb::OpList { op: defs.map(op_def_proto).collect::<Result<_>>()? }.encode_to_vec())
}

/// Writes attributes.
pub fn attr_map_proto(attrs: &AttrMap) -> Result<BTreeMap<String, pb::AttrValue>> {
    attrs.iter().map(|(name, value)| Ok((name.clone(), attr_value_proto(value)?))).collect()
}

/// Writes one attribute.
pub fn attr_value_proto(value: &AttrValue) -> Result<pb::AttrValue> {
    use pb::attr_value::Value;
    let value = match value {
        AttrValue::Unset => None,
        AttrValue::String(v) => Some(Value::S(v.clone())),
        AttrValue::Int(v) => Some(Value::I(*v)),
        AttrValue::Float(v) => Some(Value::F(*v)),
        AttrValue::Bool(v) => Some(Value::B(*v)),
        AttrValue::Type(v) => Some(Value::Type(*v as i32)),
        AttrValue::Shape(v) => Some(Value::Shape(tensor_wire::partial_shape_proto(v))),
        AttrValue::Tensor(v) => Some(Value::Tensor(tensor_wire::tensor_proto(v)?)),
        AttrValue::Func(v) => Some(Value::Func(func_proto(v)?)),
        AttrValue::Placeholder(v) => Some(Value::Placeholder(v.clone())),
        AttrValue::List(v) => Some(Value::List(attr_list_proto(v)?)),
    };
    Ok(pb::AttrValue { value })
}

fn attr_list_proto(list: &AttrList) -> Result<pb::attr_value::ListValue> {
    let mut message = pb::attr_value::ListValue::default();
    match list {
        AttrList::Empty => {}
        AttrList::Strings(v) => message.s = v.clone(),
        AttrList::Ints(v) => message.i = v.clone(),
        AttrList::Floats(v) => message.f = v.clone(),
        AttrList::Bools(v) => message.b = v.clone(),
        AttrList::Types(v) => message.r#type = v.iter().map(|dtype| *dtype as i32).collect(),
        AttrList::Shapes(v) => {
            message.shape = v.iter().map(tensor_wire::partial_shape_proto).collect()
        }
        AttrList::Tensors(v) => {
            message.tensor = v.iter().map(tensor_wire::tensor_proto).collect::<Result<_>>()?;
        }
        AttrList::Funcs(v) => message.func = v.iter().map(func_proto).collect::<Result<_>>()?,
    }
    Ok(message)
}

fn func_proto(func: &Func) -> Result<pb::NameAttrList> {
    Ok(pb::NameAttrList { name: func.name.clone(), attr: attr_map_proto(&func.attrs)? })
}
