//! `BatchNormWithGlobalNormalization`: images normalised by statistics that are inputs.

use half::f16;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, NewNode, Op, cpu,
};
use tensorfleet_tensor::{DType, Element, Result, Shape, Tensor, invalid_argument};

use super::unsupported;

const TYPES: &[DType] = &[DType::Half, DType::Float, DType::Double];
const FORWARD: &[KernelDef] = &[cpu::<GlobalNorm>().types("T", TYPES)];
const GRAD: &[KernelDef] = &[cpu::<GlobalNormGrad>().types("T", TYPES)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BatchNormWithGlobalNormalization",
        inputs: &["t: T", "m: T", "v: T", "beta: T", "gamma: T"],
        outputs: &["result: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "variance_epsilon: float",
            "scale_after_normalization: bool",
        ],
        kernels: FORWARD,
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "BatchNormWithGlobalNormalizationGrad",
        inputs: &["t: T", "m: T", "v: T", "gamma: T", "backprop: T"],
        outputs: &["dx: T", "dm: T", "dv: T", "db: T", "dg: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "variance_epsilon: float",
            "scale_after_normalization: bool",
        ],
        kernels: GRAD,
        ..Op::DEFAULT
    },
];

#[derive(Clone, Copy, Debug)]
struct Spec {
    epsilon: f32,
    scales: bool,
}

impl Spec {
    fn new(attrs: &Attrs<'_>) -> Result<Spec> {
        Ok(Spec {
            epsilon: attrs.float("variance_epsilon")?,
            scales: attrs.bool("scale_after_normalization")?,
        })
    }
}

/// A type whose values are computed in double precision and rounded once.
trait Rounded: Element {
    fn wide(self) -> f64;
    fn round(value: f64) -> Self;
}

impl Rounded for f16 {
    fn wide(self) -> f64 {
        self.to_f64()
    }

    fn round(value: f64) -> f16 {
        f16::from_f64(value)
    }
}

impl Rounded for f32 {
    fn wide(self) -> f64 {
        self.into()
    }

    fn round(value: f64) -> f32 {
        value as f32
    }
}

impl Rounded for f64 {
    fn wide(self) -> f64 {
        self
    }

    fn round(value: f64) -> f64 {
        value
    }
}

fn wide<T: Rounded>(tensor: &Tensor) -> Result<Vec<f64>> {
    Ok(tensor.values::<T>()?.iter().map(|&value| value.wide()).collect())
}

fn round<T: Rounded>(shape: Shape, values: &[f64]) -> Result<Tensor> {
    Tensor::build(shape, |out: &mut [T]| {
        out.iter_mut().zip(values).for_each(|(out, &value)| *out = T::round(value));
    })
}

/// Checks the ranks of the inputs, and returns the number of channels.
fn check(names: &[&str], ctx: &KernelContext<'_>) -> Result<usize> {
    let images = ctx.input(0)?;
    let &[_, _, _, channels] = images.dims() else {
        return Err(invalid_argument!("input must be 4-dimensional {}", images.shape()));
    };
    for (at, name) in names.iter().enumerate() {
        let tensor = ctx.input(at + 1)?;
        if *name == "out_backprop" {
            if tensor.shape() != images.shape() {
                return Err(invalid_argument!(
                    "out_backprop must have the shape {} of the input, got {}",
                    images.shape(),
                    tensor.shape()
                ));
            }
        } else if tensor.rank() != 1 {
            return Err(invalid_argument!("{name} must be 1-dimensional {}", tensor.shape()));
        } else if tensor.num_elements() != channels {
            return Err(invalid_argument!(
                "{name} must have as many elements as the input has channels, {channels}, got {}",
                tensor.num_elements()
            ));
        }
    }
    Ok(channels)
}

#[derive(Debug)]
struct GlobalNorm(Spec);

impl Kernel for GlobalNorm {
    fn new(attrs: &Attrs<'_>) -> Result<GlobalNorm> {
        Spec::new(attrs).map(GlobalNorm)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        check(&["mean", "var", "beta", "gamma"], ctx)?;
        let inputs = ctx.input_list(0..5)?;
        let output = tensorfleet_tensor::dispatch!(
            inputs[0].dtype(),
            [f32, f64, f16],
            T => normalize::<T>(self.0, &inputs),
            else => Err(unsupported(inputs[0].dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn normalize<T: Rounded>(spec: Spec, inputs: &[&Tensor]) -> Result<Tensor> {
    let [mean, variance, beta, gamma] = [1, 2, 3, 4].map(|at| wide::<T>(inputs[at]));
    let (mean, beta, gamma) = (mean?, beta?, gamma?);
    let variance = variance?;
    let scale: Vec<f64> = variance
        .iter()
        .zip(&gamma)
        .map(|(v, gamma)| {
            let deviation = 1.0 / (v + f64::from(spec.epsilon)).sqrt();
            if spec.scales { deviation * gamma } else { deviation }
        })
        .collect();
    let values = inputs[0].values::<T>()?;
    let channels = mean.len();
    Tensor::build(inputs[0].shape().clone(), |out: &mut [T]| {
        for (at, (out, value)) in out.iter_mut().zip(values).enumerate() {
            let c = at % channels;
            *out = T::round((value.wide() - mean[c]) * scale[c] + beta[c]);
        }
    })
}

#[derive(Debug)]
struct GlobalNormGrad(Spec);

impl Kernel for GlobalNormGrad {
    fn new(attrs: &Attrs<'_>) -> Result<GlobalNormGrad> {
        Spec::new(attrs).map(GlobalNormGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        check(&["mean", "var", "gamma", "out_backprop"], ctx)?;
        let inputs = ctx.input_list(0..5)?;
        let outputs = tensorfleet_tensor::dispatch!(
            inputs[0].dtype(),
            [f32, f64, f16],
            T => gradients::<T>(self.0, &inputs),
            else => Err(unsupported(inputs[0].dtype()))
        )?;
        for (at, output) in outputs.into_iter().enumerate() {
            ctx.set_output(at, output);
        }
        Ok(())
    }
}

/// The gradients by the input, the mean, the variance, the offset and the scale.
fn gradients<T: Rounded>(spec: Spec, inputs: &[&Tensor]) -> Result<[Tensor; 5]> {
    let [values, mean, variance, gamma, backprop] = [0, 1, 2, 3, 4].map(|at| wide::<T>(inputs[at]));
    let (values, mean, variance) = (values?, mean?, variance?);
    let (gamma, backprop) = (gamma?, backprop?);
    let channels = mean.len();
    let (mut sums, mut products) = (vec![0.0; channels], vec![0.0; channels]);
    for (at, (value, gradient)) in values.iter().zip(&backprop).enumerate() {
        let c = at % channels;
        sums[c] += gradient;
        products[c] += gradient * (value - mean[c]);
    }
    let deviations: Vec<f64> =
        variance.iter().map(|v| 1.0 / (v + f64::from(spec.epsilon)).sqrt()).collect();
    let factor = |c: usize| if spec.scales { gamma[c] } else { 1.0 };
    let per_channel = |f: &dyn Fn(usize) -> f64| (0..channels).map(f).collect::<Vec<f64>>();
    let by_input: Vec<f64> = backprop
        .iter()
        .enumerate()
        .map(|(at, gradient)| gradient * deviations[at % channels] * factor(at % channels))
        .collect();
    let by_mean = per_channel(&|c| -sums[c] * deviations[c] * factor(c));
    let by_variance = per_channel(&|c| products[c] * deviations[c].powi(3) / -2.0 * factor(c));
    let by_gamma = per_channel(&|c| if spec.scales { products[c] * deviations[c] } else { 0.0 });
    let vector = Shape::vector(channels);
    Ok([
        round::<T>(inputs[0].shape().clone(), &by_input)?,
        round::<T>(vector.clone(), &by_mean)?,
        round::<T>(vector.clone(), &by_variance)?,
        round::<T>(vector.clone(), &sums)?,
        round::<T>(vector, &by_gamma)?,
    ])
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let node = NewNode::new("BatchNormWithGlobalNormalizationGrad");
    let node = node.input(g.input(0)).input(g.input(1)).input(g.input(2)).input(g.input(4));
    let gradients: [_; 5] = g.outs(g.with_attrs_of(node.input(g.grad(0)?))?)?;
    Ok(gradients.map(|gradient| Some(gradient.into())).to_vec())
}

#[cfg(test)]
mod tests {
    use tensorfleet_graph::AttrValue;
    use tensorfleet_testing::OpRun;

    use super::*;

    /// New clients refuse to make these ops, so there are no recorded values.
    fn run(op: &str, inputs: &[&[f32]]) -> Vec<Tensor> {
        let registry = tensorfleet_framework::Registry::new(OPS).unwrap();
        let mut run = OpRun::new(op)
            .attr("variance_epsilon", AttrValue::Float(1.0))
            .attr("scale_after_normalization", AttrValue::Bool(true))
            .attr("T", AttrValue::Type(DType::Float));
        for values in inputs {
            let shape = if values.len() == 1 {
                Shape::vector(1)
            } else {
                Shape::from([1, 1, values.len(), 1])
            };
            run = run.input(Tensor::from_slice(shape, values).unwrap());
        }
        run.run(&registry).unwrap()
    }

    #[test]
    fn the_mean_goes_first_and_the_scale_last() {
        let outputs =
            run("BatchNormWithGlobalNormalization", &[&[1.0, 5.0], &[1.0], &[3.0], &[0.5], &[4.0]]);
        assert_eq!(outputs[0].values::<f32>().unwrap(), [0.5, 8.5]);
    }

    #[test]
    fn gradients_go_to_the_input_and_to_all_statistics() {
        let outputs = run(
            "BatchNormWithGlobalNormalizationGrad",
            &[&[1.0, 5.0], &[1.0], &[3.0], &[4.0], &[1.0, 2.0]],
        );
        let values: Vec<&[f32]> = outputs.iter().map(|t| t.values().unwrap()).collect();
        assert_eq!(values, [&[2.0, 4.0][..], &[-6.0], &[-2.0], &[3.0], &[4.0]]);
    }
}
