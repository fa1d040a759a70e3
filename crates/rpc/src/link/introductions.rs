//! Who may have a link: tasks of the cluster that this server was told of, each by a token of its own.
//!
//! A task that wants a link to another one says so in the metadata of `GetStatus`, with its name and a
//! nonce. Anybody could say that, so the other one asks the task of that name, at the address that its
//! own cluster has for it, whether the nonce is of its making. Only then it hands out a token, which
//! opens one link and is worth nothing after a while.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rustc_hash::FxHashMap;
use tensorfleet_framework::DeviceName;
use tensorfleet_security::certificate::task_name;
use tensorfleet_transport::Identity;
use tokio::time::Instant;

use super::offer::Token;

/// How long a nonce and a token are good for.
const LIFE: Duration = Duration::from_secs(30);

/// How many of each there may be. Whoever asks too often waits for the old ones to expire.
const MANY: usize = 1000;

#[derive(Debug)]
pub(crate) struct Introductions {
    /// How the cluster knows this task.
    own: String,
    /// What the Unix socket for tasks of this machine is named after.
    door: Token,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Nonces, and whom they were sent to.
    asked: Given,
    /// Tokens, and whom they were given to.
    issued: Given,
}

/// Secrets, each of a pair of tasks.
#[derive(Debug, Default)]
struct Given(FxHashMap<Token, (String, Instant)>);

impl Given {
    fn add(&mut self, task: &str, now: Instant) -> Option<Token> {
        self.0.retain(|_, (_, until)| *until > now);
        if self.0.len() >= MANY {
            return None;
        }
        let token = Token::random();
        self.0.insert(token, (task.to_owned(), now + LIFE));
        Some(token)
    }

    /// Takes a secret back; returns whose it was, if it was still good.
    fn redeem(&mut self, token: Token, now: Instant) -> Option<String> {
        let (task, until) = self.0.remove(&token)?;
        (until > now).then_some(task)
    }
}

impl Introductions {
    pub(crate) fn new(own: String) -> Introductions {
        Introductions { own, door: Token::random(), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The name of this task.
    pub(crate) fn own(&self) -> &str {
        &self.own
    }

    pub(super) fn door(&self) -> Token {
        self.door
    }

    /// A nonce for asking a task for a link.
    pub(crate) fn ask(&self, task: &str) -> Option<Token> {
        self.lock().asked.add(task, Instant::now())
    }

    /// Whether a nonce was made here for the task that has it now.
    pub(crate) fn confirms(&self, nonce: Token, task: &str) -> bool {
        self.lock().asked.redeem(nonce, Instant::now()).is_some_and(|asked| asked == task)
    }

    /// A token for a task that has proved to be one of the cluster.
    pub(crate) fn issue(&self, task: &str) -> Option<Token> {
        self.lock().issued.add(task, Instant::now())
    }

    /// Whose token it is. It is worth nothing afterwards.
    pub(super) fn redeem(&self, token: Token) -> Option<String> {
        self.lock().issued.redeem(token, Instant::now())
    }
}

/// Whether an identity is that of a task, as `/job:ps/replica:0/task:1`.
pub(crate) fn is_task(identity: &Identity, task: &str) -> bool {
    let name = DeviceName::parse(task).ok();
    let name = name.and_then(|name| Some(task_name(&name.job?, name.task?)));
    name.is_some_and(|name| *name == *identity.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_of_a_pair_and_for_once() {
        let introductions = Introductions::new("a".to_owned());
        let nonce = introductions.ask("b").unwrap();
        assert!(!introductions.confirms(Token::random(), "b"));
        assert!(introductions.confirms(nonce, "b"));
        assert!(!introductions.confirms(nonce, "b"), "once");
        let nonce = introductions.ask("b").unwrap();
        assert!(!introductions.confirms(nonce, "c"), "it was not asked");
        let token = introductions.issue("b").unwrap();
        assert_eq!(introductions.redeem(token), Some("b".to_owned()));
        assert_eq!(introductions.redeem(token), None, "once");
    }

    #[test]
    fn secrets_expire_and_do_not_fill_the_memory() {
        let (mut given, now) = (Given::default(), Instant::now());
        let first = given.add("b", now).unwrap();
        let later = now + LIFE + Duration::from_secs(1);
        assert_eq!(given.redeem(first, later), None, "too late");
        assert_eq!((0..2 * MANY).filter_map(|_| given.add("b", now)).count(), MANY);
        assert!(given.add("b", later).is_some());
        assert_eq!(given.0.len(), 1);
    }
}
