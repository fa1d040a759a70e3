//! What the facts of a cluster mean: nothing here asks anybody.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tensorfleet_tensor::{Code, Error};

use super::{Fact, Finding, Level};
use crate::status::short;

/// Clocks that differ by more are told of.
const SKEW: f64 = 1.0;
/// Certificates and tokens that are just made are not good yet by a clock that is so late.
const GREAT_SKEW: f64 = 30.0;
/// A certificate that ends within so many seconds is told of: a week.
const SOON: f64 = 7.0 * 86400.0;

/// The tasks and their addresses, as they should be.
pub(super) type Cluster = Vec<(String, String)>;

/// The variables that send programs through proxies.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    pub(super) set: Vec<String>,
    /// Hosts that are exempt, by comma.
    pub(super) except: String,
}

impl Proxies {
    pub(super) fn from_environment() -> Proxies {
        let names = ["grpc_proxy", "https_proxy", "http_proxy"];
        let set = names.into_iter().filter(|name| std::env::var_os(name).is_some());
        let except =
            ["no_grpc_proxy", "no_proxy"].into_iter().find_map(|it| std::env::var(it).ok());
        Proxies { set: set.map(str::to_owned).collect(), except: except.unwrap_or_default() }
    }

    fn covers(&self, host: &str) -> bool {
        let patterns = self.except.split(',').map(|it| it.trim().trim_start_matches('.'));
        patterns.filter(|it| !it.is_empty()).any(|it| {
            it == "*" || host == it || host.strip_suffix(it).is_some_and(|rest| rest.ends_with('.'))
        })
    }
}

fn finding(
    level: Level,
    what: impl Into<String>,
    cause: impl Into<String>,
    remedy: impl Into<String>,
) -> Finding {
    Finding { level, what: what.into(), cause: cause.into(), remedy: remedy.into() }
}

/// All that is found, errors last, where a terminal shows them.
pub(super) fn judge(
    cluster: &Cluster,
    facts: &[Fact],
    paths: &[String],
    proxies: &Proxies,
) -> Vec<Finding> {
    let mut found = Vec::new();
    proxy_variables(facts, proxies, &mut found);
    names(facts, &mut found);
    addresses_twice(cluster, &mut found);
    answers(facts, &mut found);
    who_answers(facts, &mut found);
    specs(cluster, facts, &mut found);
    versions(facts, &mut found);
    clocks(facts, &mut found);
    reach(facts, &mut found);
    tls(facts, &mut found);
    for path in paths {
        directories(path, facts, &mut found);
    }
    found.sort_by_key(|finding| finding.level);
    found
}

/// What the tasks that answer tell, by name.
fn told(facts: &[Fact]) -> impl Iterator<Item = (&Fact, &Value)> {
    facts.iter().filter_map(|fact| Some((fact, fact.told.as_ref().ok()?)))
}

fn host(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host)
}

fn proxy_variables(facts: &[Fact], proxies: &Proxies, found: &mut Vec<Finding>) {
    let hosts: BTreeSet<&str> = facts.iter().map(|fact| host(&fact.address)).collect();
    let caught: Vec<&str> = hosts.into_iter().filter(|host| !proxies.covers(host)).collect();
    if !proxies.set.is_empty() && !caught.is_empty() {
        found.push(finding(
            Level::Warning,
            format!("{} is set here", proxies.set.join(" and ")),
            "TensorFlow's clients send what they say to tasks through that proxy; tensorfleet does not",
            format!("export no_proxy={}", caught.join(",")),
        ));
    }
    for (fact, value) in told(facts) {
        let set: Vec<&str> =
            value["proxies"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !set.is_empty() {
            found.push(finding(
                Level::Fine,
                format!(
                    "{} has {}, which tensorfleet's tasks ignore",
                    fact.task,
                    set.join(" and ")
                ),
                "",
                "",
            ));
        }
    }
}

fn names(facts: &[Fact], found: &mut Vec<Finding>) {
    let mut known = BTreeMap::new();
    for fact in facts {
        known.entry(host(&fact.address)).or_insert(fact);
    }
    let is_loopback = |fact: &Fact| {
        fact.resolved
            .as_ref()
            .is_ok_and(|all| !all.is_empty() && all.iter().all(|ip| ip.is_loopback()))
    };
    let is_spread = known.values().any(|fact| fact.resolved.is_ok() && !is_loopback(fact));
    let mut good = Vec::new();
    for (host, fact) in &known {
        match &fact.resolved {
            Err(error) => found.push(finding(
                Level::Error,
                format!("{host}, the host of {}, cannot be resolved: {error}", fact.task),
                "the name is written wrong, or this machine asks another name server than the tasks do",
                format!("try `getent hosts {host}` here and there, and correct the cluster or the names"),
            )),
            Ok(_) if is_spread && is_loopback(fact) => found.push(finding(
                Level::Warning,
                format!("{host}, the host of {}, means this machine alone here", fact.task),
                "other tasks are on other machines, where the same name means those",
                "use a name or address that means the same everywhere; see /etc/hosts for 127.0.1.1",
            )),
            Ok(_) => good.push(*host),
        }
    }
    if !good.is_empty() {
        found.push(finding(Level::Fine, format!("{} names resolve", good.len()), "", ""));
    }
}

fn addresses_twice(cluster: &Cluster, found: &mut Vec<Finding>) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (task, address) in cluster {
        if let Some(other) = seen.insert(address, task) {
            found.push(finding(
                Level::Error,
                format!("{other} and {task} have one address, {address}"),
                "only one of them can listen there",
                "give each task a port of its own",
            ));
        }
    }
}

fn answers(facts: &[Fact], found: &mut Vec<Finding>) {
    let mut fine = Vec::new();
    for fact in facts {
        match &fact.told {
            Ok(_) => fine.push(fact.task.as_str()),
            Err(error) if error.code() == Code::Unimplemented => found.push(finding(
                Level::Fine,
                format!(
                    "{} answers at {}, and is TensorFlow's or an older tensorfleet",
                    fact.task, fact.address
                ),
                "",
                "",
            )),
            Err(error) => {
                let (cause, remedy) = why(error, &fact.address);
                let what = format!("{} does not answer: {}", fact.task, error.message());
                found.push(finding(Level::Error, what, cause, remedy));
            }
        }
    }
    if !fine.is_empty() {
        let slowest = told(facts).map(|(fact, _)| fact.round_trip).fold(0.0, f64::max);
        let what = format!("{} answer within {:.1} ms", fine.join(", "), slowest * 1e3);
        found.push(finding(Level::Fine, what, "", ""));
    }
}

/// Why nobody answers, and what to do about it.
fn why(error: &Error, address: &str) -> (&'static str, String) {
    let message = error.message();
    let (_, port) = address.rsplit_once(':').unwrap_or((address, ""));
    match error.code() {
        Code::Unauthenticated | Code::PermissionDenied => (
            "it wants to know who asks",
            "ask it as grpcs://HOST:PORT with TENSORFLEET_TLS_CA and a certificate or token of an \
             operator"
                .to_owned(),
        ),
        _ if message.contains("certificate") || message.contains("TLS") => (
            "one side speaks TLS and the other does not, or does not trust its certificate",
            "`tensorfleet certs verify` tells which certificate is wrong and why".to_owned(),
        ),
        _ if message.contains("refused") => (
            "nobody listens there: the task has not been started, has ended, or listens on another \
             address of its machine",
            format!(
                "start it, or look with `ss -ltn 'sport = :{port}'` on its machine; --bind=0.0.0.0"
            ),
        ),
        _ if message.contains("resolve")
            || message.contains("lookup")
            || message.contains("dns") =>
        {
            ("its name means nothing here", "see what is said of its host".to_owned())
        }
        _ => (
            "packets are dropped on the way (a firewall, a network policy, a wrong address), or the \
             process stands still",
            format!("try `nc -vz {} {port}`, and look whether the process runs", host(address)),
        ),
    }
}

fn who_answers(facts: &[Fact], found: &mut Vec<Finding>) {
    for (fact, value) in told(facts) {
        let name = short(value["task"].as_str().unwrap_or_default());
        if name != fact.task {
            found.push(finding(
                Level::Error,
                format!("{name} answers at {}, the address of {}", fact.address, fact.task),
                "it was started with another job name or task index, or belongs to another cluster",
                "stop it, and start it as the task that the cluster has at that address",
            ));
        }
    }
}

fn specs(cluster: &Cluster, facts: &[Fact], found: &mut Vec<Finding>) {
    let wanted: BTreeMap<&str, &str> =
        cluster.iter().map(|(task, address)| (&**task, &**address)).collect();
    let mut same = 0;
    for (fact, value) in told(facts) {
        let own = spec_of(value);
        let mut differences = Vec::new();
        for (task, address) in &wanted {
            match own.get(*task) {
                None => differences.push(format!("it lacks {task}")),
                // Its own port may be one that the system chose.
                Some(other) if other != address && *task != fact.task => {
                    differences.push(format!("{task} is at {other} there and at {address} here"));
                }
                Some(_) => {}
            }
        }
        let more = own.keys().filter(|task| !wanted.contains_key(task.as_str()));
        differences.extend(more.map(|task| format!("{task} is in it alone")));
        if differences.is_empty() {
            same += 1;
            continue;
        }
        found.push(finding(
            Level::Error,
            format!("{} was started with another cluster: {}", fact.task, differences.join("; ")),
            "tasks that disagree wait for each other for ever, or send to the wrong one",
            "start it again with the cluster of the others",
        ));
    }
    if same > 0 {
        found.push(finding(Level::Fine, format!("{same} tasks have the same cluster"), "", ""));
    }
}

fn spec_of(value: &Value) -> BTreeMap<String, String> {
    let jobs = value["cluster"].as_object().into_iter().flatten();
    let tasks = jobs.flat_map(|(job, tasks)| {
        tasks.as_object().into_iter().flatten().map(move |(index, address)| {
            (format!("{job}/{index}"), address.as_str().unwrap_or_default().to_owned())
        })
    });
    tasks.collect()
}

fn versions(facts: &[Fact], found: &mut Vec<Finding>) {
    let mut by_version: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (fact, value) in told(facts) {
        by_version.entry(value["version"].as_str().unwrap_or("?")).or_default().push(&fact.task);
    }
    match by_version.len() {
        0 => {}
        1 => {
            let version = by_version.keys().next().copied().unwrap_or_default();
            found.push(finding(Level::Fine, format!("all are of version {version}"), "", ""));
        }
        _ => {
            let groups =
                by_version.iter().map(|(version, who)| format!("{version}: {}", who.join(", ")));
            found.push(finding(
                Level::Warning,
                format!("versions differ ({})", groups.collect::<Vec<_>>().join("; ")),
                "tasks of different versions speak TensorFlow's protocol with each other, and may \
                 differ in ops",
                "bring all to one version",
            ));
        }
    }
}

fn clocks(facts: &[Fact], found: &mut Vec<Finding>) {
    let mut largest: f64 = 0.0;
    for (fact, value) in told(facts) {
        let Some(theirs) = value["at_seconds"].as_f64() else { continue };
        // It looked at its clock at some time while we waited.
        let (early, late) = (theirs - fact.asked, theirs - fact.asked - fact.round_trip);
        let skew = if late > 0.0 { late } else { early.min(0.0) };
        largest = largest.max(skew.abs());
        if skew.abs() < SKEW {
            continue;
        }
        let level = if skew.abs() < GREAT_SKEW { Level::Warning } else { Level::Error };
        let side = if skew > 0.0 { "ahead of" } else { "behind" };
        found.push(finding(
            level,
            format!("the clock of {} is {:.1} s {side} ours", fact.task, skew.abs()),
            "certificates and tokens are judged by the clock, and logs and traces do not fit together",
            "run chrony or ntpd on both machines",
        ));
    }
    if largest < SKEW && told(facts).next().is_some() {
        found.push(finding(Level::Fine, format!("clocks agree within {SKEW} s"), "", ""));
    }
}

fn reach(facts: &[Fact], found: &mut Vec<Finding>) {
    let mut pairs = 0;
    for (fact, value) in told(facts) {
        for peer in value["peers"].as_array().into_iter().flatten() {
            let name = short(peer["task"].as_str().unwrap_or_default());
            let address = peer["address"].as_str().unwrap_or_default();
            match (peer["answered_by"].as_str().map(short), peer["code"].as_str()) {
                (Some(other), _) if other != name => found.push(finding(
                    Level::Error,
                    format!("{} finds {other} at {address}, where {name} should be", fact.task),
                    "the address means another machine there than here, or the wrong task was started",
                    "compare what the host's name means on both machines",
                )),
                (Some(_), _) | (None, Some("UNIMPLEMENTED")) => pairs += 1,
                (None, _) => {
                    let message = peer["error"].as_str().unwrap_or("it does not say why");
                    let error = Error::new(Code::Unavailable, message.to_owned());
                    let (cause, remedy) = why(&error, address);
                    let what = format!("{} cannot reach {name}: {message}", fact.task);
                    found.push(finding(Level::Error, what, cause, remedy));
                }
            }
        }
    }
    if pairs > 0 {
        let what = format!("{pairs} ways from task to task are open");
        found.push(finding(Level::Fine, what, "", ""));
    }
}

fn tls(facts: &[Fact], found: &mut Vec<Finding>) {
    let with = told(facts).filter(|(_, value)| value["tls"] == true).count();
    let all = told(facts).count();
    if with > 0 && with < all {
        let without = told(facts).filter(|(_, value)| value["tls"] != true);
        let names: Vec<&str> = without.map(|(fact, _)| &*fact.task).collect();
        found.push(finding(
            Level::Error,
            format!("{} of {all} tasks speak TLS; {} do not", with, names.join(", ")),
            "a task with TLS neither calls nor answers one without",
            "start all with --tls_cert, --tls_key and --tls_ca, or none",
        ));
    }
    for (fact, value) in told(facts) {
        let (Some(end), Some(now)) =
            (value["certificate_expires_seconds"].as_f64(), value["at_seconds"].as_f64())
        else {
            continue;
        };
        let days = (end - now) / 86400.0;
        if end <= now {
            found.push(finding(
                Level::Error,
                format!("the certificate of {} ended {:.1} days ago", fact.task, -days),
                "nobody trusts it any more",
                "`tensorfleet certs renew`; tasks read it while they run",
            ));
        } else if end - now < SOON {
            found.push(finding(
                Level::Warning,
                format!("the certificate of {} ends in {days:.1} days", fact.task),
                "afterwards nobody trusts it any more",
                "`tensorfleet certs renew`; tasks read it while they run",
            ));
        }
    }
}

fn directories(path: &str, facts: &[Fact], found: &mut Vec<Finding>) {
    let mut seen: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for (fact, value) in told(facts) {
        let looked_at = value["paths"].as_array().into_iter().flatten();
        let Some(directory) = looked_at.into_iter().find(|it| it["path"] == path) else { continue };
        if let Some(error) = directory["error"].as_str() {
            found.push(finding(
                Level::Error,
                format!("{} has no {path}: {error}", fact.task),
                "it is not there, not mounted, or may not be looked at by the user of the task",
                "make or mount it there, or name another",
            ));
            continue;
        }
        if directory["is_directory"] != true || directory["is_writable"] != true {
            found.push(finding(
                Level::Error,
                format!("{path} of {} is no directory that it may write to", fact.task),
                "the task runs as a user who may not, or the file system is read-only",
                "give that user the directory",
            ));
        }
        let text = |name: &str| directory[name].as_str().unwrap_or_default().to_owned();
        seen.entry((text("number"), text("changed"))).or_default().push(&fact.task);
    }
    match seen.len() {
        0 => {}
        1 => {
            let who = seen.values().flatten().copied().collect::<Vec<_>>().join(", ");
            found.push(finding(Level::Fine, format!("{path} is one directory for {who}"), "", ""));
        }
        _ => {
            let groups = seen.values().map(|who| who.join(" and "));
            found.push(finding(
                Level::Warning,
                format!("{path} is not shared: it is another for {}", groups.collect::<Vec<_>>().join(", for ")),
                "what one task writes others do not see: a checkpoint of several tasks is in pieces",
                "mount one file system on all machines, or use a path of an object store",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tensorfleet_tensor::unavailable;

    use super::*;

    fn fact(task: &str, address: &str, told: Value) -> Fact {
        Fact {
            task: task.to_owned(),
            address: address.to_owned(),
            resolved: Ok(vec!["10.0.0.1".parse().unwrap()]),
            told: Ok(told),
            asked: 1000.0,
            round_trip: 0.1,
        }
    }

    fn answer(task: &str) -> Value {
        let (job, index) = task.split_once('/').unwrap();
        json!({
            "task": format!("/job:{job}/replica:0/task:{index}"),
            "version": "1", "at_seconds": 1000.05, "tls": false, "proxies": [],
            "cluster": {"ps": {"0": "a:1"}, "worker": {"0": "b:1"}},
            "peers": [], "paths": [],
        })
    }

    fn cluster() -> Cluster {
        vec![("ps/0".into(), "a:1".into()), ("worker/0".into(), "b:1".into())]
    }

    fn pair() -> [Fact; 2] {
        [fact("ps/0", "a:1", answer("ps/0")), fact("worker/0", "b:1", answer("worker/0"))]
    }

    /// What is not fine, a line each.
    fn found(facts: &[Fact], paths: &[&str], proxies: &Proxies) -> Vec<String> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let found = judge(&cluster(), facts, &paths, proxies);
        for finding in found.iter().filter(|finding| finding.level != Level::Fine) {
            assert!(!finding.cause.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
        }
        let bad = found.into_iter().filter(|finding| finding.level != Level::Fine);
        bad.map(|finding| format!("{}: {}", finding.level.name(), finding.what)).collect()
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut [Fact; 2]), expected: &[&str]) {
        let mut facts = pair();
        change(&mut facts);
        let found = found(&facts, &[], &Proxies::default());
        assert_eq!(found, expected);
    }

    fn told(fact: &mut Fact) -> &mut Value {
        fact.told.as_mut().unwrap()
    }

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        check(|_| {}, &[]);
    }

    #[test]
    fn each_thing_that_is_wrong_is_named() {
        check(
            |facts| facts[1].told = Err(unavailable!("b:1: connection refused")),
            &["error: worker/0 does not answer: b:1: connection refused"],
        );
        check(
            |facts| facts[1].resolved = Err("no such host".to_owned()),
            &["error: b, the host of worker/0, cannot be resolved: no such host"],
        );
        check(
            |facts| facts[1].resolved = Ok(vec!["127.0.1.1".parse().unwrap()]),
            &["warning: b, the host of worker/0, means this machine alone here"],
        );
        check(
            |facts| told(&mut facts[0])["task"] = json!("/job:ps/replica:0/task:1"),
            &["error: ps/1 answers at a:1, the address of ps/0"],
        );
        check(
            |facts| {
                told(&mut facts[0])["cluster"] =
                    json!({"ps": {"0": "a:1"}, "worker": {"0": "c:1", "1": "d:1"}})
            },
            &[
                "error: ps/0 was started with another cluster: worker/0 is at c:1 there and at b:1 here; \
               worker/1 is in it alone",
            ],
        );
        check(
            |facts| told(&mut facts[0])["version"] = json!("2"),
            &["warning: versions differ (1: worker/0; 2: ps/0)"],
        );
        check(
            |facts| {
                told(&mut facts[0])["at_seconds"] = json!(1003.0);
                told(&mut facts[1])["at_seconds"] = json!(900.0);
            },
            &[
                "warning: the clock of ps/0 is 2.9 s ahead of ours",
                "error: the clock of worker/0 is 100.0 s behind ours",
            ],
        );
        check(
            |facts| told(&mut facts[0])["tls"] = json!(true),
            &["error: 1 of 2 tasks speak TLS; worker/0 do not"],
        );
        check(
            |facts| {
                told(&mut facts[0])["certificate_expires_seconds"] = json!(1000.0 + 86400.0);
                told(&mut facts[1])["certificate_expires_seconds"] = json!(500.0);
            },
            &[
                "warning: the certificate of ps/0 ends in 1.0 days",
                "error: the certificate of worker/0 ended 0.0 days ago",
            ],
        );
    }

    #[test]
    fn tasks_that_do_not_reach_each_other_are_found() {
        let peer = |by: Value, code: Value| {
            json!([{"task": "/job:worker/replica:0/task:0", "address": "b:1", "answered_by": by,
                    "code": code, "error": "b:1: it does not answer"}])
        };
        check(
            |facts| told(&mut facts[0])["peers"] = peer(json!(null), json!("UNAVAILABLE")),
            &["error: ps/0 cannot reach worker/0: b:1: it does not answer"],
        );
        // TensorFlow's servers answer that they know no such service.
        check(
            |facts| told(&mut facts[0])["peers"] = peer(json!(null), json!("UNIMPLEMENTED")),
            &[],
        );
        let other = json!("/job:worker/replica:0/task:3");
        check(
            |facts| told(&mut facts[0])["peers"] = peer(other, json!(null)),
            &["error: ps/0 finds worker/3 at b:1, where worker/0 should be"],
        );
    }

    #[test]
    fn directories_are_compared() {
        let directory = |number: &str| {
            json!([{"path": "/ckpt", "is_directory": true, "is_writable": true, "number": number,
                    "changed": "5.0"}])
        };
        let mut facts = pair();
        for fact in &mut facts {
            told(fact)["paths"] = directory("7");
        }
        assert_eq!(found(&facts, &["/ckpt"], &Proxies::default()), Vec::<String>::new());
        told(&mut facts[0])["paths"] = directory("8");
        assert_eq!(
            found(&facts, &["/ckpt"], &Proxies::default()),
            ["warning: /ckpt is not shared: it is another for worker/0, for ps/0"]
        );
        told(&mut facts[0])["paths"] = json!([{"path": "/ckpt", "error": "No such file"}]);
        assert_eq!(
            found(&facts, &["/ckpt"], &Proxies::default()),
            ["error: ps/0 has no /ckpt: No such file"]
        );
    }

    #[test]
    fn proxies_are_told_of_unless_tasks_are_exempt() {
        let with = |except: &str| Proxies { set: vec!["http_proxy".into()], except: except.into() };
        let facts = pair();
        assert_eq!(found(&facts, &[], &with("")), ["warning: http_proxy is set here"]);
        assert_eq!(found(&facts, &[], &with("a, b")), Vec::<String>::new());
        assert!(with("example.org").covers("x.example.org"));
        assert!(!with("example.org").covers("badexample.org"));
    }

    #[test]
    fn two_tasks_need_two_addresses() {
        let cluster = vec![("ps/0".to_owned(), "a:1".to_owned()), ("ps/1".into(), "a:1".into())];
        let found = judge(&cluster, &[], &[], &Proxies::default());
        assert_eq!(found[0].what, "ps/0 and ps/1 have one address, a:1");
    }
}
