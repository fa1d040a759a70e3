//! `SqlDataset`: the rows that a query of an SQLite database gives.
//!
//! A statement borrows its connection, and either may wait for the disk, so both live on a thread of
//! their own, which makes a row whenever one is asked for. It ends with the iterator.

use std::sync::{Arc, mpsc};
use std::thread;

use futures_channel::oneshot;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{
    Code, DType, Error, Result, Tensor, dispatch, internal, invalid_argument, try_repeat,
};

use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature, dataset,
};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalSqlDataset",
        inputs: &["driver_name: string", "data_source_name: string", "query: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        stateful: true,
        kernels: &[dataset::<Sql>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SqlDataset",
        inputs: &["driver_name: string", "data_source_name: string", "query: string"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        stateful: true,
        kernels: &[dataset::<Sql>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Sql;

impl MakeDataset for Sql {
    fn new(attrs: &Attrs<'_>) -> Result<Sql> {
        let signature = Signature::new(attrs)?;
        for dtype in &signature.types {
            let is_known = matches!(
                dtype,
                DType::String
                    | DType::Int8
                    | DType::Int16
                    | DType::Int32
                    | DType::Int64
                    | DType::UInt8
                    | DType::UInt16
                    | DType::Bool
                    | DType::Double
            );
            if !is_known {
                return Err(invalid_argument!(
                    "Each element of `output_types_` must be one of: DT_STRING, DT_INT8, DT_INT16, \
                     DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_BOOL, DT_DOUBLE "
                ));
            }
        }
        if signature.shapes.iter().any(|shape| shape.rank() != Some(0)) {
            return Err(invalid_argument!("Each element of `output_shapes_` must be a scalar."));
        }
        Ok(Sql)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let text =
            |index, name| Ok(String::from_utf8_lossy(inputs.string(index, name)?).into_owned());
        let driver = text(0, "driver_name")?;
        if driver != "sqlite" {
            return Err(invalid_argument!(
                "The database type, {driver}, is not supported by SqlDataset. The set of supported \
                 databases is: {{'sqlite'}}."
            ));
        }
        let (source, query) = (text(1, "data_source_name")?, text(2, "query")?);
        Ok(Arc::new(SqlDataset { source, query, signature }))
    }
}

#[derive(Debug)]
struct SqlDataset {
    source: String,
    query: String,
    signature: Signature,
}

impl Dataset for SqlDataset {
    fn kind(&self) -> &str {
        "SQL"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let Signature { types, .. } = &self.signature;
        let query = Query {
            files: scope.files(),
            source: self.source.clone(),
            text: self.query.clone(),
            types: types.clone(),
        };
        Ok(Box::new(Rows { state: State::New(query) }))
    }
}

struct Rows {
    state: State,
}

enum State {
    /// Nobody has asked for a row, so no database is open.
    New(Query),
    Running(mpsc::Sender<Call>),
    Ended,
}

/// Where the answer to the question for a row goes.
type Call = oneshot::Sender<Result<Option<Element>>>;

impl Elements for Rows {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            if let State::New(query) = &self.state {
                self.state = State::Running(query.clone().start()?);
            }
            let State::Running(calls) = &self.state else { return Ok(None) };
            let (call, answer) = oneshot::channel();
            let ended = || internal!("the thread of a query ended unexpectedly");
            calls.send(call).map_err(|_| ended())?;
            let row = answer.await.map_err(|_| ended())?;
            if !matches!(row, Ok(Some(_))) {
                self.state = State::Ended;
            }
            row
        })
    }
}

#[derive(Clone)]
struct Query {
    files: Arc<dyn FileSystem>,
    source: String,
    text: String,
    types: Vec<DType>,
}

impl Query {
    /// Starts the thread that answers calls.
    fn start(self) -> Result<mpsc::Sender<Call>> {
        let (sender, calls) = mpsc::channel::<Call>();
        let run = move || {
            let Err(error) = self.answer(&calls) else { return };
            // What went wrong before there was a row is the answer to the first call.
            if let Ok(call) = calls.recv() {
                call.send(Err(error)).ok();
            }
        };
        thread::Builder::new()
            .name("sql".to_owned())
            .spawn(run)
            .map_err(|error| internal!("no thread for a query: {error}"))?;
        Ok(sender)
    }

    fn answer(&self, calls: &mpsc::Receiver<Call>) -> Result<()> {
        let explain = |what: &str, error: rusqlite::Error| self.explain(what, &error);
        let connection = self.open()?;
        let mut statement =
            connection.prepare(&self.text).map_err(|error| explain("Prepare()", error))?;
        if statement.column_count() != self.types.len() {
            return Err(invalid_argument!(
                "The number of columns in query ({}) must match the number of elements in \
                 output_types ({}).",
                statement.column_count(),
                self.types.len()
            ));
        }
        let mut rows = statement.query([]).map_err(|error| explain("Step()", error))?;
        while let Ok(call) = calls.recv() {
            let row = match rows.next() {
                Ok(Some(row)) => self.element(row).map(Some),
                Ok(None) => Ok(None),
                Err(error) => Err(explain("Step()", error)),
            };
            // Who asked may have gone.
            call.send(row).ok();
        }
        Ok(())
    }

    fn open(&self) -> Result<Connection> {
        let explain = |error: rusqlite::Error| self.explain("Sqlite::Open()", &error);
        if let Some(path) = self.files.plain_path(&self.source) {
            return Connection::open(path).map_err(explain);
        }
        // SQLite opens files by their names, which would lead it past what confines them, and so would
        // a query that attaches another database. So it gets the contents, and is told to read alone.
        let file = self.files.open(&self.source)?;
        let len = usize::try_from(file.len()).unwrap_or(usize::MAX);
        let mut contents = try_repeat(0, len)?;
        file.read_at(0, &mut contents)?;
        let mut connection = Connection::open_in_memory().map_err(explain)?;
        connection
            .deserialize_read_exact("main", &contents[..], contents.len(), true)
            .map_err(explain)?;
        connection.pragma_update(None, "temp_store", "MEMORY").map_err(explain)?;
        connection
            .authorizer(Some(|asked: AuthContext<'_>| match asked.action {
                AuthAction::Select
                | AuthAction::Read { .. }
                | AuthAction::Function { .. }
                | AuthAction::Recursive => Authorization::Allow,
                _ => Authorization::Deny,
            }))
            .map_err(explain)?;
        Ok(connection)
    }

    fn element(&self, row: &Row<'_>) -> Result<Element> {
        let column = |(index, &dtype): (usize, &DType)| {
            let value = row.get_ref(index).map_err(|error| self.explain("Column()", &error))?;
            convert(value, dtype)
        };
        self.types.iter().enumerate().map(column).collect()
    }

    fn explain(&self, what: &str, error: &rusqlite::Error) -> Error {
        let (number, message) = match error {
            rusqlite::Error::SqliteFailure(error, message) => {
                (error.extended_code, message.clone().unwrap_or_else(|| error.to_string()))
            }
            rusqlite::Error::SqlInputError { error, msg, .. } => (error.extended_code, msg.clone()),
            other => (1, other.to_string()),
        };
        Error::new(code(number), format!("{what} failed: [{number}] {message}: {}", self.text))
    }
}

/// What a number of SQLite's is in TensorFlow; the lower byte says what kind of error it is.
fn code(number: i32) -> Code {
    use rusqlite::ffi;
    match number & 0xff {
        ffi::SQLITE_ABORT => Code::Aborted,
        ffi::SQLITE_READONLY | ffi::SQLITE_MISMATCH => Code::FailedPrecondition,
        ffi::SQLITE_MISUSE | ffi::SQLITE_INTERNAL => Code::Internal,
        ffi::SQLITE_RANGE => Code::OutOfRange,
        ffi::SQLITE_CANTOPEN
        | ffi::SQLITE_CONSTRAINT
        | ffi::SQLITE_NOTFOUND
        | ffi::SQLITE_NOTADB => Code::InvalidArgument,
        ffi::SQLITE_CORRUPT => Code::DataLoss,
        ffi::SQLITE_AUTH | ffi::SQLITE_PERM => Code::PermissionDenied,
        ffi::SQLITE_FULL | ffi::SQLITE_TOOBIG | ffi::SQLITE_NOLFS => Code::ResourceExhausted,
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL | ffi::SQLITE_NOMEM => {
            Code::Unavailable
        }
        ffi::SQLITE_INTERRUPT => Code::Cancelled,
        _ => Code::Unknown,
    }
}

/// A value as the type that is wanted, by SQLite's own rules.
fn convert(value: ValueRef<'_>, dtype: DType) -> Result<Tensor> {
    Ok(match dtype {
        DType::String => Tensor::string(match value {
            ValueRef::Null => Vec::new(),
            ValueRef::Integer(value) => value.to_string().into_bytes(),
            ValueRef::Real(value) => real_text(value).into_bytes(),
            ValueRef::Text(text) | ValueRef::Blob(text) => text.to_vec(),
        }),
        DType::Bool => Tensor::scalar(integer(value) != 0),
        DType::Double => Tensor::scalar(match value {
            ValueRef::Null => 0.0,
            ValueRef::Integer(value) => value as f64,
            ValueRef::Real(value) => value,
            ValueRef::Text(text) | ValueRef::Blob(text) => leading_real(text),
        }),
        dtype => dispatch!(
            dtype,
            [i8, i16, i32, i64, u8, u16],
            T => Tensor::scalar(integer(value) as T),
            else => return Err(internal!("no columns of type {dtype}"))
        ),
    })
}

fn integer(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Null => 0,
        ValueRef::Integer(value) => value,
        ValueRef::Real(value) => value as i64,
        ValueRef::Text(text) | ValueRef::Blob(text) => leading_integer(text),
    }
}

/// The integer with which a text begins.
fn leading_integer(text: &[u8]) -> i64 {
    let text = text.trim_ascii_start();
    let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let digits = text[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..sign + digits]).unwrap_or("");
    match number.parse::<i128>() {
        Ok(number) => number.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
        Err(_) => 0,
    }
}

/// The number with which a text begins.
fn leading_real(text: &[u8]) -> f64 {
    let text = text.trim_ascii_start();
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let most = text.iter().take_while(|byte| is_part(byte)).count();
    let longest = (1..=most).rev().find_map(|end| {
        let prefix = std::str::from_utf8(&text[..end]).ok()?;
        prefix.parse::<f64>().ok()
    });
    longest.unwrap_or(0.0)
}

/// A number as SQLite writes it: with 15 digits at most, and always with a point.
fn real_text(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:.14e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let with_point = |digits: String| {
        let digits = digits.trim_end_matches('0');
        if digits.ends_with('.') { format!("{digits}0") } else { digits.to_owned() }
    };
    if !(-4..15).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", with_point(mantissa.to_owned()), exponent.abs());
    }
    let decimals = usize::try_from(14 - exponent).unwrap_or(0).max(1);
    with_point(format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_sqlite_writes_them() {
        let cases = [
            (1.5, "1.5"),
            (3.0, "3.0"),
            (0.1, "0.1"),
            (-2.25e300, "-2.25e+300"),
            (1e100, "1.0e+100"),
            (1e-5, "1.0e-05"),
            (100.0, "100.0"),
            (123_456_789_012_345_680.0, "1.23456789012346e+17"),
        ];
        for (value, text) in cases {
            assert_eq!(real_text(value), text);
        }
    }

    #[test]
    fn texts_count_by_how_they_begin() {
        assert_eq!(leading_integer(b" -12abc"), -12);
        assert_eq!(leading_integer(b"abc"), 0);
        assert_eq!(leading_integer(b"99999999999999999999"), i64::MAX);
        assert_eq!(leading_real(b"1.5e3x"), 1500.0);
        assert_eq!(leading_real(b"1.5e"), 1.5);
        assert_eq!(leading_real(b"x"), 0.0);
    }
}
