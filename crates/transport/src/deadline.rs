//! Calls end when the time is up that their client gives them.

use std::time::Duration;

use tokio::time::Instant;

use crate::{Code, Status};

/// Ends a call at a time.
pub(crate) async fn within<T>(
    deadline: Instant,
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    match tokio::time::timeout_at(deadline, call).await {
        Ok(answer) => answer,
        Err(_) => Err(exceeded()),
    }
}

/// What a call ends with whose time is up.
pub(crate) fn exceeded() -> Status {
    Status::new(Code::DEADLINE_EXCEEDED, "Deadline Exceeded")
}

/// The time that a client gives a call: up to eight digits and a unit. What is no time is no limit.
pub(crate) fn timeout(header: &[u8]) -> Option<Duration> {
    let text = str::from_utf8(header).ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_call_without_an_answer_ends_in_time() {
        let outcome = within(Instant::now(), pending::<Result<(), Status>>()).await;
        assert_eq!(outcome.unwrap_err().code, Code::DEADLINE_EXCEEDED);
    }

    #[tokio::test]
    async fn an_answer_in_time_is_given() {
        assert_eq!(within(Instant::now(), ready(Ok(7))).await.unwrap(), 7);
    }

    #[test]
    fn times_are_read_as_clients_write_them() {
        for (text, millis) in [("2H", 7_200_000), ("1M", 60_000), ("99999999m", 99_999_999)] {
            assert_eq!(timeout(text.as_bytes()), Some(Duration::from_millis(millis)));
        }
        assert_eq!(timeout(b"7n"), Some(Duration::from_nanos(7)));
        for text in ["", "m", "1", "1x", "+1m", "123456789m", "1 m", "1\u{fc}"] {
            assert_eq!(timeout(text.as_bytes()), None, "{text}");
        }
        assert_eq!(timeout(b"\xff"), None);
    }
}
