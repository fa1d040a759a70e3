//! The curve of the loss as a picture, with the steps of each worker in a colour of their own.

use std::fmt::{self, Write};

use super::curve::{Scale, smooth};
use super::progress::Sample;

const WIDTH: f32 = 760.0;
const HEIGHT: f32 = 420.0;
/// Space for labels at the left and for titles; the other sides have half of it.
const MARGIN: f32 = 60.0;
/// Parts of which the line shows the mean.
const PARTS: usize = 100;
/// Dots drawn at most.
const DOTS: usize = 3000;
const COLOURS: [&str; 6] = ["#3b82f6", "#f97316", "#10b981", "#a855f7", "#ef4444", "#eab308"];

/// When a worker was found lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kill {
    /// How many steps had been made.
    pub(super) step: u64,
    pub(super) worker: usize,
}

/// Draws the losses of all steps, and marks where workers were lost.
pub(super) fn draw(samples: &[Sample], workers: usize, kills: &[Kill], title: &str) -> String {
    let mut picture = String::new();
    // Writing to a string cannot fail.
    let _ = write_picture(&mut picture, samples, workers, kills, title);
    picture
}

fn write_picture(
    out: &mut String,
    samples: &[Sample],
    workers: usize,
    kills: &[Kill],
    title: &str,
) -> fmt::Result {
    let losses: Vec<f32> = samples.iter().map(|sample| sample.loss).collect();
    let scale = Scale::of(&losses);
    let right = WIDTH - MARGIN / 2.0;
    let bottom = HEIGHT - MARGIN;
    let x = |step: f32| MARGIN + step / samples.len().max(1) as f32 * (right - MARGIN);
    let y = |loss: f32| bottom - scale.position(loss) * (bottom - MARGIN);

    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#6b7280\">"
    )?;
    writeln!(out, "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>")?;
    writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"28\" font-size=\"16\" fill=\"#111827\">{}</text>",
        escaped(title)
    )?;
    for tick in ticks(scale) {
        let y = y(tick);
        writeln!(
            out,
            "<path d=\"M{MARGIN} {y:.1}H{right}\" stroke=\"#e5e7eb\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            MARGIN - 8.0,
            y + 4.0
        )?;
    }
    for step in step_ticks(samples.len()) {
        let (x, below) = (x(step as f32), bottom + 16.0);
        writeln!(
            out,
            "<path d=\"M{x:.1} {bottom}v4\" stroke=\"#9ca3af\"/>\
             <text x=\"{x:.1}\" y=\"{below}\" text-anchor=\"middle\">{step}</text>"
        )?;
    }
    let stride = samples.len().div_ceil(DOTS).max(1);
    for (step, sample) in samples.iter().enumerate().step_by(stride) {
        let colour = COLOURS[sample.worker % COLOURS.len()];
        let (x, y) = (x(step as f32 + 0.5), y(sample.loss));
        writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.6\" fill=\"{colour}\" opacity=\"0.4\"/>"
        )?;
    }
    let means = smooth(&losses, PARTS);
    let part = samples.len() as f32 / means.len().max(1) as f32;
    let points: Vec<String> = means
        .iter()
        .enumerate()
        .map(|(index, &loss)| format!("{:.1},{:.1}", x((index as f32 + 0.5) * part), y(loss)))
        .collect();
    writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#111827\" stroke-width=\"2\"/>",
        points.join(" ")
    )?;
    for kill in kills {
        let x = x((kill.step as f32).min(samples.len() as f32));
        let colour = COLOURS[kill.worker % COLOURS.len()];
        writeln!(
            out,
            "<path d=\"M{x:.1} {MARGIN}V{bottom}\" stroke=\"{colour}\" stroke-dasharray=\"4 3\"/>\
             <text x=\"{:.1}\" y=\"{}\" fill=\"{colour}\">worker {} is lost</text>",
            x + 4.0,
            MARGIN + 12.0,
            kill.worker
        )?;
    }
    for worker in 0..workers {
        let x = MARGIN + 90.0 * worker as f32;
        let colour = COLOURS[worker % COLOURS.len()];
        writeln!(
            out,
            "<circle cx=\"{}\" cy=\"42\" r=\"4\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"46\">worker {worker}</text>",
            x + 4.0,
            x + 12.0
        )?;
    }
    let middle = (MARGIN + right) / 2.0;
    let below = bottom + 40.0;
    writeln!(
        out,
        "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{} steps; loss of each step, \
         and the mean</text>",
        samples.len()
    )?;
    writeln!(out, "</svg>")
}

/// Round numbers within a scale: 1, 2 and 5 of each power of ten.
fn ticks(scale: Scale) -> Vec<f32> {
    let decades = -6..=6;
    decades
        .flat_map(|decade: i32| [1.0, 2.0, 5.0].map(|digit| (digit, decade)))
        // Parsed rather than multiplied, so that they are written as short as they are.
        .filter_map(|(digit, decade)| format!("{digit}e{decade}").parse().ok())
        .filter(|&tick: &f32| (scale.low..=scale.high).contains(&tick))
        .collect()
}

/// About five round numbers of steps, from 0 on.
fn step_ticks(steps: usize) -> Vec<usize> {
    let mut stride = 1;
    // 1, 2, 5, 10, 20, 50 and so on.
    for factor in [2, 5, 10].iter().cycle() {
        if steps / stride <= 6 {
            break;
        }
        let decade = 10usize.pow(stride.ilog10());
        stride = if *factor == 10 { decade * 10 } else { decade * factor };
    }
    (0..=steps).step_by(stride).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_step_is_a_dot_in_its_workers_colour() {
        let samples: Vec<Sample> = (0..10)
            .map(|step| Sample {
                worker: step % 2,
                loss: 2.0 / (step + 1) as f32,
                accuracy: 0.5,
                at: Duration::ZERO,
            })
            .collect();
        let kills = [Kill { step: 6, worker: 1 }];
        let picture = draw(&samples, 2, &kills, "a < b");
        assert_eq!(picture.matches("opacity").count(), 10);
        // Its steps, its name, and the line and the words of its end.
        assert_eq!(picture.matches(COLOURS[1]).count(), 5 + 1 + 2);
        assert!(picture.contains(">worker 1 is lost</text>"), "{picture}");
        assert!(picture.contains("a &lt; b") && picture.contains(">0.5</text>"), "{picture}");
        assert!(picture.trim_end().ends_with("</svg>"));
        assert!(!picture.contains("NaN"), "{picture}");
    }

    #[test]
    fn no_steps_are_a_picture_too() {
        assert!(!draw(&[], 1, &[], "").contains("NaN"));
    }

    #[test]
    fn steps_are_counted_in_round_numbers() {
        assert_eq!(step_ticks(0), [0]);
        assert_eq!(step_ticks(10), [0, 2, 4, 6, 8, 10]);
        assert_eq!(step_ticks(1438), [0, 500, 1000]);
        assert_eq!(step_ticks(600), [0, 100, 200, 300, 400, 500, 600]);
    }
}
