//! The `tensorfleet` binary: reads the command line, builds the server, waits for a signal.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

use tensorfleet::cli::{self, Command, Serve, report};
use tensorfleet_cluster::spec::Address;
use tensorfleet_rpc::{Server, ServerConfig};
use tensorfleet_runtime::ComputePool;
use tensorfleet_tensor::{Error, Result, unavailable};
use tokio::signal::unix::{SignalKind, signal};

/// The system's allocator gives large blocks back to the kernel and faults them in again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    log_to_stderr();
    let outcome = match cli::parse() {
        Err(refusal) => return ExitCode::from(report::refused(&refusal)),
        Ok(Command::Show(text)) => report::show(&text).map_err(|error| output_failed(&error)),
        Ok(Command::Ops { proto }) => list_ops(proto),
        Ok(Command::Serve(serve)) => run(serve),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => ExitCode::from(report::failed(&error)),
    }
}

fn list_ops(proto: bool) -> Result<()> {
    let registry = tensorfleet_ops::registry()?;
    let listed = if proto {
        tensorfleet_graph::wire::op_list(registry.iter().map(|(_, def)| &**def))?
    } else {
        registry.iter().map(|(_, def)| format!("{def}\n")).collect::<String>().into_bytes()
    };
    report::show(listed).map_err(|error| output_failed(&error))
}

fn output_failed(error: &std::io::Error) -> Error {
    unavailable!("standard output cannot be written: {error}")
}

/// Logs are for people and go to standard error; `TENSORFLEET_LOG=debug` says more.
fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("TENSORFLEET_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_env_filter(filter)
        .init();
}

fn run(serve: Serve) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| unavailable!("threads cannot be started: {error}"))?;
    let outcome = runtime.block_on(serve_until_signal(serve));
    // Whatever still runs then must not keep the process.
    runtime.shutdown_background();
    outcome
}

async fn serve_until_signal(serve: Serve) -> Result<()> {
    let no_signals = |error| unavailable!("signals cannot be waited for: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let pool = ComputePool::new(threads)
        .map_err(|error| unavailable!("threads cannot be started: {error}"))?;
    let advertised = serve.spec.address()?.host;
    let mut server = Server::start(ServerConfig {
        spec: serve.spec,
        bind: serve.bind,
        registry: Arc::new(tensorfleet_ops::registry()?),
        pool: Arc::new(pool),
    })
    .await?;
    let target = Address { host: advertised, port: server.address().port() };
    tracing::info!("Started server with target: grpc://{target}");
    report::serving(&target).map_err(|error| output_failed(&error))?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
    server.stop().await;
    Ok(())
}
