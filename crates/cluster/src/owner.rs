//! Whose the sessions and contexts of a task are, and what of its state they see.

use std::collections::BTreeMap;
use std::sync::Arc;

/// On whose behalf something is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub name: Arc<str>,
    /// Whether it reaches what others have made too, as administrators and other tasks do.
    pub reaches_all: bool,
}

impl Owner {
    /// Somebody who reaches only what is its own.
    pub fn new(name: impl Into<Arc<str>>) -> Owner {
        Owner { name: name.into(), reaches_all: false }
    }

    /// Whether it may use what belongs to another.
    pub fn reaches(&self, other: &Owner) -> bool {
        self.reaches_all || self.name == other.name
    }
}

/// Whoever calls a task that asks nobody who they are.
impl Default for Owner {
    fn default() -> Owner {
        Owner { name: "anybody".into(), reaches_all: true }
    }
}

/// How the clients of a task are kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Separation {
    /// Whether every session and context has variables of its own, whatever its client asks for.
    pub isolate: bool,
    /// The rooms that are given to identities, by the names of these: whoever has one sees nothing
    /// outside of it, and nobody else sees into it.
    pub rooms: BTreeMap<String, String>,
}

impl Separation {
    /// The room of somebody, if there is one.
    pub fn room_of(&self, owner: &Owner) -> Option<&str> {
        self.rooms.get(&*owner.name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_reaches_their_own_and_some_reach_all() {
        let (alice, bob, anybody) = (Owner::new("alice"), Owner::new("bob"), Owner::default());
        assert!(alice.reaches(&alice.clone()) && !alice.reaches(&bob) && !bob.reaches(&anybody));
        assert!(anybody.reaches(&alice));
    }
}
