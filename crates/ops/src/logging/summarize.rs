//! Tensors as text, cut short, the way TensorFlow prints them in messages.

use std::fmt::Write;

use half::{bf16, f16};
use tensorfleet_tensor::{DType, QInt8, QInt16, QInt32, QUInt8, QUInt16, Tensor, dispatch};

/// The elements on one line, as `Assert` shows them: at most `max_entries` from the front, all if
/// that is negative.
pub(crate) fn in_line(tensor: &Tensor, max_entries: i64) -> String {
    let count = tensor.num_elements();
    let limit = limit(max_entries, count);
    if tensor.dtype() == DType::Bool && limit == 0 {
        return String::new();
    }
    let mut text = String::new();
    let mut next = 0;
    if tensor.dims().is_empty() || element(tensor, 0, false).is_none() {
        text = (0..limit).map(|i| element_text(tensor, i, false)).collect::<Vec<_>>().join(" ");
    } else {
        dimension_in_line(tensor, 0, limit, &mut next, &mut text);
    }
    if limit < count {
        text.push_str("...");
    }
    text
}

/// A tensor's type and shape with its first elements, as messages name a tensor that does not fit.
pub(crate) fn with_type(tensor: &Tensor) -> String {
    let (dtype, shape) = (tensor.dtype(), tensor.shape());
    format!("Tensor<type: {dtype} shape: {shape} values: {}>", in_line(tensor, 3))
}

fn dimension_in_line(
    tensor: &Tensor,
    dim: usize,
    limit: usize,
    next: &mut usize,
    text: &mut String,
) {
    let is_innermost = dim + 1 == tensor.rank();
    for i in 0..tensor.dims()[dim] {
        if *next >= limit {
            // Cut inside a row: the end of the whole text is marked by the caller.
            if is_innermost && dim != 0 {
                text.push_str("...");
            }
            return;
        }
        if is_innermost {
            if i > 0 {
                text.push(' ');
            }
            text.push_str(&element_text(tensor, *next, false));
            *next += 1;
        } else {
            text.push('[');
            dimension_in_line(tensor, dim + 1, limit, next, text);
            text.push(']');
        }
    }
}

/// The elements as a nested array over several lines, as `tf.print` shows them: `ends` elements of
/// either end of every dimension, all if that is negative.
pub(super) fn in_lines(tensor: &Tensor, ends: i64) -> String {
    let limit = limit(ends, tensor.num_elements());
    match (tensor.dtype(), tensor.rank(), limit) {
        // TensorFlow has its own function for Booleans.
        (DType::Bool, _, 0) => return String::new(),
        (_, 0, 0) => return "...".to_owned(),
        _ => {}
    }
    let mut text = String::new();
    dimension_in_lines(tensor, 0, limit, 0, &mut text);
    text
}

fn dimension_in_lines(tensor: &Tensor, dim: usize, ends: usize, first: usize, text: &mut String) {
    let rank = tensor.rank();
    if dim == rank {
        text.push_str(&element_text(tensor, first, true));
        return;
    }
    let count = tensor.dims()[dim];
    let stride: usize = tensor.dims()[dim + 1..].iter().product();
    let space = |text: &mut String| {
        if dim + 1 == rank {
            text.push(' ');
        } else {
            text.extend(std::iter::repeat_n('\n', rank - dim - 1));
            text.extend(std::iter::repeat_n(' ', dim + 1));
        }
    };
    text.push('[');
    for i in 0..ends.min(count) {
        if i > 0 {
            space(text);
        }
        dimension_in_lines(tensor, dim + 1, ends, first + i * stride, text);
    }
    if count > ends.saturating_mul(2) {
        space(text);
        text.push_str("...");
    }
    for i in ends.max(count.saturating_sub(ends))..count {
        space(text);
        dimension_in_lines(tensor, dim + 1, ends, first + i * stride, text);
    }
    text.push(']');
}

fn limit(max_entries: i64, count: usize) -> usize {
    usize::try_from(max_entries).map_or(count, |max| max.min(count))
}

fn element_text(tensor: &Tensor, index: usize, quoted: bool) -> String {
    element(tensor, index, quoted).unwrap_or_else(|| "?".to_owned())
}

/// One element; `None` for types that TensorFlow does not print either.
fn element(tensor: &Tensor, index: usize, quoted: bool) -> Option<String> {
    macro_rules! number {
        ($T:ty, $convert:expr) => {
            tensor.values::<$T>().ok()?.get(index).copied().map($convert)
        };
    }
    match tensor.dtype() {
        DType::Float => number!(f32, float),
        DType::Half => number!(f16, |v| float(v.to_f32())),
        DType::BFloat16 => number!(bf16, |v| float(v.to_f32())),
        DType::Double => number!(f64, double),
        DType::Bool => number!(bool, |v| u8::from(v).to_string()),
        DType::QInt8 => number!(QInt8, |v| v.0.to_string()),
        DType::QUInt8 => number!(QUInt8, |v| v.0.to_string()),
        DType::QInt16 => number!(QInt16, |v| v.0.to_string()),
        DType::QUInt16 => number!(QUInt16, |v| v.0.to_string()),
        DType::QInt32 => number!(QInt32, |v| v.0.to_string()),
        DType::String => tensor.strings().ok()?.get(index).map(|bytes| {
            let text = escape(bytes);
            if quoted { format!("\"{text}\"") } else { text }
        }),
        DType::Resource => tensor.resources().ok()?.get(index).map(|handle| {
            let contents: Vec<String> = handle
                .contents
                .iter()
                .map(|(dtype, shape)| format!("DType enum: {}, Shape: {shape}", *dtype as u8))
                .collect();
            format!(
                "<ResourceHandle(name=\"{}\", device=\"{}\", container=\"{}\", type=\"{}\", dtype \
                 and shapes : \"[ {} ]\")>",
                handle.name,
                handle.device,
                handle.container,
                demangle(&handle.type_name),
                contents.join(", ")
            )
        }),
        DType::Variant => tensor.variants().ok()?.get(index).map(|variant| {
            let name = variant.type_name();
            format!("<{}>", name.strip_prefix("tensorflow::").unwrap_or(name))
        }),
        dtype => dispatch!(
            dtype,
            [i8, i16, i32, i64, u8, u16, u32, u64],
            T => number!(T, |v| v.to_string()),
            else => None
        ),
    }
}

/// As few digits as TensorFlow thinks necessary: six, or nine if six are not exact.
fn float(value: f32) -> String {
    let short = general(f64::from(value), 6);
    if value.is_nan() || short.parse() == Ok(value) { short } else { general(value.into(), 9) }
}

fn double(value: f64) -> String {
    let short = general(value, 15);
    if value.is_nan() || short.parse() == Ok(value) { short } else { general(value, 17) }
}

/// C's `%.{digits}g`.
fn general(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "nan".to_owned()
        } else {
            (if value < 0.0 { "-inf" } else { "inf" }).to_owned()
        };
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..digits as i32).contains(&exponent) {
        let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
        return without_trailing_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_trailing_zeros(mantissa), exponent.unsigned_abs())
}

fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Bytes as in a C string; those above ASCII stay as they are.
fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '"' | '\'' | '\\' => text.extend(['\\', c]),
                '\0'..' ' | '\x7f' => octal(c as u8, &mut text),
                _ => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|&byte| octal(byte, &mut text));
    }
    text
}

fn octal(byte: u8, text: &mut String) {
    write!(text, "\\{byte:03o}").expect("a string takes everything");
}

/// `N10tensorflow3VarE` as `tensorflow::Var`; anything else as it is.
fn demangle(name: &str) -> String {
    let mut parts = Vec::new();
    let Some(mut rest) = name.strip_prefix('N') else { return name.to_owned() };
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|&end| end > 0) {
        let len: usize = rest[..digits].parse().unwrap_or(usize::MAX);
        let Some(part) = rest.get(digits..digits.saturating_add(len)) else { break };
        parts.push(part);
        rest = &rest[digits + len..];
    }
    if rest == "E" { parts.join("::") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::Shape;

    use super::*;

    fn range(shape: Shape) -> Tensor {
        let values: Vec<i32> = (0..shape.num_elements() as i32).collect();
        Tensor::from_slice(shape, &values).unwrap()
    }

    #[test]
    fn lines_are_cut_as_tensorflow_cuts_them() {
        for (dims, max, text) in [
            (&[5][..], 3, "0 1 2..."),
            (&[5], 0, "..."),
            (&[2, 2], 3, "[0 1][2...]..."),
            (&[3, 4, 5], 7, "[[0 1 2 3 4][5 6...]]..."),
            (&[3, 4, 5], 5, "[[0 1 2 3 4]]..."),
            (&[3, 1, 2], -1, "[[0 1]][[2 3]][[4 5]]"),
            (&[2, 0], 3, ""),
            (&[], 3, "0"),
        ] {
            assert_eq!(in_line(&range(Shape::new(dims).unwrap()), max), text, "{dims:?} {max}");
        }
    }

    #[test]
    fn arrays_show_both_ends_of_every_dimension() {
        for (dims, ends, text) in [
            (&[9, 2][..], 1, "[[0 1]\n ...\n [16 17]]"),
            (
                &[3, 4, 5],
                1,
                "[[[0 ... 4]\n  ...\n  [15 ... 19]]\n\n ...\n\n [[40 ... 44]\n  ...\n  [55 ... 59]]]",
            ),
            (&[2, 0], 3, "[\n ...]"),
            (&[0], 3, "[]"),
            (&[3], -1, "[0 1 2]"),
        ] {
            assert_eq!(in_lines(&range(Shape::new(dims).unwrap()), ends), text, "{dims:?} {ends}");
        }
    }

    #[test]
    fn numbers_have_the_digits_that_tensorflow_gives_them() {
        for (value, text) in [
            (1.0 / 3.0, "0.333333343"),
            (0.1, "0.1"),
            (1e-10, "1e-10"),
            (1e20, "1e+20"),
            (123_456.79, "123456.789"),
            (1e6, "1e+06"),
            (1e5, "100000"),
            (16_777_216.0, "16777216"),
            (1.5e-5, "1.5e-05"),
            (-0.0, "-0"),
            (f32::NEG_INFINITY, "-inf"),
            (f32::NAN, "nan"),
        ] {
            assert_eq!(float(value), text);
        }
        assert_eq!(double(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(double(1e15), "1e+15");
        assert_eq!(double(123_456_789_012_345.0), "123456789012345");
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(escape("b\0\n'\"\\\té".as_bytes()), "b\\000\\n\\'\\\"\\\\\\té");
        assert_eq!(demangle("N10tensorflow3VarE"), "tensorflow::Var");
    }
}
