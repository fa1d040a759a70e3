//! How much memory is left. A kernel that is asked for more than there is must fail with an error:
//! the allocator would promise the memory, and the process would be killed when it uses it.

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
}
