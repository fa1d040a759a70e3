//! Words that may stand only in certain places: the invariants between crates.

use super::Finding;
use super::tree::{File, Tree, has_phrase, numbered};

/// A rule about words.
struct Rule {
    words: &'static [&'static str],
    /// Tells whether the rule lets a file have the words.
    may: fn(&File) -> bool,
    why: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        words: &["tonic", "tonic_prost", "tonic_prost_build"],
        may: |file| {
            in_crates(file, &["proto", "rpc"]) || is_xtask(file) || file.is_integration_test()
        },
        why: "only `rpc` names tonic",
    },
    Rule {
        words: &["tensorfleet_proto", "prost"],
        may: |file| {
            in_crates(file, &["proto", "rpc", "checkpoint"])
                || is_xtask(file)
                || is_wire(file)
                || file.is_integration_test()
        },
        why: "messages stay in `proto`, `rpc`, `checkpoint` and files named wire.rs",
    },
    Rule {
        words: &[
            "async",
            "await",
            "tokio",
            "std::fs",
            "std::io",
            "std::net",
            "std::thread",
            "Instant",
            "SystemTime",
            "rand",
            "RandomState",
            "HashMap",
            "HashSet",
        ],
        may: |file| !in_crates(file, &["planner"]),
        why: "`planner` has no async, IO, clock or randomness: equal input, equal plan",
    },
    Rule {
        words: &["std::net", "tokio::net", "TcpListener", "TcpStream", "UnixStream"],
        may: |file| !in_crates(file, &["graph", "framework", "ops", "runtime"]),
        why: "nothing below `cluster` knows the network",
    },
    Rule {
        words: &["unsafe"],
        may: |file| {
            file.path == "crates/tensor/src/buffer.rs"
                || file.path.starts_with("crates/tensor/src/buffer/")
                || file.path.starts_with("crates/kernels/src/")
        },
        why: "`unsafe` lives only in `tensor::buffer` and SIMD kernels",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for rule in RULES.iter().filter(|rule| !(rule.may)(file)) {
            for (line, code) in numbered(&file.rust.code) {
                let found = rule.words.iter().filter(|word| has_phrase(code, word));
                findings.extend(
                    found.map(|word| file.finding(line, format!("`{word}`: {}", rule.why))),
                );
            }
        }
    }
    findings
}

fn in_crates(file: &File, crates: &[&str]) -> bool {
    let name = file.path.strip_prefix("crates/").and_then(|path| path.split('/').next());
    name.is_some_and(|name| crates.contains(&name))
}

fn is_xtask(file: &File) -> bool {
    file.path.starts_with("xtask/")
}

fn is_wire(file: &File) -> bool {
    file.path.split('/').any(|part| part == "wire.rs" || part == "wire")
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn tonic_stays_in_rpc() {
        let text = "//! The tonic boundary.\nuse tonic::Status;";
        check_rule(
            check,
            &[
                ("crates/rpc/src/status.rs", text),
                ("crates/cluster/src/wire.rs", text),
                ("crates/cluster/tests/it/main.rs", text),
            ],
            &["crates/cluster/src/wire.rs:2: `tonic`: only `rpc` names tonic"],
        );
    }

    #[test]
    fn messages_stay_on_the_wire() {
        let text = "use tensorfleet_proto::GraphDef;";
        let why = "messages stay in `proto`, `rpc`, `checkpoint` and files named wire.rs";
        check_rule(
            check,
            &[
                ("crates/graph/src/wire.rs", text),
                ("crates/graph/src/wire/nodes.rs", text),
                ("crates/checkpoint/src/index.rs", text),
                ("crates/graph/src/node.rs", text),
            ],
            &[&format!("crates/graph/src/node.rs:1: `tensorfleet_proto`: {why}")],
        );
    }

    #[test]
    fn planner_is_pure() {
        let text = "// async in a comment\nasync fn plan() {}\nlet now = Instant::now();\n\
                    use rustc_hash::FxHashMap;\nuse std::collections::HashMap;";
        let why = "`planner` has no async, IO, clock or randomness: equal input, equal plan";
        check_rule(
            check,
            &[("crates/planner/src/place.rs", text), ("crates/cluster/src/master.rs", text)],
            &[
                &format!("crates/planner/src/place.rs:2: `async`: {why}"),
                &format!("crates/planner/src/place.rs:3: `Instant`: {why}"),
                &format!("crates/planner/src/place.rs:5: `HashMap`: {why}"),
            ],
        );
    }

    #[test]
    fn runtime_knows_no_network() {
        let text = "use tokio::net::TcpStream;";
        check_rule(
            check,
            &[("crates/runtime/src/lib.rs", text), ("crates/cluster/src/lib.rs", text)],
            &[
                "crates/runtime/src/lib.rs:1: `TcpStream`: nothing below `cluster` knows the network",
                "crates/runtime/src/lib.rs:1: `tokio::net`: nothing below `cluster` knows the network",
            ],
        );
    }

    #[test]
    fn unsafe_has_two_homes() {
        let text = "#![expect(unsafe_code, reason = \"unsafe\")]\nunsafe { read() }";
        check_rule(
            check,
            &[
                ("crates/tensor/src/buffer.rs", text),
                ("crates/kernels/src/simd.rs", text),
                ("crates/tensor/src/shape.rs", text),
            ],
            &["crates/tensor/src/shape.rs:2: `unsafe`: `unsafe` lives only in `tensor::buffer` \
               and SIMD kernels"],
        );
    }
}
