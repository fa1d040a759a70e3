//! Reduction and gathering around a ring of members.
//!
//! The tensor is cut into as many chunks as there are members. In a first pass each chunk travels
//! once around the ring and every member adds its own part to it; in a second one the sums travel.
//! Every member but two sends and receives in every round, so nobody waits for long.

use futures_util::future::try_join_all;
use tensorfleet_framework::Consume;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Shape, Tensor};

use super::join::Membership;
use super::params::{Merge, Reduction};
use crate::math::{divided, merged};

/// Chunks of reductions begin at multiples of so many bytes, as in TensorFlow.
const ALIGNMENT: usize = 64;
/// What chunks should not exceed, where there may be several rings.
const LARGEST_CHUNK: usize = 4 << 20;
/// How many rings a device has when it is left open.
const DEFAULT_SUBDIVISIONS: usize = 2;

/// Combines the values of all members.
pub(super) async fn reduce(
    member: &Membership,
    reduction: Reduction,
    input: Tensor,
) -> Result<Tensor> {
    let rings = rings(member, input.byte_len());
    let size = member.group.members.len();
    let (shape, dtype) = (input.shape().clone(), input.dtype());
    let flat = input.reshape(Shape::vector(input.num_elements()))?;
    let length = aligned_chunk(dtype, flat.num_elements(), size * rings.len());
    let chunks = cut(&flat, length, size * rings.len())?;
    let fields = chunks.into_iter().enumerate().map(|(section, chunk)| {
        let (number, ring) = (section / rings.len(), &rings[section % rings.len()]);
        let field = Field { member, ring, number, section };
        field.reduce(reduction, chunk)
    });
    let chunks = try_join_all(fields).await?;
    joined(dtype, shape, &chunks)
}

/// Puts the values of all members one after the other.
pub(super) async fn gather(member: &Membership, input: Tensor, shape: Shape) -> Result<Tensor> {
    let (dtype, size) = (input.dtype(), member.group.members.len());
    let flat = input.reshape(Shape::vector(input.num_elements()))?;
    let ring = &ring(&member.group.devices_per_task(), 0, member.rank);
    let fields = (0..size).map(|number| {
        let field = Field { member, ring, number, section: number };
        field.gather(flat.clone())
    });
    let chunks = try_join_all(fields).await?;
    joined(dtype, shape, &chunks)
}

/// An order of the members in which chunks travel.
#[derive(Debug)]
struct Ring {
    /// For each place in the ring, the rank of the member there.
    order: Vec<usize>,
    /// The place of this member.
    place: usize,
}

/// The rings of a collective: in each, the devices of every task are turned by an offset.
fn rings(member: &Membership, bytes: usize) -> Vec<Ring> {
    let per_task = member.group.devices_per_task();
    let offsets = match &member.collective.subdivisions[..] {
        [] => chosen_offsets(member, per_task.len(), bytes),
        given => given.to_vec(),
    };
    offsets.into_iter().map(|offset| ring(&per_task, offset, member.rank)).collect()
}

fn ring(per_task: &[usize], offset: i32, rank: usize) -> Ring {
    let (turn, reversed) = (offset.unsigned_abs() as usize, offset < 0);
    let mut order = Vec::new();
    let mut before = 0;
    for &count in per_task {
        for device in 0..count {
            let at = (device + turn) % count;
            order.push(before + if reversed { count - at - 1 } else { at });
        }
        before += count;
    }
    let place = order.iter().position(|&other| other == rank).unwrap_or_default();
    Ring { order, place }
}

/// So many rings that chunks are not too large, unless only one is wanted.
fn chosen_offsets(member: &Membership, tasks: usize, bytes: usize) -> Vec<i32> {
    let size = member.group.members.len();
    let most = match member.collective.max_subdivisions {
        -1 => return vec![0],
        most @ 1.. => most as usize,
        _ => DEFAULT_SUBDIVISIONS,
    };
    let per_task = (size / tasks.max(1)).max(1);
    let mut count = 1;
    while bytes / (size * count) > LARGEST_CHUNK && count < most * per_task {
        count += 1;
    }
    let stride = (per_task / count).max(1) as i32;
    let sign = |number: i32| if number % 2 == 1 { -1 } else { 1 };
    (0..count as i32).map(|number| sign(number) * stride * number).collect()
}

/// How many elements a chunk of a reduction has.
fn aligned_chunk(dtype: DType, elements: usize, chunks: usize) -> usize {
    let (length, size) = (elements.div_ceil(chunks), dtype.size());
    // What ends at a multiple already gets another piece, as TensorFlow's members count, too.
    length + (ALIGNMENT - length * size % ALIGNMENT) / size
}

/// Cuts a vector into chunks of `length`; the last ones may be shorter, or empty.
fn cut(flat: &Tensor, length: usize, chunks: usize) -> Result<Vec<Tensor>> {
    let elements = flat.num_elements();
    let at = |number: usize| (number * length).min(elements);
    (0..chunks).map(|number| flat.rows(at(number)..at(number + 1))).collect()
}

fn joined(dtype: DType, shape: Shape, chunks: &[Tensor]) -> Result<Tensor> {
    let mut bytes = Vec::with_capacity(shape.num_elements() * dtype.size());
    for chunk in chunks {
        bytes.extend_from_slice(&chunk.shared_bytes());
    }
    Tensor::from_bytes(dtype, shape, &bytes)
}

/// A chunk on its way around a ring, as one member sees it.
#[derive(Clone, Copy, Debug)]
struct Field<'a> {
    member: &'a Membership,
    ring: &'a Ring,
    /// At which place of the ring the chunk starts.
    number: usize,
    /// The number of the chunk among those of all rings.
    section: usize,
}

impl Field<'_> {
    async fn reduce(self, reduction: Reduction, mut chunk: Tensor) -> Result<Tensor> {
        let (size, place) = (self.ring.order.len(), self.ring.place);
        let par = Parallel::new(1);
        let is_empty = chunk.num_elements() == 0;
        let last = (self.number + size - 1) % size;
        if place != self.number && !is_empty {
            let received = self.receive(0, &chunk).await?;
            chunk = combine(par, reduction.merge, chunk, received)?;
        }
        if place != last {
            if !is_empty {
                self.send(0, &chunk).await?;
            }
        } else if reduction.divides {
            chunk = divided(par, chunk, size)?;
        }
        if is_empty {
            return Ok(chunk);
        }
        if place != last {
            chunk = self.receive(1, &chunk).await?;
        }
        if place != (self.number + 2 * size - 2) % size {
            self.send(1, &chunk).await?;
        }
        Ok(chunk)
    }

    async fn gather(self, mut chunk: Tensor) -> Result<Tensor> {
        let (size, place) = (self.ring.order.len(), self.ring.place);
        if chunk.num_elements() == 0 {
            return Ok(chunk);
        }
        if place != self.number {
            chunk = self.receive(0, &chunk).await?;
        }
        if place != (self.number + size - 1) % size {
            self.send(0, &chunk).await?;
        }
        Ok(chunk)
    }

    async fn send(&self, pass: usize, chunk: &Tensor) -> Result<()> {
        let key = self.member.key(format_args!("{pass}:{}:{}", self.section, self.ring.place));
        self.member.place.collectives.provide(key, chunk.clone()).await
    }

    /// Receives from the place before.
    async fn receive(&self, pass: usize, like: &Tensor) -> Result<Tensor> {
        let size = self.ring.order.len();
        let from = (self.ring.place + size - 1) % size;
        let request = Consume {
            from: self.member.group.members[self.ring.order[from]].clone(),
            to: self.member.place.device.clone(),
            key: self.member.key(format_args!("{pass}:{}:{from}", self.section)),
            dtype: like.dtype(),
            shape: like.shape().clone(),
        };
        self.member.place.collectives.consume(request).await
    }
}

fn combine(par: Parallel, merge: Merge, own: Tensor, received: Tensor) -> Result<Tensor> {
    let op = match merge {
        Merge::Add => "AddV2",
        Merge::Mul => "Mul",
        Merge::Max => "Maximum",
        Merge::Min => "Minimum",
    };
    merged(op, par, own, received)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_as_long_as_those_of_tensorflow() {
        assert_eq!(aligned_chunk(DType::Float, 100, 2), 64);
        assert_eq!(aligned_chunk(DType::Double, 16, 2), 16);
        assert_eq!(aligned_chunk(DType::Float, 2, 2), 16);
    }

    #[test]
    fn offsets_turn_the_devices_of_each_task() {
        assert_eq!(ring(&[2, 3], 0, 4).order, [0, 1, 2, 3, 4]);
        assert_eq!(ring(&[2, 3], 1, 4).order, [1, 0, 3, 4, 2]);
        assert_eq!(ring(&[2, 3], -1, 4).order, [0, 1, 3, 2, 4]);
        assert_eq!(ring(&[2, 3], 1, 4).place, 3);
    }
}
