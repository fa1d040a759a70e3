//! Where the diagonals of matrices are, and where they stand when they are rows of a tensor.

use tensorfleet_framework::Attrs;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::view::{Axis, View};

/// On which side diagonals shorter than the longest are filled up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Align {
    above_left: bool,
    below_left: bool,
}

impl Align {
    /// Reads the attribute `align`; versions without it put all diagonals to the left.
    pub(super) fn new(attrs: &Attrs<'_>) -> Result<Align> {
        if attrs.get("align").is_none() {
            return Ok(Align { above_left: true, below_left: true });
        }
        let align = attrs.string("align")?;
        let Some((above, below)) = align.split_once('_') else {
            return Err(invalid_argument!("unknown alignment {align}"));
        };
        Ok(Align { above_left: above == "LEFT", below_left: below == "LEFT" })
    }

    fn is_left(self, diagonal: i64) -> bool {
        (diagonal >= 0 && self.above_left) || (diagonal <= 0 && self.below_left)
    }
}

/// A range of diagonals, both ends included; negative ones are below the main diagonal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Band {
    pub(super) lower: i64,
    pub(super) upper: i64,
}

impl Band {
    pub(super) const MAIN: Band = Band { lower: 0, upper: 0 };

    /// Reads an input of one or two numbers.
    pub(super) fn new(tensor: &Tensor) -> Result<Band> {
        if tensor.rank() > 1 {
            return Err(invalid_argument!(
                "diag_index must be a scalar or vector, received shape: {}",
                tensor.shape()
            ));
        }
        let (lower, upper) = match tensor.to_i64_vec()?[..] {
            [] => {
                return Err(invalid_argument!("Expected diag_index to have at least 1 element"));
            }
            [only] => (only, only),
            [lower, upper] => (lower, upper),
            ref more => {
                return Err(invalid_argument!(
                    "diag_index must have only one or two elements, received {} elements.",
                    more.len()
                ));
            }
        };
        if lower > upper {
            return Err(invalid_argument!(
                "lower_diag_index must not be larger than upper_diag_index: {lower} > {upper}"
            ));
        }
        Ok(Band { lower, upper })
    }

    /// The number of diagonals.
    pub(super) fn count(self) -> usize {
        (self.upper - self.lower + 1) as usize
    }

    /// Checks that matrices of `rows` and `columns` have these diagonals.
    pub(super) fn check(self, rows: usize, columns: usize, stop: &str) -> Result<()> {
        let (low, high) = (-(rows as i64), columns as i64);
        for (name, at, stop) in [("lower", self.lower, stop), ("upper", self.upper, "")] {
            if at != 0 && (at <= low || at >= high) {
                return Err(invalid_argument!(
                    "{name}_diag_index is out of bound: {at}{stop} It must be between {low} and \
                     {high}"
                ));
            }
        }
        Ok(())
    }

    /// The length of the longest of the diagonals.
    pub(super) fn longest(self, rows: usize, columns: usize) -> usize {
        let (rows, columns) = (rows as i64, columns as i64);
        (rows + self.upper.min(0)).min(columns - self.lower.max(0)).max(0) as usize
    }

    /// Each diagonal twice: in `batch` matrices of `rows` and `columns`, and in a tensor that has a
    /// row of the longest length for each diagonal, the uppermost first.
    pub(super) fn views(
        self,
        align: Align,
        batch: usize,
        rows: usize,
        columns: usize,
    ) -> Vec<(View, View)> {
        let (count, longest) = (self.count(), self.longest(rows, columns));
        let views = |diagonal: i64| {
            let len = Band { lower: diagonal, upper: diagonal }.longest(rows, columns);
            let first = diagonal.max(0) as usize + (-diagonal).max(0) as usize * columns;
            let in_matrix = View {
                offset: first as isize,
                axes: smallvec::smallvec![
                    Axis { len: batch, stride: (rows * columns) as isize },
                    Axis { len, stride: columns as isize + 1 },
                ],
            };
            let start = if align.is_left(diagonal) { 0 } else { longest - len };
            let row = (self.upper - diagonal) as usize;
            let in_rows =
                View::of(&[batch, count, longest]).at(1, row).removed(1).slice(1, start, len);
            (in_matrix, in_rows)
        };
        (self.lower..=self.upper).map(views).collect()
    }
}
