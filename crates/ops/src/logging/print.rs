//! Text for people: `Print`, `PrintV2` and `StringFormat`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_tensor::{Code, Error, Result, Tensor, invalid_argument};

use super::summarize;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Print",
        inputs: &["input: T", "data: U"],
        outputs: &["output: T"],
        attrs: &[
            "T: type",
            "U: list(type) >= 0",
            "message: string = ''",
            "first_n: int = -1",
            "summarize: int = 3",
        ],
        stateful: true,
        kernels: &[cpu::<Print>()],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "PrintV2",
        inputs: &["input: string"],
        attrs: &["output_stream: string = 'stderr'", "end: string = '\n'"],
        stateful: true,
        kernels: &[cpu::<PrintV2>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StringFormat",
        inputs: &["inputs: T"],
        outputs: &["output: string"],
        attrs: &[
            "T: list(type) >= 0",
            "template: string = '%s'",
            "placeholder: string = '%s'",
            "summarize: int = 3",
        ],
        kernels: &[cpu::<StringFormat>()],
        ..Op::DEFAULT
    },
];

/// Prints on the server's standard error, for the first `first_n` steps or for all.
#[derive(Debug)]
struct Print {
    message: String,
    first_n: i64,
    summarize: i64,
    printed: AtomicI64,
}

impl Kernel for Print {
    fn new(attrs: &Attrs<'_>) -> Result<Print> {
        Ok(Print {
            message: attrs.string("message")?.into_owned(),
            first_n: attrs.int("first_n")?,
            summarize: attrs.int("summarize")?,
            printed: AtomicI64::new(0),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let is_due = self.first_n < 0
            || self.printed.fetch_add(1, Ordering::Relaxed).checked_sub(self.first_n) < Some(0);
        if is_due {
            let mut text = self.message.clone();
            for data in ctx.input_list(1..ctx.num_inputs())? {
                text += &format!("[{}]", summarize::in_line(data, self.summarize));
            }
            text.push('\n');
            write_whole(io::stderr().lock(), text.as_bytes());
        }
        let passed_on = ctx.value(0)?.clone();
        ctx.set_value(0, passed_on);
        Ok(())
    }
}

#[derive(Debug)]
struct PrintV2 {
    stream: Stream,
    end: Bytes,
}

#[derive(Debug)]
enum Stream {
    Stdout,
    /// Standard error; a log's lines start with the letter of their severity.
    Stderr(&'static str),
    File(PathBuf),
}

impl Stream {
    fn named(name: &str) -> Result<Stream> {
        Ok(match name {
            "stdout" => Stream::Stdout,
            "stderr" => Stream::Stderr(""),
            "log(info)" => Stream::Stderr("I "),
            "log(warning)" => Stream::Stderr("W "),
            "log(error)" => Stream::Stderr("E "),
            _ => match name.strip_prefix("file://") {
                Some(path) => Stream::File(path.into()),
                None => {
                    return Err(invalid_argument!(
                        "Unknown output stream: {name}, Valid streams are: stdout stderr log(info) \
                         log(warning) log(error)"
                    ));
                }
            },
        })
    }

    fn write(&self, text: &[u8]) -> Result<()> {
        match self {
            Stream::Stdout => write_whole(io::stdout().lock(), text),
            Stream::Stderr(prefix) => {
                write_whole(io::stderr().lock(), &[prefix.as_bytes(), text].concat());
            }
            Stream::File(path) => OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(text))
                .map_err(|error| file_error(path, &error))?,
        }
        Ok(())
    }
}

fn file_error(path: &std::path::Path, error: &io::Error) -> Error {
    let (code, reason) = match error.kind() {
        io::ErrorKind::NotFound => (Code::NotFound, "No such file or directory".to_owned()),
        io::ErrorKind::PermissionDenied => (Code::PermissionDenied, "Permission denied".to_owned()),
        _ => (Code::Unknown, error.to_string()),
    };
    Error::new(code, format!("{}; {reason}", path.display()))
}

/// Writes in one piece, so that lines of several steps do not mix. Nobody may be listening any
/// more; that is no reason to fail a step.
fn write_whole(mut stream: impl Write, text: &[u8]) {
    let _ = stream.write_all(text).and_then(|()| stream.flush());
}

impl Kernel for PrintV2 {
    fn new(attrs: &Attrs<'_>) -> Result<PrintV2> {
        let stream = Stream::named(&attrs.string("output_stream")?)?;
        Ok(PrintV2 { stream, end: attrs.bytes("end")?.clone() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        match input.strings()? {
            [text] if input.shape().is_scalar() => {
                self.stream.write(&[text.as_ref(), self.end.as_ref()].concat())
            }
            _ => {
                Err(invalid_argument!("Input is expected to be scalar, but got {}", input.shape()))
            }
        }
    }

    fn blocks(&self) -> bool {
        matches!(self.stream, Stream::File(_))
    }
}

/// Fills the placeholders of a template with tensors.
#[derive(Debug)]
struct StringFormat {
    /// What stands before, between and after the placeholders.
    pieces: Vec<String>,
    summarize: i64,
}

impl Kernel for StringFormat {
    fn new(attrs: &Attrs<'_>) -> Result<StringFormat> {
        let (template, placeholder) = (attrs.string("template")?, attrs.string("placeholder")?);
        let pieces: Vec<String> = template.split(placeholder.as_ref()).map(str::to_owned).collect();
        let inputs = attrs.dtypes("T")?.len();
        if pieces.len() != inputs + 1 {
            return Err(invalid_argument!(
                "num placeholders in template and num inputs must match: {} vs. {inputs}",
                pieces.len() - 1
            ));
        }
        Ok(StringFormat { pieces, summarize: attrs.int("summarize")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut text = self.pieces[0].clone();
        for (index, piece) in self.pieces[1..].iter().enumerate() {
            text += &summarize::in_lines(ctx.input(index)?, self.summarize);
            text += piece;
        }
        ctx.set_output(0, Tensor::string(text));
        Ok(())
    }
}

/// What is printed does not matter.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let mut gradients = only(g.grad(0)?)?;
    gradients.resize(g.num_inputs(), None);
    Ok(gradients)
}

#[cfg(test)]
mod tests {
    use tensorfleet_graph::{AttrList, AttrValue};
    use tensorfleet_tensor::DType;
    use tensorfleet_testing::OpRun;

    use super::*;

    fn text(value: &str) -> AttrValue {
        AttrValue::String(value.to_owned().into())
    }

    #[test]
    fn templates_are_filled() {
        let format = |template: &str| {
            OpRun::new("StringFormat")
                .attr("T", AttrValue::List(AttrList::Types(vec![DType::Int32, DType::String])))
                .attr("template", text(template))
                .attr("placeholder", text("{}"))
                .input(Tensor::vector(&[1, 2]).unwrap())
                .input(Tensor::string("ab"))
                .run(&crate::registry().unwrap())
        };
        assert_eq!(format("a{}b{}").unwrap()[0].strings().unwrap(), ["a[1 2]b\"ab\""]);
        assert!(
            format("a")
                .unwrap_err()
                .message()
                .starts_with("num placeholders in template and num inputs must match: 0 vs. 2")
        );
    }

    #[test]
    fn lines_are_appended_to_files() {
        let path = std::env::temp_dir().join(format!("print-{}.txt", std::process::id()));
        let stream = format!("file://{}", path.display());
        for line in ["one", "two"] {
            OpRun::new("PrintV2")
                .attr("output_stream", text(&stream))
                .input(Tensor::string(line))
                .run(&crate::registry().unwrap())
                .unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(written, "one\ntwo\n");
        assert!(Stream::named("nowhere").is_err());
    }
}
