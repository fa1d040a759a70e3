//! Arguments about what clients may take of a task and of its machine.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tensorfleet_security::audit::Audit;
use tensorfleet_server::{Config, Quotas, sensible_quotas};
use tensorfleet_tensor::{Result, invalid_argument};

#[derive(Clone, Debug, Default, Args)]
pub(super) struct GuardArguments {
    /// Directory whose files ops may use, or prefix of object storage as s3://bucket/prefix; may be given
    /// several times. Nothing else is reached, by links either. Without it ops reach all files, and with
    /// TLS none
    #[arg(
        long = "fs-root",
        alias = "fs_root",
        value_name = "DIRECTORY",
        help_heading = "Security"
    )]
    fs_root: Vec<String>,
    /// File to which a line of JSON is added for each session, context, reset, drain, stop and refusal, and
    /// for each change of credentials; each line holds the hash of the one before
    #[arg(long = "audit-log", alias = "audit_log", value_name = "PATH", help_heading = "Security")]
    audit_log: Option<PathBuf>,
    /// Memory that clients may hold on this task, as 12G or 500M: above it steps fail that want more
    /// [default: 85 per cent of the container's or machine's]
    #[arg(long = "memory-limit", alias = "memory_limit", value_name = "BYTES", value_parser = bytes,
          help_heading = LIMITS)]
    memory_limit: Option<usize>,
    /// Memory of one identity
    #[arg(long = "identity-memory-limit", alias = "identity_memory_limit", value_name = "BYTES",
          value_parser = bytes, help_heading = LIMITS)]
    identity_memory_limit: Option<usize>,
    /// Memory of one session or context
    #[arg(long = "session-memory-limit", alias = "session_memory_limit", value_name = "BYTES",
          value_parser = bytes, help_heading = LIMITS)]
    session_memory_limit: Option<usize>,
    /// Sessions that one identity may have open [default: 10000]
    #[arg(long = "max-sessions", alias = "max_sessions", value_name = "N", help_heading = LIMITS)]
    max_sessions: Option<usize>,
    /// Sessions that one identity may open in a minute [default: 60000]
    #[arg(long = "max-new-sessions", alias = "max_new_sessions", value_name = "N",
          help_heading = LIMITS)]
    max_new_sessions: Option<usize>,
    /// Contexts of TensorFlow 2 clients that one identity may have [default: 10000]
    #[arg(long = "max-contexts", alias = "max_contexts", value_name = "N", help_heading = LIMITS)]
    max_contexts: Option<usize>,
    /// Partial runs of one session that may be under way [default: 10000]
    #[arg(long = "max-partial-runs", alias = "max_partial_runs", value_name = "N",
          help_heading = LIMITS)]
    max_partial_runs: Option<usize>,
    /// Nodes of the graph of one session, functions included [default: 20000000]
    #[arg(long = "max-graph-nodes", alias = "max_graph_nodes", value_name = "N",
          help_heading = LIMITS)]
    max_graph_nodes: Option<usize>,
    /// Different steps of one session that stay planned; those not used for the longest time go
    /// [default: 100000]
    #[arg(long = "max-signatures", alias = "max_signatures", value_name = "N", help_heading = LIMITS)]
    max_signatures: Option<usize>,
    /// Connections that one address may have at a time [default: 2000, and any number for this machine]
    #[arg(long = "max-connections-per-address", alias = "max_connections_per_address",
          value_name = "N", help_heading = LIMITS)]
    max_connections_per_address: Option<usize>,
}

const LIMITS: &str = "Limits";

/// What to do with audit logs.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum AuditCommand {
    /// Follow the hashes of a log, and say whether and where it was changed
    Verify {
        /// The log
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
}

/// What clients may take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// Where the files are that ops may use, if these are not all.
    pub fs_roots: Vec<String>,
    pub audit_log: Option<PathBuf>,
    pub quotas: Option<Quotas>,
    pub connections_per_address: Option<usize>,
}

impl GuardArguments {
    /// Checks the arguments. `secrets` are files that must stay out of reach, by flag.
    pub(super) fn resolve(&self, secrets: &[(&'static str, &Path)]) -> Result<Guards> {
        let log = self.audit_log.as_deref().map(|path| ("--audit-log", path));
        let secrets: Vec<_> = secrets.iter().copied().chain(log).collect();
        for root in &self.fs_root {
            check_apart(root, &secrets)?;
        }
        let fs_roots = self.fs_root.clone();
        Ok(Guards {
            fs_roots,
            audit_log: self.audit_log.clone(),
            quotas: self.quotas(),
            connections_per_address: self.max_connections_per_address,
        })
    }

    /// The limits, if any is given.
    fn quotas(&self) -> Option<Quotas> {
        let sensible = sensible_quotas();
        let given = Quotas {
            memory: self.memory_limit.unwrap_or(sensible.memory),
            memory_per_identity: self.identity_memory_limit.unwrap_or(usize::MAX),
            memory_per_session: self.session_memory_limit.unwrap_or(usize::MAX),
            sessions: self.max_sessions.unwrap_or(sensible.sessions),
            new_sessions: self.max_new_sessions.unwrap_or(sensible.new_sessions),
            contexts: self.max_contexts.unwrap_or(sensible.contexts),
            partial_runs: self.max_partial_runs.unwrap_or(sensible.partial_runs),
            graph_nodes: self.max_graph_nodes.unwrap_or(sensible.graph_nodes),
            signatures: self.max_signatures.unwrap_or(sensible.signatures),
        };
        (given != sensible).then_some(given)
    }
}

/// Reads a number of bytes, as `500M` or `12GiB`.
fn bytes(text: &str) -> std::result::Result<usize, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let shift =
        match unit.trim_end_matches("iB").trim_end_matches('B').to_ascii_uppercase().as_str() {
            "" => 0,
            "K" => 10,
            "M" => 20,
            "G" => 30,
            "T" => 40,
            _ => return Err(format!("{unit:?} is no unit: K, M, G or T")),
        };
    let number: usize = number.parse().map_err(|_| format!("{text:?} is no number of bytes"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("{text} are too many bytes"))
}

impl Guards {
    /// The configuration with these guards.
    pub(crate) fn apply(self, mut config: Config) -> Result<Config> {
        for root in self.fs_roots {
            config = config.fs_root(root);
        }
        if let Some(path) = self.audit_log {
            config = config.audit(Audit::open(&path)?);
        }
        if let Some(quotas) = self.quotas {
            config = config.quotas_of_clients(quotas);
        }
        if let Some(most) = self.connections_per_address {
            config = config.connections_per_address(most);
        }
        Ok(config)
    }
}

/// Refuses a directory of clients with something in it that would give them more.
fn check_apart(root: &str, secrets: &[(&'static str, &Path)]) -> Result<()> {
    let real = |path: &Path| -> PathBuf {
        let known = path.ancestors().find_map(|above| {
            let rest = path.strip_prefix(above).ok()?;
            Some(std::fs::canonicalize(above).ok()?.join(rest))
        });
        known.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_owned())
    };
    let directory = real(Path::new(root.strip_prefix("file://").unwrap_or(root)));
    match secrets.iter().find(|(_, secret)| real(secret).starts_with(&directory)) {
        Some((flag, secret)) => Err(invalid_argument!(
            "--fs-root={root} would let clients read and write {}, which is what {flag} names",
            secret.display()
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, want) in
            [("5", 5), ("5K", 5 << 10), ("5MiB", 5 << 20), ("12GB", 12 << 30), ("1t", 1 << 40)]
        {
            assert_eq!(bytes(text), Ok(want), "{text}");
        }
        for text in ["", "G", "5X", "-5", "99999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_are_not_handed_out() {
        let directory =
            std::env::temp_dir().join(format!("tensorfleet-guards-{}", std::process::id()));
        std::fs::create_dir_all(directory.join("room/inner")).unwrap();
        std::os::unix::fs::symlink("room", directory.join("alias")).ok();
        let path = |name: &str| directory.join(name);
        for (secret, is_refused) in [
            ("key.pem", false),
            ("room2/key.pem", false),
            ("room/key.pem", true),
            ("room/inner/missing/key.pem", true),
            ("alias/key.pem", true),
        ] {
            let secret = path(secret);
            let root = path("room").display().to_string();
            let found = check_apart(&root, &[("--tls_key", &secret)]);
            assert_eq!(found.is_err(), is_refused, "{}", secret.display());
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
