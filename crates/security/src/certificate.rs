//! What a certificate says.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tensorfleet_tensor::{Result, invalid_argument};
use tensorfleet_transport::{Identity, Role};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::pem;

/// What comes before the cluster in the name that says who somebody is.
const SCHEME: &str = "tensorfleet://";

/// A certificate, read.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Names and addresses that it is good for as a server's.
    pub hosts: Vec<String>,
    /// Names of the form `tensorfleet://cluster/role/name`.
    pub member: Option<Member>,
    pub not_before: SystemTime,
    pub not_after: SystemTime,
    pub subject: String,
    pub issuer: String,
    pub is_authority: bool,
    /// The SHA-256 of the whole.
    pub fingerprint: String,
}

/// Who the holder of a certificate is, in which cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub cluster: String,
    pub identity: Identity,
}

impl Member {
    /// A task of a cluster.
    pub fn task(cluster: &str, job: &str, task: u32) -> Member {
        let identity = Identity::new(task_name(job, task), Role::Peer);
        Member { cluster: cluster.to_owned(), identity }
    }

    /// Reads a name of the form `tensorfleet://cluster/role/name`.
    pub fn parse(uri: &str) -> Option<Member> {
        let (cluster, rest) = uri.strip_prefix(SCHEME)?.split_once('/')?;
        let (role, name) = rest.split_once('/')?;
        if cluster.is_empty() || name.is_empty() {
            return None;
        }
        let identity = Identity::new(name, role.parse().ok()?);
        Some(Member { cluster: cluster.to_owned(), identity })
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Member { cluster, identity } = self;
        write!(f, "{SCHEME}{cluster}/{}/{}", identity.role, identity.name)
    }
}

/// By which name a certificate knows a task.
pub fn task_name(job: &str, task: u32) -> String {
    format!("{job}/{task}")
}

impl Certificate {
    /// Reads the first certificate of a file.
    pub fn from_file(path: &Path) -> Result<Certificate> {
        let found = pem::certificates(path)?;
        let first = found.first().map(AsRef::as_ref).unwrap_or_default();
        Certificate::from_der(first)
            .ok_or_else(|| invalid_argument!("{} holds a broken certificate", path.display()))
    }

    /// Reads a certificate; nothing if it is none.
    pub fn from_der(der: &[u8]) -> Option<Certificate> {
        let (_, parsed) = X509Certificate::from_der(der).ok()?;
        let (mut hosts, mut member) = (Vec::new(), None);
        let names = parsed.subject_alternative_name().ok()?;
        for name in names.iter().flat_map(|names| &names.value.general_names) {
            match name {
                GeneralName::DNSName(name) => hosts.push((*name).to_owned()),
                GeneralName::IPAddress(bytes) => hosts.extend(address(bytes)),
                // The first one counts, as the authority wrote it.
                GeneralName::URI(uri) => member = member.or_else(|| Member::parse(uri)),
                _ => {}
            }
        }
        let digest = ring::digest::digest(&ring::digest::SHA256, der);
        Some(Certificate {
            hosts,
            member,
            not_before: moment(parsed.validity().not_before.timestamp()),
            not_after: moment(parsed.validity().not_after.timestamp()),
            subject: parsed.subject().to_string(),
            issuer: parsed.issuer().to_string(),
            is_authority: parsed.is_ca(),
            fingerprint: digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    let address = match *bytes {
        [a, b, c, d] => IpAddr::from([a, b, c, d]),
        _ => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
    };
    Some(address.to_string())
}

fn moment(seconds: i64) -> SystemTime {
    let since = Duration::from_secs(seconds.unsigned_abs());
    let begin = SystemTime::UNIX_EPOCH;
    if seconds < 0 { begin.checked_sub(since) } else { begin.checked_add(since) }.unwrap_or(begin)
}

/// A time as people and programs read it.
pub fn written(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time).truncate_to_second();
    time.format(&Rfc3339).unwrap_or_else(|_| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_named_in_uris() {
        let task = Member::task("fleet", "ps", 3);
        assert_eq!(task.to_string(), "tensorfleet://fleet/peer/ps/3");
        assert_eq!(Member::parse(&task.to_string()), Some(task));
        for text in [
            "tensorfleet://fleet/peer/",
            "tensorfleet:///peer/ps/3",
            "tensorfleet://fleet/root/ps/3",
            "tensorfleet://fleet",
            "https://fleet/peer/ps/3",
        ] {
            assert_eq!(Member::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        for bytes in [&b""[..], b"\x30\x82\xff\xff", &[0x30; 400]] {
            assert!(Certificate::from_der(bytes).is_none());
        }
    }
}
