//! Prints what the machine itself can do, as JSON: the floor under every benchmark.
//!
//! `cargo run --release -p tensorfleet-kernels --example limits`
//!
//! Each figure is the best of several short tries, since a limit is what happens when nothing else
//! does.

use std::hint::black_box;
use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use tensorfleet_kernels::peak::multiply_adds;
use tensorfleet_kernels::{Parallel, Threads};

const TRIES: usize = 7;
/// Larger than any cache, so that memory is what is measured.
const COPIED: usize = 256 << 20;
const SENT: usize = 256 << 20;
/// What one call of `write` and `read` moves.
const CHUNK: usize = 1 << 20;
const ROUND_TRIPS: usize = 2000;

#[expect(clippy::print_stdout, reason = "printing is what this program does")]
fn main() -> Result<()> {
    let (mut sender, mut receiver) = tcp_pair()?;
    let tcp = transfer(&mut sender, &mut receiver)?;
    let round_trip = round_trip(&mut sender, &mut receiver)?;
    let (mut sender, mut receiver) = UnixStream::pair()?;
    let unix = transfer(&mut sender, &mut receiver)?;
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let figures = [
        ("memcpy_gb_s", memcpy()),
        ("tcp_gb_s", tcp),
        ("unix_gb_s", unix),
        ("tcp_round_trip_us", round_trip),
        ("fma_one_gflops", fma(Parallel::SERIAL)),
        ("fma_all_gflops", Threads::new(threads)?.run(|| fma(Parallel::all()))),
    ];
    let fields: Vec<String> =
        figures.iter().map(|(name, value)| format!("\"{name}\": {value:.4}")).collect();
    println!("{{{}}}", fields.join(", "));
    Ok(())
}

fn memcpy() -> f64 {
    let from = vec![1_u8; COPIED];
    let mut to = vec![2_u8; COPIED];
    let taken = best(|| black_box(&mut to).copy_from_slice(black_box(&from)));
    gigabytes(COPIED, taken)
}

fn tcp_pair() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (receiver, _) = listener.accept()?;
    sender.set_nodelay(true)?;
    receiver.set_nodelay(true)?;
    Ok((sender, receiver))
}

/// Sends from one thread to another, the buffers of both being warm.
fn transfer(sender: &mut (impl Write + Send), receiver: &mut impl Read) -> Result<f64> {
    let data = vec![1_u8; CHUNK];
    let mut received = vec![0_u8; CHUNK];
    let mut taken = Duration::MAX;
    for _ in 0..TRIES {
        let start = Instant::now();
        thread::scope(|scope| {
            let sending =
                scope.spawn(|| (0..SENT / CHUNK).try_for_each(|_| sender.write_all(&data)));
            (0..SENT / CHUNK).try_for_each(|_| receiver.read_exact(&mut received))?;
            sending.join().expect("the sender does not panic")
        })?;
        taken = taken.min(start.elapsed());
    }
    Ok(gigabytes(SENT, taken))
}

/// Microseconds for one byte there and one back.
fn round_trip(near: &mut TcpStream, far: &mut TcpStream) -> Result<f64> {
    let mut taken = Duration::MAX;
    for _ in 0..TRIES {
        let start = Instant::now();
        thread::scope(|scope| {
            let answering = scope.spawn(|| {
                (0..ROUND_TRIPS).try_for_each(|_| {
                    let mut byte = [0_u8];
                    far.read_exact(&mut byte)?;
                    far.write_all(&byte)
                })
            });
            (0..ROUND_TRIPS).try_for_each(|_| {
                let mut byte = [7_u8];
                near.write_all(&byte)?;
                near.read_exact(&mut byte)
            })?;
            answering.join().expect("the other end does not panic")
        })?;
        taken = taken.min(start.elapsed());
    }
    Ok(taken.as_secs_f64() / ROUND_TRIPS as f64 * 1e6)
}

/// Billions of additions and multiplications a second, nothing touching memory.
fn fma(par: Parallel) -> f64 {
    const ROUNDS: usize = 2_000_000;
    let mut flops = 0;
    let taken = best(|| {
        let done = par.map_ranges(par.threads(), 1, |_| multiply_adds(black_box(ROUNDS)));
        flops = done.iter().sum();
    });
    flops as f64 / taken.as_secs_f64() / 1e9
}

fn best(mut work: impl FnMut()) -> Duration {
    let mut taken = Duration::MAX;
    for _ in 0..TRIES {
        let start = Instant::now();
        work();
        taken = taken.min(start.elapsed());
    }
    taken
}

fn gigabytes(bytes: usize, taken: Duration) -> f64 {
    bytes as f64 / taken.as_secs_f64() / 1e9
}
