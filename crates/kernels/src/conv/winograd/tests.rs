//! The transformed convolutions against the definition, and where they must not be used.

use crate::Parallel;
use crate::conv::tests::{exact, noise};
use crate::conv::{Axis, Conv};
use crate::simd::tests::at_every_level;
use crate::testing::Rng;

fn check(par: Parallel, shape: &Conv) {
    let rng = &mut Rng::new(3);
    let input: Vec<f32> = noise(rng, shape.input_len());
    let filter: Vec<f32> = noise(rng, shape.filter_len());
    let gradient: Vec<f32> = noise(rng, shape.output_len());
    let exact = exact(shape, &input, &filter, &gradient);
    // Old contents must not show.
    let mut found = [gradient.clone(), input.clone(), filter.clone()];
    assert!(super::conv(par, shape, &input, &filter, &mut found[0]));
    assert!(super::input_gradient(par, shape, &filter, &gradient, &mut found[1]));
    assert!(super::filter_gradient(par, shape, &input, &gradient, &mut found[2]));
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

fn shapes() -> Vec<Conv> {
    vec![
        // Even and odd sizes; whole vectors of channels, parts of one, and more than one panel.
        Conv::images(2, [Axis::same(6, 3, 1, 1), Axis::same(8, 3, 1, 1)], 16, 32),
        Conv::images(3, [Axis::same(5, 3, 1, 1), Axis::same(7, 3, 1, 1)], 17, 5),
        Conv::images(1, [Axis::valid(6, 3, 1, 1), Axis::valid(9, 3, 1, 1)], 3, 70),
        // One output, and paddings beyond the filter.
        Conv::images(2, [Axis::valid(3, 3, 1, 1), Axis::valid(3, 3, 1, 1)], 4, 4),
        Conv::images(2, [Axis::new(4, 3, 1, 1, (4, 0)), Axis::new(5, 3, 1, 1, (0, 5))], 2, 18),
        // More tiles than are computed together.
        Conv::images(5, [Axis::same(20, 3, 1, 1), Axis::same(21, 3, 1, 1)], 2, 3),
    ]
}

#[test]
fn results_match_the_definition() {
    at_every_level(|| shapes().iter().for_each(|shape| check(Parallel::SERIAL, shape)));
    shapes().iter().for_each(|shape| check(Parallel::new(3), shape));
}

#[test]
fn small_integers_stay_exact() {
    let axis = Axis::same(7, 3, 1, 1);
    let shape = Conv::images(1, [axis, axis], 5, 6);
    let integers = |len: usize| (0..len).map(|i| f32::from((i * 7 % 11) as u8) - 5.0).collect();
    let (input, filter): (Vec<f32>, Vec<f32>) =
        (integers(shape.input_len()), integers(shape.filter_len()));
    let gradient: Vec<f32> = integers(shape.output_len());
    let mut out = gradient.clone();
    super::conv(Parallel::SERIAL, &shape, &input, &filter, &mut out);
    let [expected, ..] = exact(&shape, &input, &filter, &gradient);
    assert!(out.iter().zip(expected).all(|(out, expected)| f64::from(*out) == expected));
}

#[test]
fn a_value_that_is_not_finite_reaches_only_its_neighbours() {
    let axis = Axis::same(32, 3, 1, 1);
    let shape = Conv::images(1, [axis, axis], 32, 64);
    assert!(super::fits(&shape));
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
