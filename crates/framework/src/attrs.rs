//! The attributes of a node as a kernel's constructor reads them.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_files::FileSystem;
use tensorfleet_graph::{AttrList, AttrMap, AttrValue, Func, Node, ValueType};
use tensorfleet_tensor::{DType, Error, PartialShape, Result, Tensor, invalid_argument};

use crate::policy::files_under;
use crate::{Changer, OpPolicy};

/// A node seen by its kernel: complete, typed attributes.
#[derive(Clone, Copy, Debug)]
pub struct Attrs<'a> {
    node: &'a Node,
    policy: Option<&'a Arc<dyn OpPolicy>>,
}

impl<'a> Attrs<'a> {
    /// Reads the attributes of `node`.
    pub fn new(node: &'a Node) -> Attrs<'a> {
        Attrs { node, policy: None }
    }

    /// Reads the attributes of a node under a policy.
    pub fn under(node: &'a Node, policy: Option<&'a Arc<dyn OpPolicy>>) -> Attrs<'a> {
        Attrs { node, policy }
    }

    /// The files that the kernel sees while it is made.
    pub fn files(&self) -> Arc<dyn FileSystem> {
        files_under(self.policy)
    }

    /// The node itself.
    pub fn node(&self) -> &'a Node {
        self.node
    }

    /// The node's name.
    pub fn node_name(&self) -> &'a str {
        &self.node.name
    }

    /// The op's name.
    pub fn op(&self) -> &'a str {
        &self.node.op
    }

    /// The device on which the node is placed.
    pub fn device(&self) -> &'a str {
        &self.node.device
    }

    /// The op, for kernels that change variables: see [`KernelContext::change`].
    ///
    /// [`KernelContext::change`]: crate::KernelContext::change
    pub fn changer(&self) -> Changer {
        Changer::new(self.node)
    }

    /// The types of the inputs.
    pub fn inputs(&self) -> &'a [ValueType] {
        self.node.input_types()
    }

    /// The types of the outputs.
    pub fn outputs(&self) -> &'a [ValueType] {
        self.node.output_types()
    }

    /// All attributes.
    pub fn map(&self) -> &'a AttrMap {
        &self.node.attrs
    }

    /// The value of an attribute, whatever it is.
    pub fn get(&self, name: &str) -> Option<&'a AttrValue> {
        self.node.attrs.get(name)
    }

    fn wrong(&self, name: &str, kind: &str) -> Error {
        match self.get(name) {
            None => invalid_argument!(
                "No attr named '{name}' in NodeDef:\n\t [[{{{{node {}}}}}]]",
                self.node.name
            ),
            Some(value) => {
                invalid_argument!("AttrValue '{name}' must be of type {kind}, got {value}")
                    .at_node(&self.node.name)
            }
        }
    }

    /// A Boolean.
    pub fn bool(&self, name: &str) -> Result<bool> {
        match self.get(name) {
            Some(AttrValue::Bool(value)) => Ok(*value),
            _ => Err(self.wrong(name, "bool")),
        }
    }

    /// An integer.
    pub fn int(&self, name: &str) -> Result<i64> {
        match self.get(name) {
            Some(AttrValue::Int(value)) => Ok(*value),
            _ => Err(self.wrong(name, "int")),
        }
    }

    /// A floating-point number.
    pub fn float(&self, name: &str) -> Result<f32> {
        match self.get(name) {
            Some(AttrValue::Float(value)) => Ok(*value),
            _ => Err(self.wrong(name, "float")),
        }
    }

    /// A string of bytes.
    pub fn bytes(&self, name: &str) -> Result<&'a Bytes> {
        match self.get(name) {
            Some(AttrValue::String(value)) => Ok(value),
            _ => Err(self.wrong(name, "string")),
        }
    }

    /// A string as text; bytes that are not UTF-8 are replaced.
    pub fn string(&self, name: &str) -> Result<Cow<'a, str>> {
        Ok(String::from_utf8_lossy(self.bytes(name)?))
    }

    /// An element type.
    pub fn dtype(&self, name: &str) -> Result<DType> {
        match self.get(name) {
            Some(AttrValue::Type(value)) => Ok(*value),
            _ => Err(self.wrong(name, "type")),
        }
    }

    /// A shape, possibly with unknown dimensions.
    pub fn shape(&self, name: &str) -> Result<&'a PartialShape> {
        match self.get(name) {
            Some(AttrValue::Shape(value)) => Ok(value),
            _ => Err(self.wrong(name, "shape")),
        }
    }

    /// A tensor.
    pub fn tensor(&self, name: &str) -> Result<&'a Tensor> {
        match self.get(name) {
            Some(AttrValue::Tensor(value)) => Ok(value),
            _ => Err(self.wrong(name, "tensor")),
        }
    }

    /// A function.
    pub fn func(&self, name: &str) -> Result<&'a Func> {
        match self.get(name) {
            Some(AttrValue::Func(value)) => Ok(value),
            _ => Err(self.wrong(name, "func")),
        }
    }

    fn list(&self, name: &str, kind: &str) -> Result<&'a AttrList> {
        match self.get(name) {
            Some(AttrValue::List(list)) => Ok(list),
            _ => Err(self.wrong(name, kind)),
        }
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Result<&'a [i64]> {
        match self.list(name, "list(int)")? {
            AttrList::Ints(values) => Ok(values),
            AttrList::Empty => Ok(&[]),
            _ => Err(self.wrong(name, "list(int)")),
        }
    }

    /// A list of floating-point numbers.
    pub fn floats(&self, name: &str) -> Result<&'a [f32]> {
        match self.list(name, "list(float)")? {
            AttrList::Floats(values) => Ok(values),
            AttrList::Empty => Ok(&[]),
            _ => Err(self.wrong(name, "list(float)")),
        }
    }

    /// A list of Booleans.
    pub fn bools(&self, name: &str) -> Result<&'a [bool]> {
        match self.list(name, "list(bool)")? {
            AttrList::Bools(values) => Ok(values),
            AttrList::Empty => Ok(&[]),
            _ => Err(self.wrong(name, "list(bool)")),
        }
    }

    /// A list of strings.
    pub fn strings(&self, name: &str) -> Result<&'a [Bytes]> {
        match self.list(name, "list(string)")? {
            AttrList::Strings(values) => Ok(values),
            AttrList::Empty => Ok(&[]),
            _ => Err(self.wrong(name, "list(string)")),
        }
    }

    /// A list of element types.
    pub fn dtypes(&self, name: &str) -> Result<&'a [DType]> {
        match self.list(name, "list(type)")? {
            AttrList::Types(values) => Ok(values),
            AttrList::Empty => Ok(&[]),
            _ => Err(self.wrong(name, "list(type)")),
        }
    }

    /// A list of shapes.
    pub fn shapes(&self, name: &str) -> Result<&'a [PartialShape]> {
        match self.list(name, "list(shape)")? {
            AttrList::Shapes(values) => Ok(values),
            AttrList::Empty => Ok(&[]),
            _ => Err(self.wrong(name, "list(shape)")),
        }
    }

    /// A list of functions.
    pub fn funcs(&self, name: &str) -> Result<&'a [Func]> {
        match self.list(name, "list(func)")? {
            AttrList::Funcs(values) => Ok(values),
            AttrList::Empty => Ok(&[]),
            _ => Err(self.wrong(name, "list(func)")),
        }
    }

    /// The type or the types in an attribute.
    pub fn types_of(&self, name: &str) -> Result<&'a [DType]> {
        match self.get(name) {
            Some(AttrValue::Type(value)) => Ok(std::slice::from_ref(value)),
            _ => self.dtypes(name),
        }
    }
}
