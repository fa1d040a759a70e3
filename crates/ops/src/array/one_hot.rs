//! `OneHot`: indices as vectors with one value switched on.

use tensorfleet_framework::{
    Attrs, Kernel, KernelContext, Op, ShapeContext, Value, cpu, no_gradient,
};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument, try_repeat};

use super::arguments::{axis_in, integers, shape_of};
use super::copy::{dims_of, parallel, units_mut};
use super::rows::{Row, take};
use super::types;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[Op {
    name: "OneHot",
    inputs: &["indices: TI", "depth: int32", "on_value: T", "off_value: T"],
    outputs: &["output: T"],
    attrs: &["axis: int = -1", "T: type", "TI: {uint8, int8, int32, int64} = DT_INT64"],
    kernels: &[cpu::<OneHot>().types("T", types::ALL)],
    shape: Some(shape),
    gradient: Some(no_gradient),
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct OneHot {
    axis: i64,
}

impl Kernel for OneHot {
    fn new(attrs: &Attrs<'_>) -> Result<OneHot> {
        Ok(OneHot { axis: attrs.int("axis")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let indices = ctx.input(0)?;
        let rank = indices.rank() + 1;
        let axis = if self.axis >= -1 { axis_in(self.axis, rank) } else { None };
        let Some(axis) = axis else {
            return Err(invalid_argument!(
                "Expected axis to be -1 or between [0, {rank}).  But received: {}",
                self.axis
            ));
        };
        for (i, name) in [(1, "depth"), (2, "on_value"), (3, "off_value")] {
            if ctx.input(i)?.rank() != 0 {
                return Err(invalid_argument!(
                    "{name} must be a scalar, but got: {}",
                    ctx.input(i)?.shape()
                ));
            }
        }
        let depth = ctx.input(1)?.scalar_value::<i32>()?;
        let Ok(depth) = usize::try_from(depth) else {
            return Err(invalid_argument!("depth must be non-negative, got: {depth}"));
        };
        let mut dims = dims_of(indices);
        dims.insert(axis, depth);
        let shape = shape_of(&dims)?;
        let inner = indices.dims()[axis..].iter().product();
        let output = one_hot(ctx, shape, &integers(indices)?, depth, inner)?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [Value::Tensor(indices), Value::Tensor(depth), ..] => {
                let depth = depth.scalar_value::<i32>().unwrap_or(1);
                indices.num_elements() as u64 * u64::try_from(depth).unwrap_or(0)
            }
            _ => 0,
        }
    }
}

/// Switches on one of `depth` values for each index; `inner` indices lie next to each other.
fn one_hot(
    ctx: &KernelContext<'_>,
    shape: Shape,
    indices: &[i64],
    depth: usize,
    inner: usize,
) -> Result<Tensor> {
    let (on, off) = (ctx.input(2)?, ctx.input(3)?);
    let dtype = on.dtype();
    let lit = |at: usize, index: i64| {
        let index = usize::try_from(index).ok().filter(|&index| index < depth)?;
        Some((at / inner * depth + index) * inner + at % inner)
    };
    if !dtype.is_plain() {
        let mut source = try_repeat(0u8, shape.num_elements())?;
        let places = indices.iter().enumerate().filter_map(|(at, &index)| lit(at, index));
        places.for_each(|place| source[place] = 1);
        return take(&[off, on], shape, 1, parallel(ctx), |k| Row::Of {
            source: source[k].into(),
            row: 0,
        });
    }
    fn write<const N: usize>(
        to: &mut [u8],
        (on, off): (&[u8], &[u8]),
        places: impl Iterator<Item = usize>,
    ) {
        let to = units_mut::<N>(to);
        if let (Some(on), Some(off)) = (on.first_chunk::<N>(), off.first_chunk::<N>()) {
            to.fill(*off);
            places.for_each(|place| to[place] = *on);
        }
    }
    Tensor::build_raw(dtype, shape, |to| {
        let values = (on.raw(), off.raw());
        let places = indices.iter().enumerate().filter_map(|(at, &index)| lit(at, index));
        match dtype.size() {
            1 => write::<1>(to, values, places),
            2 => write::<2>(to, values, places),
            4 => write::<4>(to, values, places),
            8 => write::<8>(to, values, places),
            _ => write::<16>(to, values, places),
        }
        Ok(())
    })
}

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let Some(dims) = &c.input(0).dims else { return Ok(vec![PartialShape::UNKNOWN]) };
    let depth = c.constant_ints(1).and_then(|depth| usize::try_from(*depth.first()?).ok());
    let mut dims = dims.clone();
    let at = crate::shapes::axis_index(c.attrs().int("axis")?, dims.len() + 1)?;
    dims.insert(at, depth);
    Ok(vec![PartialShape::known(dims)])
}
