//! A client that speaks in frames, well and badly.

mod attacks;
mod differential;
mod rules;

use std::collections::HashMap;
use std::future::{pending, ready};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream as Client;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};

use super::connection::Connection;
use super::frame::{HEAD, Head, PREFACE, flag, kind, setting};
use super::*;
use crate::{Code, Limits, Memory, Methods, PREFIX, Peer, Reply, Status, prefix};

fn parts(message: &Bytes) -> Vec<Bytes> {
    vec![Bytes::copy_from_slice(&prefix(message.len()).unwrap()), message.clone()]
}

/// Methods that answer with what they are asked, each in its way. Calls that are dropped say so.
fn echo(dropped: mpsc::UnboundedSender<&'static str>) -> Methods {
    let mut methods = Methods::default();
    methods.unary("/echo/now", |_, message| Box::pin(ready(Ok(Reply::message(parts(&message))))));
    methods.unary("/echo/later", |_, message| {
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(Reply::message(parts(&message)))
        })
    });
    methods.unary("/echo/twice", |_, message| {
        let messages = stream::iter([Ok(parts(&message)), Ok(parts(&message))]);
        Box::pin(ready(Ok(Reply::messages(messages))))
    });
    methods.unary("/echo/never", |_, _| Box::pin(pending()));
    methods.unary("/echo/panic", |_, _| Box::pin(async { panic!("as asked") }));
    methods.unary("/echo/metadata", |call, _| {
        let mut reply = Reply::message(parts(&Bytes::from(call.peer.to_string())));
        reply.headers = call.metadata;
        Box::pin(ready(Ok(reply)))
    });
    methods.streaming("/echo/each", |_, requests| {
        let answers = requests.map(|message| match message?.as_ref() {
            b"end" => Err(Status::new(Code(9), "as asked")),
            message => Ok(parts(&Bytes::copy_from_slice(message))),
        });
        Box::pin(ready(Ok(Reply::messages(answers))))
    });
    methods.streaming("/echo/count", |_, requests| {
        Box::pin(async move {
            let count = requests.count().await;
            Ok(Reply::message(parts(&Bytes::from(count.to_string()))))
        })
    });
    methods.streaming("/echo/watched", move |_, requests| {
        let guard = Dropped(dropped.clone());
        let answers = requests.map(move |message| {
            let _held = &guard;
            Ok(parts(&message?))
        });
        Box::pin(ready(Ok(Reply::messages(answers))))
    });
    // Never takes what it is sent.
    methods.streaming("/echo/deaf", |_, requests| {
        Box::pin(async move {
            let _held = requests;
            pending().await
        })
    });
    // Sends without end, and counts.
    methods.streaming("/echo/endless", |_, _| {
        let message = Bytes::from(vec![7; 100_000]);
        Box::pin(ready(Ok(Reply::messages(stream::repeat_with(move || Ok(parts(&message)))))))
    });
    methods
}

struct Dropped(mpsc::UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// A server, and a connection to it.
struct Talk {
    client: Client,
    /// What the peer's headers need to be read.
    headers: hpack::Decoder,
    stop: watch::Sender<bool>,
    memory: Arc<Memory>,
    /// What calls say that were given up.
    dropped: mpsc::UnboundedReceiver<&'static str>,
}

#[derive(Debug, Default, PartialEq)]
struct Heard {
    headers: HashMap<String, String>,
    data: Vec<u8>,
}

impl Talk {
    fn begin() -> Talk {
        Talk::within(Limits { drain: Duration::from_secs(5), ..Limits::default() })
    }

    /// A connection to a server with other limits.
    fn within(limits: Limits) -> Talk {
        let stop = watch::Sender::new(false);
        let stopped = stop.subscribe();
        let (sender, dropped) = mpsc::unbounded_channel();
        let (client, server) = Client::pair().unwrap();
        let memory = Memory::new(limits.server_memory);
        let shared = Arc::clone(&memory);
        server.set_nonblocking(true).unwrap();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let socket = UnixStream::from_std(server).unwrap();
                let peer = Peer::Process { id: Some(7), user: 1000 };
                let methods = Arc::new(echo(sender));
                let connection = Connection::new(socket, peer, methods, &limits, shared);
                let _ = connection.serve(stopped).await;
            });
        });
        // Bounds a test that fails.
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Talk { client, headers: hpack::Decoder::new(), stop, memory, dropped }
    }

    /// A connection whose settings are exchanged.
    fn new() -> Talk {
        Talk::begin().greet()
    }

    fn greet(mut self) -> Talk {
        self.client.write_all(PREFACE).unwrap();
        self.say(kind::SETTINGS, 0, 0, &[]);
        self
    }

    fn say(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let head = Head { len: payload.len(), kind, flags, stream }.bytes();
        // Whether the server listens is seen when it answers.
        let _ = self.client.write_all(&[&head, payload].concat());
    }

    fn say_headers(&mut self, stream: u32, path: &str, flags: u8) {
        self.say_all_headers(stream, flags, path, &[]);
    }

    fn say_all_headers(&mut self, stream: u32, flags: u8, path: &str, more: &[(&str, &str)]) {
        self.say(kind::HEADERS, flags, stream, &block(path, more));
    }

    /// Waits until the server has looked at everything that was said.
    fn settle(&mut self) {
        self.say(kind::PING, 0, 0, b"settled?");
        while !self.hear_next(kind::PING).0.has(flag::ACK) {}
    }

    /// The next message of a stream, of at most one frame.
    fn hear_message(&mut self, stream: u32) -> Vec<u8> {
        let (head, payload) = self.hear_next(kind::DATA);
        assert_eq!(head.stream, stream);
        payload[PREFIX..].to_vec()
    }

    /// Calls a method with a message.
    fn ask(&mut self, stream: u32, path: &str, message: &[u8]) {
        self.say_headers(stream, path, flag::END_HEADERS);
        let data = [&prefix(message.len()).unwrap(), message].concat();
        for piece in data.chunks(1 << 20) {
            self.say(kind::DATA, 0, stream, piece);
        }
        self.say(kind::DATA, flag::END_STREAM, stream, &[]);
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
                kind::HEADERS => {
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    let each = |name: &[u8], value: &[u8]| {
                        heard.headers.insert(text(name), text(value));
                    };
                    self.headers.decode(&payload, each).unwrap();
                }
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

/// The headers of a call.
fn block(path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    let own = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
    ];
    for (name, value) in own.iter().chain(more) {
        hpack::encode(name.as_bytes(), value.as_bytes(), &mut block);
    }
    block
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
    let heard = talk.answer(7);
    assert_eq!(heard.headers["grpc-status"], "12");
    assert_eq!(heard.headers["grpc-message"], "this server has no method /no/such");
    talk.ask(9, "/echo/panic", b"");
    assert_eq!(talk.answer(9).headers["grpc-status"], "13");
    talk.ask(11, "/echo/now", b"");
    assert_eq!(talk.answer(11).data, message(b""), "the connection goes on");
}

#[test]
fn a_call_ends_when_its_time_is_up() {
    let mut talk = Talk::new();
    for (stream, path) in [(1, "/echo/never"), (3, "/echo/deaf"), (5, "/echo/each")] {
        talk.say_all_headers(stream, flag::END_HEADERS, path, &[("grpc-timeout", "1m")]);
        let ends = if stream == 1 { flag::END_STREAM } else { 0 };
        talk.say(kind::DATA, ends, stream, &message(b""));
        assert_eq!(talk.answer(stream).headers["grpc-status"], "4", "{path}");
    }
}

#[test]
fn requests_come_in_any_pieces() {
    let mut talk = Talk::begin();
    let mut bytes = PREFACE.to_vec();
    let mut frame = |kind, flags, stream, payload: &[u8]| {
        bytes.extend_from_slice(&Head { len: payload.len(), kind, flags, stream }.bytes());
        bytes.extend_from_slice(payload);
    };
    let block = block("/echo/now", &[]);
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
    hpack::encode(b":method", b"POST", &mut block);
    talk.say(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, &block);
    assert_eq!(talk.hear_next(kind::RST_STREAM).0.stream, 1, "no path");
    talk.say_headers(3, "/echo/now", flag::END_HEADERS | flag::END_STREAM);
    assert_eq!(talk.answer(3).headers["grpc-status"], "13", "no message");
    talk.say_headers(5, "/echo/now", flag::END_HEADERS);
    talk.say(kind::DATA, flag::END_STREAM, 5, b"\x01\0\0\0\0");
    assert_eq!(talk.answer(5).headers["grpc-status"], "13", "compressed, nobody knows how");
    let (headers, more) = (flag::END_HEADERS, [("content-type", "text/html")]);
    talk.say_all_headers(7, headers | flag::END_STREAM, "/echo/now", &more);
    let heard = talk.answer(7);
    assert_eq!((&heard.headers[":status"][..], &heard.headers["grpc-status"][..]), ("415", "13"));
    let long = "x".repeat(20_000);
    talk.say_all_headers(9, headers | flag::END_STREAM, "/echo/now", &[("x-long", &long)]);
    assert_eq!(talk.answer(9).headers["grpc-status"], "8");
    talk.say_all_headers(11, headers, "/echo/now", &[("content-length", "7")]);
    talk.say(kind::DATA, flag::END_STREAM, 11, &message(b"x"));
    let (head, payload) = talk.hear_next(kind::RST_STREAM);
    assert_eq!((head.stream, &payload[..]), (11, &[0, 0, 0, 1][..]), "not as long as it said");
    talk.ask(13, "/echo/now", b"x");
    assert_eq!(talk.answer(13).data, message(b"x"), "the connection goes on");
}

#[test]
fn compressed_messages_are_read() {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    let long = vec![7; 300_000];
    for text in [&b"hello"[..], &long] {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        let mut data = message(&encoder.finish().unwrap());
        data[0] = 1;
        let mut talk = Talk::new();
        let gzip = [("grpc-encoding", "gzip")];
        talk.say_all_headers(1, flag::END_HEADERS, "/echo/now", &gzip);
        talk.say(kind::DATA, flag::END_STREAM, 1, &data);
        talk.say(kind::WINDOW_UPDATE, 0, 0, &1_000_000u32.to_be_bytes());
        talk.say(kind::WINDOW_UPDATE, 0, 1, &1_000_000u32.to_be_bytes());
        assert_eq!(talk.answer(1).data, message(text));
        talk.say_all_headers(3, flag::END_HEADERS, "/echo/count", &gzip);
        talk.say(kind::DATA, flag::END_STREAM, 3, &[&data[..], &message(b"plain")].concat());
        assert_eq!(talk.answer(3).data, message(b"2"));
        talk.say_all_headers(5, flag::END_HEADERS, "/echo/now", &[("grpc-encoding", "snappy")]);
        talk.say(kind::DATA, flag::END_STREAM, 5, &data);
        assert_eq!(talk.answer(5).headers["grpc-status"], "12");
    }
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
fn a_method_learns_who_calls_and_what_they_add() {
    let mut talk = Talk::new();
    let more = [("grpc-accept-encoding", "gzip"), ("x-own", "1"), ("x-own", "2")];
    talk.say_all_headers(1, flag::END_HEADERS, "/echo/metadata", &more);
    talk.say(kind::DATA, flag::END_STREAM, 1, &message(b""));
    let heard = talk.answer(1);
    assert_eq!(heard.data, message(b"process 7 of user 1000"));
    assert_eq!(heard.headers["x-own"], "2", "the last of both");
    assert!(!heard.headers.contains_key("te"));
    assert!(!heard.headers.contains_key("grpc-accept-encoding"));
}

#[test]
fn streams_of_messages_are_answered_while_they_come() {
    let mut talk = Talk::new();
    talk.say_headers(1, "/echo/each", flag::END_HEADERS);
    let (head, _) = talk.hear_next(kind::HEADERS);
    assert_eq!(head.stream, 1, "the answer begins before the first message");
    for text in ["one", "two", "three"] {
        talk.say(kind::DATA, 0, 1, &message(text.as_bytes()));
        assert_eq!(talk.hear_message(1), text.as_bytes());
    }
    // Two messages and a half in a frame, the rest in another.
    let all = [message(b"four"), message(b"five"), message(b"six")].concat();
    let (most, rest) = all.split_at(all.len() - 2);
    talk.say(kind::DATA, 0, 1, most);
    let wanted = [message(b"four"), message(b"five")].concat();
    let mut heard = Vec::new();
    while heard.len() < wanted.len() {
        heard.extend(talk.hear_next(kind::DATA).1);
    }
    assert_eq!(heard, wanted);
    talk.say(kind::DATA, flag::END_STREAM, 1, rest);
    let heard = talk.answer(1);
    assert_eq!(heard.data, message(b"six"));
    assert_eq!(heard.headers["grpc-status"], "0");
    talk.say_headers(3, "/echo/count", flag::END_HEADERS);
    talk.say(kind::DATA, flag::END_STREAM, 3, &[message(b"a"), message(b"b")].concat());
    assert_eq!(talk.answer(3).data, message(b"2"));
}

#[test]
fn a_stream_ends_with_a_status_while_its_client_still_speaks() {
    let mut talk = Talk::new();
    talk.say_headers(1, "/echo/each", flag::END_HEADERS);
    talk.say(kind::DATA, 0, 1, &[message(b"a"), message(b"end"), message(b"b")].concat());
    let heard = talk.answer(1);
    assert_eq!(heard.data, message(b"a"));
    assert_eq!(heard.headers["grpc-status"], "9");
    assert_eq!(heard.headers["grpc-message"], "as asked");
    let (head, payload) = talk.hear_next(kind::RST_STREAM);
    assert_eq!((head.stream, &payload[..]), (1, &[0; 4][..]));
    // What was on its way does no harm.
    talk.say(kind::DATA, flag::END_STREAM, 1, &message(b"late"));
    talk.ask(3, "/echo/now", b"x");
    assert_eq!(talk.answer(3).data, message(b"x"));
}

#[test]
fn a_stream_that_is_given_up_is_dropped() {
    let mut talk = Talk::new();
    talk.say_headers(1, "/echo/watched", flag::END_HEADERS);
    talk.say(kind::DATA, 0, 1, &message(b"a"));
    assert_eq!(talk.hear_message(1), b"a");
    assert!(talk.dropped.try_recv().is_err());
    talk.say(kind::RST_STREAM, 0, 1, &8u32.to_be_bytes());
    assert_eq!(talk.dropped.blocking_recv(), Some("dropped"));
    talk.say_headers(3, "/echo/watched", flag::END_HEADERS);
    talk.say(kind::DATA, 0, 3, &message(b"a"));
    assert_eq!(talk.hear_message(3), b"a");
    drop(talk.client);
    assert_eq!(talk.dropped.blocking_recv(), Some("dropped"), "a client that hangs up");
}

#[test]
fn broken_streams_of_messages_end_with_a_status() {
    for (data, ends, status) in [
        (&b"\0\0\0\0\x05abc"[..], true, "13"),
        (b"\0\xff\xff\xff\xffabc", false, "8"),
        (b"\0\0", true, "13"),
    ] {
        let mut talk = Talk::new();
        talk.say_headers(1, "/echo/each", flag::END_HEADERS);
        talk.say(kind::DATA, if ends { flag::END_STREAM } else { 0 }, 1, data);
        assert_eq!(talk.answer(1).headers["grpc-status"], status, "{data:x?}");
    }
}

#[test]
fn a_client_whose_messages_nobody_takes_is_slowed_down() {
    let mut talk = Talk::new();
    talk.say_headers(1, "/echo/deaf", flag::END_HEADERS);
    let data = message(&[5; 1 << 20]);
    for piece in data.repeat(15).chunks(1 << 20) {
        talk.say(kind::DATA, 0, 1, piece);
    }
    talk.say(kind::PING, 0, 0, b"12345678");
    loop {
        let (head, _) = talk.hear().unwrap();
        assert!(head.kind != kind::WINDOW_UPDATE || head.stream == 0, "nobody took anything");
        if head.kind == kind::PING {
            break;
        }
    }
    // One message above the window passes as long as it is taken.
    talk.say_headers(3, "/echo/count", flag::END_HEADERS);
    for piece in message(&vec![1; 40 << 20]).chunks(1 << 20) {
        talk.say(kind::DATA, 0, 3, piece);
    }
    talk.say(kind::DATA, flag::END_STREAM, 3, &[]);
    assert_eq!(talk.answer(3).data, message(b"1"));
}

#[test]
fn an_answer_without_end_waits_for_its_client() {
    let mut talk = Talk::new();
    talk.say_headers(1, "/echo/endless", flag::END_HEADERS);
    // As much as the windows allow, and no more; the connection is free for others meanwhile.
    let mut heard = 0;
    while heard < 65_535 {
        heard += talk.hear_next(kind::DATA).1.len();
    }
    talk.ask(3, "/echo/never", b"");
    talk.say(kind::PING, 0, 0, b"12345678");
    talk.hear_next(kind::PING);
    talk.say(kind::WINDOW_UPDATE, 0, 1, &(4u32 << 20).to_be_bytes());
    talk.say(kind::WINDOW_UPDATE, 0, 0, &(4u32 << 20).to_be_bytes());
    while heard < 65_535 + (4 << 20) {
        heard += talk.hear_next(kind::DATA).1.len();
    }
}
