//! Clients that mean harm: what they take of a server is bounded.

use super::*;
use crate::limits::{FREE_MEMORY, often};

fn frames(kind: u8, flags: u8, stream: u32, payload: &[u8], count: usize) -> Vec<u8> {
    let head = Head { len: payload.len(), kind, flags, stream }.bytes();
    [&head, payload].concat().repeat(count)
}

/// Floods a server until it hangs up, reading what it says meanwhile; returns why it did.
fn flood(talk: Talk, frames: &[u8]) -> u32 {
    let mut speaker = talk.client.try_clone().unwrap();
    let frames = frames.to_vec();
    let speaking = std::thread::spawn(move || {
        // A bound for a test that fails.
        for _ in 0..1000 {
            if speaker.write_all(&frames).is_err() {
                return;
            }
        }
        panic!("the server listens to everything");
    });
    let reason = talk.end();
    speaking.join().unwrap();
    reason
}

#[test]
fn half_begun_messages_take_what_has_come_of_them() {
    let limits = Limits { server_memory: 1 << 20, streams: 10_000, ..Limits::default() };
    let mut talk = Talk::within(limits).greet();
    for at in 0..2000 {
        let stream = 2 * at + 1;
        talk.say_headers(stream, "/echo/now", flag::END_HEADERS);
        // Says 2 GiB less a byte, and sends ten.
        talk.say(kind::DATA, 0, stream, b"\0\x7f\xff\xff\xff0123456789");
    }
    talk.settle();
    assert!(talk.memory.used() <= 1 << 20);
    // Those that fit are begun; others were told that there is no room. It comes back.
    for at in 0..2000 {
        talk.say(kind::RST_STREAM, 0, 2 * at + 1, &8u32.to_be_bytes());
    }
    talk.ask(5001, "/echo/now", b"x");
    assert_eq!(talk.answer(5001).data, message(b"x"));
    assert_eq!(talk.memory.used(), 0);
}

#[test]
fn a_message_above_the_memory_of_a_server_is_refused_when_it_comes() {
    let limits = Limits { server_memory: 4 << 20, ..Limits::default() };
    let mut talk = Talk::within(limits).greet();
    talk.say_headers(1, "/echo/now", flag::END_HEADERS);
    for piece in message(&vec![1; 8 << 20]).chunks(1 << 20) {
        talk.say(kind::DATA, 0, 1, piece);
    }
    assert_eq!(talk.answer(1).headers["grpc-status"], "8");
    talk.ask(3, "/echo/now", b"x");
    assert_eq!(talk.answer(3).data, message(b"x"), "others have their place");
}

#[test]
fn answers_that_nobody_reads_are_bounded() {
    let limits = Limits { connection_memory: 3 << 20, ..Limits::default() };
    let mut talk = Talk::within(limits).greet();
    for stream in [1, 3, 5, 7] {
        talk.ask(stream, "/echo/now", &[7; 1 << 20]);
    }
    talk.settle();
    assert!(talk.memory.used() <= 3 << 20);
    drop(talk.client);
    // Asked again and again, because it takes the server a moment to see it.
    while talk.memory.used() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn no_more_streams_are_open_than_advertised() {
    let limits = Limits { streams: 10, ..Limits::default() };
    let mut talk = Talk::within(limits).greet();
    let (_, settings) = talk.hear_next(kind::SETTINGS);
    assert!(settings.chunks(6).any(|setting| setting == [0, 3, 0, 0, 0, 10]));
    for at in 0..10 {
        talk.ask(2 * at + 1, "/echo/never", b"");
    }
    talk.ask(21, "/echo/now", b"x");
    let (head, payload) = talk.hear_next(kind::RST_STREAM);
    assert_eq!((head.stream, payload[3]), (21, Reason::Refused as u8));
    talk.say(kind::RST_STREAM, 0, 1, &8u32.to_be_bytes());
    talk.ask(23, "/echo/now", b"x");
    assert_eq!(talk.answer(23).data, message(b"x"));
}

#[test]
fn headers_are_charged_for() {
    let limits = Limits { server_memory: 1 << 20, ..Limits::default() };
    let mut talk = Talk::within(limits).greet();
    // A table entry of 4000 bytes, and then streams that name it three times each, in 3 bytes.
    let mut entry = vec![0x40, 1, b'n', 0x7f, 0xa1, 0x1e];
    entry.extend_from_slice(&[b'v'; 4000]);
    let first = [&block("/echo/never", &[])[..], &entry].concat();
    talk.say(kind::HEADERS, flag::END_HEADERS, 1, &first);
    let again = [&block("/echo/never", &[])[..], &[0xbe; 3]].concat();
    for at in 1..2000 {
        talk.say(kind::HEADERS, flag::END_HEADERS, 2 * at + 1, &again);
    }
    talk.settle();
    assert!(talk.memory.used() <= 1 << 20);
}

#[test]
fn floods_end_the_connection() {
    let calm = Reason::Calm as u32;
    let slow = || {
        // Long beats, so that a slow machine does not begin to count anew.
        Talk::within(Limits { silence: Duration::from_secs(600), ..Limits::default() }).greet()
    };
    assert_eq!(flood(slow(), &frames(kind::PING, 0, 0, &[0; 8], 4096)), calm);
    assert_eq!(flood(slow(), &frames(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 9], 100)), calm);
    assert_eq!(flood(slow(), &frames(kind::PRIORITY, 0, 1, &[0; 5], 4096)), calm);
    assert_eq!(flood(slow(), &frames(0xbb, 0, 0, &[], 4096)), calm);
    let mut talk = slow();
    talk.say_headers(1, "/echo/now", flag::END_HEADERS);
    assert_eq!(flood(talk, &frames(kind::DATA, 0, 1, &[], 4096)), calm);
    let mut talk = slow();
    talk.say_headers(1, "/echo/now", 0);
    assert_eq!(flood(talk, &frames(kind::CONTINUATION, 0, 1, &[], 100)), calm);
    let mut talk = slow();
    talk.say_headers(1, "/echo/now", 0);
    assert_eq!(flood(talk, &frames(kind::CONTINUATION, 0, 1, &[0; 16_000], 5)), calm);
    // Streams that are begun and given up.
    let talk = slow();
    let block = block("/echo/never", &[]);
    let count = often::RESETS + 10;
    let mut all = Vec::new();
    for at in 0..count {
        let stream = 2 * at + 1;
        all.extend(frames(kind::HEADERS, flag::END_HEADERS, stream, &block, 1));
        all.extend(frames(kind::RST_STREAM, 0, stream, &[0; 4], 1));
    }
    assert_eq!(flood(talk, &all), calm);
}

#[test]
fn settings_over_many_streams_take_no_time_for_each() {
    let mut talk = Talk::new();
    talk.say(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let count = 9_000;
    for at in 0..count {
        talk.say_headers(2 * at + 1, "/echo/never", flag::END_HEADERS);
    }
    for at in 0..often::SETTINGS - 10 {
        talk.say(kind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, (at % 2) as u8]);
    }
    talk.settle();
    talk.ask(2 * count + 1, "/echo/now", b"x");
    talk.say(kind::WINDOW_UPDATE, 0, 2 * count + 1, &[0, 0, 1, 0]);
    assert_eq!(talk.answer(2 * count + 1).data, message(b"x"));
}

#[test]
fn a_client_that_only_speaks_is_not_kept() {
    let mut talk =
        Talk::within(Limits { silence: Duration::from_millis(30), ..Limits::default() }).greet();
    // Slower than any flood, and never reads.
    let pings = frames(kind::PING, 0, 0, &[0; 8], often::PINGS as usize / 2);
    talk.client.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    let ended = (0..100_000).any(|_| talk.client.write_all(&pings).is_err());
    assert!(ended, "the server goes on to keep answers");
}

/// Hears until the server hangs up; returns what it said last.
fn last_words(mut talk: Talk) -> String {
    let mut words = String::new();
    while let Some((head, payload)) = talk.hear() {
        if head.kind == kind::GOAWAY {
            words = String::from_utf8(payload[8..].to_vec()).unwrap();
        }
    }
    words
}

#[test]
fn silent_clients_are_given_up() {
    let short = Duration::from_millis(60);
    let limits = Limits { silence: short, handshake: short, stall: short, ..Limits::default() };
    assert_eq!(last_words(Talk::within(limits.clone())), "the client does not greet");
    let mut half = Talk::within(limits.clone());
    half.client.write_all(&PREFACE[..10]).unwrap();
    assert_eq!(last_words(half), "the client does not greet");
    let mut talk = Talk::within(limits.clone()).greet();
    talk.ask(1, "/echo/never", b"");
    assert_eq!(last_words(talk), "the client does not answer");
    assert_eq!(last_words(Talk::within(limits.clone()).greet()), "the client does not answer");
    let idle = Limits { idle: short, silence: Duration::from_millis(100), ..Limits::default() };
    assert_eq!(last_words(Talk::within(idle).greet()), "the connection is not used");
}

#[test]
fn a_client_that_answers_pings_is_kept() {
    let limits = Limits { silence: Duration::from_millis(300), ..Limits::default() };
    let mut talk = Talk::within(limits).greet();
    talk.ask(1, "/echo/never", b"");
    for _ in 0..6 {
        let (head, payload) = talk.hear_next(kind::PING);
        assert!(!head.has(flag::ACK));
        talk.say(kind::PING, flag::ACK, 0, &payload);
    }
    talk.ask(3, "/echo/now", b"x");
    assert_eq!(talk.answer(3).data, message(b"x"));
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let short = Duration::from_millis(60);
    let limits = Limits { stall: short, silence: short, ..Limits::default() };
    let mut talk = Talk::within(limits).greet();
    talk.ask(1, "/echo/now", &[7; 1 << 20]);
    // It answers pings, so it is there, and opens no window.
    let mut words = String::new();
    while let Some((head, payload)) = talk.hear() {
        match head.kind {
            kind::PING => talk.say(kind::PING, flag::ACK, 0, &payload),
            kind::GOAWAY => words = String::from_utf8(payload[8..].to_vec()).unwrap(),
            _ => {}
        }
    }
    assert_eq!(words, "the client does not read what it asked for");
}

#[test]
fn silent_clients_do_not_keep_a_server_that_stops() {
    let limits = Limits { drain: Duration::from_millis(10), ..Limits::default() };
    for greets in [false, true] {
        let mut talk = Talk::within(limits.clone());
        if greets {
            talk = talk.greet();
            talk.ask(1, "/echo/never", b"");
            talk.settle();
        }
        talk.stop.send_replace(true);
        while talk.hear().is_some() {}
    }
}

#[test]
fn unknown_methods_cost_nothing() {
    let mut talk = Talk::within(Limits { server_memory: 0, ..Limits::default() }).greet();
    let path = format!("/{}", "x".repeat(10_000));
    for at in 0..2 * FREE_MEMORY as u32 / 10_000 {
        talk.say_headers(2 * at + 1, &path, flag::END_HEADERS);
        let status = &talk.answer(2 * at + 1).headers["grpc-status"];
        assert_eq!(status, "12");
    }
}
