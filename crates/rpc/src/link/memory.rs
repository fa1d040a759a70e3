//! Tensors in the memory of another process of this machine.
//!
//! A socket copies everything twice, into the kernel and out of it. Where the system lets a process
//! read another one of the same user, a large tensor is copied once: its owner lends it, by address,
//! and keeps it as it is until the reader has returned it.

use std::io;

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

/// The memory of whoever is at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerMemory {
    process: i32,
}

impl PeerMemory {
    /// Whose memory a connection leads to: the system says it, not the peer.
    pub(super) fn of(socket: &Socket) -> Option<PeerMemory> {
        let Socket::Unix(socket) = socket else { return None };
        // A process of another namespace has no number here.
        let process = socket.peer_cred().ok()?.pid().filter(|process| *process > 0)?;
        Some(PeerMemory { process })
    }

    /// Reads bytes from `start` on. Fewer come than fit if some are not there.
    #[cfg(target_os = "linux")]
    pub(super) fn read(self, start: u64, place: &mut [u8]) -> io::Result<usize> {
        use nix::sys::uio::{RemoteIoVec, process_vm_readv};
        let base = usize::try_from(start).map_err(|_| io::ErrorKind::InvalidInput)?;
        let remote = [RemoteIoVec { base, len: place.len() }];
        let process = nix::unistd::Pid::from_raw(self.process);
        Ok(process_vm_readv(process, &mut [io::IoSliceMut::new(place)], &remote)?)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn read(self, _: u64, _: &mut [u8]) -> io::Result<usize> {
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
}
