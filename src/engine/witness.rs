//! What a module asked of the world while it loaded, apart from the code that it imports.
//!
//! An isolate never leaves its thread, so the notes are the thread's. Deno tells of every check of a
//! permission, even where everything is allowed; our own ops and the loader tell of the rest.
//! Whatever else runs in the isolate meanwhile is noted too: too much is noted, never too little.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use deno_runtime::deno_permissions::{AUDIT_SINK, AuditSink};

use super::isolate::Shared;
use crate::tool::CallTrace;

/// What one load asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    /// The environment variables that it looked at.
    pub(super) env: BTreeSet<String>,
    /// It looked at which there are.
    pub(super) lists_env: bool,
    /// When it began.
    pub(super) since: Option<SystemTime>,
    /// The paths that it looked at, other than by importing.
    pub(super) looked: BTreeSet<PathBuf>,
    /// Files that tell what it asked of the system.
    pub(super) system: BTreeSet<PathBuf>,
    /// Native code that it loaded. What that asks for is not seen: it counts as its file.
    pub(super) native: BTreeSet<PathBuf>,
    /// What it required in vain.
    pub(super) unfound: BTreeSet<String>,
    /// The files that it imported, with the hash of what was read.
    pub(super) imported: BTreeMap<PathBuf, String>,
    /// The files, imported by now, whose text names what tells the time without `Date`.
    pub(super) timely: BTreeSet<PathBuf>,
    /// Why the answer may be another one tomorrow, if it may.
    pub(super) fickle: Option<String>,
    /// It left something behind that the modules after it can see.
    pub(super) leaves_traces: bool,
    /// It, or a module before it, put something on the global object under a registered symbol.
    pub(super) has_symbols: bool,
}

#[derive(Default)]
struct Witness {
    /// How many loads are under way. More than one at a time share their notes.
    loads: u32,
    notes: Notes,
    /// Every file that was imported into the isolate, with the hash of what was read.
    read: HashMap<PathBuf, String>,
    timely: BTreeSet<PathBuf>,
    has_symbols: bool,
}

thread_local! {
    /// The isolate of this thread, whose calls are to blame for what is asked of the world.
    static ISOLATE: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
    static WITNESS: RefCell<Witness> = RefCell::default();
}

/// False where somebody else in this process listens to Deno: then nothing is known of any load.
static SEES: OnceLock<bool> = OnceLock::new();

/// Starts to listen; once, before the first isolate.
pub(super) fn open_eyes() {
    SEES.get_or_init(|| AUDIT_SINK.set(AuditSink::Otel(permission_checked)).is_ok());
}

/// This thread is the one of `isolate`.
pub(super) fn belongs_to(isolate: &Arc<Shared>) {
    ISOLATE.set(Some(isolate.clone()));
}

/// Notes something in the traces of the calls that run in this isolate. Which of them it is, the runtime does
/// not tell: too much is noted, never too little.
fn blame_calls(note: impl Fn(&CallTrace)) {
    ISOLATE.with_borrow(|isolate| {
        let traces = isolate.iter().flat_map(|isolate| isolate.requests.traces());
        traces.for_each(|trace| note(&trace));
    });
}

/// A load begins on this thread.
pub(super) fn load_begins() {
    WITNESS.with_borrow_mut(|witness| {
        if witness.loads == 0 {
            witness.notes = Notes {
                since: Some(SystemTime::now()),
                ..Notes::default()
            };
        }
        witness.loads += 1;
    });
}

/// A load is over; what it asked for.
pub(super) fn load_ended() -> Notes {
    WITNESS.with_borrow_mut(|witness| {
        witness.loads = witness.loads.saturating_sub(1);
        let mut notes = witness.notes.clone();
        notes.timely.clone_from(&witness.timely);
        notes.has_symbols = witness.has_symbols;
        if SEES.get() != Some(&true) {
            notes.fickle = Some("what it asks for cannot be seen".to_owned());
        }
        notes
    })
}

/// The answer may be another one tomorrow.
pub(super) fn fickle(why: &str) {
    note(|notes| {
        notes.fickle.get_or_insert_with(|| why.to_owned());
    });
}

/// The global object got a property under a registered symbol.
pub(super) fn registers_symbol() {
    WITNESS.with_borrow_mut(|witness| witness.has_symbols = true);
}

/// It required something that is not there.
pub(super) fn required_in_vain(specifier: &str) {
    note(|notes| {
        notes.unfound.insert(specifier.to_owned());
    });
}

/// What the module did can be seen by others.
pub(super) fn leaves_traces(what: &str) {
    note(|notes| notes.leaves_traces = true);
    fickle(what);
}

/// What is noted of a file that is imported.
pub(super) struct Read {
    hash: blake3::Hash,
    digest: String,
    is_timely: bool,
}

impl Read {
    /// Of a file with these bytes.
    pub(super) fn of(bytes: &[u8]) -> Read {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let hash = blake3::hash(bytes);
        Read {
            hash,
            digest: hash.to_hex().to_string(),
            is_timely: TIMELY.iter().any(|word| text.contains(word)),
        }
    }

    /// The hash of its bytes.
    pub(super) fn hash(&self) -> &blake3::Hash {
        &self.hash
    }

    /// The same as text.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }
}

/// A file was read because something imports it.
pub(super) fn imported(path: &Path, read: Read) {
    let Read {
        digest, is_timely, ..
    } = read;
    WITNESS.with_borrow_mut(|witness| {
        witness.read.insert(path.to_owned(), digest.clone());
        if is_timely {
            witness.timely.insert(path.to_owned());
        }
        if witness.loads > 0 {
            witness.notes.imported.insert(path.to_owned(), digest);
        }
    });
}

/// A path was imported by its computed name; it may have been read long ago.
pub(super) fn imported_again(path: &Path) {
    WITNESS.with_borrow_mut(|witness| {
        let known = witness.read.get(path).cloned();
        if witness.loads > 0
            && let Some(digest) = known
        {
            witness.notes.imported.insert(path.to_owned(), digest);
        }
    });
}

/// `Date` is watched by `js-runtime/09_witness.ts`; these are other ways to know the time.
const TIMELY: &[&str] = &["Temporal", "DateTimeFormat"];

/// The file that changes with an answer of the system that stays the same for long.
fn system_file(asked: &str) -> Option<&'static Path> {
    let file = match asked {
        "osRelease" => "/proc/sys/kernel/osrelease",
        "hostname" => "/proc/sys/kernel/hostname",
        "cpus" => "/sys/devices/system/cpu/online",
        "userInfo" | "username" => "/etc/passwd",
        _ => return None,
    };
    Some(Path::new(file))
}

fn note(write: impl FnOnce(&mut Notes)) {
    WITNESS.with_borrow_mut(|witness| {
        if witness.loads > 0 {
            write(&mut witness.notes);
        }
    });
}

/// Deno is about to see whether something is allowed. Opening a file is told as reading and as
/// writing it, whatever it is opened for.
fn permission_checked(permission: &str, value: &str, _stack: Option<&[String]>) {
    // Programs are told by those who start them, who know the call.
    if permission == "net" {
        blame_calls(|trace| trace.connects(value));
    }
    note(|notes| match permission {
        "env" if value == "null" => notes.lists_env = true,
        "env" => {
            notes.env.insert(value.to_owned());
        }
        "sys" if value == "homedir" => {
            notes.env.insert("HOME".to_owned());
        }
        // The cache belongs to the user, whose numbers they are.
        "sys" if matches!(value, "uid" | "gid" | "getegid") => {}
        "sys" if system_file(value).is_some_and(Path::exists) => {
            notes.system.extend(system_file(value).map(Path::to_owned));
        }
        "ffi" if Path::new(value).is_absolute() => {
            notes.native.insert(value.into());
        }
        "read" => {
            if let Ok(path) = std::path::absolute(value) {
                notes.looked.insert(path);
            }
        }
        "write" if std::path::absolute(value).is_ok_and(|path| notes.looked.contains(&path)) => {}
        _ => {
            let why = || format!("it uses `{permission}` ({value})");
            notes.fickle.get_or_insert_with(why);
        }
    });
}
