//! Convolutions of sequences (batch, time, channels), images (batch, height, width, channels) and
//! volumes (batch, depth, height, width, channels): how many dimensions is said by the size of the
//! filters.

use std::panic::Location;

use tensorfleet_tensor::invalid_argument;

use super::arrays::concat;
use super::{Base, Init, Maker, Padding, last_size, settings, with_windows};
use crate::build::OpBuilder;
use crate::initializer::{self, Initializer};
use crate::module::{Module, Parameters};
use crate::output::{Operand, Output};
use crate::variable::Variable;

/// A convolution of images with `filters` filters of a size: a [`Conv`] in one line.
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let images = graph.placeholder::<f32>([None, Some(28), Some(28), Some(3)]);
/// let features = layers::conv2d(&images, "conv", 16, [3, 3], 2, Padding::Same).relu();
/// assert_eq!(features.shape().to_string(), "[?,14,14,16]");
/// assert_eq!(graph.variables()[0].shape().to_string(), "[3,3,3,16]");
/// ```
#[track_caller]
pub fn conv2d(
    x: &Output,
    name: &str,
    filters: usize,
    size: [usize; 2],
    stride: usize,
    padding: Padding,
) -> Output {
    Conv::new(filters, size).stride(stride).padding(padding).named(name).call(x)
}

/// A kernel and a bias, once they are made.
type Weights = (Variable, Option<Variable>);

fn parts(made: Option<&Weights>, kernel_name: &str, parameters: &mut Parameters) {
    if let Some((kernel, bias)) = made {
        parameters.part(kernel_name, kernel);
        parameters.part("bias", bias);
    }
}

/// What all convolutions are told.
#[derive(Clone, Debug)]
struct Shape<const N: usize> {
    size: [usize; N],
    stride: [usize; N],
    dilation: [usize; N],
    padding: Padding,
    kernel: Init,
    bias: Option<Init>,
}

impl<const N: usize> Shape<N> {
    fn new(size: [usize; N]) -> Shape<N> {
        Shape {
            size,
            stride: [1; N],
            dilation: [1; N],
            padding: Padding::Valid,
            kernel: Init::new(initializer::glorot_uniform),
            bias: Some(Init::new(initializer::zeros)),
        }
    }

    /// Makes the variables.
    #[track_caller]
    fn weights(&self, make: &Maker<'_>, name: &str, channels: [usize; 2], bias: usize) -> Weights {
        let kernel = [&self.size[..], &channels].concat();
        let kernel = make.weights(name, &self.kernel, kernel);
        (kernel, self.bias.as_ref().map(|initial| make.weights("bias", initial, [bias])))
    }

    /// Sizes of the inner dimensions as an attribute of all.
    fn all(sizes: &[usize]) -> Vec<i64> {
        let inner = sizes.iter().map(|&size| size as i64);
        std::iter::once(1).chain(inner).chain(std::iter::once(1)).collect()
    }

    fn settle(&self, op: OpBuilder) -> Output {
        op.attr("strides", Self::all(&self.stride))
            .attr("dilations", Self::all(&self.dilation))
            .attr("padding", self.padding.name())
            .output()
    }

    /// For a sequence: the same for an image of height one.
    fn flat(&self) -> Shape<2> {
        let flat = |sizes: [usize; N], first| [first, sizes[0]];
        Shape {
            size: flat(self.size, 1),
            stride: flat(self.stride, 1),
            dilation: flat(self.dilation, 1),
            padding: self.padding,
            kernel: self.kernel.clone(),
            bias: self.bias.clone(),
        }
    }

    #[track_caller]
    fn check(&self, x: &Output, most: usize) {
        if N == 0 || N > most {
            x.graph().failed(invalid_argument!(
                "a convolution of this kind has 1 to {most} dimensions, not {N}"
            ));
        } else if x.rank().is_some_and(|rank| rank != N + 2) {
            x.graph().failed(invalid_argument!(
                "a convolution of {N} dimensions takes a tensor of {}, with batch and channels, \
                 not of shape {}",
                N + 2,
                x.shape()
            ));
        }
    }
}

#[track_caller]
fn add_bias(x: Output, bias: Option<&Variable>) -> Output {
    match (bias, x.rank()) {
        (None, _) => x,
        (Some(bias), Some(3)) => x + bias,
        (Some(bias), _) => x.graph().op("BiasAdd").input(&x).input(bias).output(),
    }
}

/// The settings that all convolutions have.
macro_rules! convolution {
    ($layer:ident, $kernel:literal) => {
        settings!($layer<const N: usize>);

        impl<const N: usize> $layer<N> {
            /// Moves filters by so much in all directions; one by default.
            #[doc = concat!(" See the example of [`", stringify!($layer), "`].")]
            #[must_use]
            pub fn stride(mut self, stride: usize) -> Self {
                self.shape.stride = [stride; N];
                self
            }

            /// Chooses how filters are laid; [`Padding::Valid`] by default.
            #[doc = concat!(" See the example of [`", stringify!($layer), "`].")]
            #[must_use]
            pub fn padding(mut self, padding: Padding) -> Self {
                self.shape.padding = padding;
                self
            }

            /// Spreads the elements of filters out; one, not at all, by default. See the
            /// example of [`Conv`].
            #[must_use]
            pub fn dilation(mut self, dilation: usize) -> Self {
                self.shape.dilation = [dilation; N];
                self
            }

            /// Chooses the initial kernel. See the example of [`layers`](crate::layers).
            #[must_use]
            pub fn kernel(
                mut self,
                initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
            ) -> Self {
                self.shape.kernel = Init::new(initial);
                self
            }

            /// Chooses the initial bias. See the example of [`Dense`](super::Dense).
            #[must_use]
            pub fn bias(
                mut self,
                initial: impl Fn(Vec<usize>) -> Initializer + Send + Sync + 'static,
            ) -> Self {
                self.shape.bias = Some(Init::new(initial));
                self
            }

            /// Leaves the bias out. See the example of [`Dense`](super::Dense).
            #[must_use]
            pub fn no_bias(mut self) -> Self {
                self.shape.bias = None;
                self
            }
        }

        impl<const N: usize> Module for $layer<N> {
            fn parts(&self, parameters: &mut Parameters) {
                parts(self.base.made.get(), $kernel, parameters);
            }
        }
    };
}

/// A convolution of 1, 2 or 3 dimensions.
///
/// ```
/// use tensorfleet_client::Graph;
/// use tensorfleet_client::layers::{Conv, Padding};
///
/// let graph = Graph::new();
/// let sound = graph.placeholder::<f32>([None, Some(100), Some(2)]);
/// let heard = Conv::new(8, [5]).stride(2).padding(Padding::Same).call(&sound);
/// assert_eq!(heard.shape().to_string(), "[?,50,8]");
/// let far = Conv::new(8, [5]).dilation(4).call(&sound);
/// assert_eq!(far.shape().to_string(), "[?,84,8]");
/// let volumes = graph.placeholder::<f32>([None, Some(9), Some(9), Some(9), Some(1)]);
/// let seen = Conv::new(4, [3, 3, 3]).call(&volumes);
/// assert_eq!(seen.shape().to_string(), "[?,7,7,7,4]");
/// ```
#[derive(Debug)]
pub struct Conv<const N: usize> {
    base: Base<Weights>,
    filters: usize,
    shape: Shape<N>,
}

convolution!(Conv, "kernel");

impl<const N: usize> Conv<N> {
    /// So many filters of a size. See the example of [`Conv`].
    #[must_use]
    pub fn new(filters: usize, size: [usize; N]) -> Conv<N> {
        Conv { base: Base::new("conv"), filters, shape: Shape::new(size) }
    }

    /// Convolves. See the example of [`Conv`].
    #[track_caller]
    pub fn call(&self, x: &Output) -> Output {
        self.base.call(
            x,
            Location::caller(),
            |make| {
                self.shape.check(x, 3);
                let channels = [last_size(x), self.filters];
                self.shape.weights(make, "kernel", channels, self.filters)
            },
            |(kernel, bias)| add_bias(convolve(x, &kernel.read(), &self.shape), bias.as_ref()),
        )
    }
}

#[track_caller]
fn convolve<const N: usize>(x: &Output, kernel: &Output, shape: &Shape<N>) -> Output {
    match N {
        1 => convolve(&x.expand_dims(1), &kernel.expand_dims(0), &shape.flat()).squeeze(&[1]),
        2 => shape.settle(x.graph().op("Conv2D").input(x).input(kernel)),
        _ => {
            let made = shape.settle(x.graph().op("Conv3D").input(x).input(kernel));
            let window =
                |axis: usize| shape.dilation[axis] * shape.size[axis].saturating_sub(1) + 1;
            let windows: Vec<[usize; 2]> =
                (0..N).map(|axis| [window(axis), shape.stride[axis]]).collect();
            let filters = kernel.shape().dims.and_then(|dims| dims.last().copied().flatten());
            let made = made.with_shape((0..N + 1).map(|_| None).chain([filters]));
            with_windows(made, x, &windows, shape.padding)
        }
    }
}

/// A transposed convolution of 1, 2 or 3 dimensions: what takes the output of a convolution back to
/// the size of its input.
///
/// ```
/// use tensorfleet_client::Graph;
/// use tensorfleet_client::layers::{ConvTranspose, Padding};
///
/// let graph = Graph::new();
/// let small = graph.placeholder::<f32>([None, Some(7), Some(7), Some(16)]);
/// let large = ConvTranspose::new(3, [4, 4]).stride(2).padding(Padding::Same).call(&small);
/// assert_eq!(large.shape().to_string(), "[?,14,14,3]");
/// assert_eq!(graph.variables()[0].shape().to_string(), "[4,4,3,16]");
/// ```
#[derive(Debug)]
pub struct ConvTranspose<const N: usize> {
    base: Base<Weights>,
    filters: usize,
    shape: Shape<N>,
}

convolution!(ConvTranspose, "kernel");

impl<const N: usize> ConvTranspose<N> {
    /// So many filters of a size. See the example of [`ConvTranspose`].
    #[must_use]
    pub fn new(filters: usize, size: [usize; N]) -> ConvTranspose<N> {
        ConvTranspose { base: Base::new("conv_transpose"), filters, shape: Shape::new(size) }
    }

    /// Convolves. See the example of [`ConvTranspose`].
    #[track_caller]
    pub fn call(&self, x: &Output) -> Output {
        self.base.call(
            x,
            Location::caller(),
            |make| {
                self.shape.check(x, 3);
                let channels = [self.filters, last_size(x)];
                self.shape.weights(make, "kernel", channels, self.filters)
            },
            |(kernel, bias)| {
                let large = transposed(x, &kernel.read(), &self.shape, self.filters);
                add_bias(large, bias.as_ref())
            },
        )
    }
}

#[track_caller]
fn transposed<const N: usize>(
    x: &Output,
    kernel: &Output,
    shape: &Shape<N>,
    filters: usize,
) -> Output {
    if N == 1 {
        let image = transposed(&x.expand_dims(1), &kernel.expand_dims(0), &shape.flat(), filters);
        return image.squeeze(&[1]);
    }
    let graph = x.graph();
    // What is left of a window beyond its stride sticks out at the end.
    let more: Vec<usize> = (0..N)
        .map(|axis| match shape.padding {
            Padding::Same => 0,
            Padding::Valid => {
                let window = shape.dilation[axis] * shape.size[axis].saturating_sub(1) + 1;
                window.saturating_sub(shape.stride[axis])
            }
        })
        .collect();
    let whole = x.shape_tensor();
    let inner = whole.slice(&[1], &[N as i32]);
    let of = |sizes: &[usize]| sizes.iter().map(|&size| size as i32).collect::<Vec<i32>>();
    let inner = inner * of(&shape.stride) + of(&more);
    let rows = whole.slice(&[0], &[1]);
    let sizes = concat(&[&rows, &inner, &vec![filters as i32].to_output(graph, None)], 0);
    let op = if N == 2 { "Conv2DBackpropInput" } else { "Conv3DBackpropInputV2" };
    let large = shape.settle(graph.op(op).input(sizes).input(kernel).input(x));
    let Some(dims) = x.shape().dims else { return large };
    let known = (0..N).map(|axis| {
        dims.get(axis + 1).copied().flatten().map(|dim| dim * shape.stride[axis] + more[axis])
    });
    let first = dims.first().copied().flatten();
    large.with_shape(std::iter::once(first).chain(known).chain([Some(filters)]))
}

/// A convolution of each channel by itself, of 1 or 2 dimensions, with one or several filters for
/// each.
///
/// ```
/// use tensorfleet_client::Graph;
/// use tensorfleet_client::layers::{DepthwiseConv, Padding};
///
/// let graph = Graph::new();
/// let images = graph.placeholder::<f32>([None, Some(8), Some(8), Some(3)]);
/// let y = DepthwiseConv::new([3, 3]).multiplier(2).stride(2).padding(Padding::Same).call(&images);
/// assert_eq!(y.shape().to_string(), "[?,4,4,6]");
/// assert_eq!(graph.variables()[0].shape().to_string(), "[3,3,3,2]");
/// ```
#[derive(Debug)]
pub struct DepthwiseConv<const N: usize> {
    base: Base<Weights>,
    multiplier: usize,
    shape: Shape<N>,
}

convolution!(DepthwiseConv, "depthwise_kernel");

impl<const N: usize> DepthwiseConv<N> {
    /// Filters of a size, one for each channel. See the example of [`DepthwiseConv`].
    #[must_use]
    pub fn new(size: [usize; N]) -> DepthwiseConv<N> {
        DepthwiseConv { base: Base::new("depthwise_conv"), multiplier: 1, shape: Shape::new(size) }
    }

    /// So many filters for each channel. See the example of [`DepthwiseConv`].
    #[must_use]
    pub fn multiplier(mut self, multiplier: usize) -> DepthwiseConv<N> {
        self.multiplier = multiplier;
        self
    }

    /// Convolves. See the example of [`DepthwiseConv`].
    #[track_caller]
    pub fn call(&self, x: &Output) -> Output {
        self.base.call(
            x,
            Location::caller(),
            |make| {
                self.shape.check(x, 2);
                let channels = last_size(x);
                let bias = channels * self.multiplier;
                self.shape.weights(make, "depthwise_kernel", [channels, self.multiplier], bias)
            },
            |(kernel, bias)| add_bias(by_channel(x, &kernel.read(), &self.shape), bias.as_ref()),
        )
    }
}

#[track_caller]
fn by_channel<const N: usize>(x: &Output, kernel: &Output, shape: &Shape<N>) -> Output {
    if N == 1 {
        // The op wants equal strides; along a height of one any will do.
        let flat = Shape { stride: [shape.stride[0]; 2], ..shape.flat() };
        return by_channel(&x.expand_dims(1), &kernel.expand_dims(0), &flat).squeeze(&[1]);
    }
    shape.settle(x.graph().op("DepthwiseConv2dNative").input(x).input(kernel))
}
