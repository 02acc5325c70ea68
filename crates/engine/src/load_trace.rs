//! Recorder of the inputs of a module load, apart from the code that it imports.
//!
//! An isolate never leaves its thread, so the notes are kept per thread. Deno reports every
//! permission check, even where everything is allowed; our own ops and the loader report the rest.
//! Other code that runs in the isolate meanwhile is recorded too: the notes may contain too much,
//! never too little.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use super::load_inputs::LoadTrace;
use super::worker::HostLink;
use deno_runtime::deno_permissions::{AUDIT_SINK, AuditSink};
use haft_tool::{PermissionKind, PermissionProfile};

#[derive(Default)]
struct Recorder {
    /// Number of loads under way. Loads at the same time share their notes.
    loads: u32,
    notes: LoadTrace,
    /// Every file that was imported into the isolate, with the hash of what was read.
    read: HashMap<PathBuf, String>,
    timely: BTreeSet<PathBuf>,
    has_symbols: bool,
}

thread_local! {
    /// The link to the callers of the isolate of this thread, whose calls may have caused the recorded
    /// accesses.
    static LINK: RefCell<Option<Arc<HostLink>>> = const { RefCell::new(None) };
    static WITNESS: RefCell<Recorder> = RefCell::default();
    /// True if every access of the isolate is recorded, for `haft permit --record`.
    static IS_RECORDED: Cell<bool> = const { Cell::new(false) };
}

/// False if another part of this process receives Deno's reports: then no load's inputs are known.
static SEES: OnceLock<bool> = OnceLock::new();

/// Installs the recorder; once, before the first isolate.
pub(super) fn install_recorder() {
    SEES.get_or_init(|| AUDIT_SINK.set(AuditSink::Otel(permission_checked)).is_ok());
}

/// Registers the link of the isolate of this thread.
pub(super) fn belongs_to(link: Arc<HostLink>, permissions: &PermissionProfile) {
    LINK.set(Some(link));
    IS_RECORDED.set(permissions.is_recorded);
}

/// Notes that a load begins on this thread.
pub(super) fn load_begins() {
    WITNESS.with_borrow_mut(|witness| {
        if witness.loads == 0 {
            witness.notes = LoadTrace {
                since: Some(SystemTime::now()),
                ..LoadTrace::default()
            };
        }
        witness.loads += 1;
    });
}

/// Notes that a load has ended, and returns its inputs.
pub(super) fn load_ended() -> LoadTrace {
    WITNESS.with_borrow_mut(|witness| {
        witness.loads = witness.loads.saturating_sub(1);
        let mut notes = witness.notes.clone();
        notes.timely.clone_from(&witness.timely);
        notes.has_symbols = witness.has_symbols;
        if SEES.get() != Some(&true) {
            notes.mark_uncacheable = Some("what it asks for cannot be seen".to_owned());
        }
        notes
    })
}

/// Marks the load as uncacheable: its description may change without a change of recorded inputs.
pub(super) fn mark_uncacheable(why: &str) {
    note(|notes| {
        notes.mark_uncacheable.get_or_insert_with(|| why.to_owned());
    });
}

/// Notes that the global object got a property under a registered symbol.
pub(super) fn registers_symbol() {
    WITNESS.with_borrow_mut(|witness| witness.has_symbols = true);
}

/// Notes a specifier that `require` did not find.
pub(super) fn require_failed(specifier: &str) {
    note(|notes| {
        notes.unfound.insert(specifier.to_owned());
    });
}

/// Notes that other modules can see what the module did.
pub(super) fn mark_side_effects(what: &str) {
    note(|notes| notes.mark_side_effects = true);
    mark_uncacheable(what);
}

/// Properties of an imported file that are recorded.
pub(super) struct Read {
    hash: blake3::Hash,
    digest: String,
    is_timely: bool,
}

impl Read {
    /// Returns the properties of a file with these bytes.
    pub(super) fn of(bytes: &[u8]) -> Read {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let hash = blake3::hash(bytes);
        Read {
            hash,
            digest: hash.to_hex().to_string(),
            is_timely: TIMELY.iter().any(|word| text.contains(word)),
        }
    }

    /// Returns the hash of its bytes.
    pub(super) fn hash(&self) -> &blake3::Hash {
        &self.hash
    }

    /// Returns the hash as text.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }
}

/// Notes that a file was read for an import.
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

/// Notes that a path was imported by its computed name; it may have been read long ago.
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

/// Other clocks than `Date`, which `js-runtime/09_load_trace.ts` watches.
const TIMELY: &[&str] = &["Temporal", "DateTimeFormat"];

/// Returns the file that changes with a long-lived answer of the system.
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

fn note(write: impl FnOnce(&mut LoadTrace)) {
    WITNESS.with_borrow_mut(|witness| {
        if witness.loads > 0 {
            write(&mut witness.notes);
        }
    });
}

/// Reports an access for `haft permit --record`, if the isolate belongs to the recorded tool.
pub(super) fn record_access(kind: PermissionKind, what: &str) {
    if IS_RECORDED.get() {
        LINK.with_borrow(|link| {
            if let Some(link) = link {
                link.accessed(kind, what);
            }
        });
    }
}

/// Callback of Deno before a permission check. Opening a file is reported as reading and as
/// writing, whatever it is opened for.
fn permission_checked(permission: &str, value: &str, _stack: Option<&[String]>) {
    if let Some(kind) = PermissionKind::from_name(permission) {
        record_access(kind, value);
    }
    // Programs are recorded where they are started, because the call is known there.
    if permission == "net" {
        LINK.with_borrow(|link| {
            if let Some(link) = link {
                link.host_connected(value);
            }
        });
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
            notes.mark_uncacheable.get_or_insert_with(why);
        }
    });
}
