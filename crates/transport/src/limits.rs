//! What a client may take of a server, and sizes that both ends agree on.
//!
//! Everything that a client can make a server keep, or do, has a bound here. Memory is charged for
//! what has come, never for what was announced.

use std::time::Duration;

/// The largest message that a server reads: no larger one can be read by anybody. TensorFlow sends
/// a tensor as one message.
pub const MAX_MESSAGE: usize = i32::MAX as usize;

/// Bytes that may be under way on one stream before the receiver confirms them.
pub const STREAM_WINDOW: u32 = 16 << 20;
/// The same for all streams of a connection together.
pub const CONNECTION_WINDOW: u32 = 32 << 20;

/// The largest frame that we accept: fewer frames cost less.
pub const FRAME: u32 = 1 << 20;

/// How much of a streamed answer may wait for its client before the method is asked for no more.
pub(crate) const UNSENT: usize = 1 << 20;

/// How large the headers of one call may be, counted as the standard does. gRPC's servers take
/// between 8 and 16 KiB.
pub(crate) const HEADER_LIST: usize = 16 << 10;

/// How large a block of headers may be as it is sent, and in how many frames.
pub(crate) const HEADER_BLOCK: usize = 64 << 10;
pub(crate) const HEADER_FRAMES: usize = 64;

/// What a stream costs a server besides its messages, about.
pub(crate) const STREAM_COST: usize = 2 << 10;

/// What every connection may use, however much others do. A health check needs less.
pub(crate) const FREE_MEMORY: usize = 256 << 10;

/// What may wait to be written that no window of the client's holds back, as answers to pings.
pub(crate) const MAX_UNREAD: usize = 8 << 20;

/// How often clients may do what makes work and leads nowhere, in each third of
/// [`Limits::silence`].
pub(crate) mod often {
    /// Calls given up. A step that fails gives up all its receives at once.
    pub(crate) const RESETS: u32 = 20_000;
    pub(crate) const PINGS: u32 = 2_000;
    pub(crate) const SETTINGS: u32 = 100;
    /// Frames that say nothing: priorities, unknown kinds, data without data.
    pub(crate) const IDLE_FRAMES: u32 = 20_000;
    /// Calls of methods that do not exist, which are logged.
    pub(crate) const UNKNOWN_LOGGED: u32 = 10;
}

/// The limits of a server that its owner may choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls of one connection at a time. A step of TensorFlow waits for every tensor with a call
    /// of its own.
    pub streams: u32,
    /// Bytes of requests and answers that one connection may keep the server holding, and all
    /// together.
    pub connection_memory: usize,
    pub server_memory: usize,
    /// Connections at a time. A few more are taken, for calls of gRPC's health service alone.
    pub connections: usize,
    /// Connections from one address, this machine's included. Without it other machines have a limit.
    pub connections_per_address: Option<usize>,
    /// How long a client may take to say that it speaks HTTP/2.
    pub handshake: Duration,
    /// A client that has calls under way and is silent for so long, pings included, is gone.
    pub silence: Duration,
    /// A client that takes nothing of what waits for it for so long is not waited for.
    pub stall: Duration,
    /// A connection without a call for so long is closed; clients open another when they need it.
    pub idle: Duration,
    /// How long calls that are under way may go on when the server stops.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        let memory = machine_memory();
        Limits {
            streams: 10_000,
            connection_memory: memory / 2,
            server_memory: memory / 4 * 3,
            connections: 10_000,
            connections_per_address: None,
            handshake: Duration::from_secs(10),
            silence: Duration::from_secs(10),
            stall: Duration::from_secs(60),
            idle: Duration::from_secs(3600),
            drain: Duration::from_millis(500),
        }
    }
}

/// The memory that this process may use: that of its control group, else of the machine.
fn machine_memory() -> usize {
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let group =
        group.iter().filter_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok());
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    group.chain(machine).min().unwrap_or(4 << 30)
}

/// What `/proc/meminfo` says.
fn total(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_machine_is_read() {
        assert_eq!(total("MemTotal:       16 kB\nMemFree: 1 kB\n"), Some(16 << 10));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert!(machine_memory() > 1 << 20);
    }
}
