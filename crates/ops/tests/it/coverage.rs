//! `docs/ops.md` lists what the registry holds, beside what TensorFlow has; `UPDATE_EXPECT=1` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use expect_test::expect_file;
use tensorfleet_framework::Op;

/// TensorFlow's ops, as `conformance/differential/registered.py` lists them.
const TENSORFLOW: &str = include_str!("tensorflow.txt");

/// How many of TensorFlow's kernels have an equal here, as `conformance/differential/test_coverage.py`
/// counts them.
const SIGNATURES: &str = include_str!("signatures.txt");

/// The types of an op's kernels, by attribute.
type Types = BTreeMap<&'static str, BTreeSet<&'static str>>;

/// An op of TensorFlow.
struct Theirs {
    family: &'static str,
    /// Absent if no kernel of TensorFlow computes the op on a CPU.
    types: Option<Types>,
}

#[test]
fn the_list_of_ops_is_up_to_date() {
    let theirs = tensorflow();
    let mut ops: Vec<&Op> = tensorfleet_ops::all().collect();
    ops.sort_by_key(|op| op.name);

    let mut text = String::from(
        "# Ops\n\nGenerated from the registry; a test keeps it true.\n\
         Types are those of the CPU kernels; `all` means every type that the definition allows.\n\
         [What is not here](#not-here) of TensorFlow 2.21 is at the end.\n\n\
         Of the signatures, each an op and the types of its attributes, for which TensorFlow has a\n\
         kernel on CPUs, @SIGNATURES@ are computed here; a test counts them.\n\n\
         For all ops in sessions: an error inside an inlined function names the node by its way through\n\
         the calls, `call/node`, where TensorFlow names the node and then the calls.\n\n\
         | Op | Types | Differs from TensorFlow |\n|---|---|---|\n",
    );
    text = text.replace("@SIGNATURES@", SIGNATURES.trim());
    let mut absent: BTreeMap<&str, &Theirs> = theirs.iter().map(|(name, op)| (*name, op)).collect();
    for op in ops.iter().filter(|op| !op.kernels.is_empty()) {
        absent.remove(op.name);
        let ours = types(op);
        let differs = [op.differs.to_owned(), types_missing(&ours, theirs.get(op.name))];
        let differs: Vec<String> = differs.into_iter().filter(|part| !part.is_empty()).collect();
        let types = if ours.is_empty() { "all".to_owned() } else { listed(&ours) };
        writeln!(text, "| `{}` | {types} | {} |", op.name, differs.join(" ")).unwrap();
    }
    write_absent(&mut text, &absent);
    expect_file!["../../../../docs/ops.md"].assert_eq(&text);
}

/// The ops of TensorFlow that a step of ours cannot compute, by family.
fn write_absent(text: &mut String, absent: &BTreeMap<&str, &Theirs>) {
    text.push_str(
        "\n## Not here\n\nGraphs with these ops are read; a step that needs one fails with the name of the op.\n\
         The families are the modules of TensorFlow's Python API; `internal` ops have no place in it.\n\n\
         | Family | Ops |\n|---|---|\n",
    );
    let mut families: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, op) in absent.iter().filter(|(_, op)| op.types.is_some()) {
        families.entry(op.family).or_default().push(format!("`{name}`"));
    }
    for (family, names) in &families {
        writeln!(text, "| {family} | {} |", names.join(", ")).unwrap();
    }
    let nowhere = absent.values().filter(|op| op.types.is_none()).count();
    writeln!(
        text,
        "\nTensorFlow defines {nowhere} more ops that it does not compute on a CPU either."
    )
    .unwrap();
}

fn tensorflow() -> BTreeMap<&'static str, Theirs> {
    let read = |line: &'static str| {
        let mut words = line.split(' ');
        let (family, name) = (words.next().expect("a family"), words.next().expect("a name"));
        let types = match line.ends_with(" nowhere") {
            true => None,
            false => Some(words.map(attr).collect()),
        };
        (name, Theirs { family, types })
    };
    TENSORFLOW.lines().map(read).collect()
}

/// Reads `T=float,double`.
fn attr(word: &'static str) -> (&'static str, BTreeSet<&'static str>) {
    let (name, types) = word.split_once('=').expect("an attribute and its types");
    (name, types.split(',').collect())
}

fn types(op: &Op) -> Types {
    let mut attrs = Types::new();
    for (attr, types) in op.kernels.iter().flat_map(|kernel| kernel.types.iter().flatten()) {
        attrs.entry(attr).or_default().extend(types.iter().map(|dtype| dtype.name()));
    }
    attrs
}

/// The types that only TensorFlow's kernels take.
fn types_missing(ours: &Types, theirs: Option<&Theirs>) -> String {
    let Some(theirs) = theirs.and_then(|op| op.types.as_ref()) else { return String::new() };
    let missing = |(attr, types): (&&'static str, &BTreeSet<&'static str>)| {
        let missing: BTreeSet<_> = theirs.get(attr)?.difference(types).copied().collect();
        (!missing.is_empty()).then_some((*attr, missing))
    };
    let missing: Types = ours.iter().filter_map(missing).collect();
    if missing.is_empty() { String::new() } else { format!("No kernel for {}.", listed(&missing)) }
}

fn listed(attrs: &Types) -> String {
    let list = |(attr, types): (&&str, &BTreeSet<&str>)| {
        format!("{attr}: {}", types.iter().copied().collect::<Vec<_>>().join(", "))
    };
    attrs.iter().map(list).collect::<Vec<_>>().join("; ")
}
