//! `RaggedFillEmptyRows` and its gradient: a default value in each row that has none.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::super::number::NUMBERS;
use super::super::rearrange::{FillEmptyRowsGrad, Filled, fill_rows};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "RaggedFillEmptyRows",
        inputs: &["value_rowids: int64", "values: T", "nrows: int64", "default_value: T"],
        outputs: &[
            "output_value_rowids: int64",
            "output_values: T",
            "empty_row_indicator: bool",
            "reverse_index_map: int64",
        ],
        attrs: &["T: type"],
        kernels: &[cpu::<FillEmptyRows>()],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "RaggedFillEmptyRowsGrad",
        inputs: &["reverse_index_map: int64", "grad_values: T"],
        outputs: &["d_values: T", "d_default_value: T"],
        attrs: &["T: type"],
        kernels: &[cpu::<FillEmptyRowsGrad>().types("T", NUMBERS)],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct FillEmptyRows;

impl Kernel for FillEmptyRows {
    fn new(_: &Attrs<'_>) -> Result<FillEmptyRows> {
        Ok(FillEmptyRows)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (ids, values) = (ctx.input(0)?, ctx.input(1)?);
        let (rows, default) = (ctx.input(2)?, ctx.input(3)?);
        for (holds, what, part) in [
            (ids.rank() == 1, "value_rowids must be a vector", ids),
            (values.rank() == 1, "values must be a vector", values),
            (rows.rank() == 0, "nrows must be a scalar", rows),
            (default.rank() == 0, "default_value must be a scalar", default),
        ] {
            if !holds {
                return Err(invalid_argument!("{what}, saw: {}", part.shape()));
            }
        }
        if ids.num_elements() != values.num_elements() {
            return Err(invalid_argument!(
                "The length of `values` ({}) must match the length of `value_rowids` ({}).",
                values.num_elements(),
                ids.num_elements()
            ));
        }
        let rows = rows.scalar_value::<i64>()?;
        let count = usize::try_from(rows)
            .map_err(|_| invalid_argument!("nrows must not be negative, got {rows}"))?;
        if count == 0 && ids.num_elements() > 0 {
            return Err(invalid_argument!(
                "Received RaggedTensor with nrows = 0 but value_rowids.shape[0] = {}",
                ids.num_elements()
            ));
        }
        let of = ids.values::<i64>()?.iter().enumerate().map(|(at, &row)| {
            usize::try_from(row)
                .ok()
                .filter(|&row| row < count)
                .ok_or_else(|| invalid_argument!("value_rowids({at}) is invalid: {row} >= {rows}"))
        });
        let of: Vec<usize> = of.collect::<Result<_>>()?;
        let Filled { empty, places, reverse, rows } = fill_rows(&of, count)?;
        let filled = super::super::rearrange::pick_or(values, default, &places)?;
        let ids = Tensor::from_slice(Shape::vector(rows.len()), &rows)?;
        ctx.set_output(0, ids);
        ctx.set_output(1, filled);
        ctx.set_output(2, empty);
        ctx.set_output(3, Tensor::vector(&reverse)?);
        Ok(())
    }
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let node = NewNode::new("RaggedFillEmptyRowsGrad").input(g.output(3)).input(g.grad(1)?);
    let [values, default] = g.outs(node)?;
    Ok(vec![None, Some(values.into()), None, Some(default.into())])
}
