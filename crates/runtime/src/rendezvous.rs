//! The rendezvous of a step inside one task.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use futures_channel::oneshot;
use rustc_hash::FxHashMap;
use tensorfleet_framework::{Delivery, Parcel, Rendezvous, Wait, Watched};
use tensorfleet_tensor::{Error, Result, aborted};

/// Holds what was sent and not yet received, and who waits for what was not yet sent.
#[derive(Debug, Default)]
pub struct LocalRendezvous {
    table: Mutex<Table>,
    runs: Mutex<Runs>,
}

/// What a step holds and waits for at one moment.
#[derive(Clone, Debug, Default)]
pub struct StepLook {
    /// Tensors that nobody has fetched yet, and their bytes.
    pub held: usize,
    pub held_bytes: usize,
    /// The keys of tensors that somebody, here or on another task, waits for.
    pub awaited: Vec<String>,
    /// The nodes that wait.
    pub waits: Vec<Wait>,
    /// Whether a node is being computed.
    pub is_computing: bool,
}

/// The runs of a step that have had to wait.
#[derive(Debug, Default)]
struct Runs {
    known: Vec<Weak<dyn Watched>>,
    /// At how many those that are over are forgotten: a step of single ops may last for days.
    sweep_at: usize,
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

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// What the step holds and waits for.
    pub fn look(&self) -> StepLook {
        let mut look = StepLook::default();
        for (key, entry) in &self.lock().entries {
            match entry {
                Entry::Sent(parcel) => {
                    look.held += 1;
                    look.held_bytes += parcel.tensor.byte_len();
                }
                Entry::Awaited(waiting) if waiting.iter().all(oneshot::Sender::is_canceled) => {}
                Entry::Awaited(_) => look.awaited.push(key.clone()),
            }
        }
        look.awaited.sort_unstable();
        let runs: Vec<Arc<dyn Watched>> =
            self.runs().known.iter().filter_map(Weak::upgrade).collect();
        for run in runs {
            look.is_computing |= run.waits(&mut look.waits);
        }
        look
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

    fn watch(&self, run: Weak<dyn Watched>) {
        let mut runs = self.runs();
        if runs.known.len() >= runs.sweep_at {
            runs.known.retain(|run| run.strong_count() > 0);
            runs.sweep_at = (2 * runs.known.len()).max(16);
        }
        runs.known.push(run);
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
    fn what_a_step_holds_and_waits_for_can_be_seen() {
        let rendezvous = LocalRendezvous::default();
        rendezvous.send("a", parcel(1)).unwrap();
        let waiting = rendezvous.recv("b").unwrap();
        drop(rendezvous.recv("given up").unwrap());
        let look = rendezvous.look();
        assert_eq!((look.held, look.held_bytes), (1, 4));
        assert_eq!(look.awaited, ["b"]);
        drop(waiting);
        assert!(rendezvous.look().awaited.is_empty());
    }

    #[test]
    fn runs_that_are_over_are_forgotten() {
        #[derive(Debug)]
        struct Nothing;

        impl Watched for Nothing {
            fn waits(&self, _: &mut Vec<Wait>) -> bool {
                true
            }
        }

        let rendezvous = LocalRendezvous::default();
        let stays: Arc<dyn Watched> = Arc::new(Nothing);
        rendezvous.watch(Arc::downgrade(&stays));
        for _ in 0..1000 {
            let over: Arc<dyn Watched> = Arc::new(Nothing);
            rendezvous.watch(Arc::downgrade(&over));
        }
        assert!(rendezvous.runs().known.len() <= 16);
        assert!(rendezvous.look().is_computing);
        drop(stays);
        assert!(!rendezvous.look().is_computing);
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
