//! Cache of the imports that were found while files were compiled, so that each is parsed once.
//!
//! It is active only while graphs are being built, and only for the bytes that were compiled.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use deno_ast::ParsedSource;

use super::imports::Imports;
use crate::lock;

static LEARNED: Mutex<Learned> = Mutex::new(Learned {
    lessons: 0,
    imports: None,
});

struct Learned {
    /// Number of active lessons.
    lessons: u32,
    imports: Option<HashMap<(PathBuf, String), Imports>>,
}

/// Guard during whose life the imports of compiled files are cached.
pub(crate) struct ImportCollector(());

impl ImportCollector {
    pub(crate) fn begin() -> ImportCollector {
        learned().lessons += 1;
        ImportCollector(())
    }

    /// Stores the imports of a file that was compiled from bytes with this hash.
    pub(crate) fn learn(path: &Path, digest: &str, parsed: &ParsedSource) {
        if learned().lessons == 0 {
            return;
        }
        ImportCollector::recall(path, digest, Imports::of_parsed(parsed));
    }

    /// Stores imports that are known already for a file of bytes with this hash.
    pub(crate) fn recall(path: &Path, digest: &str, imports: Imports) {
        let mut learned = learned();
        if learned.lessons > 0 {
            let key = (path.to_owned(), digest.to_owned());
            let known = learned.imports.get_or_insert_default();
            known.insert(key, imports);
        }
    }
}

impl Drop for ImportCollector {
    fn drop(&mut self) {
        let mut learned = learned();
        learned.lessons -= 1;
        if learned.lessons == 0 {
            learned.imports = None;
        }
    }
}

/// Takes the imports of the file with these bytes from the cache.
pub(crate) fn take_imports(path: &Path, digest: &str) -> Option<Imports> {
    let key = (path.to_owned(), digest.to_owned());
    learned().imports.as_mut()?.remove(&key)
}

fn learned() -> MutexGuard<'static, Learned> {
    lock(&LEARNED)
}
