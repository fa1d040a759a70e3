//! A list of everything that a release is made of, in CycloneDX's format.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::{Result, release, step, workspace};

/// Describes the binary of a target.
pub(crate) fn describe(triple: &str) -> Result<String> {
    let mut cargo = step::cargo(["metadata", "--format-version=1", "--locked"]);
    let metadata = release::output(cargo.args(["--filter-platform", triple]))?;
    let lock = fs::read_to_string(workspace::root().join("Cargo.lock"))?;
    let sbom = from_metadata(&serde_json::from_str(&metadata)?, &checksums(&lock))?;
    Ok(serde_json::to_string_pretty(&sbom)? + "\n")
}

/// The checksums of packages, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
        line.map(|rest| rest.trim_end_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").skip(1);
    packages
        .filter_map(|block| {
            Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?))
        })
        .collect()
}

fn from_metadata(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|p| (text(&p["id"]), p)).collect();
    let nodes: BTreeMap<String, Value> =
        list(&metadata["resolve"]["nodes"]).into_iter().map(|n| (text(&n["id"]), n)).collect();
    let root = packages.values().find(|package| package["name"] == "tensorfleet");
    let root = root.ok_or("the workspace has no package `tensorfleet`")?;
    let (mut seen, mut left) = (BTreeSet::new(), vec![text(&root["id"])]);
    let mut dependencies = Vec::new();
    while let Some(id) = left.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        // What only builds or tests need is no part of the binary.
        let is_linked = |dep: &&Value| list(&dep["dep_kinds"]).iter().any(|k| k["kind"].is_null());
        let used = list(&nodes.get(&id).ok_or("an unresolved package")?["deps"]);
        let used: BTreeSet<String> =
            used.iter().filter(is_linked).map(|d| text(&d["pkg"])).collect();
        let references: Vec<String> = used.iter().map(|id| reference(&packages[id])).collect();
        dependencies.push(json!({"ref": reference(&packages[&id]), "dependsOn": references}));
        left.extend(used);
    }
    let own = text(&root["id"]);
    let parts = seen.iter().filter(|id| **id != own);
    let components: Vec<Value> =
        parts.map(|id| component("library", &packages[id], checksums)).collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": component("application", root, checksums) },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn reference(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(&package["name"]), text(&package["version"]))
}

fn component(kind: &str, package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let mut component = json!({
        "type": kind,
        "bom-ref": reference(package),
        "name": name,
        "version": version,
        "purl": reference(package),
    });
    if let Some(licence) = package["license"].as_str() {
        // Old manifests write a slash for `OR`.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(checksum) = checksums.get(&(name, version)) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_with_licence_and_checksum() {
        let package = |name: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Zlib"});
        let dep = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let packages = ["tensorfleet", "linked", "deep", "build-only"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": {"nodes": [
                {"id": "tensorfleet", "deps": [dep("linked", Value::Null), dep("build-only", json!("build"))]},
                {"id": "linked", "deps": [dep("deep", Value::Null)]},
                {"id": "deep", "deps": []},
                {"id": "build-only", "deps": []},
            ]},
        });
        let lock = "[[package]]\nname = \"deep\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        let sbom = from_metadata(&metadata, &checksums(lock)).unwrap();
        let names: Vec<&Value> =
            sbom["components"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
        assert_eq!(names, ["deep", "linked"]);
        assert_eq!(sbom["components"][0]["hashes"][0]["content"], "abc");
        assert_eq!(sbom["components"][1]["licenses"][0]["expression"], "MIT OR Zlib");
        assert_eq!(sbom["metadata"]["component"]["name"], "tensorfleet");
        assert_eq!(sbom["dependencies"][0]["dependsOn"], json!(["pkg:cargo/linked@1.0.0"]));
    }
}
