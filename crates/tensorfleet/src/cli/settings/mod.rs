//! The one configuration of `serve`: flags over the environment over a file over `TF_CONFIG`.
//!
//! What the environment and the file say is put into words of the command line, before those that were
//! written there, and all of it is read as one. So whatever is a flag is a variable and a key of the file
//! too, with the same meaning, and nothing has to be done for a new one.

mod file;
mod print;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use clap::ArgMatches;
pub(super) use print::text;
use tensorfleet_tensor::{Error, Result, invalid_argument};

use crate::nearest::nearest;

/// The variables of a process.
pub(super) type Environment = BTreeMap<String, String>;

/// Variables that say how to serve begin with it.
const PREFIX: &str = "TENSORFLEET_";

/// Variables that begin like those and are somebody else's.
const OTHERS: [&str; 6] = ["target", "token_file", "python", "cpu", "bin", "commit"];

/// Words that ask for something else than a setting.
const NO_SETTINGS: [&str; 4] = ["help", "version", "config", "print_config"];

/// The ways to tell a cluster. One that is told above replaces all that are told below.
const CLUSTER: [&str; 7] =
    ["server_def", "server_def_path", "cluster", "ps", "worker", "chief", "master"];
/// A file with a `ServerDef` tells these as well.
const TASK: [&str; 2] = ["job_name", "task_index"];

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Flag,
    /// A variable.
    Environment(String),
    /// A line of a file.
    File(String, usize),
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag => f.write_str("flag"),
            Origin::Environment(name) => f.write_str(name),
            Origin::File(path, line) => write!(f, "{path}:{line}"),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// A setting as it is in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub key: String,
    /// As a file would say it; nothing if it is not set.
    pub value: Option<String>,
    pub origin: Origin,
}

/// All settings of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(pub Vec<Setting>);

impl Settings {
    /// The keys whose values are not those of other settings, with the value that they have here.
    pub fn changed_from<'a>(
        &'a self,
        old: &'a Settings,
    ) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
        let both = self.0.iter().zip(&old.0).filter(|(new, old)| new.value != old.value);
        both.map(|(new, _)| (&*new.key, new.value.as_deref()))
    }
}

/// What kind of value a setting has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// True or false.
    Switch,
    One,
    /// One that may be left out.
    Optional,
    Many,
}

/// A flag that can be set elsewhere.
#[derive(Debug)]
struct Known {
    id: String,
    /// As it is written in a file.
    key: String,
    /// The key, and other names for it.
    names: Vec<String>,
    kind: Kind,
}

/// What is said of a setting below the command line.
#[derive(Debug)]
struct Said {
    id: String,
    words: Vec<String>,
    origin: Origin,
}

/// A command line with the words of environment and file in it.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) line: Vec<String>,
    known: Vec<Known>,
    origins: BTreeMap<String, Origin>,
}

/// Puts together what is said about a task. Commands other than `serve` stay as they are.
pub(super) fn gather(
    root: &clap::Command,
    line: Vec<String>,
    environment: &Environment,
) -> Result<Gathered> {
    let mut gathered = Gathered { line, known: Vec::new(), origins: BTreeMap::new() };
    let Some(serve) = root.find_subcommand("serve") else { return Ok(gathered) };
    let Some(at) = subcommand_at(root, &gathered.line).filter(|&at| gathered.line[at] == "serve")
    else {
        return Ok(gathered);
    };
    let globals = root.get_arguments().filter(|argument| argument.is_global_set());
    gathered.known = serve.get_arguments().chain(globals).filter_map(known).collect();
    let asks_for_help = gathered.line.iter().any(|word| word == "--help" || word == "-h");
    if asks_for_help {
        return Ok(gathered);
    }
    let mut path = None;
    gathered.read_flags(at, &mut path);
    let path = path.or_else(|| environment.get("TENSORFLEET_CONFIG").cloned());
    let mut said = from_environment(&gathered.known, environment)?;
    let mut words = gathered.take(said.drain(..));
    if let Some(path) = path.filter(|path| !path.is_empty()) {
        words.extend(gathered.take(file::read(&path, &gathered.known)?.into_iter()));
    }
    gathered.line.splice(at + 1..at + 1, words);
    Ok(gathered)
}

impl Gathered {
    /// Notes which settings the command line has, and the file that it names.
    fn read_flags(&mut self, at: usize, path: &mut Option<String>) {
        let mut words = std::mem::take(&mut self.line).into_iter().enumerate();
        while let Some((number, word)) = words.next() {
            let Some(flag) = word.strip_prefix("--") else {
                if number > at {
                    self.origins.insert("server_def_path".to_owned(), Origin::Flag);
                }
                self.line.push(word);
                continue;
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (flag, None),
            };
            if let Some(known) = find(&self.known, name) {
                self.origins.insert(known.id.clone(), Origin::Flag);
                match (known.kind, value.map(switch)) {
                    (Kind::Switch, Some(Some(false))) => continue,
                    (Kind::Switch, Some(Some(true))) => {
                        self.line.push(format!("--{name}"));
                        continue;
                    }
                    _ => {}
                }
                let takes_the_next =
                    matches!(known.kind, Kind::One | Kind::Many) && value.is_none();
                self.line.push(word);
                self.line.extend(takes_the_next.then(|| words.next()).flatten().map(|(_, w)| w));
            } else if name == "config" {
                let next = if value.is_none() { words.next().map(|(_, word)| word) } else { None };
                *path = value.map(str::to_owned).or_else(|| next.clone());
                self.line.push(word);
                self.line.extend(next);
            } else {
                self.line.push(word);
            }
        }
    }

    /// Takes what is said in one place, unless it was said above it.
    fn take(&mut self, said: impl Iterator<Item = Said>) -> Vec<String> {
        let above: BTreeSet<String> = self.origins.keys().cloned().collect();
        let has = |id: &str| above.contains(id);
        let has_cluster = CLUSTER.iter().any(|id| has(id));
        let has_server_def = has("server_def") || has("server_def_path");
        let mut words = Vec::new();
        for Said { id, words: more, origin } in said {
            let is_replaced = has(&id)
                || (has_cluster && CLUSTER.contains(&&*id))
                || (has_server_def && TASK.contains(&&*id));
            if !is_replaced {
                self.origins.insert(id, origin);
                words.extend(more);
            }
        }
        words
    }

    /// Names the places that what is wrong comes from, if it was not the command line.
    pub(super) fn blame(&self, message: String) -> String {
        let places = self.known.iter().filter_map(|known| {
            let origin = self.origins.get(&known.id).filter(|origin| **origin != Origin::Flag)?;
            let is_meant = message.contains(&format!("'--{}", known.key))
                || message.contains(&format!("'--{}", known.key.replace('_', "-")));
            is_meant.then(|| format!("; {} is from {origin}", known.key))
        });
        let places: String = places.collect();
        message + &places
    }

    /// The settings as they are in the end.
    pub(super) fn settings(&self, matches: &ArgMatches) -> Settings {
        let Some(("serve", matches)) = matches.subcommand() else { return Settings::default() };
        let setting = |known: &Known| {
            let given = self.origins.get(&known.id).cloned();
            let origin = given.unwrap_or(Origin::Default);
            let value = print::value(known, matches, origin == Origin::Default);
            Setting { key: known.key.clone(), value, origin }
        };
        Settings(self.known.iter().map(setting).collect())
    }
}

/// The place of the word that names the command.
fn subcommand_at(root: &clap::Command, line: &[String]) -> Option<usize> {
    let takes_value: Vec<&str> = root
        .get_arguments()
        .filter(|argument| argument.get_action().takes_values())
        .filter_map(clap::Arg::get_long)
        .collect();
    let mut at = 1;
    while let Some(word) = line.get(at) {
        let Some(flag) = word.strip_prefix("--") else {
            if word.starts_with('-') {
                at += 1;
                continue;
            }
            return Some(at);
        };
        at += if takes_value.contains(&flag) { 2 } else { 1 };
    }
    None
}

fn known(argument: &clap::Arg) -> Option<Known> {
    let key = argument.get_long()?.replace('-', "_");
    if NO_SETTINGS.contains(&&*key) {
        return None;
    }
    let aliases = argument.get_all_aliases().unwrap_or_default();
    let mut names = vec![key.clone()];
    names.extend(aliases.into_iter().map(|alias| alias.replace('-', "_")));
    names.dedup();
    let kind = if !argument.get_action().takes_values() {
        Kind::Switch
    } else if argument.get_value_delimiter().is_some() {
        Kind::Many
    } else if argument.is_require_equals_set() {
        Kind::Optional
    } else {
        Kind::One
    };
    Some(Known { id: argument.get_id().to_string(), key, names, kind })
}

fn find<'a>(known: &'a [Known], name: &str) -> Option<&'a Known> {
    known.iter().find(|known| known.names.iter().any(|known| known == name))
}

/// Reads the word for true or false.
fn switch(text: &str) -> Option<bool> {
    match &*text.to_ascii_lowercase() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// The words of the command line that say the same as a text.
fn words(known: &Known, text: &str) -> Option<Vec<String>> {
    let flag = format!("--{}", known.key);
    match (known.kind, switch(text)) {
        (Kind::Switch, None) => None,
        (Kind::Switch | Kind::Optional, Some(is_set)) if text.parse::<u64>().is_err() => {
            Some(if is_set { vec![flag] } else { Vec::new() })
        }
        (Kind::Switch, Some(is_set)) => Some(if is_set { vec![flag] } else { Vec::new() }),
        _ => Some(vec![format!("{flag}={text}")]),
    }
}

fn from_environment(known: &[Known], environment: &Environment) -> Result<Vec<Said>> {
    let mut said: Vec<Said> = Vec::new();
    for (variable, text) in environment.iter().filter(|(_, text)| !text.trim().is_empty()) {
        let Some(name) = variable.strip_prefix(PREFIX) else { continue };
        let name = name.to_ascii_lowercase();
        let Some(setting) = find(known, &name) else {
            check_spelling(variable, &name, known)?;
            continue;
        };
        let Some(words) = words(setting, text) else {
            return Err(invalid_argument!("{variable} is neither true nor false: {text:?}"));
        };
        let origin = Origin::Environment(variable.clone());
        if let Some(other) = said.iter().find(|said| said.id == setting.id) {
            return Err(invalid_argument!(
                "{variable} says the same as {}; keep one",
                other.origin
            ));
        }
        said.push(Said { id: setting.id.clone(), words, origin });
    }
    Ok(said)
}

/// Other programs may have variables of that prefix, so one is wrong only if it is nearly one of ours.
fn check_spelling(variable: &str, name: &str, known: &[Known]) -> Result<()> {
    if OTHERS.contains(&name) || NO_SETTINGS.contains(&name) {
        return Ok(());
    }
    match near(name, known) {
        Some(near) => Err(invalid_argument!(
            "the environment variable {variable} says nothing; {PREFIX}{} does",
            near.to_ascii_uppercase()
        )),
        None => Ok(()),
    }
}

fn near<'a>(name: &str, known: &'a [Known]) -> Option<&'a str> {
    nearest(name, known.iter().map(|known| &*known.key))
}

/// A word that a file has, and no setting is called.
fn unknown(place: &str, name: &str, known: &[Known]) -> Error {
    match near(name, known) {
        Some(near) => invalid_argument!("{place}: there is no setting `{name}`; `{near}` is one"),
        None => invalid_argument!(
            "{place}: there is no setting `{name}`; `serve --help` has all of them, without `--`"
        ),
    }
}

#[cfg(test)]
mod tests;
