//! Where producers and consumers of a step's tensors meet.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use tensorfleet_tensor::{Error, Result, Shape, Tensor, invalid_argument};

use crate::{Collectives, Watched};

/// A future that a kernel or a rendezvous hands out.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// What travels: a tensor, or the news that the branch was not taken.
#[derive(Clone, Debug)]
pub struct Parcel {
    pub tensor: Tensor,
    pub is_dead: bool,
}

impl Parcel {
    /// The news that the branch was not taken. The empty tensor only fills the place.
    pub fn dead() -> Parcel {
        let tensor =
            Tensor::build(Shape::vector(0), |_: &mut [f32]| ()).expect("nothing to allocate");
        Parcel { tensor, is_dead: true }
    }
}

/// Either already there, or to be waited for.
pub enum Delivery {
    Now(Parcel),
    Later(BoxFuture<Result<Parcel>>),
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delivery::Now(parcel) => f.debug_tuple("Now").field(parcel).finish(),
            Delivery::Later(_) => f.write_str("Later"),
        }
    }
}

/// The meeting place of one step.
pub trait Rendezvous: fmt::Debug + Send + Sync {
    /// Leaves a value for whoever asks for `key`.
    fn send(&self, key: &str, parcel: Parcel) -> Result<()>;

    /// Asks for the value of `key`, from this task or another.
    fn recv(&self, key: &str) -> Result<Delivery>;

    /// Fails everybody who waits or will wait.
    fn abort(&self, error: Error);

    /// Lets operators look at work of the step that has to wait.
    fn watch(&self, _: Weak<dyn Watched>) {}

    /// The way to the other members of collectives, where there is one.
    fn collectives(&self) -> Option<Arc<dyn Collectives>> {
        None
    }
}

/// The parts of a rendezvous key: `src;incarnation;dst;edge;frame:iteration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsedKey<'a> {
    pub src_device: &'a str,
    pub src_incarnation: u64,
    pub dst_device: &'a str,
    pub edge: &'a str,
}

impl<'a> ParsedKey<'a> {
    /// Takes a key apart.
    pub fn parse(key: &'a str) -> Result<ParsedKey<'a>> {
        let invalid = || invalid_argument!("Invalid  rendezvous key: {key}");
        let parts: Vec<&str> = key.split(';').collect();
        let &[src_device, incarnation, dst_device, edge, _frame] = &parts[..] else {
            return Err(invalid());
        };
        let src_incarnation = u64::from_str_radix(incarnation, 16).map_err(|_| invalid())?;
        Ok(ParsedKey { src_device, src_incarnation, dst_device, edge })
    }
}

/// The part of a key that does not depend on the iteration; `key_in_frame` completes it.
pub fn key_prefix(src_device: &str, src_incarnation: u64, dst_device: &str, edge: &str) -> String {
    format!("{src_device};{src_incarnation:016x};{dst_device};{edge};")
}

/// Completes a key for one iteration of a frame. Outside of loops both numbers are 0.
pub fn key_in_frame(prefix: &str, frame: FrameIteration) -> String {
    format!("{prefix}{}:{}", frame.frame, frame.iteration)
}

/// Which iteration of which loop a node runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameIteration {
    /// A hash of the frames' names and iterations, equal on every task; 0 outside of loops.
    pub frame: u64,
    pub iteration: u64,
}

impl FrameIteration {
    /// The frame that `Enter` nodes with this frame name open from here, as every TensorFlow task
    /// computes it.
    pub fn child_frame(self, frame_name: &str) -> u64 {
        combine(self.frame, combine(self.iteration, hash64(frame_name.as_bytes())))
    }
}

fn combine(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x9e37_79b9_7f4a_7800).wrapping_add(a << 10).wrapping_add(a >> 4)
}

/// A 64-bit Murmur hash with TensorFlow's seed.
fn hash64(data: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    const SEED: u64 = 0xDECAFCAFFE;
    let mut hash = SEED ^ (data.len() as u64).wrapping_mul(MULTIPLIER);
    let blocks = data.chunks_exact(8);
    let tail = blocks.remainder();
    for block in blocks {
        let mut word = u64::from_le_bytes(block.try_into().expect("a chunk of eight bytes"));
        word = word.wrapping_mul(MULTIPLIER);
        word ^= word >> SHIFT;
        word = word.wrapping_mul(MULTIPLIER);
        hash = (hash ^ word).wrapping_mul(MULTIPLIER);
    }
    if !tail.is_empty() {
        for (i, &byte) in tail.iter().enumerate() {
            hash ^= u64::from(byte) << (8 * i);
        }
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> SHIFT;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ (hash >> SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_hash_as_tensorflow_hashes_them() {
        assert_eq!(FrameIteration::default().child_frame("while"), 6_315_961_604_705_615_773);
    }

    #[test]
    fn keys_come_apart() {
        let prefix =
            key_prefix("/job:ps/replica:0/task:0/device:CPU:0", 0xbd1a, "/b", "edge_4_w/read");
        let key = key_in_frame(&prefix, FrameIteration::default());
        assert!(key.ends_with(";000000000000bd1a;/b;edge_4_w/read;0:0"), "{key}");
        let parsed = ParsedKey::parse(&key).unwrap();
        assert_eq!((parsed.src_incarnation, parsed.edge), (0xbd1a, "edge_4_w/read"));
        assert!(ParsedKey::parse("a;b").is_err());
    }
}
