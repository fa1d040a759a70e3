//! `serve --print-config`: the settings as a file that says the same, and where each comes from.

use std::fmt::Write;

use clap::ArgMatches;

use super::super::Serve;
use super::{CLUSTER, Kind, Known, Setting, TASK};

/// The value that a setting has in the end.
pub(super) fn value(known: &Known, matches: &ArgMatches, is_default: bool) -> Option<String> {
    if known.kind == Kind::Switch {
        return Some(matches.get_flag(&known.id).to_string());
    }
    let raw = matches.get_raw(&known.id).into_iter().flatten();
    let mut texts = raw.map(|text| written(&text.to_string_lossy()));
    match known.kind {
        Kind::Many if is_default => None,
        Kind::Many => Some(format!("[{}]", texts.collect::<Vec<_>>().join(", "))),
        _ => texts.next(),
    }
}

/// A text or a number as TOML writes it, whose texts are JSON's where they have no rare characters.
fn written(text: &str) -> String {
    let is_number = text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
        || text.parse::<f64>().is_ok_and(|number| number.is_finite() && number.to_string() == text);
    if is_number { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// The settings of a task, those that are set first by their place in the help.
pub(in super::super) fn text(serve: &Serve) -> String {
    let settings = &serve.settings.0;
    let is_told = |keys: &[&str]| {
        settings.iter().any(|setting| setting.value.is_some() && keys.contains(&&*setting.key))
    };
    let in_file = settings.iter().any(|it| it.key == "server_def" && it.value.is_some());
    let has_cluster = is_told(&CLUSTER);
    let found = |setting: &Setting| -> Option<(String, String)> {
        let task = serve.spec.task();
        let origin = match (in_file, has_cluster) {
            (true, _) => "the ServerDef",
            (false, true) => "the only one in the cluster",
            (false, false) => "TF_CONFIG",
        };
        let value = match &*setting.key {
            "cluster" if !has_cluster => written(&serve.spec.cluster().to_json()),
            "job_name" => written(&task.job),
            "task_index" => task.index.to_string(),
            "bind" => return Some((written(&serve.bind.to_string()), "the cluster".to_owned())),
            _ => return None,
        };
        Some((value, origin.to_owned()))
    };
    let mut lines = Vec::new();
    let mut unset = Vec::new();
    for setting in settings {
        match (&setting.value, found(setting)) {
            (Some(value), _) => {
                lines.push((format!("{} = {value}", setting.key), setting.origin.to_string()));
            }
            (None, Some((value, origin))) => {
                // A file that has the task and a ServerDef would say it twice.
                let comment = if in_file && TASK.contains(&&*setting.key) { "# " } else { "" };
                lines.push((format!("{comment}{} = {value}", setting.key), origin));
            }
            (None, None) => unset.push(&*setting.key),
        }
    }
    let width =
        lines.iter().map(|(line, _)| line.chars().count()).filter(|&width| width < 60).max();
    let mut text = String::new();
    for (line, origin) in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line:<width$}  # {origin}", width = width.unwrap_or(0));
    }
    let _ = writeln!(text, "# not set: {}", unset.join(", "));
    text
}
