//! Certificates, keys, authorities and tokens, as they are in their files now.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, RwLock};
use std::time::SystemTime;

use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::ServerName;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tensorfleet_tensor::{Result, invalid_argument};
use tensorfleet_transport::Identity;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::audit::{Audit, Record};
use crate::buffered::Buffered;
use crate::certificate::{Certificate, Member};
use crate::greeting;
use crate::pem;
use crate::tokens::{Hash, Tokens, Worthless, hash};
use crate::watch::Stamps;
use crate::words::{explained, handshake_failed};

/// Where credentials are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// Our own certificate and its key. A client may do without.
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
    /// Those whose signature we trust.
    pub authorities: PathBuf,
    /// The tokens that a server knows.
    pub tokens: Option<PathBuf>,
    /// The token that a client shows.
    pub token: Option<PathBuf>,
    /// Whether TLS 1.2 will do; else it is 1.3.
    pub tls12: bool,
}

impl Files {
    /// What the environment says: `TENSORFLEET_TLS_CA`, and perhaps `TENSORFLEET_TLS_CERT`,
    /// `TENSORFLEET_TLS_KEY` and `TENSORFLEET_TOKEN_FILE`.
    pub fn from_environment() -> Result<Files> {
        let path = |name| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let Some(authorities) = path("TENSORFLEET_TLS_CA") else {
            return Err(invalid_argument!(
                "TLS needs an authority to trust: TENSORFLEET_TLS_CA is the path of its certificate"
            ));
        };
        Ok(Files {
            certificate: path("TENSORFLEET_TLS_CERT"),
            key: path("TENSORFLEET_TLS_KEY"),
            authorities,
            tokens: None,
            token: path("TENSORFLEET_TOKEN_FILE"),
            tls12: false,
        })
    }

    /// All files that there are.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let Files { certificate, key, authorities, tokens, token, .. } = self;
        [certificate, key, tokens, token].into_iter().flatten().chain([authorities])
    }
}

/// What is spoken over TLS; both ends agree on it in the handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// gRPC: HTTP/2.
    Grpc,
    /// A link between two tasks.
    Link,
    /// A token, then gRPC.
    Tunnel,
}

impl Protocol {
    const ALL: [Protocol; 3] = [Protocol::Grpc, Protocol::Link, Protocol::Tunnel];

    fn name(self) -> &'static [u8] {
        match self {
            Protocol::Grpc => b"h2",
            Protocol::Link => b"tensorfleet-link",
            Protocol::Tunnel => b"tensorfleet-tunnel",
        }
    }
}

/// Both sides' streams. Their sockets are read through a buffer.
pub type ServerStream = server::TlsStream<Buffered>;
pub type ClientStream = client::TlsStream<Buffered>;

/// A connection that was accepted.
#[derive(Debug)]
pub struct Accepted {
    pub stream: ServerStream,
    pub protocol: Protocol,
    /// Who the certificate says that it is, if one of this cluster came.
    pub certificate: Option<Identity>,
    /// The token that was said first, if one was.
    pub token: Option<Hash>,
    /// Who says that it is behind the connection. Nobody has checked it.
    pub behind: String,
}

/// Credentials, as their files are now. Connections that are up keep those they were made with.
#[derive(Debug)]
pub struct Credentials {
    pub(crate) files: Files,
    /// How the files were before they were first read.
    pub(crate) stamps: Stamps,
    loaded: RwLock<Arc<Loaded>>,
    audit: OnceLock<Arc<Audit>>,
}

#[derive(Debug)]
pub(crate) struct Loaded {
    server: Option<Arc<ServerConfig>>,
    /// By protocol.
    clients: [Arc<ClientConfig>; 3],
    tokens: Tokens,
    token: Option<String>,
    /// Our own certificate, then those of the authorities.
    pub(crate) certificates: Vec<Certificate>,
    own: Option<Member>,
}

impl Credentials {
    /// Reads the files.
    pub fn load(files: Files) -> Result<Arc<Credentials>> {
        let stamps = Stamps::of(&files);
        let loaded = RwLock::new(Arc::new(Loaded::read(&files)?));
        Ok(Arc::new(Credentials { files, stamps, loaded, audit: OnceLock::new() }))
    }

    /// Writes down who is refused, and that credentials have changed, from now on.
    pub fn audited_by(&self, audit: Arc<Audit>) {
        // One that is there already stays.
        let _ = self.audit.set(audit);
    }

    /// Writes something down, if that is wanted.
    pub fn record(&self, record: Record<'_>) {
        if let Some(audit) = self.audit.get() {
            audit.record(record);
        }
    }

    /// When the first of our certificates and authorities ends.
    pub fn first_end(&self) -> Option<SystemTime> {
        self.now().certificates.iter().map(|certificate| certificate.not_after).min()
    }

    pub(crate) fn now(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded.read().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// Reads the files again. What is up stays as it is if they cannot be used.
    pub fn reload(&self) -> Result<()> {
        let loaded = Arc::new(Loaded::read(&self.files)?);
        *self.loaded.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = loaded;
        Ok(())
    }

    /// Whether a server can be run with them.
    pub fn check_server(&self) -> Result<()> {
        match self.now().server {
            Some(_) => Ok(()),
            None => Err(invalid_argument!("a server needs a certificate and its key")),
        }
    }

    /// When our own certificate ends.
    pub fn expiry(&self) -> Option<SystemTime> {
        self.files.certificate.as_ref()?;
        self.now().certificates.first().map(|certificate| certificate.not_after)
    }

    /// Who we are, as our own certificate says.
    pub fn own(&self) -> Option<Member> {
        self.now().own.clone()
    }

    /// Whose a token is.
    pub(crate) fn identify(
        &self,
        token: &Hash,
        now: SystemTime,
    ) -> std::result::Result<Identity, Worthless> {
        self.now().tokens.find(token, now)
    }

    /// Accepts a connection as a server. The caller limits the time.
    pub async fn accept(&self, socket: TcpStream) -> io::Result<Accepted> {
        let now = self.now();
        let none = || io::Error::other("there is no certificate to serve with");
        let acceptor = TlsAcceptor::from(now.server.clone().ok_or_else(none)?);
        let socket = Buffered::new(socket);
        let mut stream = acceptor.accept(socket).await.map_err(handshake_failed)?;
        let session = stream.get_ref().1;
        let agreed = session.alpn_protocol();
        let protocol = Protocol::ALL.into_iter().find(|protocol| Some(protocol.name()) == agreed);
        let protocol = protocol.unwrap_or(Protocol::Grpc);
        let member = session
            .peer_certificates()
            .and_then(|chain| Certificate::from_der(chain.first()?)?.member);
        let certificate = now.in_cluster(member);
        let (mut token, mut behind) = (None, String::new());
        if protocol == Protocol::Tunnel {
            let (said, who) = greeting::hear(&mut stream).await?;
            token = (!said.is_empty()).then(|| hash(&said));
            behind = who;
        }
        Ok(Accepted { stream, protocol, certificate, token, behind })
    }

    /// Speaks a protocol to the server of a name or address. It ends well when the server has accepted
    /// our certificate, too.
    pub async fn connect(
        &self,
        socket: TcpStream,
        host: &str,
        protocol: Protocol,
        behind: &str,
    ) -> io::Result<ClientStream> {
        let now = self.now();
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::other(format!("{host:?} is no name that a certificate has")))?;
        let connector = TlsConnector::from(Arc::clone(&now.clients[protocol as usize]));
        let socket = Buffered::new(socket);
        let mut stream = connector.connect(name, socket).await.map_err(handshake_failed)?;
        let chain = stream.get_ref().1.peer_certificates();
        let theirs = chain.and_then(|chain| Certificate::from_der(chain.first()?)?.member);
        if let (Some(own), Some(theirs)) = (&now.own, theirs)
            && own.cluster != theirs.cluster
        {
            let words = format!("it is of another cluster, {}", theirs.cluster);
            return Err(io::Error::other(words));
        }
        if protocol == Protocol::Tunnel {
            greeting::say(&mut stream, now.token.as_deref().unwrap_or_default(), behind).await?;
            stream.flush().await.map_err(explained)?;
        }
        if protocol != Protocol::Link {
            // The server speaks first in HTTP/2, and does so once it has seen our certificate.
            stream.fill_buf().await.map_err(explained)?;
        }
        Ok(stream)
    }

    /// Which protocol a client speaks: one with a token says it first.
    pub fn client_protocol(&self) -> Protocol {
        if self.now().token.is_some() { Protocol::Tunnel } else { Protocol::Grpc }
    }
}

impl Loaded {
    fn read(files: &Files) -> Result<Loaded> {
        let mut roots = RootCertStore::empty();
        let authorities = pem::certificates(&files.authorities)?;
        for authority in &authorities {
            roots.add(authority.clone()).map_err(|error| {
                invalid_argument!("{} cannot be used: {error}", files.authorities.display())
            })?;
        }
        let roots = Arc::new(roots);
        let own = match (&files.certificate, &files.key) {
            (Some(certificate), Some(key)) => {
                Some((certificate, pem::certificates(certificate)?, pem::key(key)?))
            }
            (None, None) => None,
            _ => return Err(invalid_argument!("a certificate and its key come together")),
        };
        let provider = Arc::new(default_provider());
        let versions = if files.tls12 { &[&TLS13, &TLS12][..] } else { &[&TLS13] };
        let failed = |error: rustls::Error| match &own {
            Some((path, ..)) => {
                invalid_argument!("the certificate {} cannot be used: {error}", path.display())
            }
            None => invalid_argument!("TLS cannot be set up: {error}"),
        };
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(failed)?
            .with_root_certificates(Arc::clone(&roots));
        let mut client = match &own {
            Some((_, chain, key)) => {
                client.with_client_auth_cert(chain.clone(), key.clone_key()).map_err(failed)?
            }
            None => client.with_no_client_auth(),
        };
        // Every connection shows its certificate, so that one that is no longer good is not let in.
        client.resumption = Resumption::disabled();
        let clients = Protocol::ALL.map(|protocol| {
            let mut client = client.clone();
            client.alpn_protocols = vec![protocol.name().to_vec()];
            Arc::new(client)
        });
        let server = match &own {
            Some((_, chain, key)) => {
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
                        .allow_unauthenticated()
                        .build()
                        .map_err(|error| {
                            invalid_argument!("no authority can be trusted: {error}")
                        })?;
                let mut server = ServerConfig::builder_with_provider(provider)
                    .with_protocol_versions(versions)
                    .map_err(failed)?
                    .with_client_cert_verifier(verifier)
                    .with_single_cert(chain.clone(), key.clone_key())
                    .map_err(failed)?;
                server.alpn_protocols =
                    Protocol::ALL.map(|protocol| protocol.name().to_vec()).into();
                server.session_storage = Arc::new(NoServerSessionStorage {});
                server.send_tls13_tickets = 0;
                Some(Arc::new(server))
            }
            None => None,
        };
        let first = own.as_ref().and_then(|(_, chain, _)| chain.first());
        let certificates: Vec<Certificate> = first
            .into_iter()
            .chain(&authorities)
            .filter_map(|certificate| Certificate::from_der(certificate))
            .collect();
        let own = first.and_then(|certificate| Certificate::from_der(certificate)?.member);
        Ok(Loaded {
            server,
            clients,
            tokens: files.tokens.as_deref().map(Tokens::from_file).transpose()?.unwrap_or_default(),
            token: files.token.as_deref().map(read_token).transpose()?,
            certificates,
            own,
        })
    }

    /// Who somebody is here: members of other clusters are nobody.
    fn in_cluster(&self, member: Option<Member>) -> Option<Identity> {
        let member = member?;
        let is_ours = self.own.as_ref().is_none_or(|own| own.cluster == member.cluster);
        is_ours.then_some(member.identity)
    }
}

fn read_token(path: &std::path::Path) -> Result<String> {
    let token = pem::read(path)?.trim().to_owned();
    if token.is_empty() || token.contains(char::is_whitespace) {
        return Err(invalid_argument!("{} holds no token", path.display()));
    }
    Ok(token)
}
