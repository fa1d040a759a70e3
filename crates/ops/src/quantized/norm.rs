//! `QuantizedBatchNormWithGlobalNormalization` and `QuantizedInstanceNorm`.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, QInt32, QUInt8, Result, Tensor, invalid_argument};

use super::convert::{FromNumber, number, quantized};
use super::range::Range;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "QuantizedBatchNormWithGlobalNormalization",
        inputs: &[
            "t: Tinput",
            "t_min: float",
            "t_max: float",
            "m: Tinput",
            "m_min: float",
            "m_max: float",
            "v: Tinput",
            "v_min: float",
            "v_max: float",
            "beta: Tinput",
            "beta_min: float",
            "beta_max: float",
            "gamma: Tinput",
            "gamma_min: float",
            "gamma_max: float",
        ],
        outputs: &["result: out_type", "result_min: float", "result_max: float"],
        attrs: &[
            "Tinput: {qint8, quint8, qint32, qint16, quint16}",
            "out_type: {qint8, quint8, qint32, qint16, quint16}",
            "variance_epsilon: float",
            "scale_after_normalization: bool",
        ],
        kernels: &[cpu::<BatchNorm>()
            .types("Tinput", &[DType::QUInt8])
            .types("out_type", &[DType::QInt32])],
        ..Op::DEFAULT
    },
    Op {
        name: "QuantizedInstanceNorm",
        inputs: &["x: T", "x_min: float", "x_max: float"],
        outputs: &["y: T", "y_min: float", "y_max: float"],
        attrs: &[
            "T: {qint8, quint8, qint32, qint16, quint16}",
            "output_range_given: bool = false",
            "given_y_min: float = 0.0",
            "given_y_max: float = 0.0",
            "variance_epsilon: float = 1e-05",
            "min_separation: float = 0.001",
        ],
        kernels: &[cpu::<InstanceNorm>().types("T", &[DType::QUInt8])],
        ..Op::DEFAULT
    },
];

/// The range of normalised sums: wide enough for what occurs, with ten bits after the point.
const NORMALISED: Range = Range { low: -1048576.0, high: 1048576.0 };

#[derive(Debug)]
struct BatchNorm {
    epsilon: f32,
    scaled: bool,
}

impl Kernel for BatchNorm {
    fn new(attrs: &Attrs<'_>) -> Result<BatchNorm> {
        Ok(BatchNorm {
            epsilon: attrs.float("variance_epsilon")?,
            scaled: attrs.bool("scale_after_normalization")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let range = |index: usize, name: &str| {
            let end = |index, end: &str| match ctx.input(index)?.values::<f32>()? {
                [value] => Ok(*value),
                _ => Err(invalid_argument!("{name}_{end} must have 1 element")),
            };
            Ok(Range { low: end(index + 1, "min")?, high: end(index + 2, "max")? })
        };
        let input = ctx.input(0)?;
        let of_input = range(0, "input")?;
        let names = ["mean", "var", "beta", "gamma"];
        let ranges = [range(3, "mean")?, range(6, "var")?, range(9, "beta")?, range(12, "gamma")?];
        if input.rank() != 4 {
            return Err(invalid_argument!("input must be 4-dimensional{}", input.shape()));
        }
        let mean = ctx.input(3)?;
        let parameters = [mean, ctx.input(6)?, ctx.input(9)?, ctx.input(12)?];
        for (name, tensor) in names.iter().zip(parameters) {
            if tensor.rank() != 1 {
                return Err(invalid_argument!("{name} must be 1-dimensional{}", tensor.shape()));
            }
        }
        let depth = mean.num_elements();
        if depth < 2 {
            return Err(invalid_argument!("Must have at least a mean value{}", mean.shape()));
        }
        for (name, tensor) in names.iter().zip(parameters) {
            if tensor.shape() != mean.shape() {
                return Err(invalid_argument!(
                    "Mean and {name} tensors must have the same shape: {} vs. {}",
                    mean.shape(),
                    tensor.shape()
                ));
            }
        }
        if input.dims()[3] != depth {
            return Err(invalid_argument!(
                "input of shape {} does not have {depth} channels",
                input.shape()
            ));
        }
        let mut numbers = [const { Vec::new() }; 4];
        for ((numbers, tensor), range) in numbers.iter_mut().zip(parameters).zip(ranges) {
            *numbers =
                tensor.values()?.iter().map(|&value: &QUInt8| number(value, range)).collect();
        }
        let [means, variances, betas, gammas]: [Vec<f32>; 4] = numbers;
        let maps: Vec<[i32; 2]> = (0..depth)
            .map(|channel| {
                let scale = 1.0 / (variances[channel] + self.epsilon).sqrt();
                let scale = if self.scaled { scale * gammas[channel] } else { scale };
                let offset = -means[channel] * scale + betas[channel];
                [scale, offset].map(|value| quantized::<QInt32>(value, NORMALISED).0)
            })
            .collect();
        let one = quantized::<QInt32>(1.0, NORMALISED).0;
        let bytes: Vec<i32> = (0..=u8::MAX)
            .map(|byte| quantized::<QInt32>(number(QUInt8(byte), of_input), NORMALISED).0)
            .collect();
        let values = input.values::<QUInt8>()?;
        let output = Tensor::build(input.shape().clone(), |out: &mut [QInt32]| {
            let pixels = out.chunks_exact_mut(depth).zip(values.chunks_exact(depth));
            for (out, pixel) in pixels {
                for (out, (value, [scale, offset])) in out.iter_mut().zip(pixel.iter().zip(&maps)) {
                    let scaled = bytes[usize::from(value.0)].wrapping_mul(*scale) / one;
                    *out = QInt32(scaled.wrapping_add(*offset));
                }
            }
        })?;
        ctx.set_output(0, output);
        NORMALISED.output(ctx, 1);
        Ok(())
    }
}

#[derive(Debug)]
struct InstanceNorm {
    given: Option<Range>,
    epsilon: f32,
    least_width: f32,
}

impl Kernel for InstanceNorm {
    fn new(attrs: &Attrs<'_>) -> Result<InstanceNorm> {
        let range = Range { low: attrs.float("given_y_min")?, high: attrs.float("given_y_max")? };
        let given = attrs.bool("output_range_given")?.then_some(range);
        if let Some(Range { low, high }) = given {
            let words = format!("given_y_min must be less than given_y_max : {low} >= {high}");
            range.check(&words)?;
        }
        Ok(InstanceNorm {
            given,
            epsilon: attrs.float("variance_epsilon")?,
            least_width: attrs.float("min_separation")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let from = Range::of(ctx, 1, ["`x_min`", "`x_max`"])?;
        from.check(&format!(
            "input_min must be less than input_max : {} >= {}",
            from.low, from.high
        ))?;
        let input = ctx.input(0)?;
        let &[_, height, width, channels] = input.dims() else {
            return Err(invalid_argument!("x must be 4-dimensional{}", input.shape()));
        };
        let mut numbers = vec![0.0f32; input.num_elements()];
        let level = (from.high - from.low) / 255.0;
        let len = height * width * channels;
        if !numbers.is_empty() {
            let images = input.values::<QUInt8>()?.chunks_exact(len);
            for (numbers, image) in numbers.chunks_exact_mut(len).zip(images) {
                self.normalise(numbers, image, channels, level);
            }
        }
        let mut to = self.given.unwrap_or_else(|| Range {
            low: numbers.iter().copied().fold(f32::INFINITY, f32::min),
            high: numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max),
        });
        if to.high - to.low < self.least_width {
            to.high = to.low + self.least_width;
        }
        let map = FromNumber::new::<QUInt8>(to);
        let output = Tensor::build(input.shape().clone(), |out: &mut [QUInt8]| {
            for (out, &number) in out.iter_mut().zip(&numbers) {
                *out = map.apply(number);
            }
        })?;
        ctx.set_output(0, output);
        to.output(ctx, 1);
        Ok(())
    }
}

impl InstanceNorm {
    /// The numbers of an image, each channel with mean zero and variance one.
    fn normalise(&self, out: &mut [f32], image: &[QUInt8], channels: usize, level: f32) {
        let pixels = (image.len() / channels) as f32;
        for channel in 0..channels {
            let values = || image[channel..].iter().step_by(channels).map(|value| value.0);
            let sum: u64 = values().map(u64::from).sum();
            let mean = sum as f32 / pixels;
            let squares = values().map(|value| (level * (f32::from(value) - mean)).powi(2));
            let variance = squares.sum::<f32>() / pixels;
            let scale = (variance + self.epsilon).sqrt().recip();
            for (out, value) in out[channel..].iter_mut().step_by(channels).zip(values()) {
                *out = level * (f32::from(value) - mean) * scale;
            }
        }
    }
}
