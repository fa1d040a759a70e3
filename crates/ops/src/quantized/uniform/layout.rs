//! What a convolution of any rank is told by its attributes: which dimension is which, and how the
//! windows lie.

use tensorfleet_framework::Attrs;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use crate::parsing::fields::{Field, Fields, Malformed, varint};

/// The dimensions of the tensors: batch (or output channels), channels, then space.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Numbers {
    pub(super) input: Vec<usize>,
    pub(super) kernel: Vec<usize>,
    pub(super) output: Vec<usize>,
}

/// The encoded message, as it came.
#[derive(Debug, Default)]
struct Message {
    /// Batch and channels of the input, channels and outputs of the kernel, and so on, by number.
    single: [i64; 10],
    space: [Vec<i64>; 10],
}

impl Message {
    fn read(bytes: &[u8]) -> std::result::Result<Message, Malformed> {
        let mut message = Message::default();
        let mut fields = Fields::new(bytes);
        while let Some((number, field)) = fields.next()? {
            let place = number as usize;
            match (number, field) {
                (1 | 2 | 4 | 5 | 7 | 8, Field::Varint(value)) => {
                    message.single[place] = value as i64;
                }
                (3 | 6 | 9, Field::Varint(value)) => message.space[place].push(value as i64),
                (3 | 6 | 9, Field::Bytes(mut packed)) => {
                    while !packed.is_empty() {
                        message.space[place].push(varint(&mut packed)? as i64);
                    }
                }
                _ => {}
            }
        }
        Ok(message)
    }

    /// The dimensions in which `first`, `second` and `space` are stored, checked for a rank.
    fn order(&self, rank: usize, first: usize, second: usize, space: usize) -> Result<Vec<usize>> {
        let space = &self.space[space];
        if space.len() + 2 != rank {
            return Err(invalid_argument!(
                "Spatial dimensions size must be rank - 2. Given rank {rank} and spatial dimensions \
                 size {}",
                space.len()
            ));
        }
        let all =
            [self.single[first], self.single[second]].into_iter().chain(space.iter().copied());
        let order = all.map(|dimension| {
            usize::try_from(dimension).ok().filter(|&place| place < rank).ok_or_else(|| {
                invalid_argument!(
                    "Each dimension number must be in region [0, rank). Given rank {rank} and \
                     dimension number value {dimension}"
                )
            })
        });
        let order = order.collect::<Result<Vec<usize>>>()?;
        // TensorFlow does not look, and computes nonsense.
        if (0..rank).any(|dimension| !order.contains(&dimension)) {
            return Err(invalid_argument!("dimension numbers must differ, but are {order:?}"));
        }
        Ok(order)
    }
}

#[derive(Debug)]
enum Padding {
    Same,
    Valid,
    Explicit(Vec<i64>),
}

#[derive(Debug)]
pub(super) struct Layout {
    strides: Vec<i64>,
    lhs_dilation: Vec<i64>,
    rhs_dilation: Vec<i64>,
    batch_groups: i64,
    feature_groups: i64,
    padding: Padding,
    message: Option<Message>,
}

/// How a window meets one axis of space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) input: usize,
    pub(super) kernel: usize,
    pub(super) output: usize,
    stride: i64,
    lhs_dilation: i64,
    rhs_dilation: i64,
    before: i64,
}

impl Axis {
    /// The input that meets a tap of the kernel, if there is one.
    pub(super) fn meets(&self, output: usize, tap: usize) -> Option<usize> {
        let at = output as i64 * self.stride + tap as i64 * self.rhs_dilation - self.before;
        if at < 0 || at % self.lhs_dilation != 0 {
            return None;
        }
        usize::try_from(at / self.lhs_dilation).ok().filter(|&at| at < self.input)
    }
}

/// The sizes of a convolution.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) numbers: Numbers,
    /// In the result.
    pub(super) batch: usize,
    pub(super) in_channels: usize,
    /// Of one output.
    pub(super) channels: usize,
    pub(super) outputs: usize,
    /// Outputs that share inputs, by batch and by channels.
    pub(super) outputs_of_batch: usize,
    pub(super) outputs_of_channels: usize,
    pub(super) axes: Vec<Axis>,
    pub(super) shape: Shape,
}

impl Layout {
    pub(super) fn new(attrs: &Attrs<'_>) -> Result<Layout> {
        let explicit = attrs.ints("explicit_padding")?;
        let padding = match &*attrs.string("padding")? {
            "EXPLICIT" => Padding::Explicit(explicit.to_vec()),
            other @ ("SAME" | "VALID") if !explicit.is_empty() => {
                return Err(invalid_argument!(
                    "If padding Attr is not 'EXPLICIT', explicit_padding Attr must be empty. Given \
                     padding {other} and explicit_padding of size {}",
                    explicit.len()
                ));
            }
            "SAME" => Padding::Same,
            "VALID" => Padding::Valid,
            other => {
                return Err(invalid_argument!(
                    "padding Attr must be one of [EXPLICIT | SAME | VALID], but given: {other}"
                ));
            }
        };
        let numbers = attrs.bytes("dimension_numbers")?;
        let message = Message::read(numbers)
            .map_err(|_| invalid_argument!("Error parsing convolution dimension numbers."))?;
        Ok(Layout {
            strides: attrs.ints("window_strides")?.to_vec(),
            lhs_dilation: attrs.ints("lhs_dilation")?.to_vec(),
            rhs_dilation: attrs.ints("rhs_dilation")?.to_vec(),
            batch_groups: attrs.int("batch_group_count")?,
            feature_groups: attrs.int("feature_group_count")?,
            padding,
            message: (!message.space[3].is_empty()).then_some(message),
        })
    }

    /// Checks that two tensors fit, and finds the sizes of their convolution.
    pub(super) fn sizes(&self, lhs: &Tensor, rhs: &Tensor) -> Result<Sizes> {
        if lhs.rank() != rhs.rank() {
            return Err(invalid_argument!(
                "lhs and rhs must have same dims. Given lhs and rhs of shapes: {}{}",
                lhs.shape(),
                rhs.shape()
            ));
        }
        let rank = lhs.rank();
        if rank <= 2 {
            return Err(invalid_argument!(
                "lhs and rhs shape dims must be at least 3. Given: {rank}"
            ));
        }
        let strides = steps("window_strides", &self.strides, rank - 2)?;
        let lhs_dilation = steps("lhs_dilation", &self.lhs_dilation, rank - 2)?;
        let rhs_dilation = steps("rhs_dilation", &self.rhs_dilation, rank - 2)?;
        let numbers = match &self.message {
            None => {
                let order: Vec<usize> = (0..rank).collect();
                Numbers { input: order.clone(), kernel: order.clone(), output: order }
            }
            Some(message) => Numbers {
                input: message.order(rank, 1, 2, 3)?,
                kernel: message.order(rank, 5, 4, 6)?,
                output: message.order(rank, 7, 8, 9)?,
            },
        };
        let channels = rhs.dims()[numbers.kernel[1]];
        let outputs = rhs.dims()[numbers.kernel[0]];
        let in_channels = lhs.dims()[numbers.input[1]];
        let feature_groups = self.feature_groups(in_channels, channels, outputs)?;
        let batches = lhs.dims()[numbers.input[0]];
        let batch_groups = self.batch_groups(batches, outputs)?;
        let mut axes = Vec::with_capacity(rank - 2);
        for index in 0..rank - 2 {
            let axis = Axis {
                input: lhs.dims()[numbers.input[2 + index]],
                kernel: rhs.dims()[numbers.kernel[2 + index]],
                output: 0,
                stride: strides[index],
                lhs_dilation: lhs_dilation[index],
                rhs_dilation: rhs_dilation[index],
                before: 0,
            };
            axes.push(self.lay(axis, index, rank)?);
        }
        let batch = batches / batch_groups;
        let mut dims = vec![0; rank];
        dims[numbers.output[0]] = batch;
        dims[numbers.output[1]] = outputs;
        for (axis, &dimension) in axes.iter().zip(&numbers.output[2..]) {
            dims[dimension] = axis.output;
        }
        Ok(Sizes {
            batch,
            in_channels,
            channels,
            outputs,
            outputs_of_batch: (outputs / batch_groups).max(1),
            outputs_of_channels: (outputs / feature_groups).max(1),
            axes,
            shape: Shape::new(&dims)?,
            numbers,
        })
    }

    fn feature_groups(&self, have: usize, channels: usize, outputs: usize) -> Result<usize> {
        let groups = match usize::try_from(self.feature_groups) {
            Ok(groups) if groups > 0 => groups,
            _ => {
                return Err(invalid_argument!(
                    "feature_group_count must be a positive integer, given: {}",
                    self.feature_groups
                ));
            }
        };
        if !have.is_multiple_of(groups) {
            return Err(invalid_argument!(
                "feature_group_count must divide lhs feature dimension size, but {groups} does not \
                 divide {have}"
            ));
        }
        if channels == 0 || !have.is_multiple_of(channels) {
            return Err(invalid_argument!(
                "rhs input feature dimension must divide lhs feature dimension size, but {channels} \
                 does not divide {have}"
            ));
        }
        if have / groups != channels {
            return Err(invalid_argument!(
                "lhs feature dimension size divided by feature_group_count must equal the rhs input \
                 feature dimension size, but {have} / {groups} != {channels}"
            ));
        }
        if !outputs.is_multiple_of(groups) {
            return Err(invalid_argument!(
                "rhs output dimension size must be a multiple of feature_group_count, but {outputs} \
                 is not a multiple of {groups}"
            ));
        }
        Ok(groups)
    }

    fn batch_groups(&self, batches: usize, outputs: usize) -> Result<usize> {
        let groups = match usize::try_from(self.batch_groups) {
            Ok(groups) if groups > 0 => groups,
            _ => {
                return Err(invalid_argument!(
                    "batch_group_count Attr must be a positive integer. Given: {}",
                    self.batch_groups
                ));
            }
        };
        if !batches.is_multiple_of(groups) {
            return Err(invalid_argument!(
                "batch_group_count must divide lhs batch dimension size, but {groups} does not \
                 divide {batches}"
            ));
        }
        if !outputs.is_multiple_of(groups) {
            return Err(invalid_argument!(
                "rhs output dimension size must be a multiple of batch_group_count, but {outputs} \
                 is not a multiple of {groups}"
            ));
        }
        Ok(groups)
    }

    /// Finds the padding and the output of an axis.
    fn lay(&self, mut axis: Axis, index: usize, rank: usize) -> Result<Axis> {
        let too_large = || invalid_argument!("the windows of a convolution are too large");
        // The size of something with gaps between its elements.
        let reach = |size: usize, dilation: i64| match i64::try_from(size) {
            Ok(0) => Some(0),
            Ok(size) => (size - 1).checked_mul(dilation)?.checked_add(1),
            Err(_) => None,
        };
        let input = reach(axis.input, axis.lhs_dilation).ok_or_else(too_large)?;
        let kernel = reach(axis.kernel, axis.rhs_dilation).ok_or_else(too_large)?;
        let (before, after) = match &self.padding {
            Padding::Valid => (0, 0),
            Padding::Same => {
                let outputs = input / axis.stride + i64::from(input % axis.stride != 0);
                let needed = (outputs - 1).checked_mul(axis.stride);
                let needed = needed.and_then(|needed| needed.checked_add(kernel - input));
                let needed = needed.ok_or_else(too_large)?.max(0);
                (needed / 2, needed - needed / 2)
            }
            Padding::Explicit(all) => {
                if all.len() != 2 * (rank - 2) {
                    return Err(invalid_argument!(
                        "Size of explicit_padding Attr must be 2 * (rank - 2). Given rank {rank} \
                         and explicit_padding of size {}",
                        all.len()
                    ));
                }
                if all.iter().any(|&padding| padding < 0) {
                    return Err(invalid_argument!(
                        "All explicit_padding elems must be >= 0, Given {}",
                        joined(all)
                    ));
                }
                (all[2 * index], all[2 * index + 1])
            }
        };
        let room = input.checked_add(before).and_then(|room| room.checked_add(after));
        let room = room.ok_or_else(too_large)? - kernel;
        axis.before = before;
        axis.output = if room < 0 { 0 } else { (room / axis.stride + 1) as usize };
        Ok(axis)
    }
}

/// Strides or dilations of each axis of space; ones if there are none.
fn steps(name: &str, given: &[i64], space: usize) -> Result<Vec<i64>> {
    if given.is_empty() {
        return Ok(vec![1; space]);
    }
    if given.len() != space {
        return Err(invalid_argument!("Size of {name} Attr must be dims - 2."));
    }
    if given.iter().any(|&step| step < 1) {
        return Err(invalid_argument!(
            "All elements of {name} must be >= 1. Given {}",
            joined(given)
        ));
    }
    Ok(given.to_vec())
}

fn joined(values: &[i64]) -> String {
    values.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}
