//! Trains a line through points, in this process and over the network, with every optimiser.

use tensorfleet_client::optimizer::{
    Adadelta, Adagrad, Adam, Ftrl, Lamb, Momentum, Optimizer, RmsProp, Sgd,
};
use tensorfleet_client::{Graph, Operation, Output, Result, Session, Variable};

use tensorfleet_server::{Config, Server};

/// `y = 3 x + 1`, with the operation that trains it.
struct Line {
    graph: Graph,
    x: Output,
    y: Output,
    slope: Variable,
    offset: Variable,
    loss: Output,
    train: Operation,
}

const XS: [f32; 5] = [-2.0, -1.0, 0.0, 1.0, 2.0];

fn line(optimizer: &dyn Optimizer) -> Line {
    let graph = Graph::new();
    let x = graph.placeholder::<f32>([None]);
    let y = graph.placeholder::<f32>([None]);
    let slope = graph.variable("slope", 0.5f32);
    let offset = graph.variable("offset", 0.5f32);
    let loss = (&x * &slope + &offset - &y).square().mean();
    let train = optimizer.minimize(&loss);
    Line { graph, x, y, slope, offset, loss, train }
}

/// Trains for some steps; returns the loss before and after, slope and offset.
fn train(line: &Line, session: &Session, steps: usize) -> Result<(f32, f32, f32, f32)> {
    session.run((), &line.graph.initializer())?;
    let ys = XS.map(|x| 3.0 * x + 1.0);
    let feeds = || ((&line.x, XS), (&line.y, ys));
    let before = session.run(feeds(), line.loss.value::<f32>())?;
    for _ in 0..steps {
        session.run(feeds(), &line.train)?;
    }
    let fetches = (line.loss.value(), line.slope.value(), line.offset.value());
    let (after, slope, offset) = session.run(feeds(), fetches)?;
    Ok((before, after, slope, offset))
}

#[test]
fn a_line_is_found_in_process() {
    let line = line(&Sgd::new(0.1));
    let session = Session::new(&line.graph).unwrap();
    let (_, after, slope, offset) = train(&line, &session, 100).unwrap();
    assert!(after < 1e-6, "{after}");
    assert!((slope - 3.0).abs() < 1e-3 && (offset - 1.0).abs() < 1e-3, "{slope} {offset}");
}

#[test]
fn a_line_is_found_over_the_network() {
    let server = Server::create_local_server(&Config::default(), true).unwrap();
    let line = line(&Sgd::new(0.1));
    let target = server.target();
    let session = Session::connect(&target, &line.graph).unwrap();
    let (_, after, slope, offset) = train(&line, &session, 100).unwrap();
    assert!(after < 1e-6, "{after}");
    assert!((slope - 3.0).abs() < 1e-3 && (offset - 1.0).abs() < 1e-3, "{slope} {offset}");

    // The graph may grow while the session is open.
    let doubled = line.slope.read() * 2.0;
    let value = session.run((), doubled.value::<f32>()).unwrap();
    assert!((value - 6.0).abs() < 1e-2, "{value}");

    // Another session finds the same variable.
    let other = Session::connect(&target, &line.graph).unwrap();
    assert_eq!(other.run((), line.slope.value::<f32>()).unwrap(), slope);
}

#[test]
fn every_optimizer_makes_the_loss_smaller() {
    let optimizers: [(&str, Box<dyn Optimizer>); 11] = [
        ("Adadelta", Box::new(Adadelta::new(10.0))),
        ("Adagrad", Box::new(Adagrad::new(0.5))),
        ("Adam", Box::new(Adam::new(0.1))),
        ("AdamW", Box::new(Adam::weight_decay(0.1, 0.001))),
        ("Ftrl", Box::new(Ftrl::new(0.5))),
        ("Lamb", Box::new(Lamb::new(0.05))),
        ("Momentum", Box::new(Momentum::new(0.02, 0.9))),
        ("Nesterov", Box::new(Momentum::new(0.02, 0.9).nesterov())),
        ("RmsProp", Box::new(RmsProp::new(0.05))),
        ("RmsProp centered", Box::new(RmsProp::new(0.05).centered().momentum(0.5))),
        ("Sgd", Box::new(Sgd::new(0.05))),
    ];
    for (name, optimizer) in optimizers {
        let line = line(&*optimizer);
        let session = Session::new(&line.graph).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (before, after, ..) =
            train(&line, &session, 60).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(after < before * 0.5, "{name}: from {before} to {after}");
    }
}
