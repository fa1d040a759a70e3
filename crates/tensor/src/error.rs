//! The one error type of the workspace.
//!
//! Codes are TensorFlow's canonical ones: a Python client turns them into exception classes, so the
//! code is public API. The message is what the client shows; where a client or a coordinator parses
//! it, it holds TensorFlow's words.

use std::fmt;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// TensorFlow's canonical status codes, numbered as on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Code {
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

impl Code {
    const ALL: [Code; 16] = [
        Code::Cancelled,
        Code::Unknown,
        Code::InvalidArgument,
        Code::DeadlineExceeded,
        Code::NotFound,
        Code::AlreadyExists,
        Code::PermissionDenied,
        Code::ResourceExhausted,
        Code::FailedPrecondition,
        Code::Aborted,
        Code::OutOfRange,
        Code::Unimplemented,
        Code::Internal,
        Code::Unavailable,
        Code::DataLoss,
        Code::Unauthenticated,
    ];

    /// Reads a wire number; numbers that name no failure are `Unknown`.
    pub fn from_number(number: i32) -> Code {
        usize::try_from(number - 1)
            .ok()
            .and_then(|index| Code::ALL.get(index).copied())
            .unwrap_or(Code::Unknown)
    }

    /// TensorFlow's spelling, as in `INVALID_ARGUMENT: ...`.
    pub fn name(self) -> &'static str {
        match self {
            Code::Cancelled => "CANCELLED",
            Code::Unknown => "UNKNOWN",
            Code::InvalidArgument => "INVALID_ARGUMENT",
            Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Code::NotFound => "NOT_FOUND",
            Code::AlreadyExists => "ALREADY_EXISTS",
            Code::PermissionDenied => "PERMISSION_DENIED",
            Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Code::FailedPrecondition => "FAILED_PRECONDITION",
            Code::Aborted => "ABORTED",
            Code::OutOfRange => "OUT_OF_RANGE",
            Code::Unimplemented => "UNIMPLEMENTED",
            Code::Internal => "INTERNAL",
            Code::Unavailable => "UNAVAILABLE",
            Code::DataLoss => "DATA_LOSS",
            Code::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

/// A failure: a code, a message, and what a distributed step must know about it.
///
/// Boxed so that `Result<(), Error>` stays one word.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Failure>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Failure {
    code: Code,
    message: String,
    derived: bool,
    worker_restarted: bool,
    unreached: bool,
}

impl Error {
    /// Makes a root-cause error.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error(Box::new(Failure {
            code,
            message: message.into(),
            derived: false,
            worker_restarted: false,
            unreached: false,
        }))
    }

    /// The canonical code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The message without the code.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether this is a consequence of another failure. Such errors lose to the root cause.
    pub fn is_derived(&self) -> bool {
        self.0.derived
    }

    /// Marks the error as a consequence of another failure.
    #[must_use]
    pub fn derived(mut self) -> Error {
        self.0.derived = true;
        self
    }

    /// Whether the peer was probably restarted: state that it held is gone.
    pub fn is_worker_restarted(&self) -> bool {
        self.0.worker_restarted
    }

    /// Marks the error as the sign of a restarted peer.
    #[must_use]
    pub fn worker_restarted(mut self) -> Error {
        self.0.worker_restarted = true;
        self
    }

    /// Whether nobody answered: the peer is gone, or the way to it. What came of the call is not known.
    pub fn is_unreached(&self) -> bool {
        self.0.unreached
    }

    /// Marks the error as that of a call that nobody answered, or as one that somebody did.
    #[must_use]
    pub fn unreached(mut self, unreached: bool) -> Error {
        self.0.unreached = unreached;
        self
    }

    /// Puts text in front of the message, as `From /job:ps/replica:0/task:0:\n`.
    #[must_use]
    pub fn prefixed(mut self, prefix: impl fmt::Display) -> Error {
        self.0.message = format!("{prefix}{}", self.0.message);
        self
    }

    /// Appends the marker by which Python finds the failing node, once.
    #[must_use]
    pub fn at_node(mut self, name: &str) -> Error {
        if !self.names_a_node() {
            self.0.message.push_str(&format!("\n\t [[{{{{node {name}}}}}]]"));
        }
        self
    }

    /// Appends the name of a node that ran others, such as those of a function, of which one failed.
    /// A consequence of another failure keeps the name that it has.
    #[must_use]
    pub fn through_node(mut self, name: &str) -> Error {
        if self.is_derived() || !self.names_a_node() {
            return self.at_node(name);
        }
        self.0.message.push_str(&format!("\n\t [[{name}]]"));
        self
    }

    fn names_a_node(&self) -> bool {
        self.0.message.contains("[[{{node ")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code.name(), self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        if self.0.derived { write!(f, " (derived)") } else { Ok(()) }
    }
}

impl std::error::Error for Error {}

/// Adds what was being done to an error on its way up.
pub trait Context<T> {
    /// Puts `describe() + ": "` in front of the message of an error.
    fn context<D: fmt::Display>(self, describe: impl FnOnce() -> D) -> Result<T>;
}

impl<T> Context<T> for Result<T> {
    fn context<D: fmt::Display>(self, describe: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| error.prefixed(format_args!("{}: ", describe())))
    }
}

macro_rules! error_macros {
    ($($name:ident $code:ident $doc:literal;)*) => {
        // `$` cannot be written inside a nested macro body, so it is passed along as a token.
        error_macros!(@define ($) $($name $code $doc;)*);
    };
    (@define ($d:tt) $($name:ident $code:ident $doc:literal;)*) => {
        $(
            #[doc = $doc]
            #[macro_export]
            macro_rules! $name {
                ($d($d arg:tt)+) => {
                    $crate::Error::new($crate::Code::$code, format!($d($d arg)+))
                };
            }
        )*
    };
}

error_macros! {
    cancelled Cancelled "Makes a `CANCELLED` error from a format string.";
    unknown_error Unknown "Makes an `UNKNOWN` error from a format string.";
    invalid_argument InvalidArgument "Makes an `INVALID_ARGUMENT` error from a format string.";
    deadline_exceeded DeadlineExceeded "Makes a `DEADLINE_EXCEEDED` error from a format string.";
    not_found NotFound "Makes a `NOT_FOUND` error from a format string.";
    already_exists AlreadyExists "Makes an `ALREADY_EXISTS` error from a format string.";
    permission_denied PermissionDenied "Makes a `PERMISSION_DENIED` error from a format string.";
    resource_exhausted ResourceExhausted "Makes a `RESOURCE_EXHAUSTED` error from a format string.";
    failed_precondition FailedPrecondition "Makes a `FAILED_PRECONDITION` error from a format string.";
    aborted Aborted "Makes an `ABORTED` error from a format string.";
    out_of_range OutOfRange "Makes an `OUT_OF_RANGE` error from a format string.";
    unimplemented_error Unimplemented "Makes an `UNIMPLEMENTED` error from a format string.";
    internal Internal "Makes an `INTERNAL` error from a format string.";
    unavailable Unavailable "Makes an `UNAVAILABLE` error from a format string.";
    data_loss DataLoss "Makes a `DATA_LOSS` error from a format string.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_the_wire() {
        for code in Code::ALL {
            assert_eq!(Code::from_number(code as i32), code);
        }
        assert_eq!(Code::from_number(0), Code::Unknown);
        assert_eq!(Code::from_number(-7), Code::Unknown);
    }

    #[test]
    fn the_node_marker_is_added_once() {
        let error = invalid_argument!("bad {}", 1).at_node("a").at_node("b");
        assert_eq!(error.to_string(), "INVALID_ARGUMENT: bad 1\n\t [[{{node a}}]]");
        let outer = error.through_node("caller");
        assert_eq!(outer.message(), "bad 1\n\t [[{{node a}}]]\n\t [[caller]]");
        assert_eq!(outer.clone().derived().through_node("receiver").message(), outer.message());
        assert_eq!(
            invalid_argument!("bad").through_node("a"),
            invalid_argument!("bad").at_node("a")
        );
    }
}
