//! An answer, with the headers that keep a browser from making more of it than it is.

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: &'static str,
    pub(super) kind: &'static str,
    pub(super) body: String,
}

pub(super) const TEXT: &str = "text/plain; charset=utf-8";
pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// Only what this server embeds is run and loaded; nothing is framed; nothing of text becomes markup.
const HEADERS: &str = "\
Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
require-trusted-types-for 'script'; trusted-types 'none'\r\n\
X-Content-Type-Options: nosniff\r\n\
X-Frame-Options: DENY\r\n\
Referrer-Policy: no-referrer\r\n\
Cross-Origin-Opener-Policy: same-origin\r\n\
Cross-Origin-Resource-Policy: same-origin\r\n\
Cache-Control: no-cache\r\n\
Connection: close\r\n";

impl Response {
    pub(super) fn ok(kind: &'static str, body: impl Into<String>) -> Response {
        Response { status: "200 OK", kind, body: body.into() }
    }

    pub(super) fn text(status: &'static str, body: impl Into<String>) -> Response {
        Response { status, kind: TEXT, body: body.into() }
    }

    /// The bytes of the answer; `HEAD` asks for all but the body.
    pub(super) fn bytes(&self, method: &str) -> Vec<u8> {
        let length = format!("Content-Length: {}\r\n", self.body.len());
        let body = if method == "HEAD" { "" } else { &self.body };
        format!("{}{length}\r\n{body}", head(self.status, self.kind)).into_bytes()
    }
}

/// The head of an answer, but for the empty line behind it.
pub(super) fn head(status: &str, kind: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{HEADERS}")
}
