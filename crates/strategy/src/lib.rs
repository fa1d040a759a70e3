//! Parameter-server training: several workers train the variables that parameter servers hold.
//!
//! [`ParameterServerStrategy`] places a model on a cluster and gives each worker a session.
//!
//! A [`Coordinator`] has one thread for each worker. Tasks wait in one queue for whichever worker is
//! free; a task whose worker is lost is done by another. A [`Mode`] says how far workers may run
//! apart, and [`Coordinator::train`] trains with [`Replica`]s of a model in that mode.
//!
//! ```
//! use tensorfleet_strategy::{Coordinator, Mode, OnLoss};
//!
//! # fn main() -> tensorfleet_client::Result<()> {
//! // What a worker is depends on the program: here it only counts, elsewhere it has a session.
//! let coordinator = Coordinator::new(vec![0, 0], Mode::Async, OnLoss::GoOn)?;
//! let doubled = coordinator.schedule(|tasks: &mut i32| {
//!     *tasks += 1;
//!     Ok(21 * 2)
//! });
//! assert_eq!(doubled.fetch()?, 42);
//! coordinator.join()?;
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod coordinator;
mod fit;
mod loss;
mod mean;
mod opening;
mod pace;
mod parameter_server;
mod sync_replicas;
mod task;
mod train;

pub use coordinator::{Coordinator, OnLoss};
pub use fit::{
    Callback, EarlyStopping, Learner, LearningRate, Moment, Numbers, ReduceOnPlateau, ShowProgress,
    TensorBoard, Trainer,
};
pub use loss::{Loss, Lost};
pub use mean::MeanGradients;
pub use pace::Mode;
pub use parameter_server::{Model, ParameterServerStrategy, Worker};
pub use sync_replicas::{Chief, Replicas, SyncReplicas};
pub use task::Pending;
pub use train::Replica;
