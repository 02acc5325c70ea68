//! Checks that modules of a project load only the bytes that the user trusted.
//!
//! All code paths that turn bytes into code pass the digest of exactly these bytes to the verifier.
//! So it does not matter how or when a module reached the file. An isolate of the project has one
//! [`Verifier`] for its whole life; isolates of the user's own code have none.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use deno_error::JsErrorBox;

use super::lock;
use haft_process::regular_files;
use haft_tool::{CodeFromData, Unverified, VerifiedFiles};

/// The files that the isolates of a project may load: none until something is trusted.
#[derive(Default)]
pub struct Verifier {
    files: RwLock<Arc<VerifiedFiles>>,
    /// Files outside of the grant that were loaded, with their digests; `None` refuses such files.
    learned: Option<Mutex<BTreeMap<PathBuf, blake3::Hash>>>,
    /// Receives each file that is learned, in a worker process.
    on_learned: Option<Box<OnLearned>>,
}

type OnLearned = dyn Fn(&Path, &blake3::Hash) + Send + Sync;

/// Kind of data that is to run as code and does not come from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeFrom {
    /// `node:vm`, `module._compile`, hooks of `node:module`.
    Text,
    /// `import("data:…")`.
    DataUrl,
    /// `WebAssembly`.
    Bytes,
}

/// An untrusted file that a tool has read as a whole.
struct Data {
    path: PathBuf,
    digest: blake3::Hash,
    text: String,
}

/// Limits of the file contents that are kept after tools read them as data.
const MAX_NOTED_BYTES: usize = 8 << 20;
const MAX_NOTED_FILES: usize = 256;

/// A shorter text can be a part of code by accident.
const MIN_PART_BYTES: usize = 24;

/// Extensions of files of npm packages whose text may become code.
const CODE_EXTENSIONS: [&str; 12] = [
    "", "cjs", "cts", "js", "json", "jsx", "mjs", "mts", "ts", "tsx", "txt", "wasm",
];

thread_local! {
    /// The last manifest that was read and differs from its trusted version. Resolvers treat a file
    /// that cannot be read as missing, so their results are not reliable then.
    static CHANGED_MANIFEST: RefCell<Option<String>> = const { RefCell::new(None) };

    /// The files that tools have read as data, the newest last.
    static READ: RefCell<VecDeque<Data>> = const { RefCell::new(VecDeque::new()) };

    /// Project files that tools have opened for reading and that are not trusted in this version,
    /// with their digests. The digest is `None` for a file that is too large to be compared at each
    /// opening. The content may have become any other text. So from then on no computed text may
    /// become code.
    static UNVERIFIED: RefCell<BTreeMap<PathBuf, Option<blake3::Hash>>> =
        const { RefCell::new(BTreeMap::new()) };

    /// The code that `require` received for verified files. It is passed back to be compiled.
    static COMPILED: RefCell<HashSet<blake3::Hash>> = RefCell::default();
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

impl Verifier {
    /// Returns a verifier that accepts files outside of the grant and records them. Files that
    /// changed are refused all the same.
    pub fn learning() -> Verifier {
        Verifier {
            learned: Some(Mutex::default()),
            ..Verifier::default()
        }
    }

    /// Returns a verifier like [`Verifier::learning`] that also reports each file to `on_learned`.
    pub(super) fn learning_with(
        on_learned: impl Fn(&Path, &blake3::Hash) + Send + Sync + 'static,
    ) -> Verifier {
        Verifier {
            on_learned: Some(Box::new(on_learned)),
            ..Verifier::learning()
        }
    }

    /// Returns true if it accepts files outside of the grant.
    pub(super) fn is_learning(&self) -> bool {
        self.learned.is_some()
    }

    /// Records a file that a worker process has accepted.
    pub(super) fn learn(&self, path: PathBuf, digest: blake3::Hash) {
        if let Some(learned) = &self.learned {
            let mut learned = lock(learned);
            learned.entry(path).or_insert(digest);
        }
    }

    /// Sets the files that are trusted from now on.
    pub fn trust(&self, files: Arc<VerifiedFiles>) {
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = files;
    }

    /// Returns the files that were accepted although they are not part of the grant.
    pub fn learned(&self) -> BTreeMap<PathBuf, blake3::Hash> {
        let learned = self.learned.as_ref();
        learned
            .map(|learned| lock(learned).clone())
            .unwrap_or_default()
    }

    /// Checks the digest of the bytes that were read from `path` and are about to be used.
    pub(super) fn check(&self, path: &Path, digest: &blake3::Hash) -> Result<(), JsErrorBox> {
        self.verdict(path, digest).map_err(|why| {
            tracing::warn!(path = %path.display(), ?why, "not loaded");
            JsErrorBox::generic(why.refusal(path))
        })
    }

    /// Checks `package.json` and `tsconfig.json`, which determine what an import resolves to.
    pub(super) fn check_manifest(&self, path: &Path, bytes: &[u8]) -> Result<(), Unverified> {
        let checked = self.verdict(path, &blake3::hash(bytes));
        if checked == Err(Unverified::Changed) {
            let refusal = Unverified::Changed.refusal(path);
            CHANGED_MANIFEST.set(Some(refusal));
        }
        checked
    }

    /// Checks a file by reading it. This is for native code, which the system loads by its path.
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

    /// Checks bytes that are to become WebAssembly; `path` is the file that they come from, if
    /// known.
    pub(super) fn check_wasm(&self, bytes: &[u8], path: Option<&Path>) -> Result<(), JsErrorBox> {
        let (files, digest) = (self.files(), blake3::hash(bytes));
        if files.has_digest(&digest) {
            return Ok(());
        }
        let path = path.map(Path::to_owned);
        match path.or_else(|| read_with(|read| read.digest == digest)) {
            Some(path) => self.check(&path, &digest),
            None => self.check_computed(files.code_from_bytes, CodeFrom::Bytes),
        }
    }

    /// Notes a file that a tool has opened to read it in parts.
    pub(super) fn note_opened(&self, path: &Path, file: &File) {
        let Ok(found) = file.metadata() else { return };
        if !found.is_file() {
            return;
        }
        let size = usize::try_from(found.len()).unwrap_or(usize::MAX);
        match read_up_to(file, size.min(MAX_NOTED_BYTES + 1)) {
            Ok(bytes) if bytes.len() <= MAX_NOTED_BYTES => self.note_data(path, &bytes),
            _ => self.note_unverified(&real_path(path), None),
        }
    }

    /// Notes a file or a directory that a tool copies, perhaps out of the project.
    pub(super) fn note_copied(&self, path: &Path) {
        match regular_files::open(path) {
            Ok(file) => self.note_opened(path, &file),
            Err(_) => self.note_unverified(&real_path(path), None),
        }
    }

    /// Notes a file that a tool reads as data, in case the tool makes code of it later.
    pub(super) fn note_data(&self, path: &Path, bytes: &[u8]) {
        let real = real_path(path);
        let digest = blake3::hash(bytes);
        if bytes.is_empty() || self.files().check_module(&real, &digest).is_ok() {
            return;
        }
        self.note_unverified(&real, Some(digest));
        if bytes.len() > MAX_NOTED_BYTES {
            return;
        }
        READ.with_borrow_mut(|all| {
            all.retain(|read| read.path != real);
            all.push_back(Data {
                path: real,
                digest,
                text: String::from_utf8_lossy(bytes).trim().to_owned(),
            });
            let size = |all: &VecDeque<Data>| all.iter().map(|read| read.text.len()).sum::<usize>();
            while size(all) > MAX_NOTED_BYTES || all.len() > MAX_NOTED_FILES {
                all.pop_front();
            }
        });
    }

    /// Checks code that `require` compiles: that of a verified file, or text.
    pub(super) fn check_required(&self, code: &str) -> Result<(), JsErrorBox> {
        let digest = blake3::hash(code.as_bytes());
        if COMPILED.with_borrow(|compiled| compiled.contains(&digest)) {
            Ok(())
        } else {
            self.check_text(code, CodeFrom::Text)
        }
    }

    /// Checks text that is to become code. Text that contains a file's content counts as that file.
    pub(super) fn check_text(&self, text: &str, from: CodeFrom) -> Result<(), JsErrorBox> {
        let source = text.trim();
        let is_made_of = |read: &Data| {
            let is_long = read.text.len() >= MIN_PART_BYTES;
            source == read.text || (is_long && source.contains(&read.text))
        };
        let mut digest = None;
        let path = read_with(|read| {
            digest = Some(read.digest);
            is_made_of(read)
        });
        if let (Some(path), Some(digest)) = (path, digest) {
            return self.check(&path, &digest);
        }
        let files = self.files();
        let may_be_of_a_file = files.code_from_text == CodeFromData::UntilFilesAreRead;
        if may_be_of_a_file && files.has_digest(&blake3::hash(text.as_bytes())) {
            return Ok(());
        }
        self.check_computed(files.code_from_text, from)
    }

    fn note_unverified(&self, real: &Path, digest: Option<blake3::Hash>) {
        let files = self.files();
        let is_of_project = files.is_of_project(real) && !is_data_of_a_package(real);
        if is_of_project || files.lists(real) {
            UNVERIFIED.with_borrow_mut(|all| {
                if all.len() < MAX_NOTED_FILES {
                    all.insert(real.to_owned(), digest);
                }
            });
        }
    }

    /// Checks if data that does not come from a known file may become code.
    fn check_computed(&self, right: CodeFromData, from: CodeFrom) -> Result<(), JsErrorBox> {
        match right {
            CodeFromData::Never => Err(JsErrorBox::generic(from.refusal())),
            CodeFromData::Always => Ok(()),
            // A file may have been trusted or learned since it was read.
            CodeFromData::UntilFilesAreRead => UNVERIFIED.with_borrow(|read| {
                read.iter().try_for_each(|(path, digest)| {
                    let verdict = digest.as_ref().map(|digest| self.verdict(path, digest));
                    verdict
                        .unwrap_or(Err(Unverified::Unlisted))
                        .map_err(|why| JsErrorBox::generic(from.refusal_after(path, why)))
                })
            }),
        }
    }

    fn verdict(&self, path: &Path, digest: &blake3::Hash) -> Result<(), Unverified> {
        let files = self.files();
        let verdict = files.check_module(path, digest);
        if verdict != Err(Unverified::Unlisted) {
            return verdict;
        }
        // Manifests are looked up by the names of links as well.
        let real = real_path(path);
        match (files.check_module(&real, digest), &self.learned) {
            (Err(Unverified::Unlisted), Some(learned)) => {
                let mut learned = lock(learned);
                if let (Some(report), false) = (&self.on_learned, learned.contains_key(&real)) {
                    report(&real, digest);
                }
                let known = learned.entry(real).or_insert(*digest);
                if known == digest {
                    Ok(())
                } else {
                    Err(Unverified::Changed)
                }
            }
            (verdict, _) => verdict,
        }
    }

    pub(super) fn files(&self) -> Arc<VerifiedFiles> {
        let files = self.files.read();
        files.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl CodeFrom {
    fn refusal(self) -> String {
        format!("{}, because {TEXT_IS_NOT_TRUSTED}", self.what_was_not_run())
    }

    /// Returns the refusal for data that may come from the file at `path`.
    fn refusal_after(self, path: &Path, why: Unverified) -> String {
        let (what, why) = (self.what_was_not_run(), why.refusal(path));
        format!(
            "{what}, because a module has read a file before, and this may come from it. {why}. \
             `haft trust --allow-eval` allows code of any data"
        )
    }

    fn what_was_not_run(self) -> &'static str {
        match self {
            CodeFrom::Text => "Text was not run as code",
            CodeFrom::DataUrl => "A `data:` URL was not imported",
            CodeFrom::Bytes => {
                "Bytes that are not those of a trusted file were not run as WebAssembly"
            }
        }
    }
}

/// Reason for which `eval` and the like are refused, with the command that allows them.
pub const TEXT_IS_NOT_TRUSTED: &str = "the trust page did not say that the project's modules \
     make code of data: `haft trust --allow-eval` shows the page, and asks";

/// Returns the newest file that tools have read as data for which `is_it` is true.
fn read_with(mut is_it: impl FnMut(&Data) -> bool) -> Option<PathBuf> {
    READ.with_borrow(|all| {
        let found = all.iter().rev().find(|read| is_it(read));
        found.map(|read| read.path.clone())
    })
}

/// Returns true for a file of an npm package that a package reads as data, such as a style sheet or
/// a dictionary. Packages read such files when they are loaded, and many compile functions as well.
fn is_data_of_a_package(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let may_be_code = CODE_EXTENSIONS.contains(&extension.to_lowercase().as_str());
    let mut folders = path.components();
    !may_be_code && folders.any(|folder| folder.as_os_str() == "node_modules")
}

fn real_path(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Reads the first `size` bytes without moving the position at which the tool reads.
fn read_up_to(file: &File, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        match file.read_at(&mut bytes[filled..], filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Notes that the code of a verified file is about to be compiled by `require`.
pub(super) fn may_compile(code: &str, verifier: Option<&Verifier>) {
    if verifier.is_some() {
        let digest = blake3::hash(code.as_bytes());
        COMPILED.with_borrow_mut(|compiled| compiled.insert(digest));
    }
}

/// Fails if a manifest that was read since the last call differs from its trusted version.
pub(super) fn no_manifest_changed() -> Result<(), JsErrorBox> {
    match CHANGED_MANIFEST.take() {
        Some(refusal) => Err(JsErrorBox::generic(refusal)),
        None => Ok(()),
    }
}
