//! The equation of an `Einsum`, and what its labels stand for in given operands.

use tensorfleet_tensor::{Error, Result, invalid_argument};

/// A dimension's name. Dimensions under an ellipsis are numbered from the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Named(char),
    Broadcast(usize),
}

/// Subscripts of one operand or of the result.
#[derive(Debug)]
pub(super) struct Subscripts {
    pub(super) labels: Vec<char>,
    /// The number of labels before the ellipsis, if there is one.
    pub(super) ellipsis: Option<usize>,
}

/// A parsed equation.
#[derive(Debug)]
pub(super) struct Equation {
    pub(super) inputs: Vec<Subscripts>,
    pub(super) output: Subscripts,
}

impl Equation {
    pub(super) fn parse(text: &str) -> Result<Equation> {
        let sides: Vec<&str> = text.split("->").collect();
        let [inputs, output] = sides[..] else {
            return Err(invalid_argument!("Expecting exactly one '->' in einsum equation: {text}"));
        };
        let inputs = inputs.split(',').map(subscripts).collect::<Result<Vec<_>>>()?;
        if !(1..=2).contains(&inputs.len()) {
            return Err(invalid_argument!(
                "Expecting 1 or 2 input subscripts in equation '{text}' but got: {}",
                inputs.len()
            ));
        }
        let output = subscripts(output)?;
        for label in &output.labels {
            if !inputs.iter().any(|input| input.labels.contains(label)) {
                return Err(invalid_argument!(
                    "Output subscripts contain the label '{label}' of no input in equation '{text}'"
                ));
            }
        }
        Ok(Equation { inputs, output })
    }

    /// The number of operands.
    pub(super) fn num_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The labels of each dimension of operand `number`, which has `rank` of them.
    pub(super) fn input_labels(&self, number: usize, rank: usize) -> Result<Vec<Label>> {
        let subscripts = &self.inputs[number];
        let named = subscripts.labels.len();
        let fits = if subscripts.ellipsis.is_some() { rank >= named } else { rank == named };
        if !fits {
            let least = if subscripts.ellipsis.is_some() { "at least " } else { "" };
            return Err(invalid_argument!(
                "Expected input {number} to have rank {least}{named} but got: {rank}"
            ));
        }
        Ok(subscripts.expand(rank - named))
    }

    /// The labels of the result, given how many dimensions the ellipses stand for.
    pub(super) fn output_labels(&self, broadcast: usize) -> Result<Vec<Label>> {
        if broadcast > 0 && self.output.ellipsis.is_none() {
            return Err(invalid_argument!(
                "Output contains {broadcast} broadcasting dimension(s) but no ellipsis (...) was \
                 found in the output subscripts."
            ));
        }
        Ok(self.output.expand(broadcast))
    }
}

impl Subscripts {
    /// The subscripts as an equation has them.
    pub(super) fn text(&self) -> String {
        let mut text: String = self.labels.iter().collect();
        if let Some(at) = self.ellipsis {
            // A label may be longer than a byte.
            let at = text.char_indices().nth(at).map_or(text.len(), |(index, _)| index);
            text.insert_str(at, "...");
        }
        text
    }

    /// The labels, with `broadcast` dimensions in the place of the ellipsis.
    fn expand(&self, broadcast: usize) -> Vec<Label> {
        let named = |labels: &[char]| labels.iter().map(|&c| Label::Named(c)).collect::<Vec<_>>();
        let Some(at) = self.ellipsis else { return named(&self.labels) };
        let mut labels = named(&self.labels[..at]);
        labels.extend((0..broadcast).rev().map(Label::Broadcast));
        labels.extend(named(&self.labels[at..]));
        labels
    }
}

fn subscripts(text: &str) -> Result<Subscripts> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (before, after) = match text.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (text.as_str(), None),
    };
    if before.contains('.') || after.is_some_and(|after| after.contains('.')) {
        return Err(bad_ellipsis(&text));
    }
    let mut labels: Vec<char> = before.chars().collect();
    let ellipsis = after.map(|_| labels.len());
    labels.extend(after.unwrap_or_default().chars());
    Ok(Subscripts { labels, ellipsis })
}

fn bad_ellipsis(text: &str) -> Error {
    invalid_argument!("Subscripts '{text}' have a '.' that is not part of one ellipsis")
}
