//! A request, as far as it matters here.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// How long the head of a request may be, and its body.
const LONGEST_HEAD: usize = 16 * 1024;
const LONGEST_BODY: usize = 64 * 1024;

/// What somebody asks for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Request {
    /// Reads a request, when all of it has come.
    pub(super) async fn read(socket: &mut TcpStream) -> Option<Request> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            read_some(socket, &mut bytes, LONGEST_HEAD).await?;
        };
        let mut request = Request::parse(std::str::from_utf8(&bytes[..end]).ok()?)?;
        let length = request.headers.get(header::CONTENT_LENGTH);
        let length = length.map_or(Some(0), |value| value.to_str().ok()?.parse::<usize>().ok())?;
        let whole = end + 4 + length;
        while bytes.len() < whole {
            read_some(socket, &mut bytes, LONGEST_HEAD + LONGEST_BODY).await?;
        }
        request.body = String::from_utf8(bytes[end + 4..whole].to_vec()).ok()?;
        Some(request)
    }

    fn parse(head: &str) -> Option<Request> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let name = HeaderName::try_from(name).ok()?;
            headers.append(name, HeaderValue::try_from(value.trim()).ok()?);
        }
        let (path, query) = (path.to_owned(), query.to_owned());
        Some(Request { method, path, query, headers, body: String::new() })
    }

    /// The value of a name in the query, with what is written as `%2F` as it is meant.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(key, _)| *key == name).and_then(|(_, value)| unescape(value))
    }

    /// The name by which the reader knows this server, without its port.
    pub(super) fn host(&self) -> Option<&str> {
        let host = self.headers.get(header::HOST)?.to_str().ok()?;
        match host.strip_prefix('[') {
            Some(literal) => literal.split(']').next(),
            None => host.split(':').next(),
        }
    }

    /// Whether the body is said to be JSON: a page of another site cannot say that unasked.
    pub(super) fn is_json(&self) -> bool {
        let kind = self.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.is_some_and(|kind| kind.split(';').next() == Some("application/json"))
    }
}

async fn read_some(socket: &mut TcpStream, bytes: &mut Vec<u8>, longest: usize) -> Option<()> {
    let mut piece = [0; 2048];
    let length = socket.read(&mut piece).await.ok()?;
    if length == 0 || bytes.len() + length > longest {
        return None;
    }
    bytes.extend_from_slice(&piece[..length]);
    Some(())
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_far_as_it_matters() {
        let head = "GET /api/logs?task=%2Fjob%3Aps&since=5 HTTP/1.1\r\nHost: [::1]:9100\r\nX-A: b";
        let request = Request::parse(head).unwrap();
        assert_eq!((&*request.method, &*request.path), ("GET", "/api/logs"));
        assert_eq!(request.parameter("task").as_deref(), Some("/job:ps"));
        assert_eq!(request.parameter("since").as_deref(), Some("5"));
        assert_eq!(request.parameter("until"), None);
        assert_eq!(request.host(), Some("::1"));
        assert!(!request.is_json());
        let post = Request::parse("POST / HTTP/1.1\r\nContent-Type: application/json; q").unwrap();
        assert!(post.is_json());
    }

    #[test]
    fn what_is_no_request_is_none() {
        for head in ["", "GET", "GET / HTTP/1.1\r\nno colon", "GET / HTTP/1.1\r\na b: c"] {
            assert!(Request::parse(head).is_none(), "{head:?}");
        }
        assert_eq!(unescape("%"), None);
        assert_eq!(unescape("%zz"), None);
        assert_eq!(unescape("%ff"), None);
    }
}
