//! Arguments about who gets in: TLS, certificates, tokens, and the proxy.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tensorfleet_security::{Files, Role};
use tensorfleet_spec::{Address, ServerSpec};
use tensorfleet_tensor::{Result, invalid_argument};

/// Which certificate is shown, and whose are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct TlsArguments {
    /// Certificate of this task or client, in PEM
    #[arg(long = "tls_cert", value_name = "PATH", help_heading = SECURITY)]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate, in PEM
    #[arg(long = "tls_key", value_name = "PATH", help_heading = SECURITY)]
    pub tls_key: Option<PathBuf>,
    /// Certificates of the authorities to trust, in PEM
    #[arg(long = "tls_ca", value_name = "PATH", help_heading = SECURITY)]
    pub tls_ca: Option<PathBuf>,
    /// Speak TLS 1.2 too, and not 1.3 alone
    #[arg(long, help_heading = SECURITY)]
    pub tls12: bool,
}

const SECURITY: &str = "Security";

impl TlsArguments {
    /// The files that are named; nothing if none are.
    pub(crate) fn files(&self) -> Result<Option<Files>> {
        let TlsArguments { tls_cert, tls_key, tls_ca, tls12 } = self;
        let Some(authorities) = tls_ca.clone() else {
            if tls_cert.is_some() || tls_key.is_some() {
                return Err(invalid_argument!("--tls_cert and --tls_key need --tls_ca"));
            }
            return Ok(None);
        };
        if tls_cert.is_some() != tls_key.is_some() {
            return Err(invalid_argument!("--tls_cert and --tls_key come together"));
        }
        let (certificate, key) = (tls_cert.clone(), tls_key.clone());
        Ok(Some(Files { certificate, key, authorities, tls12: *tls12, ..Files::default() }))
    }
}

/// What to do with certificates.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Certs {
    /// Make an authority for a cluster
    Init {
        /// Directory for its certificate and key, and for those that it issues
        #[arg(long, value_name = "PATH", default_value = "certs")]
        dir: PathBuf,
        /// Name of the cluster: certificates of another one are not let in
        #[arg(long, value_name = "NAME", default_value = "fleet")]
        cluster: String,
        /// How long it is good for
        #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=7300))]
        days: u32,
    },
    /// Issue the certificate of a task (--job, --task, --host) or of a client (--name, --role)
    Issue {
        /// Directory of the authority
        #[arg(long, value_name = "PATH", default_value = "certs")]
        dir: PathBuf,
        /// Job of the task
        #[arg(long, value_name = "JOB", requires = "task", conflicts_with_all = ["name", "role"])]
        job: Option<String>,
        /// Number of the task in its job
        #[arg(long, value_name = "N", requires = "job")]
        task: Option<u32>,
        /// Name or address that others reach the task by; may be given several times
        #[arg(long, value_name = "HOST", requires = "job")]
        host: Vec<String>,
        /// Name of the client
        #[arg(long, value_name = "NAME", required_unless_present = "job")]
        name: Option<String>,
        /// What the client may do: trainer, reader, operator or admin
        #[arg(long, value_name = "ROLE", default_value = "trainer")]
        role: Role,
        /// How long it is good for
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=7300))]
        days: u32,
    },
    /// Issue certificates again, with new keys, for as long again; servers read them while they run
    Renew {
        /// Directory of the authority
        #[arg(long, value_name = "PATH", default_value = "certs")]
        dir: PathBuf,
        /// Certificates
        #[arg(required = true, value_name = "CERTIFICATE")]
        certificates: Vec<PathBuf>,
    },
    /// Show what certificates say
    Inspect {
        /// Certificates
        #[arg(required = true, value_name = "CERTIFICATE")]
        certificates: Vec<PathBuf>,
    },
    /// Connect to every task of a running cluster and check its certificate
    Verify {
        /// Cluster as JSON, {"job": ["host:port", ...]}, or the path of a file with it
        #[arg(value_name = "CLUSTER")]
        cluster: String,
        #[command(flatten)]
        tls: TlsArguments,
    },
}

/// What to do with tokens.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Tokens {
    /// Make a token and print it; the file keeps its hash alone
    Add {
        /// Who it is for
        #[arg(value_name = "NAME")]
        name: String,
        /// What that one may do: trainer, reader, operator or admin
        #[arg(long, value_name = "ROLE", default_value = "trainer")]
        role: Role,
        /// How long it is good for
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=7300))]
        days: u32,
        /// The file that `serve --tokens` reads
        #[arg(long, value_name = "PATH", default_value = "tokens")]
        file: PathBuf,
    },
    /// Show who has a token, and until when
    List {
        /// The file that `serve --tokens` reads
        #[arg(long, value_name = "PATH", default_value = "tokens")]
        file: PathBuf,
    },
    /// Take a token back; servers that run notice within a second or two
    Remove {
        /// Whose it is
        #[arg(value_name = "NAME")]
        name: String,
        /// The file that `serve --tokens` reads
        #[arg(long, value_name = "PATH", default_value = "tokens")]
        file: PathBuf,
    },
}

pub(super) const PROXY_ABOUT: &str = "\
Give TensorFlow's clients, which speak neither TLS nor tokens, a way to a server that wants them.

Listens on this machine, prints the target for sessions and eager contexts, and carries what comes to
the server over TLS. With a grpc:// target it is the way in for a TensorFlow server on this machine:
it listens for tasks of the cluster, over TLS, and carries what they say to that server in plaintext.

Examples:
  tensorfleet proxy --target=grpcs://trainer.example:2222 --tls_ca=ca.pem --token_file=alice.token
  tensorfleet proxy --target=grpc://127.0.0.1:3333 --listen=0.0.0.0:2222 --tls_ca=ca.pem \\
      --tls_cert=worker-0.pem --tls_key=worker-0-key.pem";

#[derive(Debug, Args)]
pub(super) struct ProxyArguments {
    /// Server to carry to, as grpcs://HOST:PORT, or grpc://HOST:PORT for one of this machine
    #[arg(long, value_name = "TARGET")]
    target: String,
    /// Where to listen: HOST:PORT, or unix:PATH
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: String,
    /// File with the token that is shown to the server
    #[arg(long = "token_file", value_name = "PATH", help_heading = SECURITY)]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    tls: TlsArguments,
}

/// How to run a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    pub target: Address,
    pub listen: Listen,
    pub direction: Direction,
    pub files: Files,
}

/// Where a proxy listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    Port(Address),
    Socket(PathBuf),
}

/// On which side of a proxy TLS is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From clients of this machine to a server that wants TLS.
    Out,
    /// From tasks of the cluster to a server of this machine that cannot.
    In,
}

pub(super) fn proxy(arguments: &ProxyArguments) -> Result<Proxy> {
    let ProxyArguments { target, listen, token_file, tls } = arguments;
    let (direction, target) = match target.split_once("://") {
        Some(("grpcs", address)) => (Direction::Out, address),
        Some(("grpc", address)) => (Direction::In, address),
        _ => {
            return Err(invalid_argument!("--target {target:?} is neither grpcs:// nor grpc://"));
        }
    };
    let target: Address = target.parse()?;
    let listen = match listen.strip_prefix("unix:") {
        Some(path) => Listen::Socket(path.into()),
        None => Listen::Port(listen.parse()?),
    };
    let Some(files) = tls.files()? else {
        return Err(invalid_argument!("--tls_ca is missing: whose certificate may be trusted?"));
    };
    match (direction, &listen) {
        (Direction::Out, Listen::Port(address)) if !is_loopback(&address.host) => {
            return Err(invalid_argument!(
                "--listen {address} would let other machines use these credentials; listen on \
                 127.0.0.1 or unix:PATH"
            ));
        }
        (Direction::In, _) if !is_loopback(&target.host) => {
            return Err(invalid_argument!(
                "--target grpc://{target} is another machine, which would be spoken to in plaintext"
            ));
        }
        (Direction::In, Listen::Socket(_)) => {
            return Err(invalid_argument!("tasks of the cluster need a port: --listen HOST:PORT"));
        }
        (Direction::In, _) if files.certificate.is_none() => {
            return Err(invalid_argument!("--tls_cert and --tls_key are missing"));
        }
        (Direction::In, _) if token_file.is_some() => {
            return Err(invalid_argument!("--token_file is for a grpcs:// target"));
        }
        _ => {}
    }
    Ok(Proxy { target, listen, direction, files: Files { token: token_file.clone(), ..files } })
}

/// Refuses to serve other machines in plaintext, unless that is wanted.
pub(super) fn check_exposure(spec: &ServerSpec, bind: &Address, is_wanted: bool) -> Result<()> {
    if is_wanted {
        return Ok(());
    }
    let task = spec.task();
    let address = |text: &str| text.parse::<Address>().map(|address| address.host);
    let other = spec
        .cluster()
        .tasks()
        .find_map(|(_, text)| address(text).ok().filter(|host| !is_loopback(host)));
    let other = other.or_else(|| (!is_loopback(&bind.host)).then(|| bind.host.clone()));
    let Some(host) = other else { return Ok(()) };
    Err(invalid_argument!(
        "without TLS everybody who reaches the port may run code, and {host} is not this machine \
         alone: make certificates with `tensorfleet certs init` and `tensorfleet certs issue --job \
         {} --task {} --host HOST`, or say --insecure",
        task.job,
        task.index
    ))
}

/// Whether a host means this machine, and can be reached by no other.
fn is_loopback(host: &str) -> bool {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match host.parse::<std::net::IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_this_machine() {
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["0.0.0.0", "::", "10.0.0.1", "worker-0", "localhost.example", ""] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
