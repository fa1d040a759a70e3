//! How a batcher forms batches, from the attributes of the op that makes it.

use std::time::Duration;

use tensorfleet_framework::Attrs;
use tensorfleet_tensor::{Result, invalid_argument};

/// How many batches run at once when the number is left to the batcher.
const DEFAULT_AT_ONCE: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The most rows of one call.
    pub(super) most_rows: usize,
    /// The most rows of one batch.
    pub(super) batch_rows: usize,
    /// Sizes that batches are filled up to, ascending; none for any.
    allowed: Vec<usize>,
    /// How long the first call of a batch waits for others.
    pub(super) timeout: Duration,
    /// How many batches may wait to be run.
    pub(super) most_waiting: usize,
    pub(super) at_once: usize,
    /// Whether calls of more rows than a batch has are spread over several.
    pub(super) splits: bool,
}

impl Settings {
    pub(super) fn of(attrs: &Attrs<'_>) -> Result<Settings> {
        let count = |name: &str| Ok(usize::try_from(attrs.int(name)?).unwrap_or_default());
        let splits = attrs.op() == "BatchFunction" && attrs.bool("enable_large_batch_splitting")?;
        let most_rows = count("max_batch_size")?;
        let allowed = sizes(attrs, most_rows, splits)?;
        let batch_rows = match allowed.last() {
            Some(&largest) if splits => largest,
            _ => most_rows,
        };
        let at_once = match count("num_batch_threads")? {
            0 => DEFAULT_AT_ONCE,
            given => given,
        };
        let timeout = Duration::from_micros(attrs.int("batch_timeout_micros")?.max(0) as u64);
        let most_waiting = count("max_enqueued_batches")?;
        Ok(Settings { most_rows, batch_rows, allowed, timeout, most_waiting, at_once, splits })
    }

    /// How many rows a batch of `rows` is filled up to.
    pub(super) fn filled(&self, rows: usize) -> usize {
        self.allowed.iter().copied().find(|&size| size >= rows).unwrap_or(rows)
    }
}

fn sizes(attrs: &Attrs<'_>, most_rows: usize, splits: bool) -> Result<Vec<usize>> {
    let allowed = attrs.ints("allowed_batch_sizes")?;
    if allowed.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(invalid_argument!(
            "allowed_batch_sizes entries must be monotonically increasing"
        ));
    }
    let last_fits = allowed.last().is_none_or(|&last| last == most_rows as i64);
    if !last_fits && attrs.op() == "Batch" {
        return Err(invalid_argument!(
            "final entry in allowed_batch_sizes must equal max_batch_size"
        ));
    }
    if !last_fits && !splits {
        return Err(invalid_argument!(
            "final entry in allowed_batch_sizes must equal max_batch_size when \
             enable_large_batch_splitting is False"
        ));
    }
    Ok(allowed.iter().map(|&size| usize::try_from(size).unwrap_or_default()).collect())
}
