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
    /// An integer that was written in decimal.
    pub(super) fn integer(&self, digits: &str, signed: bool) -> String {
        match digits.strip_prefix('-') {
            Some(magnitude) => self.place("-", magnitude, true),
            None => self.place(if signed { self.plus() } else { "" }, digits, true),
        }
    }

    /// A floating-point number.
    pub(super) fn float(&self, value: f64) -> String {
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
        assert_eq!(zeros.integer("-5", true), "-00000005");
        let general = Directive { notation: Notation::General, ..plain };
        assert_eq!(general.float(1e-7), "1e-07");
        assert_eq!(general.float(100_000.0), "100000");
        assert_eq!(general.float(1_000_000.0), "1e+06");
        let point = Directive { flag: Flag::Point, ..general };
        assert_eq!(point.float(1.5), "1.50000");
        let scientific = Directive { notation: Notation::Scientific, precision: Some(0), ..plain };
        assert_eq!(scientific.float(12345.0), "1e+04");
    }
}
