//! The op library: one file for each op or tight family, listed in the tables of the families.
//!
//! `CONTRIBUTING.md` walks through adding an op.

mod array;
mod batch;
mod broadcast;
mod collective;
mod control;
mod data_flow;
mod dataset;
mod functional;
mod image;
mod io;
mod kept;
mod late;
mod linalg;
mod list;
mod logging;
mod lookup;
mod math;
mod nn;
mod outside;
mod parsing;
mod quantized;
mod random;
pub mod record;
mod shapes;
mod sparse;
mod spectral;
mod state;
mod string;
mod summary;
mod training;

/// Rows of tensors, for who prepares batches outside of a graph.
pub mod rows {
    pub use crate::data_flow::join::{row, stack};
}

pub use outside::touches_files;

use std::sync::{Arc, LazyLock};

use tensorfleet_framework::{Op, Registry};
use tensorfleet_tensor::Result;

/// The families: a name, and a list of files, each a list of ops.
const FAMILIES: &[(&str, &[&[Op]])] = &[
    ("array", array::OPS),
    ("batch", batch::OPS),
    ("collective", collective::OPS),
    ("control", control::OPS),
    ("data_flow", data_flow::OPS),
    ("dataset", dataset::OPS),
    ("functional", functional::OPS),
    ("image", image::OPS),
    ("io", io::OPS),
    ("linalg", linalg::OPS),
    ("list", list::OPS),
    ("logging", logging::OPS),
    ("lookup", lookup::OPS),
    ("math", math::OPS),
    ("nn", nn::OPS),
    ("parsing", parsing::OPS),
    ("quantized", quantized::OPS),
    ("random", random::OPS),
    ("sparse", sparse::OPS),
    ("spectral", spectral::OPS),
    ("state", state::OPS),
    ("string", string::OPS),
    ("summary", summary::OPS),
    ("training", training::OPS),
];

/// The families of ops, each with its name.
pub fn families() -> impl Iterator<Item = (&'static str, impl Iterator<Item = &'static Op>)> {
    FAMILIES.iter().map(|(name, files)| (*name, files.iter().flat_map(|file| file.iter())))
}

/// Every op of the library.
pub fn all() -> impl Iterator<Item = &'static Op> {
    families().flat_map(|(_, ops)| ops)
}

/// A registry of every op of the library.
pub fn registry() -> Result<Registry> {
    Ok(Registry::new(all())?.keeping(kept::DURABLE))
}

/// The registry of every op, which never changes and is made once for all that build and run graphs
/// in a process.
pub fn library() -> Arc<Registry> {
    static LIBRARY: LazyLock<Arc<Registry>> =
        LazyLock::new(|| Arc::new(registry().expect("the definitions are tested")));
    Arc::clone(&LIBRARY)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_definition_can_be_read() {
        assert!(super::registry().unwrap().iter().count() > 0);
    }
}
