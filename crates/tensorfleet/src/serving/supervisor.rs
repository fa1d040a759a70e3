//! What a supervisor such as systemd is told: that the task is ready, lives, and ends.
//!
//! It gives the process the name of a socket in `NOTIFY_SOCKET` and reads lines from it. Without one
//! nobody is told.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tensorfleet_server::Server;

/// Who started the process and wants to know how it is.
#[derive(Debug)]
pub(super) struct Supervisor {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants to hear that the process lives, or ends it.
    patience: Option<Duration>,
}

impl Supervisor {
    pub(super) fn from_environment() -> Supervisor {
        let variable = |name| std::env::var(name).ok();
        Supervisor::new(
            variable("NOTIFY_SOCKET").as_deref(),
            variable("WATCHDOG_USEC").as_deref(),
            variable("WATCHDOG_PID").as_deref(),
        )
    }

    fn new(socket: Option<&str>, microseconds: Option<&str>, process: Option<&str>) -> Supervisor {
        let socket = socket.and_then(|name| match open(name) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!("NOTIFY_SOCKET {name} cannot be used: {error}");
                None
            }
        });
        // Another process of the same unit may be meant.
        let is_own = process.is_none_or(|id| id == std::process::id().to_string());
        let microseconds = microseconds.and_then(|text| text.parse().ok());
        let patience = microseconds.filter(|&time| is_own && time > 0).map(Duration::from_micros);
        Supervisor { socket, patience }
    }

    pub(super) fn ready(&self, what: &str) {
        self.say(&format!("READY=1\nSTATUS=Serving {what}"));
    }

    pub(super) fn reloading(&self) {
        self.say("RELOADING=1");
    }

    pub(super) fn reloaded(&self) {
        self.say("READY=1");
    }

    pub(super) fn stopping(&self) {
        self.say("STOPPING=1\nSTATUS=Finishing steps");
    }

    fn say(&self, lines: &str) {
        if let Some((socket, address)) = &self.socket {
            // It may have ended, which is no reason for the task to do so.
            drop(socket.send_to_addr(lines.as_bytes(), address));
        }
    }
}

fn open(name: &str) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

/// Says that the task lives for as long as it computes. One that does not is ended by its supervisor, and
/// started again.
pub(super) async fn watchdog(supervisor: Arc<Supervisor>, server: Weak<Server>) {
    let Some(patience) = supervisor.patience else { return };
    while let Some(server) = server.upgrade() {
        if server.makes_progress() {
            supervisor.say("WATCHDOG=1");
        }
        drop(server);
        tokio::time::sleep(patience / 3).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supervisor_hears_by_path_and_by_abstract_name() {
        let id = std::process::id();
        let path = std::env::temp_dir().join(format!("tensorfleet-notify-{id}"));
        let by_path = UnixDatagram::bind(&path).unwrap();
        let name = format!("tensorfleet-notify-{id}");
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let by_name = UnixDatagram::bind_addr(&address).unwrap();
        let path_text = path.to_str().unwrap().to_owned();
        for (name, socket) in [(path_text, by_path), (format!("@{name}"), by_name)] {
            Supervisor::new(Some(&name), None, None).ready("x");
            let mut heard = [0; 100];
            let length = socket.recv(&mut heard).unwrap();
            assert_eq!(&heard[..length], b"READY=1\nSTATUS=Serving x");
        }
        std::fs::remove_file(path).unwrap();
        // Nobody listens.
        Supervisor::new(Some("/no/such/socket"), None, None).ready("x");
    }

    #[test]
    fn a_watchdog_is_for_the_process_that_it_names() {
        let own = std::process::id().to_string();
        let patience = |process| Supervisor::new(None, Some("3000000"), process).patience;
        assert_eq!(patience(None), Some(Duration::from_secs(3)));
        assert_eq!(patience(Some(&*own)), Some(Duration::from_secs(3)));
        assert_eq!(patience(Some("1")), None);
        assert_eq!(Supervisor::new(None, Some("0"), None).patience, None);
    }
}
