//! Models and weights to and from other programs.
//!
//! `cargo run --example interchange -- export DIRECTORY` writes a model as a SavedModel, and its weights as
//! safetensors, for NumPy and as a checkpoint; `-- predict DIRECTORY` runs a SavedModel of whoever on
//! the numbers of `input.npy` beside it; `-- convert FROM TO` writes weights of one kind as another.
//! `conformance/test_interchange.py` has the Python side.

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use std::path::Path;

use tensorfleet::layers::{Dense, Embedding, Lstm, Recurrent};
use tensorfleet::{
    Graph, Module, Output, Predictor, Result, SavedModel, Session, Signature, Weights,
    invalid_argument, module,
};

struct Reader {
    words: Embedding,
    memory: Lstm,
    logits: Dense,
}

module!(Reader { words, memory, logits });

impl Reader {
    fn call(&self, ids: &Output) -> Output {
        let (_, end) = self.memory.call(&self.words.call(ids));
        self.logits.call(&end.hidden).softmax()
    }
}

fn export(directory: &Path) -> Result<()> {
    let graph = Graph::new();
    // The table is in parts; others see one.
    let words = Embedding::new(20, 4).shards(3).seed(1);
    let reader = Reader { words, memory: Lstm::new(5).seed(2), logits: Dense::new(3).seed(3) };
    let ids = graph.placeholder::<i64>([None, None]);
    let probabilities = reader.call(&ids);
    let session = Session::new(&graph)?;
    session.run((), &graph.initializer())?;
    let signature = Signature::new().input("ids", &ids).output("probabilities", &probabilities);
    SavedModel::new(&graph).signature("serving_default", signature).export(&session, directory)?;
    let weights = Weights::of(&session, &reader)?;
    for file in ["weights.safetensors", "weights.npz", "weights.ckpt"] {
        weights.write(directory.join(file))?;
    }
    let sentence = [[3i64, 1, 4, 1, 5]];
    println!("{:?}", session.run((&ids, sentence), probabilities.value::<Vec<f32>>())?);
    println!("{} parameters", reader.num_parameters());
    Ok(())
}

/// Runs the default signature, which takes one tensor, and writes what it makes.
fn predict(directory: &Path) -> Result<()> {
    let predictor = Predictor::load(directory)?;
    let input = Weights::read(directory.join("input.npy"))?;
    let (_, input) = input.iter().next().ok_or_else(|| invalid_argument!("no input"))?;
    let (_, signature) = predictor
        .signatures()
        .find(|(name, _)| *name == "serving_default")
        .ok_or_else(|| invalid_argument!("there is no default signature"))?;
    let names = signature.inputs.keys().map(|name| (name.as_str(), input.clone()));
    let outputs: Weights = predictor.predict(names)?.into_iter().collect();
    outputs.write(directory.join("outputs.npz"))
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["export", directory] => export(Path::new(directory)),
        ["predict", directory] => predict(Path::new(directory)),
        ["convert", from, to] => Weights::read(from)?.write(to),
        _ => Err(invalid_argument!("say export, predict or convert, and where")),
    }
}
