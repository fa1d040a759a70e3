//! Where examples come from.

use std::path::Path;

use tensorfleet_ops::record::{Compression, RecordReader, Stream};
use tensorfleet_ops::rows;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

/// The rows of tensors that are in memory, side by side.
///
/// ```
/// use tensorfleet_client::IntoTensor;
/// use tensorfleet_client::data::TensorRows;
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let images = [[1.0f32, 2.0], [3.0, 4.0]].into_tensor()?;
/// let labels = [7i64, 9].into_tensor()?;
/// let row = TensorRows::new([images, labels])?.nth(1).expect("there are two rows")?;
/// assert_eq!(row[0].values::<f32>()?, [3.0, 4.0]);
/// assert_eq!(row[1].scalar_value::<i64>()?, 9);
///
/// // Over and over, as training for several epochs does.
/// let rows = TensorRows::new([[1i64, 2, 3].into_tensor()?])?;
/// assert_eq!(rows.cycle().take(7).count(), 7);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TensorRows {
    columns: Vec<Tensor>,
    next: usize,
    count: usize,
}

impl TensorRows {
    /// Goes through the first dimension of tensors, which must be equally long.
    ///
    /// ```
    /// use tensorfleet_client::IntoTensor;
    /// use tensorfleet_client::data::TensorRows;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let column = vec![1i64, 2, 3].into_tensor()?;
    /// assert_eq!(TensorRows::new([column.clone()])?.count(), 3);
    /// let longer = vec![1i64, 2, 3, 4].into_tensor()?;
    /// assert!(TensorRows::new([column, longer]).is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(columns: impl IntoIterator<Item = Tensor>) -> Result<TensorRows> {
        let columns: Vec<Tensor> = columns.into_iter().collect();
        let lengths: Vec<Option<usize>> =
            columns.iter().map(|column| column.dims().first().copied()).collect();
        match lengths.first() {
            Some(Some(count)) if lengths.iter().all(|length| *length == Some(*count)) => {
                Ok(TensorRows { count: *count, columns, next: 0 })
            }
            _ => {
                let shapes: Vec<String> = columns.iter().map(|c| c.shape().to_string()).collect();
                Err(invalid_argument!(
                    "rows need tensors of one length, not of shapes {}",
                    shapes.join(", ")
                ))
            }
        }
    }
}

impl Iterator for TensorRows {
    type Item = Result<Vec<Tensor>>;

    fn next(&mut self) -> Option<Result<Vec<Tensor>>> {
        let row = Some(self.next).filter(|row| *row < self.count)?;
        self.next += 1;
        Some(self.columns.iter().map(|column| rows::row(column, row)).collect())
    }
}

fn open(path: &Path, compression: &str) -> Result<Stream> {
    let Some(compression) = Compression::parse(compression.as_bytes()) else {
        return Err(invalid_argument!("there is no compression {compression:?}"));
    };
    let Some(path) = path.to_str() else {
        return Err(invalid_argument!("the path {} is not UTF-8", path.display()));
    };
    Stream::open(&*tensorfleet_files::all_files(), path, compression, None)
}

/// The records of a TFRecord file.
///
/// ```
/// use tensorfleet_client::Result;
/// use tensorfleet_client::data::Records;
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # use tensorfleet_client::{Graph, Session, ops};
/// # let path = std::env::temp_dir().join(format!("records-doc-{}", std::process::id()));
/// # let graph = Graph::new();
/// # let file = [path.display().to_string()];
/// # let elements = graph.op("TensorSliceDataset").inputs([["one", "two"]]);
/// # let elements = elements.attr("output_shapes", tensorfleet_client::AttrValue::from(vec![
/// #     tensorfleet_client::PartialShape::scalar()])).output();
/// # let [file] = file;
/// # let write = graph.op("DatasetToTFRecord").input(&elements).input(file.as_str()).input("");
/// # Session::new(&graph)?.run((), &write.build())?;
/// let records: Vec<Vec<u8>> = Records::open(&path)?.collect::<Result<_>>()?;
/// assert_eq!(records, [b"one", b"two"]);
/// # std::fs::remove_file(&path).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Records {
    reader: RecordReader,
    is_broken: bool,
}

impl Records {
    /// Reads a file.
    ///
    /// ```
    /// use tensorfleet_client::Code;
    /// use tensorfleet_client::data::Records;
    ///
    /// let missing = Records::open("/no/such/file").unwrap_err();
    /// assert_eq!(missing.code(), Code::NotFound);
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Records> {
        Records::open_compressed(path, "")
    }

    /// Reads a file that is compressed: `"GZIP"`, `"ZLIB"`, or `""` for none.
    ///
    /// ```
    /// use tensorfleet_client::data::Records;
    ///
    /// let wrong = Records::open_compressed("/no/such/file", "LZ4").unwrap_err();
    /// assert_eq!(wrong.message(), "there is no compression \"LZ4\"");
    /// ```
    pub fn open_compressed(path: impl AsRef<Path>, compression: &str) -> Result<Records> {
        let stream = open(path.as_ref(), compression)?;
        Ok(Records { reader: RecordReader::new(stream), is_broken: false })
    }
}

impl Iterator for Records {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        if self.is_broken {
            return None;
        }
        let record = self.reader.read().transpose();
        // Behind a broken record nothing can be found any more.
        self.is_broken = matches!(record, Some(Err(_)));
        record
    }
}

/// The fields of the lines of a CSV file: separated by commas, in quotes where they hold one.
///
/// ```
/// use tensorfleet_client::Result;
/// use tensorfleet_client::data::Csv;
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let path = std::env::temp_dir().join(format!("csv-doc-{}", std::process::id()));
/// std::fs::write(&path, "name,size\n\"Lovelace, Ada\",3\n").expect("it can be written");
/// let rows: Vec<Vec<String>> = Csv::open(&path, true)?.collect::<Result<_>>()?;
/// assert_eq!(rows, [["Lovelace, Ada", "3"]]);
/// # std::fs::remove_file(&path).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Csv {
    stream: Stream,
    line: usize,
}

impl Csv {
    /// Reads a file. The first line is a header if `has_header`, and is then passed over.
    ///
    /// ```
    /// use tensorfleet_client::data::Csv;
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let path = std::env::temp_dir().join(format!("csv-open-{}", std::process::id()));
    /// std::fs::write(&path, "1,2\n3,4\n").expect("it can be written");
    /// assert_eq!(Csv::open(&path, false)?.count(), 2);
    /// assert_eq!(Csv::open(&path, true)?.count(), 1);
    /// # std::fs::remove_file(&path).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(path: impl AsRef<Path>, has_header: bool) -> Result<Csv> {
        let mut csv = Csv { stream: open(path.as_ref(), "")?, line: 0 };
        if has_header {
            csv.next().transpose()?;
        }
        Ok(csv)
    }

    fn read(&mut self) -> Result<Option<Vec<String>>> {
        let mut text = String::new();
        loop {
            let Some(line) = self.stream.line()? else {
                if text.is_empty() {
                    return Ok(None);
                }
                return Err(invalid_argument!("line {}: a quoted field does not end", self.line));
            };
            self.line += 1;
            let line = String::from_utf8(line)
                .map_err(|_| invalid_argument!("line {} is not UTF-8", self.line))?;
            text.push_str(line.strip_suffix('\r').unwrap_or(&line));
            // Inside of quotes a field goes on in the next line.
            if text.matches('"').count().is_multiple_of(2) {
                return split(&text, self.line).map(Some);
            }
            text.push('\n');
        }
    }
}

impl Iterator for Csv {
    type Item = Result<Vec<String>>;

    fn next(&mut self) -> Option<Result<Vec<String>>> {
        self.read().transpose()
    }
}

/// The fields of a line; two quotes inside of quotes are one.
fn split(text: &str, line: usize) -> Result<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
            Some(quoted) => {
                let mut field = String::new();
                let mut left = quoted;
                loop {
                    let Some((before, after)) = left.split_once('"') else {
                        return Err(invalid_argument!("line {line}: a quoted field does not end"));
                    };
                    field.push_str(before);
                    left = after;
                    match left.strip_prefix('"') {
                        Some(after) => {
                            field.push('"');
                            left = after;
                        }
                        None => break,
                    }
                }
                (field, left)
            }
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(fields),
            None => {
                return Err(invalid_argument!("line {line}: text follows a quoted field"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorfleet_ops::record::RecordWriter;

    fn temporary(name: &str, content: &[u8]) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("tensorfleet-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        path
    }

    #[test]
    fn records_come_back_until_one_is_broken() {
        let mut writer = RecordWriter::new(Vec::new());
        writer.write(b"one").unwrap();
        writer.write(b"two").unwrap();
        let mut content = writer.into_inner();
        let path = temporary("records", &content);
        let records: Vec<_> = Records::open(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(records, [b"one", b"two"]);
        // A bit of the last record's data.
        let at = content.len() - 5;
        content[at] ^= 1;
        std::fs::write(&path, &content).unwrap();
        let records: Vec<_> = Records::open(&path).unwrap().collect();
        assert!(records[0].is_ok() && records[1].is_err() && records.len() == 2);
        std::fs::remove_file(path).unwrap();
        assert!(Records::open("/nowhere/at/all").is_err());
    }

    #[test]
    fn quotes_hold_commas_and_lines() {
        let path = temporary("table", b"name,text\r\na,\"x, \"\"y\"\"\nz\"\n,\nb,1\n");
        let rows: Vec<_> = Csv::open(&path, true).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows, [vec!["a", "x, \"y\"\nz"], vec!["", ""], vec!["b", "1"]]);
        std::fs::write(&path, "a,\"b\n").unwrap();
        let error = Csv::open(&path, false).unwrap().next().unwrap().unwrap_err();
        assert_eq!(error.message(), "line 1: a quoted field does not end");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn columns_must_be_equally_long() {
        let column = |n: usize| Tensor::vector(&vec![1.0f32; n]).unwrap();
        assert_eq!(TensorRows::new([column(3), column(3)]).unwrap().count(), 3);
        assert!(TensorRows::new([column(3), column(2)]).is_err());
        assert!(TensorRows::new([Tensor::scalar(1.0f32)]).is_err());
        assert!(TensorRows::new([]).is_err());
    }
}
