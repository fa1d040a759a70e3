//! Clusters in one process, as a Rust program uses them.

use tensorfleet::{
    ClusterSpec, Code, Config, Graph, Server, Session, create_local_cluster, gradients,
};

/// A value that crosses from a parameter server to a worker and back.
fn train_across_tasks(config: &Config) {
    let cluster = create_local_cluster(2, 2, "grpc", config, config).unwrap();
    let graph = Graph::new();
    let weight = graph.device("/job:ps/task:0", || graph.variable("weight", [1.0f32, 2.0]));
    let bias = graph.device("/job:ps/task:1", || graph.variable("bias", [0.5f32]));
    let (loss, train) = graph.device("/job:worker/task:1", || {
        let loss = (&weight * 2.0f32 + &bias).square().sum();
        let slopes = gradients(&loss, [&weight, &bias]);
        let train = weight.assign_sub(slopes[0].as_ref().unwrap().to_dense() * 0.1f32);
        (loss, train)
    });
    let session = Session::connect(&cluster.workers[0].target(), &graph).unwrap();
    session.run((), graph.initializer()).unwrap();
    assert_eq!(session.run((), loss.value::<f32>()).unwrap(), 2.5 * 2.5 + 4.5 * 4.5);
    session.run((), &train).unwrap();
    let updated = session.run((), weight.value::<Vec<f32>>()).unwrap();
    assert!((updated[0] - 0.0).abs() < 1e-6 && (updated[1] - 0.2).abs() < 1e-6, "{updated:?}");

    // Another client, at another task, sees the same variables.
    let other = Session::connect(&cluster.workers[1].target(), &graph).unwrap();
    assert_eq!(other.run((), weight.value::<Vec<f32>>()).unwrap(), updated);
}

#[test]
fn tasks_of_one_process_call_each_other() {
    train_across_tasks(&Config::default());
}

#[test]
fn tasks_of_one_process_also_speak_over_the_network() {
    train_across_tasks(&Config::default().network_only());
}

#[test]
fn tasks_of_one_process_also_speak_grpc_as_tensorflow_does() {
    train_across_tasks(&Config::default().grpc_only());
}

#[test]
fn a_local_server_is_a_cluster_of_one() {
    let server = Server::create_local_server(&Config::default(), true).unwrap();
    assert_eq!(server.server_def().task().to_string(), "/job:local/replica:0/task:0");
    let graph = Graph::new();
    let hello = graph.constant("Hello, distributed TensorFlow!");
    let session = Session::connect(&server.target(), &graph).unwrap();
    let text = session.run((), hello.value::<String>()).unwrap();
    assert_eq!(text, "Hello, distributed TensorFlow!");
}

#[test]
fn a_server_serves_from_start_to_stop() {
    let config = Config::default();
    let cluster = ClusterSpec::from_lists([("worker", vec!["localhost:0"])]).unwrap();
    let server = Server::new(&cluster, "worker", 0, "grpc", &config, false).unwrap();
    server.start().unwrap();
    server.start().unwrap();
    std::thread::scope(|scope| {
        let joined = scope.spawn(|| server.join());
        server.stop().unwrap();
        joined.join().unwrap().unwrap();
    });
    server.stop().unwrap();
    assert_eq!(server.start().unwrap_err().code(), Code::FailedPrecondition);
}

#[test]
fn what_is_not_served_is_said() {
    let config = Config::default();
    let error = create_local_cluster(1, 1, "grpc+verbs", &config, &config).unwrap_err();
    assert!(error.message().contains("use `grpc`"), "{error}");
    let cluster = ClusterSpec::from_lists([("worker", vec!["localhost:0"])]).unwrap();
    let error = Server::new(&cluster, "worker", 3, "grpc", &config, true).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
}

#[test]
fn sixty_servers_share_the_threads_of_one_process() {
    let config = Config::default();
    let cluster = create_local_cluster(40, 20, "grpc", &config, &config).unwrap();
    let graph = Graph::new();
    let parts: Vec<_> = (0..20)
        .map(|ps| graph.device(format!("/job:ps/task:{ps}"), || graph.constant(1.0f32) + 1.0f32))
        .collect();
    let total = graph.device("/job:worker/task:39", || {
        parts.iter().skip(1).fold(parts[0].clone(), |sum, part| sum + part)
    });
    let session = Session::connect(&cluster.workers[0].target(), &graph).unwrap();
    assert_eq!(session.run((), total.value::<f32>()).unwrap(), 40.0);
}

#[test]
fn a_task_that_stops_is_named_and_nobody_hangs() {
    let config = Config::default();
    let cluster = create_local_cluster(1, 1, "grpc", &config, &config).unwrap();
    let graph = Graph::new();
    let weight = graph.device("/job:ps/task:0", || graph.variable("weight", 1.0f32));
    let doubled = graph.device("/job:worker/task:0", || &weight * 2.0f32);
    let session = Session::connect(&cluster.workers[0].target(), &graph).unwrap();
    session.run((), graph.initializer()).unwrap();
    assert_eq!(session.run((), doubled.value::<f32>()).unwrap(), 2.0);
    cluster.ps[0].stop().unwrap();
    let error = session.run((), doubled.value::<f32>()).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.message().contains("/job:ps/replica:0/task:0"), "{error}");
}
