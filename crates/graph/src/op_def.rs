//! Signatures of ops and functions, and the types that they give to a node's inputs and outputs.

use std::fmt;
use std::ops::Range;

use tensorfleet_tensor::{DType, Result, invalid_argument};

use crate::{AttrList, AttrMap, AttrValue, Nature};

/// The signature of an op or a function.
#[derive(Clone, Debug, Default)]
pub struct OpDef {
    pub name: String,
    pub inputs: Vec<ArgDef>,
    pub outputs: Vec<ArgDef>,
    pub attrs: Vec<AttrDef>,
    pub control_outputs: Vec<String>,
    pub is_stateful: bool,
    pub is_commutative: bool,
    pub is_aggregate: bool,
    pub allows_uninitialized_input: bool,
    pub is_distributed_communication: bool,
    pub nature: Nature,
}

/// One input or output argument: one tensor, several of one type, or a list of types.
#[derive(Clone, Debug, Default)]
pub struct ArgDef {
    pub name: String,
    /// The fixed type, when no attribute gives it.
    pub dtype: Option<DType>,
    /// The attribute that gives the type.
    pub type_attr: Option<String>,
    /// The attribute that gives how many tensors there are.
    pub number_attr: Option<String>,
    /// The attribute that gives a list of types, one tensor each.
    pub type_list_attr: Option<String>,
    pub is_ref: bool,
}

/// One attribute.
#[derive(Clone, Debug)]
pub struct AttrDef {
    pub name: String,
    /// TensorFlow's name of the kind: `type`, `int`, `list(type)`, ...
    pub kind: String,
    pub default: Option<AttrValue>,
    pub minimum: Option<i64>,
    /// The values allowed, of types or strings.
    pub allowed: Option<AttrList>,
}

/// What flows along an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueType {
    pub dtype: DType,
    pub is_ref: bool,
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, if self.is_ref { "_ref" } else { "" })
    }
}

impl OpDef {
    /// The definition of the attribute `name`.
    pub fn attr(&self, name: &str) -> Option<&AttrDef> {
        self.attrs.iter().find(|attr| attr.name == name)
    }

    /// The types of all inputs of a node with these attributes, arguments flattened.
    pub fn input_types(&self, attrs: &AttrMap) -> Result<Vec<ValueType>> {
        self.flatten(&self.inputs, attrs)
    }

    /// The types of all outputs of a node with these attributes, arguments flattened.
    pub fn output_types(&self, attrs: &AttrMap) -> Result<Vec<ValueType>> {
        self.flatten(&self.outputs, attrs)
    }

    fn flatten(&self, args: &[ArgDef], attrs: &AttrMap) -> Result<Vec<ValueType>> {
        let mut types = Vec::new();
        for arg in args {
            self.push_arg(arg, attrs, &mut types)?;
        }
        Ok(types)
    }

    /// How many tensors each input argument has, by name.
    pub fn input_ranges(&self, attrs: &AttrMap) -> Result<Vec<(&str, Range<usize>)>> {
        self.ranges(&self.inputs, attrs)
    }

    /// How many tensors each output argument has, by name: how functions name a node's outputs.
    pub fn output_ranges(&self, attrs: &AttrMap) -> Result<Vec<(&str, Range<usize>)>> {
        self.ranges(&self.outputs, attrs)
    }

    fn ranges<'a>(
        &self,
        args: &'a [ArgDef],
        attrs: &AttrMap,
    ) -> Result<Vec<(&'a str, Range<usize>)>> {
        let mut types = Vec::new();
        let mut ranges = Vec::new();
        for arg in args {
            let start = types.len();
            self.push_arg(arg, attrs, &mut types)?;
            ranges.push((arg.name.as_str(), start..types.len()));
        }
        Ok(ranges)
    }

    fn push_arg(&self, arg: &ArgDef, attrs: &AttrMap, types: &mut Vec<ValueType>) -> Result<()> {
        let is_ref = arg.is_ref;
        if let Some(name) = &arg.type_list_attr {
            match self.expect_attr(attrs, name)? {
                AttrValue::List(AttrList::Types(list)) => {
                    types.extend(list.iter().map(|&dtype| ValueType { dtype, is_ref }));
                }
                AttrValue::List(list) if list.is_empty() => {}
                other => return Err(self.wrong_attr(name, "list(type)", other)),
            }
            return Ok(());
        }
        let dtype = match (&arg.type_attr, arg.dtype) {
            (Some(name), _) => match self.expect_attr(attrs, name)? {
                AttrValue::Type(dtype) => *dtype,
                other => return Err(self.wrong_attr(name, "type", other)),
            },
            (None, Some(dtype)) => dtype,
            (None, None) => {
                return Err(invalid_argument!(
                    "Op '{}': argument '{}' has no type",
                    self.name,
                    arg.name
                ));
            }
        };
        let count = match &arg.number_attr {
            None => 1,
            Some(name) => match self.expect_attr(attrs, name)? {
                AttrValue::Int(n) if (0..=MAX_ARG_COUNT).contains(n) => *n as usize,
                other => return Err(self.wrong_attr(name, "int", other)),
            },
        };
        types.extend(std::iter::repeat_n(ValueType { dtype, is_ref }, count));
        Ok(())
    }

    fn expect_attr<'a>(&self, attrs: &'a AttrMap, name: &str) -> Result<&'a AttrValue> {
        attrs
            .get(name)
            .ok_or_else(|| invalid_argument!("NodeDef missing attr '{name}' from {self}"))
    }

    fn wrong_attr(&self, name: &str, kind: &str, value: &AttrValue) -> tensorfleet_tensor::Error {
        invalid_argument!(
            "AttrValue '{name}' of Op '{}' must be of type {kind}, got {value}",
            self.name
        )
    }
}

impl ArgDef {
    /// Whether the argument is a list of tensors, even of one.
    pub fn is_list(&self) -> bool {
        self.number_attr.is_some() || self.type_list_attr.is_some()
    }
}

/// More tensors than this in one argument is nonsense, and not worth allocating for.
const MAX_ARG_COUNT: i64 = 1 << 20;

/// Prints a signature as TensorFlow's messages do.
impl fmt::Display for OpDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args =
            |args: &[ArgDef]| args.iter().map(ArgDef::to_string).collect::<Vec<_>>().join(", ");
        write!(
            f,
            "Op<name={}; signature={} -> {}",
            self.name,
            args(&self.inputs),
            args(&self.outputs)
        )?;
        for attr in &self.attrs {
            write!(f, "; attr={attr}")?;
        }
        if self.is_stateful {
            write!(f, "; is_stateful=true")?;
        }
        f.write_str(">")
    }
}

impl fmt::Display for ArgDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.name)?;
        if self.is_ref {
            f.write_str("Ref(")?;
        }
        if let Some(number) = &self.number_attr {
            write!(f, "{number}*")?;
        }
        match (&self.type_list_attr, &self.type_attr, self.dtype) {
            (Some(name), _, _) | (None, Some(name), _) => f.write_str(name)?,
            (None, None, Some(dtype)) => f.write_str(dtype.name())?,
            (None, None, None) => f.write_str("?")?,
        }
        if self.is_ref { f.write_str(")") } else { Ok(()) }
    }
}

impl fmt::Display for AttrDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.kind)?;
        if let Some(default) = &self.default {
            write!(f, ",default={default}")?;
        }
        if let Some(minimum) = self.minimum {
            write!(f, ",min={minimum}")?;
        }
        if let Some(allowed) = &self.allowed {
            write!(f, ",allowed={}", AttrValue::List(allowed.clone()))?;
        }
        Ok(())
    }
}
