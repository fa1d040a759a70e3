//! `InplaceUpdate`, `InplaceAdd`, `InplaceSub`, `DeepCopy`: rows of a tensor changed by number.
//!
//! TensorFlow writes the memory of the input, which other nodes may still read. Here the memory is
//! reused only when nobody else holds it, so the result is the same and the input stays as it was.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::types;
use crate::state::combine::{Combine, combine_rows};

const KERNELS: &[KernelDef] = &[cpu::<Inplace>()];

const fn inplace(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["x: T", "i: int32", "v: T"],
        outputs: &["y: T"],
        attrs: &["T: type"],
        kernels: KERNELS,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DeepCopy",
        inputs: &["x: T"],
        outputs: &["y: T"],
        attrs: &["T: type"],
        stateful: true,
        kernels: &[cpu::<DeepCopy>()],
        ..Op::DEFAULT
    },
    inplace("InplaceAdd"),
    inplace("InplaceSub"),
    inplace("InplaceUpdate"),
];

#[derive(Debug)]
struct DeepCopy;

impl Kernel for DeepCopy {
    fn new(_: &Attrs<'_>) -> Result<DeepCopy> {
        Ok(DeepCopy)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let copy = ctx.input(0)?.deep_copy()?;
        ctx.set_output(0, copy);
        Ok(())
    }
}

#[derive(Debug)]
struct Inplace(Combine);

impl Kernel for Inplace {
    fn new(attrs: &Attrs<'_>) -> Result<Inplace> {
        Ok(Inplace(Combine::of_op(attrs.op())?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut target = ctx.take_input(0)?;
        let (indices, updates) = (ctx.input(1)?, ctx.input(2)?);
        check(&target, indices, updates)?;
        if indices.num_elements() == 0 {
            ctx.set_output(0, target);
            return Ok(());
        }
        if self.0 != Combine::Update && !types::NUMBERS.contains(&target.dtype()) {
            return Err(invalid_argument!("Unsupported data type: {}", target.dtype()));
        }
        let count = target.dims()[0] as i64;
        if count == 0 {
            return Err(invalid_argument!("a tensor of shape {} has no rows", target.shape()));
        }
        // Numbers that are too large start again at the first row.
        let row = |&index: &i32| Some(i64::from(index).rem_euclid(count) as usize);
        let rows: Vec<_> = indices.values::<i32>()?.iter().map(row).collect();
        let width = target.dims()[1..].iter().product();
        combine_rows(self.0, &mut target, &rows, width, updates)?;
        ctx.set_output(0, target);
        Ok(())
    }
}

fn check(x: &Tensor, i: &Tensor, v: &Tensor) -> Result<()> {
    if i.rank() != 1 {
        return Err(invalid_argument!("i must be a vector. {}", i.shape()));
    }
    if x.rank() != v.rank() || x.rank() == 0 {
        return Err(invalid_argument!(
            "x and v shape doesn't match (ranks differ): {} vs. {}",
            x.shape(),
            v.shape()
        ));
    }
    if let Some(at) = (1..x.rank()).find(|&at| x.dims()[at] != v.dims()[at]) {
        return Err(invalid_argument!(
            "x and v shape doesn't match at index {at} : {} vs. {}",
            x.shape(),
            v.shape()
        ));
    }
    if i.dims()[0] != v.dims()[0] {
        return Err(invalid_argument!(
            "i and x shape doesn't match at index 0: {} vs. {}",
            i.shape(),
            v.shape()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tensorfleet_graph::AttrValue;
    use tensorfleet_tensor::DType;
    use tensorfleet_testing::OpRun;

    use super::*;

    fn check(op: &str, rows: &[i32], want: [f32; 3]) {
        let x = Tensor::vector(&[1.0f32, 2.0, 3.0]).unwrap();
        let updates = Tensor::vector(&vec![10.0f32; rows.len()]).unwrap();
        let run = OpRun::new(op)
            .attr("T", AttrValue::Type(DType::Float))
            .input(x.clone())
            .input(Tensor::vector(rows).unwrap())
            .input(updates);
        let outputs = run.run(&crate::registry().unwrap()).unwrap();
        assert_eq!(outputs[0].values::<f32>().unwrap(), want, "{op}");
        assert_eq!(x.values::<f32>().unwrap(), [1.0, 2.0, 3.0], "the input stays");
    }

    #[test]
    fn rows_are_changed_in_order_and_numbers_start_again() {
        check("InplaceAdd", &[0, 0, -1], [21.0, 2.0, 13.0]);
        check("InplaceSub", &[4], [1.0, -8.0, 3.0]);
        check("InplaceUpdate", &[1], [1.0, 10.0, 3.0]);
    }
}
