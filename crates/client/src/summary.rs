//! Summaries: numbers, histograms and graphs in event files that TensorBoard reads.

use std::fmt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use tensorfleet_tensor::{DType, PartialShape, Result, Tensor, invalid_argument};

use crate::convert::IntoTensor;
use crate::graph::Graph;
use crate::output::{Operand, Operation, Output};
use crate::session::{Session, SessionOptions};

/// A node that makes a summary of a number, to be fetched and given to [`SummaryWriter::add`].
///
/// ```
/// use tensorfleet_client::{Bytes, Graph, Session, summary};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let node = summary::scalar("loss", &graph.constant(0.5f32));
/// let event = Session::new(&graph)?.run((), node.value::<Bytes>())?;
/// assert!(!event.is_empty());
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn scalar(tag: &str, value: &Output) -> Output {
    value
        .graph()
        .op("ScalarSummary")
        .input(tag.to_output(value.graph(), None))
        .input(value)
        .output()
}

/// A node that makes a summary of how the elements of a tensor are spread.
///
/// ```
/// use tensorfleet_client::{Bytes, Graph, Session, summary};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let node = summary::histogram("weights", &graph.constant([0.5f32, 1.0]));
/// let event = Session::new(&graph)?.run((), node.value::<Bytes>())?;
/// assert!(!event.is_empty());
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn histogram(tag: &str, values: &Output) -> Output {
    let graph = values.graph();
    graph.op("HistogramSummary").input(tag.to_output(graph, None)).input(values).output()
}

/// A node that makes one summary of several.
///
/// ```
/// use tensorfleet_client::{Bytes, Graph, Session, summary};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let loss = graph.constant(0.5f32);
/// let parts = [summary::scalar("loss", &loss), summary::histogram("losses", &loss)];
/// let both = summary::merge(&graph, &parts);
/// let event = Session::new(&graph)?.run((), both.value::<Bytes>())?;
/// assert!(!event.is_empty());
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn merge<'a>(graph: &Graph, summaries: impl IntoIterator<Item = &'a Output>) -> Output {
    graph.op("MergeSummary").inputs(summaries).output()
}

/// Writes an event file into a directory.
///
/// ```
/// use tensorfleet_client::summary::SummaryWriter;
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("summary-{}", std::process::id()));
/// let writer = SummaryWriter::create(&directory)?;
/// for step in 0..10 {
///     writer.scalar("loss", step, 1.0 / (step + 1) as f32)?;
/// }
/// writer.flush()?;
/// # assert_eq!(std::fs::read_dir(&directory).map(Iterator::count).ok(), Some(1));
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
pub struct SummaryWriter {
    /// The ops of the library write the file, in a session of the writer's own.
    session: Session,
    step: Output,
    tag: Output,
    value: Output,
    values: Output,
    summary: Output,
    write_scalar: Operation,
    write_histogram: Operation,
    write_summary: Operation,
    flush: Operation,
}

impl fmt::Debug for SummaryWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SummaryWriter").finish_non_exhaustive()
    }
}

impl SummaryWriter {
    /// Begins a new file in a directory, which is made if it is not there.
    ///
    /// ```
    /// use tensorfleet_client::summary::SummaryWriter;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("writer-create-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let writer = SummaryWriter::create(&directory)?;
    /// assert_eq!(std::fs::read_dir(&directory).map(Iterator::count).ok(), Some(1));
    /// # drop(writer);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn create(directory: impl AsRef<Path>) -> Result<SummaryWriter> {
        let directory = directory.as_ref();
        let Some(path) = directory.to_str() else {
            return Err(invalid_argument!("the path {} is not UTF-8", directory.display()));
        };
        let graph = Graph::new();
        let writer = graph.op("SummaryWriter").attr("shared_name", "writer").output();
        let step = graph.placeholder::<i64>([]);
        let text = || graph.placeholder_of(DType::String, PartialShape::scalar());
        let (tag, summary) = (text(), text());
        let value = graph.placeholder::<f32>([]);
        let values = graph.placeholder_of(DType::Float, PartialShape::UNKNOWN);
        let write = |op: &str| graph.op(op).input(&writer).input(&step);
        // Two writers of one process may begin in the same second.
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let suffix = graph.constant(format!(".{:09}", time.subsec_nanos()));
        let create = graph
            .op("CreateSummaryFileWriter")
            .input(&writer)
            .input(path)
            .input(10i32)
            .input(120_000i32)
            .input(suffix)
            .build();
        let write_scalar = write("WriteScalarSummary").input(&tag).input(&value).build();
        let write_histogram = write("WriteHistogramSummary").input(&tag).input(&values).build();
        let write_summary = write("WriteRawProtoSummary").input(&summary).build();
        let flush = graph.op("FlushSummaryWriter").input(&writer).build();
        let session = Session::in_process(&graph, &SessionOptions::default().threads(1))?;
        session.run((), &create)?;
        Ok(SummaryWriter {
            session,
            step,
            tag,
            value,
            values,
            summary,
            write_scalar,
            write_histogram,
            write_summary,
            flush,
        })
    }

    /// Writes a number.
    ///
    /// ```
    /// use tensorfleet_client::summary::SummaryWriter;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("writer-scalar-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let writer = SummaryWriter::create(&directory)?;
    /// writer.scalar("loss", 1, 0.5)?;
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn scalar(&self, tag: &str, step: i64, value: f32) -> Result<()> {
        let feeds = ((&self.step, step), (&self.tag, tag), (&self.value, value));
        self.session.run(feeds, &self.write_scalar)
    }

    /// Writes how values are spread.
    ///
    /// ```
    /// use tensorfleet_client::summary::SummaryWriter;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("writer-histogram-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let writer = SummaryWriter::create(&directory)?;
    /// writer.histogram("weights", 1, vec![0.5f32, 1.0, 1.5])?;
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn histogram(&self, tag: &str, step: i64, values: impl IntoTensor) -> Result<()> {
        let feeds = ((&self.step, step), (&self.tag, tag), (&self.values, values.into_tensor()?));
        self.session.run(feeds, &self.write_histogram)
    }

    /// Writes what a summary node of a graph made, such as [`scalar`].
    ///
    /// ```
    /// use tensorfleet_client::summary::SummaryWriter;
    /// use tensorfleet_client::{Graph, Session, summary};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("writer-add-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let writer = SummaryWriter::create(&directory)?;
    /// let graph = Graph::new();
    /// let loss = summary::scalar("loss", &graph.constant(0.5f32));
    /// writer.add(1, Session::new(&graph)?.run((), &loss)?)?;
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn add(&self, step: i64, summary: Tensor) -> Result<()> {
        self.session.run(((&self.step, step), (&self.summary, summary)), &self.write_summary)
    }

    /// Lets readers see what was written.
    ///
    /// ```
    /// use tensorfleet_client::summary::SummaryWriter;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("writer-flush-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let writer = SummaryWriter::create(&directory)?;
    /// writer.scalar("loss", 1, 0.5)?;
    /// writer.flush()?;
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn flush(&self) -> Result<()> {
        self.session.run((), &self.flush)
    }
}

impl Drop for SummaryWriter {
    fn drop(&mut self) {
        // Who needs to know calls `flush`.
        let _ = self.flush();
    }
}
