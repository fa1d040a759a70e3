//! Monitored sessions on servers that come and go.

use std::path::PathBuf;

use tensorfleet::monitored::CheckpointSaver;
use tensorfleet::{
    Address, ClusterSpec, Config, Graph, MonitoredSession, Server, ServerSpec, Task,
};

fn serve(address: &Address) -> Server {
    let cluster = ClusterSpec::from_lists([("local", vec![address.to_string()])]).unwrap();
    let spec = ServerSpec::new(cluster, Task::new("local", 0)).unwrap();
    let server = Server::bind(spec, address, &Config::default()).unwrap();
    server.start().unwrap();
    server
}

#[test]
fn a_task_that_was_lost_goes_on_from_the_checkpoint() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("monitored");
    let _ = std::fs::remove_dir_all(&directory);
    let first = Server::create_local_server(&Config::default(), true).unwrap();
    let target = first.target();
    let address: Address = target.strip_prefix("grpc://").unwrap().parse().unwrap();

    let graph = Graph::new();
    let step = graph.global_step();
    let total = graph.variable("total", 1.0f32);
    let add = graph.group(&[total.assign_add(1.0f32), step.assign_add(1i64)]);
    let mut session = MonitoredSession::builder(&graph)
        .target(&target)
        .restore_from(&directory)
        .hook(CheckpointSaver::every_steps(&directory, 1))
        .open()
        .unwrap();
    for _ in 0..3 {
        session.run((), &add).unwrap();
    }
    // Another server in its place knows neither the session nor the variables.
    first.stop().unwrap();
    let _second = serve(&address);
    session.run((), &add).unwrap();
    assert_eq!(session.recoveries(), 1);
    let value = session.raw().unwrap().run((), total.value::<f32>()).unwrap();
    assert_eq!(value, 5.0);
    session.finish().unwrap();
}
