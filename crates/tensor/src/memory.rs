//! How much memory is left. A kernel that is asked for more than there is must fail with an error:
//! the allocator would promise the memory, and the process would be killed when it uses it.

use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use crate::Result;

/// Smaller blocks are not worth the question.
const CHECKED_FROM: usize = 64 << 20;

/// An empty vector with room for `len` values; RESOURCE_EXHAUSTED if there is not enough memory.
/// For lists whose length comes from a message or a tensor.
pub fn try_vec<T>(len: usize) -> Result<Vec<T>> {
    let bytes = len.saturating_mul(size_of::<T>());
    check_room(bytes)?;
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| out_of_memory(bytes))?;
    Ok(values)
}

/// A vector of `len` times the same value; RESOURCE_EXHAUSTED if there is not enough memory.
pub fn try_repeat<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut values = try_vec(len)?;
    values.resize(len, value);
    Ok(values)
}

/// The bytes of freed tensors that the process keeps for new ones.
pub fn pooled_bytes() -> usize {
    crate::buffer::pooled_bytes()
}

/// Fails if a block of `bytes` is larger than the memory that is left.
pub(crate) fn check_room(bytes: usize) -> Result<()> {
    if bytes >= CHECKED_FROM && available().is_some_and(|available| bytes as u64 > available) {
        return Err(out_of_memory(bytes));
    }
    Ok(())
}

pub(crate) fn out_of_memory(bytes: usize) -> crate::Error {
    resource_exhausted!("OOM when allocating a tensor of {bytes} bytes")
}

/// The bytes that this process may still use, where the system says so: those of the machine, or of
/// the container if that has less.
fn available() -> Option<u64> {
    let machine = field(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?;
    let machine = machine.saturating_mul(1024);
    Some(container().map_or(machine, |container| container.min(machine)))
}

/// What the control group of this process has left; nothing if it has no limit.
fn container() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let read = |file: &str| std::fs::read_to_string(format!("/sys/fs/cgroup{path}/{file}")).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    // Cached files make room when memory is needed.
    let cached = field(&read("memory.stat")?, "file ").unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

/// All memory that this process may use: that of its control groups, else of the machine.
pub(crate) fn total() -> usize {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group_limit(Path::new("/sys/fs/cgroup"), &groups);
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine =
        machine.and_then(|text| field(&text, "MemTotal:")).map(|kilobytes| kilobytes << 10);
    let least = group.into_iter().chain(machine).min().unwrap_or(4 << 30);
    usize::try_from(least).unwrap_or(usize::MAX)
}

/// The least limit of the control groups that a process is in, of either version.
fn group_limit(mounted: &Path, groups: &str) -> Option<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let (root, file) = if controllers.is_empty() {
            (mounted.to_owned(), "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            (mounted.join("memory"), "memory.limit_in_bytes")
        } else {
            continue;
        };
        // A group has what those above it leave to it. Inside of a container the path may be that outside.
        let inner = root.join(path.trim_start_matches('/'));
        for group in inner.ancestors().take_while(|group| group.starts_with(&root)) {
            let text = std::fs::read_to_string(group.join(file)).unwrap_or_default();
            limits.extend(text.trim().parse::<u64>());
        }
    }
    limits.into_iter().min()
}

/// How much memory the process holds, looked at now and then.
#[derive(Debug)]
pub(crate) struct Gauge {
    /// What tensors may hold; the process as a whole may hold an eighth more.
    limit: usize,
    resident: AtomicUsize,
    /// Bytes that were asked for since it was looked at.
    since: AtomicUsize,
    started: Instant,
    /// When it was looked at, in milliseconds since then.
    looked: AtomicU64,
}

/// After so many bytes, or so long, it is looked at again.
const LOOK_AFTER: usize = 16 << 20;
const LOOK_EVERY: u64 = 20;

impl Gauge {
    pub(crate) fn new(limit: usize) -> Gauge {
        Gauge {
            limit,
            resident: AtomicUsize::new(0),
            since: AtomicUsize::new(0),
            started: Instant::now(),
            looked: AtomicU64::new(0),
        }
    }

    /// What the process held when it was last looked at, and what was asked for since.
    pub(crate) fn resident(&self) -> usize {
        let since = self.since.load(Ordering::Relaxed);
        self.resident.load(Ordering::Relaxed).saturating_add(since)
    }

    /// Whether there is too much, where tensors hold `used` after `bytes` more.
    pub(crate) fn is_over(&self, used: usize, bytes: usize) -> bool {
        if self.limit == usize::MAX {
            return false;
        }
        let since = self.since.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let now = self.started.elapsed().as_millis() as u64;
        let looked = self.looked.load(Ordering::Relaxed);
        if (since >= LOOK_AFTER || now >= looked + LOOK_EVERY || looked == 0)
            && self
                .looked
                .compare_exchange(looked, now.max(1), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            self.look();
            if self.resident() > self.ceiling() {
                // What is kept for later tensors goes first.
                crate::buffer::release_pool();
                self.look();
            }
        }
        used > self.limit || self.resident() > self.ceiling()
    }

    /// Whether even those who hold little get no more.
    pub(crate) fn is_full(&self, used: usize) -> bool {
        used > self.limit.saturating_add(self.limit / 8)
            || self.resident() > self.ceiling().saturating_add(self.limit / 32)
    }

    fn ceiling(&self) -> usize {
        self.limit.saturating_add(self.limit / 8)
    }

    fn look(&self) {
        const PAGE: usize = 4096;
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        self.since.store(0, Ordering::Relaxed);
        self.resident.store(pages.unwrap_or(0).saturating_mul(PAGE), Ordering::Relaxed);
    }
}

/// The number after a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_is_an_error() {
        for bytes in [1 << 50, usize::MAX / 2, usize::MAX] {
            assert_eq!(try_vec::<u8>(bytes).unwrap_err().code(), crate::Code::ResourceExhausted);
        }
        assert!(try_vec::<u64>(usize::MAX).is_err());
        assert_eq!(try_repeat(7, 3).unwrap(), [7, 7, 7]);
    }

    #[test]
    fn numbers_are_found_behind_their_names() {
        let text = "MemTotal:       24 kB\nMemAvailable:   12 kB\nfile 5\nfile_mapped 6\n";
        assert_eq!(field(text, "MemAvailable:"), Some(12));
        assert_eq!(field(text, "file "), Some(5));
        assert_eq!(field(text, "absent"), None);
    }
    #[test]
    fn limits_of_control_groups_are_found_in_both_versions() {
        let mounted =
            std::env::temp_dir().join(format!("tensorfleet-groups-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = mounted.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("pods/one/memory.max", "max\n");
        write("pods/memory.max", "1000\n");
        write("memory/docker/two/memory.limit_in_bytes", "500\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        for (groups, want) in [
            ("0::/pods/one\n", Some(1000)),
            ("0::/elsewhere\n", None),
            ("12:cpu:/x\n4:memory:/docker/two\n", Some(500)),
            ("4:memory:/gone\n", Some(9_223_372_036_854_771_712)),
            ("4:memory:/docker/two\n0::/pods/one\n", Some(500)),
            ("nonsense", None),
        ] {
            assert_eq!(group_limit(&mounted, groups), want, "{groups:?}");
        }
        std::fs::remove_dir_all(mounted).unwrap();
        assert!(total() > 1 << 20);
    }
}
