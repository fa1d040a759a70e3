//! Streams that wait for something, in turn.

use std::collections::VecDeque;

/// Numbers of streams, some of which may have ended since.
#[derive(Debug, Default)]
pub(super) struct Waiting(VecDeque<u32>);

/// From this many on, those of ended streams are looked for.
const MANY: usize = 64;

impl Waiting {
    /// Adds a stream. Ended ones never are more than the others for long, so that whoever begins
    /// and ends streams fills no memory with their numbers.
    pub(super) fn push(&mut self, id: u32, live: usize, is_live: impl Fn(u32) -> bool) {
        if self.0.len() >= MANY.max(2 * live) {
            self.0.retain(|id| is_live(*id));
        }
        self.0.push_back(id);
    }

    pub(super) fn pop(&mut self) -> Option<u32> {
        self.0.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all of them.
    pub(super) fn take(&mut self) -> VecDeque<u32> {
        std::mem::take(&mut self.0)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ended_streams_are_forgotten() {
        let mut waiting = Waiting::default();
        for id in 0..100_000 {
            waiting.push(id, 10, |id| id % 10_000 == 0);
        }
        assert!(waiting.len() <= MANY + 1);
        assert_eq!(waiting.pop(), Some(0));
        assert_eq!(waiting.pop(), Some(10_000));
    }
}
