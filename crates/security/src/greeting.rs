//! What is said first on a connection that carries a token, or another program's bytes: the token, and
//! who is behind it. Each is a length of two bytes and text.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// No text is longer.
const LONGEST: usize = 4096;

/// Says a token, which may be empty, and who sends it.
pub(crate) async fn say(
    stream: &mut (impl AsyncWrite + Unpin),
    token: &str,
    who: &str,
) -> io::Result<()> {
    let mut greeting = Vec::new();
    for text in [token, who] {
        let text = &text.as_bytes()[..text.len().min(LONGEST)];
        greeting.extend_from_slice(&u16::try_from(text.len()).unwrap_or_default().to_be_bytes());
        greeting.extend_from_slice(text);
    }
    stream.write_all(&greeting).await
}

/// Hears a token and who sends it.
pub(crate) async fn hear(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<(String, String)> {
    Ok((text(stream).await?, text(stream).await?))
}

async fn text(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let len = usize::from(stream.read_u16().await?);
    if len > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a greeting that is too long"));
    }
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes).await?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a greeting that is no text"))
}
