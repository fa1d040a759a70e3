//! The dashboard: pages that a browser shows, as they lie beside this file.
//!
//! No build makes them and they load nothing from elsewhere. What they show comes as JSON and goes
//! into the page as text.

use super::response::Response;

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! files {
    ($($path:literal, $file:literal, $kind:expr;)*) => {
        &[$(($path, $kind, include_str!(concat!("dashboard/", $file)))),*]
    };
}

/// Paths, kinds and contents.
const FILES: &[(&str, &str, &str)] = files![
    "/", "index.html", "text/html; charset=utf-8";
    "/dashboard/style.css", "style.css", "text/css; charset=utf-8";
    "/dashboard/icon.svg", "icon.svg", "image/svg+xml";
    "/dashboard/main.js", "main.js", SCRIPT;
    "/dashboard/dom.js", "dom.js", SCRIPT;
    "/dashboard/format.js", "format.js", SCRIPT;
    "/dashboard/live.js", "live.js", SCRIPT;
    "/dashboard/model.js", "model.js", SCRIPT;
    "/dashboard/waits.js", "waits.js", SCRIPT;
    "/dashboard/chart.js", "chart.js", SCRIPT;
    "/dashboard/parts.js", "parts.js", SCRIPT;
    "/dashboard/views/cluster.js", "views/cluster.js", SCRIPT;
    "/dashboard/views/task.js", "views/task.js", SCRIPT;
    "/dashboard/views/training.js", "views/training.js", SCRIPT;
    "/dashboard/views/steps.js", "views/steps.js", SCRIPT;
    "/dashboard/views/variables.js", "views/variables.js", SCRIPT;
    "/dashboard/views/waits.js", "views/waits.js", SCRIPT;
    "/dashboard/views/memory.js", "views/memory.js", SCRIPT;
    "/dashboard/views/events.js", "views/events.js", SCRIPT;
    "/dashboard/views/logs.js", "views/logs.js", SCRIPT;
];

/// The file at a path.
pub(super) fn find(path: &str) -> Option<Response> {
    let (_, kind, content) = FILES.iter().find(|(at, ..)| *at == path)?;
    Some(Response::ok(kind, *content))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_is_listed_and_all_together_are_small() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/dashboard");
        let count = |folder: &Path| {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.is_file()).count()
        };
        assert_eq!(count(&folder) + count(&folder.join("views")), FILES.len());
        let bytes: usize = FILES.iter().map(|(.., content)| content.len()).sum();
        assert!(bytes < 300_000, "{bytes} bytes");
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere_and_no_text_becomes_markup() {
        for (path, _, content) in FILES {
            for line in content.lines() {
                let is_name = line.contains("http://www.w3.org/");
                let is_remote = line.contains("http://") || line.contains("https://");
                assert!(!is_remote || is_name, "{path}: {line}");
                for word in
                    ["innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write"]
                {
                    assert!(!line.contains(word), "{path}: {line}");
                }
            }
        }
    }

    #[test]
    fn every_import_leads_to_a_file() {
        for (path, kind, content) in FILES.iter().filter(|(_, kind, _)| *kind == SCRIPT) {
            assert_eq!(*kind, SCRIPT);
            let imports = content.lines().filter_map(|line| line.split(" from \"").nth(1));
            for import in imports {
                let name = import.split('"').next().unwrap();
                let base = Path::new(path).parent().unwrap();
                let name = name.strip_prefix("./").unwrap_or(name);
                let target = match name.strip_prefix("../") {
                    Some(name) => base.parent().unwrap().join(name),
                    None => base.join(name),
                };
                assert!(find(target.to_str().unwrap()).is_some(), "{path}: {import}");
            }
        }
    }
}
