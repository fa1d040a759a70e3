//! Numbers as people write them in files.

use std::str::FromStr;

/// Cuts off white space as C knows it.
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
    while let [first, rest @ ..] = text
        && is_space(first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(last)
    {
        text = rest;
    }
    text
}

/// Reads an integer with white space around it.
pub(crate) fn integer<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(trim(text)).ok()?.parse().ok()
}

/// A floating-point type that can be read from text.
pub(crate) trait Float: FromStr {
    fn from_f64(value: f64) -> Self;
}

impl Float for f32 {
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
}

impl Float for f64 {
    fn from_f64(value: f64) -> f64 {
        value
    }
}

/// Reads a floating-point number with white space around it: decimal, hexadecimal, or a word.
pub(crate) fn float<T: Float>(text: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(trim(text)).ok()?;
    text.parse().ok().or_else(|| unusual(text).map(T::from_f64))
}

/// What C reads and Rust does not: `0x1.8p3` and `nan(7)`.
fn unusual(text: &str) -> Option<f64> {
    let (negative, magnitude) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = magnitude.to_ascii_lowercase();
    if lower.starts_with("nan(") && lower.ends_with(')') {
        return Some(f64::NAN);
    }
    let digits = lower.strip_prefix("0x")?;
    let (mantissa, exponent) = match digits.split_once('p') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    value *= 2.0f64.powi(exponent.checked_sub(shift)?);
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_tensorflow_reads_them() {
        for (text, value) in [
            (" 1.5\x0b", Some(1.5)),
            ("0x1.8p1", Some(3.0)),
            ("-0x10", Some(-16.0)),
            ("1e400", Some(f64::INFINITY)),
            ("5.", Some(5.0)),
            ("1e", None),
            ("0x", None),
            ("- 5", None),
            ("", None),
        ] {
            assert_eq!(float::<f64>(text.as_bytes()), value, "{text}");
        }
        assert!(float::<f32>(b"NaN(1)").is_some_and(f32::is_nan));
        assert_eq!(integer::<i32>(b" +5\n"), Some(5));
        assert_eq!(integer::<i32>(b"99999999999"), None);
        assert_eq!(integer::<u32>(b"-0"), None);
    }
}
