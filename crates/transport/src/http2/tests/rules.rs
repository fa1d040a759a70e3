//! What RFC 9113 says of clients that break its rules, section by section.

use super::*;

type Breach = fn(&mut Talk);

/// Sends what breaks a rule on a fresh connection, which is ended for it.
fn check_ended(section: &str, reason: Reason, breach: Breach) {
    let mut talk = Talk::new();
    breach(&mut talk);
    assert_eq!(talk.end(), reason as u32, "{section}");
}

/// Sends what breaks a rule in stream 1, which alone is ended for it.
fn check_reset(section: &str, reason: Reason, breach: Breach) {
    let mut talk = Talk::new();
    talk.say_headers(1, "/echo/now", flag::END_HEADERS);
    breach(&mut talk);
    let (head, payload) = talk.hear_next(kind::RST_STREAM);
    assert_eq!((head.stream, &payload[..]), (1, &(reason as u32).to_be_bytes()[..]), "{section}");
    talk.ask(3, "/echo/now", b"x");
    assert_eq!(talk.answer(3).data, message(b"x"), "{section}: the connection goes on");
}

fn set(talk: &mut Talk, name: u16, value: u32) {
    talk.say(kind::SETTINGS, 0, 0, &[&name.to_be_bytes()[..], &value.to_be_bytes()].concat());
}

#[test]
fn connections_begin_as_they_must() {
    let mut talk = Talk::begin();
    talk.client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(talk.end(), Reason::Protocol as u32, "3.4");
    for first in [kind::PING, kind::HEADERS, kind::WINDOW_UPDATE, 0xbb] {
        let mut talk = Talk::begin();
        talk.client.write_all(PREFACE).unwrap();
        talk.say(first, 0, 0, &[0; 8]);
        assert_eq!(talk.end(), Reason::Protocol as u32, "3.4: {first}");
    }
    let mut talk = Talk::begin();
    talk.client.write_all(PREFACE).unwrap();
    talk.say(kind::SETTINGS, flag::ACK, 0, &[]);
    assert_eq!(talk.end(), Reason::Protocol as u32, "3.4");
}

#[test]
fn frames_have_their_sizes() {
    check_ended("4.2", Reason::FrameSize, |talk| {
        let head = Head { len: (1 << 20) + 1, kind: kind::DATA, flags: 0, stream: 1 };
        talk.client.write_all(&head.bytes()).unwrap();
    });
    check_ended("6.4", Reason::FrameSize, |talk| talk.say(kind::RST_STREAM, 0, 1, &[0; 3]));
    check_ended("6.5", Reason::FrameSize, |talk| talk.say(kind::SETTINGS, 0, 0, &[0; 5]));
    check_ended("6.5", Reason::FrameSize, |talk| {
        talk.say(kind::SETTINGS, flag::ACK, 0, &[0; 6]);
    });
    check_ended("6.7", Reason::FrameSize, |talk| talk.say(kind::PING, 0, 0, &[0; 7]));
    check_ended("6.7", Reason::FrameSize, |talk| talk.say(kind::PING, 0, 0, &[0; 9]));
    check_ended("6.8", Reason::FrameSize, |talk| talk.say(kind::GOAWAY, 0, 0, &[0; 7]));
    check_ended("6.9", Reason::FrameSize, |talk| talk.say(kind::WINDOW_UPDATE, 0, 0, &[0; 5]));
    check_reset("6.3", Reason::FrameSize, |talk| talk.say(kind::PRIORITY, 0, 1, &[0; 4]));
}

#[test]
fn frames_of_every_size_that_is_advertised_are_taken() {
    let mut talk = Talk::new();
    // Nothing of this means anything, and it is as large as a frame may be.
    let long = vec![0; 1 << 20];
    talk.say(0xbb, 0xff, 0, &long);
    talk.say(0xbb, 0xff, 77, &long);
    talk.say(kind::GOAWAY, 0, 0, &long);
    talk.say_headers(1, "/echo/count", flag::END_HEADERS);
    for len in [0, 1, 4, 5, 6, 16_383, 16_384, 16_385, (1 << 20) - 5] {
        let data = message(&vec![3; len]);
        talk.say(kind::DATA, 0, 1, &data);
        // And as the shortest frames.
        if len < 10 {
            for byte in data {
                talk.say(kind::DATA, flag::PADDED, 1, &[1, byte, 0]);
            }
        }
    }
    talk.say(kind::DATA, flag::END_STREAM, 1, &[]);
    assert_eq!(talk.answer(1).data, message(b"14"));
}

#[test]
fn frames_belong_where_they_belong() {
    use Reason::Protocol;
    check_ended("5.1", Protocol, |talk| talk.say(kind::DATA, 0, 1, b"x"));
    check_ended("5.1", Protocol, |talk| talk.say(kind::RST_STREAM, 0, 1, &[0; 4]));
    check_ended("5.1", Protocol, |talk| talk.say(kind::WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]));
    check_ended("5.1.1", Protocol, |talk| talk.say_headers(2, "/echo/now", flag::END_HEADERS));
    check_ended("5.1.1", Protocol, |talk| {
        talk.say_headers(5, "/echo/now", flag::END_HEADERS);
        talk.say(kind::DATA, 0, 4, b"x");
    });
    check_ended("6.1", Protocol, |talk| talk.say(kind::DATA, 0, 0, b"x"));
    check_ended("6.2", Protocol, |talk| talk.say_headers(0, "/echo/now", flag::END_HEADERS));
    check_ended("6.3", Protocol, |talk| talk.say(kind::PRIORITY, 0, 0, &[0; 5]));
    check_ended("6.4", Protocol, |talk| talk.say(kind::RST_STREAM, 0, 0, &[0; 4]));
    check_ended("6.5", Protocol, |talk| talk.say(kind::SETTINGS, 0, 1, &[]));
    check_ended("6.6", Protocol, |talk| talk.say(kind::PUSH_PROMISE, 0, 1, &[0; 4]));
    check_ended("6.7", Protocol, |talk| talk.say(kind::PING, 0, 1, &[0; 8]));
    check_ended("6.8", Protocol, |talk| talk.say(kind::GOAWAY, 0, 1, &[0; 8]));
    check_ended("6.10", Protocol, |talk| {
        talk.say(kind::CONTINUATION, flag::END_HEADERS, 1, &[]);
    });
    check_ended("6.10", Protocol, |talk| {
        talk.say_headers(1, "/echo/now", 0);
        talk.say(kind::PING, 0, 0, &[0; 8]);
    });
    check_ended("6.10", Protocol, |talk| {
        talk.say_headers(1, "/echo/now", 0);
        talk.say(kind::CONTINUATION, flag::END_HEADERS, 3, &[]);
    });
}

#[test]
fn a_call_that_has_ended_takes_no_more() {
    for more in [kind::DATA, kind::HEADERS] {
        let mut talk = Talk::new();
        talk.ask(1, "/echo/never", b"");
        talk.say(more, flag::END_HEADERS, 1, &[]);
        let (head, payload) = talk.hear_next(kind::RST_STREAM);
        assert_eq!((head.stream, payload[3]), (1, Reason::StreamClosed as u8), "5.1: {more}");
    }
}

#[test]
fn padding_is_shorter_than_its_frame() {
    check_ended("6.1", Reason::Protocol, |talk| {
        talk.say_headers(1, "/echo/now", flag::END_HEADERS);
        talk.say(kind::DATA, flag::PADDED, 1, &[200, 1]);
    });
    check_ended("6.1", Reason::FrameSize, |talk| {
        talk.say_headers(1, "/echo/now", flag::END_HEADERS);
        talk.say(kind::DATA, flag::PADDED, 1, &[]);
    });
    check_ended("6.2", Reason::Protocol, |talk| {
        talk.say(kind::HEADERS, flag::PADDED | flag::END_HEADERS, 1, &[200, 1]);
    });
    check_ended("6.2", Reason::Protocol, |talk| {
        talk.say(kind::HEADERS, flag::PRIORITY | flag::END_HEADERS, 1, &[0; 4]);
    });
}

#[test]
fn settings_are_in_their_range_and_confirmed_once() {
    use Reason::{FlowControl, Protocol};
    check_ended("6.5.2", Protocol, |talk| set(talk, setting::ENABLE_PUSH, 2));
    check_ended("6.5.2", FlowControl, |talk| set(talk, setting::INITIAL_WINDOW_SIZE, 1 << 31));
    check_ended("6.5.2", Protocol, |talk| set(talk, setting::MAX_FRAME_SIZE, 16_383));
    check_ended("6.5.2", Protocol, |talk| set(talk, setting::MAX_FRAME_SIZE, 1 << 24));
    check_ended("6.5.3", Protocol, |talk| {
        talk.say(kind::SETTINGS, flag::ACK, 0, &[]);
        talk.say(kind::SETTINGS, flag::ACK, 0, &[]);
    });
    let mut talk = Talk::new();
    set(&mut talk, 0x99, 7);
    set(&mut talk, setting::ENABLE_PUSH, 1);
    set(&mut talk, setting::MAX_FRAME_SIZE, (1 << 24) - 1);
    set(&mut talk, setting::INITIAL_WINDOW_SIZE, i32::MAX as u32);
    talk.say(kind::SETTINGS, flag::ACK, 0, &[]);
    talk.ask(1, "/echo/now", b"x");
    assert_eq!(talk.answer(1).data, message(b"x"));
}

#[test]
fn windows_have_a_largest_size() {
    let most = &[0x7f, 0xff, 0xff, 0xff];
    check_ended("6.9.1", Reason::FlowControl, |talk| {
        talk.say(kind::WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]);
    });
    check_ended("6.9", Reason::Protocol, |talk| talk.say(kind::WINDOW_UPDATE, 0, 0, &[0; 4]));
    check_reset("6.9", Reason::Protocol, |talk| talk.say(kind::WINDOW_UPDATE, 0, 1, &[0; 4]));
    check_reset("6.9.1", Reason::FlowControl, |talk| {
        talk.say(kind::WINDOW_UPDATE, 0, 1, &[0x7f, 0xff, 0xff, 0xff]);
    });
    // The first bit means nothing.
    let mut talk = Talk::new();
    set(&mut talk, setting::INITIAL_WINDOW_SIZE, 0);
    talk.ask(1, "/echo/now", b"x");
    talk.say(kind::WINDOW_UPDATE, 0, 1, &[0x80 | most[0], 0xff, 0xff, 0xff]);
    assert_eq!(talk.answer(1).data, message(b"x"));
    check_ended("6.9.1", Reason::FlowControl, |talk| {
        // Nobody takes these, so the window does not open again.
        talk.say_headers(1, "/echo/deaf", flag::END_HEADERS);
        for _ in 0..17 {
            talk.say(kind::DATA, 0, 1, &message(&[0; (1 << 20) - PREFIX]));
        }
    });
}

#[test]
fn a_window_may_shrink_below_nothing() {
    let mut talk = Talk::new();
    set(&mut talk, setting::INITIAL_WINDOW_SIZE, 100);
    talk.ask(1, "/echo/now", &[7; 1000]);
    assert_eq!(talk.hear_next(kind::DATA).0.len, 100);
    set(&mut talk, setting::INITIAL_WINDOW_SIZE, 20);
    talk.say(kind::WINDOW_UPDATE, 0, 1, &80u32.to_be_bytes());
    talk.settle();
    talk.say(kind::WINDOW_UPDATE, 0, 1, &5u32.to_be_bytes());
    assert_eq!(talk.hear_next(kind::DATA).0.len, 5, "6.9.2");
}

#[test]
fn headers_that_cannot_be_read_end_the_connection() {
    check_ended("4.3", Reason::Compression, |talk| {
        talk.say(kind::HEADERS, flag::END_HEADERS, 1, &[0xff; 40]);
    });
    // Those of a stream that is refused are read all the same.
    let mut talk = Talk::new();
    let kept = [0x40, 1, b'n', 1, b'v'];
    talk.say(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, &kept);
    assert_eq!(talk.hear_next(kind::RST_STREAM).0.stream, 1);
    let mut block = block("/echo/metadata", &[]);
    block.push(0xbe);
    talk.say(kind::HEADERS, flag::END_HEADERS, 3, &block);
    talk.say(kind::DATA, flag::END_STREAM, 3, &message(b""));
    assert_eq!(talk.answer(3).headers["n"], "v");
}

#[test]
fn trailers_of_requests_are_taken() {
    let mut talk = Talk::new();
    talk.say_headers(1, "/echo/now", flag::END_HEADERS);
    talk.say(kind::DATA, 0, 1, &message(b"x"));
    let mut trailers = Vec::new();
    hpack::encode(b"x-checksum", b"1", &mut trailers);
    talk.say(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, 1, &trailers);
    assert_eq!(talk.answer(1).data, message(b"x"), "8.1");
    check_reset("8.1", Reason::Protocol, |talk| {
        talk.say(kind::HEADERS, flag::END_HEADERS, 1, &[]);
    });
    check_reset("8.1", Reason::Protocol, |talk| {
        talk.say_headers(1, "/echo/now", flag::END_HEADERS | flag::END_STREAM);
    });
}
