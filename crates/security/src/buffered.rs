//! A socket that is read through a buffer as large as what comes.
//!
//! A session of TLS asks for a few kilobytes at a time, which would cost a large message many calls
//! of the system. The buffer grows when reads fill it: who has only begun to speak costs little.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What is read at once at first, and at most.
const LEAST: usize = 1 << 10;
const MOST: usize = 64 << 10;

/// A socket and what came of it that nobody has asked for yet.
#[derive(Debug)]
pub struct Buffered {
    socket: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffered {
    pub(crate) fn new(socket: TcpStream) -> Buffered {
        Buffered { socket, buffer: Vec::new(), start: 0, end: 0 }
    }

    /// What came and was not asked for.
    pub fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Gives up the buffer, and what is in it.
    pub fn into_inner(self) -> TcpStream {
        self.socket
    }

    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.end == self.buffer.len() && self.buffer.len() < MOST {
            // Whoever fills it has more to say.
            self.buffer = vec![0; (2 * self.buffer.len()).clamp(LEAST, MOST)];
        }
        (self.start, self.end) = (0, 0);
        let mut read = ReadBuf::new(&mut self.buffer);
        ready!(Pin::new(&mut self.socket).poll_read(context, &mut read))?;
        self.end = read.filled().len();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Buffered {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        target: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.start == this.end {
            if target.remaining() >= MOST {
                return Pin::new(&mut this.socket).poll_read(context, target);
            }
            ready!(this.poll_fill(context))?;
        }
        let len = target.remaining().min(this.end - this.start);
        target.put_slice(&this.buffer[this.start..this.start + len]);
        this.start += len;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Buffered {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_comes_is_read_in_order_and_little_of_it_costs_little() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut other = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut buffered = Buffered::new(listener.accept().await.unwrap().0);
        other.write_all(&[7; 300]).await.unwrap();
        assert_eq!(buffered.read_u8().await.unwrap(), 7);
        assert_eq!(buffered.buffer.len(), LEAST);
        let mut rest = [0; 299];
        buffered.read_exact(&mut rest).await.unwrap();
        assert!(rest == [7; 299] && buffered.unread().is_empty());

        let sent: Vec<u8> = (0..3 * MOST).map(|place| (place % 251) as u8).collect();
        let expected = sent.clone();
        let writing = tokio::spawn(async move { other.write_all(&sent).await });
        let mut seen = vec![0; expected.len()];
        let (small, large) = seen.split_at_mut(2 * MOST);
        for part in small.chunks_mut(1000) {
            buffered.read_exact(part).await.unwrap();
        }
        buffered.read_exact(large).await.unwrap();
        writing.await.unwrap().unwrap();
        assert!(seen == expected && buffered.buffer.len() <= MOST);
        assert_eq!(buffered.read(&mut [0]).await.unwrap(), 0);
    }
}
