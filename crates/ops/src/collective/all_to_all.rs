//! Every member sends every other a part of its value.

use futures_util::future::{try_join, try_join_all};
use tensorfleet_framework::Consume;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::join::Membership;

/// Part `i` of the result is part `rank` of the value of member `i`.
pub(super) async fn exchange(member: &Membership, input: Tensor) -> Result<Tensor> {
    let size = member.group.members.len();
    let (shape, dtype, rank) = (input.shape().clone(), input.dtype(), member.rank);
    if shape.dims().first() != Some(&size) {
        return Err(invalid_argument!(
            "input to all-to-all first dimension size must be equal to the group size"
        ));
    }
    let flat = input.reshape(Shape::vector(input.num_elements()))?;
    let length = flat.num_elements() / size;
    let part = |number: usize| flat.rows(number * length..(number + 1) * length);
    let collectives = &member.place.collectives;
    let sends = (0..size).filter(|&to| to != rank).map(|to| {
        let key = member.key(format_args!("{rank}:{to}"));
        let part = part(to);
        async move { collectives.provide(key, part?).await }
    });
    let receives = (0..size).map(|from| async move {
        if from == rank {
            return part(from);
        }
        let request = Consume {
            from: member.group.members[from].clone(),
            to: member.place.device.clone(),
            key: member.key(format_args!("{from}:{rank}")),
            dtype,
            shape: Shape::vector(length),
        };
        collectives.consume(request).await
    });
    let (_, parts) = try_join(try_join_all(sends), try_join_all(receives)).await?;
    let mut bytes = Vec::with_capacity(flat.byte_len());
    for part in &parts {
        bytes.extend_from_slice(&part.shared_bytes());
    }
    Tensor::from_bytes(dtype, shape, &bytes)
}
