//! The files of the log: one chain of hashed lines over all of them, appended to under a lock.
//!
//! Each append takes the lock and checks that the end of the file matches `head.json`. Then it
//! appends all its lines with one write. If lines at the end are missing or changed, the chain
//! continues from `head.json`, so that the gap stays visible. Lines that were written are never
//! changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock, statvfs};
use serde::{Deserialize, Serialize};

use super::line::{Event, Line};
use haft_config::LogSettings;
use haft_process::private_files;
use haft_tool::{Problem, Timestamp};

/// The file that is appended to.
pub(super) const CURRENT: &str = "audit.jsonl";
const HEAD: &str = "head.json";
const LOCK: &str = "lock";
/// Prefix of the name of a rotated file. The number of the file's first line follows.
const ROTATED_PREFIX: &str = "audit-";
const ROTATED_SUFFIX: &str = ".jsonl";
/// Length of `head.json`. It is fixed, so that the file is overwritten in one write.
const HEAD_LEN: usize = 128;
/// Number of bytes at the end of a file that are read first to find its last line.
const TAIL_LEN: u64 = 16 << 10;
/// Length of what stands before an event in most lines, at most.
const MAX_PREFIX_LEN: usize = 160;

/// The hash before the first line.
pub(super) const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The end of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// Number of the last line; 0 if the log is empty.
    pub(super) n: u64,
    /// Its hash.
    pub(super) hash: String,
}

/// Writer of the files of one log. It remembers the end of the chain between appends.
pub(super) struct Chain {
    folder: PathBuf,
    max_size: u64,
    keep: u32,
    /// The current file after our last append. Nothing has to be read while inode and size match.
    known: Option<Known>,
}

struct Known {
    inode: u64,
    size: u64,
    head: Head,
}

/// The open files of one append, under the lock.
struct Held {
    /// Keeps the lock until it is closed.
    _lock: File,
    head: File,
    current: File,
}

/// The end of the current file as it is on disk.
#[derive(Default)]
struct End {
    /// The last valid line.
    last: Option<Head>,
    /// The bytes after the last end of line.
    fragment: Vec<u8>,
}

/// The lines of one append, which are written at once.
struct Batch {
    head: Head,
    bytes: Vec<u8>,
    at: String,
    pid: u32,
}

impl Chain {
    pub(super) fn new(folder: &Path, settings: &LogSettings) -> Chain {
        Chain {
            folder: folder.to_owned(),
            max_size: settings.max_size,
            keep: settings.keep,
            known: None,
        }
    }

    /// Appends `events`, in one write.
    ///
    /// # Errors
    /// When not all of them could be written. A part of a line may be left at the end of the file.
    /// The next append notes it.
    pub(super) fn append(&mut self, events: &[Event]) -> io::Result<()> {
        // Before the lock, because other processes wait for it.
        let bodies = Bodies::of(events)?;
        let mut held = Held::open(&self.folder)?;
        let found = held.current.metadata()?;
        let known = self.known.take();
        let known = known.filter(|known| (known.inode, known.size) == (found.ino(), found.len()));
        let (head, notes, fragment) = match known {
            Some(known) => (known.head, Vec::new(), Vec::new()),
            None => held.continue_from(&self.folder)?,
        };
        let notes = Bodies::of(&notes)?;
        if !fragment.is_empty() {
            (&held.current).write_all(b"\n")?;
        }
        let mut batch = Batch::of(&head, &[&notes, &bodies]);
        let mut obsolete = Vec::new();
        if found.len() > 0 && found.len() + batch.bytes.len() as u64 > self.max_size {
            let dropped;
            (dropped, obsolete) = self.rotate(&mut held, &head)?;
            // The notes come first: they describe the text directly before them.
            let dropped = Bodies::of(dropped.as_slice())?;
            batch = Batch::of(&head, &[&notes, &dropped, &bodies]);
        }
        (&held.current).write_all(&batch.bytes)?;
        held.write_head(&batch.head)?;
        // Only now, because the log records by now that these files were dropped.
        for path in &obsolete {
            fs::remove_file(path)?;
        }
        let found = held.current.metadata()?;
        self.known = Some(Known {
            inode: found.ino(),
            size: found.len(),
            head: batch.head,
        });
        Ok(())
    }

    /// Rotates the current file, whose last line is `head`, and starts a new one. Returns the note
    /// about the files that are too old now, and these files.
    fn rotate(&self, held: &mut Held, head: &Head) -> io::Result<(Option<Event>, Vec<PathBuf>)> {
        let current = self.folder.join(CURRENT);
        let mut first = first_line(&current)?.map_or(head.n, |line| line.n);
        // A log that was tampered with may contain such a file. haft must not replace it.
        while self
            .folder
            .join(rotated_name(first))
            .symlink_metadata()
            .is_ok()
        {
            first += 1;
        }
        fs::rename(&current, self.folder.join(rotated_name(first)))?;
        held.current = open(&self.folder, CURRENT)?;
        let mut rotated = rotated_files(&self.folder)?;
        let excess = rotated.len().saturating_sub(self.keep as usize);
        if excess == 0 {
            return Ok((None, Vec::new()));
        }
        // The chain then starts at the first line of the oldest file that is kept.
        let kept = rotated.split_off(excess);
        let dropped = match kept.first().map(|path| first_line(path)).transpose()? {
            Some(Some(line)) => Head {
                n: line.n.saturating_sub(1),
                hash: line.prev,
            },
            // If that line cannot be read, all files are kept for inspection.
            Some(None) => return Ok((None, Vec::new())),
            None => head.clone(),
        };
        let note = Event::LogDropped {
            to: dropped.n,
            hash: dropped.hash,
        };
        Ok((Some(note), rotated))
    }
}

impl Batch {
    /// Returns the lines of `parts`, chained after `head`.
    fn of(head: &Head, parts: &[&Bodies]) -> Batch {
        let lines: usize = parts.iter().map(|part| part.ends.len()).sum();
        let bytes: usize = parts.iter().map(|part| part.bytes.len()).sum();
        let mut batch = Batch {
            head: head.clone(),
            bytes: Vec::with_capacity(bytes + lines * MAX_PREFIX_LEN),
            at: Timestamp::now().precise(),
            pid: std::process::id(),
        };
        for body in parts.iter().flat_map(|part| part.iter()) {
            batch.push(body);
        }
        batch
    }

    fn push(&mut self, body: &[u8]) {
        let Head { n, hash: prev } = &self.head;
        let (n, at, pid) = (n + 1, &self.at, self.pid);
        let begin = self.bytes.len();
        // The fields of a `Line`, and those of its event after them.
        let head = &mut self.bytes;
        // Writing to memory does not fail.
        let _ = write!(
            head,
            r#"{{"n":{n},"prev":"{prev}","at":"{at}","pid":{pid},"#
        );
        self.bytes.extend_from_slice(&body[1..]);
        self.head = Head {
            n,
            hash: hash(&self.bytes[begin..]),
        };
        self.bytes.push(b'\n');
    }
}

/// The JSON of events, each an object with at least one field. One buffer for all: most of the time of
/// a batch would be that of the allocator.
#[derive(Default)]
struct Bodies {
    bytes: Vec<u8>,
    /// The position after each event.
    ends: Vec<usize>,
}

impl Bodies {
    fn of(events: &[Event]) -> io::Result<Bodies> {
        let mut bodies = Bodies::default();
        for event in events {
            serde_json::to_writer(&mut bodies.bytes, event)?;
            bodies.ends.push(bodies.bytes.len());
        }
        Ok(bodies)
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .map(move |(begin, end)| &self.bytes[begin..*end])
    }
}

impl Held {
    /// Opens the files and waits for the lock.
    fn open(folder: &Path) -> io::Result<Held> {
        private_files::make_private_folder(folder)?;
        let lock = lock(folder)?;
        Ok(Held {
            _lock: lock,
            head: open(folder, HEAD)?,
            current: open(folder, CURRENT)?,
        })
    }

    /// Returns the end from which the chain continues, the notes to append there, and the fragment
    /// of a line at the end of the file.
    fn continue_from(&self, folder: &Path) -> io::Result<(Head, Vec<Event>, Vec<u8>)> {
        let head = read_head(&self.head)?;
        let mut end = end_of(&self.current)?;
        if end.last.is_none()
            && end.fragment.is_empty()
            && let Some(newest) = rotated_files(folder)?.last()
        {
            // A process was stopped between the rotation and the first line of the new file.
            end.last = end_of(&open_to_read(newest)?)?.last;
        }
        let mut notes = Vec::new();
        if !end.fragment.is_empty() {
            notes.push(Event::LogTorn {
                fragment: hash(&end.fragment),
                bytes: end.fragment.len() as u64,
            });
        }
        let damaged = |why: String| Event::LogDamaged { why };
        let next = match (head, end.last) {
            (None, None) => {
                notes.push(Event::LogCreated {
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                });
                Head::start()
            }
            (None, Some(last)) => {
                notes.push(damaged(format!("`{HEAD}` was missing or unreadable")));
                last
            }
            (Some(head), Some(last)) if last.n > head.n || last == head => last,
            (Some(head), Some(last)) if last.n == head.n => {
                notes.push(damaged(format!("line #{} was changed", head.n)));
                head
            }
            (Some(head), last) if head.n > 0 => {
                let from = last.map_or(1, |last| last.n + 1);
                let gap = format!("the lines up to #{} were missing, from #{from} on", head.n);
                notes.push(damaged(gap));
                head
            }
            (Some(head), _) => {
                notes.push(Event::LogCreated {
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                });
                head
            }
        };
        Ok((next, notes, end.fragment))
    }

    fn write_head(&self, head: &Head) -> io::Result<()> {
        let mut text = serde_json::to_string(head)?;
        let padding = (HEAD_LEN - 1).saturating_sub(text.len());
        text.extend(std::iter::repeat_n(' ', padding));
        text.push('\n');
        self.head.write_all_at(text.as_bytes(), 0)
    }
}

impl Head {
    /// Returns the head of an empty log.
    fn start() -> Head {
        Head {
            n: 0,
            hash: NO_HASH.to_owned(),
        }
    }
}

/// Returns the hash of a line without its end of line.
pub(super) fn hash(line: &[u8]) -> String {
    blake3::hash(line).to_hex().to_string()
}

/// Waits for the lock of the log, which is held until the returned file is closed.
pub(super) fn lock(folder: &Path) -> io::Result<File> {
    let lock = open(folder, LOCK)?;
    flock(lock.as_fd(), FlockOperation::LockExclusive)?;
    Ok(lock)
}

/// Returns the content of `head.json`; `None` if the file is missing or invalid.
pub(super) fn head_of(folder: &Path) -> io::Result<Option<Head>> {
    match open_to_read(&folder.join(HEAD)) {
        Ok(file) => read_head(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_head(mut file: &File) -> io::Result<Option<Head>> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    // Text that is not UTF-8 counts as invalid, too.
    let read = file.take(4 * HEAD_LEN as u64).read_to_string(&mut text);
    Ok(read.ok().and_then(|_| serde_json::from_str(&text).ok()))
}

/// Returns all files of the log, the oldest first.
pub(super) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = rotated_files(folder)?;
    let current = folder.join(CURRENT);
    if current.symlink_metadata().is_ok() {
        files.push(current);
    }
    Ok(files)
}

/// Returns the rotated files, the oldest first.
fn rotated_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let number = name
            .strip_prefix(ROTATED_PREFIX)?
            .strip_suffix(ROTATED_SUFFIX)?;
        number.parse::<u64>().ok()?;
        Some(name)
    });
    let mut names: Vec<_> = names.collect();
    // All numbers have the same number of digits, so the order of the names is that of the numbers.
    names.sort();
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

fn rotated_name(first: u64) -> String {
    format!("{ROTATED_PREFIX}{first:020}{ROTATED_SUFFIX}")
}

/// Opens or creates a file of the log: `audit.jsonl` to append, the others to write. Refuses
/// symbolic links and files that other users may write to.
fn open(folder: &Path, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).create(true).mode(0o600);
    match name {
        CURRENT => options.append(true),
        _ => options.write(true).truncate(false),
    };
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    options.custom_flags(flags.bits().cast_signed());
    let path = folder.join(name);
    let file = options.open(&path)?;
    let found = file.metadata()?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if !found.is_file() || !is_ours || found.mode() & 0o022 != 0 {
        let text = format!("others than you may write to {}", path.display());
        return Err(io::Error::other(text));
    }
    Ok(file)
}

/// Opens a file of the log to read it. Refuses symbolic links.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other(format!(
            "{} is not a file",
            path.display()
        )))
    }
}

/// Returns the first line of a file, if it is a valid line of the log.
fn first_line(path: &Path) -> io::Result<Option<Line>> {
    let mut lines = io::BufRead::split(io::BufReader::new(open_to_read(path)?), b'\n');
    let line = lines.next().transpose()?;
    Ok(line.and_then(|line| serde_json::from_slice(&line).ok()))
}

/// Returns the number of the first line of a file.
pub(super) fn first_number(path: &Path) -> Option<u64> {
    Some(first_line(path).ok()??.n)
}

/// Returns the last valid line of a file, and the bytes after the last end of line.
fn end_of(file: &File) -> io::Result<End> {
    let size = file.metadata()?.len();
    let mut wanted = TAIL_LEN;
    loop {
        let begin = size.saturating_sub(wanted);
        let mut bytes = vec![0; usize::try_from(size - begin).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, begin)?;
        let after_last = bytes.iter().rposition(|byte| *byte == b'\n');
        let (lines, fragment) = bytes.split_at(after_last.map_or(0, |at| at + 1));
        let mut lines = lines.split(|byte| *byte == b'\n').rev();
        // The first piece may lack its beginning.
        let whole = lines.clone().count().saturating_sub(usize::from(begin > 0));
        let last = lines.by_ref().take(whole).find_map(|line| {
            let read: Line = serde_json::from_slice(line).ok()?;
            Some(Head {
                n: read.n,
                hash: hash(line),
            })
        });
        if last.is_some() || begin == 0 {
            return Ok(End {
                last,
                fragment: fragment.to_owned(),
            });
        }
        wanted = wanted.saturating_mul(4);
    }
}

/// Returns the problem with the log, if there is one: it cannot be written, or its end was changed.
/// Appends nothing.
pub(crate) fn check(folder: &Path) -> Option<Problem> {
    let attempt = || -> io::Result<Option<String>> {
        let held = Held::open(folder)?;
        let disk = statvfs(folder)?;
        if disk.f_bavail == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let (_, notes, _) = held.continue_from(folder)?;
        Ok(notes.into_iter().find_map(|note| match note {
            Event::LogDamaged { why } => Some(why),
            _ => None,
        }))
    };
    match attempt() {
        Err(error) => Some(problem(folder, &error)),
        // Calls are recorded all the same, in a chain that begins anew.
        Ok(damage) => damage.map(|why| {
            Problem::warning(format!("the log of calls was changed: {why}"))
                .at(folder)
                .hint("`haft log --verify` shows where")
        }),
    }
}

/// Returns the problem of a log that cannot be written.
pub(super) fn problem(folder: &Path, error: &io::Error) -> Problem {
    let why = haft_config::paths::plain(error);
    Problem::warning(format!("calls are not recorded: {why}"))
        .at(folder)
        .hint("`haft log --verify` checks the log; `log: {enabled: false}` in config.yaml turns it off")
}
