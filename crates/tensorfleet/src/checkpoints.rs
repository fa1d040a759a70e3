//! `tensorfleet checkpoint`: what is in a checkpoint, and whether all of it can be read.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tensorfleet_checkpoint::{Checkpoint, FileSystem, LocalFileSystem};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, not_found, unimplemented_error};

use crate::cli::{CheckpointCommand, Output, report};
use crate::nearest::nearest;
use crate::table::aligned;

/// Work that takes longer tells how far it is.
const LONG: Duration = Duration::from_secs(2);

/// Carries a command out. Returns what to show, and the exit code: 1 for a checkpoint that differs or
/// is damaged.
pub(crate) fn run(command: &CheckpointCommand) -> Result<(String, u8)> {
    match command {
        CheckpointCommand::Ls { prefix, output } => Ok((list(&open(prefix)?, *output)?, 0)),
        CheckpointCommand::Cat { prefix, name, limit, output } => {
            Ok((show(&open(prefix)?, name, *limit, *output)?, 0))
        }
        CheckpointCommand::Diff { one, other, output } => {
            let findings = differences(&open(one)?, &open(other)?)?;
            Ok((told(&findings, "the checkpoints are equal", *output), code(&findings)))
        }
        CheckpointCommand::Verify { prefix, output } => {
            let findings = damages(&open(prefix)?)?;
            Ok((told(&findings, "all tensors can be read", *output), code(&findings)))
        }
    }
}

/// A tensor and what is to be said of it.
type Finding = (String, String);

fn code(findings: &[Finding]) -> u8 {
    u8::from(!findings.is_empty())
}

fn told(findings: &[Finding], nothing: &str, output: Output) -> String {
    match output {
        Output::Json => {
            let object = |(name, text): &Finding| json!({"tensor": name, "finding": text});
            format!("{:#}\n", Value::Array(findings.iter().map(object).collect()))
        }
        Output::Text if findings.is_empty() => format!("{nothing}\n"),
        Output::Text => findings.iter().map(|(name, text)| format!("{name}: {text}\n")).collect(),
    }
}

fn open(prefix: &str) -> Result<Checkpoint> {
    let files: Arc<dyn FileSystem> = Arc::new(LocalFileSystem);
    // What shells complete is the name of a file.
    Checkpoint::open(files, prefix.strip_suffix(".index").unwrap_or(prefix))
}

fn list(checkpoint: &Checkpoint, output: Output) -> Result<String> {
    let tensors = checkpoint.tensors()?;
    if output == Output::Json {
        let object = |(name, dtype, shape): &(String, DType, Shape)| json!({"name": name, "dtype": dtype.to_string(), "shape": shape.dims()});
        return Ok(format!("{:#}\n", Value::Array(tensors.iter().map(object).collect())));
    }
    let mut rows = vec![["TENSOR", "TYPE", "SHAPE", "BYTES"].map(str::to_owned).to_vec()];
    rows.extend(tensors.into_iter().map(|(name, dtype, shape)| {
        // Texts have no size of their own.
        let bytes = match dtype.size() {
            0 => "-".to_owned(),
            size => (size * shape.num_elements()).to_string(),
        };
        vec![name, dtype.to_string(), shape.to_string(), bytes]
    }));
    Ok(aligned(&rows))
}

fn show(checkpoint: &Checkpoint, name: &str, limit: usize, output: Output) -> Result<String> {
    let tensors = checkpoint.tensors()?;
    let Some((_, dtype, shape)) = tensors.iter().find(|(known, ..)| known == name) else {
        let names = tensors.iter().map(|(name, ..)| name.as_str());
        let hint = nearest(name, names).map(|near| format!("; is it {near}?")).unwrap_or_default();
        return Err(not_found!("the checkpoint has no tensor {name}{hint}"));
    };
    let tensor = checkpoint.restore(name, "", *dtype)?;
    let values = values(&tensor, limit)?;
    if output == Output::Json {
        let (dtype, dims) = (dtype.to_string(), shape.dims());
        let object = json!({"name": name, "dtype": dtype, "shape": dims, "values": values});
        return Ok(format!("{object:#}\n"));
    }
    let mut text = format!("{dtype} {shape}\n");
    for value in &values {
        text.push_str(&format!("{value}\n"));
    }
    let left = tensor.num_elements() - values.len();
    if left > 0 {
        text.push_str(&format!("and {left} more\n"));
    }
    Ok(text)
}

/// The first values of a tensor.
fn values(tensor: &Tensor, limit: usize) -> Result<Vec<Value>> {
    macro_rules! plain {
        ($type:ty) => {
            tensor.values::<$type>()?.iter().take(limit).map(|value| json!(value)).collect()
        };
    }
    Ok(match tensor.dtype() {
        DType::Float => plain!(f32),
        DType::Double => plain!(f64),
        DType::Int32 => plain!(i32),
        DType::Int64 => plain!(i64),
        DType::UInt8 => plain!(u8),
        DType::Bool => plain!(bool),
        DType::String => {
            let texts = tensor.strings()?.iter().take(limit);
            texts.map(|text| json!(String::from_utf8_lossy(text))).collect()
        }
        other => return Err(unimplemented_error!("values of type {other} cannot be shown")),
    })
}

fn differences(one: &Checkpoint, other: &Checkpoint) -> Result<Vec<Finding>> {
    let named = |checkpoint: &Checkpoint| -> Result<BTreeMap<String, (DType, Shape)>> {
        let tensors = checkpoint.tensors()?.into_iter();
        Ok(tensors.map(|(name, dtype, shape)| (name, (dtype, shape))).collect())
    };
    let (ones, others) = (named(one)?, named(other)?);
    let mut findings = Vec::new();
    let mut progress = Progress::new("compared", ones.len());
    for (name, (dtype, shape)) in &ones {
        progress.step();
        let finding = match others.get(name) {
            None => Some("only in the first".to_owned()),
            Some((other_dtype, other_shape)) if (other_dtype, other_shape) != (dtype, shape) => {
                Some(format!("{dtype} {shape} and {other_dtype} {other_shape}"))
            }
            Some(_) => {
                difference(&one.restore(name, "", *dtype)?, &other.restore(name, "", *dtype)?)?
            }
        };
        findings.extend(finding.map(|text| (name.clone(), text)));
    }
    let new = others.keys().filter(|name| !ones.contains_key(*name));
    findings.extend(new.map(|name| (name.clone(), "only in the second".to_owned())));
    Ok(findings)
}

/// How the values of two tensors of one type and shape differ, if they do.
fn difference(one: &Tensor, other: &Tensor) -> Result<Option<String>> {
    if one.dtype() == DType::String {
        let pairs = one.strings()?.iter().zip(other.strings()?);
        let count = pairs.filter(|(one, other)| one != other).count();
        return Ok((count > 0).then(|| format!("{count} texts differ")));
    }
    if one.raw() == other.raw() {
        return Ok(None);
    }
    let size = one.dtype().size().max(1);
    let pairs = one.raw().chunks(size).zip(other.raw().chunks(size));
    let count = pairs.filter(|(one, other)| one != other).count();
    let most = match one.dtype() {
        DType::Float => {
            let pairs = one.values::<f32>()?.iter().zip(other.values::<f32>()?);
            Some(pairs.map(|(a, b)| f64::from((a - b).abs())).fold(0.0, f64::max))
        }
        DType::Double => {
            let pairs = one.values::<f64>()?.iter().zip(other.values::<f64>()?);
            Some(pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max))
        }
        _ => None,
    };
    let most = most.map(|most| format!(", by at most {most:e}")).unwrap_or_default();
    Ok(Some(format!("{count} of {} values differ{most}", one.num_elements())))
}

/// What cannot be read, which includes what does not have its checksum.
fn damages(checkpoint: &Checkpoint) -> Result<Vec<Finding>> {
    let tensors = checkpoint.tensors()?;
    let mut progress = Progress::new("read", tensors.len());
    let mut findings = Vec::new();
    for (name, dtype, _) in tensors {
        progress.step();
        if let Err(error) = checkpoint.restore(&name, "", dtype) {
            findings.push((name, format!("{}: {}", error.code().name(), error.message())));
        }
    }
    Ok(findings)
}

/// Tells people at a terminal how far work is that takes long.
struct Progress {
    what: &'static str,
    done: usize,
    all: usize,
    told: Instant,
}

impl Progress {
    fn new(what: &'static str, all: usize) -> Progress {
        Progress { what, done: 0, all, told: Instant::now() }
    }

    fn step(&mut self) {
        if self.told.elapsed() >= LONG {
            self.told = Instant::now();
            let Progress { what, done, all, .. } = self;
            // Nobody needs to know if it cannot be told.
            let _ = writeln!(report::progress(), "{what} {done} of {all} tensors");
        }
        self.done += 1;
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_checkpoint::bundle::Writer;

    use super::*;

    fn write(prefix: &str, tensors: &[(&str, Tensor)]) {
        let mut writer = Writer::new(Arc::new(LocalFileSystem), prefix).unwrap();
        for (name, tensor) in tensors {
            writer.add(name, tensor).unwrap();
        }
        writer.finish().unwrap();
    }

    fn directory(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn tensors_are_listed_shown_and_compared() {
        let directory = directory("checkpoint-command");
        let (one, other) = (directory.join("one"), directory.join("other"));
        let (one, other) = (one.to_string_lossy(), other.to_string_lossy());
        let weights = |last: f32| ("weights", Tensor::vector(&[1.0f32, last]).unwrap());
        write(&one, &[weights(2.0), ("old", Tensor::scalar(7i64))]);
        write(&other, &[weights(2.5), ("new", Tensor::string("x"))]);
        let list = list(&open(&one).unwrap(), Output::Text).unwrap();
        assert!(list.contains("old      int64  []     8\n"), "{list}");
        assert!(list.contains("weights  float  [2]    8\n"), "{list}");
        let shown = show(&open(&one).unwrap(), "weights", 1, Output::Text).unwrap();
        assert_eq!(shown, "float [2]\n1.0\nand 1 more\n");
        let missing = show(&open(&one).unwrap(), "weigths", 1, Output::Text).unwrap_err();
        assert!(missing.message().ends_with("no tensor weigths; is it weights?"), "{missing}");
        let (one, other) = (open(&one).unwrap(), open(&other).unwrap());
        let found = told(&differences(&one, &other).unwrap(), "", Output::Text);
        let lines = [
            "old: only in the first\n",
            "weights: 1 of 2 values differ, by at most 5e-1\n",
            "new: only in the second\n",
        ];
        assert_eq!(found, lines.concat());
        assert!(differences(&one, &one).unwrap().is_empty());
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn damage_is_found() {
        let directory = directory("checkpoint-damage");
        let prefix = directory.join("model").to_string_lossy().into_owned();
        write(&prefix, &[("weights", Tensor::vector(&[1.0f32; 64]).unwrap())]);
        assert!(damages(&open(&prefix).unwrap()).unwrap().is_empty());
        let data = format!("{prefix}.data-00000-of-00001");
        let mut bytes = std::fs::read(&data).unwrap();
        bytes[17] ^= 1;
        std::fs::write(&data, bytes).unwrap();
        let command =
            CheckpointCommand::Verify { prefix: format!("{prefix}.index"), output: Output::Text };
        let (text, code) = run(&command).unwrap();
        assert_eq!(code, 1);
        assert!(text.starts_with("weights: DATA_LOSS"), "{text}");
        std::fs::remove_dir_all(directory).unwrap();
    }
}
