//! Shadowed files: they are restored if the file that has their key may not run.
//!
//! A project's file replaces the user's file of the same key, because oh-my-pi is customised that
//! way. But cloning a repository must not disable a user's tool before the user has trusted the
//! project.

use std::path::{Path, PathBuf};

use super::{Candidate, Scan, Verdict};
use haft_tool::Problem;

/// A shadowed file.
#[derive(Clone, Debug)]
pub(super) struct ShadowedFiles {
    pub(super) candidate: Candidate,
    /// The file that took its key.
    pub(super) of: PathBuf,
    /// The problem that reports the shadowing, while it lasts.
    pub(super) problem: Problem,
}

impl Scan {
    /// Restores the next file of the same key behind each of these candidates, which may not run.
    /// Returns true if there was one.
    pub fn restore(&mut self, may_not_run: &[PathBuf]) -> bool {
        let mut is_changed = false;
        for refused in may_not_run {
            let next = self.spares.iter().position(|spare| spare.of == *refused);
            let place = self.candidates.iter().position(|it| it.path == *refused);
            let (Some(next), Some(place)) = (next, place) else {
                continue;
            };
            let spare = self.spares.remove(next);
            self.problems.retain(|problem| *problem != spare.problem);
            self.set_verdict(&spare.candidate.path);
            // The other shadowed files of this key are now shadowed by the restored file.
            for other in self.spares.iter_mut().filter(|it| it.of == *refused) {
                other.of = spare.candidate.path.clone();
            }
            self.candidates.insert(place + 1, spare.candidate);
            is_changed = true;
        }
        is_changed
    }

    fn set_verdict(&mut self, path: &Path) {
        for looked_at in &mut self.looked_at {
            if looked_at.path == *path && matches!(looked_at.verdict, Verdict::Shadowed { .. }) {
                looked_at.verdict = Verdict::Candidate;
            }
        }
    }
}
