//! Reads and compiles modules on another thread before the isolate loads them.
//!
//! Modules run one after another, but they can be read and compiled at the same time. A module that
//! is not ready when the isolate needs it is compiled by the isolate.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};

use super::cache_entry::Prepared;
use super::compile;
use super::node::NodeServices;
use super::sys::Sys;
use super::{assets, deep_stack, files, tsconfig};
use crate::load_trace::{self, Read};
use crate::lock;
use crate::source::url_of;
use crate::transpile_cache::Compiled;
use crate::verify::{self, Verifier};

/// Files that were announced, by path. They are taken within one batch of module loads.
static ANNOUNCED: Mutex<Option<HashMap<PathBuf, State>>> = Mutex::new(None);

/// Size limit of a text that is compiled ahead.
const MAX_SOURCE_BYTES: usize = 1 << 20;

enum State {
    Wanted,
    Ready(Prepared, Read),
}

/// Files that are compiled ahead. Its drop removes those that were not taken.
pub(crate) struct Prefetch(Vec<PathBuf>);

impl Prefetch {
    /// Announces files; [`Prefetch::compile`] does the work.
    pub(crate) fn announce(paths: &[PathBuf]) -> Prefetch {
        // The loader uses paths with all links followed.
        let disk = Sys::default();
        let paths = paths.iter().map(|path| files::real(&disk, path.clone()));
        let paths: Vec<_> = paths.collect();
        let mut announced = announced();
        let states = announced.get_or_insert_default();
        states.extend(paths.iter().map(|path| (path.clone(), State::Wanted)));
        Prefetch(paths)
    }

    /// Compiles the files that the isolate has not loaded yet. Blocks until all are done.
    pub(crate) fn compile(&self, compiled: Option<Arc<Compiled>>, verifier: Option<Arc<Verifier>>) {
        let node = Rc::new(NodeServices::new(compiled, verifier));
        let tsconfigs = tsconfig::Cache::on(node.sys());
        for path in self.0.iter().filter(|path| is_wanted(path)) {
            // An error in the file occurs again, and is reported, when the isolate loads it.
            if let Some((prepared, read)) = compiled_file(path, &tsconfigs, &node)
                && let Some(state @ State::Wanted) =
                    announced().get_or_insert_default().get_mut(path)
            {
                *state = State::Ready(prepared, read);
            }
        }
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        let mut announced = announced();
        let states = announced.get_or_insert_default();
        for path in &self.0 {
            states.remove(path);
        }
    }
}

/// Takes the file, if it is ready. It is not compiled ahead again.
pub(super) fn take(path: &Path, verifier: Option<&Verifier>) -> Option<Prepared> {
    let State::Ready(prepared, read) = announced().as_mut()?.remove(path)? else {
        return None;
    };
    // The file may have been compiled from bytes that this isolate may not load.
    if verifier.is_some_and(|verifier| verifier.check(path, read.hash()).is_err()) {
        return None;
    }
    load_trace::imported(path, read);
    Some(prepared)
}

fn compiled_file(
    path: &Path,
    tsconfigs: &tsconfig::Cache,
    node: &Rc<NodeServices>,
) -> Option<(Prepared, Read)> {
    if !path.is_file() || assets::is_asset(path) {
        return None;
    }
    let (text, read) = files::read(path, node.verifier()).ok()?;
    // Compiling a large file is left to the isolate, where it has a time limit.
    if text.len() > MAX_SOURCE_BYTES {
        return None;
    }
    let url = url_of(path).ok()?;
    let prepared = deep_stack::with_text(path, text, |text| {
        compile::prepare_text(path, &url, (text, read.digest()), tsconfigs, node)
    });
    verify::no_manifest_changed().ok()?;
    Some((prepared.ok()?, read))
}

fn is_wanted(path: &Path) -> bool {
    matches!(
        announced().get_or_insert_default().get(path),
        Some(State::Wanted)
    )
}

fn announced() -> MutexGuard<'static, Option<HashMap<PathBuf, State>>> {
    lock(&ANNOUNCED)
}
