//! Denied parts of granted folders.
//!
//! The kernel's rules only grant, and a rule for a folder covers everything below it. So a granted
//! folder with a denied part is granted by its other entries, as they are when the rules are made.
//! The folder itself is not granted then: it cannot be listed, and nothing can be made in it.

use std::path::{Path, PathBuf};

use super::{Access, SandboxError};
use crate::GrantedPath;

/// Limit of the entries that stand for the granted folders of one sandbox. Each takes about ten
/// microseconds.
const MAX_ENTRIES: usize = 16_384;

/// Denied paths that are cut out of granted ones.
pub(super) struct DeniedCut {
    denied: Vec<PathBuf>,
    max_entries: usize,
}

impl DeniedCut {
    pub(super) fn new(denied: &[&[PathBuf]]) -> DeniedCut {
        DeniedCut {
            denied: denied.concat(),
            max_entries: MAX_ENTRIES,
        }
    }

    /// Returns the paths that are granted without the denied ones. `None`: everything.
    ///
    /// # Errors
    /// If too many entries would stand for a folder.
    pub(super) fn of_access(
        &self,
        access: &Access,
    ) -> Result<Option<Vec<GrantedPath>>, SandboxError> {
        let root = GrantedPath::without_links(Path::new("/"));
        let root: Vec<GrantedPath> = root.into_iter().collect();
        match access {
            Access::All if self.denied.is_empty() => Ok(None),
            Access::All => self.cut(&root, &self.denied).map(Some),
            Access::Paths(paths) => self.cut(paths, &self.denied).map(Some),
        }
    }

    /// Returns these paths without denied ones that lie within them. A denied path that contains one
    /// of them does not count.
    ///
    /// # Errors
    /// If too many entries would stand for a folder.
    pub(super) fn of_needed(
        &self,
        needed: &[GrantedPath],
    ) -> Result<Vec<GrantedPath>, SandboxError> {
        let mut left = Vec::new();
        for path in needed {
            let outside = |denied: &&PathBuf| !path.as_path().starts_with(denied);
            let within: Vec<PathBuf> = self.denied.iter().filter(outside).cloned().collect();
            left.extend(self.cut(std::slice::from_ref(path), &within)?);
        }
        Ok(left)
    }

    fn cut(
        &self,
        granted: &[GrantedPath],
        denied: &[PathBuf],
    ) -> Result<Vec<GrantedPath>, SandboxError> {
        let left = granted.iter().flat_map(|path| path.clone().without(denied));
        let left: Vec<GrantedPath> = left.collect();
        if left.len() > granted.len().saturating_add(self.max_entries) {
            return Err(SandboxError::Denied(denied.to_vec()));
        }
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn granted(path: &Path) -> GrantedPath {
        GrantedPath::without_links(path).expect("no links")
    }

    #[test]
    fn denied_paths_are_cut_out_of_everything_and_of_what_is_needed() {
        let scratch = tempfile::tempdir().expect("a folder");
        let root = scratch.path().canonicalize().expect("it exists");
        for name in ["private", "open"] {
            fs::write(root.join(name), "").expect("a file of ours");
        }
        let private = root.join("private");
        let cut = DeniedCut::new(&[std::slice::from_ref(&private), &[]]);
        let left = cut
            .of_access(&Access::All)
            .expect("few entries")
            .expect("a list");
        assert!(left.contains(&granted(&root.join("open"))));
        assert!(!left.iter().any(|path| path.contains(&private)), "{left:?}");
        assert_eq!(
            DeniedCut::new(&[])
                .of_access(&Access::All)
                .expect("no entries"),
            None
        );

        let around = DeniedCut::new(&[&[root.clone(), private]]);
        let needed = around.of_needed(&[granted(&root)]).expect("few entries");
        assert_eq!(needed, [granted(&root.join("open"))]);
    }

    #[test]
    fn too_many_entries_are_refused() {
        let scratch = tempfile::tempdir().expect("a folder");
        let root = scratch.path().canonicalize().expect("it exists");
        for name in ["a", "b", "c"] {
            fs::write(root.join(name), "").expect("a file of ours");
        }
        let cut = DeniedCut {
            denied: vec![root.join("private")],
            max_entries: 1,
        };
        let refused = cut.of_access(&Access::Paths(vec![granted(&root)]));
        assert!(
            matches!(refused, Err(SandboxError::Denied(_))),
            "{refused:?}"
        );
    }
}
