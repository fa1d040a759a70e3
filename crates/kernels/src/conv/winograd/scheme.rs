//! How outputs, inputs and taps of one dimension become parts that are multiplied one by one.
//!
//! A filter of `R` taps and `M` neighbouring outputs, which read `N = M + R - 1` inputs, are taken for
//! polynomials (Toom and Cook). Their values at `N` points, one of which is infinity, are the parts;
//! interpolation is the way back. What is computed here is the same thing transposed, after Winograd:
//! inputs go through the interpolation, outputs through the evaluation.
//!
//! Small points make small errors. Beyond 0, 1 and -1 the pair 1/2 and -2 has the smallest: twice the
//! error of plain sums, where 2 and -2 have three times as much.

/// A way to compute `M` outputs of a filter of `R` taps from `N` inputs by `N` products.
pub(super) trait Scheme<const N: usize, const M: usize, const R: usize>:
    Copy + Sync
{
    /// Where polynomials are evaluated; the last is infinity, whatever it says.
    const POINTS: [f64; N];

    /// What each part takes of the inputs.
    const INPUT: [[f64; N]; N] = interpolate(Self::POINTS);
    /// What each output takes of the parts.
    const OUTPUT: [[f64; N]; M] = transpose(evaluate(Self::POINTS));
    /// What each part takes of the taps.
    const FILTER: [[f64; R]; N] = weigh(Self::POINTS, evaluate(Self::POINTS));
    /// The same, for what goes the other way.
    const OUTPUT_BACK: [[f64; M]; N] = evaluate(Self::POINTS);
    const FILTER_BACK: [[f64; N]; R] = transpose(Self::FILTER);
}

/// Two outputs of three taps: additions only, but for halves of the filter.
#[derive(Clone, Copy)]
pub(super) struct TwoOfThree;

/// Four outputs of three taps.
#[derive(Clone, Copy)]
pub(super) struct FourOfThree;

/// Two outputs of five taps.
#[derive(Clone, Copy)]
pub(super) struct TwoOfFive;

impl Scheme<4, 2, 3> for TwoOfThree {
    const POINTS: [f64; 4] = [0.0, 1.0, -1.0, f64::INFINITY];
}

impl Scheme<6, 4, 3> for FourOfThree {
    const POINTS: [f64; 6] = [0.0, 1.0, -1.0, 0.5, -2.0, f64::INFINITY];
}

impl Scheme<6, 2, 5> for TwoOfFive {
    const POINTS: [f64; 6] = [0.0, 1.0, -1.0, 0.5, -2.0, f64::INFINITY];
}

/// Powers of the points.
const fn evaluate<const N: usize, const LEN: usize>(points: [f64; N]) -> [[f64; LEN]; N] {
    let mut rows = [[0.0; LEN]; N];
    let mut i = 0;
    while i < N - 1 {
        let (mut power, mut k) = (1.0, 0);
        while k < LEN {
            rows[i][k] = power;
            power *= points[i];
            k += 1;
        }
        i += 1;
    }
    rows[N - 1][LEN - 1] = 1.0;
    rows
}

/// The coefficients of the polynomials that are zero at all points but one; the last is zero at all.
const fn interpolate<const N: usize>(points: [f64; N]) -> [[f64; N]; N] {
    let mut rows = [[0.0; N]; N];
    let mut i = 0;
    while i < N {
        rows[i][0] = 1.0;
        let (mut degree, mut j) = (0, 0);
        while j < N - 1 {
            if j != i {
                // Times `x - points[j]`.
                let mut k = degree + 1;
                while k > 0 {
                    rows[i][k] = rows[i][k - 1] - points[j] * rows[i][k];
                    k -= 1;
                }
                rows[i][0] *= -points[j];
                degree += 1;
            }
            j += 1;
        }
        i += 1;
    }
    rows
}

/// Divides each row by the value of its polynomial of [`interpolate`] at its point.
const fn weigh<const N: usize, const LEN: usize>(
    points: [f64; N],
    mut rows: [[f64; LEN]; N],
) -> [[f64; LEN]; N] {
    let mut i = 0;
    while i < N - 1 {
        let (mut value, mut j) = (1.0, 0);
        while j < N - 1 {
            if j != i {
                value *= points[i] - points[j];
            }
            j += 1;
        }
        let mut k = 0;
        while k < LEN {
            rows[i][k] /= value;
            k += 1;
        }
        i += 1;
    }
    rows
}

const fn transpose<const A: usize, const B: usize>(rows: [[f64; B]; A]) -> [[f64; A]; B] {
    let mut columns = [[0.0; A]; B];
    let mut i = 0;
    while i < A {
        let mut j = 0;
        while j < B {
            columns[j][i] = rows[i][j];
            j += 1;
        }
        i += 1;
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_three_needs_no_multiplications_but_of_the_filter() {
        assert_eq!(
            TwoOfThree::INPUT,
            [
                [-1.0, 0.0, 1.0, 0.0],
                [0.0, 1.0, 1.0, 0.0],
                [0.0, -1.0, 1.0, 0.0],
                [0.0, -1.0, 0.0, 1.0]
            ]
        );
        assert_eq!(TwoOfThree::OUTPUT, [[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, -1.0, 1.0]]);
        assert_eq!(
            TwoOfThree::FILTER,
            [[-1.0, -0.0, -0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]]
        );
    }

    fn check<S: Scheme<N, M, R>, const N: usize, const M: usize, const R: usize>(_: S) {
        for tap in 0..R {
            for input in 0..N {
                for (output, parts) in S::OUTPUT.iter().enumerate() {
                    let product =
                        |part: usize| parts[part] * S::FILTER[part][tap] * S::INPUT[part][input];
                    let sum: f64 = (0..N).map(product).sum();
                    let expected = if output + tap == input { 1.0 } else { 0.0 };
                    assert!((sum - expected).abs() < 1e-14, "{output} {tap} {input}: {sum}");
                }
            }
        }
    }

    #[test]
    fn parts_make_a_convolution() {
        check(TwoOfThree);
        check(FourOfThree);
        check(TwoOfFive);
    }
}
