//! What has been trained so far: written by the workers' threads, read by the display.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// One step of one worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) worker: usize,
    pub(super) loss: f32,
    /// Of the batch, before the step.
    pub(super) accuracy: f32,
    /// Since the start.
    pub(super) at: Duration,
}

/// The steps of all workers, in the order in which they ended.
#[derive(Debug)]
pub(super) struct Progress {
    start: Instant,
    samples: Mutex<Vec<Sample>>,
}

/// Speeds are counted over the last second.
const WINDOW: Duration = Duration::from_secs(1);
/// Loss and accuracy are means over the last steps.
const RECENT: usize = 40;

impl Progress {
    pub(super) fn start() -> Progress {
        Progress { start: Instant::now(), samples: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Sample>> {
        self.samples.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a step, and returns how many there are now.
    pub(super) fn add(&self, worker: usize, loss: f32, accuracy: f32) -> u64 {
        let mut samples = self.lock();
        samples.push(Sample { worker, loss, accuracy, at: self.start.elapsed() });
        samples.len() as u64
    }

    pub(super) fn samples(&self) -> Vec<Sample> {
        self.lock().clone()
    }

    pub(super) fn now(&self, workers: usize) -> Now {
        Now::of(&self.lock(), workers, self.start.elapsed())
    }
}

/// How training stands at a moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Now {
    pub(super) steps: u64,
    pub(super) loss: f32,
    pub(super) accuracy: f32,
    /// Of each worker.
    pub(super) steps_per_second: Vec<f64>,
}

impl Now {
    fn of(samples: &[Sample], workers: usize, elapsed: Duration) -> Now {
        let recent = &samples[samples.len().saturating_sub(RECENT)..];
        let mean = |value: fn(&Sample) -> f32| {
            recent.iter().map(value).sum::<f32>() / recent.len().max(1) as f32
        };
        let window = WINDOW.min(elapsed).as_secs_f64().max(1e-3);
        let mut counts = vec![0u32; workers];
        let from = elapsed.saturating_sub(WINDOW);
        for sample in samples.iter().rev().take_while(|sample| sample.at >= from) {
            counts[sample.worker] += 1;
        }
        Now {
            steps: samples.len() as u64,
            loss: mean(|sample| sample.loss),
            accuracy: mean(|sample| sample.accuracy),
            steps_per_second: counts.iter().map(|&count| f64::from(count) / window).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_that_of_the_last_second() {
        let sample =
            |worker, at| Sample { worker, loss: 2.0, accuracy: 0.5, at: Duration::from_millis(at) };
        let samples = [sample(0, 100), sample(1, 2500), sample(0, 2600), sample(1, 2700)];
        let now = Now::of(&samples, 3, Duration::from_secs(3));
        assert_eq!(now.steps_per_second, [1.0, 2.0, 0.0]);
        assert_eq!((now.steps, now.loss, now.accuracy), (4, 2.0, 0.5));
        assert_eq!(Now::of(&[], 1, Duration::ZERO).steps_per_second, [0.0]);
    }
}
