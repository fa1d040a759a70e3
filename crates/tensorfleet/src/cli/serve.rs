//! From arguments to a task: where the cluster comes from, which task this is, where it listens.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tensorfleet_cluster::Separation;
use tensorfleet_security::Files;
use tensorfleet_server::Durability;
use tensorfleet_spec::{Address, ClusterSpec, ServerSpec, Task, TfConfig};
use tensorfleet_tensor::{Context, Result, invalid_argument, not_found};

use super::arguments::ServeArguments;
use super::security::check_exposure;
use super::{Serve, Settings};

/// Puts arguments and the value of `TF_CONFIG` together. Arguments win.
pub(super) fn resolve(
    arguments: &ServeArguments,
    tf_config: Option<&str>,
    settings: Settings,
) -> Result<Serve> {
    if let Some(protocol) = &arguments.protocol {
        ServerSpec::check_protocol(protocol).context(|| "--protocol")?;
    }
    let spec = server_spec(arguments, tf_config)?;
    let address = spec.address().context(|| format!("address of {}", spec.task()))?;
    let bind = match &arguments.bind {
        Some(text) => bind_address(text, address).context(|| "--bind")?,
        None => address,
    };
    let session_timeout = Duration::from_secs(arguments.session_timeout);
    let failure_timeout = Duration::from_secs(arguments.failure_timeout);
    let http = http(arguments.http.as_deref())?;
    let slow_step = arguments.slow_step.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|error| invalid_argument!("--slow_step: {seconds}: {error}"))
    });
    let credentials = credentials(arguments)?;
    check_exposure(&spec, &bind, arguments.insecure || credentials.is_some())?;
    let guards = arguments.guards.resolve(&secrets(arguments))?;
    let ServeArguments { grpc_only, exit_with_parent, .. } = *arguments;
    let durability = arguments.durability.unwrap_or(Durability::Sync);
    let data = arguments.data_dir.clone().map(|directory| (directory, durability));
    let chief = arguments.exit_with_chief.map(|seconds| chief(&spec, seconds)).transpose()?;
    Ok(Serve {
        spec,
        bind,
        grpc_only,
        session_timeout,
        task_timeout: Duration::from_secs(arguments.task_timeout),
        failure_timeout,
        exit_with_parent,
        exit_when_idle: arguments.exit_when_idle.map(Duration::from_secs),
        exit_with_chief: chief,
        grace: Duration::from_secs(arguments.grace),
        http,
        slow_step: slow_step.transpose()?,
        credentials,
        separation: separation(arguments)?,
        allow_ops: arguments.allow_ops.clone(),
        deny_ops: arguments.deny_ops.clone(),
        guards,
        data,
        settings,
        backup: arguments.backup.clone(),
        restore_from: arguments.restore_from.clone(),
    })
}

/// Where the task is that leads the cluster, which must be another one.
fn chief(spec: &ServerSpec, seconds: u64) -> Result<(Address, Duration)> {
    let cluster = spec.cluster();
    let tasks = ["chief", "master", "worker"].into_iter();
    let found = tasks.filter_map(|job| Some((job, cluster.tasks_of(job).next()?))).next();
    let Some((job, (index, address))) = found else {
        return Err(invalid_argument!(
            "--exit_with_chief: the cluster has neither chief nor worker"
        ));
    };
    if *spec.task() == Task::new(job, index) {
        return Err(invalid_argument!("--exit_with_chief: this task is the chief itself"));
    }
    Ok((address.parse()?, Duration::from_secs(seconds)))
}

/// What clients must not reach: files by which they would get more than they were given.
fn secrets(arguments: &ServeArguments) -> Vec<(&'static str, &Path)> {
    let named = [
        ("--tls_cert", &arguments.tls.tls_cert),
        ("--tls_key", &arguments.tls.tls_key),
        ("--tls_ca", &arguments.tls.tls_ca),
        ("--tokens", &arguments.tokens),
        ("--data-dir", &arguments.data_dir),
    ];
    named.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?))).collect()
}

fn separation(arguments: &ServeArguments) -> Result<Separation> {
    let isolate = arguments.isolate_sessions;
    let mut rooms = BTreeMap::new();
    for given in &arguments.containers {
        let Some((name, room)) = given.split_once('=').filter(|(name, room)| {
            !name.is_empty() && !room.is_empty() && !room.contains(char::is_control)
        }) else {
            return Err(invalid_argument!("--containers: {given:?} is not NAME=CONTAINER"));
        };
        if rooms.insert(name.to_owned(), room.to_owned()).is_some() {
            return Err(invalid_argument!("--containers: {name} has two containers"));
        }
    }
    Ok(Separation { isolate, rooms })
}

fn credentials(arguments: &ServeArguments) -> Result<Option<Files>> {
    let tokens = arguments.tokens.clone();
    let Some(files) = arguments.tls.files()? else {
        return match tokens {
            Some(_) => Err(invalid_argument!("--tokens need TLS, or others could read them")),
            None => Ok(None),
        };
    };
    if files.certificate.is_none() {
        return Err(invalid_argument!("--tls_ca alone does not do: --tls_cert and --tls_key"));
    }
    Ok(Some(Files { tokens, ..files }))
}

fn server_spec(arguments: &ServeArguments, tf_config: Option<&str>) -> Result<ServerSpec> {
    let lists = host_lists(arguments);
    if let Some(path) = arguments.server_def.as_ref().or(arguments.server_def_path.as_ref()) {
        let mut others: Vec<&str> = lists.iter().map(|(flag, _)| *flag).collect();
        others.extend(arguments.cluster.as_ref().map(|_| "cluster"));
        others.extend(arguments.job_name.as_ref().map(|_| "job_name"));
        others.extend(arguments.task_index.as_ref().map(|_| "task_index"));
        if let Some(other) = others.first() {
            return Err(invalid_argument!(
                "--{other} cannot be used with a ServerDef file, which says the same of the task"
            ));
        }
        return ServerSpec::from_server_def(&read(path)?).context(|| path);
    }
    let (cluster, task) = if let Some(text) = &arguments.cluster {
        if let Some((flag, _)) = lists.first() {
            return Err(invalid_argument!(
                "--cluster and --{flag} both give the cluster; keep one"
            ));
        }
        (cluster_from_text(text)?, None)
    } else if !lists.is_empty() {
        (cluster_from_lists(lists)?, None)
    } else if let Some(text) = tf_config {
        let config = TfConfig::parse(text)?;
        (config.cluster, config.task)
    } else {
        return Err(invalid_argument!(
            "no cluster given: use --cluster, --ps_hosts and --worker_hosts, --server_def, or the \
             environment variable TF_CONFIG"
        ));
    };
    let task = choose_task(&cluster, arguments, task)?;
    ServerSpec::new(cluster, task)
}

fn read(path: &str) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| not_found!("cannot read `{path}`: {error}"))
}

/// Returns the lists of hosts that are given, by flag, which is also the name of the job.
fn host_lists(arguments: &ServeArguments) -> Vec<(&'static str, Vec<String>)> {
    let ServeArguments { ps, worker, chief, master, .. } = arguments;
    [("ps", ps), ("worker", worker), ("chief", chief), ("master", master)]
        .into_iter()
        // An empty list is how a script says that a job has no task.
        .map(|(flag, hosts)| {
            (flag, hosts.iter().filter(|host| !host.is_empty()).cloned().collect())
        })
        .filter(|(_, hosts): &(_, Vec<String>)| !hosts.is_empty())
        .collect()
}

fn cluster_from_lists(lists: Vec<(&'static str, Vec<String>)>) -> Result<ClusterSpec> {
    let has = |name| lists.iter().any(|(flag, _)| *flag == name);
    if has("chief") && has("master") {
        return Err(invalid_argument!("--chief and --master are two names for one job; keep one"));
    }
    for (flag, hosts) in &lists {
        for host in hosts {
            host.parse::<Address>().context(|| format!("--{flag}"))?;
        }
    }
    ClusterSpec::from_lists(lists)
}

pub(crate) fn cluster_from_text(text: &str) -> Result<ClusterSpec> {
    if text.trim_start().starts_with('{') {
        return ClusterSpec::from_json("cluster", text);
    }
    let content = String::from_utf8(read(text).context(|| "--cluster is no JSON object, and")?)
        .map_err(|_| invalid_argument!("--cluster: `{text}` is not a text file"))?;
    ClusterSpec::from_json(text, &content)
}

fn choose_task(
    cluster: &ClusterSpec,
    arguments: &ServeArguments,
    configured: Option<Task>,
) -> Result<Task> {
    let job = match (&arguments.job_name, &configured) {
        (Some(job), _) => cluster.resolve_job(job).context(|| "--job_name")?.to_owned(),
        (None, Some(task)) => task.job.clone(),
        (None, None) => {
            let mut tasks = cluster.tasks();
            match (tasks.next(), tasks.next()) {
                (Some((only, _)), None) => only.job,
                _ => {
                    let jobs: Vec<&str> = cluster.jobs().collect();
                    let jobs = jobs.join(", ");
                    return Err(invalid_argument!("--job_name is missing; the jobs are {jobs}"));
                }
            }
        }
    };
    let index = match (arguments.task_index, configured) {
        (Some(index), _) => index,
        (None, Some(task)) if task.job == job => task.index,
        (None, _) => {
            let mut tasks = cluster.tasks_of(&job);
            match (tasks.next(), tasks.next()) {
                (Some((only, _)), None) => only,
                _ => {
                    let count = cluster.tasks_of(&job).count();
                    return Err(invalid_argument!(
                        "--task_index is missing; job `{job}` has {count} tasks"
                    ));
                }
            }
        }
    };
    let task = Task::new(job, index);
    cluster.address(&task).context(|| "--task_index")?;
    Ok(task)
}

/// The value of --http, if it is given.
pub(super) fn http(text: Option<&str>) -> Result<Option<Address>> {
    text.map(http_address).transpose().context(|| "--http")
}

/// Reads `PORT`, `:PORT` or `HOST:PORT`; without a host only this machine gets an answer.
fn http_address(text: &str) -> Result<Address> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if port.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("127.0.0.1:{port}").parse();
    }
    text.parse()
}

/// Reads `HOST`, `HOST:PORT` or `:PORT`; what is left out is that of the task's address.
fn bind_address(text: &str, address: Address) -> Result<Address> {
    if let Some(port) = text.strip_prefix(':').filter(|port| !port.contains(':')) {
        let bind: Address = format!("host:{port}").parse()?;
        return Ok(Address { port: bind.port, ..address });
    }
    let is_host_only = !text.contains(':') || (text.starts_with('[') && text.ends_with(']'));
    if is_host_only {
        let bind: Address = format!("{text}:{}", address.port).parse()?;
        return Ok(bind);
    }
    text.parse()
}

#[cfg(test)]
mod tests;
