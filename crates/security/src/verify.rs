//! Whether a server shows what it should.

use std::io;

use tokio::net::TcpStream;

use crate::certificate::Certificate;
use crate::{Credentials, Protocol};

impl Credentials {
    /// Connects to a server and returns its certificate, which is good for its name or address. The
    /// server has accepted ours, if we have one.
    pub async fn probe(&self, host: &str, port: u16) -> io::Result<Certificate> {
        let socket = TcpStream::connect((host, port)).await?;
        let stream = self.connect(socket, host, Protocol::Grpc, "").await?;
        let chain = stream.get_ref().1.peer_certificates();
        let read = chain.and_then(|chain| Certificate::from_der(chain.first()?));
        read.ok_or_else(|| io::Error::other("its certificate cannot be read"))
    }
}
