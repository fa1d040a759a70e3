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
    let (trace, dx) =
        session.run(feeds, (trace.value::<f32>(), dx.map(|dx| dx.value::<Vec<Vec<f32>>>())))?;
    println!("the trace of the inverse is {trace:.3}");
    println!("its gradient is {:.4?}", dx.unwrap_or_default());
    Ok(())
}
