//! What became of a call: a master that lost the answer of a durable task asks again, and must not have
//! the work done twice.

use crate::Parcel;

/// A call of a master, the same however often it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId {
    /// The session, as a number.
    pub session: u64,
    pub step: i64,
    /// The number of the device that the call is for.
    pub device: u32,
}

/// What a journal knows of a call that changed something in a former life of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// It was done, all of it.
    Done,
    /// It failed or was cut off, and some of what it had done stands.
    Cut,
}

/// A tensor that a step of a former life has sent.
#[derive(Clone, Debug)]
pub enum Sent {
    /// It was kept.
    Kept(Parcel),
    /// The step was done or cut off, but the tensor is not there any more.
    Lost(Recalled),
}
