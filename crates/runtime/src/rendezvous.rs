//! The rendezvous of a step inside one task.

use std::sync::{Mutex, MutexGuard};

use futures_channel::oneshot;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{Delivery, Parcel, Rendezvous};
use tensorfleet_tensor::{Error, Result, aborted};

/// Holds what was sent and not yet received, and who waits for what was not yet sent.
#[derive(Debug, Default)]
pub struct LocalRendezvous {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    entries: FxHashMap<String, Entry>,
    aborted: Option<Error>,
}

#[derive(Debug)]
enum Entry {
    Sent(Parcel),
    Awaited(Vec<oneshot::Sender<Result<Parcel>>>),
}

impl LocalRendezvous {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Rendezvous for LocalRendezvous {
    fn send(&self, key: &str, parcel: Parcel) -> Result<()> {
        let mut parcel = parcel;
        loop {
            let sender = {
                let mut table = self.lock();
                if let Some(error) = &table.aborted {
                    return Err(error.clone());
                }
                match table.entries.get_mut(key) {
                    Some(Entry::Sent(_)) => return Err(aborted!("Duplicated send: {key}")),
                    Some(Entry::Awaited(waiting)) if !waiting.is_empty() => {
                        let sender = waiting.remove(0);
                        if waiting.is_empty() {
                            table.entries.remove(key);
                        }
                        sender
                    }
                    _ => {
                        table.entries.insert(key.to_owned(), Entry::Sent(parcel));
                        return Ok(());
                    }
                }
            };
            // Whoever waits may go on at once, on this thread. Those who gave up are passed over.
            match sender.send(Ok(parcel)) {
                Ok(()) => return Ok(()),
                Err(returned) => parcel = returned?,
            }
        }
    }

    fn recv(&self, key: &str) -> Result<Delivery> {
        let mut table = self.lock();
        if let Some(error) = &table.aborted {
            return Err(error.clone());
        }
        if matches!(table.entries.get(key), Some(Entry::Sent(_)))
            && let Some(Entry::Sent(parcel)) = table.entries.remove(key)
        {
            return Ok(Delivery::Now(parcel));
        }
        let (sender, receiver) = oneshot::channel();
        match table.entries.entry(key.to_owned()).or_insert_with(|| Entry::Awaited(Vec::new())) {
            Entry::Awaited(waiting) => waiting.push(sender),
            Entry::Sent(_) => return Err(aborted!("Duplicated recv: {key}")),
        }
        Ok(Delivery::Later(Box::pin(async move {
            receiver.await.unwrap_or_else(|_| Err(aborted!("the step has ended").derived()))
        })))
    }

    fn abort(&self, error: Error) {
        let waiting: Vec<Entry> = {
            let mut table = self.lock();
            if table.aborted.is_some() {
                return;
            }
            table.aborted = Some(error.clone());
            table.entries.drain().map(|(_, entry)| entry).collect()
        };
        for entry in waiting {
            if let Entry::Awaited(senders) = entry {
                for sender in senders {
                    // Whoever stopped waiting needs no error.
                    let _ = sender.send(Err(error.clone()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use tensorfleet_tensor::{Tensor, cancelled};

    use super::*;

    fn parcel(value: i32) -> Parcel {
        Parcel { tensor: Tensor::scalar(value), is_dead: false }
    }

    fn value(result: Result<Parcel>) -> i32 {
        result.unwrap().tensor.scalar_value().unwrap()
    }

    fn poll(delivery: Delivery) -> Poll<Result<Parcel>> {
        match delivery {
            Delivery::Now(parcel) => Poll::Ready(Ok(parcel)),
            Delivery::Later(future) => pin!(future).poll(&mut Context::from_waker(Waker::noop())),
        }
    }

    #[test]
    fn either_side_may_come_first() {
        let rendezvous = LocalRendezvous::default();
        rendezvous.send("a", parcel(1)).unwrap();
        let Poll::Ready(result) = poll(rendezvous.recv("a").unwrap()) else { panic!("waits") };
        assert_eq!(value(result), 1);
        let early = rendezvous.recv("b").unwrap();
        rendezvous.send("b", parcel(2)).unwrap();
        let Poll::Ready(result) = poll(early) else { panic!("waits") };
        assert_eq!(value(result), 2);
    }

    #[test]
    fn a_receiver_that_gave_up_takes_nothing_away() {
        let rendezvous = LocalRendezvous::default();
        drop(rendezvous.recv("a").unwrap());
        rendezvous.send("a", parcel(3)).unwrap();
        let Poll::Ready(result) = poll(rendezvous.recv("a").unwrap()) else { panic!("waits") };
        assert_eq!(value(result), 3);
    }

    #[test]
    fn abort_reaches_everybody_now_and_later() {
        let rendezvous = LocalRendezvous::default();
        let waiting = rendezvous.recv("a").unwrap();
        rendezvous.abort(cancelled!("over"));
        assert!(matches!(poll(waiting), Poll::Ready(Err(_))));
        assert!(rendezvous.recv("b").is_err());
        assert!(rendezvous.send("b", parcel(1)).is_err());
    }
}
