//! Files with certificates and keys.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tensorfleet_tensor::{Result, invalid_argument, not_found, unavailable};

/// Reads a file of text.
pub(crate) fn read(path: &Path) -> Result<String> {
    let bytes =
        fs::read(path).map_err(|error| not_found!("{} cannot be read: {error}", path.display()))?;
    String::from_utf8(bytes).map_err(|_| invalid_argument!("{} is not text", path.display()))
}

/// The certificates of a file: one and those that lead to its authority, or authorities.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = read(path)?;
    let found: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let found = found.map_err(|error| {
        invalid_argument!("{} holds no certificate in PEM: {error}", path.display())
    })?;
    if found.is_empty() {
        return Err(invalid_argument!("{} holds no certificate in PEM", path.display()));
    }
    Ok(found)
}

/// The private key of a file, which nobody else should be able to read.
pub(crate) fn key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let text = read(path)?;
    let mode = fs::metadata(path).map(|found| found.permissions().mode()).unwrap_or_default();
    if mode & 0o077 != 0 {
        tracing::warn!("others may read the key {}: `chmod 600` it", path.display());
    }
    PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|error| invalid_argument!("{} holds no key in PEM: {error}", path.display()))
}

/// Writes a file in one go: whoever reads it sees the old contents or the new. `mode` is who may.
pub(crate) fn write(path: &Path, contents: &str, mode: u32) -> Result<()> {
    let failed =
        |error: std::io::Error| unavailable!("{} cannot be written: {error}", path.display());
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = Path::new(&beside);
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(beside)
        .map_err(failed)?;
    // The mode at creation is cut by the umask.
    file.set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
    file.write_all(contents.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(beside, path).map_err(failed)
}
