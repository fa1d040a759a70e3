//! Reverse-mode differentiation: walks a graph from results back to what they depend on, calling
//! the gradient function of each op on the way.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_graph::{NodeId, Output};
use tensorfleet_tensor::{Context, DType, Result, invalid_argument};

use crate::gradient::IndexedSlices;
use crate::{BuildScope, Gradient, GradientContext, GraphBuilder, NewNode};

/// A gradient function that belongs to one node or comes from outside of the registry.
pub type CustomGradient =
    dyn Fn(&GradientContext<'_>) -> Result<Vec<Option<Gradient>>> + Send + Sync;

/// Finds the gradient function that belongs to one node.
pub type FindGradient<'a> = dyn Fn(&GraphBuilder, NodeId) -> Option<Arc<CustomGradient>> + 'a;

/// How gradients are taken.
#[derive(Default)]
pub struct GradientOptions<'a> {
    /// The gradients of the results that differentiation starts from; ones where absent.
    pub initial: Vec<Option<Output>>,
    /// Tensors that count as constant.
    pub stop: Vec<Output>,
    /// Whether the nodes added are placed with the nodes that they differentiate.
    pub colocate: bool,
    /// Gradient functions that go before those of the registry.
    pub custom: Option<&'a FindGradient<'a>>,
}

impl std::fmt::Debug for GradientOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GradientOptions")
            .field("initial", &self.initial)
            .field("stop", &self.stop)
            .field("colocate", &self.colocate)
            .finish_non_exhaustive()
    }
}

/// Adds nodes that compute the derivatives of the sum of `ys` with respect to each of `xs`; `None`
/// for those that `ys` do not depend on.
///
/// An `x` that is the handle of a variable stands for the variable's value.
pub fn gradients(
    builder: &mut GraphBuilder,
    scope: &BuildScope,
    ys: &[Output],
    xs: &[Output],
    options: &GradientOptions<'_>,
) -> Result<Vec<Option<Gradient>>> {
    let name = if scope.name.is_empty() {
        "gradients".to_owned()
    } else {
        format!("{}/gradients", scope.name)
    };
    let scope = BuildScope { name: builder.unique_name(&name), ..scope.clone() };
    let order = relevant_nodes(builder, ys, xs, &options.stop);
    let mut walk = Walk { builder, scope, options, collected: FxHashMap::default() };
    walk.start(ys)?;
    let relevant: FxHashSet<NodeId> = order.iter().copied().collect();
    for id in order.into_iter().rev() {
        walk.visit(id, &relevant, xs)?;
    }
    xs.iter().map(|x| walk.total(*x)).collect()
}

/// Whether a gradient can flow through tensors of a type.
fn is_differentiable(dtype: DType) -> bool {
    dtype.is_floating() || dtype.is_complex() || matches!(dtype, DType::Resource | DType::Variant)
}

/// The nodes between `xs` and `ys`, each after all that it depends on.
fn relevant_nodes(
    builder: &GraphBuilder,
    ys: &[Output],
    xs: &[Output],
    stop: &[Output],
) -> Vec<NodeId> {
    let graph = builder.graph();
    let mut depends: FxHashMap<NodeId, bool> = FxHashMap::default();
    let mut order = Vec::new();
    let mut stack: Vec<(NodeId, usize)> = ys.iter().map(|y| (y.node, 0)).collect();
    while let Some((id, next)) = stack.pop() {
        if next == 0 {
            if depends.contains_key(&id) {
                continue;
            }
            depends.insert(id, xs.iter().any(|x| x.node == id));
        }
        let node = graph.node(id);
        if let Some(input) = node.inputs.get(next) {
            stack.push((id, next + 1));
            if is_differentiable(builder.dtype(*input)) && !stop.contains(input) {
                stack.push((input.node, 0));
            }
            continue;
        }
        let through_inputs = node.inputs.iter().any(|input| {
            is_differentiable(builder.dtype(*input))
                && !stop.contains(input)
                && depends.get(&input.node).copied().unwrap_or(false)
        });
        if through_inputs {
            depends.insert(id, true);
        }
        if depends[&id] {
            order.push(id);
        }
    }
    order
}

struct Walk<'a, 'b> {
    builder: &'a mut GraphBuilder,
    scope: BuildScope,
    options: &'a GradientOptions<'b>,
    /// What has flowed back to each tensor so far.
    collected: FxHashMap<Output, Vec<Gradient>>,
}

impl Walk<'_, '_> {
    fn start(&mut self, ys: &[Output]) -> Result<()> {
        for (index, y) in ys.iter().enumerate() {
            let dtype = self.builder.dtype(*y);
            if !is_differentiable(dtype) {
                return Err(invalid_argument!(
                    "{} is {dtype}: only floating-point and complex tensors have gradients",
                    self.builder.describe(*y)
                ));
            }
            let initial = match self.options.initial.get(index).copied().flatten() {
                Some(given) => given,
                None if self.builder.shape(*y).rank() == Some(0) => {
                    self.builder.constant(&self.scope, crate::number(1.0, dtype)?)?
                }
                None => {
                    let ones = NewNode::new("OnesLike").input(*y);
                    self.builder.add_output(&self.scope, ones)?
                }
            };
            self.collected.entry(*y).or_default().push(initial.into());
        }
        Ok(())
    }

    /// Differentiates one node, whose consumers have all been visited.
    fn visit(&mut self, id: NodeId, relevant: &FxHashSet<NodeId>, xs: &[Output]) -> Result<()> {
        let node = self.builder.graph().node(id).clone();
        let outputs = node.output_types().len() as u32;
        let mut gradients = Vec::with_capacity(outputs as usize);
        for index in 0..outputs {
            gradients.push(self.total(Output { node: id, index })?);
        }
        let leads_back = node.inputs.iter().any(|input| relevant.contains(&input.node));
        if !leads_back || gradients.iter().all(Option::is_none) {
            return Ok(());
        }
        if node.inputs.iter().all(|input| self.options.stop.contains(input)) {
            return Ok(());
        }
        let own = self.options.custom.and_then(|find| find(self.builder, id));
        let function = self.builder.registry().gradient_fn(&node.op);
        if own.is_none() && function.is_none() {
            return Err(invalid_argument!(
                "op {} of node {} has no gradient; use stop_gradient or a custom gradient where it is \
                 not wanted",
                node.op,
                node.name
            ));
        }
        let mut scope = BuildScope {
            name: format!("{}/{}_grad", self.scope.name, node.name),
            ..self.scope.clone()
        };
        if self.options.colocate {
            scope.colocate_with = vec![id];
        }
        let context = GradientContext::new(self.builder, &scope, id, &gradients);
        let computed = match (&own, function) {
            (Some(own), _) => own(&context),
            (None, Some(function)) => function(&context),
            (None, None) => return Ok(()),
        }
        .context(|| format!("in the gradient of {} ({})", node.name, node.op))?;
        if computed.len() != node.inputs.len() {
            return Err(invalid_argument!(
                "the gradient of {} has {} values for {} inputs",
                node.op,
                computed.len(),
                node.inputs.len()
            ));
        }
        for (input, gradient) in node.inputs.iter().zip(computed) {
            let wanted = relevant.contains(&input.node) || xs.contains(input);
            if let (true, Some(gradient)) = (wanted, gradient) {
                self.collected.entry(*input).or_default().push(gradient);
            }
        }
        Ok(())
    }

    /// The sum of what has flowed back to a tensor.
    fn total(&mut self, output: Output) -> Result<Option<Gradient>> {
        let Some(parts) = self.collected.get(&output).filter(|parts| !parts.is_empty()) else {
            return Ok(None);
        };
        if let [only] = parts[..] {
            return Ok(Some(only));
        }
        let parts = parts.clone();
        let context = GradientContext::new(self.builder, &self.scope, output.node, &[]);
        let sum = sum(&context, &parts)?;
        self.collected.insert(output, vec![sum]);
        Ok(Some(sum))
    }
}

/// The sum of gradients; one of slices is their list, one after the other.
fn sum(g: &GradientContext<'_>, parts: &[Gradient]) -> Result<Gradient> {
    let slices: Option<Vec<IndexedSlices>> = parts
        .iter()
        .map(|part| match part {
            Gradient::Sparse(slices) => Some(*slices),
            Gradient::Dense(_) => None,
        })
        .collect();
    let Some(slices) = slices else {
        let dense: Vec<Output> = parts.iter().map(|part| g.dense(*part)).collect::<Result<_>>()?;
        return Ok(g.out(NewNode::new("AddN").list(&dense))?.into());
    };
    let axis = g.scalar(0i32)?;
    let concat = |list: Vec<Output>| g.out(NewNode::new("ConcatV2").list(&list).input(axis));
    let index_type = if slices.iter().all(|s| g.dtype(s.indices) == DType::Int32) {
        DType::Int32
    } else {
        DType::Int64
    };
    let indices: Vec<Output> =
        slices.iter().map(|s| g.cast(s.indices, index_type)).collect::<Result<_>>()?;
    Ok(Gradient::Sparse(IndexedSlices {
        values: concat(slices.iter().map(|s| s.values).collect())?,
        indices: concat(indices)?,
        dense_shape: slices[0].dense_shape,
    }))
}
