//! The log on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;

/// Writes the log to standard error. `TENSORFLEET_LOG` says how much, by module if wanted
/// (`info,tensorfleet_rpc=debug`); else TensorFlow's variable does, or `level`.
pub(crate) fn to_stderr(format: LogFormat, level: &str) {
    let filter = EnvFilter::try_from_env("TENSORFLEET_LOG").unwrap_or_else(|_| {
        let tensorflows = std::env::var("TF_CPP_MIN_LOG_LEVEL").ok();
        EnvFilter::new(tensorflows.as_deref().and_then(level_of_tensorflow).unwrap_or(level))
    });
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter);
    match format {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Text => log.with_ansi(is_coloured()).init(),
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
