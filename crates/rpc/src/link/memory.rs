//! Tensors in the memory of another process of this machine.
//!
//! A socket copies everything twice, into the kernel and out of it. Where the system lets a process
//! read another one of the same user, a large tensor is copied once: its owner lends it, by address,
//! and keeps it as it is until the reader has returned it.

use std::io;

use tokio::net::UnixStream;

use super::socket::Socket;

/// Where a lent tensor lies in its owner's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) start: u64,
    pub(super) len: u64,
}

impl Address {
    /// The bytes of an address in a message.
    pub(super) const SIZE: usize = 16;

    pub(super) fn of(bytes: &[u8]) -> Address {
        Address { start: bytes.as_ptr().addr() as u64, len: bytes.len() as u64 }
    }

    pub(super) fn to_bytes(self) -> [u8; Address::SIZE] {
        (u128::from(self.start) | u128::from(self.len) << 64).to_le_bytes()
    }

    pub(super) fn from_bytes(bytes: [u8; Address::SIZE]) -> Address {
        let both = u128::from_le_bytes(bytes);
        Address { start: both as u64, len: (both >> 64) as u64 }
    }
}

/// Whether a process of the same user is at the other end of a socket: the system says it, not the
/// peer.
pub(super) fn is_same_user(socket: &UnixStream) -> bool {
    socket.peer_cred().is_ok_and(|peer| peer.uid() == own_user())
}

#[cfg(target_os = "linux")]
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(target_os = "linux"))]
fn own_user() -> u32 {
    u32::MAX
}

/// The memory of whoever is at the other end of a connection.
///
/// The process is held, so that its number cannot become another one's unseen, and looked at before
/// every reading: it must live, and still be of the same user, which a program that changes its user
/// when it is started is not.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct PeerMemory {
    process: i32,
    held: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl PeerMemory {
    /// Whose memory a connection leads to.
    pub(super) fn of(socket: &Socket) -> Option<PeerMemory> {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let Socket::Unix(socket) = socket else { return None };
        // A process of another namespace has no number here.
        let process = socket.peer_cred().ok()?.pid().filter(|process| *process > 0)?;
        let held = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()?;
        let memory = PeerMemory { process, held };
        (is_same_user(socket) && memory.is_ours()).then_some(memory)
    }

    /// Whether the process lives and is of the same user.
    fn is_ours(&self) -> bool {
        use std::os::unix::fs::MetadataExt;

        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let owner = std::fs::metadata(format!("/proc/{}", self.process)).map(|found| found.uid());
        // One that has ended has something to tell. Asked last: if it lives now, it lived above.
        let mut ended = [PollFd::new(&self.held, PollFlags::IN)];
        let lives = poll(&mut ended, Some(&Timespec::default())) == Ok(0);
        lives && owner.is_ok_and(|owner| owner == own_user())
    }

    /// Reads bytes from `start` on. Fewer come than fit if some are not there.
    pub(super) fn read(&self, start: u64, place: &mut [u8]) -> io::Result<usize> {
        use nix::sys::uio::{RemoteIoVec, process_vm_readv};
        if !self.is_ours() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let base = usize::try_from(start).map_err(|_| io::ErrorKind::InvalidInput)?;
        let remote = [RemoteIoVec { base, len: place.len() }];
        let process = nix::unistd::Pid::from_raw(self.process);
        Ok(process_vm_readv(process, &mut [io::IoSliceMut::new(place)], &remote)?)
    }
}

#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(super) struct PeerMemory;

#[cfg(not(target_os = "linux"))]
impl PeerMemory {
    pub(super) fn of(_: &Socket) -> Option<PeerMemory> {
        None
    }

    pub(super) fn read(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn memory_is_read_where_it_is_and_refused_where_it_is_not() {
        let (one, _other) = tokio::net::UnixStream::pair().unwrap();
        let memory = PeerMemory::of(&Socket::Unix(one)).unwrap();
        let bytes: Vec<u8> = (0..100).collect();
        let address = Address::from_bytes(Address::of(&bytes).to_bytes());
        assert_eq!(address.len, 100);
        let mut read = [0; 60];
        assert_eq!(memory.read(address.start + 40, &mut read).unwrap(), 60);
        assert_eq!(read, bytes[40..]);
        for nowhere in [0, 8, u64::MAX] {
            assert!(memory.read(nowhere, &mut read).is_err());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_has_ended_is_not_read() {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = child.id() as i32;
        let held = pidfd_open(Pid::from_raw(process).unwrap(), PidfdFlags::empty()).unwrap();
        let memory = PeerMemory { process, held };
        assert!(memory.is_ours());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!memory.is_ours());
        let refused = memory.read(4096, &mut [0; 8]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
    }
}
