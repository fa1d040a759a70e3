//! `cargo xtask dist`: what people download who want the program alone.
//!
//! An archive with the stripped binary, completions and manual, its symbols in a second one, a list of
//! everything it is made of, and checksums, all below `target/dist`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::release::{self, GLIBC, PROFILE, Target};
use crate::{Result, sbom, step, workspace};

/// What the stripped binary should be at most.
const MEGABYTES: u64 = 25;

/// Shells whose completions are part of the archive, and what their files are called.
const SHELLS: [(&str, &str); 3] =
    [("bash", "tensorfleet"), ("zsh", "_tensorfleet"), ("fish", "tensorfleet.fish")];

pub(crate) fn run(arguments: &[String]) -> Result {
    let target = Target::read(arguments)?;
    target.check_installed()?;
    let binary = build(target)?;
    let out = workspace::target_dir().join("dist").join(target.name);
    release::fresh(&out)?;
    let name = format!("tensorfleet-{}-{}", env!("CARGO_PKG_VERSION"), target.name);
    let content = out.join(&name);
    fs::create_dir_all(content.join("bin"))?;
    let stripped = content.join("bin").join("tensorfleet");
    let symbols = out.join("tensorfleet.debug");
    split_symbols(&binary, &stripped, &symbols)?;
    release::tell_size(&stripped, MEGABYTES)?;
    add_documents(&content)?;
    let sbom = out.join(format!("{name}.cdx.json"));
    fs::write(&sbom, sbom::describe(target.triple)?)?;
    let archive = archive(&out, &name, &name)?;
    let debug = self::archive(&out, &format!("{name}-symbols"), "tensorfleet.debug")?;
    checksums(&out, &[&archive, &debug, &sbom])?;
    fs::remove_file(symbols)?;
    println!("{}", out.display());
    Ok(())
}

/// Builds the binary with its symbols and returns where it is.
fn build(target: Target) -> Result<PathBuf> {
    let tools = release::tools()?;
    let mut command = release::command(&tools, &tools.join("bin").join("cargo-zigbuild"))?;
    command.args(["zigbuild", "--locked", "--profile", PROFILE, "--package", "tensorfleet"]);
    command.arg("--target").arg(format!("{}.{GLIBC}", target.triple));
    step::run(&mut command)?;
    Ok(workspace::target_dir().join(target.triple).join(PROFILE).join("tensorfleet"))
}

/// Takes the symbols out of a binary into a file that debuggers find by its name.
fn split_symbols(binary: &Path, stripped: &Path, symbols: &Path) -> Result {
    step::run(objcopy()?.arg("--only-keep-debug").arg(binary).arg(symbols))?;
    step::run(objcopy()?.arg("--strip-all").arg(binary).arg(stripped))?;
    let link = format!("--add-gnu-debuglink={}", symbols.display());
    step::run(objcopy()?.arg(link).arg(stripped))
}

/// The tool that Rust itself strips with, which knows the binaries of every target. It lies among
/// Rust's own parts and finds its library only where rustc tells it to look.
fn objcopy() -> Result<Command> {
    let ask = |what: &str| release::output(Command::new("rustc").args(["--print", what]));
    let tool = Path::new(ask("target-libdir")?.trim()).with_file_name("bin").join("rust-objcopy");
    let mut command = Command::new(tool);
    command.env("LD_LIBRARY_PATH", Path::new(ask("sysroot")?.trim()).join("lib"));
    Ok(command)
}

/// Adds completions, manual, licences and the README. What this machine's own build says of its
/// command line is true of the others'.
fn add_documents(content: &Path) -> Result {
    let own = || step::cargo(["run", "--quiet", "--locked", "--package", "tensorfleet", "--"]);
    let completions = content.join("completions");
    fs::create_dir_all(&completions)?;
    for (shell, file) in SHELLS {
        let script = release::output(own().args(["completions", shell]))?;
        fs::write(completions.join(file), script)?;
    }
    step::run(own().arg("man").arg(content.join("man").join("man1")))?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(workspace::root().join(file), content.join(file))?;
    }
    Ok(())
}

/// Packs a file or a directory, so that equal content gives an equal archive.
fn archive(directory: &Path, name: &str, content: &str) -> Result<PathBuf> {
    let archive = directory.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]);
    tar.args(["--use-compress-program", "gzip --no-name -9", "--create", "--file"]).arg(&archive);
    step::run(tar.arg("--directory").arg(directory).arg(content))?;
    Ok(archive)
}

fn checksums(directory: &Path, files: &[&Path]) -> Result {
    let names = files.iter().filter_map(|file| file.file_name());
    let sums = release::output(Command::new("sha256sum").current_dir(directory).args(names))?;
    Ok(fs::write(directory.join("SHA256SUMS"), sums)?)
}
