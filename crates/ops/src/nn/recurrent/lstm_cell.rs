//! One step of a long short-term memory, forward and backward.

use tensorfleet_kernels::elementwise::{Sigmoid, Tanh, unary};
use tensorfleet_kernels::gemm::{Mat, MatMut, gemm, matmul};
use tensorfleet_kernels::{Parallel, convert};

use super::side_by_side;

/// The sizes of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) batch: usize,
    pub(super) input: usize,
    pub(super) cell: usize,
}

/// Where a row of gates has which; the input gate is first and the output gate last.
#[derive(Clone, Copy, Debug)]
pub(super) struct GateOrder {
    pub(super) candidate: usize,
    pub(super) forget: usize,
}

/// What is learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights<'a> {
    pub(super) w: &'a [f32],
    pub(super) b: &'a [f32],
    /// Of the input, forget and output gate, if they look at the state.
    pub(super) peepholes: Option<[&'a [f32]; 3]>,
}

/// What is not learned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) order: GateOrder,
    pub(super) forget_bias: f32,
    pub(super) cell_clip: f32,
    /// Whether results are rounded as half-precision tensors would be.
    pub(super) half: bool,
}

/// The values of a step; each is a matrix of a row for each element of the batch.
#[derive(Clone, Debug)]
pub(super) struct Step<S> {
    pub(super) i: S,
    pub(super) cs: S,
    pub(super) f: S,
    pub(super) o: S,
    pub(super) ci: S,
    pub(super) co: S,
    pub(super) h: S,
}

/// Computes a step from the input, the state and the output before it.
pub(super) fn forward(
    par: Parallel,
    sizes: Sizes,
    weights: Weights<'_>,
    settings: Settings,
    [x, cs_prev, h_prev]: [&[f32]; 3],
    out: Step<&mut [f32]>,
) {
    let Sizes { batch, input, cell } = sizes;
    let xh = side_by_side(batch, x, h_prev);
    let mut gates = vec![0.0; batch * 4 * cell];
    let w = Mat::new(weights.w, input + cell, 4 * cell);
    matmul(par, Mat::new(&xh, batch, input + cell), w, &mut gates);
    let GateOrder { candidate, forget } = settings.order;
    let mut input_gate = vec![0.0; cell];
    for row in 0..batch {
        let at = row * cell..(row + 1) * cell;
        let gates = &mut gates[row * 4 * cell..][..4 * cell];
        gates.iter_mut().zip(weights.b).for_each(|(gate, b)| *gate += b);
        let cs_prev = &cs_prev[at.clone()];
        input_gate.copy_from_slice(&gates[..cell]);
        gates[forget * cell..][..cell].iter_mut().for_each(|gate| *gate += settings.forget_bias);
        if let Some([wci, wcf, _]) = weights.peepholes {
            add_product(&mut input_gate, cs_prev, wci);
            add_product(&mut gates[forget * cell..][..cell], cs_prev, wcf);
        }
        unary::<Sigmoid, f32>(Parallel::SERIAL, &input_gate, &mut out.i[at.clone()]);
        unary::<Tanh, f32>(
            Parallel::SERIAL,
            &gates[candidate * cell..][..cell],
            &mut out.ci[at.clone()],
        );
        unary::<Sigmoid, f32>(
            Parallel::SERIAL,
            &gates[forget * cell..][..cell],
            &mut out.f[at.clone()],
        );
        for (at, cs_prev) in at.clone().zip(cs_prev) {
            let mut cs = out.i[at] * out.ci[at] + out.f[at] * cs_prev;
            if settings.cell_clip > 0.0 {
                cs = cs.max(-settings.cell_clip).min(settings.cell_clip);
            }
            out.cs[at] = cs;
        }
        unary::<Tanh, f32>(Parallel::SERIAL, &out.cs[at.clone()], &mut out.co[at.clone()]);
        if let Some([_, _, wco]) = weights.peepholes {
            add_product(&mut gates[3 * cell..], &out.cs[at.clone()], wco);
        }
        unary::<Sigmoid, f32>(Parallel::SERIAL, &gates[3 * cell..], &mut out.o[at.clone()]);
        for at in at {
            out.h[at] = out.o[at] * out.co[at];
        }
    }
    if settings.half {
        for values in [out.i, out.cs, out.f, out.o, out.ci, out.co, out.h] {
            round_to_half(values);
        }
    }
}

/// What flows back through a step.
#[derive(Debug)]
pub(super) struct Backward {
    /// The gradient by the gates before their activation.
    pub(super) gates: Vec<f32>,
    pub(super) cs_prev: Vec<f32>,
}

/// The gradients of the weights, summed over steps.
#[derive(Debug)]
pub(super) struct WeightGradients {
    pub(super) w: Vec<f32>,
    pub(super) b: Vec<f32>,
    pub(super) peepholes: [Vec<f32>; 3],
}

/// Computes the gradients of a step from those of its state and its output. The gradients of the
/// peepholes are added to.
pub(super) fn backward(
    sizes: Sizes,
    order: GateOrder,
    peepholes: Option<[&[f32]; 3]>,
    cs_prev: &[f32],
    step: &Step<&[f32]>,
    [cs_grad, h_grad]: [&[f32]; 2],
    [wci_grad, wcf_grad, wco_grad]: [&mut [f32]; 3],
) -> Backward {
    let Sizes { batch, cell, .. } = sizes;
    let mut gates = vec![0.0; batch * 4 * cell];
    let mut cs_prev_grad = vec![0.0; batch * cell];
    for row in 0..batch {
        let gates = &mut gates[row * 4 * cell..][..4 * cell];
        for col in 0..cell {
            let at = row * cell + col;
            let (i, f, o, ci, co) = (step.i[at], step.f[at], step.o[at], step.ci[at], step.co[at]);
            let d_o = o * (1.0 - o) * h_grad[at] * co;
            let mut d_cs = (1.0 - co * co) * h_grad[at] * o + cs_grad[at];
            if let Some([_, _, wco]) = peepholes {
                d_cs += d_o * wco[col];
            }
            let d_ci = (1.0 - ci * ci) * d_cs * i;
            let d_f = f * (1.0 - f) * d_cs * cs_prev[at];
            let d_i = i * (1.0 - i) * d_cs * ci;
            cs_prev_grad[at] = d_cs * f;
            if let Some([wci, wcf, _]) = peepholes {
                cs_prev_grad[at] += d_i * wci[col] + d_f * wcf[col];
                wci_grad[col] += d_i * cs_prev[at];
                wcf_grad[col] += d_f * cs_prev[at];
                wco_grad[col] += d_o * step.cs[at];
            }
            gates[col] = d_i;
            gates[order.candidate * cell + col] = d_ci;
            gates[order.forget * cell + col] = d_f;
            gates[3 * cell + col] = d_o;
        }
    }
    Backward { gates, cs_prev: cs_prev_grad }
}

/// Adds the gradients of the weights, and returns that of the input beside the output before.
pub(super) fn backward_weights(
    par: Parallel,
    sizes: Sizes,
    w: &[f32],
    [x, h_prev]: [&[f32]; 2],
    gates: &[f32],
    sums: &mut WeightGradients,
) -> Vec<f32> {
    let Sizes { batch, input, cell } = sizes;
    let gates_view = Mat::new(gates, batch, 4 * cell);
    let mut xh_grad = vec![0.0; batch * (input + cell)];
    matmul(par, gates_view, Mat::new(w, input + cell, 4 * cell).t(), &mut xh_grad);
    let xh = side_by_side(batch, x, h_prev);
    let xh = Mat::new(&xh, batch, input + cell).t();
    gemm(par, 1.0, xh, gates_view, 1.0, MatMut::new(&mut sums.w, input + cell, 4 * cell));
    for row in gates.chunks_exact((4 * cell).max(1)) {
        sums.b.iter_mut().zip(row).for_each(|(sum, gate)| *sum += gate);
    }
    xh_grad
}

fn add_product(sum: &mut [f32], a: &[f32], b: &[f32]) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum += a * b;
    }
}

fn round_to_half(values: &mut [f32]) {
    let mut halves = vec![half::f16::ZERO; values.len()];
    convert::f32_to_f16(values, &mut halves);
    convert::f16_to_f32(&halves, values);
}
