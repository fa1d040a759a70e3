//! Every way to say which task to run, and what is said of those that do not work.

use std::io::Write;

use super::super::{Command, Refusal, Serve, parse_from};
use super::*;

/// Reads the arguments of a task that may serve anybody.
fn parse(arguments: &[&str], tf_config: Option<&str>) -> Result<Serve> {
    let insecure = ["--insecure"];
    parse_as_given(&insecure.iter().chain(arguments).copied().collect::<Vec<_>>(), tf_config)
}

fn parse_as_given(arguments: &[&str], tf_config: Option<&str>) -> Result<Serve> {
    let line = ["tensorfleet", "serve"].iter().chain(arguments).map(|word| (*word).to_owned());
    let environment = tf_config.map(|text| ("TF_CONFIG".to_owned(), text.to_owned()));
    match parse_from(line, &environment.into_iter().collect()) {
        Ok((Command::Serve(serve), _)) => Ok(*serve),
        Ok(other) => panic!("{other:?}"),
        Err(Refusal::Usage(error) | Refusal::Configuration(error)) => Err(error),
    }
}

/// Compares the task, where it listens and its whole cluster with text.
#[track_caller]
fn check(arguments: &[&str], tf_config: Option<&str>, expected: &str) {
    let serve = parse(arguments, tf_config).unwrap();
    let task = serve.spec.task();
    let cluster: Vec<String> = serve
        .spec
        .cluster()
        .tasks()
        .map(|(task, address)| format!("{}{}={address}", task.job, task.index))
        .collect();
    let found = format!("{}{} on {} of {}", task.job, task.index, serve.bind, cluster.join(" "));
    assert_eq!(found, expected);
}

#[track_caller]
fn check_error(arguments: &[&str], tf_config: Option<&str>, expected: &str) {
    assert_eq!(parse(arguments, tf_config).unwrap_err().message(), expected);
}

/// A file that goes with the test.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, content: &[u8]) -> File {
        let name = format!("tensorfleet-cli-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::File::create(&path).unwrap().write_all(content).unwrap();
        File(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

const CLUSTER: &str = r#"--cluster={"ps": ["a:1"], "worker": ["b:2", "c:3"]}"#;
const ALL: &str = "ps0=a:1 worker0=b:2 worker1=c:3";
const TF_CONFIG: &str = r#"{"cluster": {"ps": ["a:1"], "worker": ["b:2", "c:3"]},
                            "task": {"type": "worker", "index": "1"}}"#;
const SERVER_DEF: &str = r#"
    cluster { job { name: "ps" tasks { key: 0 value: "a:1" } } }
    job_name: "ps" port: 7
"#;

#[test]
fn lists_of_hosts() {
    let expected = format!("worker1 on c:3 of {ALL}");
    let task = ["--job_name=worker", "--task_index=1"];
    for lists in [
        ["--ps=a:1", "--worker=b:2,c:3"],
        ["--ps_hosts=a:1", "--worker_hosts=b:2,c:3"],
        ["--ps-hosts=a:1", "--worker-hosts=b:2,c:3"],
    ] {
        check(&[lists[0], lists[1], task[0], task[1]], None, &expected);
    }
    check(
        &[
            "--ps",
            "a:1",
            "--worker",
            "b:2",
            "--worker",
            "c:3",
            "--job-name",
            "worker",
            "--task-index",
            "1",
        ],
        None,
        &expected,
    );
    check(&["--ps_hosts=", "--worker_hosts=b:2"], None, "worker0 on b:2 of worker0=b:2");
}

#[test]
fn json() {
    check(&[CLUSTER, "--job_name=ps"], None, &format!("ps0 on a:1 of {ALL}"));
    check(&[r#"--cluster={"worker": {"5": "a:1"}}"#], None, "worker5 on a:1 of worker5=a:1");
    let file = File::new("cluster.json", br#"{"worker": ["a:1"]}"#);
    check(&["--cluster", file.path()], None, "worker0 on a:1 of worker0=a:1");
}

#[test]
fn tf_config() {
    check(&[], Some(TF_CONFIG), &format!("worker1 on c:3 of {ALL}"));
    check(&["--task_index=0"], Some(TF_CONFIG), &format!("worker0 on b:2 of {ALL}"));
    check(&["--job_name=ps"], Some(TF_CONFIG), &format!("ps0 on a:1 of {ALL}"));
    // The command line is the more deliberate of the two.
    check(&["--worker=d:4"], Some(TF_CONFIG), "worker0 on d:4 of worker0=d:4");
}

#[test]
fn server_def_files() {
    let file = File::new("task.pbtxt", SERVER_DEF.as_bytes());
    let flag = format!("--server_def={}", file.path());
    check(&[&flag], None, "ps0 on a:7 of ps0=a:1");
    check(&[file.path()], Some(TF_CONFIG), "ps0 on a:7 of ps0=a:1");
    check(&[&flag, "--bind=0.0.0.0"], None, "ps0 on 0.0.0.0:7 of ps0=a:1");
}

#[test]
fn chief_and_master_are_the_same() {
    check(
        &["--chief_hosts=a:1", "--worker=b:2", "--job_name=master"],
        None,
        "chief0 on a:1 of chief0=a:1 worker0=b:2",
    );
    check(
        &["--master=a:1", "--worker=b:2", "--job_name=chief"],
        None,
        "master0 on a:1 of master0=a:1 worker0=b:2",
    );
}

#[test]
fn bind_overrides_what_is_given() {
    for (bind, expected) in [
        ("0.0.0.0", "0.0.0.0:1"),
        ("0.0.0.0:9", "0.0.0.0:9"),
        (":9", "a:9"),
        (":0", "a:0"),
        ("[::]", "[::]:1"),
        ("[::1]:9", "[::1]:9"),
    ] {
        let flag = format!("--bind={bind}");
        check(&["--worker=a:1", &flag], None, &format!("worker0 on {expected} of worker0=a:1"));
    }
    check_error(
        &["--worker=a:1", "--bind=host:x"],
        None,
        "--bind: port `x` of address `host:x` is not a number from 0 to 65535",
    );
}

#[test]
fn conflicts_are_named() {
    let file = File::new("conflict.pbtxt", SERVER_DEF.as_bytes());
    for flag in ["--ps=a:1", "--cluster={}", "--job_name=ps", "--task_index=0"] {
        let name = flag.split('=').next().unwrap();
        let message =
            format!("{name} cannot be used with a ServerDef file, which says the same of the task");
        check_error(&[file.path(), flag], None, &message);
    }
    check_error(
        &[CLUSTER, "--worker=d:4"],
        None,
        "--cluster and --worker both give the cluster; keep one",
    );
    check_error(
        &["--chief=a:1", "--master=b:2"],
        None,
        "--chief and --master are two names for one job; keep one",
    );
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    check_error(
        &[],
        None,
        "no cluster given: use --cluster, --ps_hosts and --worker_hosts, --server_def, or the \
         environment variable TF_CONFIG",
    );
    check_error(&[CLUSTER], None, "--job_name is missing; the jobs are ps, worker");
    check_error(
        &[CLUSTER, "--job_name=worker"],
        None,
        "--task_index is missing; job `worker` has 2 tasks",
    );
    check_error(
        &[CLUSTER, "--job_name=worker", "--task_index=2"],
        None,
        "--task_index: job `worker` has no task 2; its tasks are 0, 1",
    );
    check_error(
        &[CLUSTER, "--job_name=wroker"],
        None,
        "--job_name: the cluster has no job `wroker`; its jobs are `ps`, `worker`",
    );
    check_error(
        &[CLUSTER, "--job_name=evaluator"],
        None,
        "--job_name: an evaluator is not part of the cluster and needs no server",
    );
    check_error(&["--worker=a"], None, "--worker: address `a` has no port; write it as `a:2222`");
    check_error(
        &["--worker=a:1", "--protocol=grpc+verbs"],
        None,
        "--protocol: protocol `grpc+verbs` is not supported; use `grpc`",
    );
    check_error(&[], Some("{}"), "TF_CONFIG.cluster is missing");
    let error = parse(&["--server_def=/no/such/file"], None).unwrap_err();
    assert!(error.message().starts_with("cannot read `/no/such/file`: "), "{error}");
}

#[test]
fn other_machines_are_served_with_tls_or_on_request_alone() {
    let tls = ["--tls_cert=a.pem", "--tls_key=a-key.pem", "--tls_ca=ca.pem"];
    for (flags, is_served) in [
        (&["--ps=localhost:1"][..], true),
        (&["--ps=127.0.0.1:1", "--worker=[::1]:2", "--job_name=ps"], true),
        (&["--ps=a:1"], false),
        (&["--ps=localhost:1", "--worker=b:2", "--job_name=ps"], false),
        (&["--ps=localhost:1", "--bind=0.0.0.0"], false),
        (&["--ps=localhost:1", "--bind=[::]:1"], false),
        (&["--ps=a:1", "--insecure"], true),
        (&["--ps=a:1", tls[0], tls[1], tls[2]], true),
    ] {
        match parse_as_given(flags, None) {
            Ok(_) => assert!(is_served, "{flags:?}"),
            Err(error) => {
                assert!(!is_served, "{error}");
                for way_out in ["--insecure", "certs init", "certs issue --job ps --task 0"] {
                    assert!(error.message().contains(way_out), "{error}");
                }
            }
        }
    }
}

#[test]
fn halves_of_credentials_are_refused() {
    for (flags, words) in [
        (&["--tls_cert=a.pem"][..], "--tls_ca"),
        (&["--tls_ca=ca.pem"], "--tls_cert"),
        (&["--tls_ca=ca.pem", "--tls_cert=a.pem"], "together"),
        (&["--tokens=tokens"], "TLS"),
        (&["--insecure", "--tls_ca=ca.pem"], "cannot be used with"),
    ] {
        let flags: Vec<&str> = ["--ps=localhost:1"].iter().chain(flags).copied().collect();
        let error = parse_as_given(&flags, None).unwrap_err();
        assert!(error.message().contains(words), "{error}");
    }
}

#[test]
fn containers_are_given_by_name() {
    let tls = ["--ps=localhost:1", "--tls_ca=ca.pem", "--tls_cert=a.pem", "--tls_key=a-key.pem"];
    let parse = |containers| parse_as_given(&[&tls[..], &[containers]].concat(), None);
    let given = parse("--containers=alice=vision,bob=speech").unwrap().separation;
    assert_eq!(given.rooms["alice"], "vision");
    assert_eq!(given.rooms["bob"], "speech");
    for (containers, words) in [
        ("--containers=alice", "NAME=CONTAINER"),
        ("--containers=alice=", "NAME=CONTAINER"),
        ("--containers=alice=a\0b", "NAME=CONTAINER"),
        ("--containers=alice=a,alice=b", "two containers"),
    ] {
        let error = parse(containers).unwrap_err();
        assert!(error.message().contains(words), "{error}");
    }
    let error = parse_as_given(&["--ps=localhost:1", "--containers=a=b"], None).unwrap_err();
    assert!(error.message().contains("--tls_ca"), "{error}");
}

#[test]
fn the_chief_is_found_by_its_job() {
    let chief = |flags: &[&str]| {
        let flags: Vec<&str> = flags.iter().chain(&["--exit_with_chief=7"]).copied().collect();
        parse(&flags, None).map(|serve| serve.exit_with_chief.unwrap())
    };
    let seconds = Duration::from_secs(7);
    let at = |text: &str| (text.parse::<Address>().unwrap(), seconds);
    let tasks = ["--ps=a:1", "--worker=b:2,c:3", "--job_name=ps"];
    assert_eq!(chief(&tasks).unwrap(), at("b:2"));
    assert_eq!(chief(&[&tasks[..], &["--chief=d:4"]].concat()).unwrap(), at("d:4"));
    let error = chief(&["--ps=a:1", "--worker=b:2", "--job_name=worker"]).unwrap_err();
    assert!(error.message().contains("the chief itself"), "{error}");
    assert!(chief(&["--ps=a:1"]).unwrap_err().message().contains("neither chief nor worker"));
    let plain = parse(&["--ps=a:1", "--worker=b:2", "--job_name=ps", "--exit_with_chief"], None);
    assert_eq!(plain.unwrap().exit_with_chief.unwrap().1, Duration::from_secs(30));
}
