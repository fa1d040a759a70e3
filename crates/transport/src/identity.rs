//! Who calls, and who may.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use http::HeaderMap;

use crate::Status;

/// Who a caller is: a name, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: Arc<str>,
    pub role: Role,
}

impl Identity {
    pub fn new(name: impl Into<Arc<str>>, role: Role) -> Identity {
        Identity { name: name.into(), role }
    }

    /// Whoever calls a server that asks nobody.
    pub fn anybody() -> Identity {
        Identity::new("anybody", Role::Admin)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.role)
    }
}

/// What an identity may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Another task of the cluster.
    Peer,
    /// Opens sessions and eager contexts.
    Trainer,
    /// Looks, and changes nothing.
    Reader,
    /// Looks after servers, and not into what they compute.
    Operator,
    /// May do everything.
    Admin,
}

impl Role {
    pub const ALL: [Role; 5] =
        [Role::Peer, Role::Trainer, Role::Reader, Role::Operator, Role::Admin];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Peer => "peer",
            Role::Trainer => "trainer",
            Role::Reader => "reader",
            Role::Operator => "operator",
            Role::Admin => "admin",
        })
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        let found = Role::ALL.into_iter().find(|role| role.to_string() == text);
        found.ok_or_else(|| {
            let all = Role::ALL.map(|role| role.to_string()).join(", ");
            format!("{text:?} is no role; there are {all}")
        })
    }
}

/// Says who may call what on one connection. Asked when the headers of a call have come, before
/// anything is kept for it.
pub trait Guard: fmt::Debug + Send + Sync {
    fn admit(&self, path: &str, metadata: &HeaderMap) -> Result<Identity, Status>;
}

/// Lets everybody in.
#[derive(Debug)]
pub(crate) struct Open;

impl Guard for Open {
    fn admit(&self, _: &str, _: &HeaderMap) -> Result<Identity, Status> {
        Ok(Identity::anybody())
    }
}
