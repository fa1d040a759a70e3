//! The first tutorial: a server of this process, and a session on it.
//!
//! `cargo run --example hello`

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet::{Config, Graph, Result, Server, Session};

fn main() -> Result<()> {
    // A cluster of one task, on a free port.
    let server = Server::create_local_server(&Config::default(), true)?;

    let graph = Graph::new();
    let hello = graph.constant("Hello, distributed TensorFlow!");

    let session = Session::connect(&server.target(), &graph)?;
    println!("{}", session.run((), hello.value::<String>())?);
    Ok(())
}
