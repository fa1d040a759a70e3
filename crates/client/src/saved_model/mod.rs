//! TensorFlow's SavedModels: a graph with signatures, and the values of its variables.

mod predictor;
mod wire;

pub use self::predictor::Predictor;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tensorfleet_framework::GraphBuilder;
use tensorfleet_graph::{AttrMap, FunctionLibrary, NodeDef, parse_tensor_name};
use tensorfleet_tensor::{Context, DType, PartialShape, Result, invalid_argument, unavailable};

use crate::graph::Graph;
use crate::output::Output;
use crate::saver::Saver;
use crate::session::Session;

/// The tag of graphs that are to be served, and the signature that is asked for by default.
const SERVE: &str = "serve";
const DEFAULT: &str = "serving_default";
/// Where the operation is that fills tables and the like, among the signatures.
const INIT: &str = "__saved_model_init_op";

/// A tensor of a signature.
///
/// ```
/// use tensorfleet_client::{DType, Graph, Signature};
///
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, Some(2)]);
/// let signature = Signature::new().input("x", &x).output("y", &x.square());
/// assert_eq!(signature.inputs["x"].dtype, DType::Float);
/// assert_eq!(signature.outputs["y"].shape.to_string(), "[?,2]");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name in the graph, as `MatMul:0`.
    pub tensor: String,
    /// The type of its elements.
    pub dtype: DType,
    /// What is known of its shape.
    pub shape: PartialShape,
}

/// What a model takes and what it makes, by name. See the example of [`SavedModel`].
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Signature {
    /// What is fed.
    pub inputs: BTreeMap<String, Port>,
    /// What is fetched.
    pub outputs: BTreeMap<String, Port>,
}

impl Signature {
    /// Of nothing yet. See the example of [`SavedModel`].
    pub fn new() -> Signature {
        Signature::default()
    }

    /// Takes a tensor. See the example of [`SavedModel`].
    pub fn input(mut self, name: &str, tensor: &Output) -> Signature {
        self.inputs.insert(name.to_owned(), port(tensor));
        self
    }

    /// Makes a tensor. See the example of [`SavedModel`].
    pub fn output(mut self, name: &str, tensor: &Output) -> Signature {
        self.outputs.insert(name.to_owned(), port(tensor));
        self
    }
}

fn port(tensor: &Output) -> Port {
    Port { tensor: tensor.name(), dtype: tensor.dtype(), shape: tensor.shape() }
}

/// What a model says of its graph.
#[derive(Clone, Debug, Default)]
struct Meta {
    tags: Vec<String>,
    signatures: BTreeMap<String, Signature>,
    /// The tensor that takes the name of a checkpoint, and the node that restores it.
    restore: Option<(String, String)>,
    /// The nodes that fill tables and the like.
    init: Vec<String>,
}

/// A model for others: what `tf.saved_model.load`, TensorFlow Serving and [`Predictor`] load.
///
/// ```
/// use tensorfleet_client::layers::Dense;
/// use tensorfleet_client::{Graph, IntoTensor, Predictor, SavedModel, Session, Signature};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("saved-model-{}", std::process::id()));
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None, Some(2)]);
/// let y = Dense::new(3).seed(1).call(&x).softmax();
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// SavedModel::new(&graph)
///     .signature("serving_default", Signature::new().input("x", &x).output("y", &y))
///     .export(&session, &directory)?;
///
/// let predictor = Predictor::load(&directory)?;
/// let input = [[1.0f32, 2.0]];
/// let outputs = predictor.predict([("x", input.into_tensor()?)])?;
/// assert_eq!(outputs["y"].values::<f32>()?, session.run((&x, input), y.value::<Vec<f32>>())?);
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct SavedModel {
    graph: Graph,
    signatures: BTreeMap<String, Signature>,
}

impl SavedModel {
    /// Of a graph. See the example of [`SavedModel`].
    pub fn new(graph: &Graph) -> SavedModel {
        SavedModel { graph: graph.clone(), signatures: BTreeMap::new() }
    }

    /// Adds a signature; who does not say which is wanted gets `serving_default`. See the
    /// example of [`SavedModel`].
    pub fn signature(mut self, name: &str, signature: Signature) -> SavedModel {
        self.signatures.insert(name.to_owned(), signature);
        self
    }

    /// Writes the model with the values that the variables have now. Only what signatures need is
    /// written, and no devices: others have their own. See the example of [`SavedModel`].
    pub fn export(&self, session: &Session, directory: impl AsRef<Path>) -> Result<()> {
        let directory = directory.as_ref();
        self.graph.check()?;
        let failed = |error| unavailable!("{} cannot be written: {error}", directory.display());
        fs::create_dir_all(directory.join("variables")).map_err(failed)?;
        if self.signatures.values().all(|signature| signature.outputs.is_empty()) {
            return Err(invalid_argument!("a model without a signature that makes something"));
        }
        let ports = self
            .signatures
            .values()
            .flat_map(|signature| signature.outputs.values().chain(signature.inputs.values()));
        let wanted: Vec<String> = ports.map(|port| port.tensor.clone()).collect();
        // The variables that are used, and a way to restore them.
        let (nodes, library) = self.graph.nodes_from(0);
        let used = needed(&nodes, &wanted)?;
        let variables = self.graph.variables();
        let variables: Vec<_> =
            variables.into_iter().filter(|variable| used.contains(variable.name())).collect();
        let mut meta = Meta {
            tags: vec![SERVE.to_owned()],
            signatures: self.signatures.clone(),
            restore: None,
            init: Vec::new(),
        };
        let mut kept = used;
        let mut nodes = (nodes, library);
        if !variables.is_empty() {
            let saver = Saver::of(&self.graph, &variables);
            saver.write(session, &directory.join("variables").join("variables"))?;
            let (filename, restore) = saver.restoring();
            nodes = self.graph.nodes_from(0);
            kept.extend(needed(&nodes.0, &[filename.clone(), restore.clone()])?);
            meta.restore = Some((filename, restore));
        }
        let nodes_kept: Vec<NodeDef> = nodes
            .0
            .into_iter()
            .filter(|node| kept.contains(&node.name))
            .map(without_device)
            .collect();
        let message = wire::encode(&meta, &nodes_kept, &nodes.1)?;
        let path = directory.join("saved_model.pb");
        let temporary = directory.join("saved_model.pb.tmp");
        fs::write(&temporary, message).and_then(|()| fs::rename(&temporary, &path)).map_err(failed)
    }
}

/// The names of all nodes that some tensors or nodes need.
fn needed(nodes: &[NodeDef], wanted: &[String]) -> Result<BTreeSet<String>> {
    let by_name: BTreeMap<&str, &NodeDef> =
        nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let mut found = BTreeSet::new();
    let mut left: Vec<&str> = wanted.iter().map(|tensor| parse_tensor_name(tensor).0).collect();
    while let Some(name) = left.pop() {
        let node = by_name
            .get(name)
            .ok_or_else(|| invalid_argument!("there is no node {name:?} in the graph"))?;
        if found.insert(name.to_owned()) {
            let inputs = node.inputs.iter();
            left.extend(inputs.map(|input| parse_tensor_name(input.trim_start_matches('^')).0));
        }
    }
    Ok(found)
}

/// A node that may go anywhere.
fn without_device(node: NodeDef) -> NodeDef {
    let attrs: AttrMap = node
        .attrs
        .iter()
        .filter(|(name, _)| *name != "_class")
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect();
    NodeDef { device: String::new(), attrs, ..node }
}

/// Reads a model's graph.
fn read(directory: &Path) -> Result<(Meta, Graph)> {
    let path = directory.join("saved_model.pb");
    let message = fs::read(&path)
        .map_err(|error| unavailable!("{} cannot be read: {error}", path.display()))?;
    let (meta, nodes, library) =
        wire::decode(message, &[SERVE]).context(|| format!("reading {}", path.display()))?;
    let graph = import(nodes, library).context(|| format!("the graph of {}", path.display()))?;
    Ok((meta, graph))
}

fn import(nodes: Vec<NodeDef>, library: FunctionLibrary) -> Result<Graph> {
    let registry = tensorfleet_ops::library();
    let nodes = nodes.into_iter().map(without_device).collect();
    let graph = tensorfleet_graph::Graph::from_nodes(nodes, Arc::new(library), &*registry)?;
    Ok(Graph::from_builder(GraphBuilder::from_graph(graph, registry)))
}
