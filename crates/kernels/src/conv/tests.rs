//! Convolutions and their gradients against the definition.

use half::bf16;

use super::*;
use crate::simd::tests::at_every_level;
use crate::testing::Rng;

/// Calls `f` with the flat indices of every input, filter and output value that meet.
fn for_each_product(shape: &Conv, mut f: impl FnMut(usize, usize, usize)) {
    let [depth, height, width] = shape.axes;
    let (inputs, outputs) = (shape.group_inputs(), shape.group_outputs());
    let place = |axis: &Axis, at: usize, tap: usize| {
        (at * axis.stride + tap * axis.dilation).checked_sub(axis.pad).filter(|x| *x < axis.input)
    };
    for n in 0..shape.batch {
        for [oz, oy, ox] in positions([depth.output, height.output, width.output]) {
            for [kz, ky, kx] in positions([depth.filter, height.filter, width.filter]) {
                let (Some(z), Some(y), Some(x)) =
                    (place(&depth, oz, kz), place(&height, oy, ky), place(&width, ox, kx))
                else {
                    continue;
                };
                for co in 0..shape.out_channels {
                    for ci in 0..inputs {
                        let input = ((n * depth.input + z) * height.input + y) * width.input + x;
                        let channel = co / outputs * inputs + ci;
                        let filter = (kz * height.filter + ky) * width.filter + kx;
                        let output =
                            ((n * depth.output + oz) * height.output + oy) * width.output + ox;
                        f(
                            input * shape.in_channels + channel,
                            (filter * inputs + ci) * shape.out_channels + co,
                            output * shape.out_channels + co,
                        );
                    }
                }
            }
        }
    }
}

fn positions([a, b, c]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..a * b * c).map(move |i| [i / c / b, i / c % b, i % c])
}

pub(super) fn noise<T: Real>(rng: &mut Rng, len: usize) -> Vec<T> {
    (0..len).map(|_| T::narrow(crate::Wide::of(rng.uniform(-1.0, 1.0)))).collect()
}

fn to_f64<T: Real>(x: T) -> f64 {
    num_traits::ToPrimitive::to_f64(&x.widen()).unwrap()
}

/// The output and the gradients by the input and by the filter.
pub(super) fn exact<T: Real>(
    shape: &Conv,
    input: &[T],
    filter: &[T],
    gradient: &[T],
) -> [Vec<f64>; 3] {
    let mut exact = [vec![0.0; gradient.len()], vec![0.0; input.len()], vec![0.0; filter.len()]];
    for_each_product(shape, |i, f, o| {
        exact[0][o] += to_f64(input[i]) * to_f64(filter[f]);
        exact[1][i] += to_f64(gradient[o]) * to_f64(filter[f]);
        exact[2][f] += to_f64(gradient[o]) * to_f64(input[i]);
    });
    exact
}

fn check<T: Real + Element>(shape: &Conv, par: Parallel, tolerance: f64) {
    let rng = &mut Rng::new(7);
    let input: Vec<T> = noise(rng, shape.input_len());
    let filter: Vec<T> = noise(rng, shape.filter_len());
    let gradient: Vec<T> = noise(rng, shape.output_len());
    let exact = exact(shape, &input, &filter, &gradient);
    // Old contents must not show.
    let mut found = [gradient.clone(), input.clone(), filter.clone()];
    conv(par, shape, &input, &filter, &mut found[0]);
    conv_backprop_input(par, shape, &filter, &gradient, &mut found[1]);
    conv_backprop_filter(par, shape, &input, &gradient, &mut found[2]);
    for (which, (found, exact)) in found.iter().zip(&exact).enumerate() {
        let scale = exact.iter().fold(1.0f64, |a, b| a.max(b.abs()));
        for (i, (found, exact)) in found.iter().zip(exact).enumerate() {
            assert!(
                (to_f64(*found) - exact).abs() <= tolerance * scale,
                "result {which} at {i}: {found:?} for {exact} in {shape:?}"
            );
        }
    }
}

fn shapes() -> Vec<Conv> {
    let image = |batch, height, width, inputs, outputs| {
        Conv::images(batch, [height, width], inputs, outputs)
    };
    vec![
        // LeNet's first layer, in small.
        image(2, Axis::same(9, 5, 1, 1), Axis::same(8, 5, 1, 1), 1, 32),
        image(2, Axis::valid(9, 5, 1, 1), Axis::valid(8, 3, 1, 1), 3, 10),
        // Strides, dilations, odd padding.
        image(1, Axis::same(11, 3, 2, 1), Axis::same(10, 3, 2, 1), 5, 70),
        image(2, Axis::same(10, 3, 1, 2), Axis::same(13, 2, 1, 3), 4, 17),
        image(2, Axis::new(7, 2, 3, 1, (3, 4)), Axis::new(9, 4, 2, 3, (5, 0)), 3, 7),
        image(1, Axis::new(4, 3, 1, 1, (0, 7)), Axis::new(4, 3, 5, 1, (6, 2)), 2, 3),
        // A stride beyond the filter leaves inputs without gradient.
        image(3, Axis::same(7, 1, 3, 1), Axis::valid(8, 1, 2, 1), 6, 9),
        // A stride beyond everything.
        image(2, Axis::same(5, 3, usize::MAX / 2, 1), Axis::same(3, 2, 1, 1), 3, 4),
        // Columns of one, two and three vectors, and a part of one.
        image(1, Axis::same(7, 3, 1, 1), Axis::same(9, 3, 1, 1), 16, 32),
        image(1, Axis::same(7, 5, 1, 1), Axis::same(9, 3, 2, 1), 33, 48),
        image(1, Axis::same(6, 3, 1, 1), Axis::same(5, 3, 1, 1), 9, 20),
        // Scattered: strides with padding, dilations, rows without input.
        image(3, Axis::same(9, 7, 2, 1), Axis::same(11, 7, 2, 1), 3, 18),
        image(2, Axis::new(3, 4, 2, 2, (5, 6)), Axis::new(5, 5, 3, 1, (7, 8)), 8, 6),
        image(2, Axis::new(3, 4, 1, 1, (0, 2)), Axis::new(3, 4, 2, 1, (0, 9)), 2, 3),
        // One pixel at a time.
        image(2, Axis::valid(5, 1, 1, 1), Axis::valid(6, 1, 1, 1), 7, 40),
        image(1, Axis::new(4, 1, 1, 1, (1, 1)), Axis::valid(6, 1, 1, 1), 3, 5),
        // More summed values than a panel holds, and many columns.
        image(1, Axis::same(6, 3, 1, 1), Axis::same(7, 3, 1, 1), 40, 130),
        // Groups.
        Conv { groups: 3, ..image(2, Axis::same(6, 3, 1, 1), Axis::same(5, 3, 2, 1), 6, 12) },
        Conv { groups: 4, ..image(1, Axis::valid(6, 2, 1, 1), Axis::valid(5, 2, 1, 1), 4, 8) },
        // Volumes.
        Conv::volumes(
            2,
            [Axis::same(4, 3, 1, 1), Axis::same(5, 2, 2, 1), Axis::valid(6, 3, 1, 1)],
            3,
            11,
        ),
        Conv::volumes(
            1,
            [Axis::same(5, 2, 2, 1), Axis::same(4, 3, 1, 2), Axis::same(4, 1, 1, 1)],
            2,
            4,
        ),
        // Nothing.
        image(0, Axis::same(6, 3, 1, 1), Axis::same(7, 3, 1, 1), 2, 3),
        image(2, Axis::valid(2, 3, 1, 1), Axis::same(7, 3, 1, 1), 2, 3),
        image(2, Axis::same(3, 3, 1, 1), Axis::same(4, 3, 1, 1), 0, 3),
        image(2, Axis::same(3, 3, 1, 1), Axis::same(4, 3, 1, 1), 2, 0),
    ]
}

#[test]
fn single_precision_matches_the_definition() {
    at_every_level(|| {
        shapes().iter().for_each(|shape| check::<f32>(shape, Parallel::SERIAL, 1e-5))
    });
}

#[test]
fn double_precision_matches_the_definition() {
    at_every_level(|| {
        shapes().iter().for_each(|shape| check::<f64>(shape, Parallel::SERIAL, 1e-13))
    });
}

#[test]
fn half_precision_matches_the_definition() {
    shapes().iter().for_each(|shape| check::<bf16>(shape, Parallel::SERIAL, 1e-2));
}

#[test]
fn threads_share_bands_and_images() {
    for shape in shapes() {
        check::<f32>(&shape, Parallel::new(3), 1e-5);
    }
    // Bands of rows, and several images in a unit.
    let tall = Conv::images(1, [Axis::same(50, 3, 1, 1), Axis::same(90, 3, 1, 1)], 40, 8);
    let many = Conv::images(40, [Axis::same(4, 3, 1, 1), Axis::same(4, 3, 1, 1)], 8, 16);
    for shape in [tall, many] {
        check::<f32>(&shape, Parallel::SERIAL, 1e-5);
        check::<f32>(&shape, Parallel::new(2), 1e-5);
    }
}

#[test]
fn depthwise_is_a_convolution_in_groups() {
    let axes = [
        [Axis::same(7, 3, 1, 1), Axis::same(9, 3, 1, 1)],
        [Axis::same(8, 3, 2, 1), Axis::valid(9, 2, 2, 1)],
        [Axis::new(8, 3, 1, 2, (3, 1)), Axis::new(6, 2, 3, 3, (0, 4))],
    ];
    for axes in axes {
        for (channels, multiplier) in [(1, 1), (35, 1), (4, 3)] {
            let shape = Depthwise { batch: 3, axes, channels, multiplier };
            let grouped =
                Conv { groups: channels, ..Conv::images(3, axes, channels, channels * multiplier) };
            at_every_level(|| check_depthwise::<f32>(&shape, &grouped, Parallel::SERIAL, 1e-5));
            check_depthwise::<f64>(&shape, &grouped, Parallel::new(2), 1e-12);
            check_depthwise::<bf16>(&shape, &grouped, Parallel::SERIAL, 2e-2);
        }
    }
}

fn check_depthwise<T: Real + Element>(
    shape: &Depthwise,
    grouped: &Conv,
    par: Parallel,
    tolerance: f64,
) {
    let rng = &mut Rng::new(3);
    let input: Vec<T> = noise(rng, grouped.input_len());
    // In memory the filter of `channels x multiplier` is the grouped filter of one input channel.
    let filter: Vec<T> = noise(rng, grouped.filter_len());
    let gradient: Vec<T> = noise(rng, grouped.output_len());
    let mut found = [gradient.clone(), input.clone(), filter.clone()];
    let mut expected = found.clone();
    depthwise(par, shape, &input, &filter, &mut found[0]);
    depthwise_backprop_input(par, shape, &filter, &gradient, &mut found[1]);
    depthwise_backprop_filter(par, shape, &input, &gradient, &mut found[2]);
    conv(par, grouped, &input, &filter, &mut expected[0]);
    conv_backprop_input(par, grouped, &filter, &gradient, &mut expected[1]);
    conv_backprop_filter(par, grouped, &input, &gradient, &mut expected[2]);
    for (which, (found, expected)) in found.iter().zip(&expected).enumerate() {
        for (found, expected) in found.iter().zip(expected) {
            let error = (to_f64(*found) - to_f64(*expected)).abs();
            assert!(error <= tolerance * to_f64(*expected).abs().max(1.0), "{which} of {shape:?}");
        }
    }
}
