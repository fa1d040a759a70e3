//! A gate before a server, for tests of what happens when the network misbehaves.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tensorfleet_tensor::{Result, unavailable};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{Config, Host};

/// What a gate does with what comes.
///
/// ```
/// use std::time::Duration;
/// use tensorfleet_server::Passage;
///
/// assert_ne!(Passage::Open, Passage::Slow(Duration::from_millis(20)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It goes through.
    Open,
    /// It goes through so much later.
    Slow(Duration),
    /// It stays, and connections too: a network that is cut, or a process that is frozen.
    Held,
    /// Connections are broken and refused: a process that is dead.
    Shut,
}

/// A port of this machine that leads to a server, or does not. Give its address to a cluster in the
/// place of the server's, and let the server listen elsewhere.
///
/// ```
/// use tensorfleet_server::{ClusterSpec, Config, Gate, Passage, Server, ServerSpec, Task};
///
/// # fn main() -> tensorfleet_tensor::Result<()> {
/// let config = Config::default().grpc_only();
/// let gate = Gate::new(&config)?;
/// let cluster = ClusterSpec::from_lists([("worker", vec![gate.address().to_string()])])?;
/// let spec = ServerSpec::new(cluster, Task::new("worker", 0))?;
/// let server = Server::bind(spec, &"127.0.0.1:0".parse()?, &config)?;
/// server.start()?;
/// gate.lead_to(server.address())?;
/// gate.set(Passage::Held)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    state: watch::Sender<State>,
    /// Whether the gate has its port, which follows the state a moment later.
    listening: watch::Receiver<bool>,
    host: Arc<Host>,
    /// Ends with the gate.
    _accepting: JoinSet<()>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    passage: Passage,
    destination: Option<SocketAddr>,
    /// Counts what breaks the connections that there are.
    broken: u64,
}

impl Gate {
    /// Opens a gate on a free port of this machine. It refuses until it leads somewhere.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Gate};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// let gate = Gate::new(&Config::default())?;
    /// assert_ne!(gate.address().port(), 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(config: &Config) -> Result<Gate> {
        let host = config.host()?;
        let listener = host
            .wait(async { TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await })?
            .and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) =
            listener.map_err(|error| unavailable!("no port for a gate: {error}"))?;
        let state = State { passage: Passage::Open, destination: None, broken: 0 };
        let state = watch::Sender::new(state);
        let (now_listening, listening) = watch::channel(true);
        let mut accepting = JoinSet::new();
        accepting
            .spawn_on(accept(listener, address, state.subscribe(), now_listening), host.handle());
        let gate = Gate { address, state, listening, host, _accepting: accepting };
        gate.settle()?;
        Ok(gate)
    }

    /// Where the gate is.
    ///
    /// ```
    /// use tensorfleet_server::{Config, Gate};
    ///
    /// # fn main() -> tensorfleet_tensor::Result<()> {
    /// assert!(Gate::new(&Config::default())?.address().ip().is_loopback());
    /// # Ok(())
    /// # }
    /// ```
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where new connections go from now on. The example of [`Gate`] shows it.
    pub fn lead_to(&self, destination: SocketAddr) -> Result<()> {
        self.state.send_modify(|state| state.destination = Some(destination));
        self.settle()
    }

    /// Changes what happens with what comes, and with what is under way. The example of [`Gate`]
    /// shows it.
    pub fn set(&self, passage: Passage) -> Result<()> {
        self.state.send_modify(|state| {
            state.passage = passage;
            state.broken += u64::from(passage == Passage::Shut);
        });
        self.settle()
    }

    /// Waits until the port is as the state wants it.
    fn settle(&self) -> Result<()> {
        let wanted = !self.state.borrow().is_shut();
        let mut listening = self.listening.clone();
        let settled = self.host.wait(async move {
            listening.wait_for(|listening| *listening == wanted).await.is_ok()
        })?;
        if settled { Ok(()) } else { Err(unavailable!("{} was taken by another", self.address)) }
    }
}

impl State {
    /// Whether who comes is refused.
    fn is_shut(&self) -> bool {
        self.passage == Passage::Shut || self.destination.is_none()
    }
}

/// Lets connections in while the gate is not shut. A shut one has no port, so that the system refuses
/// who comes, as it does where nobody listens.
async fn accept(
    listener: TcpListener,
    address: SocketAddr,
    state: watch::Receiver<State>,
    listening: watch::Sender<bool>,
) {
    let mut changes = state.clone();
    let mut listener = Some(listener);
    // Connections end with the gate.
    let mut connections = JoinSet::new();
    loop {
        let open = match listener.take() {
            Some(open) => open,
            None => {
                listening.send_replace(false);
                if changes.wait_for(|state| !state.is_shut()).await.is_err() {
                    return;
                }
                // Who opened the gate is told by the end of the channel that the port was taken.
                let Ok(open) = TcpListener::bind(address).await else { return };
                listening.send_replace(true);
                open
            }
        };
        loop {
            let client = tokio::select! {
                accepted = open.accept() => accepted,
                shut = changes.wait_for(State::is_shut) => match shut {
                    Ok(_) => break,
                    Err(_) => return,
                },
            };
            while connections.try_join_next().is_some() {}
            let now = *state.borrow();
            let (Ok((client, _)), Some(destination)) = (client, now.destination) else { continue };
            connections.spawn(connect(client, destination, now.broken, state.clone()));
        }
    }
}

/// Carries bytes between a client and its server until one of them, or the gate, has enough.
async fn connect(
    client: TcpStream,
    destination: SocketAddr,
    broken_before: u64,
    mut state: watch::Receiver<State>,
) {
    let Ok(server) = TcpStream::connect(destination).await else { return };
    if client.set_nodelay(true).and_then(|()| server.set_nodelay(true)).is_err() {
        return;
    }
    let (client_reads, client_writes) = client.into_split();
    let (server_reads, server_writes) = server.into_split();
    let there = carry(client_reads, server_writes, state.clone());
    let back = carry(server_reads, client_writes, state.clone());
    tokio::select! {
        () = there => {}
        () = back => {}
        _ = state.wait_for(|state| state.broken != broken_before) => {}
    }
}

/// Carries bytes one way, as the gate says at the time.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut state: watch::Receiver<State>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let Ok(length @ 1..) = from.read(&mut buffer).await else { return };
        let came = Instant::now();
        let passable = |state: &State| state.passage != Passage::Held;
        let Ok(passage) = state.wait_for(passable).await.map(|state| state.passage) else { return };
        let delay = match passage {
            Passage::Slow(delay) => delay,
            Passage::Open | Passage::Held | Passage::Shut => Duration::ZERO,
        };
        if !delay.is_zero() {
            tokio::time::sleep_until(came + delay).await;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A gate, a client before it, the server behind it, and where more may come.
    fn connected() -> (Gate, TcpStream, TcpStream, TcpListener) {
        let gate = Gate::new(&Config::default()).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        gate.lead_to(listener.local_addr().unwrap()).unwrap();
        let mut client = TcpStream::connect(gate.address()).unwrap();
        client.write_all(b"hello").unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut greeting = [0; 5];
        server.read_exact(&mut greeting).unwrap();
        assert_eq!(&greeting, b"hello");
        (gate, client, server, listener)
    }

    #[test]
    fn what_is_held_comes_when_the_gate_opens() {
        let (gate, mut client, mut server, _) = connected();
        gate.set(Passage::Held).unwrap();
        client.write_all(b"late").unwrap();
        server.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut late = [0; 4];
        assert_eq!(server.read(&mut late).unwrap_err().kind(), ErrorKind::WouldBlock);
        gate.set(Passage::Open).unwrap();
        server.set_read_timeout(None).unwrap();
        server.read_exact(&mut late).unwrap();
        assert_eq!(&late, b"late");
    }

    #[test]
    fn a_shut_gate_breaks_and_refuses() {
        let (gate, mut client, _server, _listener) = connected();
        gate.set(Passage::Shut).unwrap();
        assert!(matches!(client.read(&mut [0; 1]), Ok(0) | Err(_)));
        assert!(refuses(&gate));
        gate.set(Passage::Open).unwrap();
        assert!(!refuses(&gate));
    }

    /// Whether nobody listens at the gate, or whoever listened goes away at once.
    fn refuses(gate: &Gate) -> bool {
        let Ok(mut stream) = TcpStream::connect(gate.address()) else { return true };
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        !stream.read(&mut [0; 1]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    #[test]
    fn a_gate_that_leads_nowhere_refuses() {
        assert!(refuses(&Gate::new(&Config::default()).unwrap()));
    }
}
