//! Checks that modules of a project load only the bytes that the user trusted.
//!
//! Every place where bytes become code asks here with the digest of the bytes that it is about to
//! use, so it does not matter how a module reached the file, or when. An isolate of the project has
//! one [`Verifier`] for its whole life; isolates of the user's own code have none.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use deno_error::JsErrorBox;

use crate::tool::{Unverified, VerifiedFiles};

/// What the isolates of a project may load. Until something is trusted, nothing.
#[derive(Debug, Default)]
pub struct Verifier {
    files: RwLock<Arc<VerifiedFiles>>,
    /// Files outside of the grant that were loaded, with their digests; `None`: they are refused.
    learned: Option<Mutex<BTreeMap<PathBuf, blake3::Hash>>>,
}

/// Data that is to be run as code although it is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeFrom {
    /// `node:vm`, `module._compile`, hooks of `node:module`.
    Text,
    /// `import("data:…")`.
    DataUrl,
    /// `WebAssembly`.
    Bytes,
}

thread_local! {
    /// The last manifest that was read and is not as it was trusted. Resolvers take a file that cannot
    /// be read for one that is not there, so what they find is not to be believed.
    static CHANGED_MANIFEST: RefCell<Option<String>> = const { RefCell::new(None) };

    /// The code that `require` was given for verified files. It comes back to be compiled.
    static COMPILED: RefCell<HashSet<blake3::Hash>> = RefCell::default();
}

impl Verifier {
    /// A verifier that lets files outside of the grant pass and takes note of them. Those that changed
    /// are refused all the same.
    pub fn learning() -> Verifier {
        Verifier {
            learned: Some(Mutex::default()),
            ..Verifier::default()
        }
    }

    /// What is trusted from now on.
    pub fn trust(&self, files: Arc<VerifiedFiles>) {
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = files;
    }

    /// The files that were let through although they are not part of the grant.
    pub fn learned(&self) -> BTreeMap<PathBuf, blake3::Hash> {
        let learned = self.learned.as_ref().map(|learned| {
            let learned = learned.lock();
            learned.unwrap_or_else(PoisonError::into_inner).clone()
        });
        learned.unwrap_or_default()
    }

    /// Checks the digest of the bytes that were read from `path` and are about to be used.
    pub(super) fn check(&self, path: &Path, digest: &blake3::Hash) -> Result<(), JsErrorBox> {
        self.verdict(path, digest).map_err(|why| {
            tracing::warn!(path = %path.display(), ?why, "not loaded");
            JsErrorBox::generic(why.refusal(path))
        })
    }

    /// The same for `package.json` and `tsconfig.json`, which decide what an import means.
    pub(super) fn check_manifest(&self, path: &Path, bytes: &[u8]) -> Result<(), Unverified> {
        let checked = self.verdict(path, &blake3::hash(bytes));
        if checked == Err(Unverified::Changed) {
            let refusal = Unverified::Changed.refusal(path);
            CHANGED_MANIFEST.set(Some(refusal));
        }
        checked
    }

    /// Checks a file by reading it: native code, which the system loads by its path.
    pub(super) fn check_file(&self, path: &Path) -> Result<(), JsErrorBox> {
        let read = || {
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(std::fs::File::open(path)?)?;
            std::io::Result::Ok(hasher.finalize())
        };
        let digest = read().map_err(|error| {
            JsErrorBox::generic(format!("Cannot read `{}`: {error}", path.display()))
        })?;
        let real = std::fs::canonicalize(path);
        self.check(real.as_deref().unwrap_or(path), &digest)
    }

    /// Checks bytes that are to become WebAssembly; `path` is where they were read, if that is known.
    pub(super) fn check_wasm(&self, bytes: &[u8], path: Option<&Path>) -> Result<(), JsErrorBox> {
        let (files, digest) = (self.files(), blake3::hash(bytes));
        if files.has_digest(&digest) {
            return Ok(());
        }
        match path {
            // What is listed has the bytes that were trusted, whatever else is allowed.
            Some(path) if files.lists(path) || !files.code_from_bytes => self.check(path, &digest),
            None if !files.code_from_bytes => Err(JsErrorBox::generic(CodeFrom::Bytes.refusal())),
            _ => Ok(()),
        }
    }

    /// Checks a file that a tool reads as data: one that was trusted as WebAssembly stays that.
    pub(super) fn check_data(&self, path: &Path, bytes: &[u8]) -> Result<(), JsErrorBox> {
        let is_wasm = path
            .extension()
            .is_some_and(|extension| extension == "wasm");
        let real = || std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match is_wasm && self.files().lists(&real()) {
            true => self.check(path, &blake3::hash(bytes)),
            false => Ok(()),
        }
    }

    /// Whether modules may make code of text.
    pub(super) fn allows_text(&self) -> bool {
        self.files().code_from_text
    }

    /// Checks code that `require` compiles: that of a verified file, or text.
    pub(super) fn check_required(&self, code: &str) -> Result<(), JsErrorBox> {
        let digest = blake3::hash(code.as_bytes());
        match COMPILED.with_borrow(|compiled| compiled.contains(&digest)) {
            true => Ok(()),
            false => self.check_text(CodeFrom::Text),
        }
    }

    /// Checks that modules may make code of text.
    pub(super) fn check_text(&self, from: CodeFrom) -> Result<(), JsErrorBox> {
        match self.allows_text() {
            true => Ok(()),
            false => Err(JsErrorBox::generic(from.refusal())),
        }
    }

    fn verdict(&self, path: &Path, digest: &blake3::Hash) -> Result<(), Unverified> {
        let files = self.files();
        let verdict = files.check_module(path, digest);
        if verdict != Err(Unverified::Unlisted) {
            return verdict;
        }
        // Manifests are looked up by the names of links as well.
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match (files.check_module(&real, digest), &self.learned) {
            (Err(Unverified::Unlisted), Some(learned)) => {
                let mut learned = learned.lock().unwrap_or_else(PoisonError::into_inner);
                let known = learned.entry(real).or_insert(*digest);
                match known == digest {
                    true => Ok(()),
                    false => Err(Unverified::Changed),
                }
            }
            (verdict, _) => verdict,
        }
    }

    fn files(&self) -> Arc<VerifiedFiles> {
        let files = self.files.read();
        files.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl CodeFrom {
    fn refusal(self) -> String {
        let what = match self {
            CodeFrom::Text => "Text was not run as code",
            CodeFrom::DataUrl => "A `data:` URL was not imported",
            CodeFrom::Bytes => "Bytes that are no trusted file were not run as WebAssembly",
        };
        format!("{what}, because {TEXT_IS_NOT_TRUSTED}")
    }
}

/// Why `eval` and the like are refused, and what the user can do.
pub(crate) const TEXT_IS_NOT_TRUSTED: &str = "the trust page did not say that the project's modules \
     make code of data: `haft trust --allow-eval` shows the page, and asks";

/// Notes that the code of a verified file is about to be compiled by `require`.
pub(super) fn may_compile(code: &str, verifier: Option<&Verifier>) {
    if verifier.is_some() {
        let digest = blake3::hash(code.as_bytes());
        COMPILED.with_borrow_mut(|compiled| compiled.insert(digest));
    }
}

/// Fails if a manifest that was read since the last time is not as it was trusted.
pub(super) fn no_manifest_changed() -> Result<(), JsErrorBox> {
    match CHANGED_MANIFEST.take() {
        Some(refusal) => Err(JsErrorBox::generic(refusal)),
        None => Ok(()),
    }
}
