//! The fast way between tensorfleet tasks: calls of one step as frames on one connection.
//!
//! gRPC spends most of a small call on HTTP/2. A link carries the three calls that every step makes
//! (`RunGraph`, `RecvTensor`, `CleanupGraph`) and nothing else, with the same meaning: whoever needs
//! a tensor asks for it, and an answer goes out as soon as there is one. Calls do not wait for each
//! other, small frames that are ready together leave together, and large tensors are cut into pieces
//! between which small frames pass; a process of the same machine may read them where they lie.
//!
//! A task asks for a link in the metadata of `GetStatus`, which TensorFlow's tasks neither send nor
//! read, and is offered one if it proves to be a task of the server's own cluster (`introductions`).
//! Links are accepted on an abstract Unix socket, for tasks of the same machine and user, and on the
//! port of the server, under TLS where there are credentials. Until a link is up, or if none comes up, calls go over gRPC.
//!
//! Either end that hears nothing asks whether the other one is there, and hangs up without an answer
//! (`pulse`).

mod accept;
mod borrowing;
mod client;
mod frame;
mod hear;
mod inbox;
mod introductions;
mod lending;
mod memory;
mod offer;
mod outbox;
mod prompt;
mod pulse;
mod serve;
mod slot;
mod socket;
#[cfg(test)]
mod tests;
mod tls;

pub(crate) use accept::{Doors, accept, tune};
pub(crate) use client::{Broken, Call, Ends, Link};
pub use hear::hear_link;
pub(crate) use introductions::{Introductions, is_task};
pub(crate) use offer::{
    Offer, Token, ask, ask_to_confirm, asked, asked_to_confirm, confirm, is_confirmed,
};
pub(crate) use slot::{LinkReport, LinkSlot};
pub(crate) use socket::Socket as LinkSocket;

/// What a connection begins with, in both directions. The last byte is the version.
const MAGIC: [u8; 8] = *b"TFLEET\0\x02";
