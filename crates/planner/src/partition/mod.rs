//! Cuts a placed graph into one graph for each device.
//!
//! An edge between two devices becomes a `_Send` in the producer's graph and a `_Recv` in the
//! consumer's, which meet under a name that both carry. All consumers of one tensor on one device
//! share a pair. A control edge is a pair that carries an empty tensor. Loops that span devices are
//! the subject of `loops.rs`.

mod frames;
mod loops;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};
use tensorfleet_graph::{AttrValue, FunctionLibrary, Graph, Node, NodeId, OpLookup, Output};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, internal};

use frames::{FrameId, Frames};

use crate::edit::{NewNode, first_output, string_attr};
use crate::{Device, Partition, calls};

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
        if !node.is_switch() {
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
        // TensorFlow's workers keep the kernels of a session by the names of their nodes: two steps
        // of a session may use one name only for ends of the same edge.
        let mut hasher = FxHasher::default();
        let ends = (&*source.device, source.incarnation, &*target.device);
        (&key, edge.tensor.index, edge.dtype, ends).hash(&mut hasher);
        let mark = hasher.finish() as u32;
        let send = NewNode {
            name: &format!("{}/_send_{mark:08x}", edge.name),
            op: "_Send",
            device: Arc::clone(&source.device),
            attrs: attrs("T"),
            inputs: vec![edge.tensor],
            ..NewNode::default()
        };
        let recv = NewNode {
            name: &format!("{}/_recv_{mark:08x}", edge.name),
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
            let library: FunctionLibrary = calls::reachable(&piece.graph);
            piece.graph.set_library(Arc::new(library));
            Partition { device: device.clone(), graph: piece.graph }
        };
        self.pieces.into_iter().zip(devices).filter(with_nodes).map(partition).collect()
    }
}

#[cfg(test)]
mod tests;
