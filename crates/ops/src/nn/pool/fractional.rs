//! `FractionalMaxPool` and `FractionalAvgPool`: windows of random sizes that cover an image.

use num_traits::AsPrimitive;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::random::{GuardedPhilox, entropy, shuffle};
use tensorfleet_tensor::{DType, Error, Result, Shape, Tensor, dispatch, invalid_argument};

use super::super::unsupported;
use crate::sparse::number::{Number, Real};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "FractionalAvgPool",
        inputs: &["value: T"],
        outputs: &["output: T", "row_pooling_sequence: int64", "col_pooling_sequence: int64"],
        attrs: &[
            "pooling_ratio: list(float) >= 4",
            "pseudo_random: bool = false",
            "overlapping: bool = false",
            "deterministic: bool = false",
            "seed: int = 0",
            "seed2: int = 0",
            "T: {float, double, int32, int64}",
        ],
        kernels: &[cpu::<Fractional>()],
        gradient: Some(average_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "FractionalAvgPoolGrad",
        inputs: &[
            "orig_input_tensor_shape: int64",
            "out_backprop: T",
            "row_pooling_sequence: int64",
            "col_pooling_sequence: int64",
        ],
        outputs: &["output: T"],
        attrs: &["overlapping: bool = false", "T: {float, double, int32, int64}"],
        kernels: &[cpu::<AvgGrad>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FractionalMaxPool",
        inputs: &["value: T"],
        outputs: &["output: T", "row_pooling_sequence: int64", "col_pooling_sequence: int64"],
        attrs: &[
            "pooling_ratio: list(float) >= 4",
            "pseudo_random: bool = false",
            "overlapping: bool = false",
            "deterministic: bool = false",
            "seed: int = 0",
            "seed2: int = 0",
            "T: {float, double, int32, int64}",
        ],
        kernels: &[cpu::<Fractional>()],
        gradient: Some(maximum_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "FractionalMaxPoolGrad",
        inputs: &[
            "orig_input: T",
            "orig_output: T",
            "out_backprop: T",
            "row_pooling_sequence: int64",
            "col_pooling_sequence: int64",
        ],
        outputs: &["output: T"],
        attrs: &["overlapping: bool = false", "T: {float, double, int32, int64}"],
        kernels: &[cpu::<MaxGrad>()],
        ..Op::DEFAULT
    },
];

/// Where the windows along one axis begin and end.
struct Cuts<'a> {
    starts: &'a [i64],
    /// How many positions the axis has.
    input: usize,
    /// Whether a window takes the first position of the next one as well.
    overlapping: bool,
}

impl Cuts<'_> {
    fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    fn window(&self, at: usize) -> std::ops::Range<usize> {
        let end = self.starts[at + 1] as usize + usize::from(self.overlapping);
        self.starts[at] as usize..end.min(self.input)
    }
}

/// An image batch cut into windows along both axes.
struct Grid<'a> {
    batch: usize,
    channels: usize,
    rows: Cuts<'a>,
    columns: Cuts<'a>,
}

impl Grid<'_> {
    fn output_shape(&self) -> Result<Shape> {
        Shape::new(&[self.batch, self.rows.len(), self.columns.len(), self.channels])
    }

    /// Calls `f` with the first output value and the first values of all pixels of each window.
    fn for_each_window(&self, mut f: impl FnMut(usize, &[usize])) {
        let (mut output, mut pixels) = (0, Vec::new());
        for image in 0..self.batch {
            for row in 0..self.rows.len() {
                for column in 0..self.columns.len() {
                    pixels.clear();
                    for y in self.rows.window(row) {
                        let line = (image * self.rows.input + y) * self.columns.input;
                        let columns = self.columns.window(column);
                        pixels.extend(columns.map(|x| (line + x) * self.channels));
                    }
                    f(output, &pixels);
                    output += self.channels;
                }
            }
        }
    }
}

/// Draws where windows begin: `output + 1` positions from 0 to `input`.
fn draw(input: usize, output: usize, pseudo: bool, generator: &GuardedPhilox) -> Vec<i64> {
    let least = input / output;
    let sizes: Vec<i64> = if pseudo {
        let alpha = input as f64 / output as f64;
        let (k, length) = (least as f64, input as f64);
        let most =
            ((k + 2.0) / alpha - 1.0).min((length + 1.0 - k) / alpha - (output as f64 - 1.0));
        let u = generator.reserve_words(2).words().next_f64() * most;
        let cut = |at: usize| match at {
            0 => 1,
            at if at == output => input as i64 + 1,
            at => (alpha * (at as f64 + u)).ceil() as i64,
        };
        (0..output).map(|at| cut(at + 1) - cut(at)).collect()
    } else {
        let larger = input % output;
        let mut sizes: Vec<i64> =
            (0..output).map(|at| (least + usize::from(at < larger)) as i64).collect();
        shuffle(generator.reserve_words(output as u64), &mut sizes);
        sizes
    };
    let mut sum = 0;
    std::iter::once(0)
        .chain(sizes.into_iter().map(|size| {
            sum += size;
            sum
        }))
        .collect()
}

#[derive(Debug)]
struct Fractional {
    ratio: Vec<f32>,
    pseudo_random: bool,
    overlapping: bool,
    seeds: [i64; 2],
    takes_maximum: bool,
}

impl Kernel for Fractional {
    fn new(attrs: &Attrs<'_>) -> Result<Fractional> {
        let ratio = attrs.floats("pooling_ratio")?.to_vec();
        if ratio.len() != 4 {
            return Err(invalid_argument!("pooling_ratio field must specify 4 dimensions"));
        }
        if let Some(low) = ratio.iter().find(|&&ratio| ratio.is_nan() || ratio < 1.0) {
            return Err(invalid_argument!("pooling_ratio cannot be smaller than 1, got: {low}"));
        }
        let takes_maximum = attrs.op() == "FractionalMaxPool";
        if ratio[0] != 1.0 || ratio[3] != 1.0 {
            return Err(tensorfleet_tensor::unimplemented_error!(
                "Fractional {} pooling is not yet supported on the batch nor channel dimension.",
                if takes_maximum { "max" } else { "average" }
            ));
        }
        let mut seeds = [attrs.int("seed")?, attrs.int("seed2")?];
        if attrs.bool("deterministic")? {
            if seeds == [0, 0] {
                seeds = [entropy() as i64, entropy() as i64];
            }
        } else if seeds != [0, 0] {
            return Err(invalid_argument!(
                "Both seed and seed2 should be 0 if deterministic is false."
            ));
        }
        Ok(Fractional {
            ratio,
            pseudo_random: attrs.bool("pseudo_random")?,
            overlapping: attrs.bool("overlapping")?,
            seeds,
            takes_maximum,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let &[batch, height, width, channels] = input.dims() else {
            return Err(invalid_argument!("tensor_in must be 4-dimensional"));
        };
        let mut outputs = [0; 2];
        for (at, &size) in input.dims().iter().enumerate() {
            let ratio = self.ratio[at];
            if (size as f32) < ratio {
                return Err(invalid_argument!(
                    "Pooling ratio is higher than input dimension size for dimension {at}. Input \
                     dim size: {size} pooling ratio: {ratio}"
                ));
            }
            if at == 1 || at == 2 {
                outputs[at - 1] = (size as f32 / ratio).floor() as usize;
            }
        }
        if outputs.contains(&0) {
            return Err(invalid_argument!("the output of fractional pooling would be empty"));
        }
        let generator = GuardedPhilox::new(self.seeds[0], self.seeds[1]);
        let rows = draw(height, outputs[0], self.pseudo_random, &generator);
        let columns = draw(width, outputs[1], self.pseudo_random, &generator);
        let overlapping = self.overlapping;
        let grid = Grid {
            batch,
            channels,
            rows: Cuts { starts: &rows, input: height, overlapping },
            columns: Cuts { starts: &columns, input: width, overlapping },
        };
        let output = dispatch!(
            input.dtype(),
            [f32, f64, i32, i64],
            T => {
                let values = input.values::<T>()?;
                Tensor::build(grid.output_shape()?, |out: &mut [T]| {
                    if self.takes_maximum {
                        maxima(&grid, values, out, |_, _| ());
                    } else {
                        averages(&grid, values, out);
                    }
                })
            },
            else => Err(unsupported(input.dtype()))
        )?;
        ctx.set_output(0, output);
        ctx.set_output(1, Tensor::vector(&rows)?);
        ctx.set_output(2, Tensor::vector(&columns)?);
        Ok(())
    }
}

/// The maxima of windows, and the values that they are, as `(output, input)`.
fn maxima<T: Real>(
    grid: &Grid<'_>,
    values: &[T],
    out: &mut [T],
    mut found: impl FnMut(usize, usize),
) {
    grid.for_each_window(|output, pixels| {
        for channel in 0..grid.channels {
            let mut best: Option<usize> = None;
            for &pixel in pixels {
                let at = pixel + channel;
                if best.is_none_or(|best| values[at] > values[best]) {
                    best = Some(at);
                }
            }
            if let Some(best) = best {
                out[output + channel] = values[best];
                found(output + channel, best);
            } else {
                out[output + channel] = T::LOWEST;
            }
        }
    });
}

fn averages<T: Number>(grid: &Grid<'_>, values: &[T], out: &mut [T]) {
    grid.for_each_window(|output, pixels| {
        for channel in 0..grid.channels {
            let taken = pixels.iter().map(|&pixel| values[pixel + channel]);
            let sum = taken.fold(T::default(), Number::plus);
            out[output + channel] = sum.over(pixels.len().max(1));
        }
    });
}

/// The windows that a gradient is told, of which there are `outputs`, or why they are refused.
fn told_cuts<'a>(
    starts: &'a Tensor,
    input: usize,
    outputs: usize,
    overlapping: bool,
    refuse: impl FnOnce(&[i64]) -> Error,
) -> Result<Cuts<'a>> {
    let starts = starts.values::<i64>()?;
    let used = &starts[..=outputs];
    // A window that does not overlap ends before the next one begins, so that one begins above 0.
    let least_end = i64::from(!overlapping);
    if used.windows(2).any(|pair| pair[0] < 0 || pair[1] < least_end) {
        return Err(refuse(starts));
    }
    Ok(Cuts { starts: used, input, overlapping })
}

/// That a forward op with these windows would not have given the output of which this is told.
fn not_the_output() -> Error {
    invalid_argument!("tensor_out_dup is not the same as tensor_out")
}

/// Refuses an image batch of another rank, or without values.
fn check_images(images: &Tensor, what: &str) -> Result<()> {
    let problem = if images.rank() != 4 {
        "should be a tensor of rank 4"
    } else if images.num_elements() == 0 {
        "must not be empty"
    } else {
        return Ok(());
    };
    let (dtype, shape) = (images.dtype(), images.shape());
    Err(invalid_argument!("{what} {problem}, got Tensor<type: {dtype} shape: {shape}>"))
}

#[derive(Debug)]
struct MaxGrad {
    overlapping: bool,
}

impl Kernel for MaxGrad {
    fn new(attrs: &Attrs<'_>) -> Result<MaxGrad> {
        Ok(MaxGrad { overlapping: attrs.bool("overlapping")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, output, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let (rows, columns) = (ctx.input(3)?, ctx.input(4)?);
        check_images(input, "orig_input")?;
        check_images(output, "orig_output")?;
        for (cuts, what) in [(rows, "row"), (columns, "col")] {
            if cuts.rank() != 1 {
                return Err(invalid_argument!(
                    "{what}_pooling_sequence must be a vector, received shape {}",
                    cuts.shape()
                ));
            }
        }
        let (&[batch, height, width, channels], &[_, out_rows, out_columns, _]) =
            (input.dims(), output.dims())
        else {
            return Err(not_the_output());
        };
        let fits = rows.num_elements() == out_rows + 1 && columns.num_elements() == out_columns + 1;
        if !fits || gradient.shape() != output.shape() {
            return Err(not_the_output());
        }
        let cuts = |starts, size, outputs| {
            told_cuts(starts, size, outputs, self.overlapping, |_| not_the_output())
        };
        let grid = Grid {
            batch,
            channels,
            rows: cuts(rows, height, out_rows)?,
            columns: cuts(columns, width, out_columns)?,
        };
        if grid.output_shape()? != *output.shape() {
            return Err(not_the_output());
        }
        let result = dispatch!(
            input.dtype(),
            [f32, f64, i32, i64],
            T => {
                let (values, given) = (input.values::<T>()?, output.values::<T>()?);
                let gradient = gradient.values::<T>()?;
                let mut again = vec![T::default(); given.len()];
                Tensor::try_build(input.shape().clone(), |out: &mut [T]| {
                    out.fill(T::default());
                    maxima(&grid, values, &mut again, |to, from| {
                        out[from] = out[from].plus(gradient[to]);
                    });
                    if again != given {
                        return Err(not_the_output());
                    }
                    Ok(())
                })
            },
            else => Err(unsupported(input.dtype()))
        )?;
        ctx.set_output(0, result);
        Ok(())
    }
}

#[derive(Debug)]
struct AvgGrad {
    overlapping: bool,
}

impl Kernel for AvgGrad {
    fn new(attrs: &Attrs<'_>) -> Result<AvgGrad> {
        Ok(AvgGrad { overlapping: attrs.bool("overlapping")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (sizes, gradient) = (ctx.input(0)?, ctx.input(1)?);
        let (rows, columns) = (ctx.input(2)?, ctx.input(3)?);
        if *sizes.dims() != [4] {
            return Err(invalid_argument!(
                "original input tensor shape must be1-dimensional and 4 elements"
            ));
        }
        let &[_, out_rows, out_columns, _] = gradient.dims() else {
            return Err(invalid_argument!("out_backprop must be 4-dimensional"));
        };
        if gradient.num_elements() == 0 {
            return Err(invalid_argument!(
                "out_backprop must be positive for all dimension, got:0"
            ));
        }
        for (cuts, outputs, what) in [(rows, out_rows, "row"), (columns, out_columns, "col")] {
            if cuts.num_elements() <= outputs {
                return Err(invalid_argument!(
                    "Given out_backprop shape {}, {what}_seq_tensor must have at least {} \
                     elements, but got {}",
                    gradient.shape(),
                    outputs + 1,
                    cuts.num_elements()
                ));
            }
        }
        let input = Shape::from_signed(sizes.values()?)?;
        let &[batch, height, width, channels] = input.dims() else {
            return Err(invalid_argument!("original input tensor shape must have 4 elements"));
        };
        let cuts = |starts, size, outputs, what| {
            told_cuts(starts, size, outputs, self.overlapping, |values| {
                let texts = values.iter().map(i64::to_string);
                let width = texts.clone().map(|text| text.len()).max().unwrap_or(0);
                let values: Vec<_> = texts.map(|text| format!("{text:>width$}")).collect();
                let values = values.join(" ");
                invalid_argument!(
                    "{what} sequence tensor values must not be negative, got {values}"
                )
            })
        };
        let grid = Grid {
            batch,
            channels,
            rows: cuts(rows, height, out_rows, "Row")?,
            columns: cuts(columns, width, out_columns, "Column")?,
        };
        if grid.output_shape()? != *gradient.shape() {
            return Err(invalid_argument!(
                "out_backprop must have shape {}, got {}",
                grid.output_shape()?,
                gradient.shape()
            ));
        }
        // The sums are wide and rounded once, so that shares of integers are not lost.
        let mut sums = Tensor::zeros(tensorfleet_tensor::DType::Double, input.clone())?;
        let wide = sums.values_mut::<f64>()?;
        let result = dispatch!(
            gradient.dtype(),
            [f32, f64, i32, i64],
            T => {
                let gradient = gradient.values::<T>()?;
                grid.for_each_window(|output, pixels| {
                    let share = 1.0 / pixels.len().max(1) as f64;
                    for channel in 0..channels {
                        let part: f64 = gradient[output + channel].as_();
                        let part = part * share;
                        pixels.iter().for_each(|&pixel| wide[pixel + channel] += part);
                    }
                });
                let values: Vec<T> = wide.iter().map(|&sum| sum.as_()).collect();
                Tensor::from_slice(input, &values)
            },
            else => Err(unsupported(gradient.dtype()))
        )?;
        ctx.set_output(0, result);
        Ok(())
    }
}

fn average_gradient(g: &GradientContext<'_>) -> InputGradients {
    let shape = g.cast(g.shape_tensor(g.input(0))?, DType::Int64)?;
    let inputs = [shape, g.grad(0)?, g.output(1), g.output(2)];
    only(g.call_with_attrs("FractionalAvgPoolGrad", inputs)?)
}

fn maximum_gradient(g: &GradientContext<'_>) -> InputGradients {
    let inputs = [g.input(0), g.output(0), g.grad(0)?, g.output(1), g.output(2)];
    only(g.call_with_attrs("FractionalMaxPoolGrad", inputs)?)
}
