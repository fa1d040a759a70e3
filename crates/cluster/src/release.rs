//! Telling other tasks that something is over, for as long as they may still keep it.
//!
//! A task that cannot be reached now may be back in a moment, with all that it keeps for us. So who
//! lets go of something over there goes on trying for a while, in the background, whoever dropped
//! what, and on whichever thread.

use std::sync::Arc;
use std::time::Duration;

use tensorfleet_framework::BoxFuture;
use tensorfleet_tensor::{Code, Result};

use crate::task::Task;

/// How long to wait before the second try; twice as long before each one after that.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// How often a step is cleaned up where nobody answers. What is left then ends with its session.
pub(crate) const STEP_TRIES: u32 = 6;

/// How often a session is deleted where nobody answers: for about a quarter of an hour.
pub(crate) const SESSION_TRIES: u32 = 10;

/// Makes a call until it is answered. The first one is under way already.
pub(crate) fn release(
    task: &Arc<Task>,
    first: BoxFuture<Result<()>>,
    tries: u32,
    again: impl Fn() -> BoxFuture<Result<()>> + Send + 'static,
) {
    let world = Arc::clone(&task.world);
    task.world.spawn(Box::pin(async move {
        let (mut call, mut wait) = (first, FIRST_WAIT);
        for _ in 1..tries {
            match call.await {
                Err(error) if error.code() == Code::Unavailable => {}
                _ => return,
            }
            world.sleep(wait).await;
            wait *= 2;
            call = again();
        }
        // Nobody is left who could be told of a failure.
        let _ = call.await;
    }));
}
