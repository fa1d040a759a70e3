//! The paths that every step takes: timed, or repeated for a tool that counts instructions.
//!
//! ```sh
//! cargo bench -p tensorfleet-runtime                     # times
//! cargo xtask instructions                               # instructions, by way of --repeat
//! ```

#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

mod paths;

use criterion::Criterion;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [flag] if flag == "--names" => list(),
        [flag, name, times] if flag == "--repeat" => repeat(name, times.parse().unwrap()),
        _ => time(),
    }
}

fn time() {
    let mut criterion = Criterion::default().configure_from_args();
    for path in paths::all() {
        let mut once = path.prepare();
        criterion.bench_function(path.name, |bencher| bencher.iter(&mut once));
    }
    criterion.final_summary();
}

fn repeat(name: &str, times: usize) {
    let path = paths::all().into_iter().find(|path| path.name == name).unwrap();
    let mut once = path.prepare();
    for _ in 0..times {
        once();
    }
}

#[expect(clippy::print_stdout, reason = "the names are for the program that asked")]
fn list() {
    for path in paths::all() {
        println!("{}", path.name);
    }
}
