//! The server's doors: gRPC connections go on to gRPC, links are served here.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use socket2::SockRef;
use tensorfleet_cluster::EventKind;
use tensorfleet_security::audit::Record;
use tensorfleet_security::{Accepted, Caller, Credentials, Protocol};
use tensorfleet_transport::{Connection, Guard, Identity, Limits, Memory, Methods, Peer, Role};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::MAGIC;
use super::introductions::{Introductions, is_task};
use super::offer::greet;
use super::serve::Served;
use super::socket::Socket;
use crate::worker::WorkerHandler;

/// How long a server that cannot accept, as for want of file descriptors, waits to try again.
const RETRY: Duration = Duration::from_millis(50);

/// The first byte of TLS.
const TLS_HANDSHAKE: u8 = 22;

/// How many connections one other machine may have where nothing else is said.
const PER_ADDRESS: usize = 2_000;

/// How many connections are taken beyond the limit, to ask for the server's health.
const FOR_HEALTH: usize = 16;

/// What a server has to offer.
#[derive(Clone, Debug)]
pub(crate) struct Doors {
    pub(crate) methods: Arc<Methods>,
    /// The methods of those who come when it is full.
    pub(crate) health: Arc<Methods>,
    pub(crate) handler: WorkerHandler,
    /// Who may have links; without it nobody may.
    pub(crate) introductions: Option<Arc<Introductions>>,
    pub(crate) limits: Limits,
    /// The memory that connections share.
    pub(crate) memory: Arc<Memory>,
    /// Who may come, and what is shown to them; without it everybody may, in plaintext.
    pub(crate) credentials: Option<Arc<Credentials>>,
    pub(crate) stop: watch::Receiver<bool>,
}

/// Accepts connections until the server stops, and waits until those that there are have ended.
pub(crate) async fn accept(listener: TcpListener, doors: Doors) {
    let mut connections = JoinSet::new();
    let mut stop = doors.stop.clone();
    let unix = doors.introductions.as_ref().and_then(|introductions| {
        let refused =
            |error| tracing::debug!("links inside this machine are not possible: {error}");
        introductions.door().listen().map_err(refused).ok()
    });
    let rooms = Rooms::new(&doors);
    loop {
        let accepted = tokio::select! {
            // An error means that the server is gone.
            _ = stop.wait_for(|stop| *stop) => break,
            // Ended; a panic has been told by its hook.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => {
                accepted.map(|(socket, address)| Door::Port(socket, address))
            }
            accepted = next(unix.as_ref()) => accepted.map(Door::Inside),
        };
        let door = match accepted {
            Ok(door) => door,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(RETRY).await;
                continue;
            }
        };
        let address = match &door {
            Door::Port(_, address) => Some(address.ip().to_canonical()),
            Door::Inside(_) => None,
        };
        let taken = rooms.take(address);
        let Some((room, is_full)) = taken else {
            let text = match address.filter(|address| rooms.is_crowded(*address)) {
                Some(address) => format!("a connection of {address} is refused: it has too many"),
                None => format!("a connection is refused: {} are open", doors.limits.connections),
            };
            tracing::warn!("{text}");
            doors.handler.task.events.keep(Instant::now(), EventKind::Limit, text);
            continue;
        };
        let doors = doors.clone();
        let memory = Arc::clone(&rooms.memory);
        connections.spawn(async move {
            let _room = room;
            match door {
                Door::Inside(socket) if !is_full => doors.serve_link(socket, None).await,
                Door::Inside(_) => {}
                Door::Port(socket, address) => doors.serve(socket, address, memory, is_full).await,
            }
        });
    }
    drop((listener, unix));
    while connections.join_next().await.is_some() {}
}

/// How many connections there may be, and the memory that they share.
struct Rooms {
    per_address: Option<usize>,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
    all: Arc<Semaphore>,
    for_health: Arc<Semaphore>,
    memory: Arc<Memory>,
}

impl Rooms {
    fn new(doors: &Doors) -> Rooms {
        Rooms {
            per_address: doors.limits.connections_per_address,
            by_address: Arc::default(),
            all: Arc::new(Semaphore::new(doors.limits.connections)),
            for_health: Arc::new(Semaphore::new(FOR_HEALTH)),
            memory: Arc::clone(&doors.memory),
        }
    }

    /// A place for a connection, and whether it is one beyond the limit.
    fn take(&self, address: Option<IpAddr>) -> Option<(Room, bool)> {
        let counted = match address {
            Some(address) => Some(self.count(address)?),
            None => None,
        };
        if let Ok(permit) = Arc::clone(&self.all).try_acquire_owned() {
            return Some((Room { _permit: permit, _counted: counted }, false));
        }
        let permit = Arc::clone(&self.for_health).try_acquire_owned().ok()?;
        Some((Room { _permit: permit, _counted: counted }, true))
    }

    /// Whether an address has as many connections as it may.
    fn is_crowded(&self, address: IpAddr) -> bool {
        lock(&self.by_address).get(&address).is_some_and(|count| *count >= self.most(address))
    }

    fn most(&self, address: IpAddr) -> usize {
        let most = if address.is_loopback() { usize::MAX } else { PER_ADDRESS };
        self.per_address.unwrap_or(most)
    }

    fn count(&self, address: IpAddr) -> Option<Counted> {
        let mut counts = lock(&self.by_address);
        let count = counts.entry(address).or_default();
        if *count >= self.most(address) {
            return None;
        }
        *count += 1;
        Some(Counted { address, counts: Arc::clone(&self.by_address) })
    }
}

/// The place of a connection, given back when it ends.
struct Room {
    _permit: OwnedSemaphorePermit,
    _counted: Option<Counted>,
}

/// One of the connections of an address.
struct Counted {
    address: IpAddr,
    counts: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

fn lock(counts: &Mutex<HashMap<IpAddr, usize>>) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

enum Door {
    Port(TcpStream, SocketAddr),
    Inside(Socket),
}

async fn next(listener: Option<&UnixListener>) -> io::Result<Socket> {
    match listener {
        Some(listener) => Ok(Socket::Unix(listener.accept().await?.0)),
        None => std::future::pending().await,
    }
}

/// Prepares a socket: small frames leave at once, and what the other machine does not confirm in
/// time means that it is gone.
pub(crate) fn tune(socket: &TcpStream, silence: Duration) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let socket = SockRef::from(socket);
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(silence))?;
    let keepalive = socket2::TcpKeepalive::new().with_time(silence).with_interval(silence / 3);
    socket.set_tcp_keepalive(&keepalive)
}

impl Doors {
    async fn serve(
        mut self,
        socket: TcpStream,
        address: SocketAddr,
        memory: Arc<Memory>,
        is_full: bool,
    ) {
        if tune(&socket, self.limits.silence).is_err() {
            return;
        }
        let mut start = [0; MAGIC.len()];
        let begun = tokio::select! {
            // An error means that the server is gone.
            _ = self.stop.wait_for(|stop| *stop) => return,
            begun = tokio::time::timeout(self.limits.handshake, socket.peek(&mut start)) => begun,
        };
        let Ok(Ok(len)) = begun else { return };
        let peer = Peer::Address(address);
        let is_tls = len > 0 && start[0] == TLS_HANDSHAKE;
        let is_link = len == start.len() && start == MAGIC;
        match self.credentials.clone() {
            Some(credentials) if is_tls => {
                self.serve_encrypted(socket, &credentials, peer, memory, is_full).await;
            }
            Some(_) if is_link => {
                tracing::warn!("{peer} wants a link in plaintext, which is not had")
            }
            Some(credentials) => {
                // It is told so in answer to its calls, and may ask for health.
                let guard = Caller::in_plaintext(credentials, peer);
                self.serve_calls(socket, peer, memory, is_full, Some(Arc::new(guard))).await;
            }
            None if is_tls => {
                tracing::warn!("{peer} speaks TLS, and this port does not");
                // What is no TLS ends the other side's attempt at once.
                let _ = socket.try_write(b"HTTP/1.1 400 Bad Request\r\n\r\nno TLS here\n");
            }
            None if is_link => {
                if !is_full {
                    self.serve_link(Socket::Tcp(socket), None).await;
                }
            }
            None => self.serve_calls(socket, peer, memory, is_full, None).await,
        }
    }

    /// Serves whoever comes over TLS.
    async fn serve_encrypted(
        mut self,
        socket: TcpStream,
        credentials: &Arc<Credentials>,
        peer: Peer,
        memory: Arc<Memory>,
        is_full: bool,
    ) {
        let handshake = tokio::time::timeout(self.limits.handshake, credentials.accept(socket));
        let accepted = tokio::select! {
            // An error means that the server is gone.
            _ = self.stop.wait_for(|stop| *stop) => return,
            accepted = handshake => accepted,
        };
        let accepted = match accepted {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(error)) => {
                let outcome = error.to_string();
                credentials.record(Record {
                    event: "refused",
                    from: Some(peer),
                    what: "a TLS handshake",
                    outcome: &outcome,
                    ..Record::default()
                });
                return tracing::warn!("{peer} is not let in: {error}");
            }
            Err(_) => return tracing::debug!("{peer} does not end its TLS handshake"),
        };
        let Accepted { stream, protocol, certificate, token, behind } = accepted;
        if !behind.is_empty() {
            tracing::debug!("{peer} speaks for {behind}");
        }
        if protocol != Protocol::Link {
            let guard = Caller::over_tls(Arc::clone(credentials), peer, certificate, token);
            return self.serve_calls(stream, peer, memory, is_full, Some(Arc::new(guard))).await;
        }
        match certificate.filter(|identity| identity.role == Role::Peer) {
            Some(identity) if !is_full => {
                self.serve_link(Socket::of_server(stream), Some(identity)).await;
            }
            Some(_) => {}
            None => tracing::warn!("{peer} wants a link and is no task of this cluster"),
        }
    }

    async fn serve_calls(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Peer,
        memory: Arc<Memory>,
        is_full: bool,
        guard: Option<Arc<dyn Guard>>,
    ) {
        let methods = if is_full { self.health } else { self.methods };
        let mut connection = Connection::new(stream, peer, methods, &self.limits, memory);
        if let Some(guard) = guard {
            connection = connection.guarded_by(guard);
        }
        if let Err(error) = connection.serve(self.stop).await {
            tracing::debug!("a connection of {peer} broke: {error}");
        }
    }

    /// Serves a link, whose other end must be who its certificate says, if one came.
    async fn serve_link(mut self, socket: Socket, identity: Option<Identity>) {
        let Some(introductions) = self.introductions else { return };
        let greeting = greet(&socket, &introductions);
        let who = tokio::select! {
            // As above.
            _ = self.stop.wait_for(|stop| *stop) => return,
            greeting = tokio::time::timeout(self.limits.handshake, greeting) => greeting,
        };
        let Ok(Ok(who)) = who else {
            return tracing::debug!("somebody who was not introduced wanted a link");
        };
        if identity.is_some_and(|identity| !is_task(&identity, &who)) {
            return tracing::warn!("somebody with another certificate wanted the link of {who}");
        }
        let socket = Arc::new(socket);
        let served = Served::new(self.handler, Arc::clone(&socket));
        let stopped = async {
            // As above.
            let _ = self.stop.wait_for(|stop| *stop).await;
            if !served.is_idle() {
                tokio::time::sleep(self.limits.drain).await;
            }
        };
        tokio::select! {
            outcome = served.work(socket, self.limits.silence) => {
                if let Err(error) = outcome {
                    tracing::debug!("the link of {who} broke: {error}");
                }
            }
            () = stopped => {}
        }
        served.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_does_not_take_all_places() {
        let rooms = |per_address| Rooms {
            per_address,
            by_address: Arc::default(),
            all: Arc::new(Semaphore::new(PER_ADDRESS + 1)),
            for_health: Arc::new(Semaphore::new(FOR_HEALTH)),
            memory: Memory::new(0),
        };
        let other: IpAddr = "10.0.0.7".parse().unwrap();
        let own: IpAddr = "127.0.0.1".parse().unwrap();
        let given = rooms(Some(2));
        for address in [other, own] {
            let held = [given.take(Some(address)).unwrap(), given.take(Some(address)).unwrap()];
            assert!(given.take(Some(address)).is_none() && given.is_crowded(address));
            assert!(given.take(None).is_some());
            drop(held);
            assert!(given.take(Some(address)).is_some() && !given.is_crowded(address));
        }
        assert!(lock(&given.by_address).is_empty());
        let usual = rooms(None);
        let held: Vec<_> = (0..PER_ADDRESS).map(|_| usual.take(Some(other)).unwrap()).collect();
        assert!(usual.take(Some(other)).is_none());
        // This machine has all that there are.
        let (_last, is_full) = usual.take(Some(own)).unwrap();
        assert!(!is_full && usual.take(Some(own)).is_some_and(|(_, is_full)| is_full));
        drop(held);
    }
}
