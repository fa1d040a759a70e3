//! The log on standard error, and its last lines for whoever looks at the cluster from elsewhere.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::Arc;

use tensorfleet_server::LogTail;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::MakeWriterExt;

use crate::cli::{LogArguments, LogFormat};

/// The log of the process.
#[derive(Debug)]
pub(crate) struct Log {
    /// Its last lines.
    pub(crate) tail: Arc<LogTail>,
    pub(crate) levels: Levels,
}

/// How much the log tells, which may change while it is written.
pub(crate) struct Levels {
    change: Box<dyn Fn(EnvFilter) + Send + Sync>,
    unless_told: &'static str,
}

impl fmt::Debug for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Levels").finish_non_exhaustive()
    }
}

impl Levels {
    /// Lets the log tell what is wanted from now on.
    pub(crate) fn set(&self, wanted: &LogArguments) {
        (self.change)(filter(wanted, self.unless_told));
    }
}

/// Writes the log to standard error and keeps its last lines. The arguments say how much, by module if
/// wanted (`info,tensorfleet_rpc=debug`); else `TENSORFLEET_LOG`, TensorFlow's variable, or `level`.
pub(crate) fn to_stderr(wanted: &LogArguments, level: &'static str) -> Log {
    let tail = Arc::new(LogTail::default());
    let writer = std::io::stderr.and(Kept(Arc::clone(&tail)));
    let log = tracing_subscriber::fmt().with_writer(writer).with_env_filter(filter(wanted, level));
    // Nobody is left to be told if a log that has ended cannot be changed.
    let change: Box<dyn Fn(EnvFilter) + Send + Sync> = match wanted.log_format {
        LogFormat::Json => {
            let log = log.json().flatten_event(true).with_filter_reloading();
            let handle = log.reload_handle();
            log.init();
            Box::new(move |filter| drop(handle.reload(filter)))
        }
        LogFormat::Text => {
            let log = log.with_ansi(is_coloured()).with_filter_reloading();
            let handle = log.reload_handle();
            log.init();
            Box::new(move |filter| drop(handle.reload(filter)))
        }
    };
    Log { tail, levels: Levels { change, unless_told: level } }
}

fn filter(wanted: &LogArguments, level: &str) -> EnvFilter {
    let told = wanted.log.as_deref().and_then(|levels| EnvFilter::try_new(levels).ok());
    told.or_else(|| EnvFilter::try_from_env("TENSORFLEET_LOG").ok()).unwrap_or_else(|| {
        let tensorflows = std::env::var("TF_CPP_MIN_LOG_LEVEL").ok();
        EnvFilter::new(tensorflows.as_deref().and_then(level_of_tensorflow).unwrap_or(level))
    })
}

/// Writes into the last lines.
struct Kept(Arc<LogTail>);

impl<'a> MakeWriter<'a> for Kept {
    type Writer = Box<dyn Write + 'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Box::new(&*self.0)
    }
}

fn is_coloured() -> bool {
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !is_refused
}

/// The level below which TensorFlow's servers would say nothing; 0, all of it, is what ours say anyway.
fn level_of_tensorflow(text: &str) -> Option<&'static str> {
    match text.trim() {
        "1" => Some("warn"),
        "2" => Some("error"),
        "3" => Some("off"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensorflows_levels_are_ours() {
        assert_eq!(level_of_tensorflow("0"), None);
        assert_eq!(level_of_tensorflow("1"), Some("warn"));
        assert_eq!(level_of_tensorflow("3"), Some("off"));
        assert_eq!(level_of_tensorflow("loud"), None);
    }
}
