//! Time as a picture of nested bars, each as wide as what it took.

use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const ROW: usize = 18;
/// Bars that are narrower cannot be seen.
const NARROWEST: f64 = 0.3;
/// About how wide a letter is.
const LETTER: f64 = 6.6;

/// A bar, and what is above it.
#[derive(Debug, Default)]
pub(super) struct Frame {
    seconds: f64,
    above: BTreeMap<String, Frame>,
}

impl Frame {
    /// Adds time to all bars of a path.
    pub(super) fn add<'a>(&mut self, path: impl Iterator<Item = &'a str>, seconds: f64) {
        let mut frame = self;
        frame.seconds += seconds;
        for name in path {
            frame = frame.above.entry(name.to_owned()).or_default();
            frame.seconds += seconds;
        }
    }

    fn height(&self) -> usize {
        1 + self.above.values().map(Frame::height).max().unwrap_or(0)
    }
}

/// Draws all time, the whole at the bottom.
pub(super) fn draw(root: &Frame) -> String {
    let height = root.height() * ROW + 10;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"monospace\" font-size=\"11\">\n<rect width=\"{WIDTH}\" height=\"{height}\" \
         fill=\"#fffdf7\"/>\n"
    );
    let scale = WIDTH / root.seconds.max(f64::MIN_POSITIVE);
    bar(&mut text, "all", root, 0.0, height - ROW, scale, root.seconds);
    text.push_str("</svg>\n");
    text
}

fn bar(text: &mut String, name: &str, frame: &Frame, x: f64, y: usize, scale: f64, all: f64) {
    let width = frame.seconds * scale;
    if width < NARROWEST {
        return;
    }
    let room = (width / LETTER) as usize;
    let shown: String = if room > 2 { name.chars().take(room).collect() } else { String::new() };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<g><title>{} {:.3} ms, {:.1} %</title><rect x=\"{x:.1}\" y=\"{y}\" width=\"{:.1}\" \
         height=\"{}\" fill=\"{}\" rx=\"2\"/><text x=\"{:.1}\" y=\"{}\">{}</text></g>",
        escaped(name),
        frame.seconds * 1e3,
        100.0 * frame.seconds / all.max(f64::MIN_POSITIVE),
        (width - 0.5).max(NARROWEST),
        ROW - 1,
        colour(name),
        x + 3.0,
        y + 12,
        escaped(&shown),
    );
    let Some(above) = y.checked_sub(ROW) else { return };
    let mut x = x;
    for (name, frame) in &frame.above {
        bar(text, name, frame, x, above, scale, all);
        x += frame.seconds * scale;
    }
}

/// A warm colour that a name always has; what waits is grey.
fn colour(name: &str) -> String {
    if name == "waits" {
        return "#c9ced6".to_owned();
    }
    let sum = name.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    format!("rgb({},{},{})", 215 + sum % 40, 110 + (sum / 40) % 110, 50 + (sum / 4400) % 50)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_wide_as_their_time() {
        let mut root = Frame::default();
        root.add(["ps/0", "MatMul"].into_iter(), 3.0);
        root.add(["ps/0", "<Add>"].into_iter(), 1.0);
        assert_eq!(root.height(), 3);
        let text = draw(&root);
        assert!(text.contains("<title>MatMul 3000.000 ms, 75.0 %</title>"), "{text}");
        assert!(text.contains("width=\"899.5\""), "{text}");
        assert!(text.contains("&lt;Add&gt;"), "{text}");
        assert_eq!(text.matches("<title>").count(), 4);
    }
}
