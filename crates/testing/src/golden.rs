//! Replays one-op cases recorded from TensorFlow.
//!
//! A file holds a JSON object a line: `op`, `attrs`, `inputs`, and either `outputs` or the `error`
//! code; see `conformance/differential` for who writes them. An input may be the first value of a
//! variable; what variables hold afterwards is compared too.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;
use tensorfleet_framework::{Registry, StepContext, Value, Variable};
use tensorfleet_graph::{AttrList, AttrValue};
use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, dispatch, invalid_argument};

use crate::{OpRun, step_context};

#[derive(Deserialize)]
pub(crate) struct Case {
    op: String,
    attrs: BTreeMap<String, Json>,
    inputs: Vec<Array>,
    #[serde(default)]
    outputs: Option<Vec<Array>>,
    #[serde(default)]
    error: Option<Failure>,
    /// How far floating-point results may be from TensorFlow's, relative to their size.
    #[serde(default)]
    tolerance: Option<f64>,
}

#[derive(Deserialize)]
struct Failure {
    code: i32,
}

#[derive(Deserialize)]
struct Array {
    dtype: String,
    shape: Vec<usize>,
    data: Vec<Json>,
    #[serde(default)]
    variable: Option<VariableKind>,
}

/// How an op gets a variable.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum VariableKind {
    Ref,
    Resource,
}

/// Runs every case of a file; an error lists all differences.
pub fn check_golden(registry: &Registry, file: &Path) -> std::result::Result<(), String> {
    let text = std::fs::read_to_string(file).expect("the golden file is there");
    let mut failures = Vec::new();
    let mut count = 0;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let case: Case = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{}:{}: {error}", file.display(), number + 1));
        count += 1;
        if let Err(difference) = check(registry, &case) {
            failures.push(format!("line {}: {}: {difference}", number + 1, case.op));
        }
    }
    assert!(count > 0, "{} has no cases", file.display());
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}: {} of {count} cases differ from TensorFlow\n{}",
        file.display(),
        failures.len(),
        failures[..failures.len().min(40)].join("\n")
    ))
}

/// Runs the op of a case; returns its outputs, then the values of its variables.
pub(crate) fn run(
    registry: &Registry,
    case: &Case,
) -> std::result::Result<Result<Vec<Tensor>>, String> {
    let mut run = OpRun::new(&case.op);
    for (name, value) in &case.attrs {
        run = run.attr(name, attr(value).map_err(|error| format!("attr {name}: {error}"))?);
    }
    let step = step_context();
    let mut variables = Vec::new();
    for input in &case.inputs {
        let value = tensor(input).map_err(|error| error.to_string())?;
        run = run.input(match input.variable {
            None => Value::Tensor(value),
            Some(kind) => {
                variable(kind, value, &step, &mut variables).map_err(|error| error.to_string())?
            }
        });
    }
    Ok(run.run_values(registry, &step).and_then(|outputs| {
        // A reference is to one of the variables.
        let tensors = outputs.into_iter().filter_map(|value| match value {
            Value::Tensor(tensor) => Some(Ok(tensor)),
            Value::Ref(_) | Value::Empty => None,
        });
        tensors.chain(variables.iter().map(|variable| variable.read())).collect::<Result<Vec<_>>>()
    }))
}

fn check(registry: &Registry, case: &Case) -> std::result::Result<(), String> {
    let outputs = run(registry, case)?;
    match (outputs, &case.outputs, &case.error) {
        (Err(error), _, Some(failure)) if error.code() as i32 == failure.code => Ok(()),
        (Err(error), _, Some(failure)) => {
            Err(format!("wanted an error of code {}, got {error}", failure.code))
        }
        (Ok(outputs), _, Some(failure)) => {
            Err(format!("wanted an error of code {}, got {outputs:?}", failure.code))
        }
        (Err(error), _, None) => Err(format!("unexpected error {error}")),
        (Ok(outputs), Some(want), None) => compare_all(&outputs, want, case.tolerance),
        (Ok(_), None, None) => Err("the case has neither outputs nor an error".to_owned()),
    }
}

/// Makes a variable with a value, and the input by which an op gets it.
fn variable(
    kind: VariableKind,
    value: Tensor,
    step: &StepContext,
    variables: &mut Vec<Arc<Variable>>,
) -> Result<Value> {
    let name = format!("v{}", variables.len());
    let dtype = value.dtype();
    let resources = &step.resources;
    let variable = resources.lookup_or_create("", &name, || Ok(Variable::new(&name, dtype)))?;
    variable.assign(value)?;
    variables.push(Arc::clone(&variable));
    Ok(match kind {
        VariableKind::Ref => Value::Ref(variable),
        VariableKind::Resource => Value::Tensor(Tensor::resource(resources.handle::<Variable>(
            &step.device,
            "",
            &name,
            Vec::new(),
        ))),
    })
}

fn compare_all(
    have: &[Tensor],
    want: &[Array],
    tolerance: Option<f64>,
) -> std::result::Result<(), String> {
    if have.len() != want.len() {
        return Err(format!("{} outputs instead of {}", have.len(), want.len()));
    }
    for (i, (have, want)) in have.iter().zip(want).enumerate() {
        let want = tensor(want).map_err(|error| error.to_string())?;
        if have.dtype() != want.dtype() || have.shape() != want.shape() {
            return Err(format!("output {i}: wanted {want:?}, got {have:?}"));
        }
        let same = if have.dtype() == DType::String {
            have.strings().ok() == want.strings().ok()
        } else {
            let tolerance = tolerance.unwrap_or_else(|| default_tolerance(have.dtype()));
            close(&numbers(have), &numbers(&want), tolerance)
        };
        if !same {
            return Err(format!("output {i}: wanted {want:?}, got {have:?}"));
        }
    }
    Ok(())
}

/// Sums in another order and other implementations of transcendental functions move last bits.
fn default_tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::Float | DType::Complex64 => 2e-6,
        DType::Double | DType::Complex128 => 1e-12,
        DType::Half => 2e-3,
        DType::BFloat16 => 1.6e-2,
        _ => 0.0,
    }
}

fn close(have: &[f64], want: &[f64], tolerance: f64) -> bool {
    have.len() == want.len()
        && have.iter().zip(want).all(|(have, want)| {
            (have.is_nan() && want.is_nan())
                || have == want
                || (have - want).abs() <= tolerance * want.abs().max(1.0)
        })
}

/// All elements as numbers, complex ones as two.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    use half::{bf16, f16};
    use num_complex::Complex;
    match tensor.dtype() {
        DType::Double => tensor.values::<f64>().unwrap_or_default().to_vec(),
        DType::Half => {
            tensor.values::<f16>().unwrap_or_default().iter().map(|v| v.to_f64()).collect()
        }
        DType::BFloat16 => {
            tensor.values::<bf16>().unwrap_or_default().iter().map(|v| v.to_f64()).collect()
        }
        DType::Bool => tensor
            .values::<bool>()
            .unwrap_or_default()
            .iter()
            .map(|&v| f64::from(u8::from(v)))
            .collect(),
        DType::Complex64 => tensor
            .values::<Complex<f32>>()
            .unwrap_or_default()
            .iter()
            .flat_map(|v| [f64::from(v.re), f64::from(v.im)])
            .collect(),
        DType::Complex128 => tensor
            .values::<Complex<f64>>()
            .unwrap_or_default()
            .iter()
            .flat_map(|v| [v.re, v.im])
            .collect(),
        dtype => dispatch!(
            dtype,
            [f32, i8, i16, i32, i64, u8, u16, u32, u64],
            T => tensor.values::<T>().unwrap_or_default().iter().map(|&v| v as f64).collect(),
            else => tensor.raw().iter().map(|&v| f64::from(v)).collect()
        ),
    }
}

fn number(json: &Json) -> f64 {
    match json {
        Json::Number(n) => n.as_f64().unwrap_or(f64::NAN),
        Json::String(text) => match text.as_str() {
            "Infinity" | "inf" => f64::INFINITY,
            "-Infinity" | "-inf" => f64::NEG_INFINITY,
            _ => f64::NAN,
        },
        Json::Bool(b) => f64::from(u8::from(*b)),
        _ => f64::NAN,
    }
}

fn integer(json: &Json) -> i128 {
    match json {
        Json::Number(n) => n
            .as_i64()
            .map(i128::from)
            .or_else(|| n.as_u64().map(i128::from))
            .unwrap_or_else(|| n.as_f64().unwrap_or(0.0) as i128),
        Json::Bool(b) => i128::from(*b),
        _ => 0,
    }
}

fn dtype_named(name: &str) -> Result<DType> {
    let name = name.strip_prefix("DT_").unwrap_or(name).to_lowercase();
    let name = match name.as_str() {
        "float32" => "float",
        "float64" => "double",
        "float16" => "half",
        other => other,
    };
    DType::from_name(name).ok_or_else(|| invalid_argument!("unknown type {name}"))
}

fn tensor(array: &Array) -> Result<Tensor> {
    use half::{bf16, f16};
    use num_complex::Complex;
    use tensorfleet_tensor::{QInt8, QInt16, QInt32, QUInt8, QUInt16};
    let shape = Shape::new(&array.shape)?;
    let data = &array.data;
    let part = |json: &Json, i: usize| json.get(i).map_or(0.0, number);
    macro_rules! of {
        ($T:ty, $convert:expr) => {
            Tensor::from_slice(shape, &data.iter().map($convert).collect::<Vec<$T>>())
        };
    }
    match dtype_named(&array.dtype)? {
        DType::Float => of!(f32, |v| number(v) as f32),
        DType::Double => of!(f64, number),
        DType::Half => of!(f16, |v| f16::from_f64(number(v))),
        DType::BFloat16 => of!(bf16, |v| bf16::from_f64(number(v))),
        DType::Int8 => of!(i8, |v| integer(v) as i8),
        DType::Int16 => of!(i16, |v| integer(v) as i16),
        DType::Int32 => of!(i32, |v| integer(v) as i32),
        DType::Int64 => of!(i64, |v| integer(v) as i64),
        DType::UInt8 => of!(u8, |v| integer(v) as u8),
        DType::UInt16 => of!(u16, |v| integer(v) as u16),
        DType::UInt32 => of!(u32, |v| integer(v) as u32),
        DType::UInt64 => of!(u64, |v| integer(v) as u64),
        DType::Bool => of!(bool, |v| integer(v) != 0),
        DType::QInt8 => of!(QInt8, |v| QInt8(integer(v) as i8)),
        DType::QUInt8 => of!(QUInt8, |v| QUInt8(integer(v) as u8)),
        DType::QInt16 => of!(QInt16, |v| QInt16(integer(v) as i16)),
        DType::QUInt16 => of!(QUInt16, |v| QUInt16(integer(v) as u16)),
        DType::QInt32 => of!(QInt32, |v| QInt32(integer(v) as i32)),
        DType::Complex64 => {
            of!(Complex<f32>, |v| Complex::new(part(v, 0) as f32, part(v, 1) as f32))
        }
        DType::Complex128 => of!(Complex<f64>, |v| Complex::new(part(v, 0), part(v, 1))),
        DType::String => {
            let values = data.iter().map(|v| Ok(base64(v.as_str().unwrap_or(""))?.into()));
            Tensor::from_strings(shape, values.collect::<Result<_>>()?)
        }
        other => Err(invalid_argument!("no golden values of type {other}")),
    }
}

fn base64(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for c in text.bytes().filter(|&c| c != b'=') {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(invalid_argument!("not base64: {text}")),
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Ok(bytes)
}

fn attr(json: &Json) -> Result<AttrValue> {
    let bad = || invalid_argument!("cannot read {json}");
    let (kind, value) = json.as_object().and_then(|o| o.iter().next()).ok_or_else(bad)?;
    Ok(match kind.as_str() {
        "type" => AttrValue::Type(dtype_named(value.as_str().ok_or_else(bad)?)?),
        "i" => AttrValue::Int(integer(value) as i64),
        "f" => AttrValue::Float(number(value) as f32),
        "b" => AttrValue::Bool(value.as_bool().ok_or_else(bad)?),
        "s" => AttrValue::String(base64(value.as_str().ok_or_else(bad)?)?.into()),
        "shape" => AttrValue::Shape(partial_shape(value)),
        "list" => AttrValue::List(attr_list(value.as_array().ok_or_else(bad)?)?),
        _ => return Err(bad()),
    })
}

fn partial_shape(json: &Json) -> PartialShape {
    match json.as_array() {
        None => PartialShape::UNKNOWN,
        Some(dims) => PartialShape::known(dims.iter().map(|d| usize::try_from(integer(d)).ok())),
    }
}

fn attr_list(items: &[Json]) -> Result<AttrList> {
    let values: Vec<AttrValue> = items.iter().map(attr).collect::<Result<_>>()?;
    macro_rules! collect {
        ($variant:ident, $list:ident) => {
            AttrList::$list(
                values
                    .into_iter()
                    .map(|value| match value {
                        AttrValue::$variant(value) => Ok(value),
                        other => Err(invalid_argument!("a mixed list with {other}")),
                    })
                    .collect::<Result<_>>()?,
            )
        };
    }
    Ok(match values.first() {
        None => AttrList::Empty,
        Some(AttrValue::Type(_)) => collect!(Type, Types),
        Some(AttrValue::Int(_)) => collect!(Int, Ints),
        Some(AttrValue::Float(_)) => collect!(Float, Floats),
        Some(AttrValue::Bool(_)) => collect!(Bool, Bools),
        Some(AttrValue::String(_)) => collect!(String, Strings),
        Some(AttrValue::Shape(_)) => collect!(Shape, Shapes),
        Some(other) => return Err(invalid_argument!("no lists of {other}")),
    })
}
