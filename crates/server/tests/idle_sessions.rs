//! Sessions that nobody uses any more.

use std::time::Duration;

use tensorfleet_cluster::{SessionOptions, StepCall};
use tensorfleet_rpc::RemoteMaster;
use tensorfleet_server::{Config, Server};
use tensorfleet_tensor::Code;
use tokio::runtime::Handle;

#[test]
fn a_session_that_nobody_uses_is_closed() {
    let config = Config::default().close_sessions_after(Duration::from_millis(20));
    let server = Server::create_local_server(&config, true).unwrap();
    let target = server.target();
    let gone = config.host().unwrap().wait(async move {
        let master = RemoteMaster::new(&target, None, &Handle::current()).unwrap();
        let options = SessionOptions::default();
        let session = master.create_session(&[], &Default::default(), &options).await.unwrap();
        // Looking at a session is not using it.
        while master.list_devices(&session.handle).await.is_ok() {
            tokio::task::yield_now().await;
        }
        master.run_step(&session.handle, StepCall::default()).await.unwrap_err().code()
    });
    assert_eq!(gone.unwrap(), Code::Aborted);
}
