//! Which of several places counts, and what is said of words that mean nothing.

use super::super::{Command, Refusal, parse_from};
use super::*;

/// A file that goes with the test.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, content: &str) -> File {
        let name = format!("tensorfleet-settings-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).unwrap();
        File(path)
    }

    fn flag(&self) -> String {
        format!("--config={}", self.0.display())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

fn parse(flags: &[&str], environment: &[(&str, &str)]) -> Result<Command, Error> {
    let line = ["tensorfleet", "serve"].iter().chain(flags).map(|word| (*word).to_owned());
    let environment =
        environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    match parse_from(line, &environment) {
        Ok((command, _)) => Ok(command),
        Err(Refusal::Usage(error) | Refusal::Configuration(error)) => Err(error),
    }
}

/// The lines of `--print-config` that begin with a key, without the path of the file.
#[track_caller]
fn check(flags: &[&str], environment: &[(&str, &str)], file: &str, expected: &[&str]) {
    let file = File::new(&format!("{:x}", crc(flags, file)), file);
    let config = file.flag();
    let flags: Vec<&str> = flags.iter().copied().chain([&*config, "--print-config"]).collect();
    let Command::Show(text) = parse(&flags, environment).unwrap() else { panic!("no text") };
    let path = file.0.display().to_string();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(|line| words(&line.replace(&path, "file"))).collect();
    for line in expected {
        assert!(lines.iter().any(|found| found == line), "{line} is not in\n{text}");
    }
    // What is printed is a file that says the same.
    let again = File::new(&format!("{:x}-again", crc(&flags, &text)), &text);
    let printed = parse(&[&again.flag(), "--print-config"], &[]).unwrap();
    let Command::Show(printed) = printed else { panic!("no text") };
    let values = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| words(line.split("  #").next().unwrap())).collect()
    };
    assert_eq!(values(&printed), values(&text));
}

fn crc(flags: &[&str], text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (flags, text).hash(&mut hasher);
    hasher.finish()
}

#[track_caller]
fn check_error(flags: &[&str], environment: &[(&str, &str)], file: &str, expected: &str) {
    let file = File::new(&format!("{:x}-error", crc(flags, file)), file);
    let config = file.flag();
    let flags: Vec<&str> = flags.iter().copied().chain([&*config]).collect();
    let error = parse(&flags, environment).unwrap_err();
    let message = error.message().replace(&file.0.display().to_string(), "file");
    assert!(message.contains(expected), "{message}");
}

const FILE: &str = "\
ps = [\"localhost:1\"]
grace = 7
grpc-only = true
http = 9100
slow_step = 0.5
";

#[test]
fn flags_are_above_the_environment_above_the_file() {
    check(
        &["--grace=9"],
        &[("TENSORFLEET_GRACE", "8"), ("TENSORFLEET_SLOW_STEP", "2"), ("TENSORFLEET_LOG", "debug")],
        FILE,
        &[
            "grace = 9 # flag",
            "slow_step = 2 # TENSORFLEET_SLOW_STEP",
            "http = 9100 # file:4",
            "grpc_only = true # file:3",
            "ps = [\"localhost:1\"] # file:1",
            "failure_timeout = 10 # default",
            "log = \"debug\" # TENSORFLEET_LOG",
            "job_name = \"ps\" # the only one in the cluster",
        ],
    );
}

#[test]
fn what_is_true_below_can_be_made_false_above() {
    check(&["--grpc_only=false"], &[], FILE, &["grpc_only = false # flag"]);
    let variable = [("TENSORFLEET_GRPC_ONLY", "0")];
    check(&[], &variable, FILE, &["grpc_only = false # TENSORFLEET_GRPC_ONLY"]);
    check(&["--grpc-only=true"], &variable, FILE, &["grpc_only = true # flag"]);
}

#[test]
fn a_cluster_replaces_that_of_the_place_below_whole() {
    check(
        &["--worker=localhost:2", "--job_name=worker"],
        &[("TF_CONFIG", "{\"cluster\": {\"ps\": [\"localhost:5\"]}}")],
        FILE,
        &["worker = [\"localhost:2\"] # flag", "job_name = \"worker\" # flag"],
    );
    let cluster = [("TENSORFLEET_CLUSTER", "{\"worker\": [\"localhost:3\"]}")];
    check(&[], &cluster, FILE, &["job_name = \"worker\" # the only one in the cluster"]);
    let tf_config =
        "{\"cluster\": {\"ps\": [\"localhost:5\"]}, \"task\": {\"type\": \"ps\", \"index\": 0}}";
    check(
        &[],
        &[("TF_CONFIG", tf_config)],
        "grace = 3",
        &[
            "cluster = \"{\\\"ps\\\":[\\\"localhost:5\\\"]}\" # TF_CONFIG",
            "task_index = 0 # TF_CONFIG",
            "bind = \"localhost:5\" # the cluster",
        ],
    );
}

#[test]
fn tables_are_clusters_and_pairs() {
    let file = "
        tls_ca = \"ca.pem\"
        tls_cert = \"a.pem\"
        tls_key = \"a-key.pem\"
        containers = {alice = \"vision\", bob = \"speech\"}
        job_name = \"worker\"
        [cluster]
        worker = [\"a:1\"]
        ps = {3 = \"b:1\"}
    ";
    check(
        &[],
        &[],
        file,
        &[
            "containers = [\"alice=vision\", \"bob=speech\"] # file:5",
            "cluster = \"{\\\"ps\\\":{\\\"3\\\":\\\"b:1\\\"},\\\"worker\\\":[\\\"a:1\\\"]}\" # file:7",
        ],
    );
}

#[test]
fn words_that_mean_nothing_are_refused_with_the_nearest() {
    check_error(
        &[],
        &[],
        "ps = []\ngarce = 7",
        "file:2: there is no setting `garce`; `grace` is one",
    );
    check_error(&[], &[], "elephants = 7", "`serve --help` has all of them");
    check_error(&[], &[], "grace = ", "file:1: ");
    check_error(&[], &[], "grace = true", "file:1: `grace` cannot be boolean");
    check_error(&[], &[], "grpc_only = \"maybe\"", "`grpc_only` is true or false");
    check_error(
        &[],
        &[],
        "ps = [\"a:1\"]\nps_hosts = [\"a:2\"]",
        "file:2: `ps_hosts` is said before",
    );
    check_error(&[], &[], "grace = \"long\"", "grace is from file:1");
    check_error(&[], &[("TENSORFLEET_GRACE", "long")], "", "grace is from TENSORFLEET_GRACE");
    check_error(&[], &[("TENSORFLEET_GARCE", "7")], "", "TENSORFLEET_GRACE does");
    check_error(&[], &[("TENSORFLEET_GRPC_ONLY", "maybe")], "", "neither true nor false");
    // Of another program's variables nothing is known.
    let others = [("TENSORFLEET_SERVICE_HOST", "10.0.0.1"), ("TENSORFLEET_TOKEN_FILE", "x")];
    check(&[], &others, FILE, &["grace = 7 # file:2"]);
    let error = parse(&["--config=/no/such/file"], &[]).unwrap_err();
    assert!(error.message().starts_with("--config: cannot read `/no/such/file`: "), "{error}");
}

#[test]
fn what_one_flag_needs_may_stand_elsewhere() {
    let file = format!("{FILE}data_dir = \"/tmp/data\"");
    check(&["--durability=none"], &[], &file, &["durability = \"none\" # flag"]);
    let variable = [("TENSORFLEET_CONFIG", "/no/such/file")];
    let error = parse(&[], &variable).unwrap_err();
    assert!(error.message().contains("/no/such/file"), "{error}");
}
