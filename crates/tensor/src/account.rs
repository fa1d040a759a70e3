//! Who holds how much memory, and who may have more.
//!
//! Accounts form a tree: a task, the identities that use it, their sessions and contexts. Whoever works
//! for a session enters its account ([`Account::enter`]), and blocks of tensors that are made meanwhile
//! are charged to it and to those above it until they are dropped, wherever they are by then. What is
//! kept in smaller pieces is counted by those who keep it ([`Tally`]).
//!
//! Where a task is at its limit, those fail who hold more than their share; others may still use a small
//! reserve, so that one who takes everything does not stop the rest.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::memory::{self, Gauge};
use crate::{Error, Result, Tensor};

/// Blocks of at least this size are charged one by one.
pub(crate) const CHARGED_FROM: usize = 4 << 10;

/// What keeping a tensor costs besides its elements: itself, and its place in a list of lists.
const KEPT: usize = size_of::<Tensor>() + 64;

/// How the refusal of an account begins.
pub(crate) const MORE: &str = "no memory is left: ";

/// How many of those who hold most are named where there is no more.
const NAMED: usize = 3;

/// The memory that somebody holds.
pub struct Account {
    name: String,
    parent: Option<Arc<Account>>,
    limit: usize,
    used: AtomicUsize,
    members: Mutex<Vec<Weak<Account>>>,
    /// For the account of a whole task.
    process: Option<Gauge>,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {} bytes", self.name, self.used(), self.limit)
    }
}

/// Bytes that are charged to an account until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Arc<Account>,
    bytes: usize,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.release(self.bytes);
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Account>>> = const { RefCell::new(None) };
}

/// The time during which a thread works for an account.
#[derive(Debug)]
pub struct Entered {
    before: Option<Arc<Account>>,
    is_changed: bool,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.is_changed {
            let before = self.before.take();
            CURRENT.with(|current| *current.borrow_mut() = before);
        }
    }
}

impl Account {
    /// The account of a task, whose process may hold so much.
    pub fn root(name: impl Into<String>, limit: usize) -> Arc<Account> {
        Arc::new(Account {
            name: name.into(),
            parent: None,
            limit,
            used: AtomicUsize::new(0),
            members: Mutex::default(),
            process: Some(Gauge::new(limit)),
        })
    }

    /// The account of somebody within this one.
    pub fn member(self: &Arc<Self>, name: impl Into<String>, limit: usize) -> Arc<Account> {
        let made = Arc::new(Account {
            name: name.into(),
            parent: Some(Arc::clone(self)),
            limit,
            used: AtomicUsize::new(0),
            members: Mutex::default(),
            process: None,
        });
        let mut members = self.lock();
        members.retain(|member| member.strong_count() > 0);
        members.push(Arc::downgrade(&made));
        made
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Account>>> {
        self.members.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// How it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes that are charged to it.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that may be.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Those within it that still hold something or may, and how much.
    pub fn members(&self) -> Vec<Arc<Account>> {
        self.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Lets this thread work for the account until the result is dropped.
    pub fn enter(self: &Arc<Self>) -> Entered {
        CURRENT.with(|current| {
            let mut current = current.borrow_mut();
            if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, self)) {
                return Entered { before: None, is_changed: false };
            }
            Entered { before: current.replace(Arc::clone(self)), is_changed: true }
        })
    }

    /// Charges for bytes, or says who holds what where there are none left.
    pub(crate) fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge> {
        self.take(bytes)?;
        Ok(Charge { account: Arc::clone(self), bytes })
    }

    /// Charges for bytes that are there already.
    pub(crate) fn charge_anyway(self: &Arc<Self>, bytes: usize) -> Charge {
        for account in self.line() {
            account.used.fetch_add(bytes, Ordering::Relaxed);
        }
        Charge { account: Arc::clone(self), bytes }
    }

    /// This account and those above it.
    fn line(&self) -> impl Iterator<Item = &Account> {
        std::iter::successors(Some(self), |account| account.parent.as_deref())
    }

    fn release(&self, bytes: usize) {
        for account in self.line() {
            account.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn take(&self, bytes: usize) -> Result<()> {
        let mut refused = None;
        for account in self.line() {
            let used = account.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
            let is_over = match &account.process {
                None => used > account.limit,
                Some(gauge) => {
                    gauge.is_over(used, bytes) && (gauge.is_full(used) || !self.is_modest(account))
                }
            };
            if is_over && refused.is_none() {
                refused = Some(account);
            }
        }
        match refused {
            None => Ok(()),
            Some(account) => {
                self.release(bytes);
                Err(account.exhausted(bytes, self))
            }
        }
    }

    /// Whether this account holds no more than its share of what a task has.
    fn is_modest(&self, task: &Account) -> bool {
        let holders = task.leaves().iter().filter(|leaf| leaf.used() > 0).count().max(2);
        self.used() <= task.limit / holders
    }

    /// Fails if the process holds more than it may, whoever keeps that, and this account is not among
    /// those who hold little.
    pub fn check(&self) -> Result<()> {
        let Some(task) = self.line().find(|account| account.process.is_some()) else {
            return Ok(());
        };
        let used = task.used();
        match &task.process {
            Some(gauge)
                if gauge.is_over(used, 0) && (gauge.is_full(used) || !self.is_modest(task)) =>
            {
                Err(task.exhausted(0, self))
            }
            _ => Ok(()),
        }
    }

    /// The accounts that have none within them.
    fn leaves(&self) -> Vec<Arc<Account>> {
        let mut leaves = Vec::new();
        for member in self.members() {
            let below = member.leaves();
            if below.is_empty() {
                leaves.push(member);
            } else {
                leaves.extend(below);
            }
        }
        leaves
    }

    /// What is said where there is no more: whose limit it is, who asks, and who holds most.
    fn exhausted(&self, bytes: usize, asking: &Account) -> Error {
        let mut holders = self.leaves();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.used()));
        let named: Vec<String> = holders
            .iter()
            .take(NAMED)
            .filter(|holder| holder.used() > 0)
            .map(|holder| format!("{} holds {}", holder.full_name(), human(holder.used())))
            .collect();
        let resident = self.process.as_ref().map_or(0, Gauge::resident);
        let resident = match resident > self.used() {
            true => format!(" and the whole process {}", human(resident)),
            false => String::new(),
        };
        let named = match named.is_empty() {
            true => String::new(),
            false => format!(": {}", named.join(", ")),
        };
        resource_exhausted!(
            "{MORE}{} for {}: {} may hold {}, tensors hold {}{resident}{named}",
            human(bytes),
            asking.full_name(),
            self.full_name(),
            human(self.limit),
            human(self.used())
        )
    }

    /// The name with that of the identity.
    fn full_name(&self) -> String {
        match &self.parent {
            Some(parent) if parent.parent.is_some() => format!("{} of {}", self.name, parent.name),
            _ => self.name.clone(),
        }
    }
}

/// What is kept in pieces that are not charged one by one.
#[derive(Debug, Default)]
pub struct Tally {
    account: Option<Arc<Account>>,
    bytes: usize,
}

impl Tally {
    /// A tally for whoever works on this thread.
    pub fn new() -> Tally {
        Tally { account: current(), bytes: 0 }
    }

    /// Counts tensors that are about to be kept; they may be too many.
    pub fn add(&mut self, tensors: &[Tensor]) -> Result<()> {
        tensors.iter().for_each(Tensor::adopt);
        let bytes = tensors.iter().map(Tensor::kept_bytes).sum();
        self.add_bytes(bytes)
    }

    /// Counts bytes that are about to be kept.
    pub fn add_bytes(&mut self, bytes: usize) -> Result<()> {
        if let Some(account) = &self.account {
            account.take(bytes)?;
            self.bytes += bytes;
        }
        Ok(())
    }

    /// Counts tensors that are kept no longer.
    pub fn remove(&mut self, tensors: &[Tensor]) {
        self.remove_bytes(tensors.iter().map(Tensor::kept_bytes).sum());
    }

    /// Counts bytes that are kept no longer.
    pub fn remove_bytes(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        if let Some(account) = &self.account {
            account.release(bytes);
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.remove_bytes(self.bytes);
    }
}

/// The account that this thread works for.
pub fn current() -> Option<Arc<Account>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Charges whoever works on this thread for a block that is about to be made.
pub(crate) fn charge(bytes: usize) -> Result<Option<Charge>> {
    if bytes < CHARGED_FROM {
        return Ok(None);
    }
    CURRENT.with(|current| match &*current.borrow() {
        Some(account) => account.charge(bytes).map(Some),
        None => Ok(None),
    })
}

/// Charges whoever works on this thread for a block that is there.
pub(crate) fn charge_anyway(bytes: usize) -> Option<Charge> {
    if bytes < CHARGED_FROM {
        return None;
    }
    CURRENT.with(|current| current.borrow().as_ref().map(|account| account.charge_anyway(bytes)))
}

/// What keeping a tensor of so many bytes costs that is not charged by its block.
pub(crate) fn kept_bytes(bytes: usize, is_charged: bool) -> usize {
    KEPT + if is_charged { 0 } else { bytes }
}

fn human(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.2} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

/// The memory that a process should hold at most: most of its control group's, else of the machine's.
pub fn sensible_limit() -> usize {
    memory::total() / 100 * 85
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, Shape};

    const MEGABYTE: usize = 1 << 20;

    fn block(bytes: usize) -> Result<Tensor> {
        Tensor::for_overwrite::<u8>(Shape::vector(bytes))
    }

    #[test]
    fn blocks_are_charged_to_whoever_works_and_released_by_whoever_drops_them() {
        let task = Account::root("task", usize::MAX);
        let alice = task.member("alice", usize::MAX);
        let session = alice.member("session 1", usize::MAX);
        let kept = {
            let _entered = session.enter();
            let _again = session.enter();
            block(MEGABYTE).unwrap()
        };
        let nobodys = block(MEGABYTE).unwrap();
        for account in [&task, &alice, &session] {
            assert_eq!(account.used(), MEGABYTE, "{account:?}");
        }
        let copy = kept.clone();
        std::thread::spawn(move || drop(kept)).join().unwrap();
        assert_eq!(task.used(), MEGABYTE);
        // What came from elsewhere is charged when it arrives, once.
        {
            let _entered = session.enter();
            nobodys.adopt();
            nobodys.adopt();
            copy.adopt();
        }
        assert_eq!(task.used(), 2 * MEGABYTE);
        drop((copy, nobodys));
        assert_eq!((task.used(), session.used()), (0, 0));
    }

    #[test]
    fn limits_of_sessions_and_identities_say_who_holds_what() {
        let task = Account::root("/job:ps/task:0", usize::MAX);
        let alice = task.member("alice", 3 * MEGABYTE);
        let (one, two) =
            (alice.member("session 1", 2 * MEGABYTE), alice.member("session 2", usize::MAX));
        let first = {
            let _entered = one.enter();
            block(3 * MEGABYTE / 2).unwrap()
        };
        let error = {
            let _entered = one.enter();
            block(MEGABYTE).unwrap_err()
        };
        assert_eq!(error.code(), Code::ResourceExhausted);
        assert_eq!(
            error.message(),
            "OOM when allocating tensor with shape[1048576] and type uint8; 1.0 MiB for session 1 of alice: \
             session 1 of alice may hold 2.0 MiB, tensors hold 1.5 MiB"
        );
        let _entered = two.enter();
        let second = block(MEGABYTE).unwrap();
        let error = block(MEGABYTE).unwrap_err();
        assert!(error.message().contains("alice may hold 3.0 MiB"), "{error}");
        assert!(error.message().contains("session 1 of alice holds 1.5 MiB"), "{error}");
        drop((first, second));
        assert_eq!(task.used(), 0);
        block(2 * MEGABYTE).unwrap();
    }

    #[test]
    fn those_who_hold_little_go_on_where_one_holds_everything() {
        let task = Account::root("task", 64 << 30);
        let (greedy, modest) =
            (task.member("greedy", usize::MAX), task.member("modest", usize::MAX));
        let held = greedy.charge((64 << 30) - MEGABYTE).unwrap();
        greedy.charge(2 * MEGABYTE).unwrap_err();
        let small = modest.charge(2 * MEGABYTE).unwrap();
        // Not without end.
        modest.charge(9 << 30).unwrap_err();
        drop(held);
        greedy.charge(2 * MEGABYTE).unwrap();
        drop(small);
        assert_eq!(task.used(), 0);
    }

    #[test]
    fn what_is_kept_in_small_pieces_is_counted() {
        let task = Account::root("task", usize::MAX);
        let session = task.member("session", 10_000);
        let entered = session.enter();
        let mut tally = Tally::new();
        let tensors = [Tensor::scalar(1i32), Tensor::string(vec![0; 1000])];
        let mut count = 0;
        while tally.add(&tensors).is_ok() {
            count += 1;
        }
        assert!((4..10).contains(&count), "{count}");
        tally.remove(&tensors);
        tally.add(&tensors).unwrap();
        drop((tally, entered));
        assert_eq!(task.used(), 0);
    }

    #[test]
    fn the_whole_process_is_looked_at() {
        // Less than any process has.
        let task = Account::root("task", MEGABYTE);
        let session = task.member("session", usize::MAX);
        session.check().unwrap_err();
        assert!(Account::root("task", usize::MAX).check().is_ok());
    }
}
