//! The dashboard of the demo's cluster.

use std::fmt;
use std::process::{Command, Stdio};

use tensorfleet_server::{Address, LocalCluster};
use tensorfleet_tensor::Result;

use super::display::say;
use super::progress::Now;

/// Programs that show an address in the user's browser: on Linux, in its subsystem for Windows, on macOS.
const OPENERS: [&str; 3] = ["xdg-open", "wslview", "open"];

/// Where the dashboard is.
#[derive(Debug)]
pub(super) struct Page(Option<String>);

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(address) => writeln!(f, "  {:<20} {address}", "dashboard"),
            None => Ok(()),
        }
    }
}

/// Shows the cluster from a parameter server: workers may be stopped on the way.
pub(super) fn serve(cluster: &LocalCluster, bind: Option<&Address>) -> Result<Page> {
    match (bind, cluster.servers().next()) {
        (Some(bind), Some(server)) => {
            Ok(Page(Some(format!("http://{}/", server.serve_http(bind)?))))
        }
        _ => Ok(Page(None)),
    }
}

/// Tells how training goes on.
pub(super) fn tell(cluster: &LocalCluster, now: &Now) {
    let Some(server) = cluster.servers().next().filter(|_| now.steps > 0) else { return };
    let step = i64::try_from(now.steps).unwrap_or(i64::MAX);
    for (name, value) in [("loss", now.loss), ("accuracy", now.accuracy)] {
        // The curves are for whoever looks: training goes on without.
        let _ = server.tell_scalar(name, step, f64::from(value));
    }
}

impl Page {
    /// Has the user's browser show it, or says that it cannot.
    pub(super) fn open(&self) -> Result<()> {
        let Some(address) = &self.0 else { return Ok(()) };
        let is_started = OPENERS.iter().any(|program| {
            let mut command = Command::new(program);
            command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().is_ok()
        });
        if is_started {
            return Ok(());
        }
        say(&format!(
            "no program was found that shows {address} in a browser: open it yourself\n\n"
        ))
    }
}
