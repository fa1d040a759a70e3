//! `Dilation2D` and its gradients: the largest sum of image and filter in each window.

use tensorfleet_framework::gradient::both;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::conv::Axis;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument, unimplemented_error};

use super::REAL_NUMBERS;
use super::window::{Layout, Padding, Window};
use crate::sparse::number::{Number, Real, for_real};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Dilation2D",
        inputs: &["input: T", "filter: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "strides: list(int) >= 4",
            "rates: list(int) >= 4",
            "padding: {'SAME', 'VALID'}",
        ],
        kernels: &[cpu::<Dilation2D>().types("T", REAL_NUMBERS)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Dilation2DBackpropFilter",
        inputs: &["input: T", "filter: T", "out_backprop: T"],
        outputs: &["filter_backprop: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "strides: list(int) >= 4",
            "rates: list(int) >= 4",
            "padding: {'SAME', 'VALID'}",
        ],
        kernels: &[cpu::<Backprop>().types("T", REAL_NUMBERS)],
        ..Op::DEFAULT
    },
    Op {
        name: "Dilation2DBackpropInput",
        inputs: &["input: T", "filter: T", "out_backprop: T"],
        outputs: &["in_backprop: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "strides: list(int) >= 4",
            "rates: list(int) >= 4",
            "padding: {'SAME', 'VALID'}",
        ],
        kernels: &[cpu::<Backprop>().types("T", REAL_NUMBERS)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Spec {
    strides: [i64; 2],
    rates: [i64; 2],
    padding: Padding,
}

impl Spec {
    fn new(attrs: &Attrs<'_>) -> Result<Spec> {
        let read = |name: &str, what: &str| {
            let values = attrs.ints(name)?;
            let &[batch, rows, columns, depth] = values else {
                return Err(invalid_argument!(
                    "Sliding window {what} field must specify 4 dimensions"
                ));
            };
            if batch != 1 || depth != 1 {
                return Err(unimplemented_error!(
                    "{what} is only supported across spatial dimensions."
                ));
            }
            if rows <= 0 || columns <= 0 {
                return Err(invalid_argument!("{what} must be > 0, but got {}", rows.min(columns)));
            }
            Ok([rows, columns])
        };
        let layout = Layout { spatial: 2, channels_first: false };
        Ok(Spec {
            rates: read("rates", "Rate")?,
            strides: read("strides", "Stride")?,
            padding: Padding::new(attrs, layout)?,
        })
    }

    fn axes(&self, input: &Tensor, filter: &Tensor) -> Result<[Axis; 2]> {
        if input.rank() != 4 {
            return Err(invalid_argument!("input must be 4-dimensional {}", input.shape()));
        }
        if filter.rank() != 3 {
            return Err(invalid_argument!("filter must be 3-dimensional: {}", filter.shape()));
        }
        if input.dims()[3] != filter.dims()[2] {
            return Err(invalid_argument!(
                "input and filter must have the same depth: {} vs {}",
                input.dims()[3],
                filter.dims()[2]
            ));
        }
        let axis = |index: usize| {
            let window = Window {
                size: filter.dims()[index],
                stride: self.strides[index],
                dilation: self.rates[index],
            };
            if window.size == 0 {
                return Err(invalid_argument!("filter must not be empty: {}", filter.shape()));
            }
            self.padding.axis(index + 1, input.dims()[index + 1], window)
        };
        Ok([axis(0)?, axis(1)?])
    }
}

/// The tap of the filter and the position of the input that meet.
#[derive(Clone, Copy)]
struct Meeting {
    tap: usize,
    position: usize,
}

/// Where a window meets an axis; at the first tap and the first position at least.
fn meetings(axis: Axis, at: usize) -> impl Iterator<Item = Meeting> + Clone {
    (0..axis.filter).filter_map(move |tap| {
        let position = (at * axis.stride + tap * axis.dilation).checked_sub(axis.pad)?;
        (position < axis.input).then_some(Meeting { tap, position })
    })
}

/// A window of one channel, its largest sum, and where that stands in input and filter.
struct Best<T> {
    output: usize,
    sum: T,
    input: usize,
    filter: usize,
}

fn for_each_window<T: Real>(
    [rows, columns]: [Axis; 2],
    input: &Tensor,
    (values, filter): (&[T], &[T]),
    mut f: impl FnMut(Best<T>),
) {
    let (batch, channels) = (input.dims()[0], input.dims()[3]);
    let mut output = 0;
    for image in 0..batch {
        for y in 0..rows.output {
            for x in 0..columns.output {
                for channel in 0..channels {
                    // Where all sums are as low as can be, the first position of the window stands.
                    let first = |axis: Axis, at: usize| (at * axis.stride).saturating_sub(axis.pad);
                    let at = |row: usize, column: usize| {
                        ((image * rows.input + row) * columns.input + column) * channels + channel
                    };
                    let start = at(first(rows, y), first(columns, x));
                    let mut best = Best { output, sum: T::LOWEST, input: start, filter: channel };
                    for row in meetings(rows, y) {
                        for column in meetings(columns, x) {
                            let input = at(row.position, column.position);
                            let tap = row.tap * columns.filter + column.tap;
                            let filter_at = tap * channels + channel;
                            let sum = values[input].plus(filter[filter_at]);
                            if sum > best.sum {
                                best = Best { output, sum, input, filter: filter_at };
                            }
                        }
                    }
                    f(best);
                    output += 1;
                }
            }
        }
    }
}

#[derive(Debug)]
struct Dilation2D(Spec);

impl Kernel for Dilation2D {
    fn new(attrs: &Attrs<'_>) -> Result<Dilation2D> {
        Spec::new(attrs).map(Dilation2D)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, filter) = (ctx.input(0)?, ctx.input(1)?);
        let axes = self.0.axes(input, filter)?;
        let [rows, columns] = axes.map(|axis| axis.output);
        let shape = Shape::new(&[input.dims()[0], rows, columns, input.dims()[3]])?;
        let output = for_real!(input.dtype(), T => {
            let values = (input.values::<T>()?, filter.values::<T>()?);
            Tensor::build(shape, |out: &mut [T]| {
                for_each_window(axes, input, values, |best| out[best.output] = best.sum);
            })
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Both gradients: what each window gets goes to the value, or to the weight, that its sum is of.
#[derive(Debug)]
struct Backprop {
    spec: Spec,
    to_filter: bool,
}

impl Kernel for Backprop {
    fn new(attrs: &Attrs<'_>) -> Result<Backprop> {
        let to_filter = attrs.op() == "Dilation2DBackpropFilter";
        Ok(Backprop { spec: Spec::new(attrs)?, to_filter })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, filter, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let axes = self.spec.axes(input, filter)?;
        let [rows, columns] = axes.map(|axis| axis.output);
        if gradient.dims() != [input.dims()[0], rows, columns, input.dims()[3]] {
            return Err(invalid_argument!("out_backprop has incompatible size."));
        }
        let shape = if self.to_filter { filter.shape() } else { input.shape() }.clone();
        let output = for_real!(input.dtype(), T => {
            let values = (input.values::<T>()?, filter.values::<T>()?);
            let gradient = gradient.values::<T>()?;
            Tensor::build(shape, |out: &mut [T]| {
                out.fill(T::default());
                for_each_window(axes, input, values, |best| {
                    let at = if self.to_filter { best.filter } else { best.input };
                    out[at] = out[at].plus(gradient[best.output]);
                });
            })
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let inputs = [g.input(0), g.input(1), g.grad(0)?];
    both(
        g.call_with_attrs("Dilation2DBackpropInput", inputs)?,
        g.call_with_attrs("Dilation2DBackpropFilter", inputs)?,
    )
}
