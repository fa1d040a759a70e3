//! A drawing as a picture: a band for each device, time from left to right.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::drawing::Drawing;

const WIDTH: usize = 150;
const HEIGHT: usize = 34;
const GAP_X: usize = 50;
const GAP_Y: usize = 12;
const MARGIN: usize = 24;

/// Draws it.
pub(super) fn draw(drawing: &Drawing) -> String {
    let columns = columns(drawing);
    let mut filled: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut rows = vec![0; drawing.boxes.len()];
    for (number, it) in drawing.boxes.iter().enumerate() {
        let row = filled.entry((it.lane, columns[number])).or_insert(0);
        rows[number] = *row;
        *row += 1;
    }
    let height_of =
        |lane: usize| filled.iter().filter(|((of, _), _)| *of == lane).map(|(_, rows)| *rows).max();
    let heights: Vec<usize> = (0..drawing.lanes.len())
        .map(|lane| MARGIN + height_of(lane).unwrap_or(0) * (HEIGHT + GAP_Y))
        .collect();
    let tops: Vec<usize> = heights
        .iter()
        .scan(MARGIN, |top, height| {
            let own = *top;
            *top += height + GAP_Y;
            Some(own)
        })
        .collect();
    let width = MARGIN * 2 + columns.iter().max().map_or(0, |last| (last + 1) * (WIDTH + GAP_X));
    let height = MARGIN + heights.iter().map(|height| height + GAP_Y).sum::<usize>();
    let place = |number: usize| {
        let x = MARGIN + columns[number] * (WIDTH + GAP_X);
        let y = tops[drawing.boxes[number].lane] + MARGIN + rows[number] * (HEIGHT + GAP_Y);
        (x, y)
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (lane, device) in drawing.lanes.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "<rect x=\"8\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" rx=\"6\"/>\
             <text x=\"{MARGIN}\" y=\"{}\" font-weight=\"bold\">{}</text>",
            tops[lane],
            width.saturating_sub(16),
            heights[lane],
            if lane % 2 == 0 { "#eef3fb" } else { "#f3f7ee" },
            tops[lane] + 16,
            escaped(device)
        );
    }
    for edge in &drawing.edges {
        let ((x1, y1), (x2, y2)) = (place(edge.from), place(edge.to));
        let (x1, y1, y2) = (x1 + WIDTH, y1 + HEIGHT / 2, y2 + HEIGHT / 2);
        let middle = x1.midpoint(x2);
        let look = match (edge.crosses, edge.is_control) {
            (true, _) => "stroke=\"#c0392b\" stroke-width=\"1.5\"",
            (false, true) => "stroke=\"#888\" stroke-dasharray=\"3 3\"",
            (false, false) => "stroke=\"#777\"",
        };
        let _ = writeln!(
            text,
            "<path d=\"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}\" fill=\"none\" {look}/>"
        );
    }
    for (number, it) in drawing.boxes.iter().enumerate() {
        let (x, y) = place(number);
        let _ = writeln!(
            text,
            "<g><title>{name}\n{what}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             rx=\"4\" fill=\"white\" stroke=\"#4a6fa5\"/><text x=\"{tx}\" y=\"{ty}\">{short}</text>\
             <text x=\"{tx}\" y=\"{ty2}\" fill=\"#666\">{what}</text></g>",
            name = escaped(&it.name),
            what = escaped(&it.what),
            tx = x + 6,
            ty = y + 14,
            ty2 = y + 28,
            short = escaped(&shortened(&it.name)),
        );
    }
    text.push_str("</svg>\n");
    text
}

/// How far each box is from those that nothing leads to. Loops lead back, and are followed once.
fn columns(drawing: &Drawing) -> Vec<usize> {
    let mut columns = vec![0; drawing.boxes.len()];
    let most = drawing.boxes.len().min(200);
    for _ in 0..most {
        let mut is_changed = false;
        for edge in &drawing.edges {
            let wanted = columns[edge.from] + 1;
            if columns[edge.to] < wanted && wanted < most {
                columns[edge.to] = wanted;
                is_changed = true;
            }
        }
        if !is_changed {
            break;
        }
    }
    // What loops have pushed far to the right moves together again.
    let mut used: Vec<usize> = columns.clone();
    used.sort_unstable();
    used.dedup();
    columns.iter().map(|column| used.partition_point(|it| it < column)).collect()
}

/// The end of a name tells more than its beginning.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 23;
    let length = name.chars().count();
    if length <= LONGEST {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length - LONGEST + 1).collect();
    format!("…{end}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph_view::drawing::{Box, Edge, tests};

    #[test]
    fn boxes_are_to_the_right_of_what_they_use() {
        let drawing = Drawing::new(&tests::plan(), 100);
        assert_eq!(columns(&drawing), [0, 0, 1]);
        let text = draw(&drawing);
        assert_eq!(text.matches("<title>").count(), 3);
        assert_eq!(text.matches("#c0392b").count(), 1);
        assert!(text.contains(">ps/0 CPU:0</text>"), "{text}");
    }

    #[test]
    fn loops_and_names_do_no_harm() {
        let it = |name: &str| Box { lane: 0, name: name.to_owned(), what: "Op".to_owned() };
        let edge = |from, to| Edge { from, to, is_control: false, crosses: false };
        let drawing = Drawing {
            lanes: vec!["d".to_owned()],
            boxes: vec![it("<a&b>"), it("b")],
            edges: vec![edge(0, 1), edge(1, 0)],
        };
        let text = draw(&drawing);
        assert!(text.contains("&lt;a&amp;b&gt;"), "{text}");
        assert!(text.len() < 5_000);
    }
}
