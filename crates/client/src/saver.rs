//! Checkpoints: variables written to files in TensorFlow's format, and read back.
//!
//! The tasks that hold the variables write them, each its own shard; so the path must mean the same
//! directory to all of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tensorfleet_tensor::{Context, Result, Tensor, invalid_argument, not_found, unavailable};

use crate::graph::Graph;
use crate::output::{Operation, Output};
use crate::session::Session;
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
    restore: Operation,
    keep: usize,
    /// The prefixes of the checkpoints that were written, the oldest first.
    written: Mutex<Vec<String>>,
}

/// The file that names the checkpoints of a directory.
const STATE_FILE: &str = "checkpoint";

/// How checkpoints are named.
const BASE_NAME: &str = "model.ckpt";

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
        graph.at_root(|| {
            graph.name_scope("save", || {
                let prefix = graph
                    .op("Placeholder")
                    .named("prefix")
                    .attr("dtype", tensorfleet_tensor::DType::String)
                    .attr("shape", tensorfleet_tensor::PartialShape::scalar())
                    .output();
                let mut shards: BTreeMap<String, Vec<&Variable>> = BTreeMap::new();
                for variable in variables {
                    shards.entry(variable.device()).or_default().push(variable);
                }
                let save = save_all(graph, &prefix, &shards);
                let restored: Vec<Operation> = shards
                    .values()
                    .flat_map(|shard| restore_shard(graph, &prefix, shard))
                    .collect();
                let restore = graph.group(&restored);
                Saver { prefix, save, restore, keep: KEEP, written: Mutex::default() }
            })
        })
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
        fs::create_dir_all(directory).map_err(|error| {
            unavailable!("the directory {} cannot be made: {error}", directory.display())
        })?;
        let name = format!("{BASE_NAME}-{step}");
        let path = directory.join(&name);
        session
            .run((&self.prefix, Tensor::string(text(&path)?)), &self.save)
            .context(|| format!("saving {}", path.display()))?;
        let mut written = self.written.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        written.retain(|other| *other != name);
        written.push(name);
        if self.keep > 0 {
            while written.len() > self.keep {
                remove(directory, &written.remove(0));
            }
        }
        write_state(directory, &written)?;
        Ok(path)
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
        let state = fs::read_to_string(directory.join(STATE_FILE)).ok()?;
        let line = state.lines().find_map(|line| line.strip_prefix("model_checkpoint_path: "))?;
        // A relative path is relative to the directory; an absolute one replaces it.
        Some(directory.join(unquote(line)))
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

/// One shard is written directly; several are written apart and then made one.
#[track_caller]
fn save_all(
    graph: &Graph,
    prefix: &Output,
    shards: &BTreeMap<String, Vec<&Variable>>,
) -> Operation {
    if let [shard] = &shards.values().collect::<Vec<_>>()[..] {
        return graph.colocate_with(shard[0].handle(), || save_shard(graph, prefix, shard));
    }
    let count = shards.len() as i32;
    let temporary = graph.op("StringJoin").inputs([prefix, &graph.constant("_temp/part")]).output();
    let mut written = Vec::new();
    let mut names = Vec::new();
    for (number, shard) in shards.values().enumerate() {
        let (name, saved) = graph.colocate_with(shard[0].handle(), || {
            let op = graph.op("ShardedFilename").input(&temporary).input(number as i32);
            let name = op.input(count).output();
            let saved = save_shard(graph, &name, shard);
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

#[track_caller]
fn save_shard(graph: &Graph, prefix: &Output, variables: &[&Variable]) -> Operation {
    let names: Vec<&str> = variables.iter().map(|variable| variable.name()).collect();
    graph
        .op("SaveV2")
        .input(prefix)
        .input(names.clone())
        .input(vec![""; names.len()])
        .inputs(variables.iter().copied())
        .build()
}

#[track_caller]
fn restore_shard(graph: &Graph, prefix: &Output, variables: &[&Variable]) -> Vec<Operation> {
    let names: Vec<&str> = variables.iter().map(|variable| variable.name()).collect();
    let types: Vec<_> = variables.iter().map(|variable| variable.dtype()).collect();
    graph.colocate_with(variables[0].handle(), || {
        let read = graph
            .op("RestoreV2")
            .input(prefix)
            .input(names.clone())
            .input(vec![""; names.len()])
            .attr("dtypes", types)
            .build();
        let values = read.outputs();
        variables.iter().zip(values).map(|(variable, value)| variable.assign(value)).collect()
    })
}

/// Names the checkpoints of a directory in the file that TensorFlow looks for.
fn write_state(directory: &Path, written: &[String]) -> Result<()> {
    let Some(latest) = written.last() else { return Ok(()) };
    let mut state = format!("model_checkpoint_path: {}\n", quote(latest));
    for name in written {
        state.push_str(&format!("all_model_checkpoint_paths: {}\n", quote(name)));
    }
    let path = directory.join(STATE_FILE);
    // A reader sees the old file or the new one, never half of it.
    let temporary = directory.join(format!("{STATE_FILE}.tmp"));
    fs::write(&temporary, state)
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(|error| unavailable!("{} cannot be written: {error}", path.display()))
}

/// Deletes the files of a checkpoint; one that is gone already is fine.
fn remove(directory: &Path, name: &str) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let file = entry.file_name();
        let Some(rest) = file.to_str().and_then(|file| file.strip_prefix(name)) else { continue };
        if rest == ".index" || rest.starts_with(".data-") {
            // What cannot be deleted does no harm but taking room.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn unquote(text: &str) -> String {
    text.trim().trim_matches('"').replace("\\\"", "\"").replace("\\\\", "\\")
}
