//! Choosing boxes by score and dropping those that overlap better ones.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What is kept, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// At most so many are kept.
    pub(super) limit: usize,
    /// A greater overlap with a kept box drops a box.
    pub(super) overlap: f32,
    /// Boxes must score more.
    pub(super) score: f32,
    /// If positive, overlap lowers scores instead, by a Gaussian of this width.
    pub(super) sigma: f32,
}

/// A box that may be kept.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    index: usize,
    score: f32,
    /// The kept boxes before this one were taken into account.
    compared: usize,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Candidate) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        // No score is NaN: it would not be above the threshold.
        let by_score = self.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
        by_score.then(other.index.cmp(&self.index))
    }
}

/// The indices of the boxes to keep, best first, and their scores.
pub(super) fn suppress(
    rule: Rule,
    scores: impl IntoIterator<Item = f32>,
    overlap: impl Fn(usize, usize) -> f32,
) -> Vec<(usize, f32)> {
    let mut queue: BinaryHeap<Candidate> = scores
        .into_iter()
        .enumerate()
        .filter(|&(_, score)| score > rule.score)
        .map(|(index, score)| Candidate { index, score, compared: 0 })
        .collect();
    let mut kept: Vec<(usize, f32)> = Vec::new();
    while kept.len() < rule.limit
        && let Some(mut candidate) = queue.pop()
    {
        let before = candidate.score;
        let mut dropped = false;
        // Boxes of similar scores are likely to overlap, so the last are compared first.
        for &(other, _) in kept[candidate.compared..].iter().rev() {
            let similarity = overlap(candidate.index, other);
            if rule.sigma > 0.0 {
                candidate.score *= (-0.5 / rule.sigma * similarity * similarity).exp();
            } else {
                match similarity.partial_cmp(&rule.overlap) {
                    Some(Ordering::Greater) => {
                        dropped = true;
                        break;
                    }
                    Some(_) => (),
                    // Boxes of which nobody knows whether they overlap are worth nothing.
                    None => candidate.score = 0.0,
                }
            }
            if candidate.score <= rule.score {
                break;
            }
        }
        candidate.compared = kept.len();
        if dropped {
            continue;
        }
        if candidate.score == before {
            kept.push((candidate.index, candidate.score));
        } else if candidate.score > rule.score {
            queue.push(candidate);
        }
    }
    kept
}

/// The area that two boxes share, as a part of the area that they cover together.
pub(super) fn intersection_over_union(a: &[f32], b: &[f32]) -> f32 {
    let [(top, left, bottom, right), (other_top, other_left, other_bottom, other_right)] =
        [a, b].map(|c| (c[0].min(c[2]), c[1].min(c[3]), c[0].max(c[2]), c[1].max(c[3])));
    let area = (bottom - top) * (right - left);
    let other_area = (other_bottom - other_top) * (other_right - other_left);
    if area <= 0.0 || other_area <= 0.0 {
        return 0.0;
    }
    let height = (bottom.min(other_bottom) - top.max(other_top)).max(0.0);
    let width = (right.min(other_right) - left.max(other_left)).max(0.0);
    let shared = height * width;
    shared / (area + other_area - shared)
}
