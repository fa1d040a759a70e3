//! A development authority: it signs the certificates of a cluster.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use tensorfleet_tensor::{Result, already_exists, internal, invalid_argument, unavailable};
use tensorfleet_transport::Role;
use time::OffsetDateTime;

use crate::certificate::{Certificate, Member};
use crate::pem;

/// Clocks differ: a certificate is good a little before it was made.
const LEEWAY: Duration = Duration::from_secs(300);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The authority of a directory: its certificate, `ca.pem`, and its key.
#[derive(Debug)]
pub struct Authority {
    directory: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    cluster: String,
}

/// The certificate of the authority in a directory.
pub fn root(directory: &Path) -> PathBuf {
    directory.join("ca.pem")
}

fn root_key(directory: &Path) -> PathBuf {
    directory.join("ca-key.pem")
}

impl Authority {
    /// Makes an authority for a cluster. One that is there stays: what it signed would be worthless.
    pub fn init(directory: &Path, cluster: &str, days: u32) -> Result<Authority> {
        check_name(cluster)?;
        fs::create_dir_all(directory).map_err(|error| {
            unavailable!("the directory {} cannot be made: {error}", directory.display())
        })?;
        for path in [root(directory), root_key(directory)] {
            if path.exists() {
                return Err(already_exists!("{} exists; another --dir is needed", path.display()));
            }
        }
        let key = new_key()?;
        let mut params = lasting(days);
        params.distinguished_name.push(DnType::CommonName, format!("authority of {cluster}"));
        params.subject_alt_names = vec![SanType::URI(name(&authority_uri(cluster))?)];
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(failed)?;
        pem::write(&root_key(directory), &key.serialize_pem(), 0o600)?;
        pem::write(&root(directory), &certificate.pem(), 0o644)?;
        Authority::open(directory)
    }

    /// Opens the authority of a directory.
    pub fn open(directory: &Path) -> Result<Authority> {
        let (path, key) = (root(directory), root_key(directory));
        let certificate = pem::read(&path)?;
        let cluster = authority_of(&path)?;
        let broken = |error| invalid_argument!("{} cannot be used: {error}", key.display());
        let key = KeyPair::from_pem(&pem::read(&key)?).map_err(broken)?;
        let issuer = Issuer::from_ca_cert_pem(&certificate, key).map_err(broken)?;
        Ok(Authority { directory: directory.to_owned(), issuer, cluster })
    }

    /// Where the authority's certificate is, which is what others trust.
    pub fn root(&self) -> PathBuf {
        root(&self.directory)
    }

    /// Issues the certificate of a task, for the names and addresses that others reach it by.
    pub fn issue_task(&self, job: &str, task: u32, hosts: &[String], days: u32) -> Result<Issued> {
        check_name(job)?;
        if hosts.is_empty() {
            return Err(invalid_argument!("a task needs a --host that others reach it by"));
        }
        let files = self.files(&format!("{job}-{task}"));
        self.issue(&files, &Member::task(&self.cluster, job, task), hosts, days)?;
        Ok(files)
    }

    /// Issues the certificate of a client.
    pub fn issue_client(&self, name: &str, role: Role, days: u32) -> Result<Issued> {
        check_name(name)?;
        if role == Role::Peer {
            return Err(invalid_argument!("a peer is a task: --job, --task and --host name it"));
        }
        let identity = tensorfleet_transport::Identity::new(name, role);
        let files = self.files(name);
        self.issue(&files, &Member { cluster: self.cluster.clone(), identity }, &[], days)?;
        Ok(files)
    }

    /// Issues a certificate like the one in a file, with a new key, for as long again.
    pub fn renew(&self, certificate: &Path) -> Result<Issued> {
        let old = Certificate::from_file(certificate)?;
        let Some(member) = old.member.filter(|member| member.cluster == self.cluster) else {
            return Err(invalid_argument!(
                "{} was not issued for the cluster {}",
                certificate.display(),
                self.cluster
            ));
        };
        let life = old.not_after.duration_since(old.not_before).unwrap_or_default();
        let days = u32::try_from(life.as_secs().div_ceil(DAY.as_secs())).unwrap_or(1).max(1);
        let stem = certificate.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let key = certificate.with_file_name(format!("{stem}-key.pem"));
        let files = Issued { certificate: certificate.to_owned(), key };
        // The time that was added in front is not lived.
        self.issue(&files, &member, &old.hosts, days.saturating_sub(1).max(1))?;
        Ok(files)
    }

    fn files(&self, name: &str) -> Issued {
        Issued {
            certificate: self.directory.join(format!("{name}.pem")),
            key: self.directory.join(format!("{name}-key.pem")),
        }
    }

    /// Whoever watches the files may see the new key with the old certificate for a moment, and waits
    /// for the other.
    fn issue(&self, files: &Issued, member: &Member, hosts: &[String], days: u32) -> Result<()> {
        let key = new_key()?;
        let mut params = lasting(days);
        params.distinguished_name.push(DnType::CommonName, member.identity.name.to_string());
        params.subject_alt_names = vec![SanType::URI(name(&member.to_string())?)];
        for host in hosts {
            params.subject_alt_names.push(match host.parse::<IpAddr>() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(name(check_host(host)?)?),
            });
        }
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if !hosts.is_empty() {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        pem::write(&files.key, &key.serialize_pem(), 0o600)?;
        pem::write(&files.certificate, &certificate.pem(), 0o644)
    }
}

/// The cluster that the authority in a file is for.
fn authority_of(path: &Path) -> Result<String> {
    let found = Certificate::from_file(path)?;
    let uri = found.member.filter(|member| &*member.identity.name == AUTHORITY);
    uri.map(|member| member.cluster).ok_or_else(|| {
        invalid_argument!("{} is not of an authority that `certs init` made", path.display())
    })
}

const AUTHORITY: &str = "authority";

fn authority_uri(cluster: &str) -> String {
    let identity = tensorfleet_transport::Identity::new(AUTHORITY, Role::Admin);
    Member { cluster: cluster.to_owned(), identity }.to_string()
}

fn new_key() -> Result<KeyPair> {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(failed)
}

fn lasting(days: u32) -> CertificateParams {
    let now = OffsetDateTime::now_utc();
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.not_before = now - LEEWAY;
    params.not_after = now + DAY * days;
    params
}

fn name(text: &str) -> Result<Ia5String> {
    Ia5String::try_from(text).map_err(|_| invalid_argument!("{text:?} is not plain ASCII"))
}

/// Names are parts of URIs and of files.
fn check_name(text: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.starts_with('.') || !text.chars().all(is_plain) {
        return Err(invalid_argument!(
            "{text:?} is no name: letters, digits, `-`, `_` and `.` are"
        ));
    }
    Ok(())
}

fn check_host(text: &str) -> Result<&str> {
    match rustls::pki_types::DnsName::try_from(text) {
        Ok(_) => Ok(text),
        Err(_) => Err(invalid_argument!("{text:?} is neither an address nor a host's name")),
    }
}

fn failed(error: rcgen::Error) -> tensorfleet_tensor::Error {
    internal!("the certificate cannot be made: {error}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_issued_says_who_where_and_how_long() {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::init(directory.path(), "fleet", 365).unwrap();
        let hosts = ["ps.example".to_owned(), "10.0.0.7".to_owned(), "::1".to_owned()];
        let issued = authority.issue_task("ps", 0, &hosts, 30).unwrap();
        let read = Certificate::from_file(&issued.certificate).unwrap();
        assert_eq!(read.member, Some(Member::task("fleet", "ps", 0)));
        assert_eq!(read.hosts, hosts);
        let life = read.not_after.duration_since(read.not_before).unwrap();
        assert_eq!(life, DAY * 30 + LEEWAY);
        let mode = fs::metadata(&issued.key).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(Authority::init(directory.path(), "fleet", 365).is_err(), "it stays");
    }

    #[test]
    fn renewing_changes_the_key_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::init(directory.path(), "fleet", 365).unwrap();
        let issued = authority.issue_client("alice", Role::Reader, 7).unwrap();
        let (before, key) = (
            Certificate::from_file(&issued.certificate).unwrap(),
            fs::read_to_string(&issued.key).unwrap(),
        );
        assert_eq!(authority.renew(&issued.certificate).unwrap(), issued);
        let after = Certificate::from_file(&issued.certificate).unwrap();
        assert_eq!((&before.member, &before.hosts), (&after.member, &after.hosts));
        let life = |read: &Certificate| read.not_after.duration_since(read.not_before).unwrap();
        assert_eq!(life(&before), life(&after));
        assert_ne!(key, fs::read_to_string(&issued.key).unwrap());
        assert_ne!(before.fingerprint, after.fingerprint);
    }

    #[test]
    fn bad_names_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let authority = Authority::init(directory.path(), "fleet", 365).unwrap();
        assert!(authority.issue_task("p/s", 0, &["a".to_owned()], 1).is_err());
        assert!(authority.issue_task("ps", 0, &[], 1).is_err());
        assert!(authority.issue_task("ps", 0, &["a b".to_owned()], 1).is_err());
        assert!(authority.issue_client("../alice", Role::Trainer, 1).is_err());
        assert!(authority.issue_client("mallory", Role::Peer, 1).is_err());
    }
}
