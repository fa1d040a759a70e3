//! The transformed convolutions against the definition, and where they must not be used.

use super::scheme::{FourOfThree, Scheme, TwoOfFive, TwoOfThree};
use super::{Kind, conv_by, filter_gradient_by, input_gradient_by};
use crate::Parallel;
use crate::conv::tests::{exact, noise};
use crate::conv::{Axis, Conv};
use crate::simd::tests::at_every_level;
use crate::testing::Rng;

fn check<S, const N: usize, const M: usize, const R: usize>(scheme: S, par: Parallel, shape: &Conv)
where
    S: Scheme<N, M, R>,
{
    let rng = &mut Rng::new(3);
    let input: Vec<f32> = noise(rng, shape.input_len());
    let filter: Vec<f32> = noise(rng, shape.filter_len());
    let gradient: Vec<f32> = noise(rng, shape.output_len());
    let exact = exact(shape, &input, &filter, &gradient);
    // Old contents must not show.
    let mut found = [gradient.clone(), input.clone(), filter.clone()];
    assert!(conv_by(scheme, par, shape, &input, &filter, &mut found[0]));
    assert!(input_gradient_by(scheme, par, shape, &filter, &gradient, &mut found[1]));
    assert!(filter_gradient_by(scheme, par, shape, &input, &gradient, &mut found[2]));
    for (which, (found, exact)) in found.iter().zip(&exact).enumerate() {
        let scale = exact.iter().fold(1.0f64, |a, b| a.max(b.abs()));
        for (i, (found, exact)) in found.iter().zip(exact).enumerate() {
            let error = (f64::from(*found) - exact).abs();
            assert!(
                error <= 1e-5 * scale,
                "result {which} at {i}: {found} for {exact} in {shape:?}"
            );
        }
    }
}

/// Shapes of filters of `taps` × `taps`.
fn shapes(taps: usize) -> Vec<Conv> {
    let same = |input| Axis::same(input, taps, 1, 1);
    let valid = |input| Axis::valid(input, taps, 1, 1);
    let padded = |input, padding| Axis::new(input, taps, 1, 1, padding);
    vec![
        // Whole and cut tiles; whole vectors of channels, parts of one, and more than one panel.
        Conv::images(2, [same(6), same(8)], 16, 32),
        Conv::images(3, [same(5), same(7)], 17, 5),
        Conv::images(1, [valid(6), valid(9)], 3, 70),
        // One output, and paddings beyond the filter.
        Conv::images(2, [valid(taps), valid(taps)], 4, 4),
        Conv::images(2, [padded(4, (taps + 1, 0)), padded(5, (0, taps + 2))], 2, 18),
        // More tiles than are computed together.
        Conv::images(5, [same(20), same(21)], 2, 3),
    ]
}

#[test]
fn results_match_the_definition() {
    for taps in [3, 5] {
        for shape in &shapes(taps) {
            let check_all = |par| match taps {
                3 => {
                    check(TwoOfThree, par, shape);
                    check(FourOfThree, par, shape);
                }
                _ => check(TwoOfFive, par, shape),
            };
            at_every_level(|| check_all(Parallel::SERIAL));
            check_all(Parallel::new(3));
        }
    }
}

#[test]
fn two_of_three_keeps_small_integers_exact() {
    let axis = Axis::same(7, 3, 1, 1);
    let shape = Conv::images(1, [axis, axis], 5, 6);
    let integers = |len: usize| (0..len).map(|i| f32::from((i * 7 % 11) as u8) - 5.0).collect();
    let (input, filter): (Vec<f32>, Vec<f32>) =
        (integers(shape.input_len()), integers(shape.filter_len()));
    let gradient: Vec<f32> = integers(shape.output_len());
    let mut out = gradient.clone();
    conv_by(TwoOfThree, Parallel::SERIAL, &shape, &input, &filter, &mut out);
    let [expected, ..] = exact(&shape, &input, &filter, &gradient);
    assert!(out.iter().zip(expected).all(|(out, expected)| f64::from(*out) == expected));
}

#[test]
fn the_scheme_depends_on_what_it_saves() {
    let kind = |batch, size, inputs, taps, outputs| {
        let axis = Axis::same(size, taps, 1, 1);
        Kind::of(&Conv::images(batch, [axis, axis], inputs, outputs))
    };
    assert_eq!(kind(32, 28, 32, 3, 64), Some(Kind::FourOfThree));
    assert_eq!(kind(64, 14, 32, 5, 64), Some(Kind::TwoOfFive));
    // Tiles of four would be mostly empty.
    assert_eq!(kind(64, 6, 64, 3, 64), Some(Kind::TwoOfThree));
    // Few channels, few positions for a large filter, other filters.
    assert_eq!(kind(64, 28, 3, 3, 32), None);
    assert_eq!(kind(64, 28, 1, 5, 32), None);
    assert_eq!(kind(2, 7, 512, 3, 512), None);
    assert_eq!(kind(32, 28, 32, 7, 64), None);
    let [wide, long] = [Axis::same(28, 3, 1, 1), Axis::same(28, 3, 2, 1)];
    assert_eq!(Kind::of(&Conv::images(32, [wide, long], 64, 64)), None);
}

#[test]
fn a_value_that_is_not_finite_reaches_only_its_neighbours() {
    let axis = Axis::same(32, 3, 1, 1);
    let shape = Conv::images(1, [axis, axis], 32, 64);
    assert!(Kind::of(&shape).is_some());
    for bad in [f32::NAN, f32::INFINITY, f32::MAX] {
        let mut input = vec![1.0; shape.input_len()];
        input[(10 * 32 + 11) * 32 + 5] = bad;
        let mut out = vec![0.0; shape.output_len()];
        crate::conv::conv(
            Parallel::new(2),
            &shape,
            &input,
            &vec![1.5; shape.filter_len()],
            &mut out,
        );
        for (pixel, out) in out.chunks_exact(64).enumerate() {
            let is_near = (9..=11).contains(&(pixel / 32)) && (10..=12).contains(&(pixel % 32));
            assert!(out.iter().all(|x| x.is_finite() != is_near), "pixel {pixel} with {bad}");
        }
    }
}
