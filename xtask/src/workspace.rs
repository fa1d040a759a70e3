//! Where things are: the workspace root, the target directory, the built binary.

use std::env;
use std::path::{Path, PathBuf};

/// Returns the root of the workspace, which is the parent of this crate.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("xtask lies below the workspace root").to_path_buf()
}

/// Returns the directory cargo builds into.
pub(crate) fn target_dir() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// Returns the server binary as the profile shared by all steps builds it.
pub(crate) fn server_binary() -> PathBuf {
    target_dir().join("debug").join(format!("tensorfleet{}", env::consts::EXE_SUFFIX))
}
