//! What a worker is asked to do, and what becomes of it.

use std::sync::mpsc;

use tensorfleet_client::{Code, Error, Result};

use crate::loss::Lost;

/// Something to do for whichever worker comes first, or again for another.
pub(crate) trait Task<W>: Send {
    /// Does it, and tells who waits for it, unless the worker was lost on the way.
    fn run(&mut self, worker: &mut W) -> Result<()>;

    /// Tells who waits for it why it will not be done.
    fn give_up(&self, cause: &Error);
}

/// A function of a worker, and where its result goes.
struct Scheduled<F, T> {
    function: F,
    sender: mpsc::Sender<Result<T>>,
}

/// Makes a task of a function.
pub(crate) fn task<W, T: Send + 'static>(
    function: impl FnMut(&mut W) -> Result<T> + Send + 'static,
) -> (Box<dyn Task<W>>, Pending<T>) {
    let (sender, receiver) = mpsc::channel();
    (Box::new(Scheduled { function, sender }), Pending { receiver })
}

impl<W, T: Send, F: FnMut(&mut W) -> Result<T> + Send> Task<W> for Scheduled<F, T> {
    fn run(&mut self, worker: &mut W) -> Result<()> {
        // The program may not care for the result, and then sending it fails.
        match (self.function)(worker) {
            Ok(value) => {
                let _ = self.sender.send(Ok(value));
                Ok(())
            }
            Err(error) => {
                if Lost::of(&error).is_none() {
                    let _ = self.sender.send(Err(error.clone()));
                }
                Err(error)
            }
        }
    }

    fn give_up(&self, cause: &Error) {
        let message = format!("{}\n(the task was given up because of this)", cause.message());
        let _ = self.sender.send(Err(Error::new(cause.code(), message).derived()));
    }
}

/// The result of a task that may not be done yet.
///
/// ```
/// use tensorfleet_strategy::{Coordinator, Mode, OnLoss, Pending};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let coordinator = Coordinator::new(vec![()], Mode::Async, OnLoss::GoOn)?;
/// let pending: Pending<&str> = coordinator.schedule(|_| Ok("done"));
/// assert_eq!(pending.fetch()?, "done");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a task is done even if nobody fetches its result, but its failure shows here or in `join`"]
pub struct Pending<T> {
    receiver: mpsc::Receiver<Result<T>>,
}

impl<T> Pending<T> {
    /// Waits for the result. If the task was given up, the error is the one that was the cause, or
    /// `CANCELLED` if the coordinator is gone.
    ///
    /// ```
    /// use tensorfleet_client::{Error, invalid_argument};
    /// use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let coordinator = Coordinator::new(vec![()], Mode::Async, OnLoss::GoOn)?;
    /// let wrong = coordinator.schedule(|_| Err::<(), Error>(invalid_argument!("wrong")));
    /// assert_eq!(wrong.fetch().unwrap_err().message(), "wrong");
    /// # Ok(())
    /// # }
    /// ```
    pub fn fetch(self) -> Result<T> {
        self.receiver.recv().unwrap_or_else(|_| {
            let why = "the task was given up, because the coordinator is gone or the task panicked";
            Err(Error::new(Code::Cancelled, why))
        })
    }
}
