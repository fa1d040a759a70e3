//! The state of a step: which nodes wait for what, in every iteration of every loop.
//!
//! Only one thread at a time works on a step's state, so nothing here is locked or atomic. Values
//! sit in the slots of their consumers; a kernel works on its slots in place.

use std::collections::VecDeque;
use std::sync::Mutex;

use smallvec::SmallVec;
use tensorfleet_framework::{FrameIteration, Value};

use crate::executable::{CompiledNode, ControlEdge, Edge, Executable, FrameLayout, Kind};
use crate::sequence::Running;

/// A node that can run now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) node: u32,
    pub(crate) frame: u32,
    pub(crate) iteration: u64,
    pub(crate) is_dead: bool,
}

/// Frames, iterations and the queue of ready nodes.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) ready: VecDeque<Ready>,
    /// The frames that can go on in their order.
    pub(crate) sequences: VecDeque<u32>,
    /// Whether loops may run in their order; a step that is traced looks at every node.
    runs_sequences: bool,
    frames: Vec<Option<Frame>>,
    free_frames: Vec<u32>,
}

/// A loop that is running. Frame 0 is the graph outside of loops, with one iteration.
#[derive(Debug)]
struct Frame {
    layout: u32,
    /// The frame and iteration in which the loop stands.
    parent: (u32, u64),
    /// The number by which all tasks know the frame.
    id: u64,
    /// Iterations from `first` on; those that ended are `None` until they leave at the front.
    iterations: VecDeque<Iteration>,
    first: u64,
    pending_enters: usize,
    /// Constant inputs, delivered to every iteration.
    invariants: Vec<(u32, Value)>,
    /// What waits for room for another iteration.
    next_roots: Vec<(u32, Value)>,
    dead_exits: Vec<u32>,
    spare: Vec<Iteration>,
    order: Order,
}

/// Whether a frame runs in its order instead of by iterations.
#[derive(Debug)]
enum Order {
    /// No: what enters is delivered at once.
    Free,
    /// It will, when all has entered.
    Gathering,
    Running(Box<Running>),
}

#[derive(Debug, Default)]
struct Iteration {
    counts: Vec<Count>,
    /// The inputs of all nodes, and how many are filled.
    slots: Vec<Value>,
    filled: usize,
    /// Nodes ready or running, and loops inside.
    outstanding: usize,
    /// Loops that stand in this iteration, by the number of their layout.
    children: SmallVec<[(u32, u32); 1]>,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    pending: u32,
    dead: u32,
}

/// Memory of steps that are over.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Vec<Iteration>>);

/// How many steps at once may leave their memory behind.
const MAX_SPARE: usize = 4;

impl Spare {
    fn take(&self) -> Iteration {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop().unwrap_or_default()
    }

    fn put(&self, iteration: Iteration) {
        let mut spare = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if spare.len() < MAX_SPARE {
            spare.push(iteration);
        }
    }
}

impl Iteration {
    fn reset(&mut self, layout: &FrameLayout) {
        self.counts.clear();
        self.counts.extend(layout.pending.iter().map(|&pending| Count { pending, dead: 0 }));
        if self.filled > 0 || self.slots.len() != layout.slots {
            self.slots.clear();
            self.slots.resize_with(layout.slots, Value::default);
            self.filled = 0;
        }
        self.outstanding = 0;
        self.children.clear();
    }

    fn push_ready(&mut self, queue: &mut VecDeque<Ready>, ready: Ready) {
        self.outstanding += 1;
        queue.push_back(ready);
    }

    fn fill(&mut self, slot: u32, value: Value) {
        self.filled += 1;
        self.slots[slot as usize] = value;
    }

    fn inputs(&mut self, node: &CompiledNode) -> &mut [Value] {
        let first = node.first_slot as usize;
        &mut self.slots[first..first + node.num_inputs as usize]
    }

    /// Gives a node's outputs to its consumers in this iteration, whose frame and number `at` is.
    #[inline]
    fn deliver_all(
        &mut self,
        queue: &mut VecDeque<Ready>,
        source: &CompiledNode,
        at: (u32, u64),
        outputs: &mut [Value],
        is_dead: bool,
    ) {
        let (frame, iteration) = at;
        let from_enter = matches!(source.kind, Kind::Enter { .. });
        for edge in &source.consumers {
            let output = &mut outputs[edge.output as usize];
            let value = if edge.is_last { output.take() } else { output.clone() };
            if let Some(is_dead) = self.deliver(*edge, value, from_enter) {
                self.push_ready(queue, Ready { node: edge.node, frame, iteration, is_dead });
            }
        }
        for edge in &source.control_consumers {
            if let Some(is_dead) = self.deliver_control(*edge, is_dead) {
                self.push_ready(queue, Ready { node: edge.node, frame, iteration, is_dead });
            }
        }
    }

    /// Brings a value to its consumer; `Some` if the consumer can run now: is it dead?
    fn deliver(&mut self, edge: Edge, value: Value, from_enter: bool) -> Option<bool> {
        let count = &mut self.counts[edge.local as usize];
        let is_dead = value.is_empty();
        let Some(num_inputs) = edge.merges else {
            count.pending -= 1;
            count.dead += u32::from(is_dead);
            let (is_ready, dead_node) = (count.pending == 0, count.dead > 0);
            if !is_dead {
                self.fill(edge.slot, value);
            }
            return is_ready.then_some(dead_node);
        };
        if is_dead {
            count.dead += 1;
            // In an untaken branch a whole loop is dead: its merges do not wait for back edges.
            let all_dead = count.dead == num_inputs.get() || from_enter;
            return (count.pending == 1 && all_dead).then_some(true);
        }
        let is_first = count.pending & 1 == 1;
        count.pending &= !1;
        let is_ready = is_first && count.pending == 0;
        if is_first {
            self.fill(edge.slot, value);
        }
        is_ready.then_some(false)
    }

    /// As [`Iteration::deliver`] for a control edge.
    fn deliver_control(&mut self, edge: ControlEdge, is_dead: bool) -> Option<bool> {
        let count = &mut self.counts[edge.local as usize];
        let Some(num_inputs) = edge.merges else {
            count.pending -= 1;
            count.dead += u32::from(is_dead);
            return (count.pending == 0).then_some(count.dead > 0);
        };
        count.pending -= 2;
        let all_dead = count.dead == num_inputs.get();
        (count.pending == 0 || (count.pending == 1 && all_dead)).then_some(all_dead)
    }
}

impl State {
    /// The state before a step: the roots are ready.
    pub(crate) fn new(executable: &Executable, runs_sequences: bool) -> State {
        let mut root = Frame::new(0, (0, 0), 0, 0);
        let mut iteration = executable.spare.take();
        iteration.reset(&executable.frames[0]);
        root.iterations.push_back(iteration);
        let mut state = State {
            ready: VecDeque::new(),
            sequences: VecDeque::new(),
            runs_sequences,
            frames: vec![Some(root)],
            free_frames: Vec::new(),
        };
        let State { ready, frames, .. } = &mut state;
        let root = frame_iteration(frames, 0, 0);
        for &node in &executable.roots {
            root.push_ready(ready, Ready { node, frame: 0, iteration: 0, is_dead: false });
        }
        state
    }

    /// Leaves the memory of a step that ended well for the next.
    pub(crate) fn recycle(&mut self, executable: &Executable) {
        if let Some(Some(root)) = self.frames.first_mut()
            && let Some(iteration) = root.iterations.pop_front()
        {
            executable.spare.put(iteration);
        }
    }

    fn frame(&mut self, frame: u32) -> &mut Frame {
        live_frame(&mut self.frames, frame)
    }

    fn iteration(&mut self, frame: u32, iteration: u64) -> &mut Iteration {
        frame_iteration(&mut self.frames, frame, iteration)
    }

    /// How rendezvous keys name the place where a node runs.
    pub(crate) fn place(&mut self, ready: Ready) -> FrameIteration {
        FrameIteration { frame: self.frame(ready.frame).id, iteration: ready.iteration }
    }

    /// What a kernel that runs at once needs, found by one look.
    #[inline]
    pub(crate) fn here(&mut self, ready: Ready) -> Here<'_> {
        let State { ready: queue, frames, .. } = self;
        let frame = live_frame(frames, ready.frame);
        let place = FrameIteration { frame: frame.id, iteration: ready.iteration };
        let iteration = &mut frame.iterations[(ready.iteration - frame.first) as usize];
        Here { place, iteration, queue, ready }
    }

    /// The inputs of a node that runs now: whoever asks empties the slots.
    pub(crate) fn claim_inputs(&mut self, ready: Ready, node: &CompiledNode) -> &mut [Value] {
        let iteration = self.iteration(ready.frame, ready.iteration);
        let live = iteration.inputs(node).iter().filter(|slot| !slot.is_empty()).count();
        iteration.filled -= live;
        iteration.inputs(node)
    }

    /// Brings the outputs of a node that has run to its consumers. Dead nodes have no live output
    /// and their control edges are dead too.
    pub(crate) fn finish(
        &mut self,
        executable: &Executable,
        ready: Ready,
        outputs: &mut [Value],
        is_dead: bool,
    ) {
        let node = &executable.nodes[ready.node as usize];
        match node.kind {
            Kind::Enter { frame: layout, is_constant } => {
                let value = outputs[0].take();
                self.enter(executable, ready, layout, is_constant, value, is_dead);
            }
            Kind::Exit if is_dead => {
                // Every iteration but the last has dead exits. Those of the newest are remembered:
                // they count if no other iteration follows.
                let frame = self.frame(ready.frame);
                if ready.iteration + 1 == frame.first + frame.iterations.len() as u64 {
                    frame.dead_exits.push(ready.node);
                }
            }
            Kind::Exit => {
                let (frame, iteration) = self.frame(ready.frame).parent;
                self.deliver(executable, frame, iteration, ready.node, outputs, false);
            }
            // A dead back edge ends the loop: nobody waits for the next iteration.
            Kind::NextIteration if is_dead => {}
            Kind::NextIteration => {
                let value = outputs[0].take();
                self.next_iteration(executable, ready, value);
            }
            _ => {
                self.deliver(executable, ready.frame, ready.iteration, ready.node, outputs, is_dead)
            }
        }
        self.leave(executable, ready.frame, ready.iteration);
    }

    /// Gives values to consumers in one iteration. Outputs that somebody consumes are moved out.
    fn deliver(
        &mut self,
        executable: &Executable,
        frame: u32,
        iteration: u64,
        source: u32,
        outputs: &mut [Value],
        is_dead: bool,
    ) {
        let State { ready, frames, .. } = self;
        let target = frame_iteration(frames, frame, iteration);
        let source = &executable.nodes[source as usize];
        target.deliver_all(ready, source, (frame, iteration), outputs, is_dead);
    }

    fn enter(
        &mut self,
        executable: &Executable,
        ready: Ready,
        layout: u32,
        is_constant: bool,
        mut value: Value,
        is_dead: bool,
    ) {
        let child = self.child_frame(executable, ready, layout);
        let frame = self.frame(child);
        if matches!(frame.order, Order::Gathering) {
            let entered = if is_constant { &mut frame.invariants } else { &mut frame.next_roots };
            entered.push((ready.node, value));
            frame.pending_enters -= 1;
            if frame.pending_enters == 0 {
                self.begin_sequence(executable, child);
            }
            return;
        }
        if is_constant {
            frame.invariants.push((ready.node, value.clone()));
            let iterations = frame.first..frame.first + frame.iterations.len() as u64;
            for iteration in iterations {
                let mut value = [value.clone()];
                self.deliver(executable, child, iteration, ready.node, &mut value, is_dead);
            }
        } else {
            let value = std::slice::from_mut(&mut value);
            self.deliver(executable, child, 0, ready.node, value, is_dead);
        }
        let frame = self.frame(child);
        frame.pending_enters -= 1;
        if frame.pending_enters == 0 {
            self.clean_up(executable, child);
        }
    }

    fn child_frame(&mut self, executable: &Executable, ready: Ready, layout: u32) -> u32 {
        let iteration = self.iteration(ready.frame, ready.iteration);
        if let Some(&(_, child)) = iteration.children.iter().find(|(known, _)| *known == layout) {
            return child;
        }
        let frame_layout = &executable.frames[layout as usize];
        let id = self.place(ready).child_frame(&frame_layout.name);
        let mut frame = Frame::new(layout, (ready.frame, ready.iteration), id, frame_layout.enters);
        if self.runs_sequences && frame_layout.sequence.is_some() {
            frame.order = Order::Gathering;
        } else {
            frame.push_iteration(frame_layout);
        }
        let child = match self.free_frames.pop() {
            Some(index) => {
                self.frames[index as usize] = Some(frame);
                index
            }
            None => {
                self.frames.push(Some(frame));
                (self.frames.len() - 1) as u32
            }
        };
        let iteration = self.iteration(ready.frame, ready.iteration);
        iteration.children.push((layout, child));
        iteration.outstanding += 1;
        child
    }

    fn next_iteration(&mut self, executable: &Executable, ready: Ready, mut value: Value) {
        let frame = self.frame(ready.frame);
        let layout = &executable.frames[frame.layout as usize];
        let last = frame.first + frame.iterations.len() as u64 - 1;
        if ready.iteration == last {
            if frame.iterations.len() >= layout.parallel_iterations {
                frame.next_roots.push((ready.node, value));
                return;
            }
            self.start_iteration(executable, ready.frame);
        }
        let value = std::slice::from_mut(&mut value);
        self.deliver(executable, ready.frame, ready.iteration + 1, ready.node, value, false);
    }

    fn start_iteration(&mut self, executable: &Executable, frame_index: u32) {
        let frame = self.frame(frame_index);
        let layout = &executable.frames[frame.layout as usize];
        frame.push_iteration(layout);
        let iteration = frame.first + frame.iterations.len() as u64 - 1;
        frame.dead_exits.clear();
        let roots = std::mem::take(&mut frame.next_roots);
        self.start_with(executable, frame_index, iteration, roots);
    }

    /// Gives an iteration what it begins with.
    fn start_with(
        &mut self,
        executable: &Executable,
        frame_index: u32,
        iteration: u64,
        values: Vec<(u32, Value)>,
    ) {
        for (node, mut value) in values {
            let is_dead = value.is_empty();
            let value = std::slice::from_mut(&mut value);
            self.deliver(executable, frame_index, iteration, node, value, is_dead);
        }
        for i in 0..self.frame(frame_index).invariants.len() {
            let (node, mut value) = self.frame(frame_index).invariants[i].clone();
            let is_dead = value.is_empty();
            let value = std::slice::from_mut(&mut value);
            self.deliver(executable, frame_index, iteration, node, value, is_dead);
        }
    }

    /// Everything has entered a frame that has an order. A loop of a branch that is not taken goes
    /// the executor's way.
    fn begin_sequence(&mut self, executable: &Executable, index: u32) {
        let frame = self.frame(index);
        let entered = std::mem::take(&mut frame.next_roots);
        let all_live = entered.iter().chain(&frame.invariants).all(|(_, value)| !value.is_empty());
        match &executable.frames[frame.layout as usize].sequence {
            Some(sequence) if all_live => {
                let running = Running::new(sequence, entered, &frame.invariants);
                self.put_sequence(index, Box::new(running));
            }
            _ => self.begin_frame(executable, index, 0, entered),
        }
    }

    /// Begins a frame, or goes on with it, at an iteration to which these nodes give the values.
    pub(crate) fn begin_frame(
        &mut self,
        executable: &Executable,
        index: u32,
        iteration: u64,
        values: Vec<(u32, Value)>,
    ) {
        let frame = self.frame(index);
        frame.order = Order::Free;
        frame.first = iteration;
        frame.push_iteration(&executable.frames[frame.layout as usize]);
        self.start_with(executable, index, iteration, values);
        self.clean_up(executable, index);
    }

    /// A loop that can go on, the number of its layout, and that by which all tasks know it.
    pub(crate) fn take_sequence(&mut self, index: u32) -> (Box<Running>, u32, u64) {
        let frame = self.frame(index);
        match std::mem::replace(&mut frame.order, Order::Free) {
            Order::Running(running) => (running, frame.layout, frame.id),
            Order::Free | Order::Gathering => unreachable!("only running loops can go on"),
        }
    }

    /// Leaves a loop to go on later.
    pub(crate) fn put_sequence(&mut self, index: u32, running: Box<Running>) {
        self.frame(index).order = Order::Running(running);
        self.sequences.push_back(index);
    }

    /// Ends a loop that ran in its order, with what its exits give.
    pub(crate) fn end_sequence(
        &mut self,
        executable: &Executable,
        index: u32,
        exits: Vec<(u32, Value)>,
    ) {
        let (parent, iteration) = self.frame(index).parent;
        for (node, mut value) in exits {
            let is_dead = value.is_empty();
            let value = std::slice::from_mut(&mut value);
            self.deliver(executable, parent, iteration, node, value, is_dead);
        }
        self.close(executable, index);
    }

    /// Whether no node and no loop can go on now.
    pub(crate) fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.sequences.is_empty()
    }

    /// Ends one node or inner loop of an iteration, which in the outermost frame changes nothing
    /// else.
    fn leave(&mut self, executable: &Executable, frame: u32, iteration: u64) {
        if frame == 0 {
            self.iteration(0, 0).outstanding -= 1;
        } else {
            self.release(executable, frame, iteration);
        }
    }

    /// Ends one node or inner loop of an iteration of a loop.
    pub(crate) fn release(&mut self, executable: &Executable, frame: u32, iteration: u64) {
        let state = self.iteration(frame, iteration);
        state.outstanding -= 1;
        if state.outstanding == 0 {
            self.clean_up(executable, frame);
        }
    }

    /// Ends iterations in which nothing can happen any more, then the frame itself.
    fn clean_up(&mut self, executable: &Executable, index: u32) {
        if index == 0 {
            return;
        }
        loop {
            let frame = self.frame(index);
            if frame.pending_enters > 0 {
                return;
            }
            match frame.iterations.front() {
                // The first iteration ends when all its work has; later ones follow in order.
                Some(iteration) if iteration.outstanding == 0 => {
                    let done = frame.iterations.pop_front().expect("there is a first iteration");
                    frame.spare.push(done);
                    frame.first += 1;
                    if !frame.next_roots.is_empty() {
                        self.start_iteration(executable, index);
                    }
                }
                Some(_) => return,
                None => break,
            }
        }
        let frame = self.frame(index);
        let (parent, iteration) = frame.parent;
        for node in std::mem::take(&mut frame.dead_exits) {
            self.deliver(executable, parent, iteration, node, &mut [Value::Empty], true);
        }
        self.close(executable, index);
    }

    /// Ends a frame.
    fn close(&mut self, executable: &Executable, index: u32) {
        let frame = self.frames[index as usize].take().expect("the frame was there");
        self.free_frames.push(index);
        let (parent, iteration) = frame.parent;
        self.iteration(parent, iteration).children.retain(|(_, child)| *child != index);
        self.leave(executable, parent, iteration);
    }
}

/// The iteration in which a node runs.
#[derive(Debug)]
pub(crate) struct Here<'a> {
    /// How rendezvous keys name it.
    pub(crate) place: FrameIteration,
    iteration: &'a mut Iteration,
    queue: &'a mut VecDeque<Ready>,
    ready: Ready,
}

impl Here<'_> {
    /// The inputs of the node, where they lie.
    #[inline]
    pub(crate) fn inputs(&mut self, node: &CompiledNode) -> &mut [Value] {
        self.iteration.inputs(node)
    }

    /// Empties the inputs, all of which were live, and brings the outputs to their consumers. In a
    /// loop the node is then to be released.
    #[inline]
    pub(crate) fn finish(self, node: &CompiledNode, outputs: &mut [Value]) {
        let Here { iteration, queue, ready, .. } = self;
        iteration.inputs(node).fill_with(Value::default);
        iteration.filled -= node.num_inputs as usize;
        iteration.deliver_all(queue, node, (ready.frame, ready.iteration), outputs, false);
        if ready.frame == 0 {
            iteration.outstanding -= 1;
        }
    }
}

fn live_frame(frames: &mut [Option<Frame>], frame: u32) -> &mut Frame {
    frames[frame as usize].as_mut().expect("a node's frame lives while the node does")
}

/// An iteration of a frame, for those who also need the rest of the state.
fn frame_iteration(frames: &mut [Option<Frame>], frame: u32, iteration: u64) -> &mut Iteration {
    let frame = live_frame(frames, frame);
    let index = (iteration - frame.first) as usize;
    &mut frame.iterations[index]
}

impl Frame {
    fn new(layout: u32, parent: (u32, u64), id: u64, pending_enters: usize) -> Frame {
        Frame {
            layout,
            parent,
            id,
            iterations: VecDeque::new(),
            first: 0,
            pending_enters,
            invariants: Vec::new(),
            next_roots: Vec::new(),
            dead_exits: Vec::new(),
            spare: Vec::new(),
            order: Order::Free,
        }
    }

    fn push_iteration(&mut self, layout: &FrameLayout) {
        let mut iteration = self.spare.pop().unwrap_or_default();
        iteration.reset(layout);
        self.iterations.push_back(iteration);
    }
}
