//! Text for people: `Print`, `PrintV2` and `StringFormat`.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, StepContext, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

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
            write_whole(io::stderr().lock(), &as_printed(ctx.step(), text.as_bytes()));
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
    File(String),
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
                Some(path) => Stream::File(path.to_owned()),
                None => {
                    return Err(invalid_argument!(
                        "Unknown output stream: {name}, Valid streams are: stdout stderr log(info) \
                         log(warning) log(error)"
                    ));
                }
            },
        })
    }

    fn write(&self, step: &StepContext, text: &[u8]) -> Result<()> {
        match self {
            Stream::Stdout => write_whole(io::stdout().lock(), &as_printed(step, text)),
            Stream::Stderr(prefix) => {
                let text = [prefix.as_bytes(), text].concat();
                write_whole(io::stderr().lock(), &as_printed(step, &text));
            }
            Stream::File(path) => {
                let mut file = step.files().append(path)?;
                file.append(text)?;
                file.flush()?;
            }
        }
        Ok(())
    }
}

/// What is printed, where need be so that no line of it looks like one of the server's log, and nothing in
/// it steers a terminal.
fn as_printed<'a>(step: &StepContext, text: &'a [u8]) -> Cow<'a, [u8]> {
    if step.policy.as_ref().is_some_and(|policy| policy.marks_prints()) {
        Cow::Owned(marked(text))
    } else {
        Cow::Borrowed(text)
    }
}

fn marked(text: &[u8]) -> Vec<u8> {
    let mut marked = Vec::with_capacity(text.len() + MARK.len());
    for line in text.strip_suffix(b"\n").unwrap_or(text).split(|&byte| byte == b'\n') {
        marked.extend_from_slice(MARK);
        for &byte in line {
            match byte {
                b'\t' | b' '..=b'~' | 0x80.. => marked.push(byte),
                _ => marked.extend(byte.escape_ascii()),
            }
        }
        marked.push(b'\n');
    }
    marked
}

/// What stands before lines that ops print where clients are not trusted.
const MARK: &[u8] = b"printed: ";

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
                let text = [text.as_ref(), self.end.as_ref()].concat();
                self.stream.write(ctx.step(), &text)
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
    fn nobody_forges_lines_of_the_log() {
        let text = b"innocent\n2026-01-01T00:00:00Z  INFO all is well\r\x1b[2Kx\ty\n";
        let marked = String::from_utf8(marked(text)).unwrap();
        let lines: Vec<&str> = marked.lines().collect();
        assert_eq!(
            lines,
            ["printed: innocent", "printed: 2026-01-01T00:00:00Z  INFO all is well\\r\\x1b[2Kx\ty"]
        );
        assert_eq!(super::marked(b"no end"), b"printed: no end\n");
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
