//! `GRUBlockCell`: one step of a gated recurrent unit, and its gradient.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::elementwise::{Sigmoid, Tanh, unary_in_place};
use tensorfleet_kernels::gemm::{Mat, matmul};
use tensorfleet_tensor::{DType, Result, invalid_argument};

use super::{expect, read, side_by_side, write};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "GRUBlockCell",
        inputs: &["x: T", "h_prev: T", "w_ru: T", "w_c: T", "b_ru: T", "b_c: T"],
        outputs: &["r: T", "u: T", "c: T", "h: T"],
        attrs: &["T: {float}"],
        kernels: &[cpu::<Cell>()],
        ..Op::DEFAULT
    },
    Op {
        name: "GRUBlockCellGrad",
        inputs: &[
            "x: T",
            "h_prev: T",
            "w_ru: T",
            "w_c: T",
            "b_ru: T",
            "b_c: T",
            "r: T",
            "u: T",
            "c: T",
            "d_h: T",
        ],
        outputs: &["d_x: T", "d_h_prev: T", "d_c_bar: T", "d_r_bar_u_bar: T"],
        attrs: &["T: {float}"],
        kernels: &[cpu::<CellGrad>()],
        ..Op::DEFAULT
    },
];

/// Checks the inputs that both ops have, and returns the sizes of batch, input and cell.
fn check(ctx: &KernelContext<'_>) -> Result<[usize; 3]> {
    let (x, h_prev) = (ctx.input(0)?, ctx.input(1)?);
    let (&[batch, input], &[_, cell]) = (x.dims(), h_prev.dims()) else {
        let (name, rank) = if x.rank() == 2 { ("h_prev", h_prev.rank()) } else { ("x", x.rank()) };
        return Err(invalid_argument!("Rank of {name} must be 2, got {rank}"));
    };
    let rows = ("input_size + cell_size", input + cell);
    let ranks = [(2, "w_ru_", 2), (3, "w_c", 2), (4, "b_ru", 1), (5, "b_c", 1)];
    for (index, name, rank) in ranks {
        let have = ctx.input(index)?.rank();
        if have != rank {
            return Err(invalid_argument!("Rank of {name} must be {rank}, got {have}"));
        }
    }
    expect(ctx, 1, "h_prev", &[("batch_size", batch), ("cell_size", cell)])?;
    expect(ctx, 2, "w_ru", &[rows, ("cell_size * 2", 2 * cell)])?;
    expect(ctx, 3, "w_c", &[rows, ("cell_size", cell)])?;
    expect(ctx, 4, "b_ru", &[("cell_size * 2", 2 * cell)])?;
    expect(ctx, 5, "b_c", &[("cell_size", cell)])?;
    Ok([batch, input, cell])
}

#[derive(Debug)]
struct Cell;

impl Kernel for Cell {
    fn new(_: &Attrs<'_>) -> Result<Cell> {
        Ok(Cell)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let [batch, input, cell] = check(ctx)?;
        let (x, h_prev) = (read(ctx, 0)?, read(ctx, 1)?);
        let dense = |x: &[f32], w: &[f32], b: &[f32]| {
            let mut out = vec![0.0; batch * b.len()];
            matmul(
                par,
                Mat::new(x, batch, input + cell),
                Mat::new(w, input + cell, b.len()),
                &mut out,
            );
            for row in out.chunks_exact_mut(b.len().max(1)) {
                row.iter_mut().zip(b).for_each(|(out, b)| *out += b);
            }
            out
        };
        let xh = side_by_side(batch, &x, &h_prev);
        let mut gates = dense(&xh, &read(ctx, 2)?, &read(ctx, 4)?);
        unary_in_place::<Sigmoid, f32>(par, &mut gates);
        let (mut r, mut u) = (Vec::new(), Vec::new());
        for row in gates.chunks_exact((2 * cell).max(1)) {
            r.extend_from_slice(&row[..cell]);
            u.extend_from_slice(&row[cell..]);
        }
        let h_reset: Vec<f32> = h_prev.iter().zip(&r).map(|(h, r)| h * r).collect();
        let mut c = dense(&side_by_side(batch, &x, &h_reset), &read(ctx, 3)?, &read(ctx, 5)?);
        unary_in_place::<Tanh, f32>(par, &mut c);
        let h: Vec<f32> =
            (0..c.len()).map(|at| u[at] * h_prev[at] + (1.0 - u[at]) * c[at]).collect();
        let outputs = [r, u, c, h].map(|values| write(DType::Float, &[batch, cell], &values));
        for (index, tensor) in outputs.into_iter().enumerate() {
            ctx.set_output(index, tensor?);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct CellGrad;

impl Kernel for CellGrad {
    fn new(_: &Attrs<'_>) -> Result<CellGrad> {
        Ok(CellGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let [batch, input, cell] = check(ctx)?;
        for (index, name) in (6..).zip(["r", "u", "c", "d_h"]) {
            expect(ctx, index, name, &[("batch_size", batch), ("cell_size", cell)])?;
        }
        let h_prev = read(ctx, 1)?;
        let (r, u, c, d_h) = (read(ctx, 6)?, read(ctx, 7)?, read(ctx, 8)?, read(ctx, 9)?);
        let back = |gradient: &[f32], w: &[f32], width: usize| {
            let mut out = vec![0.0; batch * (input + cell)];
            let w = Mat::new(w, input + cell, width).t();
            matmul(par, Mat::new(gradient, batch, width), w, &mut out);
            out
        };
        let d_c_bar: Vec<f32> =
            (0..c.len()).map(|at| d_h[at] * (1.0 - u[at]) * (1.0 - c[at] * c[at])).collect();
        let by_candidate = back(&d_c_bar, &read(ctx, 3)?, cell);
        let mut gates = vec![0.0; batch * 2 * cell];
        for row in 0..batch {
            for col in 0..cell {
                let at = row * cell + col;
                let d_h_reset = by_candidate[row * (input + cell) + input + col];
                gates[row * 2 * cell + col] = d_h_reset * h_prev[at] * r[at] * (1.0 - r[at]);
                gates[row * 2 * cell + cell + col] =
                    d_h[at] * (h_prev[at] - c[at]) * u[at] * (1.0 - u[at]);
            }
        }
        let by_gates = back(&gates, &read(ctx, 2)?, 2 * cell);
        let mut d_x = Vec::with_capacity(batch * input);
        let mut d_h_prev = Vec::with_capacity(batch * cell);
        for row in 0..batch {
            let start = row * (input + cell);
            d_x.extend((start..start + input).map(|at| by_candidate[at] + by_gates[at]));
            d_h_prev.extend((0..cell).map(|col| {
                let (at, wide) = (row * cell + col, start + input + col);
                by_gates[wide] + by_candidate[wide] * r[at] + d_h[at] * u[at]
            }));
        }
        let outputs = [
            write(DType::Float, &[batch, input], &d_x)?,
            write(DType::Float, &[batch, cell], &d_h_prev)?,
            write(DType::Float, &[batch, cell], &d_c_bar)?,
            write(DType::Float, &[batch, 2 * cell], &gates)?,
        ];
        for (index, tensor) in outputs.into_iter().enumerate() {
            ctx.set_output(index, tensor);
        }
        Ok(())
    }
}
