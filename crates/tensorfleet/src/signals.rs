//! The signals by which somebody wants the process to end.

use std::future::Future;
use std::sync::Arc;

use tensorfleet_server::{Config, Host};
use tensorfleet_tensor::{Result, unavailable};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

/// Counts SIGTERM and SIGINT. Made before anybody is told that a server serves, so that none is
/// missed.
#[derive(Debug)]
pub(crate) struct Signals {
    count: watch::Receiver<u32>,
    host: Arc<Host>,
}

impl Signals {
    pub(crate) fn new(config: &Config) -> Result<Signals> {
        let host = config.host()?;
        let counted: std::io::Result<watch::Receiver<u32>> = host.wait(async {
            let mut terminate = signal(SignalKind::terminate())?;
            let mut interrupt = signal(SignalKind::interrupt())?;
            let (sender, count) = watch::channel(0);
            tokio::spawn(async move {
                loop {
                    tokio::select! {
                        _ = terminate.recv() => {}
                        _ = interrupt.recv() => {}
                    }
                    sender.send_modify(|count| *count += 1);
                }
            });
            Ok(count)
        })?;
        let count =
            counted.map_err(|error| unavailable!("signals cannot be waited for: {error}"))?;
        Ok(Signals { count, host })
    }

    /// Tells of each SIGHUP, by which an operator wants the configuration to be read again.
    pub(crate) fn hangups(config: &Config) -> Result<mpsc::Receiver<()>> {
        let hangups: std::io::Result<mpsc::Receiver<()>> = config.host()?.wait(async {
            let mut hangups = signal(SignalKind::hangup())?;
            let (sender, receiver) = mpsc::channel(1);
            tokio::spawn(async move {
                while hangups.recv().await.is_some() && sender.send(()).await.is_ok() {}
            });
            Ok(receiver)
        })?;
        hangups.map_err(|error| unavailable!("SIGHUP cannot be waited for: {error}"))
    }

    /// Waits for a signal, or for another reason to end.
    pub(crate) fn first(&self, other: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let signal = self.reaches(1);
        self.host.wait(async move {
            tokio::select! {
                () = signal => {}
                () = other => {}
            }
        })
    }

    /// Ends when a second signal has come: whoever sent it is in a hurry.
    pub(crate) fn second(&self) -> impl Future<Output = ()> + Send + use<> {
        self.reaches(2)
    }

    fn reaches(&self, wanted: u32) -> impl Future<Output = ()> + Send + use<> {
        let mut count = self.count.clone();
        async move {
            if count.wait_for(|count| *count >= wanted).await.is_err() {
                // Nobody counts any more.
                std::future::pending().await
            }
        }
    }
}
