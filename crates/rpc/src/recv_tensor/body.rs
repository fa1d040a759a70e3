//! A body of known parts.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;
use tonic::Status;

/// Sends parts as they are, then trailers.
#[derive(Debug)]
pub(super) struct Parts {
    data: std::vec::IntoIter<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Parts {
    pub(super) fn new(data: Vec<Bytes>, trailers: Option<HeaderMap>) -> Parts {
        Parts { data: data.into_iter(), trailers }
    }
}

impl http_body::Body for Parts {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let next = match self.data.next() {
            Some(data) => Some(Frame::data(data)),
            None => self.trailers.take().map(Frame::trailers),
        };
        Poll::Ready(next.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.data.as_slice().is_empty() && self.trailers.is_none()
    }
}
