//! Numbers as C's `printf` writes them.

/// How the places that a number leaves free are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Flag {
    #[default]
    None,
    /// A blank in front of positive numbers.
    Blank,
    /// A plus in front of positive numbers.
    Plus,
    /// Blanks behind instead of in front.
    Left,
    /// Zeros between the sign and the digits.
    Zeros,
    /// The decimal point even where nothing follows.
    Point,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Fixed,
    Scientific,
    /// The shorter of the two.
    General,
}

/// One `%` directive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Directive {
    pub(super) flag: Flag,
    pub(super) width: usize,
    /// Digits; six if nothing is said.
    pub(super) precision: Option<usize>,
    pub(super) notation: Notation,
}

impl Directive {
    /// Writes an integer.
    pub(super) fn integer_to(&self, value: i128, signed: bool, out: &mut Vec<u8>) {
        let sign = match value {
            ..0 => "-",
            _ if signed => self.plus(),
            _ => "",
        };
        // Integers have at most 64 bits.
        let magnitude = value.unsigned_abs() as u64;
        if self.width == 0 {
            out.extend_from_slice(sign.as_bytes());
            return digits_to(magnitude, 1, out);
        }
        out.extend_from_slice(self.place(sign, &magnitude.to_string(), true).as_bytes());
    }

    /// Writes a floating-point number.
    pub(super) fn float_to(&self, value: f64, out: &mut Vec<u8>) {
        let precision = self.precision.unwrap_or(6);
        if self.width == 0
            && self.notation == Notation::Fixed
            && (1..=MOST_DECIMALS).contains(&precision)
            && let Some(shifted) = shifted(value.abs(), precision)
        {
            let unit = 10u64.pow(precision as u32);
            let sign = if value.is_sign_negative() { "-" } else { self.plus() };
            out.extend_from_slice(sign.as_bytes());
            digits_to(shifted / unit, 1, out);
            out.push(b'.');
            return digits_to(shifted % unit, precision, out);
        }
        out.extend_from_slice(self.float(value).as_bytes());
    }

    /// A floating-point number.
    fn float(&self, value: f64) -> String {
        let sign = if value.is_sign_negative() { "-" } else { self.plus() };
        let magnitude = value.abs();
        if !magnitude.is_finite() {
            return self.place(sign, if magnitude.is_nan() { "nan" } else { "inf" }, false);
        }
        let precision = self.precision.unwrap_or(6);
        let digits = match self.notation {
            Notation::Fixed => self.with_point(format!("{magnitude:.precision$}")),
            Notation::Scientific => self.scientific(magnitude, precision),
            Notation::General => self.general(magnitude, precision.max(1)),
        };
        self.place(sign, &digits, true)
    }

    /// Text that is only moved to its place; the precision limits its length.
    pub(super) fn text(&self, bytes: &[u8]) -> Vec<u8> {
        let bytes = &bytes[..bytes.len().min(self.precision.unwrap_or(usize::MAX))];
        let mut out = bytes.to_vec();
        let free = self.width.saturating_sub(bytes.len());
        if self.flag == Flag::Left {
            out.resize(bytes.len() + free, b' ');
        } else {
            out.splice(0..0, std::iter::repeat_n(b' ', free));
        }
        out
    }

    fn plus(&self) -> &'static str {
        match self.flag {
            Flag::Plus => "+",
            Flag::Blank => " ",
            _ => "",
        }
    }

    fn place(&self, sign: &str, digits: &str, zeros_fit: bool) -> String {
        let free = self.width.saturating_sub(sign.len() + digits.len());
        match self.flag {
            Flag::Left => format!("{sign}{digits}{}", " ".repeat(free)),
            Flag::Zeros if zeros_fit => format!("{sign}{}{digits}", "0".repeat(free)),
            _ => format!("{}{sign}{digits}", " ".repeat(free)),
        }
    }

    fn with_point(&self, mut digits: String) -> String {
        if self.flag == Flag::Point && !digits.contains('.') {
            digits.push('.');
        }
        digits
    }

    fn scientific(&self, magnitude: f64, precision: usize) -> String {
        let (mantissa, exponent) = split(magnitude, precision);
        join(&self.with_point(mantissa), exponent)
    }

    fn general(&self, magnitude: f64, digits: usize) -> String {
        let (mantissa, exponent) = split(magnitude, digits - 1);
        if exponent >= -4 && exponent < digits as i64 {
            let decimals = (digits as i64 - 1 - exponent) as usize;
            return self.shortened(format!("{magnitude:.decimals$}"));
        }
        join(&self.shortened(mantissa), exponent)
    }

    /// Without the zeros at the end, unless they are asked for.
    fn shortened(&self, digits: String) -> String {
        if self.flag == Flag::Point {
            return self.with_point(digits);
        }
        if digits.contains('.') {
            return digits.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
        digits
    }
}

/// Decimals up to which whole numbers of 128 bits tell the nearest decimal number.
const MOST_DECIMALS: usize = 6;

/// A positive number times a power of ten, rounded to the nearest whole one, ties to even: the digits
/// of `%f`. Nothing for numbers that are too large for this.
fn shifted(magnitude: f64, decimals: usize) -> Option<u64> {
    // Then the mantissa always has a fraction, and the result fits into 63 bits.
    if magnitude.is_nan() || magnitude >= (1u64 << 43) as f64 {
        return None;
    }
    let bits = magnitude.to_bits();
    let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    // The number is the mantissa without its last `shift` binary places.
    let (mantissa, shift) = match exponent {
        0 => (fraction, 1074),
        _ => (fraction | 1 << 52, 1075 - exponent as u32),
    };
    let product = u128::from(mantissa) * 10u128.pow(decimals as u32);
    if shift > 100 {
        // Less than a half, whatever the mantissa.
        return Some(0);
    }
    let (whole, rest) = ((product >> shift) as u64, product & ((1 << shift) - 1));
    let half = 1u128 << (shift - 1);
    let up = rest > half || rest == half && whole % 2 == 1;
    Some(whole + u64::from(up))
}

/// Writes a number with at least so many digits.
fn digits_to(mut value: u64, least: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while value > 0 {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - least)..]);
}

fn split(magnitude: f64, decimals: usize) -> (String, i64) {
    let text = format!("{magnitude:.decimals$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

fn join(mantissa: &str, exponent: i64) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_look_as_in_c() {
        let plain =
            Directive { flag: Flag::None, width: 0, precision: None, notation: Notation::Fixed };
        assert_eq!(plain.float(1.5), "1.500000");
        let zeros = Directive { flag: Flag::Zeros, width: 9, ..plain };
        assert_eq!(zeros.float(-1.5), "-1.500000");
        assert_eq!(zeros.float(f64::INFINITY), "      inf");
        let integer = |directive: Directive, value| {
            let mut out = Vec::new();
            directive.integer_to(value, true, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(integer(zeros, -5), "-00000005");
        assert_eq!(integer(plain, i64::MIN.into()), i64::MIN.to_string());
        assert_eq!(integer(plain, 0), "0");
        let general = Directive { notation: Notation::General, ..plain };
        assert_eq!(general.float(1e-7), "1e-07");
        assert_eq!(general.float(100_000.0), "100000");
        assert_eq!(general.float(1_000_000.0), "1e+06");
        let point = Directive { flag: Flag::Point, ..general };
        assert_eq!(point.float(1.5), "1.50000");
        let scientific = Directive { notation: Notation::Scientific, precision: Some(0), ..plain };
        assert_eq!(scientific.float(12345.0), "1e+04");
    }

    #[test]
    fn quick_digits_are_the_slow_ones() {
        let mut bits = 1u64;
        for precision in 1..=MOST_DECIMALS {
            let directive = Directive {
                flag: Flag::None,
                width: 0,
                precision: Some(precision),
                notation: Notation::Fixed,
            };
            let check = |value: f64| {
                let mut out = Vec::new();
                directive.float_to(value, &mut out);
                assert_eq!(String::from_utf8(out).unwrap(), directive.float(value), "{value:e}");
            };
            let ties =
                [0.5, 0.25, 2.5, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.5f64.powi(20)];
            let edges =
                [0.0, 5e-324, 1e-7, 5e-7, 9.9999995, 8796093022207.9, 8796093022208.0, 1e300];
            for value in ties.iter().chain(&edges).chain(&[f64::INFINITY, f64::NAN]) {
                check(*value);
                check(-value);
            }
            for _ in 0..20_000 {
                bits = bits.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                // Exponents around those that the quick way takes.
                let exponent = 1023 - 60 + (bits >> 57) % 110;
                check(f64::from_bits(bits >> 12 | exponent << 52));
                check(f64::from(f32::from_bits((bits >> 32) as u32)));
            }
        }
    }
}
