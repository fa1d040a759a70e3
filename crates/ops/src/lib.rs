//! The op library: one file for each op or tight family, listed in the tables of the families.
//!
//! `CONTRIBUTING.md` walks through adding an op.

mod array;
mod broadcast;
mod control;
mod data_flow;
mod dataset;
mod functional;
mod image;
mod io;
mod linalg;
mod list;
mod logging;
mod lookup;
mod math;
mod nn;
mod parsing;
mod quantized;
mod random;
mod record;
mod shapes;
mod sparse;
mod spectral;
mod state;
mod string;
mod summary;
mod training;

use tensorfleet_framework::{Op, Registry};
use tensorfleet_tensor::Result;

/// The families, each a list of files, each a list of ops.
const FAMILIES: &[&[&[Op]]] = &[
    array::OPS,
    control::OPS,
    data_flow::OPS,
    dataset::OPS,
    functional::OPS,
    image::OPS,
    io::OPS,
    linalg::OPS,
    list::OPS,
    logging::OPS,
    lookup::OPS,
    math::OPS,
    nn::OPS,
    parsing::OPS,
    quantized::OPS,
    random::OPS,
    sparse::OPS,
    spectral::OPS,
    state::OPS,
    string::OPS,
    summary::OPS,
    training::OPS,
];

/// Every op of the library.
pub fn all() -> impl Iterator<Item = &'static Op> {
    FAMILIES.iter().flat_map(|family| family.iter()).flat_map(|file| file.iter())
}

/// A registry of every op of the library.
pub fn registry() -> Result<Registry> {
    Registry::new(all())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_definition_can_be_read() {
        assert!(super::registry().unwrap().iter().count() > 0);
    }
}
