//! Embeddings shared out over parameter servers: a table that no single task has to hold. Each step
//! sends and changes only the rows that its examples name.
//!
//! `cargo run --example embeddings`

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet::optimizer::{Adagrad, Optimizer};
use tensorfleet::{
    Config, Graph, ReplicaDevices, Result, Session, create_local_cluster, initializer, layers, loss,
};

const WORDS: usize = 1000;
const BATCH: usize = 64;

fn main() -> Result<()> {
    let config = Config::default();
    let cluster = create_local_cluster(1, 3, "grpc", &config, &config)?;

    let graph = Graph::new();
    let devices = ReplicaDevices::new(3).worker("/job:worker/task:0");
    let (words, groups, loss, train) = graph.device(devices, || {
        let words = graph.placeholder::<i64>([None]);
        let groups = graph.placeholder::<i64>([None]);
        let table = graph.sharded_variable("words", WORDS, 3, |rows| {
            initializer::uniform([rows, 8], -0.05, 0.05).seed(rows as i64)
        });
        for shard in table.shards() {
            println!("{} {} on {}", shard.name(), shard.shape(), shard.device());
        }
        let logits = layers::dense(&table.lookup(&words), "logits", 4);
        let loss = loss::sparse_softmax_cross_entropy(&logits, &groups);
        let train = Adagrad::new(0.5).minimize(&loss);
        (words, groups, loss, train)
    });

    let session = Session::connect(&cluster.workers[0].target(), &graph)?;
    session.run((), &graph.initializer())?;
    for step in 0..=300usize {
        // Words belong to four groups by their numbers.
        let numbers: Vec<i64> =
            (0..BATCH).map(|i| ((step * BATCH + i) * 37 % WORDS) as i64).collect();
        let wanted: Vec<i64> = numbers.iter().map(|number| number % 4).collect();
        let feeds = ((&words, numbers), (&groups, wanted));
        let ((), loss) = session.run(feeds, (&train, loss.value::<f32>()))?;
        if step % 100 == 0 {
            println!("step {step}: loss {loss:.4}");
        }
    }
    Ok(())
}
