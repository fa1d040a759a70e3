//! `CTCGreedyDecoder` and `CTCBeamSearchDecoder`: label sequences from the scores of each time step.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::{Parallel, Wide};
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, failed_precondition, invalid_argument,
};

use super::beam_search::BeamSearch;

const TYPES: &[DType] = &[DType::Float, DType::Double];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CTCBeamSearchDecoder",
        inputs: &["inputs: T", "sequence_length: int32"],
        outputs: &[
            "decoded_indices: top_paths * int64",
            "decoded_values: top_paths * int64",
            "decoded_shape: top_paths * int64",
            "log_probability: T",
        ],
        attrs: &[
            "beam_width: int >= 1",
            "top_paths: int >= 1",
            "merge_repeated: bool = true",
            "T: {float, double} = DT_FLOAT",
        ],
        kernels: &[cpu::<BeamSearchDecoder>().types("T", TYPES)],
        ..Op::DEFAULT
    },
    Op {
        name: "CTCGreedyDecoder",
        inputs: &["inputs: T", "sequence_length: int32"],
        outputs: &[
            "decoded_indices: int64",
            "decoded_values: int64",
            "decoded_shape: int64",
            "log_probability: T",
        ],
        attrs: &[
            "merge_repeated: bool = false",
            "blank_index: int = -1",
            "T: {float, double} = DT_FLOAT",
        ],
        kernels: &[cpu::<GreedyDecoder>().types("T", TYPES)],
        ..Op::DEFAULT
    },
];

/// The paths of one element of the batch, and the logarithms of their probabilities.
type Paths<T> = Vec<(Vec<i64>, T)>;

/// Checked inputs: scores of `time x batch x classes`, and how much of the time counts.
struct Scores<'a> {
    tensor: &'a Tensor,
    batch: usize,
    classes: usize,
    lengths: &'a [i32],
}

impl<'a> Scores<'a> {
    fn new(ctx: &'a KernelContext<'_>) -> Result<Scores<'a>> {
        let (tensor, lengths) = (ctx.input(0)?, ctx.input(1)?);
        let &[time, batch, classes] = tensor.dims() else {
            return Err(invalid_argument!("inputs is not a 3-Tensor"));
        };
        if tensor.num_elements() == 0 {
            return Err(invalid_argument!("inputs must not be empty"));
        }
        if lengths.rank() != 1 {
            return Err(invalid_argument!("sequence_length is not a vector"));
        }
        let lengths: &[i32] = lengths.values()?;
        if lengths.len() != batch {
            return Err(failed_precondition!(
                "len(sequence_length) != batch_size.  len(sequence_length):  {} batch_size: \
                 {batch}",
                lengths.len()
            ));
        }
        let too_long = |&length: &i32| usize::try_from(length).is_ok_and(|length| length > time);
        if let Some(b) = lengths.iter().position(too_long) {
            return Err(failed_precondition!("sequence_length({b}) <= {time}"));
        }
        Ok(Scores { tensor, batch, classes, lengths })
    }

    /// The scores of one element of the batch, time step by time step.
    fn steps<T: Element>(&self, b: usize) -> Result<impl Iterator<Item = &'a [T]>> {
        let (batch, classes, tensor) = (self.batch, self.classes, self.tensor);
        let values: &'a [T] = tensor.values()?;
        let length = usize::try_from(self.lengths[b]).unwrap_or(0);
        Ok((0..length).map(move |t| &values[(t * batch + b) * classes..][..classes]))
    }
}

/// Sets the outputs of a decoder: sparse tensors of each of the best paths, and probabilities.
fn store<T: Element>(
    ctx: &mut KernelContext<'_>,
    top_paths: usize,
    decoded: &[Paths<T>],
) -> Result<()> {
    for path in 0..top_paths {
        let (mut indices, mut values, mut longest) = (Vec::new(), Vec::new(), 0);
        for (b, paths) in decoded.iter().enumerate() {
            let labels = &paths[path].0;
            longest = longest.max(labels.len());
            for (t, &label) in labels.iter().enumerate() {
                indices.extend([b as i64, t as i64]);
                values.push(label);
            }
        }
        let shape = Shape::new(&[values.len(), 2])?;
        ctx.set_output(path, Tensor::from_slice(shape, &indices)?);
        ctx.set_output(top_paths + path, Tensor::vector(&values)?);
        let shape = [decoded.len() as i64, longest as i64];
        ctx.set_output(2 * top_paths + path, Tensor::vector(&shape)?);
    }
    let scores: Vec<T> = decoded.iter().flatten().map(|(_, score)| *score).collect();
    let shape = Shape::new(&[decoded.len(), top_paths])?;
    ctx.set_output(3 * top_paths, Tensor::from_slice(shape, &scores)?);
    Ok(())
}

/// Takes the best class of each time step.
#[derive(Debug)]
struct GreedyDecoder {
    merge_repeated: bool,
    blank_index: i64,
}

impl Kernel for GreedyDecoder {
    fn new(attrs: &Attrs<'_>) -> Result<GreedyDecoder> {
        Ok(GreedyDecoder {
            merge_repeated: attrs.bool("merge_repeated")?,
            blank_index: attrs.int("blank_index")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let scores = Scores::new(ctx)?;
        let classes = scores.classes as i64;
        let blank = match self.blank_index {
            index if (0..classes).contains(&index) => index,
            index if (-classes..0).contains(&index) => index + classes,
            index => {
                return Err(invalid_argument!(
                    "blank_index expected to be between {} and {} but was {index}",
                    -classes,
                    classes - 1
                ));
            }
        };
        dispatch!(
            scores.tensor.dtype(),
            [f32, f64],
            T => {
                let paths = (0..scores.batch).map(|b| self.decode::<T>(&scores, b, blank as usize));
                let paths = paths.collect::<Result<Vec<_>>>()?;
                store(ctx, 1, &paths)
            },
            else => Err(super::super::unsupported(scores.tensor.dtype()))
        )
    }
}

impl GreedyDecoder {
    fn decode<T: Wide + Element>(
        &self,
        scores: &Scores<'_>,
        b: usize,
        blank: usize,
    ) -> Result<Paths<T>> {
        let (mut labels, mut total, mut before) = (Vec::new(), T::zero(), None);
        for row in scores.steps::<T>(b)? {
            let best =
                (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best });
            total = total + -row[best];
            if best != blank && !(self.merge_repeated && before == Some(best)) {
                labels.push(best as i64);
            }
            before = Some(best);
        }
        Ok(vec![(labels, total)])
    }
}

#[derive(Debug)]
struct BeamSearchDecoder {
    beam_width: usize,
    top_paths: usize,
    merge_repeated: bool,
}

impl Kernel for BeamSearchDecoder {
    fn new(attrs: &Attrs<'_>) -> Result<BeamSearchDecoder> {
        let size = |name: &str| {
            let size = attrs.int(name)?;
            usize::try_from(size).map_err(|_| invalid_argument!("{name} is {size}"))
        };
        Ok(BeamSearchDecoder {
            beam_width: size("beam_width")?,
            top_paths: size("top_paths")?,
            merge_repeated: attrs.bool("merge_repeated")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let scores = Scores::new(ctx)?;
        dispatch!(
            scores.tensor.dtype(),
            [f32, f64],
            T => {
                let paths = par.map_ranges(scores.batch, 1, |range| {
                    range.map(|b| self.decode::<T>(&scores, b)).collect::<Vec<_>>()
                });
                let paths = paths.into_iter().flatten().collect::<Result<Vec<_>>>()?;
                store(ctx, self.top_paths, &paths)
            },
            else => Err(super::super::unsupported(scores.tensor.dtype()))
        )
    }
}

impl BeamSearchDecoder {
    fn decode<T: Wide + Element>(&self, scores: &Scores<'_>, b: usize) -> Result<Paths<T>> {
        let mut search = BeamSearch::new(self.beam_width, scores.classes);
        for row in scores.steps::<T>(b)? {
            search.step(row);
        }
        search.top_paths(self.top_paths, self.merge_repeated)
    }
}
