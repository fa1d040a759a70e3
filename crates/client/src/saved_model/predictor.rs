//! Inference in this process.

use std::collections::BTreeMap;
use std::path::Path;

use tensorfleet_tensor::{Context, Result, Tensor, invalid_argument, not_found};

use super::{DEFAULT, Signature, read};
use crate::graph::Graph;
use crate::output::Output;
use crate::saver::Saver;
use crate::session::Session;

/// A model that answers, in this process: a SavedModel, ours or TensorFlow's, or a graph with a
/// checkpoint. See the example of [`SavedModel`](super::SavedModel).
///
/// It may be asked from several threads.
#[derive(Debug)]
pub struct Predictor {
    session: Session,
    signatures: BTreeMap<String, Ready>,
}

/// A signature with its tensors, in the order of their names.
#[derive(Debug)]
struct Ready {
    signature: Signature,
    inputs: Vec<Output>,
    outputs: Vec<Output>,
}

impl Predictor {
    /// Loads a SavedModel. See the example of [`SavedModel`](super::SavedModel).
    pub fn load(directory: impl AsRef<Path>) -> Result<Predictor> {
        let directory = directory.as_ref();
        let (meta, graph) = read(directory)?;
        let session = Session::new(&graph)?;
        if let Some((filename, restore)) = &meta.restore {
            let variables = directory.join("variables").join("variables");
            let Some(text) = variables.to_str() else {
                return Err(invalid_argument!("the path {} is not UTF-8", directory.display()));
            };
            let prefix = tensor(&graph, filename)?;
            let restore = tensor(&graph, restore)?.operation();
            session
                .run((&prefix, text), &restore)
                .context(|| format!("restoring {}", variables.display()))?;
        }
        for node in &meta.init {
            session.run((), tensor(&graph, node)?.operation())?;
        }
        Predictor::new(session, meta.signatures)
    }

    /// Answers with a graph that this program has built, and the values of a checkpoint.
    ///
    /// ```
    /// use tensorfleet_client::layers::Dense;
    /// use tensorfleet_client::{Graph, IntoTensor, Predictor, Saver, Session, Signature};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("predictor-{}", std::process::id()));
    /// let build = |graph: &Graph| {
    ///     let x = graph.placeholder::<f32>([None, Some(2)]);
    ///     let y = Dense::new(1).named("model").call(&x);
    ///     Signature::new().input("x", &x).output("y", &y)
    /// };
    /// let graph = Graph::new();
    /// build(&graph);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let path = Saver::new(&graph).save(&session, &directory, 1)?;
    ///
    /// let graph = Graph::new();
    /// let signature = build(&graph);
    /// let predictor = Predictor::from_checkpoint(&graph, signature, path)?;
    /// let outputs = predictor.predict([("x", [[0.0f32, 0.0]].into_tensor()?)])?;
    /// assert_eq!(outputs["y"].values::<f32>()?, [0.0]);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_checkpoint(
        graph: &Graph,
        signature: Signature,
        checkpoint: impl AsRef<Path>,
    ) -> Result<Predictor> {
        let saver = Saver::new(graph);
        let session = Session::new(graph)?;
        saver.restore(&session, checkpoint)?;
        Predictor::new(session, BTreeMap::from([(DEFAULT.to_owned(), signature)]))
    }

    fn new(session: Session, signatures: BTreeMap<String, Signature>) -> Result<Predictor> {
        let graph = session.graph().clone();
        let mut ready = BTreeMap::new();
        for (name, signature) in signatures {
            let of = |ports: &BTreeMap<String, super::Port>| {
                ports.values().map(|port| tensor(&graph, &port.tensor)).collect::<Result<Vec<_>>>()
            };
            let (inputs, outputs) = (of(&signature.inputs)?, of(&signature.outputs)?);
            ready.insert(name, Ready { signature, inputs, outputs });
        }
        Ok(Predictor { session, signatures: ready })
    }

    /// What the model can be asked. See the example of [`Predictor::predict_by`].
    pub fn signatures(&self) -> impl Iterator<Item = (&str, &Signature)> {
        self.signatures.iter().map(|(name, ready)| (name.as_str(), &ready.signature))
    }

    /// The outputs for some inputs, by the signature `serving_default`. See the
    /// example of [`SavedModel`](super::SavedModel).
    pub fn predict<'a>(
        &self,
        inputs: impl IntoIterator<Item = (&'a str, Tensor)>,
    ) -> Result<BTreeMap<String, Tensor>> {
        self.predict_by(DEFAULT, inputs)
    }

    /// The outputs for some inputs, by a signature.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, IntoTensor, Predictor, SavedModel, Session, Signature};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("predict-by-{}", std::process::id()));
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([]);
    /// let of = |y| Signature::new().input("x", &x).output("y", &y);
    /// let model = SavedModel::new(&graph).signature("double", of(&x * 2.0)).signature("half", of(&x / 2.0));
    /// model.export(&Session::new(&graph)?, &directory)?;
    /// let predictor = Predictor::load(&directory)?;
    /// let names: Vec<&str> = predictor.signatures().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["double", "half"]);
    /// let outputs = predictor.predict_by("half", [("x", 3.0f32.into_tensor()?)])?;
    /// assert_eq!(outputs["y"].scalar_value::<f32>()?, 1.5);
    /// assert!(predictor.predict_by("third", []).is_err());
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn predict_by<'a>(
        &self,
        signature: &str,
        inputs: impl IntoIterator<Item = (&'a str, Tensor)>,
    ) -> Result<BTreeMap<String, Tensor>> {
        let ready = self.signatures.get(signature).ok_or_else(|| {
            let known: Vec<&String> = self.signatures.keys().collect();
            not_found!("the model has no signature {signature:?}, it has {known:?}")
        })?;
        let mut given: BTreeMap<&str, Tensor> = inputs.into_iter().collect();
        let mut feeds = Vec::new();
        for ((name, port), input) in ready.signature.inputs.iter().zip(&ready.inputs) {
            let value = given.remove(name.as_str()).ok_or_else(|| {
                invalid_argument!("the input {name:?} of {signature:?} is missing")
            })?;
            let fits = value.dtype() == port.dtype && port.shape.is_compatible_with(value.shape());
            if !fits {
                return Err(invalid_argument!(
                    "the input {name:?} is {} {}, not {} {}",
                    port.dtype,
                    port.shape,
                    value.dtype(),
                    value.shape()
                ));
            }
            feeds.push((input, value));
        }
        if let Some((name, _)) = given.first_key_value() {
            let known: Vec<&String> = ready.signature.inputs.keys().collect();
            return Err(invalid_argument!("{signature:?} has no input {name:?}, it has {known:?}"));
        }
        let values = self.session.run(feeds, &ready.outputs)?;
        Ok(ready.signature.outputs.keys().cloned().zip(values).collect())
    }
}

fn tensor(graph: &Graph, name: &str) -> Result<Output> {
    graph.find(name).ok_or_else(|| invalid_argument!("there is no tensor {name:?} in the graph"))
}
