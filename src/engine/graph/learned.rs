//! What files import, learned while they were compiled: a file is parsed once for both.
//!
//! Only while somebody wants graphs, and only for the bytes that were compiled.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use deno_ast::ParsedSource;

use super::imports::Imports;

static LEARNED: Mutex<Learned> = Mutex::new(Learned {
    lessons: 0,
    imports: None,
});

struct Learned {
    /// How many want to learn.
    lessons: u32,
    imports: Option<HashMap<(PathBuf, String), Imports>>,
}

/// While it lives, files that are compiled are remembered by what they import.
pub(in crate::engine) struct Lesson(());

impl Lesson {
    pub(in crate::engine) fn begin() -> Lesson {
        learned().lessons += 1;
        Lesson(())
    }

    /// Learns from a file that was compiled from bytes with this hash.
    pub(in crate::engine) fn learn(path: &Path, digest: &str, parsed: &ParsedSource) {
        if learned().lessons == 0 {
            return;
        }
        Lesson::recall(path, digest, Imports::of_parsed(parsed));
    }

    /// Learns what somebody knows already about a file of bytes with this hash.
    pub(in crate::engine) fn recall(path: &Path, digest: &str, imports: Imports) {
        let mut learned = learned();
        if learned.lessons > 0 {
            let key = (path.to_owned(), digest.to_owned());
            let known = learned.imports.get_or_insert_default();
            known.insert(key, imports);
        }
    }
}

impl Drop for Lesson {
    fn drop(&mut self) {
        let mut learned = learned();
        learned.lessons -= 1;
        if learned.lessons == 0 {
            learned.imports = None;
        }
    }
}

/// What the file with these bytes imports, if it was learned.
pub(super) fn take(path: &Path, digest: &str) -> Option<Imports> {
    let key = (path.to_owned(), digest.to_owned());
    learned().imports.as_mut()?.remove(&key)
}

fn learned() -> MutexGuard<'static, Learned> {
    LEARNED.lock().unwrap_or_else(PoisonError::into_inner)
}
