//! The short text in which op definitions are written: `a: T`, `N: int >= 1`, `T: {float, int32}`.
//!
//! It is the language of TensorFlow's own op registrations, so a definition can be compared with
//! TensorFlow's word for word.

use bytes::Bytes;
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, internal};

use crate::{ArgDef, AttrDef, AttrList, AttrValue, Func, OpDef};

/// Parses a definition. Errors name the op: they are mistakes of its author.
pub fn parse(name: &str, inputs: &[&str], outputs: &[&str], attrs: &[&str]) -> Result<OpDef> {
    let attrs = attrs
        .iter()
        .map(|text| {
            attr(text).ok_or_else(|| internal!("op {name}: cannot read attribute `{text}`"))
        })
        .collect::<Result<Vec<_>>>()?;
    let args = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| {
                arg(text, &attrs)
                    .ok_or_else(|| internal!("op {name}: cannot read argument `{text}`"))
            })
            .collect::<Result<Vec<_>>>()
    };
    let (inputs, outputs) = (args(inputs)?, args(outputs)?);
    Ok(OpDef { name: name.to_owned(), inputs, outputs, attrs, ..OpDef::default() })
}

fn arg(text: &str, attrs: &[AttrDef]) -> Option<ArgDef> {
    let (name, kind) = text.split_once(':')?;
    let mut arg = ArgDef { name: name.trim().to_owned(), ..ArgDef::default() };
    let mut kind = kind.trim();
    if let Some(inner) = kind.strip_prefix("Ref(").and_then(|rest| rest.strip_suffix(')')) {
        (arg.is_ref, kind) = (true, inner.trim());
    }
    if let Some((number, rest)) = kind.split_once('*') {
        arg.number_attr = Some(number.trim().to_owned());
        kind = rest.trim();
    }
    match attrs.iter().find(|attr| attr.name == kind) {
        Some(attr) if attr.kind == "list(type)" => arg.type_list_attr = Some(kind.to_owned()),
        Some(_) => arg.type_attr = Some(kind.to_owned()),
        None => arg.dtype = Some(DType::from_name(kind)?),
    }
    Some(arg)
}

fn attr(text: &str) -> Option<AttrDef> {
    let (name, rest) = text.split_once(':')?;
    let (constraint, default) = match split_default(rest) {
        (constraint, Some(default)) => (constraint.trim(), Some(default.trim())),
        (constraint, None) => (constraint.trim(), None),
    };
    let (constraint, minimum) = match constraint.split_once(">=") {
        Some((kind, minimum)) => (kind.trim(), Some(minimum.trim().parse().ok()?)),
        None => (constraint, None),
    };
    let (kind, allowed) = kind_and_allowed(constraint)?;
    let default = match default {
        Some(text) => Some(value(&kind, text)?),
        None => None,
    };
    Some(AttrDef { name: name.trim().to_owned(), kind, default, minimum, allowed })
}

/// Splits at the `=` of a default, which is not the one of `>=`.
fn split_default(text: &str) -> (&str, Option<&str>) {
    let bytes = text.as_bytes();
    for (i, &byte) in bytes.iter().enumerate() {
        if byte == b'=' && (i == 0 || bytes[i - 1] != b'>') {
            return (&text[..i], Some(&text[i + 1..]));
        }
    }
    (text, None)
}

/// Names of sets of types that definitions use.
fn type_set(name: &str) -> Option<&'static [DType]> {
    use DType::*;
    const NUMBERS: &[DType] = &[
        Float,
        Double,
        Int32,
        UInt8,
        Int16,
        Int8,
        Complex64,
        Int64,
        QInt8,
        QUInt8,
        QInt32,
        BFloat16,
        QInt16,
        QUInt16,
        UInt16,
        Complex128,
        Half,
        UInt32,
        UInt64,
        Float8E5M2,
        Float8E4M3FN,
        Float8E4M3FNUZ,
        Float8E4M3B11FNUZ,
        Float8E5M2FNUZ,
        Int4,
        UInt4,
        Int2,
        UInt2,
    ];
    const REAL_NUMBERS: &[DType] =
        &[Float, Double, Int32, UInt8, Int16, Int8, Int64, BFloat16, UInt16, Half, UInt32, UInt64];
    const QUANTIZED: &[DType] = &[QInt8, QUInt8, QInt32, QInt16, QUInt16];
    match name {
        "numbertype" => Some(NUMBERS),
        "realnumbertype" | "realnumberttype" => Some(REAL_NUMBERS),
        "quantizedtype" => Some(QUANTIZED),
        _ => None,
    }
}

fn kind_and_allowed(text: &str) -> Option<(String, Option<AttrList>)> {
    if let Some(inner) = text.strip_prefix("list(").and_then(|rest| rest.strip_suffix(')')) {
        let (kind, allowed) = kind_and_allowed(inner.trim())?;
        return Some((format!("list({kind})"), allowed));
    }
    if let Some(inner) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let items: Vec<&str> =
            inner.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        if items.iter().all(|item| unquote(item).is_some()) {
            let strings = items.iter().filter_map(|item| unquote(item)).map(Bytes::from).collect();
            return Some(("string".to_owned(), Some(AttrList::Strings(strings))));
        }
        let types = items.iter().map(|item| DType::from_name(item)).collect::<Option<Vec<_>>>()?;
        return Some(("type".to_owned(), Some(AttrList::Types(types))));
    }
    if let Some(types) = type_set(text) {
        return Some(("type".to_owned(), Some(AttrList::Types(types.to_vec()))));
    }
    matches!(text, "string" | "int" | "float" | "bool" | "type" | "shape" | "tensor" | "func")
        .then(|| (text.to_owned(), None))
}

fn unquote(text: &str) -> Option<String> {
    let quoted = |q: char| text.strip_prefix(q).and_then(|rest| rest.strip_suffix(q));
    quoted('\'').or_else(|| quoted('"')).map(|inner| inner.replace("\\'", "'").replace("\\n", "\n"))
}

fn value(kind: &str, text: &str) -> Option<AttrValue> {
    if let Some(kind) = kind.strip_prefix("list(").and_then(|rest| rest.strip_suffix(')')) {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        return list(kind, &split_items(inner)).map(AttrValue::List);
    }
    Some(match kind {
        "string" => AttrValue::String(unquote(text)?.into()),
        "int" => AttrValue::Int(text.parse().ok()?),
        "float" => AttrValue::Float(text.parse().ok()?),
        "bool" => AttrValue::Bool(text.parse().ok()?),
        "type" => AttrValue::Type(dtype(text)?),
        "shape" => AttrValue::Shape(shape(text)?),
        "tensor" => AttrValue::Tensor(tensor(text)?),
        "func" => AttrValue::Func(Func { name: unquote(text)?, ..Func::default() }),
        _ => return None,
    })
}

/// Splits at commas that are not inside brackets.
fn split_items(text: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                items.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    items.push(text[start..].trim());
    items.retain(|item| !item.is_empty());
    items
}

fn list(kind: &str, items: &[&str]) -> Option<AttrList> {
    if items.is_empty() {
        return Some(AttrList::Empty);
    }
    let items = items.iter();
    Some(match kind {
        "string" => {
            AttrList::Strings(items.map(|i| unquote(i).map(Bytes::from)).collect::<Option<_>>()?)
        }
        "int" => AttrList::Ints(items.map(|i| i.parse().ok()).collect::<Option<_>>()?),
        "float" => AttrList::Floats(items.map(|i| i.parse().ok()).collect::<Option<_>>()?),
        "bool" => AttrList::Bools(items.map(|i| i.parse().ok()).collect::<Option<_>>()?),
        "type" => AttrList::Types(items.map(|i| dtype(i)).collect::<Option<_>>()?),
        "shape" => AttrList::Shapes(items.map(|i| shape(i)).collect::<Option<_>>()?),
        _ => return None,
    })
}

fn dtype(text: &str) -> Option<DType> {
    DType::from_name(&text.strip_prefix("DT_")?.to_lowercase())
}

/// `unknown`, or sizes in brackets where `?` is unknown.
fn shape(text: &str) -> Option<PartialShape> {
    if text == "unknown" {
        return Some(PartialShape::UNKNOWN);
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let dims = split_items(inner)
        .into_iter()
        .map(|item| if item == "?" { Some(None) } else { item.parse().ok().map(Some) })
        .collect::<Option<Vec<_>>>()?;
    Some(PartialShape::known(dims))
}

/// Only the fields that definitions use, of a small tensor of bytes:
/// `{ dtype: DT_UINT8 tensor_shape { dim { size: 2 } } int_val: 255 int_val: 0 }`.
fn tensor(text: &str) -> Option<Tensor> {
    let fields = |name: &'static str| {
        text.split(name).skip(1).filter_map(|rest| rest.split_whitespace().next())
    };
    let dtype = dtype(fields("dtype:").next()?)?;
    let dims: Vec<usize> = fields("size:").map(|size| size.parse().ok()).collect::<Option<_>>()?;
    let shape = Shape::new(&dims).ok()?;
    let values: Vec<u8> = fields("int_val:").map(|v| v.parse().ok()).collect::<Option<_>>()?;
    match dtype {
        DType::UInt8 => Tensor::from_slice(shape, &values).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_print_as_tensorflow_prints_them() {
        let op = parse(
            "Pack",
            &["values: N * T"],
            &["output: T"],
            &["N: int >= 1", "T: type", "axis: int = 0"],
        )
        .unwrap();
        assert_eq!(
            op.to_string(),
            "Op<name=Pack; signature=values:N*T -> output:T; attr=N:int,min=1; attr=T:type; \
             attr=axis:int,default=0>"
        );
        let op = parse(
            "X",
            &["r: Ref(T)", "h: resource", "l: Tl"],
            &[],
            &[
                "T: {float, int32} = DT_FLOAT",
                "Tl: list(type) >= 0 = []",
                "padding: {'SAME', 'VALID'}",
                "strides: list(int) >= 4 = [1, 1, 1, 1]",
                "shapes: list(shape) = [[], [?,2]]",
            ],
        )
        .unwrap();
        assert_eq!(
            op.to_string(),
            "Op<name=X; signature=r:Ref(T), h:resource, l:Tl -> ; \
             attr=T:type,default=DT_FLOAT,allowed=[DT_FLOAT, DT_INT32]; \
             attr=Tl:list(type),default=[],min=0; \
             attr=padding:string,allowed=[\"SAME\", \"VALID\"]; \
             attr=strides:list(int),default=[1, 1, 1, 1],min=4; \
             attr=shapes:list(shape),default=[[], [?,2]]>"
        );
    }

    #[test]
    fn mistakes_are_named() {
        let error = parse("Bad", &["a: U"], &[], &["T: type"]).unwrap_err();
        assert!(error.message().contains("op Bad") && error.message().contains("a: U"));
        assert!(parse("Bad", &[], &[], &["x: integer"]).is_err());
        assert!(parse("Bad", &[], &[], &["x: int = yes"]).is_err());
    }
}
