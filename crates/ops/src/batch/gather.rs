//! `Batch` and `BatchFunction`: inputs of several steps, one after the other in one tensor.

use std::sync::Arc;

use futures_channel::oneshot;
use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Background, BoxFuture, Op, Outcome, Spawn, Started, cpu_async,
};
use tensorfleet_graph::Func;
use tensorfleet_kernels::random::entropy;
use tensorfleet_tensor::{
    DType, Error, Result, Shape, Tensor, cancelled, failed_precondition, internal, invalid_argument,
};

use super::batcher::{Batcher, Call, Work};
use super::settings::Settings;
use crate::data_flow::join::{join, prepend, without_first};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Batch",
        inputs: &["in_tensors: T"],
        outputs: &["batched_tensors: T", "batch_index: int64", "id: int64"],
        attrs: &[
            "num_batch_threads: int",
            "max_batch_size: int",
            "max_enqueued_batches: int = 10",
            "batch_timeout_micros: int",
            "allowed_batch_sizes: list(int) = []",
            "grad_timeout_micros: int",
            "container: string = ''",
            "shared_name: string = ''",
            "batching_queue: string = ''",
            "T: list(type) >= 1",
        ],
        distributed_communication: true,
        kernels: &[cpu_async::<Gather>()],
        ..Op::DEFAULT
    },
    Op {
        name: "BatchFunction",
        inputs: &["in_tensors: Tin", "captured_tensors: Tcaptured"],
        outputs: &["out_tensors: Tout"],
        attrs: &[
            "f: func",
            "num_batch_threads: int",
            "max_batch_size: int",
            "batch_timeout_micros: int",
            "max_enqueued_batches: int = 10",
            "allowed_batch_sizes: list(int) = []",
            "container: string = ''",
            "shared_name: string = ''",
            "batching_queue: string = ''",
            "low_priority_max_batch_size: int = 0",
            "low_priority_batch_timeout_micros: int = 0",
            "low_priority_allowed_batch_sizes: list(int) = []",
            "low_priority_max_enqueued_batches: int = 0",
            "mixed_priority_policy: {'low_priority_padding_with_max_batch_size', \
             'low_priority_padding_with_next_allowed_batch_size', 'priority_isolation', \
             'priority_merge'} = 'low_priority_padding_with_max_batch_size'",
            "batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = \
             'PAD_UP'",
            "Tin: list(type) >= 1",
            "Tcaptured: list(type) >= 0",
            "Tout: list(type) >= 1",
            "enable_large_batch_splitting: bool = false",
        ],
        distributed_communication: true,
        kernels: &[cpu_async::<Gather>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Gather {
    container: String,
    name: String,
    queue: String,
    settings: Settings,
    /// What is called with a batch; without it the batch itself is the result.
    function: Option<Func>,
    /// How many of the inputs are batched.
    batched: usize,
}

impl AsyncKernel for Gather {
    fn new(attrs: &Attrs<'_>) -> Result<Gather> {
        let is_function = attrs.op() == "BatchFunction";
        let shared = attrs.string("shared_name")?;
        Ok(Gather {
            container: attrs.string("container")?.into_owned(),
            name: if shared.is_empty() { attrs.node_name().into() } else { shared.into_owned() },
            queue: attrs.string("batching_queue")?.into_owned(),
            settings: Settings::of(attrs)?,
            function: if is_function { Some(attrs.func("f")?.clone()) } else { None },
            batched: attrs.types_of(if is_function { "Tin" } else { "T" })?.len(),
        })
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let step = Arc::clone(&ctx.step);
        let create = || Ok(Batcher::new(self.settings.clone()));
        let batcher = step.resources.lookup_or_create(&self.container, &self.name, create)?;
        let mut tensors = ctx.into_tensors()?;
        let captured = tensors.split_off(self.batched);
        let rows = rows_of(&tensors)?;
        let background = Background::new(&step);
        let work: Arc<dyn Work> = match &self.function {
            None => Arc::new(Concatenate { spawner: Arc::clone(&step.spawner) }),
            Some(function) => {
                Arc::new(Compute { function: function.clone(), captured, background })
            }
        };
        let id = entropy().cast_signed();
        let mut replies = Vec::new();
        let mut start = 0;
        for part in batcher.parts(&self.queue, rows)? {
            let (reply, wait) = oneshot::channel();
            let cut = |tensor: &Tensor| tensor.rows(start..start + part);
            let tensors = match part == rows {
                true => tensors.clone(),
                false => tensors.iter().map(cut).collect::<Result<_>>()?,
            };
            start += part;
            let call = Call { id, rows: part, tensors, work: Arc::clone(&work), reply };
            batcher.add(&self.queue, call)?;
            replies.push(wait);
        }
        Ok(Started::Waiting(Box::pin(async move {
            let mut parts = Vec::with_capacity(replies.len());
            for reply in replies {
                parts.push(reply.await.map_err(|_| cancelled!("a batch was given up"))??);
            }
            let outputs = match parts.len() {
                1 => parts.remove(0),
                _ => concatenated(&parts)?,
            };
            Ok(Outcome::from(outputs))
        })))
    }
}

/// The number of rows, which all tensors of a call have.
fn rows_of(tensors: &[Tensor]) -> Result<usize> {
    let mut rows = None;
    for tensor in tensors {
        let Some(&have) = tensor.dims().first() else {
            return Err(invalid_argument!(
                "Batching input tensors must have at least one dimension"
            ));
        };
        if rows.is_some_and(|rows| rows != have) {
            return Err(invalid_argument!(
                "Batching input tensors supplied in a given op invocation must have equal \
                 0th-dimension size"
            ));
        }
        rows = Some(have);
    }
    rows.ok_or_else(|| internal!("a call of a batch has no tensors"))
}

/// Tensor `i` of every list, one after the other.
fn concatenated(lists: &[Vec<Tensor>]) -> Result<Vec<Tensor>> {
    let count = lists.first().map_or(0, Vec::len);
    let column = |index: usize| lists.iter().map(|list| list[index].clone()).collect::<Vec<_>>();
    (0..count).map(|index| concatenate(&column(index), 0)).collect()
}

/// Tensors one after the other, and the first row so many times more.
fn concatenate(parts: &[Tensor], padding: usize) -> Result<Tensor> {
    let first = &parts[0];
    let rest = without_first(first.shape())?;
    if let Some(other) = parts.iter().find(|p| without_first(p.shape()).ok() != Some(rest.clone()))
    {
        return Err(invalid_argument!(
            "Tensors with name '' from different tasks have different shapes and padding is turned \
             off. Set pad_variable_length_inputs to true, or ensure that all tensors with the same \
             name have equal dimensions starting with the first dim. {} vs. {}",
            first.shape(),
            other.shape()
        ));
    }
    let rows: usize = parts.iter().map(|part| part.dims()[0]).sum();
    let mut all = parts.to_vec();
    if padding > 0 && first.dims()[0] > 0 {
        let row = first.rows(0..1)?;
        all.extend(std::iter::repeat_n(row, padding));
    }
    join(first.dtype(), prepend(rows + padding, &rest)?, &all)
}

/// The tensors of all calls, filled up.
fn inputs(calls: &[Call], filled: usize) -> Result<Vec<Tensor>> {
    let rows: usize = calls.iter().map(|call| call.rows).sum();
    let count = calls.first().map_or(0, |call| call.tensors.len());
    let column = |index: usize| calls.iter().map(|c| c.tensors[index].clone()).collect::<Vec<_>>();
    (0..count).map(|index| concatenate(&column(index), filled - rows)).collect()
}

fn fail(calls: Vec<Call>, error: &Error) {
    for call in calls {
        // Whoever asked may have gone.
        let _ = call.reply.send(Err(error.clone()));
    }
}

/// The last call gets the batch and where the calls are in it, the others get nothing.
#[derive(Debug)]
struct Concatenate {
    spawner: Arc<dyn Spawn>,
}

impl Work for Concatenate {
    fn run(&self, mut calls: Vec<Call>, filled: usize) -> BoxFuture<()> {
        Box::pin(async move {
            let outputs = inputs(&calls, filled).and_then(|all| Ok((all, index(&calls)?)));
            match outputs {
                Err(error) => fail(calls, &error),
                Ok((mut batch, index)) => {
                    let Some(last) = calls.pop() else { return };
                    for call in calls {
                        let nothing = nothing(&call);
                        let _ = call.reply.send(nothing);
                    }
                    batch.extend([index, Tensor::scalar(last.id)]);
                    let _ = last.reply.send(Ok(batch));
                }
            }
        })
    }

    fn spawner(&self) -> Arc<dyn Spawn> {
        Arc::clone(&self.spawner)
    }
}

/// For each call its id and its rows.
fn index(calls: &[Call]) -> Result<Tensor> {
    let mut start = 0;
    let mut values = Vec::with_capacity(3 * calls.len());
    for call in calls {
        let end = start + call.rows as i64;
        values.extend([call.id, start, end]);
        start = end;
    }
    Tensor::vector(&values)?.reshape(Shape::new(&[calls.len(), 3])?)
}

fn nothing(call: &Call) -> Result<Vec<Tensor>> {
    let mut outputs =
        call.tensors.iter().map(|tensor| tensor.rows(0..0)).collect::<Result<Vec<_>>>()?;
    outputs.push(Tensor::zeros(DType::Int64, Shape::new(&[0, 3])?)?);
    outputs.push(Tensor::scalar(call.id));
    Ok(outputs)
}

/// A function is called with the batch, and its results are cut up.
#[derive(Debug)]
struct Compute {
    function: Func,
    captured: Vec<Tensor>,
    background: Background,
}

impl Work for Compute {
    fn run(&self, calls: Vec<Call>, filled: usize) -> BoxFuture<()> {
        let started = inputs(&calls, filled).and_then(|mut args| {
            args.extend(self.captured.iter().cloned());
            let step = self.background.step()?;
            Ok(self.background.functions().instantiate(&self.function)?.call(&step, args))
        });
        Box::pin(async move {
            let outputs = match started {
                Ok(call) => call.await,
                Err(error) => Err(error),
            };
            match outputs.and_then(|outputs| cut(&outputs, &calls, filled)) {
                Err(error) => fail(calls, &error),
                Ok(results) => {
                    for (call, result) in calls.into_iter().zip(results) {
                        let _ = call.reply.send(Ok(result));
                    }
                }
            }
        })
    }

    fn spawner(&self) -> Arc<dyn Spawn> {
        Arc::clone(self.background.spawner())
    }
}

/// The rows of every call, of each result.
fn cut(outputs: &[Tensor], calls: &[Call], filled: usize) -> Result<Vec<Vec<Tensor>>> {
    for output in outputs {
        match output.dims().first() {
            None => return Err(failed_precondition!("Batched output tensor has 0 dimensions")),
            Some(&rows) if rows != filled => {
                return Err(failed_precondition!(
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th \
                     dimension sizes of the input tensors"
                ));
            }
            Some(_) => {}
        }
    }
    let mut start = 0;
    let mut results = Vec::with_capacity(calls.len());
    for call in calls {
        let end = start + call.rows;
        results.push(outputs.iter().map(|o| o.rows(start..end)).collect::<Result<Vec<_>>>()?);
        start = end;
    }
    Ok(results)
}
