//! The Python interpreter of the conformance tests.
//!
//! Unless `TENSORFLEET_PYTHON` names one, the tests get a virtual environment of their own below
//! the target directory. It is made once: a stamp in it holds the requirements it was made from.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::{env, fs, thread};

use crate::{Result, step, workspace};

/// Versions for which every pinned requirement has a wheel, the tested one first.
const VERSIONS: [&str; 3] = ["3.11", "3.12", "3.13"];

/// An interpreter that can run the conformance tests.
#[derive(Debug)]
pub(crate) struct Interpreter {
    path: PathBuf,
}

/// An interpreter whose packages may still be installing.
#[derive(Debug)]
pub(crate) struct Pending {
    work: JoinHandle<Result<Interpreter>>,
}

impl Interpreter {
    /// Starts making the environment; the caller does something else meanwhile.
    pub(crate) fn prepare_in_background() -> Pending {
        Pending { work: thread::spawn(prepare) }
    }

    /// Returns the interpreter, set up to run in the workspace root.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(workspace::root());
        command
    }
}

impl Pending {
    /// Waits until the interpreter can be used.
    pub(crate) fn wait(self) -> Result<Interpreter> {
        self.work.join().map_err(|_| "the thread that makes the environment panicked")?
    }
}

fn prepare() -> Result<Interpreter> {
    if let Some(path) = env::var_os("TENSORFLEET_PYTHON") {
        let path = PathBuf::from(path);
        if version(&path).is_none() {
            let path = path.display();
            return Err(format!("TENSORFLEET_PYTHON={path} is not a Python interpreter").into());
        }
        return Ok(Interpreter { path });
    }
    let requirements = workspace::root().join("conformance").join("requirements.txt");
    let wanted = fs::read_to_string(&requirements)
        .map_err(|error| format!("cannot read {}: {error}", requirements.display()))?;
    let directory = workspace::target_dir().join("conformance-venv");
    let interpreter = interpreter(&directory);
    let stamp = directory.join("installed.txt");
    let installed = fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted);
    if !installed || version(&interpreter).is_none() {
        install_requirements(&directory, &interpreter, &requirements)?;
        fs::write(&stamp, wanted)
            .map_err(|error| format!("cannot write {}: {error}", stamp.display()))?;
    }
    Ok(Interpreter { path: interpreter })
}

/// A virtual environment below the target directory with some packages.
pub(crate) fn environment(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let directory = workspace::target_dir().join(name);
    if !interpreter(&directory).is_file() {
        make_environment(&directory)?;
    }
    if !packages.is_empty() {
        install(&directory, packages)?;
    }
    Ok(directory)
}

/// The interpreter of a virtual environment.
pub(crate) fn interpreter(environment: &Path) -> PathBuf {
    environment.join("bin").join(format!("python{}", env::consts::EXE_SUFFIX))
}

/// Installs packages into a virtual environment.
pub(crate) fn install(environment: &Path, what: &[&str]) -> Result {
    let mut pip = Command::new(interpreter(environment));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    step::run(pip.args(what))
}

/// Makes an empty virtual environment.
fn make_environment(directory: &Path) -> Result {
    let base = find()?;
    quietly(Command::new(&base).args(["-m", "venv", "--clear"]).arg(directory))
}

fn install_requirements(directory: &Path, interpreter: &Path, requirements: &Path) -> Result {
    make_environment(directory)?;
    // The file lists every package that is needed, so pip need not resolve anything. It must not:
    // tf_keras asks for the `tensorflow` package, which `tensorflow-cpu` stands in for.
    let mut pip = Command::new(interpreter);
    pip.args(["-m", "pip", "install", "--no-deps", "--quiet", "--disable-pip-version-check"]);
    quietly(pip.arg("--requirement").arg(requirements))
}

/// Finds an interpreter that can make virtual environments.
fn find() -> Result<PathBuf> {
    let names = VERSIONS.map(|version| format!("python{version}"));
    let names = names.iter().map(String::as_str).chain(["python3", "python"]);
    let found = names.map(PathBuf::from).find(|name| {
        let usable = version(name).is_some_and(|found| VERSIONS.contains(&found.as_str()));
        usable && succeeds(Command::new(name).args(["-c", "import ensurepip, venv"]))
    });
    found.ok_or_else(|| {
        format!(
            "found no Python {} with the venv and ensurepip modules (Debian: python3-venv); \
             install one, or set TENSORFLEET_PYTHON to an interpreter that has the packages of \
             conformance/requirements.txt",
            VERSIONS.join(", ")
        )
        .into()
    })
}

/// Returns `major.minor` if the program is a Python that starts.
fn version(program: &Path) -> Option<String> {
    let code = "import sys; print('%d.%d' % sys.version_info[:2])";
    let output = Command::new(program).args(["-c", code]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Runs a command and shows its output only when it fails: it runs beside other work.
fn quietly(command: &mut Command) -> Result {
    let shown = step::show(command);
    let output = command.output().map_err(|error| format!("cannot run `{shown}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    Err(format!("`{shown}` ended with {}\n{}", output.status, text.trim_end()).into())
}
