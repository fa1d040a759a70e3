//! Pooling: one value for each window of a sequence, an image or a volume.

use tensorfleet_tensor::invalid_argument;

use super::{Padding, with_windows};
use crate::output::Output;

/// Pools windows of a size, moved by a stride, of `N` dimensions between batch and channels.
#[track_caller]
fn pool<const N: usize>(
    x: &Output,
    op: &str,
    size: [usize; N],
    stride: [usize; N],
    padding: Padding,
) -> Output {
    let all = |sizes: &[usize]| -> Vec<i64> {
        let inner = sizes.iter().map(|&size| size as i64);
        std::iter::once(1).chain(inner).chain(std::iter::once(1)).collect()
    };
    match N {
        // A sequence is an image of height one.
        1 => {
            let (size, stride) = ([1, size[0]], [1, stride[0]]);
            pool(&x.expand_dims(1), op, size, stride, padding).squeeze(&[1])
        }
        2 | 3 => {
            let op = if N == 2 { op.to_owned() } else { format!("{op}3D") };
            let op = x.graph().op(&op).input(x).attr("ksize", all(&size));
            let made = op.attr("strides", all(&stride)).attr("padding", padding.name()).output();
            let channels = x.shape().dims.and_then(|dims| dims.last().copied().flatten());
            let made = made.with_shape((0..N + 1).map(|_| None).chain([channels]));
            let windows: Vec<[usize; 2]> =
                size.iter().zip(&stride).map(|(&size, &stride)| [size, stride]).collect();
            with_windows(made, x, &windows, padding)
        }
        _ => x.graph().failed(invalid_argument!("windows have 1, 2 or 3 dimensions, not {N}")),
    }
}

/// The greatest value of each window of each channel of sequences (batch, time, channels), images
/// (batch, height, width, channels) or volumes (batch, depth, height, width, channels).
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let sequence = graph.constant([[[1.0f32], [4.0], [2.0], [3.0]]]);
/// let greatest = layers::max_pool(&sequence, [2], [2], Padding::Valid);
/// assert_eq!(Session::new(&graph)?.run((), greatest.value::<Vec<f32>>())?, [4.0, 3.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn max_pool<const N: usize>(
    x: &Output,
    size: [usize; N],
    stride: [usize; N],
    padding: Padding,
) -> Output {
    pool(x, "MaxPool", size, stride, padding)
}

/// The mean of each window of each channel of sequences, images or volumes, as those of
/// [`max_pool`].
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let volume = graph.constant(([1, 2, 1, 2, 1], vec![1.0f32, 4.0, 2.0, 3.0]));
/// let mean = layers::avg_pool(&volume, [2, 1, 2], [1, 1, 1], Padding::Valid);
/// assert_eq!(mean.shape().to_string(), "[1,1,1,1,1]");
/// assert_eq!(Session::new(&graph)?.run((), mean.value::<Vec<f32>>())?, [2.5]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn avg_pool<const N: usize>(
    x: &Output,
    size: [usize; N],
    stride: [usize; N],
    padding: Padding,
) -> Output {
    pool(x, "AvgPool", size, stride, padding)
}

/// All dimensions between batch and channels.
fn inner_axes(x: &Output) -> Vec<i32> {
    (1..x.rank().unwrap_or(2).max(2) as i32 - 1).collect()
}

/// The greatest value of each channel, over a whole sequence, image or volume.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let sequence = graph.constant([[[1.0f32, 9.0], [4.0, 2.0]]]);
/// let greatest = layers::global_max_pool(&sequence);
/// assert_eq!(Session::new(&graph)?.run((), greatest.value::<Vec<f32>>())?, [4.0, 9.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn global_max_pool(x: &Output) -> Output {
    x.max_along(&inner_axes(x)[..], false)
}

/// The mean of each channel, over a whole sequence, image or volume.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let sequence = graph.constant([[[1.0f32, 9.0], [4.0, 2.0]]]);
/// let mean = layers::global_avg_pool(&sequence);
/// assert_eq!(Session::new(&graph)?.run((), mean.value::<Vec<f32>>())?, [2.5, 5.5]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn global_avg_pool(x: &Output) -> Output {
    x.mean_along(&inner_axes(x)[..], false)
}

/// The greatest value of each square window of each channel.
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let image = graph.constant([[[[1.0f32], [2.0]], [[3.0], [4.0]]]]);
/// let greatest = layers::max_pool2d(&image, 2, 2, Padding::Valid);
/// assert_eq!(Session::new(&graph)?.run((), greatest.value::<Vec<f32>>())?, [4.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn max_pool2d(x: &Output, size: usize, stride: usize, padding: Padding) -> Output {
    max_pool(x, [size; 2], [stride; 2], padding)
}

/// The mean of each square window of each channel.
///
/// ```
/// use tensorfleet_client::layers::Padding;
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let image = graph.constant([[[[1.0f32], [2.0]], [[3.0], [4.0]]]]);
/// let mean = layers::avg_pool2d(&image, 2, 2, Padding::Valid);
/// assert_eq!(Session::new(&graph)?.run((), mean.value::<Vec<f32>>())?, [2.5]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn avg_pool2d(x: &Output, size: usize, stride: usize, padding: Padding) -> Output {
    avg_pool(x, [size; 2], [stride; 2], padding)
}
