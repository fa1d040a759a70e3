//! `AudioSpectrogram`: how strong each frequency is, window by window.

use std::f64::consts::TAU;

use num_complex::Complex;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::fourier::{Direction, Plans, analyze};
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[Op {
    name: "AudioSpectrogram",
    inputs: &["input: float"],
    outputs: &["spectrogram: float"],
    attrs: &["window_size: int", "stride: int", "magnitude_squared: bool = false"],
    kernels: &[cpu::<Spectrogram>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Spectrogram {
    window: i64,
    stride: i64,
    squared: bool,
    plans: Plans<f64>,
}

impl Kernel for Spectrogram {
    fn new(attrs: &Attrs<'_>) -> Result<Spectrogram> {
        Ok(Spectrogram {
            window: attrs.int("window_size")?,
            stride: attrs.int("stride")?,
            squared: attrs.bool("magnitude_squared")?,
            plans: Plans::default(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let &[samples, channels] = input.dims() else {
            return Err(invalid_argument!("input must be 2-dimensional{}", input.shape()));
        };
        if self.window < 2 || self.stride < 1 || self.window > i32::MAX.into() {
            return Err(invalid_argument!(
                "Spectrogram initialization failed for window size {} and stride {}",
                self.window,
                self.stride
            ));
        }
        let (window, stride) = (self.window as usize, self.stride as usize);
        let frames = if samples < window { 0 } else { 1 + (samples - window) / stride };
        let length = window.next_power_of_two();
        let bins = length / 2 + 1;
        let shape = Shape::new(&[channels, frames, bins])?;
        let values = input.values::<f32>()?;
        // Nothing is prepared for windows that no sound fills.
        if shape.num_elements() == 0 {
            ctx.set_output(0, Tensor::build(shape, |_: &mut [f32]| {})?);
            return Ok(());
        }
        let plan = self.plans.real(length, Direction::Forward);
        let hann: Vec<f64> =
            (0..window).map(|i| 0.5 - 0.5 * (TAU * i as f64 / window as f64).cos()).collect();
        let output = Tensor::build(shape, |out: &mut [f32]| {
            par.for_each(rows_mut(out, channels * frames), 4, |indices, rows| {
                let mut row = vec![0.0; length];
                let mut spectrum = vec![Complex::new(0.0, 0.0); bins];
                for (index, out) in indices.zip(rows.data.chunks_exact_mut(bins)) {
                    let (channel, first) = (index / frames, index % frames * stride);
                    for (i, (row, weight)) in row.iter_mut().zip(&hann).enumerate() {
                        *row = f64::from(values[(first + i) * channels + channel]) * weight;
                    }
                    analyze(Parallel::SERIAL, &plan, &row, &mut spectrum);
                    for (out, value) in out.iter_mut().zip(&spectrum) {
                        let power = value.norm_sqr();
                        *out = if self.squared { power } else { power.sqrt() } as f32;
                    }
                }
            });
        })?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        super::fft::cost(inputs) * (self.window / self.stride.max(1)).clamp(1, 1 << 20) as u64
    }
}
