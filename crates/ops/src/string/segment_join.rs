//! `UnsortedSegmentJoin`: strings of a segment joined.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument, resource_exhausted};

pub(super) const OPS: &[Op] = &[Op {
    name: "UnsortedSegmentJoin",
    inputs: &["inputs: string", "segment_ids: Tindices", "num_segments: Tnumsegments"],
    outputs: &["output: string"],
    attrs: &[
        "separator: string = ''",
        "Tindices: {int32, int64}",
        "Tnumsegments: {int32, int64} = DT_INT32",
    ],
    kernels: &[cpu::<UnsortedSegmentJoin>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct UnsortedSegmentJoin {
    separator: Bytes,
}

impl Kernel for UnsortedSegmentJoin {
    fn new(attrs: &Attrs<'_>) -> Result<UnsortedSegmentJoin> {
        Ok(UnsortedSegmentJoin { separator: attrs.bytes("separator")?.clone() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, ids, count) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let segments = match count.to_i64_vec()?[..] {
            [segments] if count.rank() == 0 => usize::try_from(segments).map_err(|_| {
                invalid_argument!("Number of segments must be non-negative but got {segments}")
            })?,
            _ => return Err(invalid_argument!("Number of segments must be a scalar")),
        };
        let rank = ids.rank();
        if rank == 0 {
            return Err(invalid_argument!("Segment_id cannot have rank 0"));
        }
        if rank > input.rank() {
            return Err(invalid_argument!(
                "Number of segment dimensions is {rank} while the input has {} dimensions",
                input.rank()
            ));
        }
        for (axis, (have, want)) in ids.dims().iter().zip(input.dims()).enumerate() {
            if have != want {
                return Err(invalid_argument!(
                    "Segment dimension is {have} while input dimension is {want} in rank {axis}"
                ));
            }
        }
        let inner = &input.dims()[rank..];
        let width: usize = inner.iter().product();
        let shape = Shape::new(&[&[segments], inner].concat())?;
        let mut joined: Vec<Vec<u8>> = Vec::new();
        joined
            .try_reserve_exact(shape.num_elements())
            .map_err(|_| resource_exhausted!("OOM when allocating tensor with shape{shape}"))?;
        joined.resize_with(shape.num_elements(), Vec::new);
        let texts = input.strings()?;
        for (row, &id) in ids.to_i64_vec()?.iter().enumerate() {
            let segment = usize::try_from(id).ok().filter(|&id| id < segments).ok_or_else(|| {
                invalid_argument!(
                    "segment_ids are not allowed to exceed num_segments or to have negative values."
                )
            })?;
            for column in 0..width {
                let text = &mut joined[segment * width + column];
                // What is empty at the beginning leaves no separator.
                if !text.is_empty() {
                    text.extend_from_slice(&self.separator);
                }
                text.extend_from_slice(&texts[row * width + column]);
            }
        }
        let output = Tensor::from_strings(shape, joined.into_iter().map(Bytes::from).collect())?;
        ctx.set_output(0, output);
        Ok(())
    }
}
