//! Calls end when the time is up that their client gives them.
//!
//! tonic ends them as well, but with CANCELLED, and clients tell the two apart: a client whose own
//! clock is a little slower than ours would report a cancellation that nobody asked for.

use std::convert::Infallible;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use tensorfleet_framework::BoxFuture;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::server::NamedService;

/// A service whose calls end in time.
#[derive(Clone, Debug)]
pub(crate) struct Deadline<S>(pub(crate) S);

impl<S: NamedService> NamedService for Deadline<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for Deadline<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // Before the call begins, and so before tonic's own timer: of two that are due, ours speaks.
        let timer = timeout(request.headers()).map(tokio::time::sleep);
        let call = self.0.call(request);
        match timer {
            None => Box::pin(call),
            Some(timer) => Box::pin(async {
                tokio::select! {
                    biased;
                    answer = call => answer,
                    () = timer => Ok(Status::deadline_exceeded("Deadline Exceeded").into_http()),
                }
            }),
        }
    }
}

/// The time that a client gives a call: up to eight digits and a unit. What is no time is no limit.
fn timeout(headers: &HeaderMap) -> Option<Duration> {
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
    use std::future::pending;

    use super::*;

    /// Answers at once or never.
    struct Answers(bool);

    impl Service<Request<Body>> for Answers {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = BoxFuture<Result<Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<Body>) -> Self::Future {
            if self.0 { Box::pin(async { Ok(Response::default()) }) } else { Box::pin(pending()) }
        }
    }

    fn request(timeout: &str) -> Request<Body> {
        Request::builder().header("grpc-timeout", timeout).body(Body::empty()).unwrap()
    }

    #[tokio::test]
    async fn a_call_without_an_answer_ends_in_time() {
        let response = Deadline(Answers(false)).call(request("1m")).await.unwrap();
        assert_eq!(response.headers()["grpc-status"], "4");
    }

    #[tokio::test]
    async fn an_answer_in_time_is_given() {
        let response = Deadline(Answers(true)).call(request("0n")).await.unwrap();
        assert!(!response.headers().contains_key("grpc-status"));
    }

    #[test]
    fn times_are_read_as_clients_write_them() {
        for (text, millis) in [("2H", 7_200_000), ("1M", 60_000), ("99999999m", 99_999_999)] {
            assert_eq!(timeout(request(text).headers()), Some(Duration::from_millis(millis)));
        }
        assert_eq!(timeout(request("7n").headers()), Some(Duration::from_nanos(7)));
        for text in ["", "m", "1", "1x", "+1m", "123456789m", "1 m"] {
            assert_eq!(timeout(request(text).headers()), None, "{text}");
        }
        assert_eq!(timeout(&HeaderMap::new()), None);
    }
}
