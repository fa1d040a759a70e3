//! What a program's user is told while the program waits or goes on in spite of something.

use std::io::Write;

/// Tells the user something that needs no answer, as who is waited for: through the program's
/// subscriber of the crate `tracing`, or on standard error if it has none.
///
/// Standard error stays quiet with `TF_CPP_MIN_LOG_LEVEL` at 2 or more, as TensorFlow does with
/// warnings.
///
/// ```
/// tensorfleet_client::notice("waiting for /job:ps/task:0 at localhost:2222");
/// ```
pub fn notice(text: &str) {
    if tracing::dispatcher::has_been_set() {
        tracing::warn!("{text}");
    } else if !hides_warnings(std::env::var("TF_CPP_MIN_LOG_LEVEL").ok().as_deref()) {
        // There is nobody to be told that standard error is closed.
        let _ = writeln!(std::io::stderr(), "tensorfleet: {text}");
    }
}

fn hides_warnings(level: Option<&str>) -> bool {
    level.and_then(|level| level.trim().parse::<u32>().ok()).is_some_and(|level| level >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensorflows_level_hides_warnings_from_two_on() {
        for (level, hides) in
            [(None, false), (Some("1"), false), (Some("2"), true), (Some("x"), false)]
        {
            assert_eq!(hides_warnings(level), hides, "{level:?}");
        }
    }
}
