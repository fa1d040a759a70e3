//! `tensorfleet demo` as a newcomer sees it.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the demo; returns what it says and the part of held-out images that it recognises.
fn demo(name: &str, arguments: &[&str]) -> (String, f64) {
    let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.svg"));
    let output = Command::new(env!("CARGO_BIN_EXE_tensorfleet"))
        .arg("demo")
        .args(arguments)
        .arg("--svg")
        .arg(&picture)
        .env_remove("TENSORFLEET_LOG")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}{complaints}");
    assert_eq!(complaints, "");
    assert!(said.contains("Try next:") && said.contains(&*picture.to_string_lossy()), "{said}");
    assert!(fs::read_to_string(picture).unwrap().contains("<polyline"));
    let accuracy = said.split("held-out accuracy ").nth(1).unwrap();
    let accuracy = accuracy.split_whitespace().next().unwrap().parse().unwrap();
    (said, accuracy)
}

#[test]
fn it_learns_to_read_digits() {
    let (said, accuracy) = demo("plain", &[]);
    assert!(accuracy >= 0.96, "{said}");
    for words in [
        "/job:ps/task:1",
        "/job:worker/task:1",
        "4,800 parameters",
        "steps/s",
        "dashboard            http://127.0.0.1:",
    ] {
        assert!(said.contains(words), "{words} is missing:\n{said}");
    }
}

#[test]
fn it_learns_in_rounds_and_with_bounded_staleness() {
    let (said, accuracy) = demo("sync", &["--sync", "--steps=400"]);
    assert!(accuracy >= 0.9, "{said}");
    let (said, accuracy) = demo("bounded", &["--staleness=1", "--workers=3", "--steps=400"]);
    assert!(accuracy >= 0.9, "{said}");
}

#[test]
fn it_goes_on_without_a_worker_that_dies() {
    for (name, mode) in [("kill", "--staleness=9"), ("kill_sync", "--sync")] {
        let (said, accuracy) = demo(name, &["--kill-worker", "--steps=400", mode]);
        // It is lost to whoever comes first: its stopping server, or the connection that ends.
        let is_lost = |code: &str| said.contains(&format!("worker 1 is lost ({code})"));
        assert!(is_lost("UNAVAILABLE") || is_lost("ABORTED"), "{said}");
        let picture = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.svg"));
        assert!(fs::read_to_string(picture).unwrap().contains("worker 1 is lost"));
        assert!(accuracy >= 0.9, "{said}");
    }
}

#[test]
fn a_picture_that_has_no_place_is_known_before_the_training() {
    let output = Command::new(env!("CARGO_BIN_EXE_tensorfleet"))
        .args(["demo", "--svg", "/nowhere/at/all.svg"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success() && said.starts_with("ERROR "), "{said}");
    assert!(said.contains("/nowhere/at/all.svg") && said.lines().count() == 1, "{said}");
}
