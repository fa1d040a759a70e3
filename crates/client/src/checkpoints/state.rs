//! The file that names the checkpoints of a directory, as TensorFlow writes and reads it, and the
//! files of a checkpoint.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tensorfleet_tensor::{Result, unavailable};

/// The name of the file.
const STATE_FILE: &str = "checkpoint";

/// What is appended to the name of a checkpoint for how far training had come.
pub(crate) const PROGRESS: &str = ".progress";

/// The checkpoints of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    /// The oldest first.
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// When the last one was written that is kept for good.
    pub(crate) last_preserved: f64,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Checkpoint {
    /// Its path, relative to the directory as a rule.
    pub(crate) name: String,
    /// When it was written, in seconds since the beginning of 1970.
    pub(crate) time: f64,
}

impl Checkpoint {
    pub(crate) fn now(name: &str) -> Checkpoint {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Checkpoint { name: name.to_owned(), time: time.as_secs_f64() }
    }
}

impl State {
    /// What a directory has. Checkpoints whose files are gone are left out.
    pub(crate) fn read(directory: &Path) -> State {
        let text = fs::read_to_string(directory.join(STATE_FILE)).unwrap_or_default();
        let mut state = State::parse(&text);
        state.checkpoints.retain(|checkpoint| {
            let index = format!("{}.index", checkpoint.name);
            directory.join(index).exists()
        });
        state
    }

    fn parse(text: &str) -> State {
        let values = |key: &str| {
            let key = format!("{key}: ");
            text.lines().filter_map(move |line| line.trim().strip_prefix(&key).map(str::to_owned))
        };
        let mut times = values("all_model_checkpoint_timestamps").map(|time| time.parse().ok());
        let mut checkpoints: Vec<Checkpoint> = values("all_model_checkpoint_paths")
            .map(|name| {
                let time = times.next().flatten().unwrap_or(0.0);
                Checkpoint { name: unquote(&name), time }
            })
            .collect();
        // The newest is the one that is called so.
        if let Some(latest) = values("model_checkpoint_path").next().map(|name| unquote(&name)) {
            match checkpoints.iter().position(|checkpoint| checkpoint.name == latest) {
                Some(at) => {
                    let newest = checkpoints.remove(at);
                    checkpoints.push(newest);
                }
                None => checkpoints.push(Checkpoint { name: latest, time: 0.0 }),
            }
        }
        let last_preserved = values("last_preserved_timestamp").next();
        let last_preserved = last_preserved.and_then(|time| time.parse().ok()).unwrap_or(0.0);
        State { checkpoints, last_preserved }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(latest) = self.checkpoints.last() {
            text.push_str(&format!("model_checkpoint_path: {}\n", quote(&latest.name)));
        }
        for Checkpoint { name, .. } in &self.checkpoints {
            text.push_str(&format!("all_model_checkpoint_paths: {}\n", quote(name)));
        }
        for Checkpoint { time, .. } in &self.checkpoints {
            text.push_str(&format!("all_model_checkpoint_timestamps: {time:?}\n"));
        }
        text.push_str(&format!("last_preserved_timestamp: {:?}\n", self.last_preserved));
        text
    }

    /// Names the checkpoints of a directory.
    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        write_whole(&directory.join(STATE_FILE), &self.text())
    }
}

/// The name of the newest checkpoint of a directory, whether or not its files are there.
pub(crate) fn latest(directory: &Path) -> Option<String> {
    let text = fs::read_to_string(directory.join(STATE_FILE)).ok()?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("model_checkpoint_path: "))?;
    Some(unquote(line))
}

/// Writes a file whose readers see the old text or the new one, never half of it.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|error| unavailable!("{} cannot be written: {error}", path.display()))
}

/// Makes the directory that a checkpoint goes to.
pub(crate) fn make_parent(path: &Path) -> Result<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    fs::create_dir_all(directory).map_err(|error| {
        unavailable!("the directory {} cannot be made: {error}", directory.display())
    })
}

/// The files of a checkpoint, by name.
pub(crate) fn files(directory: &Path, name: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|file| {
            file.strip_prefix(name).is_some_and(|rest| {
                rest == ".index" || rest == PROGRESS || rest.starts_with(".data-")
            })
        })
        .collect()
}

/// Deletes the files of a checkpoint; one that is gone already is fine.
pub(crate) fn remove(directory: &Path, name: &str) {
    for file in files(directory, name) {
        // What cannot be deleted does no harm but taking room.
        let _ = fs::remove_file(directory.join(file));
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn unquote(text: &str) -> String {
    text.trim().trim_matches('"').replace("\\\"", "\"").replace("\\\\", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As TensorFlow 2.21's `CheckpointManager` writes it.
    const TENSORFLOWS: &str = "model_checkpoint_path: \"ckpt-2\"\n\
        all_model_checkpoint_paths: \"ckpt-1\"\n\
        all_model_checkpoint_paths: \"ckpt-2\"\n\
        all_model_checkpoint_timestamps: 1700000000.25\n\
        all_model_checkpoint_timestamps: 1700000001.5\n\
        last_preserved_timestamp: 1699999999.0\n";

    #[test]
    fn tensorflows_file_is_read_and_written_the_same() {
        let state = State::parse(TENSORFLOWS);
        let names: Vec<&str> = state.checkpoints.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["ckpt-1", "ckpt-2"]);
        assert_eq!(state.checkpoints[1].time, 1_700_000_001.5);
        assert_eq!(state.text(), TENSORFLOWS);
    }

    #[test]
    fn the_newest_is_the_one_that_is_called_so() {
        let state = State::parse(
            "model_checkpoint_path: \"a\"\nall_model_checkpoint_paths: \"a\"\n\
             all_model_checkpoint_paths: \"b\\\"c\"\n",
        );
        let names: Vec<&str> = state.checkpoints.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["b\"c", "a"]);
        assert_eq!(State::parse(""), State::default());
    }
}
