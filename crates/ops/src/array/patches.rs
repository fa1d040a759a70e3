//! `ExtractImagePatches` and `ExtractVolumePatches`: the window around each place as channels.

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{
    DType, Result, Tensor, invalid_argument, out_of_range, unimplemented_error,
};

use super::arguments::{check_size, shape_of};
use super::copy::{Piece, overwrite, parallel};
use super::types;
use super::view::View;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExtractImagePatches",
        inputs: &["images: T"],
        outputs: &["patches: T"],
        attrs: &[
            "ksizes: list(int) >= 4",
            "strides: list(int) >= 4",
            "rates: list(int) >= 4",
            "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, \
             uint64, complex64, complex128, bool}",
            "padding: {'SAME', 'VALID'}",
        ],
        kernels: &[cpu::<Patches>().types("T", IMAGES)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ExtractVolumePatches",
        inputs: &["input: T"],
        outputs: &["patches: T"],
        attrs: &[
            "ksizes: list(int) >= 5",
            "strides: list(int) >= 5",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, \
             uint64}",
            "padding: {'SAME', 'VALID'}",
        ],
        kernels: &[cpu::<Patches>().types("T", types::REAL)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

const IMAGES: &[DType] = types::NUMBERS;

/// A window along one axis.
#[derive(Clone, Copy, Debug)]
struct Window {
    size: i64,
    stride: i64,
    rate: i64,
}

#[derive(Debug)]
struct Patches {
    /// One for each axis between the batch and the channels.
    windows: Vec<Window>,
    same: bool,
}

impl Kernel for Patches {
    fn new(attrs: &Attrs<'_>) -> Result<Patches> {
        let rank = if attrs.op() == "ExtractImagePatches" { 4 } else { 5 };
        let sizes = spatial(attrs, "ksizes", rank)?;
        let strides = spatial(attrs, "strides", rank)?;
        let rates = match attrs.get("rates") {
            Some(_) => spatial(attrs, "rates", rank)?,
            None => &[1; 3],
        };
        let window = |((&size, &stride), &rate)| Window { size, stride, rate };
        let windows = sizes.iter().zip(strides).zip(rates).map(window).collect();
        Ok(Patches { windows, same: attrs.bytes("padding")? == "SAME" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let rank = self.windows.len() + 2;
        if input.rank() != rank {
            return Err(invalid_argument!("input must be {rank}-dimensional{}", input.shape()));
        }
        let spans = self
            .windows
            .iter()
            .zip(&input.dims()[1..])
            .map(|(window, &len)| Span::new(*window, len, self.same))
            .collect::<Result<Vec<_>>>()?;
        let output = extract(ctx, input, &spans)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The entries of an attribute for the axes between the batch and the channels.
fn spatial<'a>(attrs: &Attrs<'a>, name: &str, rank: usize) -> Result<&'a [i64]> {
    let list = attrs.ints(name)?;
    let Some(list) = list.get(..rank) else {
        return Err(invalid_argument!("{name} must have at least {rank} entries"));
    };
    if list[0] != 1 || list[rank - 1] != 1 {
        return Err(unimplemented_error!("Only support {name} across space."));
    }
    let list = &list[1..rank - 1];
    if list.iter().any(|&value| value < 1 || value > i32::MAX.into()) {
        return Err(out_of_range!("{name} is out of range."));
    }
    Ok(list)
}

/// A window along an axis of known length.
#[derive(Clone, Copy, Debug)]
struct Span {
    window: Window,
    /// The number of places that the window takes.
    places: usize,
    /// How far the first place reaches over the beginning.
    before: i64,
}

impl Span {
    fn new(window: Window, len: usize, same: bool) -> Result<Span> {
        let Window { size, stride, rate } = window;
        let len = len as i64;
        let reach = (size - 1) * rate + 1;
        let places =
            if same { (len + stride - 1) / stride } else { (len - reach + stride) / stride };
        if places < 0 {
            return Err(invalid_argument!(
                "Computed output size would be negative: {places} [input_size: {len}, \
                 effective_filter_size: {reach}, stride: {stride}]"
            ));
        }
        let missing = if same { ((places - 1) * stride + reach - len).max(0) } else { 0 };
        Ok(Span { window, places: places as usize, before: missing / 2 })
    }

    /// The places at which element `offset` of the window is inside an axis of length `len`: the
    /// first of them, how many they are, and where the first element is.
    fn inside(&self, offset: i64, len: usize) -> (usize, usize, usize) {
        let stride = self.window.stride;
        let start = offset * self.window.rate - self.before;
        let first = if start < 0 { (-start + stride - 1) / stride } else { 0 };
        let end = if start < len as i64 { (len as i64 - 1 - start) / stride + 1 } else { 0 };
        let end = end.min(self.places as i64);
        if end <= first {
            return (0, 0, 0);
        }
        (first as usize, (end - first) as usize, (start + first * stride) as usize)
    }
}

fn extract(ctx: &KernelContext<'_>, input: &Tensor, spans: &[Span]) -> Result<Tensor> {
    let (batch, channels) = (input.dims()[0], input.dims()[spans.len() + 1]);
    let depth = spans
        .iter()
        .try_fold(channels, |depth, span| depth.checked_mul(span.window.size as usize))
        .ok_or_else(|| invalid_argument!("patches of {} are too large", ctx.node_name()))?;
    let mut dims = vec![batch];
    dims.extend(spans.iter().map(|span| span.places));
    dims.push(depth);
    let shape = shape_of(&dims)?;
    check_size(input.dtype(), &shape)?;
    let mut output = Tensor::zeros(input.dtype(), shape)?;
    if output.num_elements() == 0 {
        return Ok(output);
    }
    // For each element of the window, what it sees at all places; the channels say which it is.
    let mut views = vec![(View::of(input.dims()), View::of(&dims), 0)];
    for (i, span) in spans.iter().enumerate() {
        let axis = i + 1;
        let mut next = Vec::new();
        for (read, write, number) in &views {
            for offset in 0..span.window.size {
                let (first, count, start) = span.inside(offset, input.dims()[axis]);
                let stride = span.window.stride as isize;
                next.push((
                    read.clone().stepped(axis, start, stride, count),
                    write.clone().slice(axis, first, count),
                    number * span.window.size as usize + offset as usize,
                ));
            }
        }
        views = next;
    }
    let pieces: Vec<_> = views
        .into_iter()
        .map(|(read, write, number)| Piece {
            source: input,
            read,
            write: write.slice(spans.len() + 1, number * channels, channels),
        })
        .collect();
    overwrite(&mut output, &pieces, parallel(ctx))?;
    Ok(output)
}

/// The patches of the places' own numbers say where each element came from; those that came from
/// the padding have none.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (images, grad) = (g.input(0), g.grad(0)?);
    let shape = g.shape_tensor(images)?;
    let (zero, one, last) = (g.scalar(0i32)?, g.scalar(1i32)?, g.vector(&[-1i32])?);
    let rank: i32 = if &*g.node().op == "ExtractImagePatches" { 4 } else { 5 };
    let space: Vec<i32> = (1..rank - 1).collect();
    let at = |axes: &[i32]| g.call("GatherV2", [shape, g.vector(axes)?, zero]);
    let places = g.call("Prod", [at(&space)?, g.vector(&[0i32])?])?;
    let end = g.add2(places, one)?;
    let numbers = g.cast(g.call("Range", [one, end, one])?, DType::Int64)?;
    let single = g.vector(&[1i32])?;
    let joined =
        |parts: &[Output]| g.out(NewNode::new("ConcatV2").list(parts).input(g.scalar(0i32)?));
    let numbers = g.reshape(numbers, joined(&[single, at(&space)?, single])?)?;
    let node = NewNode::new(&g.node().op).input(numbers).attr("T", DType::Int64);
    let sources = g.out(g.with_attrs_of(node)?)?;
    let sources = g.sub(g.reshape(sources, last)?, g.scalar(1i64)?)?;
    // What flows to one place adds up, for each image and channel.
    let count = g.reshape(g.call("Size", [sources])?, single)?;
    let (batch, channels) = (at(&[0])?, at(&[rank - 1])?);
    let grad = g.reshape(grad, joined(&[batch, count, channels])?)?;
    let swap = g.vector(&[1i32, 0, 2])?;
    let rows = g.call("Transpose", [grad, swap])?;
    let sums = g.call("UnsortedSegmentSum", [rows, sources, places])?;
    only(g.reshape(g.call("Transpose", [sums, swap])?, shape)?)
}
