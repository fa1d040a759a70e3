//! Which tasks a launched cluster has, and what each is started as.

use std::net::{Ipv4Addr, TcpListener};

use tensorfleet_spec::{ClusterSpec, Task};
use tensorfleet_tensor::{Result, unavailable};

use super::Launch;

/// A process to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) task: Task,
    /// Whether it is a tensorfleet server; else it is the program.
    pub(super) serves: bool,
    pub(super) arguments: Vec<String>,
    pub(super) environment: Vec<(&'static str, String)>,
}

/// The processes of a cluster on free ports of this machine, servers first. `own` starts this program.
pub(super) fn processes(launch: &Launch, own: &[String]) -> Result<Vec<Process>> {
    let cluster = free_ports(&jobs(launch))?;
    let mut tasks: Vec<Task> = cluster.tasks().map(|(task, _)| task).collect();
    if launch.evaluator {
        tasks.push(Task::new("evaluator", 0));
    }
    let mut processes: Vec<Process> = tasks
        .into_iter()
        .map(|task| {
            let serves = is_served(launch, &task.job);
            if serves { server(&cluster, task, own) } else { program(launch, &cluster, task) }
        })
        .collect();
    processes.sort_by_key(|process| !process.serves);
    Ok(processes)
}

fn jobs(launch: &Launch) -> Vec<(&'static str, u32)> {
    let chief = u32::from(launch.chief || launch.client);
    let jobs = [("chief", chief), ("ps", launch.ps), ("worker", launch.workers)];
    jobs.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn is_served(launch: &Launch, job: &str) -> bool {
    job == "ps" || (launch.client && job == "worker")
}

/// All ports are held until the last one is known, so that no two tasks get the same.
fn free_ports(jobs: &[(&str, u32)]) -> Result<ClusterSpec> {
    let mut cluster = ClusterSpec::default();
    let mut held = Vec::new();
    for (job, count) in jobs {
        for index in 0..*count {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
            let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
            let (address, listener) =
                bound.map_err(|error| unavailable!("no free port on this machine: {error}"))?;
            cluster.insert(Task::new(*job, index), format!("localhost:{}", address.port()))?;
            held.push(listener);
        }
    }
    Ok(cluster)
}

fn server(cluster: &ClusterSpec, task: Task, own: &[String]) -> Process {
    let mut arguments = own.to_vec();
    arguments.extend([
        "serve".to_owned(),
        format!("--cluster={}", cluster.to_json()),
        format!("--job_name={}", task.job),
        format!("--task_index={}", task.index),
        "--exit_with_parent".to_owned(),
    ]);
    Process { task, serves: true, arguments, environment: Vec::new() }
}

fn program(launch: &Launch, cluster: &ClusterSpec, task: Task) -> Process {
    let hosts =
        |job: &str| cluster.tasks_of(job).map(|(_, address)| address).collect::<Vec<_>>().join(",");
    let mut arguments = launch.program.clone();
    if launch.flags {
        arguments.push(format!("--job_name={}", task.job));
        arguments.push(format!("--task_index={}", task.index));
        for job in cluster.jobs() {
            arguments.push(format!("--{job}_hosts={}", hosts(job)));
        }
    }
    let config = format!(
        r#"{{"cluster": {}, "task": {{"type": "{}", "index": {}}}}}"#,
        cluster.to_json(),
        task.job,
        task.index
    );
    let mut environment = vec![("TF_CONFIG", config)];
    // A program may open its session on a server of ours; else it makes a server of its own.
    if launch.client
        && let Some((_, address)) = cluster.tasks_of("worker").next()
    {
        environment.push(("TENSORFLEET_TARGET", format!("grpc://{address}")));
    }
    Process { task, serves: false, arguments, environment }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(workers: u32, ps: u32) -> Launch {
        let program = vec!["python".to_owned(), "model.py".to_owned()];
        Launch { workers, ps, program, ..Launch::default() }
    }

    fn summary(launch: &Launch) -> Vec<String> {
        let own = ["tensorfleet".to_owned()];
        let made = processes(launch, &own).unwrap();
        let line = |process: &Process| {
            let Process { task, arguments, .. } = process;
            format!("{}/{} {}", task.job, task.index, arguments[..2].join(" "))
        };
        made.iter().map(line).collect()
    }

    #[test]
    fn parameter_servers_are_ours_and_the_rest_is_the_program() {
        assert_eq!(
            summary(&Launch { chief: true, evaluator: true, ..launch(1, 1) }),
            [
                "ps/0 tensorfleet serve",
                "chief/0 python model.py",
                "worker/0 python model.py",
                "evaluator/0 python model.py"
            ]
        );
    }

    #[test]
    fn one_client_drives_servers() {
        let client = Launch { client: true, ..launch(2, 1) };
        assert_eq!(
            summary(&client),
            [
                "ps/0 tensorfleet serve",
                "worker/0 tensorfleet serve",
                "worker/1 tensorfleet serve",
                "chief/0 python model.py"
            ]
        );
        let made = processes(&client, &["tensorfleet".to_owned()]).unwrap();
        let names: Vec<&str> = made[3].environment.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["TF_CONFIG", "TENSORFLEET_TARGET"]);
        assert!(made[3].environment[0].1.ends_with(r#""task": {"type": "chief", "index": 0}}"#));
    }

    #[test]
    fn flags_of_the_tutorials_are_given_on_request() {
        let made = processes(&Launch { flags: true, ..launch(2, 1) }, &[]).unwrap();
        let arguments = &made[1].arguments;
        assert_eq!(arguments[2..4], ["--job_name=worker", "--task_index=0"]);
        assert!(arguments[4].starts_with("--ps_hosts=localhost:"), "{arguments:?}");
        assert_eq!(arguments[5].matches("localhost:").count(), 2, "{arguments:?}");
    }
}
