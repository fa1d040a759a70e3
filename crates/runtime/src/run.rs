//! One run of an executable.
//!
//! A run is a future. Whoever polls it works on the step: cheap nodes run one after the other right
//! there, without locks and without waking another thread. A node that takes long sends the run to
//! the compute pool, where several such nodes may run at once; a node that waits for something
//! leaves its own future behind. Dropping the run cancels it: waiting nodes are dropped with it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use tensorfleet_framework::{
    AsyncContext, Awaited, BoxFuture, FrameIteration, Kernel, KernelContext, Outcome, Started,
    StepContext, Value, Values, Wait, Watched,
};
use tensorfleet_kernels::FlushDenormals;
use tensorfleet_tensor::{Error, Result, Tensor, cancelled, internal, invalid_argument};

use crate::executable::{CompiledNode, Executable, Kind};
use crate::inputs::{read_references, scalar};
use crate::pool::{ComputePool, may_compute};
use crate::sequence::{Progress, Surroundings};
use crate::state::{Ready, State};
use crate::trace::{Trace, when_done};
use crate::turn;

/// A node that takes longer than this (nanoseconds) is worth another thread.
pub(crate) const EXPENSIVE: u64 = 40_000;

/// What any node takes at least.
pub(crate) const PER_NODE: u64 = 250;

/// A running step. Resolves to the returned values.
#[derive(Debug)]
pub struct Run {
    shared: Arc<Shared>,
    /// Whether operators can look at it: only a run that has to wait makes itself known.
    is_known: bool,
}

#[derive(Debug)]
struct Shared {
    executable: Arc<Executable>,
    step: Arc<StepContext>,
    pool: Arc<ComputePool>,
    args: Vec<Tensor>,
    trace: Option<Arc<Trace>>,
    /// How many nodes that take long may run at once.
    width: usize,
    /// Whether the results go to a session's client.
    is_fetched: bool,
    /// Held by whoever works on the step; never waited for, see `Mail::driver`.
    work: Mutex<Work>,
    mail: Mutex<Mail>,
}

/// What happens to the run from outside of the thread that works on it.
#[derive(Debug)]
struct Mail {
    letters: Vec<Letter>,
    driver: Driver,
    /// Wakes whoever awaits the run.
    waker: Option<Waker>,
    result: Option<Result<Vec<Tensor>>>,
}

/// Who works on the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    /// Nobody: the next letter wakes the task that awaits the run.
    Idle,
    /// A task or a pool thread is at work, or about to be, and will look at the letters.
    Busy,
    /// The run is over.
    Done,
}

#[derive(Debug)]
enum Letter {
    /// A waiting node can go on.
    Wake(usize),
    /// A node that ran on another thread is done.
    Ran(Ready, Box<Result<Values>>),
    Cancel,
}

/// The part of a run that one thread at a time works on.
struct Work {
    state: State,
    /// The outputs of the node that runs.
    outputs: Vec<Value>,
    waiting: Vec<Option<Waiting>>,
    free: Vec<usize>,
    /// Nodes running on other threads.
    in_flight: usize,
    /// How long the nodes of this turn may take, and have taken, as far as is known.
    turn: u64,
    spent: u64,
    retvals: Vec<Option<Tensor>>,
    error: Option<Error>,
}

/// A node that is not done.
struct Waiting {
    ready: Ready,
    future: BoxFuture<Result<Outcome>>,
    /// Since when, if it was not done at once.
    since: Option<Instant>,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Why a thread stopped working on a step.
enum Pause {
    /// All that is left waits for letters.
    Idle,
    /// The rest takes long: it belongs on the pool.
    Heavy,
    Done,
}

impl Run {
    /// Prepares a run; the first poll starts it.
    pub fn new(
        executable: Arc<Executable>,
        step: Arc<StepContext>,
        pool: Arc<ComputePool>,
        args: Vec<Tensor>,
        trace: Option<Arc<Trace>>,
    ) -> Result<Run> {
        for (index, (arg, want)) in args.iter().zip(executable.args()).enumerate() {
            if let Some(want) = want
                && arg.dtype() != *want
            {
                return Err(invalid_argument!(
                    "Type mismatch: argument {index} is a {} tensor, expected {want}",
                    arg.dtype()
                ));
            }
        }
        if args.len() < executable.args().len() {
            return Err(invalid_argument!(
                "{} arguments were given, {} are needed",
                args.len(),
                executable.args().len()
            ));
        }
        let work = Work {
            state: State::new(&executable, trace.is_none()),
            outputs: Vec::new(),
            waiting: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            turn: 0,
            spent: 0,
            retvals: vec![None; executable.retvals().len()],
            error: None,
        };
        let mail = Mail { letters: Vec::new(), driver: Driver::Idle, waker: None, result: None };
        Ok(Run {
            shared: Arc::new(Shared {
                executable,
                step,
                width: if pool.threads() > 1 { usize::MAX } else { 1 },
                pool,
                args,
                trace,
                is_fetched: false,
                work: Mutex::new(work),
                mail: Mutex::new(mail),
            }),
            is_known: false,
        })
    }

    /// Lets at most so many nodes run at once.
    #[must_use]
    pub fn at_most_at_once(mut self, nodes: usize) -> Run {
        let shared = Arc::get_mut(&mut self.shared).expect("the run has not begun");
        shared.width = shared.width.min(nodes.max(1));
        self
    }

    /// Says that the results are what a session fetches. One that was never made is then an internal
    /// error, as from TensorFlow's servers; of a function it is an invalid argument.
    #[must_use]
    pub fn fetched(mut self) -> Run {
        Arc::get_mut(&mut self.shared).expect("the run has not begun").is_fetched = true;
        self
    }
}

impl Future for Run {
    type Output = Result<Vec<Tensor>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        {
            let mut mail = self.shared.mail();
            if mail.driver == Driver::Idle {
                mail.driver = Driver::Busy;
                mail.waker = None;
                drop(mail);
                Shared::drive(&self.shared);
            }
        }
        let mut mail = self.shared.mail();
        if let Some(result) = mail.result.take() {
            return Poll::Ready(result);
        }
        match &mut mail.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        drop(mail);
        if !self.is_known {
            self.is_known = true;
            let run: Weak<Shared> = Arc::downgrade(&self.shared);
            self.shared.step.rendezvous.watch(run);
        }
        Poll::Pending
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let is_over = {
            let mut mail = self.shared.mail();
            // Nobody will await the result any more.
            mail.waker = None;
            mail.driver == Driver::Done
        };
        if !is_over {
            Shared::post(&self.shared, Letter::Cancel);
        }
    }
}

impl Shared {
    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Leaves a letter and sees to it that somebody reads it.
    fn post(this: &Arc<Shared>, letter: Letter) {
        let waker = {
            let mut mail = this.mail();
            if mail.driver == Driver::Done {
                return;
            }
            mail.letters.push(letter);
            if mail.driver == Driver::Busy {
                return;
            }
            match mail.waker.clone() {
                Some(waker) => waker,
                None => {
                    mail.driver = Driver::Busy;
                    Shared::drive_on_pool(this);
                    return;
                }
            }
        };
        waker.wake();
    }

    /// Works on the step until nothing is left to do here. The caller has made itself the driver.
    fn drive(this: &Arc<Shared>) {
        match turn::allowance() {
            // What it runs inside of has used up their turn.
            0 => Shared::drive_on_pool(this),
            allowance => turn::spend(Shared::work(this, allowance)),
        }
    }

    fn drive_on_pool(this: &Arc<Shared>) {
        let run = Arc::clone(this);
        this.pool.spawn(move || Shared::drive(&run));
    }

    /// Works on the step for a turn. Returns what that took.
    fn work(this: &Arc<Shared>, turn: u64) -> u64 {
        let (_flush, _entered) = (FlushDenormals::new(), this.step.enter());
        let mut work = this.work.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        (work.turn, work.spent) = (turn, 0);
        if let Some(Err(exhausted)) = this.step.account.as_ref().map(|account| account.check()) {
            work.fail(exhausted);
        }
        let mut letters = Vec::new();
        loop {
            std::mem::swap(&mut letters, &mut this.mail().letters);
            let worked = catch_unwind(AssertUnwindSafe(|| work.advance(this, &mut letters)));
            let pause = worked.unwrap_or_else(|panic| {
                work.fail(internal!("a step failed unexpectedly: {}", panic_text(&*panic)));
                work.pause()
            });
            let spent = work.spent;
            let mut mail = this.mail();
            match pause {
                Pause::Idle if mail.letters.is_empty() => mail.driver = Driver::Idle,
                // Nodes may wake each other, or themselves, without end.
                Pause::Idle if spent <= turn => continue,
                Pause::Idle | Pause::Heavy => Shared::drive_on_pool(this),
                Pause::Done => {
                    mail.driver = Driver::Done;
                    mail.letters.clear();
                    mail.result = Some(work.result(this));
                    if let Some(waker) = mail.waker.take() {
                        drop(mail);
                        drop(work);
                        waker.wake();
                    }
                }
            }
            return spent;
        }
    }
}

impl Watched for Shared {
    fn waits(&self, waits: &mut Vec<Wait>) -> bool {
        let work = match self.work.try_lock() {
            Ok(work) => work,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Somebody is at work on it.
            Err(TryLockError::WouldBlock) => return true,
        };
        let nodes = &self.executable.nodes;
        for Waiting { ready, since, .. } in work.waiting.iter().flatten() {
            let node = &nodes[ready.node as usize];
            let awaited = match &node.kind {
                Kind::Async(kernel) => kernel.awaits(),
                _ => Awaited::File,
            };
            let (name, op) = (Arc::clone(&node.name), Arc::clone(&node.op));
            let source = self.executable.source(ready.node);
            waits.push(Wait { node: name, op, awaited, source, since: *since });
        }
        let in_flight = work.in_flight > 0;
        if let (Some(ready), Driver::Busy) = (work.state.ready.front(), self.mail().driver) {
            let node = &nodes[ready.node as usize];
            let (name, op) = (Arc::clone(&node.name), Arc::clone(&node.op));
            let awaited = Awaited::Thread;
            waits.push(Wait { node: name, op, awaited, source: None, since: None });
        }
        in_flight
    }
}

/// Wakes one waiting node of a run.
struct NodeWaker {
    run: Arc<Shared>,
    index: usize,
}

impl Wake for NodeWaker {
    fn wake(self: Arc<Self>) {
        Shared::post(&self.run, Letter::Wake(self.index));
    }
}

impl Work {
    fn fail(&mut self, error: Error) {
        let replace = match &self.error {
            None => true,
            Some(known) => known.is_derived() && !error.is_derived(),
        };
        if replace {
            self.error = Some(error);
        }
        self.state.ready.clear();
        self.state.sequences.clear();
        self.waiting.clear();
        self.free.clear();
    }

    fn pause(&self) -> Pause {
        let is_waiting = self.waiting.len() > self.free.len();
        if self.in_flight > 0 || (is_waiting && self.error.is_none()) {
            Pause::Idle
        } else {
            Pause::Done
        }
    }

    fn result(&mut self, run: &Shared) -> Result<Vec<Tensor>> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.state.recycle(&run.executable);
        let missing = |index| match run.is_fetched {
            true => internal!(
                "Failed to fetch outputs for step {}. (Original error message: Retval[{index}] does not \
                 have value)",
                run.step.id.0
            ),
            false => invalid_argument!("Retval[{index}] does not have value"),
        };
        std::mem::take(&mut self.retvals)
            .into_iter()
            .zip(run.executable.retvals())
            .map(|(value, index)| value.ok_or_else(|| missing(index)))
            .collect()
    }

    fn advance(&mut self, run: &Arc<Shared>, letters: &mut Vec<Letter>) -> Pause {
        for letter in letters.drain(..) {
            self.spent += PER_NODE;
            match letter {
                Letter::Cancel => self.fail(cancelled!("the step was cancelled")),
                Letter::Wake(index) => self.poll_waiting(run, index),
                Letter::Ran(ready, outcome) => {
                    self.in_flight -= 1;
                    self.settle(run, ready, *outcome);
                }
            }
        }
        let may_block = may_compute();
        loop {
            while let Some(ready) = self.state.ready.pop_front() {
                let node = &run.executable.nodes[ready.node as usize];
                match self.run_node(run, ready, node, may_block) {
                    Ok(true) => {}
                    Ok(false) => return Pause::Heavy,
                    Err(error) => self.fail(error.at_node(&node.name)),
                }
                self.spent += PER_NODE;
                if self.spent > self.turn {
                    return if self.state.is_idle() { self.pause() } else { Pause::Heavy };
                }
            }
            let Some(frame) = self.state.sequences.pop_front() else { return self.pause() };
            match self.run_sequence(run, frame, may_block) {
                Ok(true) => {}
                Ok(false) => return Pause::Heavy,
                Err(error) => self.fail(error),
            }
        }
    }

    /// Works on a loop that has its order. False: this thread has done enough.
    fn run_sequence(&mut self, run: &Shared, frame: u32, may_block: bool) -> Result<bool> {
        let turn = self.turn.saturating_sub(self.spent);
        let executable = &run.executable;
        let (mut running, layout, id) = self.state.take_sequence(frame);
        let Some(sequence) = &executable.frames[layout as usize].sequence else {
            return Err(internal!("a loop has lost its order"));
        };
        let nodes = &executable.nodes;
        let around = Surroundings { nodes, step: &run.step, frame: id, may_block, turn };
        match running.advance(sequence, around)? {
            Progress::Over(exits) => self.state.end_sequence(executable, frame, exits),
            Progress::HandOver { iteration, values } => {
                self.state.begin_frame(executable, frame, iteration, values);
            }
            Progress::Paused | Progress::Heavy => {
                self.state.put_sequence(frame, running);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs one node or starts it elsewhere. False: this thread must not run it, so it is put back.
    fn run_node(
        &mut self,
        run: &Arc<Shared>,
        ready: Ready,
        node: &CompiledNode,
        may_block: bool,
    ) -> Result<bool> {
        match &node.kind {
            Kind::Compute { kernel, takes_dead: true } if ready.is_dead => {
                let place = self.state.place(ready);
                let mut ctx = KernelContext::new(&node.name, &run.step, place, &mut [], &mut []);
                kernel.compute_dead(&mut ctx)?;
                self.finish_dead(run, ready, node);
            }
            Kind::ControlTrigger => {
                self.state.finish(&run.executable, ready, &mut [], false);
            }
            Kind::Arg(index) => {
                let mut value = [Value::Tensor(run.args[*index].clone())];
                self.state.finish(&run.executable, ready, &mut value, false);
            }
            _ if ready.is_dead => self.finish_dead(run, ready, node),
            Kind::Merge => {
                let inputs = self.state.claim_inputs(ready, node);
                let Some(index) = inputs.iter().position(|input| !input.is_empty()) else {
                    return Err(internal!("Merge has no live input"));
                };
                let value = inputs[index].take();
                let index = Value::Tensor(Tensor::scalar(index as i32));
                self.state.finish(&run.executable, ready, &mut [value, index], false);
            }
            Kind::Compute { kernel, .. } => {
                let mut here = self.state.here(ready);
                let cost = kernel.cost(here.inputs(node));
                self.spent += cost;
                if cost > EXPENSIVE {
                    if !may_block {
                        self.state.ready.push_front(ready);
                        return Ok(false);
                    }
                    let is_alone = self.state.ready.is_empty() && self.in_flight == 0;
                    if !is_alone && self.in_flight < run.width - 1 {
                        let inputs = self.take_inputs(ready, node)?;
                        self.run_elsewhere(run, ready, Arc::clone(kernel), inputs);
                        return Ok(true);
                    }
                    here = self.state.here(ready);
                }
                // Outputs that nobody consumed are left from the node before.
                self.outputs.clear();
                self.outputs.resize_with(node.num_outputs as usize, Value::default);
                let (place, inputs) = (here.place, here.inputs(node));
                read_references(inputs, &node.name, &node.takes_ref)?;
                compute_traced(run, node, &**kernel, place, inputs, &mut self.outputs)?;
                here.finish(node, &mut self.outputs);
                if ready.frame != 0 {
                    self.state.release(&run.executable, ready.frame, ready.iteration);
                }
            }
            Kind::Async(kernel) => {
                let ctx = AsyncContext {
                    inputs: self.take_inputs(ready, node)?,
                    step: Arc::clone(&run.step),
                    node: Arc::clone(&node.name),
                    frame: self.state.place(ready),
                };
                let started = run.trace.as_ref().map(|trace| trace.start());
                match kernel.start(ctx).map_err(|error| error.through_node(&node.name))? {
                    Started::Done(outcome) => {
                        if let (Some(trace), Some(started)) = (&run.trace, started) {
                            trace.record(node, started, &[]);
                        }
                        self.settle_outcome(run, ready, node, outcome)?;
                    }
                    Started::Waiting(future) => {
                        let future = when_done(&run.trace, &run.executable, ready.node, future);
                        self.wait(run, ready, future);
                    }
                }
            }
            Kind::File(kernel) => {
                let inputs = self.take_inputs(ready, node)?;
                let place = self.state.place(ready);
                let (kernel, name) = (Arc::clone(kernel), Arc::clone(&node.name));
                let (step, outputs) = (Arc::clone(&run.step), node.num_outputs as usize);
                let work = compute_with_files(kernel, name, step, place, inputs, outputs);
                self.wait(run, ready, when_done(&run.trace, &run.executable, ready.node, work));
            }
            Kind::Retval(position) => {
                let inputs = self.state.claim_inputs(ready, node);
                read_references(inputs, &node.name, &node.takes_ref)?;
                if let Value::Tensor(tensor) = inputs[0].take() {
                    self.retvals[*position] = Some(tensor);
                }
                self.state.finish(&run.executable, ready, &mut [], false);
            }
            Kind::Switch => {
                let inputs = self.state.claim_inputs(ready, node);
                let taken = scalar::<bool>(inputs.get(1), "pred")?;
                let data = inputs[0].take();
                inputs[1] = Value::Empty;
                let mut outputs = if taken { [Value::Empty, data] } else { [data, Value::Empty] };
                self.state.finish(&run.executable, ready, &mut outputs, false);
            }
            Kind::SwitchN => {
                let inputs = self.state.claim_inputs(ready, node);
                let chosen = scalar::<i32>(inputs.get(1), "output_index")?;
                let data = inputs[0].take();
                inputs[1] = Value::Empty;
                let last = node.num_outputs as usize - 1;
                let chosen = usize::try_from(chosen).map_or(last, |chosen| chosen.min(last));
                let mut outputs = vec![Value::Empty; node.num_outputs as usize];
                outputs[chosen] = data;
                self.state.finish(&run.executable, ready, &mut outputs, false);
            }
            Kind::Enter { .. } | Kind::Exit | Kind::NextIteration | Kind::LoopCond => {
                let mut value = [self.state.claim_inputs(ready, node)[0].take()];
                self.state.finish(&run.executable, ready, &mut value, false);
            }
        }
        Ok(true)
    }

    fn finish_dead(&mut self, run: &Shared, ready: Ready, node: &CompiledNode) {
        // Dead nodes may still hold the live ones among their inputs.
        self.state.claim_inputs(ready, node).fill_with(Value::default);
        self.outputs.clear();
        self.outputs.resize_with(node.num_outputs as usize, Value::default);
        self.state.finish(&run.executable, ready, &mut self.outputs, true);
    }

    /// Takes the inputs of a node away from their slots, for one that runs elsewhere or later.
    fn take_inputs(&mut self, ready: Ready, node: &CompiledNode) -> Result<Values> {
        let inputs = self.state.claim_inputs(ready, node);
        read_references(inputs, &node.name, &node.takes_ref)?;
        Ok(inputs.iter_mut().map(Value::take).collect())
    }

    fn run_elsewhere(
        &mut self,
        run: &Arc<Shared>,
        ready: Ready,
        kernel: Arc<dyn Kernel>,
        mut inputs: Values,
    ) {
        self.in_flight += 1;
        let place = self.state.place(ready);
        let owner = Arc::clone(run);
        run.pool.spawn(move || {
            let node = &owner.executable.nodes[ready.node as usize];
            let outcome = guarded(|| {
                let mut outputs = Values::new();
                outputs.resize(node.num_outputs as usize, Value::Empty);
                compute_traced(&owner, node, &*kernel, place, &mut inputs, &mut outputs)?;
                Ok(outputs)
            });
            drop(inputs);
            Shared::post(&owner, Letter::Ran(ready, Box::new(outcome)));
        });
    }

    fn wait(&mut self, run: &Arc<Shared>, ready: Ready, future: BoxFuture<Result<Outcome>>) {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.waiting.push(None);
                self.waiting.len() - 1
            }
        };
        self.waiting[index] = Some(Waiting { ready, future, since: None });
        self.poll_waiting(run, index);
    }

    fn poll_waiting(&mut self, run: &Arc<Shared>, index: usize) {
        let Some(Some(Waiting { ready, future, since })) = self.waiting.get_mut(index) else {
            return;
        };
        let ready = *ready;
        let waker = Waker::from(Arc::new(NodeWaker { run: Arc::clone(run), index }));
        let mut cx = Context::from_waker(&waker);
        let allowance = self.turn.saturating_sub(self.spent);
        let (polled, spent) = turn::within(allowance, || future.as_mut().poll(&mut cx));
        self.spent += spent;
        let Poll::Ready(outcome) = polled else {
            since.get_or_insert_with(Instant::now);
            return;
        };
        self.waiting[index] = None;
        self.free.push(index);
        let node = &run.executable.nodes[ready.node as usize];
        let settled = outcome.and_then(|outcome| self.settle_outcome(run, ready, node, outcome));
        if let Err(error) = settled {
            self.fail(error.through_node(&node.name));
        }
    }

    fn settle_outcome(
        &mut self,
        run: &Shared,
        ready: Ready,
        node: &CompiledNode,
        outcome: Outcome,
    ) -> Result<()> {
        match outcome {
            Outcome::Dead => {
                let mut outputs = vec![Value::Empty; node.num_outputs as usize];
                self.state.finish(&run.executable, ready, &mut outputs, true);
            }
            Outcome::Values(mut values) => {
                if values.len() != node.num_outputs as usize {
                    return Err(internal!(
                        "the kernel returned {} values instead of {}",
                        values.len(),
                        node.num_outputs
                    ));
                }
                self.state.finish(&run.executable, ready, &mut values, false);
            }
        }
        Ok(())
    }

    fn settle(&mut self, run: &Shared, ready: Ready, outcome: Result<Values>) {
        match outcome {
            // After a failure nothing more is started.
            Ok(_) if self.error.is_some() => {}
            Ok(mut outputs) => self.state.finish(&run.executable, ready, &mut outputs, false),
            Err(error) => {
                self.fail(error.at_node(&run.executable.nodes[ready.node as usize].name));
            }
        }
    }
}

/// Runs one kernel.
#[inline]
pub(crate) fn compute(
    kernel: &dyn Kernel,
    name: &str,
    step: &Arc<StepContext>,
    place: FrameIteration,
    inputs: &mut [Value],
    outputs: &mut [Value],
) -> Result<()> {
    let _entered = step.enter();
    let mut ctx = KernelContext::new(name, step, place, inputs, outputs);
    kernel.compute(&mut ctx)?;
    ctx.finish()
}

/// Runs code of a kernel; if it panics, that is an error.
pub(crate) fn guarded<T>(kernel: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(kernel)).unwrap_or_else(|panic| {
        Err(internal!("the kernel failed unexpectedly: {}", panic_text(&*panic)))
    })
}

/// Runs a kernel that may block, on threads for that. The run may be given up, and it goes on.
pub(crate) fn compute_with_files(
    kernel: Arc<dyn Kernel>,
    name: Arc<str>,
    step: Arc<StepContext>,
    place: FrameIteration,
    mut inputs: Values,
    num_outputs: usize,
) -> BoxFuture<Result<Outcome>> {
    let spawner = Arc::clone(&step.spawner);
    spawner.with_files(Arc::clone(&name), move || {
        guarded(|| {
            let mut outputs = Values::new();
            outputs.resize(num_outputs, Value::Empty);
            compute(&*kernel, &name, &step, place, &mut inputs, &mut outputs)?;
            Ok(Outcome::Values(outputs))
        })
    })
}

fn compute_traced(
    run: &Shared,
    node: &CompiledNode,
    kernel: &dyn Kernel,
    place: FrameIteration,
    inputs: &mut [Value],
    outputs: &mut [Value],
) -> Result<()> {
    let started = run.trace.as_ref().map(|trace| trace.start());
    compute(kernel, &node.name, &run.step, place, inputs, outputs)?;
    if let (Some(trace), Some(started)) = (&run.trace, started) {
        trace.record(node, started, outputs);
    }
    Ok(())
}

/// The words of a panic.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
