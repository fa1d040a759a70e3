//! `DecodeJSONExample`: examples written in JSON, encoded as messages.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Error, Result, Tensor, invalid_argument};

use super::fields::put_varint;
use super::json::{Json, parse};

pub(super) const OPS: &[Op] = &[Op {
    name: "DecodeJSONExample",
    inputs: &["json_examples: string"],
    outputs: &["binary_examples: string"],
    kernels: &[cpu::<DecodeJsonExample>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct DecodeJsonExample;

impl Kernel for DecodeJsonExample {
    fn new(_: &Attrs<'_>) -> Result<DecodeJsonExample> {
        Ok(DecodeJsonExample)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let mut examples = Vec::with_capacity(input.num_elements());
        for bytes in input.strings()? {
            let text = std::str::from_utf8(bytes).map_err(|_| wrong("invalid UTF-8"))?;
            let json = parse(text).map_err(|reason| wrong(&reason))?;
            examples.push(example(&json)?.into());
        }
        let output = Tensor::from_strings(input.shape().clone(), examples)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn wrong(reason: &str) -> Error {
    invalid_argument!("Error while parsing JSON: {reason}")
}

/// The members of an object. Those that are null are as if they were not there.
fn members(json: &Json) -> Result<impl Iterator<Item = (&str, &Json)>> {
    match json {
        Json::Object(members) => Ok(members
            .iter()
            .filter(|(_, value)| *value != Json::Null)
            .map(|(key, value)| (key.as_str(), value))),
        _ => Err(wrong("expected an object")),
    }
}

fn put_message(out: &mut Vec<u8>, number: u64, message: &[u8]) {
    put_varint(out, number << 3 | 2);
    put_varint(out, message.len() as u64);
    out.extend_from_slice(message);
}

fn unknown(field: &str) -> Error {
    wrong(&format!("no such field: '{field}'"))
}

fn example(json: &Json) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (key, value) in members(json)? {
        match key {
            "features" => put_message(&mut out, 1, &features(value)?),
            _ => return Err(unknown(key)),
        }
    }
    Ok(out)
}

fn features(json: &Json) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (key, value) in members(json)? {
        if key != "feature" {
            return Err(unknown(key));
        }
        for (name, value) in members(value)? {
            let mut entry = Vec::new();
            put_message(&mut entry, 1, name.as_bytes());
            put_message(&mut entry, 2, &feature(value)?);
            put_message(&mut out, 1, &entry);
        }
    }
    Ok(out)
}

/// Appends a value of a list in its encoding.
type Put = fn(&Json, &mut Vec<u8>) -> Result<()>;

fn feature(json: &Json) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (key, value) in members(json)? {
        let (number, put): (u64, Put) = match key {
            "bytesList" | "bytes_list" => (1, put_bytes),
            "floatList" | "float_list" => (2, put_float),
            "int64List" | "int64_list" => (3, put_int),
            _ => return Err(unknown(key)),
        };
        let mut list = Vec::new();
        for (key, value) in members(value)? {
            if key != "value" {
                return Err(unknown(key));
            }
            // A value that is no array is an array of one.
            let items = match value {
                Json::Array(items) => items.as_slice(),
                one => std::slice::from_ref(one),
            };
            for item in items {
                put(item, &mut list)?;
            }
        }
        put_message(&mut out, number, &list);
    }
    Ok(out)
}

fn put_bytes(json: &Json, out: &mut Vec<u8>) -> Result<()> {
    let Json::String(text) = json else { return Err(wrong("expected a string")) };
    // Both alphabets are read, with padding and without.
    let plain: String = text
        .trim_end_matches('=')
        .chars()
        .map(|c| match c {
            '+' => '-',
            '/' => '_',
            other => other,
        })
        .collect();
    let bytes =
        crate::string::base64::decode(plain.as_bytes()).map_err(|_| wrong("corrupt base64"))?;
    put_message(out, 1, &bytes);
    Ok(())
}

fn put_float(json: &Json, out: &mut Vec<u8>) -> Result<()> {
    let value: Option<f32> = match json {
        Json::Number(text) => text.parse().ok(),
        Json::String(text) => match text.as_str() {
            "NaN" => Some(f32::NAN),
            "Infinity" => Some(f32::INFINITY),
            "-Infinity" => Some(f32::NEG_INFINITY),
            other if other.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                other.parse().ok()
            }
            _ => None,
        },
        _ => None,
    };
    let value = value.ok_or_else(|| wrong("expected a number"))?;
    put_varint(out, 1 << 3 | 5);
    out.extend_from_slice(&value.to_le_bytes());
    Ok(())
}

fn put_int(json: &Json, out: &mut Vec<u8>) -> Result<()> {
    let (Json::Number(text) | Json::String(text)) = json else {
        return Err(wrong("expected an integer"));
    };
    let value = text.parse().ok().or_else(|| {
        // `1e3` is an integer too.
        let value: f64 = text.parse().ok()?;
        let fits = value.fract() == 0.0 && value.abs() < 9.2e18;
        fits.then_some(value as i64)
    });
    let value: i64 = value.ok_or_else(|| wrong("expected integer"))?;
    put_varint(out, 1 << 3);
    put_varint(out, value as u64);
    Ok(())
}
