//! `tensorfleet snapshot`: what is in a data directory, as a checkpoint and the other way.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tensorfleet_checkpoint::{Checkpoint, FileSystem, SchemeFileSystem, bundle};
use tensorfleet_journal::{Contents, KeptResource, KeptVariable, fill};
use tensorfleet_tensor::{Result, Tensor, failed_precondition, not_found};

use crate::cli::{Output, SnapshotCommand};
use crate::status;
use crate::table::aligned;

/// TensorFlow's name of the type of all tables.
const TABLE: &str = "N10tensorflow6lookup15LookupInterfaceE";

/// Carries a command out. Returns what to show.
pub(crate) fn run(command: &SnapshotCommand) -> Result<String> {
    let registry = tensorfleet_ops::library();
    match command {
        SnapshotCommand::Save { target } => {
            let number = status::save_snapshot(target)?;
            Ok(format!("{target}: everything up to record {number} is in a snapshot\n"))
        }
        SnapshotCommand::Ls { directory, output } => {
            Ok(list(&Contents::read(directory, &registry)?, *output))
        }
        SnapshotCommand::Verify { directory } => {
            let contents = Contents::read(directory, &registry)?;
            Ok(format!(
                "{}: everything up to record {} can be read: {} variables and {} other resources, {} changes \
                 after the snapshot, {} unfinished steps left out\n",
                contents.task,
                contents.last,
                contents.variables.len(),
                contents.resources.len(),
                contents.changes,
                contents.unfinished
            ))
        }
        SnapshotCommand::Export { directory, prefix, container } => {
            let contents = Contents::read(directory, &registry)?;
            export(&contents, prefix, container.as_deref())
        }
        SnapshotCommand::Import { prefix, directory, job, task, by_reference, names } => {
            let files: Arc<dyn FileSystem> = Arc::new(SchemeFileSystem::default());
            let checkpoint =
                Checkpoint::open(files, prefix.strip_suffix(".index").unwrap_or(prefix))?;
            let wanted = wanted(&checkpoint, names)?;
            let variables = wanted.into_iter().map(|(name, dtype)| {
                let value = checkpoint.restore(&name, "", dtype)?;
                Ok((name, value))
            });
            let name = format!("/job:{job}/replica:0/task:{task}");
            let count = fill(directory, (&name, job), &registry, *by_reference, variables)?;
            Ok(format!("{}: {count} variables of {name}\n", directory.display()))
        }
    }
}

fn list(contents: &Contents, output: Output) -> String {
    let kind =
        |variable: &KeptVariable| if variable.by_reference { "reference" } else { "variable" };
    if output == Output::Json {
        let variable = |kept: &KeptVariable| {
            json!({
                "name": kept.name, "container": kept.container, "device": kept.device,
                "kind": kind(kept), "dtype": kept.value.dtype().to_string(),
                "shape": kept.value.dims(),
            })
        };
        let resource = |kept: &KeptResource| {
            json!({
                "name": kept.name, "container": kept.container, "device": kept.device,
                "type": kept.type_name,
            })
        };
        let files = contents.files.iter().map(|(name, len)| json!({"name": name, "bytes": len}));
        let object = json!({
            "task": contents.task,
            "files": files.collect::<Vec<Value>>(),
            "snapshot": contents.snapshot,
            "last": contents.last,
            "changes": contents.changes,
            "unfinished": contents.unfinished,
            "variables": contents.variables.iter().map(variable).collect::<Vec<Value>>(),
            "resources": contents.resources.iter().map(resource).collect::<Vec<Value>>(),
        });
        return format!("{object:#}\n");
    }
    let mut rows = vec![["NAME", "CONTAINER", "KIND", "TYPE", "SHAPE"].map(str::to_owned).to_vec()];
    for kept in &contents.variables {
        let KeptVariable { name, container, value, .. } = kept;
        let (dtype, shape) = (value.dtype().to_string(), value.shape().to_string());
        rows.push(vec![name.clone(), container.clone(), kind(kept).to_owned(), dtype, shape]);
    }
    for kept in &contents.resources {
        let (kind, none) = (words(kept.type_name).to_owned(), String::new());
        rows.push(vec![kept.name.clone(), kept.container.clone(), kind, none.clone(), none]);
    }
    let bytes: u64 = contents.files.iter().map(|(_, len)| len).sum();
    let snapshot = match contents.snapshot {
        Some(number) => format!("a snapshot of record {number}"),
        None => "no snapshot".to_owned(),
    };
    format!(
        "{}: {bytes} bytes, {snapshot}, up to record {}\n{}",
        contents.task,
        contents.last,
        aligned(&rows)
    )
}

/// A type of resources in a word.
fn words(type_name: &str) -> &str {
    match type_name {
        TABLE => "table",
        "N10tensorflow14QueueInterfaceE" => "queue",
        "N10tensorflow26ConditionalAccumulatorBaseE" => "accumulator",
        "N10tensorflow7barrier7BarrierE" => "barrier",
        other => other,
    }
}

/// The tensors of a checkpoint that make a data directory: variables by their names, tables as
/// TensorFlow's savers name them.
fn tensors(
    contents: &Contents,
    container: Option<&str>,
) -> Result<(BTreeMap<String, Tensor>, usize)> {
    let is_wanted = |have: &str| container.is_none_or(|container| container == have);
    let (mut tensors, mut left_out) = (BTreeMap::new(), 0);
    let mut add = |name: String, tensor: &Tensor| match tensors.insert(name.clone(), tensor.clone())
    {
        None => Ok(()),
        Some(_) => Err(failed_precondition!(
            "there are two of {name}, in different containers or on different devices, or by reference \
             and not: choose one by --container"
        )),
    };
    for kept in contents.variables.iter().filter(|kept| is_wanted(&kept.container)) {
        add(kept.name.clone(), &kept.value)?;
    }
    for kept in contents.resources.iter().filter(|kept| is_wanted(&kept.container)) {
        match (kept.type_name, &kept.events[..]) {
            (TABLE, [event]) if event.tensors.len() == 2 => {
                add(format!("{}-keys", kept.name), &event.tensors[0])?;
                add(format!("{}-values", kept.name), &event.tensors[1])?;
            }
            (TABLE, []) => {}
            _ => left_out += 1,
        }
    }
    Ok((tensors, left_out))
}

fn export(contents: &Contents, prefix: &str, container: Option<&str>) -> Result<String> {
    let (tensors, left_out) = tensors(contents, container)?;
    if tensors.is_empty() {
        return Err(not_found!("there are no variables and no tables to write"));
    }
    let files: Arc<dyn FileSystem> = Arc::new(SchemeFileSystem::default());
    let mut writer = bundle::Writer::new(files, prefix)?;
    for (name, tensor) in &tensors {
        writer.add(name, tensor)?;
    }
    writer.finish()?;
    let rest = match left_out {
        0 => String::new(),
        count => {
            format!("; {count} queues, accumulators and barriers have no place in a checkpoint")
        }
    };
    Ok(format!("{prefix}: {} tensors{rest}\n", tensors.len()))
}

/// The tensors of a checkpoint that are asked for, all if none is named.
fn wanted(
    checkpoint: &Checkpoint,
    names: &[String],
) -> Result<Vec<(String, tensorfleet_tensor::DType)>> {
    let all = checkpoint.tensors()?;
    if let Some(missing) = names.iter().find(|name| !all.iter().any(|(have, ..)| have == *name)) {
        return Err(not_found!("the checkpoint has no tensor {missing}"));
    }
    let is_wanted = |name: &String| names.is_empty() || names.contains(name);
    let wanted = all.into_iter().filter(|(name, ..)| is_wanted(name));
    Ok(wanted.map(|(name, dtype, _)| (name, dtype)).collect())
}
