//! How servers run.

use std::sync::{Arc, OnceLock};

use tensorfleet_tensor::Result;

use crate::Host;

/// How servers run. Clones share their threads: a process with many servers gives all of them
/// clones of one configuration.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub(crate) cpu_devices: Option<u32>,
    pub(crate) network_only: bool,
    pub(crate) grpc_only: bool,
    threads: Option<usize>,
    host: Arc<OnceLock<Arc<Host>>>,
}

impl Config {
    /// Gives each server so many CPU devices instead of one.
    #[must_use]
    pub fn cpu_devices(mut self, count: u32) -> Config {
        self.cpu_devices = Some(count);
        self
    }

    /// Computes on so many threads instead of one for each core.
    #[must_use]
    pub fn threads(self, count: usize) -> Config {
        Config { threads: Some(count), host: Arc::default(), ..self }
    }

    /// Lets servers of this process speak to each other over the network only, as servers of
    /// different processes do.
    #[must_use]
    pub fn network_only(mut self) -> Config {
        self.network_only = true;
        self
    }

    /// Lets servers speak to other tasks over gRPC only, as TensorFlow's do, even where the others
    /// know faster ways.
    #[must_use]
    pub fn grpc_only(mut self) -> Config {
        self.grpc_only = true;
        self.network_only()
    }

    /// The threads, started by whoever asks first.
    pub fn host(&self) -> Result<Arc<Host>> {
        if let Some(host) = self.host.get() {
            return Ok(Arc::clone(host));
        }
        let host = Arc::new(Host::new(self.threads)?);
        Ok(Arc::clone(self.host.get_or_init(|| host)))
    }
}
