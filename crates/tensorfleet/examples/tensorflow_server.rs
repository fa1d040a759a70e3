//! A Rust client on a TensorFlow server: the protocol is the same.
//!
//! Start a server in Python,
//! `python -c "import tensorflow as tf; s = tf.distribute.Server.create_local_server(); print(s.target, flush=True); s.join()"`,
//! and give its target: `cargo run --example tensorflow_server -- grpc://localhost:PORT`. Without a
//! target the example starts a server of ours.

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet::{Config, Graph, Result, Server, Session, gradients, ops};

fn main() -> Result<()> {
    let own = match std::env::args().nth(1) {
        None => Some(Server::create_local_server(&Config::default(), true)?),
        Some(_) => None,
    };
    let target = own.as_ref().map(Server::target).or_else(|| std::env::args().nth(1));
    let target = target.unwrap_or_default();

    let graph = Graph::new();
    let x = graph.placeholder::<f32>([None, None]);
    let inverse = ops::linalg::matrix_inverse(&graph, &x).output();
    let trace = ops::math::einsum(&graph, [&inverse], "ii->").output();
    let dx = gradients(&trace, [&x]).remove(0).map(|gradient| gradient.to_dense());

    let session = Session::connect(&target, &graph)?;
    for device in session.devices()? {
        println!("{}", device.name);
    }
    let feeds = (&x, [[4.0f32, 1.0], [2.0, 3.0]]);
    let fetches = (trace.value::<f32>(), dx.map(|dx| dx.value::<Vec<Vec<f32>>>()));
    let (value, dx) = session.run(feeds, fetches)?;
    println!("the trace of the inverse is {value:.3}");
    println!("its gradient is {:.4?}", dx.unwrap_or_default());

    // A step that the server has prepared, for other matrices.
    let step = session.callable([&x], trace.value::<f32>())?;
    let halves: Vec<f32> = [1.0f32, 2.0, 4.0]
        .into_iter()
        .map(|scale| step.run([[[4.0 * scale, scale], [2.0 * scale, 3.0 * scale]]]))
        .collect::<Result<_>>()?;
    println!("those of multiples are {halves:.3?}");
    Ok(())
}
