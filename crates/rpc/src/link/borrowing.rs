//! Tensors that a server lends, read from its memory.
//!
//! The task that reads the connection also reads them, a piece at a time, so that frames have their
//! turn in between. To copy is work for a processor, so a second thread takes some where several wait.
//! (Two threads for one large tensor gain nothing: memory is what limits them.)

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use tensorfleet_framework::Parcel;

use super::client::Link;
use super::frame::Kind;
use super::memory::PeerMemory;

/// How much is read at once.
const PIECE: usize = 1 << 20;

/// How much has to wait before a second thread is worth waking.
const WORTH_HELP: usize = 1 << 20;

/// What one connection has borrowed.
#[derive(Debug)]
pub(super) struct Borrowing {
    link: Arc<Link>,
    memory: Option<PeerMemory>,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    tensors: VecDeque<Borrowed>,
    /// Whether a second thread reads.
    is_helped: bool,
}

/// A tensor of which some is still to be read.
#[derive(Debug)]
pub(super) struct Borrowed {
    pub(super) call: u64,
    /// Where it lies in the server's memory.
    pub(super) start: u64,
    pub(super) parcel: Parcel,
    pub(super) filled: usize,
}

impl Borrowed {
    fn missing(&self) -> usize {
        self.parcel.tensor.byte_len() - self.filled
    }
}

impl Borrowing {
    pub(super) fn new(link: Arc<Link>, memory: Option<PeerMemory>) -> Arc<Borrowing> {
        Arc::new(Borrowing { link, memory, queue: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Queues a tensor.
    pub(super) fn push(&self, tensor: Borrowed) {
        self.lock().tensors.push_back(tensor);
    }

    /// Reads a piece of the next tensor. False if there is none.
    pub(super) fn read_some(self: &Arc<Self>) -> bool {
        let tensor = {
            let mut queue = self.lock();
            let Some(tensor) = queue.tensors.pop_front() else { return false };
            let waiting: usize = queue.tensors.iter().map(Borrowed::missing).sum();
            if waiting >= WORTH_HELP && !queue.is_helped {
                queue.is_helped = true;
                let this = Arc::clone(self);
                tokio::task::spawn_blocking(move || this.help());
            }
            tensor
        };
        if let Some(rest) = self.read_piece(tensor) {
            self.lock().tensors.push_front(rest);
        }
        true
    }

    /// Reads tensors, from the last to come, until none is left.
    fn help(&self) {
        loop {
            let mut tensor = {
                let mut queue = self.lock();
                let last = queue.tensors.pop_back();
                queue.is_helped = last.is_some();
                last
            };
            if tensor.is_none() {
                return;
            }
            while let Some(rest) = tensor {
                tensor = self.read_piece(rest);
            }
        }
    }

    /// Reads a piece; what is left of the tensor is returned, a whole one delivered.
    fn read_piece(&self, mut borrowed: Borrowed) -> Option<Borrowed> {
        let Borrowed { call, start, parcel, filled } = &mut borrowed;
        let call = *call;
        if !self.link.is_waiting(call) {
            self.link.send(Kind::Returned, call);
            return None;
        }
        let from = *filled;
        let mut read = Err(io::ErrorKind::Unsupported.into());
        let written = parcel.tensor.write_raw(|bytes| {
            let end = bytes.len().min(from + PIECE);
            if let Some(memory) = &self.memory {
                read = memory.read(start.wrapping_add(from as u64), &mut bytes[from..end]);
            }
            Ok(())
        });
        match (written, read) {
            (Ok(()), Ok(len)) if len > 0 => {
                *filled += len;
                self.link.count_borrowed(len);
            }
            (Ok(()), refused) => {
                tracing::debug!("memory of the same machine cannot be read: {refused:?}");
                self.link.send(Kind::Unreadable, call);
                return None;
            }
            (Err(error), _) => {
                self.link.fail(call, error);
                self.link.send(Kind::Returned, call);
                return None;
            }
        }
        if borrowed.missing() > 0 {
            return Some(borrowed);
        }
        self.link.send(Kind::Returned, call);
        self.link.deliver(call, borrowed.parcel);
        None
    }
}
