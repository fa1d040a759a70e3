//! Servers as Python sees them.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tensorfleet_server::{Config, LocalCluster, ServerSpec, create_local_cluster};
use tensorfleet_tensor::Result;

use crate::failure::raise;
use crate::gate::Gate;
use crate::registry::with_python_functions;

/// The threads that all servers of a process share.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct Host {
    config: Config,
}

#[pymethods]
impl Host {
    /// Servers behind gates speak to each other over the network only: what gates do must reach them.
    #[new]
    #[pyo3(signature = (network_only=false))]
    fn new(network_only: bool) -> PyResult<Host> {
        let mut config = Config::default().ops(with_python_functions().map_err(raise)?);
        if std::env::var("TENSORFLEET_INSECURE").is_ok_and(|value| value == "1") {
            config = config.insecure();
        }
        Ok(Host { config: if network_only { config.grpc_only() } else { config } })
    }

    /// Makes a server from a serialized `ServerDef`, which listens where that says, or elsewhere.
    #[pyo3(signature = (server_def, bind=None))]
    fn server(&self, py: Python<'_>, server_def: &[u8], bind: Option<&str>) -> PyResult<Server> {
        let bound = py.detach(|| -> Result<_> {
            let spec = ServerSpec::from_server_def(server_def)?;
            let bind = match bind {
                Some(elsewhere) => elsewhere.parse()?,
                None => spec.address()?,
            };
            tensorfleet_server::Server::bind(spec, &bind, &self.config)
        });
        bound.map(Server::from).map_err(raise)
    }

    /// Makes a gate before a server.
    fn gate(&self, py: Python<'_>) -> PyResult<Gate> {
        py.detach(|| tensorfleet_server::Gate::new(&self.config)).map(Gate::from).map_err(raise)
    }

    /// Starts workers and parameter servers on free ports; the configurations are serialized
    /// `ConfigProto`s.
    fn local_cluster(
        &self,
        py: Python<'_>,
        num_workers: u32,
        num_ps: u32,
        protocol: &str,
        worker_config: Vec<u8>,
        ps_config: Vec<u8>,
    ) -> PyResult<(Vec<Server>, Vec<Server>)> {
        let started = py.detach(|| {
            let worker = self.config.clone().session_config(worker_config);
            let ps = self.config.clone().session_config(ps_config);
            create_local_cluster(num_workers, num_ps, protocol, &worker, &ps)
        });
        let LocalCluster { workers, ps } = started.map_err(raise)?;
        let wrap = |servers: Vec<_>| servers.into_iter().map(Server::from).collect();
        Ok((wrap(workers), wrap(ps)))
    }
}

/// A server of one task.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct Server {
    server: Arc<tensorfleet_server::Server>,
}

impl From<tensorfleet_server::Server> for Server {
    fn from(server: tensorfleet_server::Server) -> Server {
        Server { server: Arc::new(server) }
    }
}

#[pymethods]
impl Server {
    /// Where it listens, as `127.0.0.1:2222`.
    fn address(&self) -> String {
        self.server.address().to_string()
    }

    fn target(&self) -> String {
        self.server.target()
    }

    /// The serialized `ServerDef`.
    fn server_def<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let message = self.server.server_def().to_server_def().map_err(raise)?;
        Ok(PyBytes::new(py, &message))
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.server.start()).map_err(raise)
    }

    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.server.stop()).map_err(raise)
    }

    /// Waits until the server has stopped, at most so many seconds, and says whether it has.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        py.detach(|| self.server.join_for(limit)).map_err(raise)
    }
}
