//! Gates before servers as Python sees them.

use std::net::SocketAddr;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tensorfleet_server::Passage;

use crate::failure::raise;

/// A port that leads to a server, or does not.
#[pyclass(frozen)]
#[derive(Debug)]
pub(crate) struct Gate {
    gate: tensorfleet_server::Gate,
}

impl From<tensorfleet_server::Gate> for Gate {
    fn from(gate: tensorfleet_server::Gate) -> Gate {
        Gate { gate }
    }
}

#[pymethods]
impl Gate {
    fn port(&self) -> u16 {
        self.gate.address().port()
    }

    fn lead_to(&self, py: Python<'_>, address: &str) -> PyResult<()> {
        let address: SocketAddr = address
            .parse()
            .map_err(|error| PyValueError::new_err(format!("{address} is no address: {error}")))?;
        py.detach(|| self.gate.lead_to(address)).map_err(raise)
    }

    fn open(&self, py: Python<'_>) -> PyResult<()> {
        self.set(py, Passage::Open)
    }

    fn slow(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let delay = Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(format!("{seconds} seconds: {error}")))?;
        self.set(py, Passage::Slow(delay))
    }

    fn hold(&self, py: Python<'_>) -> PyResult<()> {
        self.set(py, Passage::Held)
    }

    fn shut(&self, py: Python<'_>) -> PyResult<()> {
        self.set(py, Passage::Shut)
    }
}

impl Gate {
    fn set(&self, py: Python<'_>, passage: Passage) -> PyResult<()> {
        py.detach(|| self.gate.set(passage)).map_err(raise)
    }
}
