//! How much of the pool of threads a session takes.
//!
//! All sessions of a process share one pool: a pool for each would have more threads than cores as
//! soon as there are two clients. What a client says about threads is a limit for its own steps.

use tensorfleet_tensor::{Result, invalid_argument};

/// Limits of a session or a step; without one, all threads may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Threads {
    /// How many nodes of a step run at once.
    pub inter_op: Option<usize>,
    /// How many threads one kernel uses.
    pub intra_op: Option<usize>,
}

impl Threads {
    /// These limits, and where there is none, the other ones.
    #[must_use]
    pub fn or(self, other: Threads) -> Threads {
        Threads {
            inter_op: self.inter_op.or(other.inter_op),
            intra_op: self.intra_op.or(other.intra_op),
        }
    }
}

/// A limit as clients write it: zero is none, and whoever wants less than one thread gets one.
pub fn limit(number: i32) -> Option<usize> {
    (number != 0).then(|| usize::try_from(number).unwrap_or(1))
}

/// The number of nodes that a step runs at once when its client chose pool number `chosen` among
/// those that its session has; nothing if the session's own limit holds.
pub(crate) fn chosen_pool(chosen: i32, pools: &[Option<usize>]) -> Result<Option<usize>> {
    // The thread that asks for the step would run its nodes itself.
    if chosen == -1 {
        return Ok(Some(1));
    }
    let index = usize::try_from(chosen).ok();
    match index.and_then(|index| pools.get(index)) {
        Some(threads) => Ok(*threads),
        None if chosen == 0 && pools.is_empty() => Ok(None),
        None => Err(invalid_argument!("Invalid inter_op_thread_pool: {chosen}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_clients_mean_them() {
        assert_eq!((limit(0), limit(3), limit(-1)), (None, Some(3), Some(1)));
    }

    #[test]
    fn a_step_chooses_among_the_pools_of_its_session() {
        let pools = [Some(2), None];
        let chosen = |number| chosen_pool(number, &pools).ok();
        assert_eq!(
            [-1, 0, 1, 2, -2].map(chosen),
            [Some(Some(1)), Some(Some(2)), Some(None), None, None]
        );
        assert_eq!(chosen_pool(0, &[]), Ok(None));
        assert!(chosen_pool(1, &[]).is_err());
    }
}
