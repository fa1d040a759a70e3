//! What `--version` tells of the build and of the machine.

/// The TensorFlow whose clients, servers and ops the tests compare with.
const TENSORFLOW: &str = "2.21";

/// The version, what it was built from and with, and what this processor offers.
pub(super) fn details() -> String {
    let features = [("object_store", cfg!(feature = "object_store"))];
    format!(
        "{}\ncommit:     {}\ntarget:     {}-{}\nprocessor:  {}\nfeatures:   {}\n\
         compared with TensorFlow {TENSORFLOW}",
        env!("CARGO_PKG_VERSION"),
        // Set by what builds a release.
        option_env!("TENSORFLEET_COMMIT").unwrap_or("unknown"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        list_of(&processor()),
        list_of(&features),
    )
}

fn list_of(names: &[(&'static str, bool)]) -> String {
    let present: Vec<&str> =
        names.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
    if present.is_empty() { "none".to_owned() } else { present.join(", ") }
}

/// The sets of instructions that kernels are compiled for, and whether the processor announces them.
#[cfg(target_arch = "x86_64")]
fn processor() -> [(&'static str, bool); 4] {
    use std::arch::is_x86_feature_detected as announced;
    [
        ("avx2", announced!("avx2")),
        ("fma", announced!("fma")),
        ("f16c", announced!("f16c")),
        ("avx512", announced!("avx512f") && announced!("avx512bw") && announced!("avx512dq")),
    ]
}

/// Elsewhere kernels use what every processor of the kind has.
#[cfg(not(target_arch = "x86_64"))]
fn processor() -> [(&'static str, bool); 1] {
    [("baseline", true)]
}
