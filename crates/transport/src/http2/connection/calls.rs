//! Calls, from their headers to their answers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::Connection;
use crate::http2::Reason;
use crate::http2::backlog::Backlog;
use crate::http2::event::{Event, Events};
use crate::http2::intake::{Begun, Intake};
use crate::http2::message::Message;
use crate::http2::request::Request;
use crate::http2::stream::{Running, Stream};
use crate::limits::{STREAM_COST, STREAM_WINDOW};
use crate::methods::Method;
use crate::{Answer, Body, BoxFuture, Call, Code, Messages, Requests, Status, deadline, gzip};

/// How much of a path that nobody knows is repeated.
const MAX_PATH: usize = 200;

impl<IO: AsyncRead + AsyncWrite + Unpin> Connection<IO> {
    /// Begins a stream, unless the call can be refused at once.
    pub(super) fn on_request(&mut self, id: u32, request: Request, ends: bool) {
        if self.is_closing || self.streams.len() >= self.limits.streams as usize {
            self.heart.pace.resets += 1;
            return self.outbox.reset(id, Reason::Refused);
        }
        let found = match request.check() {
            Ok(()) => self.methods.find(&request.path).ok_or_else(|| self.unknown(&request.path)),
            Err(refusal) if refusal.is_malformed() => {
                return self.outbox.reset(id, Reason::Protocol);
            }
            Err(refusal) => {
                return self.outbox.refuse(id, refusal.http, &refusal.status, !ends);
            }
        };
        let admitted = found.and_then(|(path, method)| {
            let identity = self.guard.admit(path, &request.metadata)?;
            self.memory.grow(STREAM_COST + request.size)?;
            Ok((path, method, identity))
        });
        let (path, method, identity) = match admitted {
            Ok(admitted) => admitted,
            Err(status) => return self.outbox.refuse(id, "200", &status, !ends),
        };
        let Request { metadata, timeout, .. } = request;
        let call = Call { path, metadata, peer: self.peer, identity, timeout };
        let message = Message::new(request.encoding);
        let (intake, begun) = match method {
            Method::Unary(method) => (Intake::One { method, call, message }, None),
            Method::Streaming(method) => {
                let (feed, requests) = Requests::new(id, self.sender.clone());
                (Intake::Many { feed, message, unread: 0 }, Some((method, call, requests)))
            }
        };
        let mut stream = Stream::new(intake, i64::from(STREAM_WINDOW));
        stream.held = STREAM_COST + request.size;
        stream.content_length = request.content_length;
        stream.deadline = timeout.map(|timeout| Instant::now() + timeout);
        self.streams.insert(id, stream);
        if let Some((method, call, requests)) = begun {
            self.begin(id, method(call, requests));
        }
        if ends {
            self.on_end(id);
        }
    }

    /// Says that there is no such method, to the client and in the log.
    fn unknown(&mut self, path: &str) -> Status {
        let path = &path[..path.floor_char_boundary(MAX_PATH)];
        if self.heart.pace.logs_unknown() {
            tracing::warn!("{} calls {path:?}, which this server does not have", self.peer);
        }
        Status::new(Code::UNIMPLEMENTED, format!("this server has no method {path}"))
    }

    /// Takes a part of what a client says in a call.
    pub(super) fn on_content(&mut self, id: u32, bytes: &[u8]) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let taken = match stream.intake.wants() {
            true => stream.charge(bytes.len(), &mut self.memory),
            false => Ok(()),
        };
        match taken.and_then(|()| stream.intake.extend(bytes)) {
            Ok(()) => stream.open_window(id, &mut self.outbox),
            Err(status) => self.refuse_content(id, status),
        }
    }

    /// Ends a call whose request cannot be taken.
    pub(super) fn refuse_content(&mut self, id: u32, status: Status) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.intake.fail(&status);
        }
        self.on_event(id, Event::End(Err(status)));
    }

    /// The client has said everything.
    pub(super) fn on_end(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.is_heard = true;
        if stream.content_length.is_some_and(|length| length != stream.received) {
            // Of a wrong length, so it is no request.
            self.outbox.reset(id, Reason::Protocol);
            return self.forget(id);
        }
        match stream.intake.end() {
            Ok(Some(Begun { method, call, message, is_compressed: false })) => {
                self.begin(id, method(call, message));
            }
            Ok(Some(Begun { method, call, message, .. })) => match gzip::size(&message) {
                Ok(size) => match stream.charge(size, &mut self.memory) {
                    Ok(()) => self.begin(
                        id,
                        Box::pin(async move {
                            let message = gzip::inflate(message).await?;
                            method(call, message).await
                        }),
                    ),
                    Err(status) => self.on_event(id, Event::End(Err(status))),
                },
                Err(status) => self.on_event(id, Event::End(Err(status))),
            },
            Ok(None) => {}
            Err(status) => self.on_event(id, Event::End(Err(status))),
        }
    }

    /// Begins a call: it ends at once, or goes on as a task.
    fn begin(&mut self, id: u32, mut call: BoxFuture<Answer>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Some(deadline) = stream.deadline {
            call = Box::pin(deadline::within(deadline, call));
        }
        // Nobody need be woken: a task looks again itself.
        let mut context = Context::from_waker(Waker::noop());
        match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(&mut context))) {
            Ok(Poll::Ready(answer)) => self.on_event(id, Event::Answer(answer)),
            Ok(Poll::Pending) => {
                let sender = self.sender.clone();
                let task = tokio::spawn(async move {
                    let answer = AssertUnwindSafe(call).catch_unwind().await;
                    let answer = answer.unwrap_or_else(|_| Err(panicked()));
                    // Without a connection nobody waits.
                    let _ = sender.send((id, Event::Answer(answer)));
                });
                stream.task = Some(Running(task.abort_handle()));
            }
            Err(_) => self.on_event(id, Event::End(Err(panicked()))),
        }
    }

    pub(super) fn on_event(&mut self, id: u32, event: Event) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match event {
            Event::Answer(Err(status)) => stream.end(Err(status)),
            Event::Answer(Ok(reply)) => match reply.body {
                Body::Message(parts) => match stream.charge(len(&parts), &mut self.memory) {
                    Ok(()) => {
                        stream.begin(id, &reply.headers, &mut self.outbox);
                        stream.push(parts);
                        stream.end(Ok(()));
                    }
                    Err(status) => stream.end(Err(status)),
                },
                Body::Messages(messages) => {
                    stream.begin(id, &reply.headers, &mut self.outbox);
                    let backlog = Arc::<Backlog>::default();
                    stream.follow(Arc::clone(&backlog));
                    let forwarding = Forwarding { id, sender: self.sender.clone(), backlog };
                    let task = tokio::spawn(forwarding.work(messages, stream.deadline));
                    stream.task = Some(Running(task.abort_handle()));
                }
            },
            Event::Message(parts) => match stream.charge(len(&parts), &mut self.memory) {
                Ok(()) => stream.push(parts),
                Err(status) => {
                    stream.task = None;
                    stream.end(Err(status));
                }
            },
            Event::End(outcome) => stream.end(outcome),
            Event::Taken(len) => {
                stream.intake.on_taken(len);
                stream.release(len, &mut self.memory);
                return stream.open_window(id, &mut self.outbox);
            }
        }
        self.queue(id);
    }
}

fn len(parts: &[Bytes]) -> usize {
    parts.iter().map(Bytes::len).sum()
}

/// Passes the messages of an answer on as they come.
struct Forwarding {
    id: u32,
    sender: Events,
    backlog: Arc<Backlog>,
}

impl Forwarding {
    async fn work(self, messages: Messages, deadline: Option<Instant>) {
        let forwarding = AssertUnwindSafe(self.forward(messages)).catch_unwind();
        let outcome = match deadline {
            None => forwarding.await,
            Some(deadline) => tokio::time::timeout_at(deadline, forwarding)
                .await
                .unwrap_or_else(|_| Ok(Err(deadline::exceeded()))),
        };
        // Without a connection nobody waits.
        let outcome = outcome.unwrap_or_else(|_| Err(panicked()));
        let _ = self.sender.send((self.id, Event::End(outcome)));
    }

    async fn forward(&self, mut messages: Messages) -> Result<(), Status> {
        loop {
            self.backlog.room().await;
            let Some(parts) = messages.next().await.transpose()? else { return Ok(()) };
            self.backlog.add(len(&parts));
            if self.sender.send((self.id, Event::Message(parts))).is_err() {
                return Ok(());
            }
        }
    }
}

fn panicked() -> Status {
    Status::new(Code::INTERNAL, "the call failed unexpectedly")
}
