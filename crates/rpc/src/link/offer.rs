//! How a link is asked for and offered in metadata, and how one is made.

use std::io;
use std::time::Duration;

use http::HeaderMap;
use tensorfleet_cluster::random_nonzero;
use tokio::net::{UnixListener, UnixStream};
use tonic::metadata::MetadataMap;

use super::MAGIC;
use super::introductions::Introductions;
use super::memory::is_same_user;
use super::socket::Socket;
use crate::transport::{self, Place};

/// The metadata of a `GetStatus` that asks for a link, or asks whether one was asked for, and of the
/// replies.
const ASK: &str = "tensorfleet-link-ask";
const CONFIRM: &str = "tensorfleet-link-confirm";
const CONFIRMED: &str = "tensorfleet-link-confirmed";
const OFFER: &str = "tensorfleet-link";

/// What nobody guesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Token([u8; 16]);

impl Token {
    /// A token that nobody has.
    pub(crate) fn random() -> Token {
        let bits = u128::from(random_nonzero()) << 64 | u128::from(random_nonzero());
        Token(bits.to_le_bytes())
    }

    fn text(self) -> String {
        format!("{:032x}", u128::from_le_bytes(self.0))
    }

    fn parse(text: &str) -> Option<Token> {
        let bits = u128::from_str_radix(text, 16).ok()?;
        Some(Token(bits.to_le_bytes()))
    }

    /// Takes the name of the Unix socket for tasks of this machine. It is not a file: it goes away
    /// with its listener, and other network namespaces do not see it.
    pub(super) fn listen(self) -> io::Result<UnixListener> {
        let listener = std::os::unix::net::UnixListener::bind_addr(&self.unix_address()?)?;
        listener.set_nonblocking(true)?;
        UnixListener::from_std(listener)
    }

    #[cfg(target_os = "linux")]
    fn unix_address(self) -> io::Result<std::os::unix::net::SocketAddr> {
        use std::os::linux::net::SocketAddrExt;
        std::os::unix::net::SocketAddr::from_abstract_name(format!("tensorfleet-{}", self.text()))
    }

    #[cfg(not(target_os = "linux"))]
    fn unix_address(self) -> io::Result<std::os::unix::net::SocketAddr> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A secret and the task that says it.
pub(crate) type Claim = (Token, String);

fn claim(value: &str) -> Option<Claim> {
    let (token, task) = value.split_once(' ')?;
    Some((Token::parse(token)?, task.to_owned()))
}

fn put(metadata: &mut MetadataMap, key: &'static str, value: &str) {
    if let Ok(value) = value.parse() {
        metadata.insert(key, value);
    }
}

/// Asks for a link, or whether one was asked for: a nonce, and who says it.
pub(crate) fn ask(metadata: &mut MetadataMap, nonce: Token, own: &str) {
    put(metadata, ASK, &format!("{} {own}", nonce.text()));
}

pub(crate) fn ask_to_confirm(metadata: &mut MetadataMap, nonce: Token, own: &str) {
    put(metadata, CONFIRM, &format!("{} {own}", nonce.text()));
}

/// Who asks for a link.
pub(crate) fn asked(metadata: &HeaderMap) -> Option<Claim> {
    claim(metadata.get(ASK)?.to_str().ok()?)
}

/// Who asks whether a link was asked for.
pub(crate) fn asked_to_confirm(metadata: &HeaderMap) -> Option<Claim> {
    claim(metadata.get(CONFIRM)?.to_str().ok()?)
}

/// Says that a link was asked for.
pub(crate) fn confirm(metadata: &mut MetadataMap) {
    put(metadata, CONFIRMED, "yes");
}

pub(crate) fn is_confirmed(metadata: &MetadataMap) -> bool {
    metadata.get(CONFIRMED).is_some()
}

/// A server's offer: where its door is, and what opens it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    door: Token,
    token: Token,
}

impl Offer {
    pub(crate) fn new(introductions: &Introductions, token: Token) -> Offer {
        Offer { door: introductions.door(), token }
    }

    /// Puts an offer into a reply.
    pub(crate) fn make(self, metadata: &mut MetadataMap) {
        put(metadata, OFFER, &format!("{} {}", self.door.text(), self.token.text()));
    }

    /// Finds an offer in a reply.
    pub(crate) fn find(metadata: &MetadataMap) -> Option<Offer> {
        let (door, token) = metadata.get(OFFER)?.to_str().ok()?.split_once(' ')?;
        Some(Offer { door: Token::parse(door)?, token: Token::parse(token)? })
    }

    /// Connects: inside this machine if the server is there, else to its port.
    pub(super) async fn connect(self, place: &Place, silence: Duration) -> io::Result<Socket> {
        let greeting = async {
            let socket = match self.connect_unix() {
                Ok(socket) => Socket::Unix(socket),
                Err(_) => place.link(silence).await?,
            };
            let mut hello = [0; MAGIC.len() + size_of::<Token>()];
            hello[..MAGIC.len()].copy_from_slice(&MAGIC);
            hello[MAGIC.len()..].copy_from_slice(&self.token.0);
            socket.write_all(&hello).await?;
            let mut answer = [0; MAGIC.len()];
            socket.read_exact(&mut answer).await?;
            if answer != MAGIC {
                return Err(io::ErrorKind::InvalidData.into());
            }
            Ok(socket)
        };
        tokio::time::timeout(transport::CONNECT_TIMEOUT, greeting).await?
    }

    /// Connects to a door of this machine that a process of the same user keeps.
    fn connect_unix(self) -> io::Result<UnixStream> {
        let socket = std::os::unix::net::UnixStream::connect_addr(&self.door.unix_address()?)?;
        socket.set_nonblocking(true)?;
        let socket = UnixStream::from_std(socket)?;
        if !is_same_user(&socket) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(socket)
    }
}

/// Answers the greeting of a task that was introduced, and returns its name. Inside this machine it
/// must be a process of the same user.
pub(super) async fn greet(socket: &Socket, introductions: &Introductions) -> io::Result<String> {
    if let Socket::Unix(socket) = socket
        && !is_same_user(socket)
    {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut hello = [0; MAGIC.len() + size_of::<Token>()];
    socket.read_exact(&mut hello).await?;
    let (magic, token) = hello.split_at(MAGIC.len());
    let token = Token(token.try_into().map_err(|_| io::ErrorKind::InvalidData)?);
    let who = introductions.redeem(token).filter(|_| magic == MAGIC);
    let who = who.ok_or(io::ErrorKind::InvalidData)?;
    socket.write_all(&MAGIC).await?;
    Ok(who)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_who_was_introduced_is_let_in() {
        let introductions = Introductions::new("b".to_owned());
        let listener = introductions.door().listen().unwrap();
        for (token, who) in
            [(introductions.issue("a").unwrap(), Some("a")), (Token::random(), None)]
        {
            let mut metadata = MetadataMap::new();
            Offer::new(&introductions, token).make(&mut metadata);
            let offer = Offer::find(&metadata).unwrap();
            let nowhere = Place::new("nowhere", None);
            let accepting = async {
                let socket = Socket::Unix(listener.accept().await.unwrap().0);
                greet(&socket, &introductions).await.ok()
            };
            let connecting = offer.connect(&nowhere, Duration::from_secs(1));
            let (accepted, connected) = tokio::join!(accepting, connecting);
            assert_eq!(accepted.as_deref(), who);
            assert_eq!(connected.is_ok(), who.is_some());
        }
    }

    #[test]
    fn claims_survive_the_way_and_nonsense_does_not() {
        let (nonce, mut metadata) = (Token::random(), MetadataMap::new());
        ask(&mut metadata, nonce, "/job:a/task:0");
        let headers = metadata.into_headers();
        assert_eq!(asked(&headers), Some((nonce, "/job:a/task:0".to_owned())));
        assert_eq!(asked_to_confirm(&headers), None);
        for text in ["", "x y", "12", "123456789012345678901234567890123 a"] {
            assert_eq!(claim(text), None, "{text}");
        }
    }
}
