//! Cuts a placed graph into one graph for each device.
//!
//! An edge between two devices becomes a `_Send` in the producer's graph and a `_Recv` in the
//! consumer's, which meet under a name that both carry. All consumers of one tensor on one device
//! share a pair. A control edge is a pair that carries an empty tensor. Loops that span devices are
//! the subject of `loops.rs`.

mod frames;
mod loops;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_graph::{AttrValue, FunctionLibrary, Graph, Node, NodeId, OpLookup, Output};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, internal};

use frames::{FrameId, Frames};

use crate::edit::{NewNode, first_output, string_attr};
use crate::{Device, Partition, function};

/// One graph for each of `devices` that has nodes, in the order of `devices`.
pub fn partition(graph: &Graph, devices: &[Device], ops: &dyn OpLookup) -> Result<Vec<Partition>> {
    let mut cut = Cut::new(graph, devices, ops)?;
    cut.add_control_loops()?;
    for (id, node) in graph.iter() {
        cut.connect_inputs(id, node)?;
    }
    // Control edges come second: a tensor that crosses anyway carries them along.
    for (id, node) in graph.iter() {
        cut.connect_control_inputs(id, node)?;
    }
    Ok(cut.finish(devices))
}

/// The work in progress.
struct Cut<'a> {
    graph: &'a Graph,
    ops: &'a dyn OpLookup,
    frames: Frames,
    pieces: Vec<Piece>,
    /// For each node the index of its piece and its id there.
    homes: Vec<(usize, NodeId)>,
    /// The `_Recv` of a tensor in a piece.
    received: FxHashMap<(Output, usize), NodeId>,
    /// The `_Recv` of a control edge in a piece.
    signalled: FxHashMap<(NodeId, usize), NodeId>,
    /// The node that runs in every iteration of a loop in a piece.
    triggers: FxHashMap<(FrameId, usize), NodeId>,
    edges: usize,
}

/// The graph of one device.
struct Piece {
    graph: Graph,
    device: Arc<str>,
    incarnation: u64,
}

/// An edge between two pieces.
struct Edge<'a> {
    /// The tensor, in the piece `from`.
    tensor: Output,
    from: usize,
    to: usize,
    dtype: DType,
    name: &'a str,
    frame: FrameId,
}

impl<'a> Cut<'a> {
    fn new(graph: &'a Graph, devices: &[Device], ops: &'a dyn OpLookup) -> Result<Cut<'a>> {
        let mut pieces: Vec<Piece> = devices
            .iter()
            .map(|device| Piece {
                graph: Graph::new(Arc::clone(graph.library())),
                device: device.name.to_string().into(),
                incarnation: device.incarnation,
            })
            .collect();
        let index: FxHashMap<Arc<str>, usize> =
            pieces.iter().enumerate().map(|(i, piece)| (Arc::clone(&piece.device), i)).collect();
        let mut homes = Vec::with_capacity(graph.len());
        for node in graph.nodes() {
            let &home = index.get(&node.device).ok_or_else(|| {
                internal!("node {} is on unknown device {}", node.name, node.device)
            })?;
            let inputs_come_later =
                Node { inputs: Vec::new(), control_inputs: Vec::new(), ..node.clone() };
            homes.push((home, pieces[home].graph.add(inputs_come_later)?));
        }
        Ok(Cut {
            graph,
            ops,
            frames: Frames::new(graph)?,
            pieces,
            homes,
            received: FxHashMap::default(),
            signalled: FxHashMap::default(),
            triggers: FxHashMap::default(),
            edges: 0,
        })
    }

    fn connect_inputs(&mut self, id: NodeId, node: &Node) -> Result<()> {
        let (home, new_id) = self.homes[id.index()];
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for &input in &node.inputs {
            inputs.push(self.input(input, home)?);
        }
        self.pieces[home].graph.node_mut(new_id).inputs = inputs;
        Ok(())
    }

    fn connect_control_inputs(&mut self, id: NodeId, node: &Node) -> Result<()> {
        let (home, new_id) = self.homes[id.index()];
        let mut control_inputs = Vec::with_capacity(node.control_inputs.len());
        for &input in &node.control_inputs {
            let (source_home, source) = self.homes[input.index()];
            control_inputs.push(if source_home == home {
                source
            } else {
                self.signal(input, home)?
            });
        }
        control_inputs.sort_unstable();
        control_inputs.dedup();
        self.pieces[home].graph.node_mut(new_id).control_inputs = control_inputs;
        Ok(())
    }

    /// The tensor in the piece `to` that stands for a tensor of the graph.
    fn input(&mut self, output: Output, to: usize) -> Result<Output> {
        match self.homes[output.node.index()] {
            (home, node) if home == to => Ok(Output { node, index: output.index }),
            _ => Ok(first_output(self.receive(output, to)?)),
        }
    }

    /// The node in the piece `to` that receives a tensor.
    fn receive(&mut self, output: Output, to: usize) -> Result<NodeId> {
        if let Some(&recv) = self.received.get(&(output, to)) {
            return Ok(recv);
        }
        let source = self.graph.node(output.node);
        let dtype = source
            .output_types()
            .get(output.index as usize)
            .ok_or_else(|| internal!("node {} has no output {}", source.name, output.index))?
            .dtype;
        let (from, node) = self.homes[output.node.index()];
        let edge = Edge {
            tensor: Output { node, index: output.index },
            from,
            to,
            dtype,
            name: &source.name,
            frame: self.frames.of_outputs(output.node),
        };
        let recv = self.join(&edge)?;
        self.received.insert((output, to), recv);
        Ok(recv)
    }

    /// The node in the piece `to` that runs when `id` has run.
    fn signal(&mut self, id: NodeId, to: usize) -> Result<NodeId> {
        let node = self.graph.node(id);
        // One output of a switch is dead though the switch ran.
        if !matches!(&*node.op, "Switch" | "RefSwitch" | "_SwitchN") {
            let outputs = 0..node.output_types().len() as u32;
            let mut received = outputs.map(|index| (Output { node: id, index }, to));
            if let Some(&recv) = received.find_map(|key| self.received.get(&key)) {
                return Ok(recv);
            }
        }
        if let Some(&recv) = self.signalled.get(&(id, to)) {
            return Ok(recv);
        }
        let (from, source) = self.homes[id.index()];
        let nothing = Tensor::zeros(DType::Float, Shape::vector(0))?;
        let name = format!("{}/_signal", node.name);
        let signal = NewNode {
            name: &name,
            op: "Const",
            device: Arc::clone(&self.pieces[from].device),
            attrs: vec![
                ("dtype", AttrValue::Type(DType::Float)),
                ("value", AttrValue::Tensor(nothing)),
            ],
            control_inputs: vec![source],
            ..NewNode::default()
        }
        .add_to(&mut self.pieces[from].graph, self.ops)?;
        let recv = self.join(&Edge {
            tensor: first_output(signal),
            from,
            to,
            dtype: DType::Float,
            name: &name,
            frame: self.frames.of_outputs(id),
        })?;
        self.signalled.insert((id, to), recv);
        Ok(recv)
    }

    /// Makes a pair of `_Send` and `_Recv`, and returns the `_Recv`.
    fn join(&mut self, edge: &Edge<'_>) -> Result<NodeId> {
        let trigger = match edge.frame {
            FrameId::ROOT => None,
            frame => Some(self.trigger(frame, edge.to)?),
        };
        let key = format!("edge_{}_{}", self.edges, edge.name);
        self.edges += 1;
        let (source, target) = (&self.pieces[edge.from], &self.pieces[edge.to]);
        let attrs = |type_attr: &'static str| {
            vec![
                (type_attr, AttrValue::Type(edge.dtype)),
                ("tensor_name", string_attr(&key)),
                ("send_device", string_attr(&source.device)),
                ("send_device_incarnation", AttrValue::Int(source.incarnation as i64)),
                ("recv_device", string_attr(&target.device)),
            ]
        };
        let send = NewNode {
            name: &format!("{}/_send", edge.name),
            op: "_Send",
            device: Arc::clone(&source.device),
            attrs: attrs("T"),
            inputs: vec![edge.tensor],
            ..NewNode::default()
        };
        let recv = NewNode {
            name: &format!("{}/_recv", edge.name),
            op: "_Recv",
            device: Arc::clone(&target.device),
            attrs: attrs("tensor_type"),
            control_inputs: trigger.into_iter().collect(),
            ..NewNode::default()
        };
        send.add_to(&mut self.pieces[edge.from].graph, self.ops)?;
        recv.add_to(&mut self.pieces[edge.to].graph, self.ops)
    }

    fn finish(self, devices: &[Device]) -> Vec<Partition> {
        let with_nodes = |(piece, _): &(Piece, &Device)| !piece.graph.is_empty();
        let partition = |(mut piece, device): (Piece, &Device)| {
            let library: FunctionLibrary = function::reachable(&piece.graph);
            piece.graph.set_library(Arc::new(library));
            Partition { device: device.clone(), graph: piece.graph }
        };
        self.pieces.into_iter().zip(devices).filter(with_nodes).map(partition).collect()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use crate::testing::{UNOPTIMISED, plan_text, print_plan};

    fn check_partition(text: &str, fetches: &[&str], targets: &[&str], expected: Expect) {
        let plan = plan_text(text, &[], fetches, targets, &UNOPTIMISED).unwrap();
        expected.assert_eq(&print_plan(&plan));
    }

    #[test]
    fn a_tensor_crosses_once_for_all_consumers_on_a_device() {
        check_partition(
            "a = Split(z) @ps0
             z = Const @ps0
             b = Neg(a:1) @w1
             c = Abs(a:1) @w1
             d = Add(b, c) @w0",
            &["d:0"],
            &[],
            expect![[r#"
                w0:
                  d = Add(b/_recv, c/_recv)
                  _send_d_0 = _Retval(d)
                  b/_recv = _Recv
                  c/_recv = _Recv
                w1:
                  b = Neg(a/_recv)
                  c = Abs(a/_recv)
                  a/_recv = _Recv
                  b/_send = _Send(b)
                  c/_send = _Send(c)
                ps0:
                  a = Split(z)
                  z = Const
                  a/_send = _Send(a:1)
            "#]],
        );
    }

    #[test]
    fn a_control_edge_crosses_as_an_empty_tensor() {
        check_partition(
            "a = NoOp @ps0
             b = NoOp(^a) @w1
             c = NoOp(^a, ^b) @w1",
            &[],
            &["c"],
            expect![[r#"
                w1:
                  b = NoOp(^a/_signal/_recv)
                  c = NoOp(^b, ^a/_signal/_recv)
                  a/_signal/_recv = _Recv
                ps0:
                  a = NoOp
                  a/_signal = Const(^a)
                  a/_signal/_send = _Send(a/_signal)
            "#]],
        );
    }

    #[test]
    fn a_control_edge_rides_on_a_tensor_that_crosses_anyway() {
        check_partition(
            "a = Const @ps0
             b = Neg(a) @w1
             c = NoOp(^a) @w1
             s = Switch(a, p) @ps0
             p = Const @ps0 {dtype=bool}
             t = Neg(s:1) @w1
             n = NoOp(^s) @w1",
            &[],
            &["b", "c", "t", "n"],
            expect![[r#"
                w1:
                  b = Neg(a/_recv)
                  c = NoOp(^a/_recv)
                  t = Neg(s/_recv)
                  n = NoOp(^s/_signal/_recv)
                  a/_recv = _Recv
                  s/_recv = _Recv
                  s/_signal/_recv = _Recv
                ps0:
                  a = Const
                  s = Switch(a, p)
                  p = Const
                  a/_send = _Send(a)
                  s/_send = _Send(s:1)
                  s/_signal = Const(^s)
                  s/_signal/_send = _Send(s/_signal)
            "#]],
        );
    }

    const LOOP: &str = "
        i = Const @w0
        limit = Const @ps0
        enter = Enter(i) @w0
        enter_limit = Enter(limit) @ps0 {is_constant=true}
        merge = Merge(enter, next) @w0
        less = Less(merge, enter_limit) @w0
        cond = LoopCond(less) @w0
        switch = Switch(merge, cond) @w0
        exit = Exit(switch) @w0
    ";

    #[test]
    fn a_device_without_the_condition_of_a_loop_gets_a_control_loop() {
        check_partition(
            &format!("{LOOP}\nneg = Neg(switch:1) @w1\nnext = NextIteration(neg) @w0"),
            &["exit:0"],
            &[],
            expect![[r#"
                w0:
                  i = Const
                  enter = Enter(i)
                  merge = Merge(enter, next)
                  less = Less(merge, enter_limit/_recv)
                  cond = LoopCond(less)
                  switch = Switch(merge, cond)
                  exit = Exit(switch)
                  next = NextIteration(neg/_recv)
                  _send_exit_0 = _Retval(exit)
                  cond/_send = _Send(cond)
                  cond/_send_1 = _Send(cond)
                  loop/_control_loop/const = Const
                  loop/_control_loop/enter = Enter(loop/_control_loop/const)
                  loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
                  loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond)
                  loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
                  enter_limit/_recv = _Recv(^loop/_control_loop/merge)
                  switch/_send = _Send(switch:1)
                  neg/_recv = _Recv(^loop/_control_loop/merge)
                w1:
                  neg = Neg(switch/_recv)
                  loop/_control_loop/const = Const
                  loop/_control_loop/enter = Enter(loop/_control_loop/const)
                  loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
                  cond/_recv = _Recv(^loop/_control_loop/merge)
                  loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond/_recv)
                  loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
                  switch/_recv = _Recv(^loop/_control_loop/merge)
                  neg/_send = _Send(neg)
                ps0:
                  limit = Const
                  enter_limit = Enter(limit)
                  loop/_control_loop/const = Const
                  loop/_control_loop/enter = Enter(loop/_control_loop/const)
                  loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
                  cond/_recv = _Recv(^loop/_control_loop/merge)
                  loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond/_recv)
                  loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
                  enter_limit/_send = _Send(enter_limit)
            "#]],
        );
    }

    #[test]
    fn control_loops_nest_with_their_loops() {
        let text = LOOP.replace("@ps0", "@w0");
        check_partition(
            &format!(
                "{text}
                 ienter = Enter(switch:1) @w0 {{frame_name=\"inner\"}}
                 imerge = Merge(ienter, inext) @w0
                 iless = Less(imerge, imerge) @w0
                 icond = LoopCond(iless) @w0
                 iswitch = Switch(imerge, icond) @w0
                 neg = Neg(iswitch:1, ^signal) @w1
                 signal = NoOp(^iless) @w0
                 inext = NextIteration(neg) @w0
                 iexit = Exit(iswitch) @w0
                 next = NextIteration(iexit) @w0"
            ),
            &["exit:0"],
            &[],
            expect![[r#"
                w0:
                  i = Const
                  limit = Const
                  enter = Enter(i)
                  enter_limit = Enter(limit)
                  merge = Merge(enter, next)
                  less = Less(merge, enter_limit)
                  cond = LoopCond(less)
                  switch = Switch(merge, cond)
                  exit = Exit(switch)
                  ienter = Enter(switch:1)
                  imerge = Merge(ienter, inext)
                  iless = Less(imerge, imerge)
                  icond = LoopCond(iless)
                  iswitch = Switch(imerge, icond)
                  signal = NoOp(^iless)
                  inext = NextIteration(neg/_recv)
                  iexit = Exit(iswitch)
                  next = NextIteration(iexit)
                  _send_exit_0 = _Retval(exit)
                  cond/_send = _Send(cond)
                  icond/_send = _Send(icond)
                  iswitch/_send = _Send(iswitch:1)
                  loop/_control_loop/const = Const
                  loop/_control_loop/enter = Enter(loop/_control_loop/const)
                  loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
                  loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond)
                  loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
                  inner/_control_loop/const = Const(^loop/_control_loop/merge)
                  inner/_control_loop/enter = Enter(inner/_control_loop/const)
                  inner/_control_loop/merge = Merge(inner/_control_loop/enter, inner/_control_loop/nextiteration)
                  inner/_control_loop/switch = Switch(inner/_control_loop/merge, icond)
                  inner/_control_loop/nextiteration = NextIteration(inner/_control_loop/switch:1)
                  neg/_recv = _Recv(^inner/_control_loop/merge)
                  signal/_signal = Const(^signal)
                  signal/_signal/_send = _Send(signal/_signal)
                w1:
                  neg = Neg(iswitch/_recv, ^signal/_signal/_recv)
                  loop/_control_loop/const = Const
                  loop/_control_loop/enter = Enter(loop/_control_loop/const)
                  loop/_control_loop/merge = Merge(loop/_control_loop/enter, loop/_control_loop/nextiteration)
                  cond/_recv = _Recv(^loop/_control_loop/merge)
                  loop/_control_loop/switch = Switch(loop/_control_loop/merge, cond/_recv)
                  loop/_control_loop/nextiteration = NextIteration(loop/_control_loop/switch:1)
                  inner/_control_loop/const = Const(^loop/_control_loop/merge)
                  inner/_control_loop/enter = Enter(inner/_control_loop/const)
                  inner/_control_loop/merge = Merge(inner/_control_loop/enter, inner/_control_loop/nextiteration)
                  icond/_recv = _Recv(^inner/_control_loop/merge)
                  inner/_control_loop/switch = Switch(inner/_control_loop/merge, icond/_recv)
                  inner/_control_loop/nextiteration = NextIteration(inner/_control_loop/switch:1)
                  iswitch/_recv = _Recv(^inner/_control_loop/merge)
                  neg/_send = _Send(neg)
                  signal/_signal/_recv = _Recv(^inner/_control_loop/merge)
            "#]],
        );
    }

    #[test]
    fn a_loop_on_one_device_needs_no_help() {
        let text = LOOP.replace("@ps0", "@w0");
        check_partition(
            &format!("{text}\nnext = NextIteration(switch:1) @w0\na = Neg(exit) @w1"),
            &["a:0"],
            &[],
            expect![[r#"
                w0:
                  i = Const
                  limit = Const
                  enter = Enter(i)
                  enter_limit = Enter(limit)
                  merge = Merge(enter, next)
                  less = Less(merge, enter_limit)
                  cond = LoopCond(less)
                  switch = Switch(merge, cond)
                  exit = Exit(switch)
                  next = NextIteration(switch:1)
                  _send_a_0 = _Retval(a/_recv)
                  exit/_send = _Send(exit)
                  a/_recv = _Recv
                w1:
                  a = Neg(exit/_recv)
                  exit/_recv = _Recv
                  a/_send = _Send(a)
            "#]],
        );
    }

    #[test]
    fn both_ends_of_an_edge_carry_the_same_names() {
        let text = "a = Const @ps1\nb = Neg(a) @w0";
        let plan = plan_text(text, &[], &["b:0"], &[], &UNOPTIMISED).unwrap();
        let ends = plan.partitions.iter().flat_map(|partition| partition.graph.nodes());
        let attrs: Vec<String> = ends
            .filter(|node| matches!(&*node.op, "_Send" | "_Recv"))
            .map(|node| {
                let attrs = node.attrs.iter().map(|(name, value)| format!("{name}: {value}"));
                format!("{}\n", attrs.collect::<Vec<_>>().join("\n"))
            })
            .collect();
        expect![[r#"
            recv_device: "/job:worker/replica:0/task:0/device:CPU:0"
            send_device: "/job:ps/replica:0/task:1/device:CPU:0"
            send_device_incarnation: 4
            tensor_name: "edge_0_a"
            tensor_type: DT_FLOAT

            T: DT_FLOAT
            recv_device: "/job:worker/replica:0/task:0/device:CPU:0"
            send_device: "/job:ps/replica:0/task:1/device:CPU:0"
            send_device_incarnation: 4
            tensor_name: "edge_0_a"
        "#]]
        .assert_eq(&attrs.join("\n"));
    }
}
