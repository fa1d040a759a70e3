//! Whether the client is still there: three beats without a word, and it is not.
//!
//! A beat costs a connection nothing but a look at two marks, so calls need not look at a clock.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::pace::Pace;
use crate::Limits;

/// How many beats make [`Limits::silence`].
const BEATS: u32 = 3;

/// A client without calls may take this many times as long: one of gRPC's looks at a connection
/// that it does not use only now and then.
const PATIENCE: u32 = 4;

#[derive(Debug)]
pub(super) struct Heart {
    timer: Pin<Box<Sleep>>,
    beat: Duration,
    limits: Limits,
    /// Whether something came, something was written, and some of an answer was sent since the last
    /// beat.
    pub(super) heard: bool,
    pub(super) wrote: bool,
    pub(super) sent: bool,
    silent_beats: u32,
    begun: Instant,
    /// Since when nothing was written of what waits, and since when there are no calls.
    stalled: Option<Instant>,
    idle: Option<Instant>,
    pub(super) pace: Pace,
}

/// What a connection is doing when its heart beats.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doing {
    pub(super) is_greeted: bool,
    pub(super) has_calls: bool,
    /// Whether answers wait for the client's windows, and whether frames wait for its socket.
    pub(super) has_unsent: bool,
    pub(super) has_unwritten: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    Nothing,
    /// Ask whether the client is there.
    Ping,
    /// Nobody needs the connection.
    Close,
    /// There is no client that speaks and listens.
    Dead(&'static str),
}

impl Heart {
    pub(super) fn new(limits: &Limits) -> Heart {
        let beat = (limits.silence / BEATS).max(Duration::from_millis(1));
        Heart {
            timer: Box::pin(sleep(beat.min(limits.handshake))),
            beat,
            limits: limits.clone(),
            heard: false,
            wrote: false,
            sent: false,
            silent_beats: 0,
            begun: Instant::now(),
            stalled: None,
            idle: None,
            pace: Pace::default(),
        }
    }

    /// Whether it is time for a beat.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().poll(cx)
    }

    /// Looks at what happened since the last beat.
    pub(super) fn beat(&mut self, doing: Doing) -> Beat {
        let now = Instant::now();
        self.timer.as_mut().reset(now + self.beat);
        self.pace = Pace::default();
        let [heard, wrote, sent] =
            [&mut self.heard, &mut self.wrote, &mut self.sent].map(std::mem::take);
        if !doing.is_greeted {
            let late = now - self.begun >= self.limits.handshake;
            return if late { Beat::Dead("the client does not greet") } else { Beat::Nothing };
        }
        let has_stalled = doing.has_unsent && !sent || doing.has_unwritten && !wrote;
        if lasts(&mut self.stalled, has_stalled, now) >= self.limits.stall {
            return Beat::Dead("the client does not read what it asked for");
        }
        if lasts(&mut self.idle, !doing.has_calls, now) >= self.limits.idle {
            return Beat::Close;
        }
        self.silent_beats = if heard { 0 } else { self.silent_beats + 1 };
        let patience = if doing.has_calls { 1 } else { PATIENCE };
        if self.silent_beats >= BEATS * patience {
            return Beat::Dead("the client does not answer");
        }
        if self.silent_beats == 1 { Beat::Ping } else { Beat::Nothing }
    }
}

/// How long something has been so.
fn lasts(since: &mut Option<Instant>, is_so: bool, now: Instant) -> Duration {
    if !is_so {
        *since = None;
        return Duration::ZERO;
    }
    now - *since.get_or_insert(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLING: Doing =
        Doing { is_greeted: true, has_calls: true, has_unsent: false, has_unwritten: false };

    fn heart() -> Heart {
        Heart::new(&Limits { silence: Duration::from_secs(9), ..Limits::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_asked_and_then_given_up() {
        let mut heart = heart();
        heart.heard = true;
        assert_eq!(heart.beat(CALLING), Beat::Nothing);
        assert_eq!(heart.beat(CALLING), Beat::Ping);
        assert_eq!(heart.beat(CALLING), Beat::Nothing);
        assert!(matches!(heart.beat(CALLING), Beat::Dead(_)));
        let mut quiet = self::heart();
        let idle = Doing { has_calls: false, ..CALLING };
        assert_eq!(quiet.beat(idle), Beat::Ping);
        for _ in 0..10 {
            assert_eq!(quiet.beat(idle), Beat::Nothing, "nobody waits");
        }
        assert!(matches!(quiet.beat(idle), Beat::Dead(_)));
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_never_greet_read_or_call_are_not_kept() {
        let stranger = Doing { is_greeted: false, has_calls: false, ..CALLING };
        let reader = Doing { has_unsent: true, ..CALLING };
        let idle = Doing { has_calls: false, ..CALLING };
        let deaf = Doing { has_unwritten: true, ..CALLING };
        for (doing, seconds) in [(stranger, 10), (reader, 60), (deaf, 60), (idle, 3600)] {
            let mut heart = heart();
            let begun = Instant::now();
            loop {
                std::future::poll_fn(|cx| heart.poll(cx)).await;
                heart.heard = true;
                if !matches!(heart.beat(doing), Beat::Nothing | Beat::Ping) {
                    break;
                }
            }
            let took = (Instant::now() - begun).as_secs();
            assert!((seconds..seconds + 7).contains(&took), "{doing:?} took {took} s");
        }
    }
}
