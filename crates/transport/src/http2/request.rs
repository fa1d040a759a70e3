//! What the headers of a request say, and whether they may (RFC 9113, section 8; gRPC's own rules).

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::message::Encoding;
use crate::limits::HEADER_LIST;
use crate::{Code, Status, deadline};

#[derive(Debug, Default)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) timeout: Option<Duration>,
    pub(super) metadata: HeaderMap,
    pub(super) encoding: Encoding,
    pub(super) content_length: Option<u64>,
    /// What the headers count together.
    pub(super) size: usize,
    method: Option<Method>,
    has_scheme: bool,
    content_type: Type,
    takes_trailers: bool,
    /// Whether a header came that is none of HTTP's own.
    has_fields: bool,
    /// Whether the headers are none that HTTP/2 allows.
    is_malformed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Post,
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Type {
    #[default]
    None,
    Grpc,
    Other,
}

/// Why a call is not begun: what HTTP calls it, and gRPC.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) http: &'static str,
    pub(super) status: Status,
}

impl Refusal {
    /// Whether it is no call at all, so that nothing is said but that.
    pub(super) fn is_malformed(&self) -> bool {
        self.http.is_empty()
    }
}

impl Request {
    pub(super) fn header(&mut self, name: &[u8], value: &[u8]) {
        if name.first() == Some(&b':') {
            return self.pseudo(name, value);
        }
        self.has_fields = true;
        self.is_malformed |= !is_value(value);
        match name {
            b"te" => {
                self.takes_trailers = value == b"trailers";
                self.is_malformed |= !self.takes_trailers;
            }
            b"content-type" => {
                let is_grpc = value.starts_with(b"application/grpc");
                self.content_type = if is_grpc { Type::Grpc } else { Type::Other };
            }
            b"content-length" => {
                let length = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                self.is_malformed |= length.is_none() || self.content_length.is_some();
                self.content_length = length;
            }
            b"grpc-timeout" => self.timeout = deadline::timeout(value),
            b"grpc-encoding" => {
                self.encoding = match value {
                    b"identity" => Encoding::Identity,
                    b"gzip" => Encoding::Gzip,
                    _ => Encoding::Other,
                }
            }
            // What belongs to a connection has no place in HTTP/2.
            b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding"
            | b"upgrade" => self.is_malformed = true,
            // What every client says of itself and of gRPC is nobody's metadata.
            b"user-agent" | b"accept-encoding" => {}
            _ if name.starts_with(b"grpc-") => self.is_malformed |= !is_name(name),
            _ => match (is_name(name), HeaderName::from_bytes(name)) {
                (true, Ok(name)) => {
                    if let Ok(value) = HeaderValue::from_bytes(value) {
                        self.metadata.append(name, value);
                    }
                }
                _ => self.is_malformed = true,
            },
        }
    }

    /// Takes one of the headers that say what is wanted, which come first, and once each.
    fn pseudo(&mut self, name: &[u8], value: &[u8]) {
        let is_new = match name {
            b":path" => {
                let is_new = self.path.is_empty();
                self.path = String::from_utf8_lossy(value).into_owned();
                is_new && !value.is_empty()
            }
            b":method" => {
                let method = if value == b"POST" { Method::Post } else { Method::Other };
                self.method.replace(method).is_none()
            }
            b":scheme" => !std::mem::replace(&mut self.has_scheme, true),
            b":authority" => true,
            _ => false,
        };
        self.is_malformed |= self.has_fields || !is_new;
    }

    /// Whether it is a call that can be begun.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let refusal =
            |http, code, words: &str| Err(Refusal { http, status: Status::new(code, words) });
        if self.size > HEADER_LIST {
            let words =
                format!("the headers are {} bytes, above the limit of {HEADER_LIST}", self.size);
            return refusal("431", Code::RESOURCE_EXHAUSTED, &words);
        }
        if self.is_malformed || self.method.is_none() || !self.has_scheme || self.path.is_empty() {
            return refusal("", Code::INTERNAL, "");
        }
        if self.method != Some(Method::Post) {
            return refusal("405", Code::INTERNAL, "calls are made by POST");
        }
        if self.content_type != Type::Grpc {
            return refusal("415", Code::INTERNAL, "the content type is not application/grpc");
        }
        if !self.takes_trailers {
            return refusal("400", Code::INTERNAL, "the client does not take trailers (te)");
        }
        Ok(())
    }

    /// Whether these may be the trailers of a request.
    pub(super) fn are_trailers(&self) -> bool {
        !self.is_malformed && self.method.is_none() && !self.has_scheme && self.path.is_empty()
    }
}

/// Names are in lower case, and plain.
fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name
            .iter()
            .all(|byte| matches!(byte, 0x21..=0x7e) && !byte.is_ascii_uppercase() && *byte != b':')
}

/// Values neither hold what ends a line nor begin or end with blanks.
fn is_value(value: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !value.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r'))
        && !is_blank(value.first())
        && !is_blank(value.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [(&str, &str); 5] = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/a/b"),
        ("te", "trailers"),
        ("content-type", "application/grpc+proto"),
    ];

    /// What becomes of a request with one header put into another place or left out.
    fn check(headers: &[(&str, &str)]) -> Result<(), &'static str> {
        let mut request = Request::default();
        for (name, value) in headers {
            request.header(name.as_bytes(), value.as_bytes());
        }
        request.check().map_err(|refusal| refusal.http)
    }

    fn with(extra: (&str, &str)) -> Result<(), &'static str> {
        check(&[&GOOD[..], &[extra]].concat())
    }

    #[test]
    fn calls_of_grpc_are_taken() {
        assert_eq!(check(&GOOD), Ok(()));
        for extra in [
            ("x-own", "a b"),
            ("grpc-accept-encoding", "gzip"),
            ("user-agent", "grpc-c++/1.2"),
            ("content-length", "12"),
            ("grpc-timeout", "nonsense"),
        ] {
            assert_eq!(with(extra), Ok(()), "{extra:?}");
        }
    }

    #[test]
    fn other_requests_are_told_what_is_missing() {
        let without =
            |name: &str| -> Vec<_> { GOOD.into_iter().filter(|header| header.0 != name).collect() };
        for name in [":method", ":scheme", ":path"] {
            assert_eq!(check(&without(name)), Err(""), "{name}");
        }
        assert_eq!(check(&without("te")), Err("400"));
        assert_eq!(check(&without("content-type")), Err("415"));
        assert_eq!(with(("content-type", "text/html")), Err("415"));
        let mut get = GOOD;
        get[0].1 = "GET";
        assert_eq!(check(&get), Err("405"));
    }

    #[test]
    fn malformed_headers_are_no_request() {
        for extra in [
            (":path", "/again"),
            (":method", "POST"),
            (":status", "200"),
            (":authority", "late"),
            ("X-Upper", "x"),
            ("", "x"),
            ("a b", "x"),
            ("connection", "close"),
            ("transfer-encoding", "chunked"),
            ("te", "gzip"),
            ("x", "a\nb"),
            ("x", "a\0"),
            ("x", " a"),
            ("x", "a\t"),
            ("content-length", "-1"),
        ] {
            assert_eq!(with(extra), Err(""), "{extra:?}");
        }
        assert_eq!(check(&[&[("x", "y")], &GOOD[..]].concat()), Err(""), "not first");
        assert_eq!(check(&[&[(":path", "")], &GOOD[..]].concat()), Err(""));
    }
}
