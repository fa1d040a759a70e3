//! Calls end when the time is up that their client gives them.

use std::time::Duration;

use http::{HeaderMap, Response};
use tonic::Status;
use tonic::body::Body;

/// Ends a call after a time.
pub(crate) async fn within<E>(
    timeout: Duration,
    call: impl Future<Output = Result<Response<Body>, E>>,
) -> Result<Response<Body>, E> {
    match tokio::time::timeout(timeout, call).await {
        Ok(answer) => answer,
        Err(_) => Ok(Status::deadline_exceeded("Deadline Exceeded").into_http()),
    }
}

/// The time that a client gives a call: up to eight digits and a unit. What is no time is no limit.
pub(crate) fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
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
    use std::convert::Infallible;
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_call_without_an_answer_ends_in_time() {
        let call = pending::<Result<Response<Body>, Infallible>>();
        let response = within(Duration::from_millis(1), call).await.unwrap();
        assert_eq!(response.headers()["grpc-status"], "4");
    }

    #[tokio::test]
    async fn an_answer_in_time_is_given() {
        let call = ready(Ok::<_, Infallible>(Response::default()));
        let response = within(Duration::ZERO, call).await.unwrap();
        assert!(!response.headers().contains_key("grpc-status"));
    }

    #[test]
    fn times_are_read_as_clients_write_them() {
        let read = |text: &str| {
            let value = text.parse().unwrap();
            timeout(&HeaderMap::from_iter([(http::HeaderName::from_static("grpc-timeout"), value)]))
        };
        for (text, millis) in [("2H", 7_200_000), ("1M", 60_000), ("99999999m", 99_999_999)] {
            assert_eq!(read(text), Some(Duration::from_millis(millis)));
        }
        assert_eq!(read("7n"), Some(Duration::from_nanos(7)));
        for text in ["", "m", "1", "1x", "+1m", "123456789m", "1 m"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(timeout(&HeaderMap::new()), None);
    }
}
