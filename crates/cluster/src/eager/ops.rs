//! The single ops that a context has run, prepared: most are run again.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_graph::{AttrMap, AttrValue};
use tensorfleet_tensor::Result;

use crate::engine::{Engine, PreparedOp};
use crate::session::lock;

/// Name, device and attributes of an op.
type Key = (String, Arc<str>, String);

/// Prepared ops.
#[derive(Debug, Default)]
pub(super) struct Ops {
    table: Mutex<FxHashMap<Key, Arc<PreparedOp>>>,
}

/// When so many are known they are forgotten; the engine keeps the kernels that have state.
const MAX_OPS: usize = 4096;

impl Ops {
    pub(super) fn find(
        &self,
        engine: &Engine,
        name: &str,
        device: &Arc<str>,
        attrs: AttrMap,
    ) -> Result<Arc<PreparedOp>> {
        let key = (name.to_owned(), Arc::clone(device), written(&attrs));
        if let Some(op) = lock(&self.table).get(&key) {
            return Ok(Arc::clone(op));
        }
        let op = Arc::new(engine.prepare(engine.node(name, name, device, attrs)?)?);
        let mut table = lock(&self.table);
        if table.len() >= MAX_OPS {
            table.clear();
        }
        table.insert(key, Arc::clone(&op));
        Ok(op)
    }
}

/// Attributes as text that tells them apart. Types and numbers, which most are, cost little.
fn written(attrs: &AttrMap) -> String {
    let mut text = String::with_capacity(16 * attrs.len());
    for (name, value) in attrs {
        text.push_str(name);
        let end = match value {
            AttrValue::Type(dtype) => write!(text, "={};", *dtype as i32),
            AttrValue::Int(number) => write!(text, ":{number};"),
            AttrValue::Bool(flag) => write!(text, "?{flag};"),
            // The long form tells tensors apart to the last element.
            other => write!(text, "#{other:#?};"),
        };
        end.expect("writing to a string does not fail");
    }
    text
}
