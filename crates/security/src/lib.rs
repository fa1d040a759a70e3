//! Who gets in: certificates, tokens, and what each role may call.
//!
//! [`Credentials`] are read from files, and again when those change. With them a server accepts
//! connections and a client makes them, over TLS with a certificate on both sides. A certificate or a
//! token says who calls; [`policy`] is the one table of what that one may do.

pub mod audit;
pub mod authority;
mod buffered;
pub mod certificate;
mod credentials;
mod greeting;
mod guard;
mod pem;
pub mod policy;
#[cfg(test)]
mod tests;
pub mod tokens;
mod tunnel;
mod verify;
mod watch;
mod words;

pub use buffered::Buffered;
pub use credentials::{Accepted, ClientStream, Credentials, Files, Protocol, ServerStream};
pub use guard::Caller;
pub use tensorfleet_transport::{Identity, Role};
pub use tunnel::{Tunnel, carry};
pub use words::explain;
