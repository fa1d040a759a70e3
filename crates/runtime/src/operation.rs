//! One op outside of any graph: what eager execution, constant folding and tests run.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::time::Instant;

use tensorfleet_framework::{
    AsyncContext, Awaited, FrameIteration, Implementation, Outcome, Registry, Started, StepContext,
    Value, Values, Wait, Watched,
};
use tensorfleet_graph::Node;
use tensorfleet_kernels::FlushDenormals;
use tensorfleet_tensor::{Result, internal, invalid_argument};

use crate::inputs::read_references;
use crate::pool::{ComputePool, may_compute};
use crate::run::{EXPENSIVE, compute, compute_with_files, guarded};
use crate::turn;

/// An op with its attributes and its kernel. Any number of steps may run it at once.
#[derive(Debug)]
pub struct Operation {
    name: Arc<str>,
    op: Arc<str>,
    kernel: Implementation,
    is_stateful: bool,
    /// Which inputs take a reference as it is; others get the variable's value.
    takes_ref: Box<[bool]>,
    num_outputs: usize,
}

impl Operation {
    /// Makes the kernel of a node, whose inputs are given when it runs.
    pub fn new(node: &Node, registry: &Registry, device_kind: &str) -> Result<Operation> {
        let kernel = registry.create_kernel(node, device_kind)?;
        let passes_references =
            matches!(&kernel, Implementation::Compute(kernel) if kernel.passes_references());
        let takes_ref = node.input_types().iter().map(|input| input.is_ref || passes_references);
        Ok(Operation {
            name: Arc::clone(&node.name),
            op: Arc::clone(&node.op),
            takes_ref: takes_ref.collect(),
            num_outputs: node.output_types().len(),
            is_stateful: node.is_stateful(),
            kernel,
        })
    }

    /// Whether the kernel keeps something from run to run.
    pub fn is_stateful(&self) -> bool {
        self.is_stateful
    }

    /// Whether the op takes so long with these inputs that it should run on the pool.
    pub fn takes_long(&self, inputs: &[Value]) -> bool {
        match &self.kernel {
            Implementation::Compute(kernel) => !kernel.blocks() && kernel.cost(inputs) > EXPENSIVE,
            Implementation::Async(_) | Implementation::ControlFlow(_) => false,
        }
    }

    /// Runs the op on this thread, until it is done or has to wait. Dropping what waits cancels it.
    pub fn start(&self, step: &Arc<StepContext>, mut inputs: Values) -> Result<Started> {
        if inputs.len() != self.takes_ref.len() {
            return Err(invalid_argument!(
                "{} inputs were given to {}, {} are needed",
                inputs.len(),
                self.name,
                self.takes_ref.len()
            ));
        }
        read_references(&mut inputs, &self.name, &self.takes_ref)?;
        let frame = FrameIteration::default();
        let _entered = step.enter();
        let _flush = FlushDenormals::new();
        match &self.kernel {
            Implementation::Compute(kernel) if kernel.blocks() => {
                let (kernel, name) = (Arc::clone(kernel), Arc::clone(&self.name));
                let outputs = self.num_outputs;
                let work =
                    compute_with_files(kernel, name, Arc::clone(step), frame, inputs, outputs);
                Ok(Started::Waiting(work))
            }
            Implementation::Compute(kernel) => guarded(|| {
                let mut outputs = Values::new();
                outputs.resize(self.num_outputs, Value::Empty);
                compute(&**kernel, &self.name, step, frame, &mut inputs, &mut outputs)?;
                Ok(Started::Done(Outcome::Values(outputs)))
            }),
            Implementation::Async(kernel) => {
                let (step, node) = (Arc::clone(step), Arc::clone(&self.name));
                guarded(|| kernel.start(AsyncContext { inputs, step, node, frame }))
            }
            Implementation::ControlFlow(_) => {
                Err(invalid_argument!("{} has a meaning only inside of a graph", self.name))
            }
        }
    }

    /// Runs the op to its end: on the pool if it takes long, where it stands if not.
    pub async fn run(
        self: Arc<Self>,
        step: Arc<StepContext>,
        pool: &ComputePool,
        inputs: Values,
    ) -> Result<Values> {
        let started = if self.takes_long(&inputs) && !may_compute() {
            let (sender, receiver) = futures_channel::oneshot::channel();
            let (operation, step) = (Arc::clone(&self), Arc::clone(&step));
            pool.spawn(move || {
                // Whoever has stopped waiting needs no result.
                let _ = sender.send(operation.start(&step, inputs));
            });
            receiver.await.unwrap_or_else(|_| Err(internal!("an op ended without a result")))?
        } else {
            self.start(&step, inputs)?
        };
        let outcome = match started {
            Started::Done(outcome) => outcome,
            Started::Waiting(mut future) => {
                let mut known: Option<Arc<OperationWait>> = None;
                let done = poll_fn(|cx| {
                    let _entered = step.enter();
                    let polled = turn::within(turn::allowance(), || future.as_mut().poll(cx)).0;
                    if polled.is_pending() && known.is_none() {
                        let wait = Arc::new(OperationWait(Arc::clone(&self), Instant::now()));
                        let weak: Weak<OperationWait> = Arc::downgrade(&wait);
                        step.rendezvous.watch(weak);
                        known = Some(wait);
                    }
                    polled
                });
                done.await?
            }
        };
        match outcome {
            Outcome::Values(values) => Ok(values),
            Outcome::Dead => Err(invalid_argument!("a dead tensor came out of a single op")),
        }
    }
}

/// An op that waits, and since when.
#[derive(Debug)]
struct OperationWait(Arc<Operation>, Instant);

impl Watched for OperationWait {
    fn waits(&self, waits: &mut Vec<Wait>) -> bool {
        let OperationWait(operation, since) = self;
        let awaited = match &operation.kernel {
            Implementation::Async(kernel) => kernel.awaits(),
            Implementation::Compute(_) | Implementation::ControlFlow(_) => Awaited::File,
        };
        let (node, op) = (Arc::clone(&operation.name), Arc::clone(&operation.op));
        waits.push(Wait { node, op, awaited, source: None, since: Some(*since) });
        false
    }
}
