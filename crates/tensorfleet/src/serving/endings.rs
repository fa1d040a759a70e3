//! Why a task may end by itself: its parent has ended, nobody uses it, its chief is done.

use std::os::unix::process::parent_id;
use std::sync::Weak;
use std::time::{Duration, Instant};

use tensorfleet_server::Server;
use tensorfleet_spec::Address;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::Live;

/// Ends when this process has another parent than the given one, which then has ended. The system
/// could send a signal, but does so when the *thread* ends that made this process, which may be long
/// before.
pub(super) async fn orphaned(parent: Option<u32>) {
    const LOOKS: Duration = Duration::from_millis(200);
    while parent.is_none_or(|parent| parent == parent_id()) {
        tokio::time::sleep(LOOKS).await;
    }
}

/// Ends when nobody has used the server for as long as is wanted at that time.
pub(super) async fn idle(server: Weak<Server>, mut live: watch::Receiver<Live>) {
    const LOOKS: Duration = Duration::from_millis(500);
    let (mut last, mut since) = (None, Instant::now());
    loop {
        let Some(limit) = live.borrow_and_update().exit_when_idle else {
            if live.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            continue;
        };
        let Some(server) = server.upgrade() else { return };
        let uses = server.uses();
        if uses != last || uses.is_some_and(|uses| uses.running > 0) {
            (last, since) = (uses, Instant::now());
        } else if since.elapsed() >= limit {
            tracing::info!("nobody has used this task for {limit:?}: it ends (--exit_when_idle)");
            return;
        }
        drop(server);
        tokio::time::sleep(LOOKS.min(limit / 4)).await;
    }
}

/// Ends when somebody has answered at the chief's address and then nobody has for so long.
pub(super) async fn chief_gone(chief: Option<(Address, Duration)>) {
    const LOOKS: Duration = Duration::from_secs(1);
    let Some((address, limit)) = chief else { return std::future::pending().await };
    let mut heard: Option<Instant> = None;
    loop {
        let connection = TcpStream::connect((address.host.as_str(), address.port));
        if matches!(tokio::time::timeout(2 * LOOKS, connection).await, Ok(Ok(_))) {
            if heard.is_none() {
                tracing::info!("the chief answers at {address}; this task ends when it is gone");
            }
            heard = Some(Instant::now());
        } else if heard.is_some_and(|heard| heard.elapsed() >= limit) {
            tracing::info!("the chief at {address} is gone: this task ends (--exit_with_chief)");
            return;
        }
        tokio::time::sleep(LOOKS.min(limit.max(LOOKS / 10))).await;
    }
}
