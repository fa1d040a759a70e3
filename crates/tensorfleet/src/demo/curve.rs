//! The curve of the loss, drawn with dots of Braille characters.

use std::fmt::Write;

/// Columns and rows of characters. A character is two dots wide and four high.
const COLUMNS: usize = 64;
const ROWS: usize = 10;

/// A logarithmic scale, on which both the first steps and the last ones show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) low: f32,
    pub(super) high: f32,
}

impl Scale {
    /// What is not above this is drawn as this.
    const LEAST: f32 = 1e-6;

    /// Covers all values.
    pub(super) fn of(values: &[f32]) -> Scale {
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let low = finite().fold(f32::INFINITY, f32::min).clamp(Scale::LEAST, f32::MAX / 2.0);
        let high = finite().fold(0.0, f32::max).max(low * 1.01);
        Scale { low, high }
    }

    /// Where a value is, from 0 at the bottom to 1 at the top.
    pub(super) fn position(self, value: f32) -> f32 {
        let value = if value.is_finite() { value.clamp(self.low, self.high) } else { self.high };
        (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// The value at a position.
    pub(super) fn value(self, position: f32) -> f32 {
        self.low * (self.high / self.low).powf(position)
    }
}

/// The means of equal parts of the values, at most so many.
pub(super) fn smooth(values: &[f32], parts: usize) -> Vec<f32> {
    let parts = parts.min(values.len());
    let mean = |part: usize| {
        let part = &values[part * values.len() / parts..(part + 1) * values.len() / parts];
        part.iter().sum::<f32>() / part.len() as f32
    };
    (0..parts).map(mean).collect()
}

/// Draws a curve with its axis.
pub(super) fn draw(values: &[f32]) -> String {
    let values = smooth(values, COLUMNS * 2);
    let scale = Scale::of(&values);
    let mut canvas = Canvas::default();
    let mut above = None;
    for (column, &value) in values.iter().enumerate() {
        let height = ROWS * 4 - 1;
        let row = height - (scale.position(value) * height as f32).round() as usize;
        // A steep curve is kept in one piece.
        let from = above.map_or(row, |above: usize| if above < row { above + 1 } else { above });
        for dot in from.min(row)..=from.max(row) {
            canvas.set(column, dot);
        }
        above = Some(row);
    }
    let mut drawn = String::new();
    for (row, cells) in canvas.0.iter().enumerate() {
        let position = 1.0 - row as f32 / (ROWS - 1) as f32;
        let label = match row % 3 {
            0 => format!("{:8.4} ┤", scale.value(position)),
            _ => format!("{:8} │", ""),
        };
        let cells: String = cells.iter().map(|&dots| braille(dots)).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(drawn, "{label}{}", cells.trim_end_matches(braille(0)));
    }
    drawn
}

/// The dots of all characters.
struct Canvas([[u8; COLUMNS]; ROWS]);

impl Default for Canvas {
    fn default() -> Canvas {
        Canvas([[0; COLUMNS]; ROWS])
    }
}

impl Canvas {
    fn set(&mut self, x: usize, y: usize) {
        // The lowest row of dots came late into Unicode, and has the last bits.
        const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        self.0[y / 4][x / 2] |= DOTS[y % 4][x % 2];
    }
}

fn braille(dots: u8) -> char {
    char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_averaged() {
        assert_eq!(smooth(&[1.0, 3.0, 5.0, 7.0], 2), [2.0, 6.0]);
        assert_eq!(smooth(&[1.0, 3.0], 5), [1.0, 3.0]);
        assert!(smooth(&[], 5).is_empty());
    }

    #[test]
    fn a_falling_curve_goes_from_the_upper_left_to_the_lower_right() {
        let values: Vec<f32> = (0..1000).map(|step| 2.0 * 0.99f32.powi(step)).collect();
        let drawn = draw(&values);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), ROWS);
        let marks = |line: &str| line.chars().skip(10).filter(|&dot| dot != braille(0)).count();
        let width = |line: &str| line.chars().count() - 10;
        assert!(lines.iter().all(|line| marks(line) > 0), "{drawn}");
        assert!(width(lines[0]) < 12 && width(lines[ROWS - 1]) == COLUMNS, "{drawn}");
        assert!(lines[0].trim_start().starts_with("1.9"), "{drawn}");
    }

    #[test]
    fn whatever_the_values_are_they_can_be_drawn() {
        for values in [&[][..], &[1.0], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, -1.0, 2.0]]
        {
            assert_eq!(draw(values).lines().count(), ROWS);
        }
    }
}
