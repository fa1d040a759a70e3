//! How much of a task its clients may take, and what each of them has taken.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tensorfleet_tensor::account::Account;
use tensorfleet_tensor::{Result, resource_exhausted};

use crate::owner::Owner;

/// The time in which new sessions are counted.
const RATE_TIME: Duration = Duration::from_secs(60);

/// What the clients of a task may take. Each number has a flag of `serve` of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Bytes of tensors of the whole task, of one identity, and of one session or context.
    pub memory: usize,
    pub memory_per_identity: usize,
    pub memory_per_session: usize,
    /// Sessions of one identity that are open, and how many it may open in a minute.
    pub sessions: usize,
    pub new_sessions: usize,
    /// Eager contexts of one identity.
    pub contexts: usize,
    /// Partial runs of one session that are under way.
    pub partial_runs: usize,
    /// Nodes of the graph of one session.
    pub graph_nodes: usize,
    /// Plans of steps that one session keeps; the least recently used go.
    pub signatures: usize,
}

impl Default for Quotas {
    fn default() -> Quotas {
        Quotas {
            memory: usize::MAX,
            memory_per_identity: usize::MAX,
            memory_per_session: usize::MAX,
            sessions: 10_000,
            new_sessions: 60_000,
            contexts: 10_000,
            partial_runs: 10_000,
            graph_nodes: 20_000_000,
            signatures: 100_000,
        }
    }
}

/// What the clients of a task have taken.
#[derive(Debug)]
pub struct Ledger {
    pub quotas: Quotas,
    task: Arc<Account>,
    identities: Mutex<FxHashMap<Arc<str>, Identity>>,
}

#[derive(Debug)]
struct Identity {
    account: Arc<Account>,
    /// When it opened sessions, the latest last.
    opened: VecDeque<Instant>,
}

impl Ledger {
    /// An empty ledger for a task.
    pub fn new(task: &str, quotas: Quotas) -> Ledger {
        let task = Account::root(task, quotas.memory);
        Ledger { quotas, task, identities: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<Arc<str>, Identity>> {
        self.identities.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The memory of the whole task.
    pub fn task(&self) -> &Arc<Account> {
        &self.task
    }

    /// The memory of somebody's session or context.
    pub fn account(&self, owner: &Owner, name: &str) -> Arc<Account> {
        let mut identities = self.lock();
        self.identity(&mut identities, owner).account.member(name, self.quotas.memory_per_session)
    }

    /// Counts that somebody opens a session, who has some.
    pub fn open_session(&self, owner: &Owner, has: usize, now: Instant) -> Result<()> {
        let Quotas { sessions, new_sessions, .. } = self.quotas;
        if has >= sessions {
            return Err(resource_exhausted!(
                "{} has {has} sessions open, and may have no more (`serve --max-sessions`)",
                owner.name
            ));
        }
        let mut identities = self.lock();
        let opened = &mut self.identity(&mut identities, owner).opened;
        opened.retain(|time| now.saturating_duration_since(*time) < RATE_TIME);
        if opened.len() >= new_sessions {
            return Err(resource_exhausted!(
                "{} has opened {new_sessions} sessions in a minute, and may open no more for now \
                 (`serve --max-new-sessions`)",
                owner.name
            ));
        }
        opened.push_back(now);
        Ok(())
    }

    fn identity<'a>(
        &self,
        identities: &'a mut FxHashMap<Arc<str>, Identity>,
        owner: &Owner,
    ) -> &'a mut Identity {
        identities.entry(Arc::clone(&owner.name)).or_insert_with(|| Identity {
            account: self.task.member(&*owner.name, self.quotas.memory_per_identity),
            opened: VecDeque::new(),
        })
    }
}

/// Refuses something of which there are as many as there may be.
pub(crate) fn check(has: usize, most: usize, what: &str, flag: &str) -> Result<()> {
    if has < most {
        return Ok(());
    }
    Err(resource_exhausted!("there may be no more than {most} {what} (`serve --{flag}`)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_counted_by_identity_and_minute() {
        let quotas = Quotas { sessions: 2, new_sessions: 3, ..Quotas::default() };
        let ledger = Ledger::new("task", quotas);
        let (alice, bob, start) = (Owner::new("alice"), Owner::new("bob"), Instant::now());
        ledger.open_session(&alice, 1, start).unwrap();
        let error = ledger.open_session(&alice, 2, start).unwrap_err();
        assert!(error.message().contains("--max-sessions"), "{error}");
        ledger.open_session(&alice, 0, start).unwrap();
        ledger.open_session(&alice, 0, start).unwrap();
        let error = ledger.open_session(&alice, 0, start).unwrap_err();
        assert!(error.message().contains("--max-new-sessions"), "{error}");
        ledger.open_session(&bob, 0, start).unwrap();
        ledger.open_session(&alice, 0, start + RATE_TIME).unwrap();
    }

    #[test]
    fn sessions_have_accounts_below_their_identities() {
        let quotas = Quotas { memory_per_identity: 7, memory_per_session: 5, ..Quotas::default() };
        let ledger = Ledger::new("task", quotas);
        let alice = Owner::new("alice");
        let (one, two) = (ledger.account(&alice, "one"), ledger.account(&alice, "two"));
        assert_eq!((one.limit(), two.limit()), (5, 5));
        let [identity] = &ledger.task().members()[..] else { panic!("one identity") };
        assert_eq!((identity.name(), identity.limit(), identity.members().len()), ("alice", 7, 2));
    }
}
