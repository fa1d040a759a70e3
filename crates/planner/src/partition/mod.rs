//! Cuts a placed graph into one graph for each device.
//!
//! An edge between two devices becomes a `_Send` in the producer's graph and a `_Recv` in the
//! consumer's, which meet under a name that both carry. All consumers of one tensor on one device
//! share a pair. A control edge is a pair that carries an empty tensor.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_graph::{AttrValue, FunctionLibrary, Graph, Node, NodeId, OpLookup, Output};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, internal};

use crate::edit::{NewNode, first_output, string_attr};
use crate::{Device, Partition, function};

/// One graph for each of `devices` that has nodes, in the order of `devices`.
pub(crate) fn partition(
    graph: &Graph,
    devices: &[Device],
    ops: &dyn OpLookup,
) -> Result<Vec<Partition>> {
    let mut cut = Cut::new(graph, devices, ops)?;
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
    pieces: Vec<Piece>,
    /// For each node the index of its piece and its id there.
    homes: Vec<(usize, NodeId)>,
    /// The `_Recv` of a tensor in a piece.
    received: FxHashMap<(Output, usize), NodeId>,
    /// The `_Recv` of a control edge in a piece.
    signalled: FxHashMap<(NodeId, usize), NodeId>,
    edges: usize,
}

/// The graph of one device.
struct Piece {
    graph: Graph,
    device: Arc<str>,
    incarnation: u64,
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
        let (received, signalled) = (FxHashMap::default(), FxHashMap::default());
        Ok(Cut { graph, ops, pieces, homes, received, signalled, edges: 0 })
    }

    fn connect_inputs(&mut self, id: NodeId, node: &Node) -> Result<()> {
        let (home, new_id) = self.homes[id.index()];
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for &input in &node.inputs {
            let (source_home, source) = self.homes[input.node.index()];
            inputs.push(if source_home == home {
                Output { node: source, index: input.index }
            } else {
                first_output(self.receive(input, home)?)
            });
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
        let recv =
            self.join(from, Output { node, index: output.index }, dtype, &source.name, to)?;
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
        let recv = self.join(from, first_output(signal), DType::Float, &name, to)?;
        self.signalled.insert((id, to), recv);
        Ok(recv)
    }

    /// Makes a pair of `_Send` and `_Recv` for a tensor called `name`, and returns the `_Recv`.
    fn join(
        &mut self,
        from: usize,
        tensor: Output,
        dtype: DType,
        name: &str,
        to: usize,
    ) -> Result<NodeId> {
        let edge = format!("edge_{}_{name}", self.edges);
        self.edges += 1;
        let (source, target) = (&self.pieces[from], &self.pieces[to]);
        let attrs = |type_attr: &'static str| {
            vec![
                (type_attr, AttrValue::Type(dtype)),
                ("tensor_name", string_attr(&edge)),
                ("send_device", string_attr(&source.device)),
                ("send_device_incarnation", AttrValue::Int(source.incarnation as i64)),
                ("recv_device", string_attr(&target.device)),
            ]
        };
        let send = NewNode {
            name: &format!("{name}/_send"),
            op: "_Send",
            device: Arc::clone(&source.device),
            attrs: attrs("T"),
            inputs: vec![tensor],
            ..NewNode::default()
        };
        let recv = NewNode {
            name: &format!("{name}/_recv"),
            op: "_Recv",
            device: Arc::clone(&target.device),
            attrs: attrs("tensor_type"),
            ..NewNode::default()
        };
        send.add_to(&mut self.pieces[from].graph, self.ops)?;
        recv.add_to(&mut self.pieces[to].graph, self.ops)
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

    use crate::Options;
    use crate::testing::{plan_text, print_plan};

    fn check_partition(text: &str, fetches: &[&str], targets: &[&str], expected: Expect) {
        let plan = plan_text(text, &[], fetches, targets, &Options::default()).unwrap();
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

    #[test]
    fn both_ends_of_an_edge_carry_the_same_names() {
        let text = "a = Const @ps1\nb = Neg(a) @w0";
        let plan = plan_text(text, &[], &["b:0"], &[], &Options::default()).unwrap();
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
