//! The commands about certificates and tokens.

use std::path::Path;
use std::time::Duration;

use tensorfleet_security::authority::{Authority, Issued};
use tensorfleet_security::certificate::{Certificate, task_name, written};
use tensorfleet_security::{Credentials, Files, Role, tokens};
use tensorfleet_server::Config;
use tensorfleet_spec::{Address, ClusterSpec, Task};
use tensorfleet_tensor::{Result, failed_precondition, invalid_argument};

use crate::cli::{Certs, Tokens, cluster_from_text};

/// How long a task may take to answer when it is looked at.
const PATIENCE: Duration = Duration::from_secs(10);

/// Does what was asked with certificates, and returns what to print.
pub(crate) fn certs(certs: Certs) -> Result<String> {
    match certs {
        Certs::Init { dir, cluster, days } => {
            let authority = Authority::init(&dir, &cluster, days)?;
            Ok(format!("--tls_ca={}\n", authority.root().display()))
        }
        Certs::Issue { dir, job, task, host, name, role, days } => {
            let authority = Authority::open(&dir)?;
            let issued = match (job, name) {
                (Some(job), _) => authority.issue_task(&job, task.unwrap_or(0), &host, days)?,
                (None, name) => authority.issue_client(&name.unwrap_or_default(), role, days)?,
            };
            Ok(flags(&authority, &issued))
        }
        Certs::Renew { dir, certificates } => {
            let authority = Authority::open(&dir)?;
            let renewed =
                certificates.iter().map(|path| Ok(flags(&authority, &authority.renew(path)?)));
            renewed.collect()
        }
        Certs::Inspect { certificates } => certificates
            .iter()
            .map(|path| Ok(describe(path, &Certificate::from_file(path)?)))
            .collect(),
        Certs::Verify { cluster, tls } => {
            let needed =
                || invalid_argument!("--tls_ca is missing: whose certificate may be trusted?");
            verify(&cluster_from_text(&cluster)?, tls.files()?.ok_or_else(needed)?)
        }
    }
}

/// What `serve` takes.
fn flags(authority: &Authority, issued: &Issued) -> String {
    format!(
        "--tls_cert={} --tls_key={} --tls_ca={}\n",
        issued.certificate.display(),
        issued.key.display(),
        authority.root().display()
    )
}

fn describe(path: &Path, certificate: &Certificate) -> String {
    let Certificate { hosts, member, not_before, not_after, .. } = certificate;
    let who = match member {
        Some(member) => member.to_string(),
        None => "nobody that a server knows".to_owned(),
    };
    let hosts = if hosts.is_empty() { "none: a client's".to_owned() } else { hosts.join(", ") };
    format!(
        "{}\n  who:         {who}\n  hosts:       {hosts}\n  authority:   {}\n  signed by:   {}\n  \
         valid from:  {}\n  valid until: {}\n  sha256:      {}\n",
        path.display(),
        if certificate.is_authority { "yes" } else { "no" },
        certificate.issuer,
        written(*not_before),
        written(*not_after),
        certificate.fingerprint,
    )
}

/// Looks at all tasks of a cluster, and tells of each.
fn verify(cluster: &ClusterSpec, files: Files) -> Result<String> {
    let credentials = Credentials::load(files)?;
    let host = Config::default().host()?;
    let (mut report, mut failures) = (String::new(), 0);
    for (task, address) in cluster.tasks() {
        let credentials = std::sync::Arc::clone(&credentials);
        let target: Address = address.parse()?;
        let looked = host.wait(async move {
            let probe = credentials.probe(&target.host, target.port);
            match tokio::time::timeout(PATIENCE, probe).await {
                Ok(outcome) => outcome.map_err(|error| error.to_string()),
                Err(_) => Err("it does not answer".to_owned()),
            }
        })?;
        match looked.and_then(|shown| good_for(&task, shown)) {
            Ok(until) => report += &format!("{task} {address} ok until {until}\n"),
            Err(why) => {
                failures += 1;
                report += &format!("{task} {address} {why}\n");
            }
        }
    }
    if failures == 0 {
        return Ok(report);
    }
    Err(failed_precondition!("{failures} tasks cannot be trusted:\n{report}"))
}

/// Until when a certificate is good for a task.
fn good_for(task: &Task, shown: Certificate) -> std::result::Result<String, String> {
    let name = task_name(&task.job, task.index);
    match shown.member {
        Some(member) if member.identity.role == Role::Peer && *member.identity.name == *name => {
            Ok(written(shown.not_after))
        }
        Some(member) => Err(format!("its certificate is that of {member}")),
        None => Err("its certificate is that of no task".to_owned()),
    }
}

/// Does what was asked with tokens, and returns what to print.
pub(crate) fn tokens(command: Tokens) -> Result<String> {
    match command {
        Tokens::Add { name, role, days, file } => Ok(tokens::add(&file, &name, role, days)? + "\n"),
        Tokens::List { file } => {
            let known = tokens::Tokens::from_file(&file)?;
            let line = |token: &tokens::Token| {
                let identity = &token.identity;
                format!("{} {} until {}\n", identity.name, identity.role, written(token.until))
            };
            Ok(known.iter().map(line).collect())
        }
        Tokens::Remove { name, file } => {
            tokens::remove(&file, &name)?;
            Ok(String::new())
        }
    }
}
