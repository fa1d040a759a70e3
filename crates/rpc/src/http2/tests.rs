//! A client that speaks in frames, well and badly.

use std::collections::HashMap;
use std::future::{pending, ready};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream as Client};
use std::time::Duration;

use futures_util::stream;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::connection::Connection;
use super::frame::{HEAD, Head, PREFACE, flag, kind, setting};
use super::*;

/// Answers with what it is asked, in the way that the path says.
struct Echo;

impl Service for Echo {
    fn call(&self, path: &str, message: Bytes) -> BoxFuture<Answer> {
        let part = |message: &Bytes| {
            vec![Bytes::copy_from_slice(&prefix(message.len()).unwrap()), message.clone()]
        };
        let reply = |body| Ok(Reply { headers: HeaderMap::new(), body });
        match path {
            "/echo/now" => Box::pin(ready(reply(Body::Message(part(&message))))),
            "/echo/later" => Box::pin(async move {
                tokio::task::yield_now().await;
                reply(Body::Message(part(&message)))
            }),
            "/echo/twice" => {
                let messages = stream::iter([Ok(part(&message)), Ok(part(&message))]);
                Box::pin(ready(reply(Body::Messages(Box::pin(messages)))))
            }
            "/echo/never" => Box::pin(pending()),
            "/echo/panic" => Box::pin(async { panic!("as asked") }),
            _ => Box::pin(ready(Err(Status::unimplemented("")))),
        }
    }
}

/// A server, and a connection to it.
struct Talk {
    client: Client,
    /// What the peer's headers need to be read.
    headers: hpack::Decoder,
    stop: watch::Sender<bool>,
}

#[derive(Debug, Default, PartialEq)]
struct Heard {
    headers: HashMap<String, String>,
    data: Vec<u8>,
}

impl Talk {
    fn begin() -> Talk {
        let stop = watch::Sender::new(false);
        let stopped = stop.subscribe();
        let (sender, receiver) = std::sync::mpsc::channel::<SocketAddr>();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                sender.send(listener.local_addr().unwrap()).unwrap();
                let (socket, _) = listener.accept().await.unwrap();
                let _ = Connection::new(socket, Echo).serve(stopped, Duration::from_secs(5)).await;
            });
        });
        let client = Client::connect(receiver.recv().unwrap()).unwrap();
        // Bounds a test that fails.
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Talk { client, headers: hpack::Decoder::new(), stop }
    }

    /// A connection whose settings are exchanged.
    fn new() -> Talk {
        let mut talk = Talk::begin();
        talk.client.write_all(PREFACE).unwrap();
        talk.say(kind::SETTINGS, 0, 0, &[]);
        talk
    }

    fn say(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let head = Head { len: payload.len(), kind, flags, stream }.bytes();
        // Whether the server listens is seen when it answers.
        let _ = self.client.write_all(&[&head, payload].concat());
    }

    fn say_headers(&mut self, stream: u32, path: &str, flags: u8) {
        let mut block = Vec::new();
        hpack::encode(b":method", b"POST", &mut block);
        hpack::encode(b":path", path.as_bytes(), &mut block);
        self.say(kind::HEADERS, flags, stream, &block);
    }

    /// Calls a method with a message.
    fn ask(&mut self, stream: u32, path: &str, message: &[u8]) {
        self.say_headers(stream, path, flag::END_HEADERS);
        let data = [&prefix(message.len()).unwrap(), message].concat();
        self.say(kind::DATA, flag::END_STREAM, stream, &data);
    }

    fn hear(&mut self) -> Option<(Head, Vec<u8>)> {
        let mut head = [0; HEAD];
        self.client.read_exact(&mut head).ok()?;
        let head = Head::read(&head);
        let mut payload = vec![0; head.len];
        self.client.read_exact(&mut payload).ok()?;
        Some((head, payload))
    }

    /// The next frame of a kind; the ones before are passed over.
    fn hear_next(&mut self, kind: u8) -> (Head, Vec<u8>) {
        loop {
            let (head, payload) = self.hear().expect("the connection goes on");
            if head.kind == kind {
                return (head, payload);
            }
        }
    }

    /// Hears one stream to its end.
    fn answer(&mut self, stream: u32) -> Heard {
        let mut heard = Heard::default();
        loop {
            let (head, payload) = self.hear().expect("the connection goes on");
            if head.stream != stream {
                continue;
            }
            match head.kind {
                kind::HEADERS => self
                    .headers
                    .decode(&payload, |name, value| {
                        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                        heard.headers.insert(text(name), text(value));
                    })
                    .unwrap(),
                kind::DATA => heard.data.extend_from_slice(&payload),
                _ => {}
            }
            if head.has(flag::END_STREAM) && head.kind <= kind::HEADERS {
                return heard;
            }
        }
    }

    /// Why the connection is ended.
    fn end(mut self) -> u32 {
        let (_, payload) = self.hear_next(kind::GOAWAY);
        assert!(self.hear().is_none(), "the connection is closed");
        u32::from_be_bytes(payload[4..8].try_into().unwrap())
    }
}

fn message(text: &[u8]) -> Vec<u8> {
    [&prefix(text.len()).unwrap(), text].concat()
}

#[test]
fn calls_are_answered_in_every_way() {
    let mut talk = Talk::new();
    for (at, path) in ["/echo/now", "/echo/later"].iter().enumerate() {
        let stream = 2 * at as u32 + 1;
        talk.ask(stream, path, b"hello");
        let heard = talk.answer(stream);
        assert_eq!(heard.data, message(b"hello"), "{path}");
        assert_eq!(heard.headers["grpc-status"], "0");
        assert_eq!(heard.headers["content-type"], "application/grpc");
        assert_eq!(heard.headers[":status"], "200");
    }
    talk.ask(5, "/echo/twice", b"hi");
    assert_eq!(talk.answer(5).data, [message(b"hi"), message(b"hi")].concat());
    talk.ask(7, "/no/such", b"");
    assert_eq!(talk.answer(7).headers["grpc-status"], "12");
    talk.ask(9, "/echo/panic", b"");
    assert_eq!(talk.answer(9).headers["grpc-status"], "13");
    talk.ask(11, "/echo/now", b"");
    assert_eq!(talk.answer(11).data, message(b""), "the connection goes on");
}

#[test]
fn a_call_ends_when_its_time_is_up() {
    let mut talk = Talk::new();
    let mut block = Vec::new();
    for (name, value) in [(":method", "POST"), (":path", "/echo/never"), ("grpc-timeout", "1m")] {
        hpack::encode(name.as_bytes(), value.as_bytes(), &mut block);
    }
    talk.say(kind::HEADERS, flag::END_HEADERS, 1, &block);
    talk.say(kind::DATA, flag::END_STREAM, 1, &message(b""));
    assert_eq!(talk.answer(1).headers["grpc-status"], "4");
}

#[test]
fn requests_come_in_any_pieces() {
    let mut talk = Talk::begin();
    let mut bytes = PREFACE.to_vec();
    let mut frame = |kind, flags, stream, payload: &[u8]| {
        bytes.extend_from_slice(&Head { len: payload.len(), kind, flags, stream }.bytes());
        bytes.extend_from_slice(payload);
    };
    let mut block = Vec::new();
    hpack::encode(b":method", b"POST", &mut block);
    hpack::encode(b":path", b"/echo/now", &mut block);
    frame(kind::SETTINGS, 0, 0, &[]);
    // Headers with padding and a priority, in two frames.
    let padded = [&[2], &[0; 5][..], &block[..10], &[0; 2]].concat();
    frame(kind::HEADERS, flag::PADDED | flag::PRIORITY, 1, &padded);
    frame(kind::CONTINUATION, flag::END_HEADERS, 1, &block[10..]);
    frame(0xbb, 0xff, 1, b"a kind that nobody knows");
    // A message in two frames, one with padding, and an end of its own.
    frame(kind::DATA, flag::PADDED, 1, &[&[3], &message(b"hello")[..7], &[0; 3]].concat());
    frame(kind::DATA, 0, 1, &message(b"hello")[7..]);
    frame(kind::DATA, flag::END_STREAM, 1, &[]);
    for byte in bytes {
        talk.client.write_all(&[byte]).unwrap();
    }
    assert_eq!(talk.answer(1).data, message(b"hello"));
}

#[test]
fn large_messages_keep_to_the_windows() {
    let mut talk = Talk::new();
    let long: Vec<u8> = (0..3_000_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    let data = message(&long);
    talk.say_headers(1, "/echo/later", flag::END_HEADERS);
    let (most, last) = data.split_at(2_100_000);
    for piece in most.chunks(700_000) {
        talk.say(kind::DATA, 0, 1, piece);
    }
    talk.say(kind::DATA, flag::END_STREAM, 1, last);
    // Our windows let 65,535 bytes through; each opening is used up to the last byte.
    let mut heard = Vec::new();
    let mut allowed = 65_535;
    while heard.len() < data.len() {
        let (head, payload) = talk.hear_next(kind::DATA);
        assert!(head.len <= 16_384);
        heard.extend_from_slice(&payload);
        assert!(heard.len() <= allowed, "more than the windows allow");
        if heard.len() == allowed {
            let more = 500_000u32;
            talk.say(kind::WINDOW_UPDATE, 0, 1, &more.to_be_bytes());
            talk.say(kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
            allowed += more as usize;
        }
    }
    assert!(heard == data);
    assert_eq!(talk.answer(1).headers["grpc-status"], "0");
}

#[test]
fn settings_change_windows_and_frames() {
    let mut talk = Talk::new();
    let mut settings = Vec::new();
    for (name, value) in [(setting::INITIAL_WINDOW_SIZE, 10u32), (setting::MAX_FRAME_SIZE, 1 << 20)]
    {
        settings.extend_from_slice(&name.to_be_bytes());
        settings.extend_from_slice(&value.to_be_bytes());
    }
    talk.say(kind::SETTINGS, 0, 0, &settings);
    talk.ask(1, "/echo/now", &[7; 40_000]);
    assert_eq!(talk.hear_next(kind::DATA).0.len, 10);
    let wider =
        [&setting::INITIAL_WINDOW_SIZE.to_be_bytes()[..], &60_000u32.to_be_bytes()].concat();
    talk.say(kind::SETTINGS, 0, 0, &wider);
    assert_eq!(talk.hear_next(kind::DATA).0.len, 40_005 - 10);
}

#[test]
fn pings_are_answered() {
    let mut talk = Talk::new();
    talk.say(kind::PING, 0, 0, b"12345678");
    let (head, payload) = talk.hear_next(kind::PING);
    assert!(head.has(flag::ACK));
    assert_eq!(payload, b"12345678");
}

#[test]
fn a_call_that_nobody_waits_for_is_forgotten() {
    let mut talk = Talk::new();
    talk.ask(1, "/echo/never", b"");
    talk.say(kind::RST_STREAM, 0, 1, &8u32.to_be_bytes());
    talk.ask(3, "/echo/now", b"x");
    assert_eq!(talk.answer(3).data, message(b"x"));
    // Nothing is under way, so a server that stops has nothing to wait for.
    talk.stop.send_replace(true);
    assert_eq!(talk.end(), 0);
}

#[test]
fn a_server_that_stops_ends_what_is_under_way() {
    let mut talk = Talk::new();
    talk.say_headers(1, "/echo/now", flag::END_HEADERS);
    talk.say(kind::PING, 0, 0, &[0; 8]);
    talk.hear_next(kind::PING);
    talk.stop.send_replace(true);
    talk.hear_next(kind::GOAWAY);
    talk.ask(3, "/echo/now", b"late");
    assert_eq!(talk.hear_next(kind::RST_STREAM).0.stream, 3);
    talk.say(kind::DATA, flag::END_STREAM, 1, &message(b"x"));
    assert_eq!(talk.answer(1).data, message(b"x"));
    assert!(talk.hear().is_none());
}

#[test]
fn what_is_not_a_call_is_refused_alone() {
    let mut talk = Talk::new();
    let mut block = Vec::new();
    hpack::encode(b":method", b"GET", &mut block);
    hpack::encode(b":path", b"/echo/now", &mut block);
    talk.say(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, &block);
    assert_eq!(talk.hear_next(kind::RST_STREAM).0.stream, 1);
    talk.say_headers(3, "/echo/now", flag::END_HEADERS | flag::END_STREAM);
    assert_eq!(talk.answer(3).headers["grpc-status"], "13", "no message");
    talk.say_headers(5, "/echo/now", flag::END_HEADERS);
    talk.say(kind::DATA, flag::END_STREAM, 5, b"\x01\0\0\0\0");
    assert_eq!(talk.answer(5).headers["grpc-status"], "12", "a compressed message");
}

#[test]
fn clients_that_break_the_rules_are_told_so() {
    type Breach = fn(&mut Talk);
    let breaches: [(Reason, Breach); 21] = [
        (Reason::Protocol, |talk| talk.say(kind::DATA, 0, 1, b"x")),
        (Reason::Protocol, |talk| talk.say(kind::DATA, 0, 0, b"x")),
        (Reason::Protocol, |talk| talk.say_headers(2, "/echo/now", flag::END_HEADERS)),
        (Reason::Protocol, |talk| talk.say_headers(0, "/echo/now", flag::END_HEADERS)),
        (Reason::Protocol, |talk| {
            talk.say_headers(1, "/echo/now", 0);
            talk.say(kind::PING, 0, 0, &[0; 8]);
        }),
        (Reason::Protocol, |talk| talk.say(kind::CONTINUATION, flag::END_HEADERS, 1, &[])),
        (Reason::Protocol, |talk| {
            talk.say_headers(1, "/echo/now", flag::END_HEADERS);
            talk.say_headers(1, "/echo/now", flag::END_HEADERS);
        }),
        (Reason::Protocol, |talk| {
            talk.ask(1, "/echo/never", b"");
            talk.say(kind::DATA, 0, 1, b"more");
        }),
        (Reason::Protocol, |talk| talk.say(kind::RST_STREAM, 0, 1, &[0; 4])),
        (Reason::Protocol, |talk| talk.say(kind::PUSH_PROMISE, 0, 1, &[0; 4])),
        (Reason::Protocol, |talk| talk.say(kind::WINDOW_UPDATE, 0, 0, &[0; 4])),
        (Reason::Protocol, |talk| talk.say(kind::WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1])),
        (Reason::Protocol, |talk| {
            talk.say_headers(1, "/echo/now", flag::END_HEADERS);
            talk.say(kind::DATA, flag::PADDED, 1, &[200, 1]);
        }),
        (Reason::Protocol, |talk| {
            talk.say(kind::HEADERS, flag::PADDED | flag::END_HEADERS, 1, &[200, 1]);
        }),
        (Reason::Compression, |talk| talk.say(kind::HEADERS, flag::END_HEADERS, 1, &[0xff; 40])),
        (Reason::FlowControl, |talk| {
            talk.say(kind::WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]);
        }),
        (Reason::FlowControl, |talk| talk.say(kind::SETTINGS, 0, 0, &[0, 4, 0xff, 0, 0, 0])),
        (Reason::FrameSize, |talk| talk.say(kind::SETTINGS, 0, 0, &[0; 5])),
        (Reason::FrameSize, |talk| talk.say(kind::PING, 0, 0, &[0; 7])),
        (Reason::FrameSize, |talk| {
            let head = Head { len: 1 << 21, kind: kind::DATA, flags: 0, stream: 1 };
            talk.client.write_all(&head.bytes()).unwrap();
        }),
        (Reason::Calm, |talk| {
            talk.say_headers(1, "/echo/now", 0);
            for _ in 0..5 {
                talk.say(kind::CONTINUATION, 0, 1, &[0; 16_000]);
            }
        }),
    ];
    for (at, (reason, breach)) in breaches.into_iter().enumerate() {
        let mut talk = Talk::new();
        breach(&mut talk);
        assert_eq!(talk.end(), reason as u32, "breach {at}");
    }
    let mut talk = Talk::begin();
    talk.client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(talk.end(), Reason::Protocol as u32);
}

#[test]
fn windows_open_again_as_data_is_taken() {
    let mut talk = Talk::new();
    talk.say_headers(1, "/echo/now", flag::END_HEADERS);
    // More than either window.
    let data = message(&[5; 40 << 20]);
    for piece in data.chunks(1 << 20) {
        talk.say(kind::DATA, 0, 1, piece);
    }
    talk.say(kind::DATA, flag::END_STREAM, 1, &[]);
    let (head, payload) = talk.hear_next(kind::DATA);
    assert_eq!((head.len, &payload[..8]), (16_384, &data[..8]));
}

#[test]
fn streams_share_the_window_of_the_connection() {
    let mut talk = Talk::new();
    let long = [3; 50_000];
    for stream in [1, 3, 5] {
        talk.ask(stream, "/echo/now", &long);
    }
    let mut heard = HashMap::<u32, usize>::new();
    let mut total = 0;
    while total < 3 * (long.len() + PREFIX) {
        let (head, payload) = talk.hear_next(kind::DATA);
        *heard.entry(head.stream).or_default() += payload.len();
        total += payload.len();
        if total == 65_535 {
            talk.say(kind::WINDOW_UPDATE, 0, 0, &200_000u32.to_be_bytes());
        }
    }
    assert!(heard.values().all(|&len| len == long.len() + PREFIX), "{heard:?}");
}

#[test]
fn a_client_that_never_reads_is_not_kept() {
    let mut talk = Talk::new();
    let ping = [&Head { len: 8, kind: kind::PING, flags: 0, stream: 0 }.bytes()[..], &[0; 8]];
    let pings = ping.concat().repeat(4096);
    talk.client.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    // More than any buffers on the way hold.
    let ended = (0..4096).any(|_| talk.client.write_all(&pings).is_err());
    assert!(ended, "the server goes on to keep answers");
}
