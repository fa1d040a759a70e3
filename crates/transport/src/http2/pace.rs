//! How often a client does what makes work and leads nowhere.

use super::{Failure, Reason};
use crate::limits::often;

/// Counts since the last beat.
#[derive(Debug, Default)]
pub(super) struct Pace {
    pub(super) resets: u32,
    pub(super) pings: u32,
    pub(super) settings: u32,
    pub(super) idle_frames: u32,
    pub(super) unknown: u32,
}

impl Pace {
    /// Ends a client that does one of these too often.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let why = if self.resets > often::RESETS {
            "too many calls are given up"
        } else if self.pings > often::PINGS {
            "too many pings"
        } else if self.settings > often::SETTINGS {
            "too many settings"
        } else if self.idle_frames > often::IDLE_FRAMES {
            "too many frames that say nothing"
        } else {
            return Ok(());
        };
        Err(Failure { reason: Reason::Calm, why })
    }

    /// Whether a call of a method that does not exist is worth a line.
    pub(super) fn logs_unknown(&mut self) -> bool {
        self.unknown += 1;
        self.unknown <= often::UNKNOWN_LOGGED
    }
}
