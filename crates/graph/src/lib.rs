//! Graphs: nodes, edges, attributes, functions, and the signatures that give them types.

mod attr;
mod attr_map;
mod function;
mod graph;
mod layers;
mod nature;
mod node;
mod op_def;
pub mod op_def_text;
mod validate;
pub mod wire;

pub use attr::{AttrList, AttrValue, Func};
pub use attr_map::AttrMap;
pub use function::{FunctionDef, FunctionLibrary};
pub use graph::{Graph, OpLookup, find_def, signature};
pub use nature::{Calls, ControlFlow, Nature};
pub use node::{Node, NodeDef, NodeId, Output, Signature, parse_tensor_name};
pub use op_def::{ArgDef, AttrDef, OpDef, ValueType};
