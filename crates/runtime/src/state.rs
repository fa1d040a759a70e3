//! The state of a step: which nodes wait for what, in every iteration of every loop.
//!
//! Only one thread at a time works on a step's state, so nothing here is locked or atomic. Values
//! sit in the slots of their consumers and move out when the consumer runs.

use std::collections::VecDeque;

use smallvec::SmallVec;
use tensorfleet_framework::{FrameIteration, Value, Values};

use crate::executable::{CompiledNode, Edge, Executable, FrameLayout, Kind};

/// The values of a node's outputs; `None` is dead.
pub(crate) type Outputs = SmallVec<[Option<Value>; 2]>;

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
    invariants: Vec<(u32, Option<Value>)>,
    /// What waits for room for another iteration.
    next_roots: Vec<(u32, Option<Value>)>,
    dead_exits: Vec<u32>,
    spare: Vec<Iteration>,
}

#[derive(Debug, Default)]
struct Iteration {
    counts: Vec<Count>,
    slots: Vec<Option<Value>>,
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

impl Iteration {
    fn reset(&mut self, layout: &FrameLayout) {
        self.counts.clear();
        self.counts.extend(layout.pending.iter().map(|&pending| Count { pending, dead: 0 }));
        self.slots.clear();
        self.slots.resize(layout.slots, None);
        self.outstanding = 0;
        self.children.clear();
    }
}

impl State {
    /// The state before a step: the roots are ready.
    pub(crate) fn new(executable: &Executable) -> State {
        let mut root = Frame::new(0, (0, 0), 0, 0);
        let mut iteration = Iteration::default();
        iteration.reset(&executable.frames[0]);
        root.iterations.push_back(iteration);
        let mut state =
            State { ready: VecDeque::new(), frames: vec![Some(root)], free_frames: Vec::new() };
        for &node in &executable.roots {
            state.push_ready(Ready { node, frame: 0, iteration: 0, is_dead: false });
        }
        state
    }

    fn frame(&mut self, frame: u32) -> &mut Frame {
        self.frames[frame as usize].as_mut().expect("a node's frame lives while the node does")
    }

    fn iteration(&mut self, frame: u32, iteration: u64) -> &mut Iteration {
        let frame = self.frame(frame);
        let index = (iteration - frame.first) as usize;
        &mut frame.iterations[index]
    }

    fn push_ready(&mut self, ready: Ready) {
        self.iteration(ready.frame, ready.iteration).outstanding += 1;
        self.ready.push_back(ready);
    }

    /// How rendezvous keys name the place where a node runs.
    pub(crate) fn place(&mut self, ready: Ready) -> FrameIteration {
        FrameIteration { frame: self.frame(ready.frame).id, iteration: ready.iteration }
    }

    /// Takes the inputs of a node out of its slots; dead ones are `None`.
    pub(crate) fn take_inputs(
        &mut self,
        ready: Ready,
        node: &CompiledNode,
    ) -> SmallVec<[Option<Value>; 4]> {
        let iteration = self.iteration(ready.frame, ready.iteration);
        let first = node.first_slot as usize;
        iteration.slots[first..first + node.num_inputs as usize]
            .iter_mut()
            .map(Option::take)
            .collect()
    }

    /// Puts taken inputs back, for a node that runs later after all.
    pub(crate) fn put_inputs(&mut self, ready: Ready, node: &CompiledNode, inputs: Values) {
        let iteration = self.iteration(ready.frame, ready.iteration);
        for (slot, value) in (node.first_slot as usize..).zip(inputs) {
            iteration.slots[slot] = Some(value);
        }
    }

    /// Takes the live input of a `Merge` with its number.
    pub(crate) fn take_merged(
        &mut self,
        ready: Ready,
        node: &CompiledNode,
    ) -> Option<(usize, Value)> {
        let iteration = self.iteration(ready.frame, ready.iteration);
        let first = node.first_slot as usize;
        iteration.slots[first..first + node.num_inputs as usize]
            .iter_mut()
            .enumerate()
            .find_map(|(index, slot)| slot.take().map(|value| (index, value)))
    }

    /// Brings the outputs of a node that has run to its consumers. Dead nodes have no live output
    /// and their control edges are dead too.
    pub(crate) fn finish(
        &mut self,
        executable: &Executable,
        ready: Ready,
        outputs: Outputs,
        is_dead: bool,
    ) {
        let node = &executable.nodes[ready.node as usize];
        let mut outputs = outputs;
        match node.kind {
            Kind::Enter { frame: layout, is_constant } => {
                let value = outputs.pop().flatten();
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
                let value = outputs.pop().flatten();
                self.next_iteration(executable, ready, value);
            }
            _ => {
                self.deliver(executable, ready.frame, ready.iteration, ready.node, outputs, is_dead)
            }
        }
        if ready.frame == 0 {
            self.iteration(0, 0).outstanding -= 1;
        } else {
            self.release(executable, ready.frame, ready.iteration);
        }
    }

    /// Gives values to consumers in one iteration.
    fn deliver(
        &mut self,
        executable: &Executable,
        frame: u32,
        iteration: u64,
        source: u32,
        outputs: Outputs,
        is_dead: bool,
    ) {
        let node = &executable.nodes[source as usize];
        for (output, edges) in outputs.into_iter().zip(&node.consumers) {
            let Some((last, others)) = edges.split_last() else { continue };
            for edge in others {
                self.deliver_value(executable, frame, iteration, node, *edge, output.clone());
            }
            self.deliver_value(executable, frame, iteration, node, *last, output);
        }
        for &consumer in &node.control_consumers {
            self.deliver_control(executable, frame, iteration, consumer, is_dead);
        }
    }

    fn deliver_value(
        &mut self,
        executable: &Executable,
        frame: u32,
        iteration: u64,
        source: &CompiledNode,
        edge: Edge,
        value: Option<Value>,
    ) {
        let consumer = &executable.nodes[edge.node as usize];
        let state = self.iteration(frame, iteration);
        let count = &mut state.counts[consumer.local as usize];
        let is_dead = value.is_none();
        let (is_ready, dead_node) = if matches!(consumer.kind, Kind::Merge) {
            if is_dead {
                count.dead += 1;
                // In an untaken branch a whole loop is dead: its merges do not wait for back edges.
                let all_dead =
                    count.dead == consumer.num_inputs || matches!(source.kind, Kind::Enter { .. });
                (count.pending == 1 && all_dead, all_dead)
            } else {
                let is_first = count.pending & 1 == 1;
                count.pending &= !1;
                if is_first {
                    state.slots[edge.slot as usize] = value;
                }
                let is_ready = is_first && state.counts[consumer.local as usize].pending == 0;
                (is_ready, false)
            }
        } else {
            count.pending -= 1;
            count.dead += u32::from(is_dead);
            let (is_ready, dead_node) = (count.pending == 0, count.dead > 0);
            state.slots[edge.slot as usize] = value;
            (is_ready, dead_node)
        };
        if is_ready {
            self.push_ready(Ready { node: edge.node, frame, iteration, is_dead: dead_node });
        }
    }

    fn deliver_control(
        &mut self,
        executable: &Executable,
        frame: u32,
        iteration: u64,
        consumer: u32,
        is_dead: bool,
    ) {
        let node = &executable.nodes[consumer as usize];
        let count = &mut self.iteration(frame, iteration).counts[node.local as usize];
        let (is_ready, dead_node) = if matches!(node.kind, Kind::Merge) {
            count.pending -= 2;
            let all_dead = count.dead == node.num_inputs;
            (count.pending == 0 || (count.pending == 1 && all_dead), all_dead)
        } else {
            count.pending -= 1;
            count.dead += u32::from(is_dead);
            (count.pending == 0, count.dead > 0)
        };
        if is_ready {
            self.push_ready(Ready { node: consumer, frame, iteration, is_dead: dead_node });
        }
    }

    fn enter(
        &mut self,
        executable: &Executable,
        ready: Ready,
        layout: u32,
        is_constant: bool,
        value: Option<Value>,
        is_dead: bool,
    ) {
        let child = self.child_frame(executable, ready, layout);
        if is_constant {
            let frame = self.frame(child);
            frame.invariants.push((ready.node, value.clone()));
            let iterations = frame.first..frame.first + frame.iterations.len() as u64;
            for iteration in iterations {
                self.deliver(
                    executable,
                    child,
                    iteration,
                    ready.node,
                    smallvec::smallvec![value.clone()],
                    is_dead,
                );
            }
        } else {
            self.deliver(executable, child, 0, ready.node, smallvec::smallvec![value], is_dead);
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
        frame.push_iteration(frame_layout);
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

    fn next_iteration(&mut self, executable: &Executable, ready: Ready, value: Option<Value>) {
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
        self.deliver(
            executable,
            ready.frame,
            ready.iteration + 1,
            ready.node,
            smallvec::smallvec![value],
            false,
        );
    }

    fn start_iteration(&mut self, executable: &Executable, frame_index: u32) {
        let frame = self.frame(frame_index);
        let layout = &executable.frames[frame.layout as usize];
        frame.push_iteration(layout);
        let iteration = frame.first + frame.iterations.len() as u64 - 1;
        frame.dead_exits.clear();
        let roots = std::mem::take(&mut frame.next_roots);
        for (node, value) in roots {
            self.deliver(
                executable,
                frame_index,
                iteration,
                node,
                smallvec::smallvec![value],
                false,
            );
        }
        for i in 0..self.frame(frame_index).invariants.len() {
            let (node, value) = self.frame(frame_index).invariants[i].clone();
            let is_dead = value.is_none();
            self.deliver(
                executable,
                frame_index,
                iteration,
                node,
                smallvec::smallvec![value],
                is_dead,
            );
        }
    }

    /// Ends one node or inner loop of an iteration.
    fn release(&mut self, executable: &Executable, frame: u32, iteration: u64) {
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
        let frame = self.frames[index as usize].take().expect("the frame was there");
        self.free_frames.push(index);
        let (parent, iteration) = frame.parent;
        for node in frame.dead_exits {
            let outputs = smallvec::smallvec![None; 1];
            self.deliver(executable, parent, iteration, node, outputs, true);
        }
        self.iteration(parent, iteration).children.retain(|(_, child)| *child != index);
        if parent == 0 {
            self.iteration(0, 0).outstanding -= 1;
        } else {
            self.release(executable, parent, iteration);
        }
    }
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
        }
    }

    fn push_iteration(&mut self, layout: &FrameLayout) {
        let mut iteration = self.spare.pop().unwrap_or_default();
        iteration.reset(layout);
        self.iterations.push_back(iteration);
    }
}
