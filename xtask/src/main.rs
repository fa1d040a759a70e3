//! Automation for the workspace: `cargo xtask <command>`.
//!
//! Every check that CI makes is a command here, so that a developer can run the same one alone.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its user"
)]

mod bench;
mod ci;
mod codegen;
mod conformance;
mod deny;
mod dist;
mod instructions;
mod python;
mod release;
mod sbom;
mod simulate;
mod step;
mod test;
mod tidy;
mod wheel;
mod workspace;

use std::process::ExitCode;

/// The result of a command; the error is what the user reads.
type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const HELP: &str = "\
Automation for the tensorfleet workspace.

Usage: cargo xtask <command> [arguments]

Commands:
  ci                    Everything that CI checks, cheapest first
  test                  All tests: Rust, then conformance with the Python client
  conformance [ARGS]    Only the conformance tests; ARGS go to pytest
  differential [ARGS]   Compare random programs with TensorFlow; --help lists ARGS, `ops` compares single ops
  golden [FAMILY..]     Record golden vectors for the op tests from TensorFlow
  bench [ARGS]          Measure our servers against TensorFlow's; --help lists ARGS
  bench kernels [ARGS]  The same for single ops, one after the other
  instructions          Count the instructions of hot paths; --update writes the budgets
  simulate --seeds N    Clusters with faults on virtual time; --seed N shows one in detail
  wheel [PROCESSOR]     Build the Python package that users install, for x86_64 or aarch64
  dist [PROCESSOR]      Build the archive that users download: binary, symbols, SBOM, checksums
  package               Test the Python package, installed into fresh environments
  fuzz [TARGET..]       Parsers against random bytes for ten minutes, or --minutes N
  codegen [--check]     Rust code for the .proto files; --check only compares it
  deny                  Where dependencies come from, and what cargo-deny says of them if it is installed
  tidy                  The rules of STYLE.md that a program can check

Environment:
  TENSORFLEET_PYTHON    Interpreter that has conformance/requirements.txt installed;
                        without it a virtual environment is made under target/
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result {
    let Some((command, rest)) = arguments.split_first() else {
        return Err(format!("no command given\n\n{HELP}").into());
    };
    match (command.as_str(), rest) {
        ("ci", []) => ci::run(),
        ("test", []) => test::run(),
        ("deny", []) => deny::run(),
        ("tidy", []) => tidy::run(),
        ("codegen", []) => codegen::write(),
        ("codegen", [flag]) if flag == "--check" => codegen::check(),
        ("conformance", _) => conformance::run(rest),
        ("differential", _) => conformance::differential(rest),
        ("wheel", _) => wheel::build(rest),
        ("dist", _) => dist::run(rest),
        ("package", []) => wheel::test(&python::Interpreter::prepare_in_background().wait()?),
        ("instructions", []) => instructions::check(),
        ("instructions", [flag]) if flag == "--update" => instructions::update(),
        ("bench", _) => bench::run(rest),
        ("simulate", _) => simulate::run(rest),
        ("golden", _) => conformance::golden(rest),
        ("fuzz", _) => fuzz(rest),
        ("help" | "--help" | "-h", _) => {
            print!("{HELP}");
            Ok(())
        }
        ("ci" | "deny" | "test" | "tidy" | "package", [first, ..]) => {
            Err(format!("`{command}` takes no arguments, got `{first}`").into())
        }
        _ => Err(format!("unknown command `{command}`\n\n{HELP}").into()),
    }
}

/// Runs the fuzzer, optimised: it finds as much as it is fast.
fn fuzz(arguments: &[String]) -> Result {
    let mut run = vec!["run", "--release", "-q", "-p", "tensorfleet-fuzz", "--"];
    run.extend(arguments.iter().map(String::as_str));
    let status =
        std::process::Command::new("cargo").args(run).current_dir(workspace::root()).status()?;
    if status.success() { Ok(()) } else { Err("a target failed; its input is above".into()) }
}
