//! The `tensorfleet` binary.

use std::process::ExitCode;

/// The system's allocator gives large blocks back to the kernel and faults them in again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let own = std::env::current_exe().map(|path| path.to_string_lossy().into_owned());
    let own = own.unwrap_or_else(|_| "tensorfleet".to_owned());
    ExitCode::from(tensorfleet::command::run(std::env::args(), &[own]))
}
