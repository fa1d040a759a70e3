//! A cluster of workers and parameter servers as one thing to train on.

use std::time::Duration;

use tensorfleet_client::{
    ClusterSpec, Code, Error, Graph, ReplicaDevices, Result, Session, SessionOptions, Spread,
    even_shards, invalid_argument,
};

use crate::coordinator::{Coordinator, OnLoss, Repair};
use crate::opening::{self, Place, device_of};
use crate::pace::Mode;
use crate::train::Replica;

/// Variables on the tasks of the job `ps`, computation on those of the job `worker`.
///
/// Each worker has a graph of its own, made by the program's function in a scope that places
/// variables, and a session that sees no other worker, so that it does not care for their fate.
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_server::{Config, create_local_cluster};
/// use tensorfleet_strategy::{Mode, OnLoss, ParameterServerStrategy};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let config = Config::default();
/// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
/// let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?;
/// let coordinator = strategy.coordinator(Mode::Async, OnLoss::GoOn, |graph, _| {
///     let w = graph.variable("w", 5.0f32);
///     let train = Sgd::new(0.1).minimize(&(w.read() - 2.0).square());
///     Ok((w, train))
/// })?;
/// for _ in 0..100 {
///     drop(coordinator.schedule(|worker| worker.session.run((), &worker.model.1)));
/// }
/// coordinator.join()?;
/// let w = coordinator.schedule(|worker| worker.session.run((), worker.model.0.value::<f32>()));
/// assert!((w.fetch()? - 2.0).abs() < 1e-3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ParameterServerStrategy {
    /// The number and the target of each worker.
    workers: Vec<(u32, String)>,
    ps_tasks: usize,
    spread: Spread,
    options: SessionOptions,
    /// How long a parameter server that was lost is waited for.
    patience: Option<Duration>,
}

/// One worker: its session, and what the program made for it.
///
/// ```
/// use tensorfleet_client::IntoTensor;
/// use tensorfleet_client::data::{Pipeline, TensorRows};
/// use tensorfleet_client::optimizer::schedule;
/// use tensorfleet_server::{Config, create_local_cluster};
/// use tensorfleet_strategy::{Mode, OnLoss, ParameterServerStrategy};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let config = Config::default();
/// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
/// let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?;
/// let coordinator = strategy.coordinator(Mode::Async, OnLoss::GoOn, |graph, number| {
///     // A dataset of its own: every second row.
///     let rows = TensorRows::new([vec![1.0f32, 2.0, 3.0, 4.0].into_tensor()?])?;
///     let batches = rows.shard(2, number).batch(2);
///     let x = graph.placeholder::<f32>([None]);
///     Ok((x.sum(), x, batches))
/// })?;
/// for _ in 0..2 {
///     let sum = coordinator.schedule(|worker| {
///         let (sum, x, batches) = &mut worker.model;
///         let Some(batch) = batches.next() else { return Ok(None) };
///         worker.session.run((&*x, batch?.remove(0)), sum.value::<f32>()).map(Some)
///     });
///     assert!([None, Some(4.0), Some(6.0)].contains(&sum.fetch()?));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Worker<M> {
    /// The number of its task.
    pub task: u32,
    /// A session on its server, for the graph of its model.
    pub session: Session,
    /// What the program's function returned: outputs, operations, a dataset of its own.
    pub model: M,
}

/// What a worker of a [`ParameterServerStrategy`] trains with [`Coordinator::train`].
///
/// ```
/// use tensorfleet_client::optimizer::{Optimizer, Sgd};
/// use tensorfleet_client::{Operation, Result, Session};
/// use tensorfleet_server::{Config, create_local_cluster};
/// use tensorfleet_strategy::{Mode, Model, OnLoss, ParameterServerStrategy};
///
/// /// A number that is to become two.
/// struct Line(Operation);
///
/// impl Model for Line {
///     fn step(&mut self, session: &Session) -> Result<()> {
///         session.run((), &self.0)
///     }
/// }
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let config = Config::default();
/// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
/// let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?;
/// let coordinator = strategy.coordinator(Mode::Bounded(2), OnLoss::GoOn, |graph, _| {
///     let w = graph.variable("w", 5.0f32);
///     Ok(Line(Sgd::new(0.1).minimize(&(w.read() - 2.0).square())))
/// })?;
/// coordinator.train(40)?;
/// # Ok(())
/// # }
/// ```
pub trait Model: Send + 'static {
    /// Takes a step alone, as [`Replica::step`].
    fn step(&mut self, session: &Session) -> Result<()>;

    /// Takes part in a synchronous step, as [`Replica::contribute`].
    fn contribute(&mut self, session: &Session, round: u64) -> Result<()> {
        let _ = (session, round);
        Err(not_in_rounds())
    }

    /// Ends a synchronous step, as [`Replica::apply`].
    fn apply(&mut self, session: &Session, contributions: usize) -> Result<()> {
        let _ = (session, contributions);
        Err(not_in_rounds())
    }
}

fn not_in_rounds() -> Error {
    Error::new(Code::Unimplemented, "this model has no means to be trained in rounds")
}

impl<M: Model> Replica for Worker<M> {
    fn step(&mut self) -> Result<()> {
        self.model.step(&self.session)
    }

    fn contribute(&mut self, round: u64) -> Result<()> {
        self.model.contribute(&self.session, round)
    }

    fn apply(&mut self, contributions: usize) -> Result<()> {
        self.model.apply(&self.session, contributions)
    }
}

/// How long each step may take, unless the program says otherwise. A task that vanished without a
/// word would be waited for without end.
const TIMEOUT: Duration = Duration::from_secs(600);

/// How long tasks that are not up yet are waited for, unless the program says otherwise.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);

impl ParameterServerStrategy {
    /// Takes the jobs `ps` and `worker` of a cluster.
    ///
    /// ```
    /// use tensorfleet_server::ClusterSpec;
    /// use tensorfleet_strategy::ParameterServerStrategy;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// let strategy = ParameterServerStrategy::new(&cluster)?;
    /// assert_eq!((strategy.num_workers(), strategy.num_ps()), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(cluster: &ClusterSpec) -> Result<ParameterServerStrategy> {
        let workers: Vec<(u32, String)> = cluster
            .tasks_of("worker")
            .map(|(task, address)| (task, format!("grpc://{address}")))
            .collect();
        let ps_tasks = cluster.tasks_of("ps").count();
        if workers.is_empty() || ps_tasks == 0 {
            return Err(invalid_argument!(
                "parameter-server training needs the jobs \"worker\" and \"ps\", but the cluster \
                 has {:?}",
                cluster.jobs().collect::<Vec<_>>()
            ));
        }
        Ok(ParameterServerStrategy {
            workers,
            ps_tasks,
            spread: Spread::default(),
            options: SessionOptions::default().timeout(TIMEOUT).open_timeout(OPEN_TIMEOUT),
            patience: None,
        })
    }

    /// Says how the task for a variable is chosen.
    ///
    /// ```
    /// use tensorfleet_client::Spread;
    /// use tensorfleet_server::{Config, create_local_cluster};
    /// use tensorfleet_strategy::ParameterServerStrategy;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let config = Config::default();
    /// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
    /// let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?;
    /// let strategy = strategy.spread(Spread::BySize);
    /// # drop(strategy);
    /// # Ok(())
    /// # }
    /// ```
    pub fn spread(mut self, spread: Spread) -> ParameterServerStrategy {
        self.spread = spread;
        self
    }

    /// The options of the workers' sessions, to which device filters are added.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::SessionOptions;
    /// use tensorfleet_server::{Config, create_local_cluster};
    /// use tensorfleet_strategy::ParameterServerStrategy;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let config = Config::default();
    /// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
    /// let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?;
    /// let options = SessionOptions::default().timeout(Duration::from_secs(60));
    /// let strategy = strategy.session_options(options);
    /// # drop(strategy);
    /// # Ok(())
    /// # }
    /// ```
    pub fn session_options(mut self, options: SessionOptions) -> ParameterServerStrategy {
        self.options = options;
        self
    }

    /// Waits so long for a parameter server that is lost, and goes on when it is back, for parameter
    /// servers that keep their variables in a directory (`Config::data_directory`). Steps that were
    /// under way are made again. Without this a loss is an error.
    ///
    /// Not for [`Mode::Sync`]: the gradients of a round are not kept.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_server::{Config, create_local_cluster};
    /// use tensorfleet_strategy::{Mode, OnLoss, ParameterServerStrategy};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let config = Config::default();
    /// let cluster = create_local_cluster(1, 1, "grpc", &config, &config)?;
    /// let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?
    ///     .wait_for_parameter_servers(Duration::from_secs(300));
    /// let build = |graph: &Graph, _| Ok(graph.variable("w", 5.0f32));
    /// assert!(strategy.coordinator(Mode::Async, OnLoss::GoOn, build).is_ok());
    /// assert!(strategy.coordinator(Mode::Sync, OnLoss::GoOn, build).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_for_parameter_servers(mut self, patience: Duration) -> ParameterServerStrategy {
        self.patience = Some(patience);
        self
    }

    /// The number of workers.
    ///
    /// ```
    /// use tensorfleet_server::ClusterSpec;
    /// use tensorfleet_strategy::ParameterServerStrategy;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(ParameterServerStrategy::new(&cluster)?.num_workers(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn num_workers(&self) -> usize {
        self.workers.len()
    }

    /// The number of parameter servers, into which a large table is best cut.
    ///
    /// ```
    /// use tensorfleet_server::ClusterSpec;
    /// use tensorfleet_strategy::ParameterServerStrategy;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let jobs = [("ps", vec!["a:1"]), ("worker", vec!["b:1", "c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(ParameterServerStrategy::new(&cluster)?.num_ps(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn num_ps(&self) -> usize {
        self.ps_tasks
    }

    /// How many rows of a table go to each parameter server.
    ///
    /// ```
    /// use tensorfleet_server::ClusterSpec;
    /// use tensorfleet_strategy::ParameterServerStrategy;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let jobs = [("ps", vec!["a:1", "b:1"]), ("worker", vec!["c:1"])];
    /// let cluster = ClusterSpec::from_lists(jobs)?;
    /// assert_eq!(ParameterServerStrategy::new(&cluster)?.shards(7), [4, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn shards(&self, rows: usize) -> Vec<usize> {
        even_shards(rows, self.ps_tasks)
    }

    /// Has each worker's graph made by a function, which is told the worker's number, opens the
    /// sessions, and has the first initialise the variables.
    ///
    /// All calls must make the same variables in the same order, so that they are found at the same
    /// places. Tasks that are not up yet are waited for, a minute unless
    /// [`ParameterServerStrategy::session_options`] say otherwise; the error names all that are
    /// missing then.
    ///
    /// ```
    /// use tensorfleet_client::optimizer::schedule;
    /// use tensorfleet_server::{Config, create_local_cluster};
    /// use tensorfleet_strategy::{Mode, OnLoss, ParameterServerStrategy};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let config = Config::default();
    /// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
    /// let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?;
    /// let coordinator = strategy.coordinator(Mode::Async, OnLoss::GoOn, |graph, worker| {
    ///     let w = graph.variable("w", 5.0f32);
    ///     Ok(w.read() + worker as f32)
    /// })?;
    /// let value =
    ///     coordinator.schedule(|worker| worker.session.run((), worker.model.value::<f32>()));
    /// assert!([5.0, 6.0].contains(&value.fetch()?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn coordinator<M: Send + 'static>(
        &self,
        mode: Mode,
        on_loss: OnLoss,
        mut build: impl FnMut(&Graph, usize) -> Result<M>,
    ) -> Result<Coordinator<Worker<M>>> {
        if self.patience.is_some() && mode == Mode::Sync {
            return Err(invalid_argument!(
                "parameter servers cannot be waited for in rounds (Mode::Sync): the gradients of a \
                 round are lost with them"
            ));
        }
        let mut places = Vec::new();
        let mut models = Vec::new();
        for index in 0..self.workers.len() {
            let (place, model) = self.place(index, &mut build)?;
            places.push(place);
            models.push(model);
        }
        let sessions = opening::all_at_once(&places)?;
        let workers: Vec<Worker<M>> = places
            .iter()
            .zip(sessions)
            .zip(models)
            .map(|((place, session), model)| Worker { task: place.task, session, model })
            .collect();
        let first = &workers[0].session;
        first.run((), &first.graph().initializer())?;
        Coordinator::with_repair(workers, mode, on_loss, self.repair())
    }

    /// Opens a session anew that has lost a parameter server.
    fn repair<M: Send + 'static>(&self) -> Option<Repair<Worker<M>>> {
        let patience = self.patience?;
        let strategy = self.clone();
        Some(Box::new(move |worker| {
            let Some((_, target)) = strategy.workers.iter().find(|(task, _)| *task == worker.task)
            else {
                return Err(invalid_argument!("there is no worker {}", worker.task));
            };
            let options = strategy.options_of(worker.task).open_timeout(patience);
            worker.session = Session::connect_with(target, worker.session.graph(), &options)?;
            Ok(())
        }))
    }

    /// Has lost workers whose servers are up again take part anew, with graphs made by the function;
    /// the numbers of those that do. Others are left for the next call.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::Graph;
    /// use tensorfleet_server::{Config, create_local_cluster};
    /// use tensorfleet_strategy::{Mode, OnLoss, ParameterServerStrategy};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let config = Config::default();
    /// let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
    /// let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?;
    /// let build = |graph: &Graph, _| Ok(graph.variable("w", 5.0f32));
    /// let coordinator = strategy.coordinator(Mode::Async, OnLoss::GoOn, build)?;
    /// // None is lost, so none comes back.
    /// let revived = strategy.revive(&coordinator, Duration::from_secs(5), build);
    /// assert!(revived.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn revive<M: Send + 'static>(
        &self,
        coordinator: &Coordinator<Worker<M>>,
        patience: Duration,
        mut build: impl FnMut(&Graph, usize) -> Result<M>,
    ) -> Vec<usize> {
        let impatient = ParameterServerStrategy {
            options: self.options.clone().open_timeout(patience),
            ..self.clone()
        };
        coordinator
            .lost()
            .into_iter()
            .filter(|&index| {
                let worker = impatient.place(index, &mut build).and_then(|(place, model)| {
                    Ok(Worker { task: place.task, session: place.connect()?, model })
                });
                worker.and_then(|worker| coordinator.revive(index, worker)).is_ok()
            })
            .collect()
    }

    /// Has the graph of a worker made.
    fn place<M>(
        &self,
        index: usize,
        build: &mut impl FnMut(&Graph, usize) -> Result<M>,
    ) -> Result<(Place, M)> {
        let (task, target) = &self.workers[index];
        let devices = ReplicaDevices::new(self.ps_tasks).worker(device_of(*task));
        let graph = Graph::new();
        let model = graph.device(devices.spread(self.spread), || build(&graph, index))?;
        let options = self.options_of(*task);
        Ok((Place { task: *task, target: target.clone(), graph, options }, model))
    }

    /// A worker's session sees the parameter servers and itself.
    fn options_of(&self, task: u32) -> SessionOptions {
        self.options.clone().device_filter("/job:ps").device_filter(device_of(task))
    }
}
