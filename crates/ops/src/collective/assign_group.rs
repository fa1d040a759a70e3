//! `CollectiveAssignGroupV2`: the group that a device belongs to.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[Op {
    name: "CollectiveAssignGroupV2",
    inputs: &["group_assignment: int32", "device_index: int32", "base_key: int32"],
    outputs: &["group_size: int32", "group_key: int32"],
    stateful: true,
    distributed_communication: true,
    kernels: &[cpu::<AssignGroup>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct AssignGroup;

impl Kernel for AssignGroup {
    fn new(_: &Attrs<'_>) -> Result<AssignGroup> {
        Ok(AssignGroup)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (groups, device, base) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        for (tensor, name) in [(device, "device_index"), (base, "base_key")] {
            if !tensor.shape().is_scalar() {
                return Err(invalid_argument!(
                    "{name} must be a scalar, but received tensor of shape: {}",
                    tensor.shape()
                ));
            }
        }
        let &[_, size] = groups.dims() else {
            return Err(invalid_argument!(
                "group_assignment must be a 2-d Tensor, but received tensor of shape: {}",
                groups.shape()
            ));
        };
        let (device, base) = (device.scalar_value::<i32>()?, base.scalar_value::<i32>()?);
        let key = key_of(groups, size, device, base)?;
        ctx.set_output(0, Tensor::scalar(size as i32));
        ctx.set_output(1, Tensor::scalar(key));
        Ok(())
    }
}

fn key_of(groups: &Tensor, size: usize, device: i32, base: i32) -> Result<i32> {
    let members = groups.values::<i32>()?;
    let count = members.len() as i32;
    for (number, group) in members.chunks_exact(size.max(1)).enumerate() {
        let key = base.wrapping_add(number as i32);
        if key == 0 {
            return Err(invalid_argument!(
                "Using the reserved group_key = 0 is not allowed: group_id = {number}, base_key = \
                 {base}"
            ));
        }
        for member in group {
            if !(0..count).contains(member) {
                return Err(invalid_argument!(
                    "Not all items in group_assignment {members:?} is within [0, number of devices)"
                ));
            }
            if *member == device {
                return Ok(key);
            }
        }
    }
    Err(invalid_argument!("device_index {device} is not found in group_assignment {members:?}"))
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::Shape;

    use super::*;

    #[test]
    fn groups_are_numbered_from_the_base() {
        let groups = Tensor::vector(&[0, 2, 1, 3]).unwrap();
        let groups = groups.reshape(Shape::new(&[2, 2]).unwrap()).unwrap();
        let key = |device, base| key_of(&groups, 2, device, base);
        assert_eq!([0, 1, 2, 3].map(|device| key(device, 10).unwrap()), [10, 11, 10, 11]);
        assert!(key(4, 10).unwrap_err().message().contains("is not found"));
        assert!(key(1, -1).unwrap_err().message().contains("reserved group_key = 0"));
    }
}
