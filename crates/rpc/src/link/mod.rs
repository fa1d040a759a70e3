//! The fast way between tensorfleet tasks: calls of one step as frames on one connection.
//!
//! gRPC spends most of a small call on HTTP/2. A link carries the three calls that every step makes
//! (`RunGraph`, `RecvTensor`, `CleanupGraph`) and nothing else, with the same meaning: whoever needs
//! a tensor asks for it, and an answer goes out as soon as there is one. Calls do not wait for each
//! other, small frames that are ready together leave together, and large tensors are cut into pieces
//! between which small frames pass; a process of the same machine may read them where they lie.
//!
//! A server offers links in the metadata of its `GetStatus` reply, which TensorFlow's tasks neither
//! send nor read. The offer is a token; links are accepted on an abstract Unix socket named after it,
//! for tasks of the same machine, and on the port of the server. Until a link is up, or if none comes
//! up, calls go over gRPC.

mod accept;
mod borrowing;
mod client;
mod frame;
mod inbox;
mod lending;
mod memory;
mod offer;
mod outbox;
mod prompt;
mod serve;
mod slot;
mod socket;
#[cfg(test)]
mod tests;

pub(crate) use accept::{Links, accept};
pub(crate) use client::{Broken, Call, Link};
pub(crate) use offer::{Offer, Token};
pub(crate) use slot::LinkSlot;

/// What a connection begins with, in both directions. The last byte is the version.
const MAGIC: [u8; 8] = *b"TFLEET\0\x01";
