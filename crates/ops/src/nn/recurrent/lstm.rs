//! `LSTMBlockCell` (one step) and `BlockLSTM` (a sequence), with their gradients.

use std::borrow::Cow;

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, invalid_argument};

use super::lstm_cell::{
    self, GateOrder, Settings, Sizes, Step, WeightGradients, Weights, backward, backward_weights,
};
use super::{expect, read, write};

const TYPES: &[DType] = &[DType::Half, DType::Float];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BlockLSTM",
        inputs: &[
            "seq_len_max: int64",
            "x: T",
            "cs_prev: T",
            "h_prev: T",
            "w: T",
            "wci: T",
            "wcf: T",
            "wco: T",
            "b: T",
        ],
        outputs: &["i: T", "cs: T", "f: T", "o: T", "ci: T", "co: T", "h: T"],
        attrs: &[
            "forget_bias: float = 1.0",
            "cell_clip: float = 3.0",
            "use_peephole: bool = false",
            "T: {half, float}",
        ],
        kernels: &[cpu::<Lstm>().types("T", TYPES)],
        gradient: Some(sequence_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "BlockLSTMGrad",
        inputs: SEQUENCE_GRAD_INPUTS,
        outputs: SEQUENCE_GRAD_OUTPUTS,
        attrs: &["use_peephole: bool", "T: {half, float}"],
        kernels: &[cpu::<LstmGrad>().types("T", TYPES)],
        ..Op::DEFAULT
    },
    Op {
        name: "BlockLSTMGradV2",
        inputs: SEQUENCE_GRAD_INPUTS,
        outputs: SEQUENCE_GRAD_OUTPUTS,
        attrs: &["use_peephole: bool", "T: {half, float}"],
        kernels: &[cpu::<LstmGrad>().types("T", TYPES)],
        ..Op::DEFAULT
    },
    Op {
        name: "BlockLSTMV2",
        inputs: &[
            "seq_len_max: int64",
            "x: T",
            "cs_prev: T",
            "h_prev: T",
            "w: T",
            "wci: T",
            "wcf: T",
            "wco: T",
            "b: T",
        ],
        outputs: &["i: T", "cs: T", "f: T", "o: T", "ci: T", "co: T", "h: T"],
        attrs: &["cell_clip: float = 0.0", "use_peephole: bool = false", "T: {half, float}"],
        kernels: &[cpu::<Lstm>().types("T", TYPES)],
        gradient: Some(sequence_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "LSTMBlockCell",
        inputs: &["x: T", "cs_prev: T", "h_prev: T", "w: T", "wci: T", "wcf: T", "wco: T", "b: T"],
        outputs: &["i: T", "cs: T", "f: T", "o: T", "ci: T", "co: T", "h: T"],
        attrs: &[
            "forget_bias: float = 1.0",
            "cell_clip: float = 3.0",
            "use_peephole: bool = false",
            "T: {half, float}",
        ],
        kernels: &[cpu::<Lstm>().types("T", TYPES)],
        ..Op::DEFAULT
    },
    Op {
        name: "LSTMBlockCellGrad",
        inputs: &[
            "x: T",
            "cs_prev: T",
            "h_prev: T",
            "w: T",
            "wci: T",
            "wcf: T",
            "wco: T",
            "b: T",
            "i: T",
            "cs: T",
            "f: T",
            "o: T",
            "ci: T",
            "co: T",
            "cs_grad: T",
            "h_grad: T",
        ],
        outputs: &["cs_prev_grad: T", "dicfo: T", "wci_grad: T", "wcf_grad: T", "wco_grad: T"],
        attrs: &["use_peephole: bool", "T: {half, float}"],
        kernels: &[cpu::<CellGrad>().types("T", TYPES)],
        ..Op::DEFAULT
    },
];

const SEQUENCE_GRAD_INPUTS: &[&str] = &[
    "seq_len_max: int64",
    "x: T",
    "cs_prev: T",
    "h_prev: T",
    "w: T",
    "wci: T",
    "wcf: T",
    "wco: T",
    "b: T",
    "i: T",
    "cs: T",
    "f: T",
    "o: T",
    "ci: T",
    "co: T",
    "h: T",
    "cs_grad: T",
    "h_grad: T",
];

const SEQUENCE_GRAD_OUTPUTS: &[&str] = &[
    "x_grad: T",
    "cs_prev_grad: T",
    "h_prev_grad: T",
    "w_grad: T",
    "wci_grad: T",
    "wcf_grad: T",
    "wco_grad: T",
    "b_grad: T",
];

/// The order of the gates in the weights, which the second version changed.
fn gate_order(op: &str) -> GateOrder {
    if op.ends_with("V2") {
        GateOrder { candidate: 2, forget: 1 }
    } else {
        GateOrder { candidate: 1, forget: 2 }
    }
}

/// Checks what all these ops have in common; `first` is the place of `x` among the inputs.
fn check(ctx: &KernelContext<'_>, first: usize) -> Result<(usize, Sizes)> {
    let x = ctx.input(first)?;
    let (time, batch, input) = match *x.dims() {
        [time, batch, input] if first == 1 => (time, batch, input),
        [batch, input] if first == 0 => (1, batch, input),
        _ => {
            return Err(invalid_argument!("x must be rank {} but is rank {}", 2 + first, x.rank()));
        }
    };
    let cs_prev = ctx.input(first + 1)?;
    let &[_, cell] = cs_prev.dims() else {
        return Err(invalid_argument!("cs_prev must be rank 2 but is rank {}", cs_prev.rank()));
    };
    for (index, name) in [(first + 1, "cs_prev"), (first + 2, "h_prev")] {
        expect(ctx, index, name, &[("batch_size", batch), ("cell_size", cell)])?;
    }
    let w = [("input_size + cell_size", input + cell), ("cell_size * 4", 4 * cell)];
    expect(ctx, first + 3, "w", &w)?;
    for (index, name) in [(first + 4, "wci"), (first + 5, "wcf"), (first + 6, "wco")] {
        expect(ctx, index, name, &[("cell_size", cell)])?;
    }
    expect(ctx, first + 7, "b", &[("cell_size * 4", 4 * cell)])?;
    Ok((time, Sizes { batch, input, cell }))
}

/// The number of steps to compute of a sequence.
fn steps(ctx: &KernelContext<'_>, time: usize) -> Result<usize> {
    let limit = ctx.input(0)?;
    if !limit.shape().is_scalar() {
        return Err(invalid_argument!(
            "`seq_len_max_tensor` must be rank 0 but is rank {}",
            limit.rank()
        ));
    }
    let limit: i64 = limit.scalar_value()?;
    match usize::try_from(limit) {
        Ok(steps) if steps <= time => Ok(steps),
        _ => Err(invalid_argument!("seq_len_max must be between 0 and {time} but is {limit}")),
    }
}

/// About how long the products take.
fn cost(inputs: &[Value]) -> u64 {
    let elements = |index: usize| match inputs.get(index) {
        Some(Value::Tensor(tensor)) => tensor.num_elements() as u64,
        _ => 0,
    };
    let largest = (0..inputs.len()).map(elements).max().unwrap_or(0);
    largest.saturating_mul(elements(1).isqrt().max(1))
}

/// A step, or a sequence of them.
#[derive(Debug)]
struct Lstm {
    is_sequence: bool,
    settings: Settings,
    use_peephole: bool,
    dtype: DType,
}

impl Kernel for Lstm {
    fn new(attrs: &Attrs<'_>) -> Result<Lstm> {
        let dtype = attrs.dtype("T")?;
        Ok(Lstm {
            is_sequence: attrs.op() != "LSTMBlockCell",
            settings: Settings {
                order: gate_order(attrs.op()),
                forget_bias: match attrs.get("forget_bias") {
                    Some(_) => attrs.float("forget_bias")?,
                    None => 0.0,
                },
                cell_clip: attrs.float("cell_clip")?,
                half: dtype == DType::Half,
            },
            use_peephole: attrs.bool("use_peephole")?,
            dtype,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let first = usize::from(self.is_sequence);
        let (time, sizes) = check(ctx, first)?;
        let state = sizes.batch * sizes.cell;
        if !self.is_sequence && state == 0 {
            return Err(invalid_argument!(
                "cs_prev_tensor is empty, has shape: ({},{}).",
                sizes.batch,
                sizes.cell
            ));
        }
        let steps = if self.is_sequence { steps(ctx, time)? } else { 1 };
        let [x, cs_first, h_first, w, wci, wcf, wco, b] = inputs(ctx, first)?;
        let peepholes: [&[f32]; 3] = [&wci, &wcf, &wco];
        let weights = Weights { w: &w, b: &b, peepholes: self.use_peephole.then_some(peepholes) };
        // What comes after the last step computed is zero.
        let mut out: [Vec<f32>; 7] = std::array::from_fn(|_| vec![0.0; time * state]);
        for t in 0..steps {
            let now = t * state..(t + 1) * state;
            let mut rest = out.each_mut().map(|values| values.split_at_mut(now.start));
            let (cs_prev, h_prev) = if t == 0 {
                (&*cs_first, &*h_first)
            } else {
                let before = now.start - state..now.start;
                (&rest[1].0[before.clone()], &rest[6].0[before])
            };
            let x = &x[t * sizes.batch * sizes.input..][..sizes.batch * sizes.input];
            let (cs_prev, h_prev) = (cs_prev.to_vec(), h_prev.to_vec());
            let [i, cs, f, o, ci, co, h] = rest.each_mut().map(|(_, after)| &mut after[..state]);
            let step = Step { i, cs, f, o, ci, co, h };
            lstm_cell::forward(par, sizes, weights, self.settings, [x, &cs_prev, &h_prev], step);
        }
        let sequence = [time, sizes.batch, sizes.cell];
        let dims = if self.is_sequence { &sequence[..] } else { &sequence[1..] };
        let tensors = out.each_ref().map(|values| write(self.dtype, dims, values));
        for (index, tensor) in tensors.into_iter().enumerate() {
            ctx.set_output(index, tensor?);
        }
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs)
    }
}

/// Consecutive inputs in single precision.
fn inputs<'a, const N: usize>(
    ctx: &'a KernelContext<'_>,
    first: usize,
) -> Result<[Cow<'a, [f32]>; N]> {
    let values: Vec<_> = (first..first + N).map(|index| read(ctx, index)).collect::<Result<_>>()?;
    Ok(values.try_into().expect("there are as many as were read"))
}

#[derive(Debug)]
struct CellGrad {
    use_peephole: bool,
    dtype: DType,
}

impl Kernel for CellGrad {
    fn new(attrs: &Attrs<'_>) -> Result<CellGrad> {
        Ok(CellGrad { use_peephole: attrs.bool("use_peephole")?, dtype: attrs.dtype("T")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (_, sizes) = check(ctx, 0)?;
        let Sizes { batch, cell, .. } = sizes;
        let names = ["i", "cs", "f", "o", "ci", "co", "cs_grad_tensor", "h_grad_tensor"];
        for (index, name) in (8..).zip(names) {
            expect(ctx, index, name, &[("batch_size", batch), ("cell_size", cell)])?;
        }
        let cs_prev = read(ctx, 1)?;
        let [wci, wcf, wco]: [Cow<'_, [f32]>; 3] = inputs(ctx, 4)?;
        let [i, cs, f, o, ci, co, cs_grad, h_grad] = inputs(ctx, 8)?;
        let step = Step { i: &*i, cs: &*cs, f: &*f, o: &*o, ci: &*ci, co: &*co, h: &[][..] };
        let peepholes: [&[f32]; 3] = [&wci, &wcf, &wco];
        let mut sums: [Vec<f32>; 3] = std::array::from_fn(|_| vec![0.0; cell]);
        let flow = backward(
            sizes,
            gate_order("LSTMBlockCellGrad"),
            self.use_peephole.then_some(peepholes),
            &cs_prev,
            &step,
            [&cs_grad, &h_grad],
            sums.each_mut().map(|sum| &mut sum[..]),
        );
        let [wci_grad, wcf_grad, wco_grad] =
            sums.each_ref().map(|sum| write(self.dtype, &[cell], sum));
        let cs_prev_grad = write(self.dtype, &[batch, cell], &flow.cs_prev)?;
        let gates = write(self.dtype, &[batch, 4 * cell], &flow.gates)?;
        ctx.set_output(0, cs_prev_grad);
        ctx.set_output(1, gates);
        ctx.set_output(2, wci_grad?);
        ctx.set_output(3, wcf_grad?);
        ctx.set_output(4, wco_grad?);
        Ok(())
    }
}

#[derive(Debug)]
struct LstmGrad {
    order: GateOrder,
    use_peephole: bool,
    dtype: DType,
}

impl Kernel for LstmGrad {
    fn new(attrs: &Attrs<'_>) -> Result<LstmGrad> {
        Ok(LstmGrad {
            order: gate_order(attrs.op()),
            use_peephole: attrs.bool("use_peephole")?,
            dtype: attrs.dtype("T")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (time, sizes) = check(ctx, 1)?;
        let Sizes { batch, input, cell } = sizes;
        let names = ["i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"];
        for (index, name) in (9..).zip(names) {
            let wanted = [("time", time), ("batch_size", batch), ("cell_size", cell)];
            expect(ctx, index, name, &wanted)?;
        }
        let steps = steps(ctx, time)?;
        let [x, cs_first, h_first, w, wci, wcf, wco, _] = inputs(ctx, 1)?;
        let [i, cs, f, o, ci, co, h, cs_grad, h_grad] = inputs(ctx, 9)?;
        let peepholes: [&[f32]; 3] = [&wci, &wcf, &wco];
        let mut sums = WeightGradients {
            w: vec![0.0; w.len()],
            b: vec![0.0; 4 * cell],
            peepholes: std::array::from_fn(|_| vec![0.0; cell]),
        };
        let mut x_grad = vec![0.0; x.len()];
        let mut cs_flow = vec![0.0; batch * cell];
        let mut h_flow = vec![0.0; batch * cell];
        for t in (0..steps).rev() {
            let now = t * batch * cell..(t + 1) * batch * cell;
            let step = Step {
                i: &i[now.clone()],
                cs: &cs[now.clone()],
                f: &f[now.clone()],
                o: &o[now.clone()],
                ci: &ci[now.clone()],
                co: &co[now.clone()],
                h: &h[now.clone()],
            };
            let (cs_prev, h_prev) = if t == 0 {
                (&*cs_first, &*h_first)
            } else {
                let before = now.start - batch * cell..now.start;
                (&cs[before.clone()], &h[before])
            };
            add(&mut cs_flow, &cs_grad[now.clone()]);
            add(&mut h_flow, &h_grad[now]);
            let flow = backward(
                sizes,
                self.order,
                self.use_peephole.then_some(peepholes),
                cs_prev,
                &step,
                [&cs_flow, &h_flow],
                sums.peepholes.each_mut().map(|sum| &mut sum[..]),
            );
            let x_now = t * batch * input..(t + 1) * batch * input;
            let xh = [&x[x_now.clone()], h_prev];
            let xh_grad = backward_weights(par, sizes, &w, xh, &flow.gates, &mut sums);
            let rows = xh_grad.chunks_exact((input + cell).max(1));
            for (row, xh) in rows.enumerate() {
                x_grad[x_now.start + row * input..][..input].copy_from_slice(&xh[..input]);
                h_flow[row * cell..][..cell].copy_from_slice(&xh[input..]);
            }
            cs_flow = flow.cs_prev;
        }
        let [wci_grad, wcf_grad, wco_grad] = &sums.peepholes;
        let outputs = [
            write(self.dtype, &[time, batch, input], &x_grad)?,
            write(self.dtype, &[batch, cell], &cs_flow)?,
            write(self.dtype, &[batch, cell], &h_flow)?,
            write(self.dtype, &[input + cell, 4 * cell], &sums.w)?,
            write(self.dtype, &[cell], wci_grad)?,
            write(self.dtype, &[cell], wcf_grad)?,
            write(self.dtype, &[cell], wco_grad)?,
            write(self.dtype, &[4 * cell], &sums.b)?,
        ];
        for (index, tensor) in outputs.into_iter().enumerate() {
            ctx.set_output(index, tensor);
        }
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs)
    }
}

fn add(sum: &mut [f32], values: &[f32]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// Only the cell states and the results of a sequence have gradients.
fn sequence_gradient(g: &GradientContext<'_>) -> InputGradients {
    let is_new = &*g.node().op == "BlockLSTMV2";
    let op = if is_new { "BlockLSTMGradV2" } else { "BlockLSTMGrad" };
    let outputs = (0..7).map(|index| g.output(index));
    let inputs = g.inputs(0..9).iter().copied().chain(outputs).chain([g.grad(1)?, g.grad(6)?]);
    let node = inputs.fold(NewNode::new(op), NewNode::input);
    let gradients: [_; 8] = g.outs(g.with_attrs_of(node)?)?;
    let gradients = gradients.into_iter().map(|gradient| Some(gradient.into()));
    Ok(std::iter::once(None).chain(gradients).collect())
}
