//! What a server tells the program that started it, on standard output and by its exit code.
//!
//! A program that starts servers reads one line: `grpc://host:port` when the task serves, or
//! `ERROR <code> <message>` when it never will, with TensorFlow's number for the code. People read
//! standard error.

use std::io::{self, IsTerminal, Write};

use tensorfleet_tensor::{Code, Error};

use super::Refusal;

/// The exit code for a command line that cannot be read.
const USAGE: u8 = 2;
/// The exit code for a failure that only a change of the configuration mends.
const PERMANENT: u8 = 1;
/// The exit code for a failure that may pass. Schedulers restart a process that ends with 128 or
/// more; this one is set aside for the program's own use.
const RETRYABLE: u8 = 138;

/// Says that the task serves at a target.
pub fn serving(target: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{target}")?;
    output.flush()
}

/// Shows text that was asked for. Whoever reads it may stop when it has seen enough, as `head` does.
pub fn show(text: impl AsRef<[u8]>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_ref()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

/// Where people are told how far work is; nobody is if that is no terminal.
pub fn progress() -> Box<dyn Write> {
    if io::stderr().is_terminal() { Box::new(io::stderr()) } else { Box::new(io::sink()) }
}

/// Whether what is shown goes to a terminal.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Says that the command cannot be run, and returns the exit code.
pub fn refused(refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::Usage(error) => {
            say(error);
            USAGE
        }
        Refusal::Configuration(error) => failed(error),
    }
}

/// Says that the command failed, and returns the exit code.
pub fn failed(error: &Error) -> u8 {
    say(error);
    exit_code(error.code())
}

fn say(error: &Error) {
    // There is nobody left to tell if these fail. Who looks at a terminal sees both, and needs one.
    if !is_terminal() {
        drop(writeln!(io::stdout(), "{}", answer(error)));
    }
    drop(writeln!(io::stderr(), "tensorfleet: {}", in_one_line(error.message())));
}

fn answer(error: &Error) -> String {
    format!("ERROR {} {}", error.code() as i32, in_one_line(error.message()))
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the exit code that tells whether the same command may work another time.
fn exit_code(code: Code) -> u8 {
    match code {
        // The fault is in what was asked.
        Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::DataLoss => PERMANENT,
        Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::Internal
        | Code::Unavailable => RETRYABLE,
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::unavailable;

    use super::*;

    #[test]
    fn an_answer_is_one_line() {
        assert_eq!(answer(&unavailable!("port 2222\n  is taken")), "ERROR 14 port 2222 is taken");
    }

    #[test]
    fn exit_codes_tell_whether_to_try_again() {
        assert!((1..128).contains(&exit_code(Code::InvalidArgument)));
        assert!((1..128).contains(&USAGE));
        assert!(exit_code(Code::Unavailable) >= 128);
    }
}
