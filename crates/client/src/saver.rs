//! Checkpoints: variables written to files in TensorFlow's format, and read back.
//!
//! The tasks that hold the variables write them, each its own shard; so the path must mean the same
//! directory to all of them.

use std::collections::BTreeMap;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tensorfleet_tensor::{Context, Result, Tensor, invalid_argument, not_found};

use crate::checkpoints::state::{self, Checkpoint, State};
use crate::graph::Graph;
use crate::module::{Module, parameters_of};
use crate::output::{Operation, Output};
use crate::session::{Session, StartedStep};
use crate::variable::Variable;

/// Saves and restores the variables of a graph.
///
/// ```
/// use tensorfleet_client::{Graph, Saver, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let w = graph.variable("w", [1.0f32, 2.0]);
/// let saver = Saver::new(&graph);
/// let change = w.assign([5.0f32, 6.0]);
///
/// # let directory = std::env::temp_dir().join(format!("saver-{}", std::process::id()));
/// let session = Session::new(&graph)?;
/// session.run((), &graph.initializer())?;
/// let path = saver.save(&session, &directory, 100)?;
/// session.run((), &change)?;
/// saver.restore(&session, &path)?;
/// assert_eq!(session.run((), w.value::<Vec<f32>>())?, [1.0, 2.0]);
/// assert_eq!(Saver::latest(&directory), Some(path));
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Saver {
    prefix: Output,
    save: Operation,
    copy: Copy,
    restore: Operation,
    keep: usize,
    /// The prefixes of the checkpoints that were written, the oldest first.
    written: Mutex<Vec<String>>,
}

/// How checkpoints are named.
pub(crate) const BASE_NAME: &str = "model.ckpt";

/// How many checkpoints are kept.
const KEEP: usize = 5;

impl Saver {
    /// Saves all variables that the graph has now.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Saver};
    ///
    /// let graph = Graph::new();
    /// graph.variable("w", [1.0f32, 2.0]);
    /// let saver = Saver::new(&graph);
    /// # drop(saver);
    /// ```
    #[track_caller]
    pub fn new(graph: &Graph) -> Saver {
        Saver::of(graph, &graph.variables())
    }

    /// Saves some variables.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Saver, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let (body, head) = (graph.variable("body", 1.0f32), graph.variable("head", 2.0f32));
    /// # let name = format!("saver-of-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// // Only the body is taken over into another training.
    /// let saver = Saver::of(&graph, &[body.clone()]);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let path = saver.save(&session, &directory, 1)?;
    /// session.run((), (&body.assign(0.0), &head.assign(0.0)))?;
    /// saver.restore(&session, path)?;
    /// assert_eq!(session.run((), (body.value::<f32>(), head.value::<f32>()))?, (1.0, 0.0));
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn of(graph: &Graph, variables: &[Variable]) -> Saver {
        let entries = variables.iter().map(|variable| Entry {
            name: variable.name().to_owned(),
            slice: String::new(),
            variable: variable.clone(),
        });
        Saver::of_entries(graph, &entries.collect::<Vec<_>>(), Location::caller())
    }

    /// Saves the parameters of a module by their names there, wherever in the graph it is. Parts of
    /// one parameter are saved as one, and may be restored as other parts.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Saver, Session, initializer};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("saver-module-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let table = graph.name_scope("anywhere", || {
    ///     graph.sharded_variable("table", 5, 2, |rows| initializer::ones([rows, 1]))
    /// });
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let path = Saver::of_module(&graph, "words", &table).save(&session, &directory, 1)?;
    ///
    /// // In another program the table has three parts.
    /// let graph = Graph::new();
    /// let table = graph.sharded_variable("other", 5, 3, |rows| initializer::zeros([rows, 1]));
    /// let session = Session::new(&graph)?;
    /// Saver::of_module(&graph, "words", &table).restore(&session, path)?;
    /// let rows = table.lookup([0i64, 4]);
    /// assert_eq!(session.run((), rows.value::<Vec<f32>>())?, [1.0, 1.0]);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn of_module(graph: &Graph, name: &str, module: &(impl Module + ?Sized)) -> Saver {
        let entries = parameters_of(name, module).into_iter().map(|parameter| Entry {
            name: parameter.name,
            slice: parameter.part.map_or(String::new(), |rows| rows.to_string()),
            variable: parameter.variable,
        });
        Saver::of_entries(graph, &entries.collect::<Vec<_>>(), Location::caller())
    }

    fn of_entries(graph: &Graph, entries: &[Entry], caller: &'static Location<'static>) -> Saver {
        let make = || {
            graph.name_scope("save", || {
                let prefix = graph
                    .op("Placeholder")
                    .named("prefix")
                    .attr("dtype", tensorfleet_tensor::DType::String)
                    .attr("shape", tensorfleet_tensor::PartialShape::scalar())
                    .output();
                let mut shards: BTreeMap<String, Vec<&Entry>> = BTreeMap::new();
                for entry in entries {
                    shards.entry(entry.variable.device()).or_default().push(entry);
                }
                let save = save_all(graph, &prefix, &shards, &read_all);
                let restored: Vec<Operation> = shards
                    .values()
                    .flat_map(|shard| restore_shard(graph, &prefix, shard))
                    .collect();
                let restore = graph.group(&restored);
                let copy = Copy::new(graph, &prefix, &shards);
                Saver { prefix, save, copy, restore, keep: KEEP, written: Mutex::default() }
            })
        };
        graph.on_behalf_of(caller, || graph.at_root(make))
    }

    /// Sets how many checkpoints are kept; older ones are deleted. Zero keeps all.
    ///
    /// ```
    /// use tensorfleet_client::{Code, Graph, Saver, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("saver-keep-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let saver = Saver::new(&graph).keep(2);
    /// let first = saver.save(&session, &directory, 1)?;
    /// saver.save(&session, &directory, 2)?;
    /// saver.save(&session, &directory, 3)?;
    /// assert_eq!(saver.restore(&session, first).unwrap_err().code(), Code::NotFound);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn keep(mut self, checkpoints: usize) -> Saver {
        self.keep = checkpoints;
        self
    }

    /// Writes a checkpoint into a directory and returns its path, which [`Saver::restore`] takes.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Saver, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("saver-save-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let path = Saver::new(&graph).save(&session, &directory, 100)?;
    /// assert!(path.ends_with("model.ckpt-100"));
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn save(
        &self,
        session: &Session,
        directory: impl AsRef<Path>,
        step: i64,
    ) -> Result<PathBuf> {
        let directory = directory.as_ref();
        let name = format!("{BASE_NAME}-{step}");
        let path = directory.join(&name);
        self.write(session, &path)?;
        let mut written = self.written.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        written.retain(|other| *other != name);
        written.push(name);
        if self.keep > 0 {
            while written.len() > self.keep {
                state::remove(directory, &written.remove(0));
            }
        }
        let checkpoints = written.iter().map(|name| Checkpoint::now(name)).collect();
        State { checkpoints, last_preserved: 0.0 }.write(directory)?;
        Ok(path)
    }

    /// Writes the files of a checkpoint.
    pub(crate) fn write(&self, session: &Session, path: &Path) -> Result<()> {
        state::make_parent(path)?;
        session
            .run((&self.prefix, Tensor::string(text(path)?)), &self.save)
            .context(|| format!("saving {}", path.display()))
    }

    /// The names of the tensor that takes the name of a checkpoint, and of the node that restores it.
    pub(crate) fn restoring(&self) -> (String, String) {
        (self.prefix.name(), self.restore.name())
    }

    /// Puts the values aside as they are now, and starts to write them. Training may go on. One at a
    /// time: the values that were put aside first are written first.
    pub(crate) fn start_to_write(&self, session: &Session, path: &Path) -> Result<StartedStep> {
        state::make_parent(path)?;
        session.run((), &self.copy.put_aside)?;
        session.start((&self.prefix, Tensor::string(text(path)?)), &self.copy.save)
    }

    /// Reads a checkpoint into the variables.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Saver, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("saver-restore-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let saver = Saver::new(&graph);
    /// let path = saver.save(&session, &directory, 1)?;
    /// session.run((), &w.assign(0.0))?;
    /// saver.restore(&session, path)?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 1.0);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn restore(&self, session: &Session, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        session
            .run((&self.prefix, Tensor::string(text(path)?)), &self.restore)
            .context(|| format!("restoring {}", path.display()))
    }

    /// The newest checkpoint of a directory, if there is one.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Saver, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("saver-latest-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// assert_eq!(Saver::latest(&directory), None);
    /// let path = Saver::new(&graph).save(&session, &directory, 1)?;
    /// assert_eq!(Saver::latest(&directory), Some(path));
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn latest(directory: impl AsRef<Path>) -> Option<PathBuf> {
        let directory = directory.as_ref();
        // A relative path is relative to the directory; an absolute one replaces it.
        state::latest(directory).map(|name| directory.join(name))
    }

    /// Restores the newest checkpoint of a directory.
    ///
    /// ```
    /// use tensorfleet_client::{Code, Graph, Saver, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("saver-restore-latest-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 1.0f32);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let saver = Saver::new(&graph);
    /// assert_eq!(saver.restore_latest(&session, &directory).unwrap_err().code(), Code::NotFound);
    /// let path = saver.save(&session, &directory, 1)?;
    /// assert_eq!(saver.restore_latest(&session, &directory)?, path);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn restore_latest(
        &self,
        session: &Session,
        directory: impl AsRef<Path>,
    ) -> Result<PathBuf> {
        let directory = directory.as_ref();
        let latest = Saver::latest(directory)
            .ok_or_else(|| not_found!("there is no checkpoint in {}", directory.display()))?;
        self.restore(session, &latest)?;
        Ok(latest)
    }
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| invalid_argument!("the path {} is not valid UTF-8", path.display()))
}

/// A variable, and where its value is in a checkpoint.
#[derive(Debug)]
struct Entry {
    name: String,
    /// Which part of the tensor of that name it holds, as TensorFlow writes it; empty for all.
    slice: String,
    variable: Variable,
}

/// How values are written that were put aside before.
#[derive(Debug)]
struct Copy {
    put_aside: Operation,
    save: Operation,
}

impl Copy {
    /// Each task keeps the values of its own variables. That costs nothing but what training changes
    /// before they are written.
    #[track_caller]
    fn new(graph: &Graph, prefix: &Output, shards: &BTreeMap<String, Vec<&Entry>>) -> Copy {
        // Other savers, of this program and others on the same servers, have copies of their own.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let place = format!("checkpoint/{}/{number}", std::process::id());
        let stage = |op: &str, shard: &[&Entry]| {
            let types: Vec<_> = shard.iter().map(|entry| entry.variable.dtype()).collect();
            graph.op(op).attr("dtypes", types).attr("shared_name", place.as_str())
        };
        let put = shards.values().map(|shard| {
            graph.colocate_with(shard[0].variable.handle(), || {
                let values = shard.iter().map(|entry| &entry.variable);
                stage("Stage", shard).inputs(values).build()
            })
        });
        let put_aside = graph.group(&put.collect::<Vec<_>>());
        let save =
            save_all(graph, prefix, shards, &|shard| stage("Unstage", shard).build().outputs());
        Copy { put_aside, save }
    }
}

/// The values of variables as they are.
#[track_caller]
fn read_all(entries: &[&Entry]) -> Vec<Output> {
    entries.iter().map(|entry| entry.variable.read()).collect()
}

/// One shard is written directly; several are written apart and then made one.
#[track_caller]
fn save_all(
    graph: &Graph,
    prefix: &Output,
    shards: &BTreeMap<String, Vec<&Entry>>,
    values: &dyn Fn(&[&Entry]) -> Vec<Output>,
) -> Operation {
    if let [shard] = &shards.values().collect::<Vec<_>>()[..] {
        return graph.colocate_with(shard[0].variable.handle(), || {
            save_shard(graph, prefix, shard, values)
        });
    }
    let count = shards.len() as i32;
    let temporary = graph.op("StringJoin").inputs([prefix, &graph.constant("_temp/part")]).output();
    let mut written = Vec::new();
    let mut names = Vec::new();
    for (number, shard) in shards.values().enumerate() {
        let (name, saved) = graph.colocate_with(shard[0].variable.handle(), || {
            let op = graph.op("ShardedFilename").input(&temporary).input(number as i32);
            let name = op.input(count).output();
            let saved = save_shard(graph, &name, shard, values);
            (name, saved)
        });
        names.push(name);
        written.push(saved);
    }
    graph.control_dependencies(&written, || {
        let all = graph.op("Pack").inputs(&names).output();
        graph.op("MergeV2Checkpoints").input(all).input(prefix).build()
    })
}

/// Names and slices of entries, as ops take them.
fn keys(entries: &[&Entry]) -> (Vec<String>, Vec<String>) {
    entries.iter().map(|entry| (entry.name.clone(), entry.slice.clone())).unzip()
}

#[track_caller]
fn save_shard(
    graph: &Graph,
    prefix: &Output,
    entries: &[&Entry],
    values: &dyn Fn(&[&Entry]) -> Vec<Output>,
) -> Operation {
    let (names, slices) = keys(entries);
    let op = graph.op("SaveV2").input(prefix).input(names).input(slices);
    op.inputs(values(entries)).build()
}

#[track_caller]
fn restore_shard(graph: &Graph, prefix: &Output, entries: &[&Entry]) -> Vec<Operation> {
    let (names, slices) = keys(entries);
    let types: Vec<_> = entries.iter().map(|entry| entry.variable.dtype()).collect();
    graph.colocate_with(entries[0].variable.handle(), || {
        let read = graph.op("RestoreV2").input(prefix).input(names).input(slices);
        let values = read.attr("dtypes", types).build().outputs();
        entries.iter().zip(values).map(|(entry, value)| entry.variable.assign(value)).collect()
    })
}
