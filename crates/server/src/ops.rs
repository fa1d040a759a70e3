//! Which ops a server computes: those with effects outside of it are under a policy.

use std::collections::BTreeSet;
use std::sync::Arc;

use tensorfleet_files::{ConfinedFileSystem, FileSystem};
use tensorfleet_framework::{OpPolicy, Registry};
use tensorfleet_graph::Node;
use tensorfleet_ops::touches_files;
use tensorfleet_tensor::{Result, invalid_argument};

/// What stands for all ops that touch files.
const FILES: &str = "files";

/// Ops that are allowed and denied by name, or as `files`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    pub(crate) allow: BTreeSet<String>,
    pub(crate) deny: BTreeSet<String>,
    /// Whether files are out of reach where nothing else is said.
    pub(crate) is_untrusting: bool,
    /// What ops see of the files, where that is not all of them.
    pub(crate) files: Option<Arc<ConfinedFileSystem>>,
}

impl Policy {
    /// Whether it refuses nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.deny.is_empty() && !self.is_untrusting && self.files.is_none()
    }

    /// Refuses names that nothing has: a mistyped one would leave its op as it is.
    pub(crate) fn check(&self, ops: &Registry) -> Result<()> {
        let is_known = |name: &str| name == FILES || ops.iter().any(|(op, _)| op.name == name);
        match self.allow.iter().chain(&self.deny).find(|name| !is_known(name)) {
            Some(name) => Err(invalid_argument!("{name:?} is neither an op nor `{FILES}`")),
            None => Ok(()),
        }
    }

    fn refusal(&self, op: &str, is_file_op: bool) -> Option<String> {
        let says =
            |names: &BTreeSet<String>| names.contains(op) || (is_file_op && names.contains(FILES));
        if self.deny.contains(op) || (says(&self.deny) && !self.allow.contains(op)) {
            return Some(format!(
                "{op} is not computed here: the server was told so by --deny-ops"
            ));
        }
        if is_file_op && self.is_untrusting && self.files.is_none() && !says(&self.allow) {
            return Some(format!(
                "{op} would reach files of the server's machine, which it does not let clients do; \
                 `serve --fs-root=DIRECTORY` lets them use those below a directory, and \
                 --allow-ops={op} all files for this op"
            ));
        }
        None
    }
}

impl OpPolicy for Policy {
    fn refuse(&self, node: &Node, blocks: bool) -> Option<String> {
        self.refusal(&node.op, blocks || touches_files(node))
    }

    fn refuse_files(&self, op: &str) -> Option<String> {
        self.refusal(op, true)
    }

    fn marks_prints(&self) -> bool {
        self.is_untrusting
    }

    fn files(&self) -> Option<Arc<dyn FileSystem>> {
        self.files.clone().map(|files| files as Arc<dyn FileSystem>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &[&str], deny: &[&str], is_untrusting: bool) -> Policy {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Policy { allow: set(allow), deny: set(deny), is_untrusting, files: None }
    }

    #[test]
    fn what_is_allowed() {
        for (allow, deny, is_untrusting, refused) in [
            (&[][..], &[][..], false, [false, false, false]),
            (&[], &[], true, [true, true, false]),
            (&["ReadFile"], &[], true, [false, true, false]),
            (&["files"], &[], true, [false, false, false]),
            (&["files"], &["SaveV2"], true, [false, true, false]),
            (&["ReadFile"], &["files"], false, [false, true, false]),
            (&[], &["Add"], false, [false, false, true]),
            (&["Add"], &["Add"], false, [false, false, true]),
        ] {
            let policy = policy(allow, deny, is_untrusting);
            let ops = [("ReadFile", true), ("SaveV2", true), ("Add", false)];
            let found = ops.map(|(op, is_file_op)| policy.refusal(op, is_file_op).is_some());
            assert_eq!(found, refused, "{policy:?}");
        }
    }

    #[test]
    fn directories_that_are_open_allow_all_file_ops_that_are_not_denied() {
        let files = ConfinedFileSystem::new(["/"]).map(Arc::new).ok();
        let policy = Policy { files, ..policy(&[], &["SaveV2"], true) };
        assert!(policy.refusal("ReadFile", true).is_none() && OpPolicy::files(&policy).is_some());
        assert!(policy.refusal("SaveV2", true).is_some());
    }

    #[test]
    fn names_are_checked() {
        let ops = tensorfleet_ops::library();
        policy(&["files", "SaveV2"], &["Add"], true).check(&ops).unwrap();
        let error = policy(&["SaveV3"], &[], true).check(&ops).unwrap_err();
        assert!(error.message().contains("\"SaveV3\""), "{error}");
    }
}
