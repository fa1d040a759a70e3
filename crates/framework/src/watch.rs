//! What an operator may see of work under way and of what it works on.
//!
//! Nothing here is kept up to date: a run that has to wait makes itself known to its step's rendezvous,
//! and is looked at when somebody asks.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// What a node waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A tensor that a device, of this task or another, is to send.
    Tensor { from: String, edge: String },
    /// What a resource gives or takes: an element of a queue, room in it, a lock.
    Resource,
    /// The end of a function, whose own nodes may wait in turn.
    Function,
    /// The other members of a collective.
    Collective,
    /// A file.
    File,
    /// A thread of the compute pool.
    Thread,
}

impl Awaited {
    /// The name in a status.
    pub fn name(&self) -> &'static str {
        match self {
            Awaited::Tensor { .. } => "tensor",
            Awaited::Resource => "resource",
            Awaited::Function => "function",
            Awaited::Collective => "collective",
            Awaited::File => "file",
            Awaited::Thread => "thread",
        }
    }
}

/// A node that waits.
#[derive(Clone, Debug)]
pub struct Wait {
    pub node: Arc<str>,
    pub op: Arc<str>,
    pub awaited: Awaited,
    /// The node that the first input comes from: for a resource, the one that stands for it.
    pub source: Option<Arc<str>>,
    /// Since when, where that is known.
    pub since: Option<Instant>,
}

/// Work that may be looked at while it is under way.
pub trait Watched: fmt::Debug + Send + Sync {
    /// Adds what the work waits for. Returns whether some of it is being computed.
    fn waits(&self, waits: &mut Vec<Wait>) -> bool;
}

/// What a resource is and holds, as far as it tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// The types of its elements.
    pub dtype: String,
    /// The shape of a variable, as `[2,3]`.
    pub shape: String,
    /// How many entries there are, of a table or a queue.
    pub entries: Option<u64>,
    /// How many there may be.
    pub capacity: Option<u64>,
    /// What it takes of memory, about.
    pub bytes: u64,
    /// How often it was read, and how often changed.
    pub reads: u64,
    pub updates: u64,
    /// How many stand in line.
    pub waiting: u64,
}

/// A resource under its name.
#[derive(Clone, Debug)]
pub struct Measured {
    pub container: String,
    pub name: String,
    /// TensorFlow's name of the type.
    pub type_name: &'static str,
    /// Whether the task's journal keeps it.
    pub durable: bool,
    pub measure: Measure,
}
