//! `docs/ops.md` lists what the registry holds; `UPDATE_EXPECT=1` writes it anew.

use std::fmt::Write as _;

use expect_test::expect_file;
use tensorfleet_framework::Op;
use tensorfleet_tensor::DType;

#[test]
fn the_list_of_ops_is_up_to_date() {
    let mut text = String::from(
        "# Ops\n\nGenerated from the registry; a test keeps it true.\n\
         Types are those of the CPU kernels; `all` means every type that the definition allows.\n\n\
         | Op | Types |\n|---|---|\n",
    );
    let mut ops: Vec<&Op> = tensorfleet_ops::all().collect();
    ops.sort_by_key(|op| op.name);
    let mut missing = Vec::new();
    for op in ops {
        if op.kernels.is_empty() {
            missing.push(op.name);
            continue;
        }
        writeln!(text, "| `{}` | {} |", op.name, types(op)).unwrap();
    }
    text.push_str("\n## Known, but not computed\n\nGraphs with these are read; a step that needs one fails.\n\n");
    for name in missing {
        writeln!(text, "- `{name}`").unwrap();
    }
    expect_file!["../../../../docs/ops.md"].assert_eq(&text);
}

/// The types of an op's kernels, by attribute.
fn types(op: &Op) -> String {
    let mut attrs: Vec<(&str, Vec<DType>)> = Vec::new();
    for (attr, types) in op.kernels.iter().flat_map(|kernel| kernel.types.iter().flatten()) {
        match attrs.iter_mut().find(|(name, _)| name == attr) {
            Some((_, known)) => known.extend(*types),
            None => attrs.push((attr, types.to_vec())),
        }
    }
    if attrs.is_empty() {
        return "all".to_owned();
    }
    let list = |(attr, types): (&str, Vec<DType>)| {
        let mut names: Vec<&str> = types.iter().map(|dtype| dtype.name()).collect();
        names.sort_unstable();
        names.dedup();
        format!("{attr}: {}", names.join(", "))
    };
    attrs.into_iter().map(list).collect::<Vec<_>>().join("; ")
}
