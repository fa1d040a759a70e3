//! Trains a small network on a server, tensorfleet's or TensorFlow's:
//! `cargo run --example train_digits -- grpc://localhost:2222`.
//!
//! Without a target it trains in this process.

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet_client::optimizer::{Adam, Optimizer};
use tensorfleet_client::{Graph, Result, Session, initializer, layers, loss, metrics};

fn main() -> Result<()> {
    let graph = Graph::new();
    let images = graph.placeholder::<f32>([None, Some(64)]);
    let classes = graph.placeholder::<i64>([None]);
    let hidden = layers::dense(&images, "hidden", 32).relu();
    let hidden = layers::batch_norm(&hidden, "norm", true);
    let logits = layers::dense_with(&hidden, "logits", initializer::glorot_uniform([32, 10]));
    let loss = loss::sparse_softmax_cross_entropy(&logits, &classes);
    let accuracy = metrics::accuracy(&logits, &classes);
    let train = Adam::new(0.01).minimize(&loss);

    let session = match std::env::args().nth(1) {
        Some(target) => Session::connect(&target, &graph)?,
        None => Session::new(&graph)?,
    };
    session.run((), &graph.initializer())?;
    for step in 0..=100 {
        let (pixels, numbers) = patterns(32, step);
        let feeds = ((&images, ([32, 64], pixels)), (&classes, numbers));
        let fetches = (&train, loss.value::<f32>(), accuracy.value::<f32>());
        let ((), loss, accuracy) = session.run(feeds, fetches)?;
        if step % 20 == 0 {
            println!("step {step}: loss {loss:.4}, accuracy {accuracy:.3}");
        }
    }
    Ok(())
}

/// Ten stripes of pixels, one for each class, with some noise.
fn patterns(count: usize, seed: usize) -> (Vec<f32>, Vec<i64>) {
    let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((state >> 33) as f32) / (1u64 << 31) as f32
    };
    let classes: Vec<i64> = (0..count).map(|index| ((index + seed) % 10) as i64).collect();
    let pixels = classes
        .iter()
        .flat_map(|&class| (0..64).map(move |pixel| (pixel % 10 == class, pixel)))
        .map(|(is_on, _)| if is_on { 1.0 } else { 0.0 } + 0.3 * random())
        .collect();
    (pixels, classes)
}
