//! The files of the log: one chain of hashed lines over all of them, appended to under a lock.
//!
//! Each append takes the lock and checks that the end of the file matches `head.json`. Then it
//! appends all its lines with one write. If lines at the end are missing or changed, the chain
//! continues from `head.json`, so that the gap stays visible. Lines that were written are never
//! changed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::fstatvfs;
use serde::{Deserialize, Serialize};

use super::folder::{LogFolder, LogGap};
use super::line::{Event, Line};
use haft_config::LogSettings;
use haft_process::StateFolder;
use haft_process::state_dir::{self, FileUse, ModeRepair, StateLock};
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
    folder: LogFolder,
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
    _lock: StateLock,
    head: File,
    current: File,
    /// Modes that were set right.
    repairs: Vec<ModeRepair>,
    /// Lines that processes could not write which have ended.
    gaps: Vec<LogGap>,
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
    pub(super) fn new(folder: &LogFolder, settings: &LogSettings) -> Chain {
        Chain {
            folder: folder.clone(),
            max_size: settings.max_size,
            keep: settings.keep,
            known: None,
        }
    }

    /// Creates a writer that starts no new file.
    pub(super) fn without_rotation(folder: &LogFolder) -> Chain {
        Chain {
            folder: folder.clone(),
            max_size: u64::MAX,
            keep: u32::MAX,
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
        let (head, mut notes, fragment) = match known {
            Some(known) => (known.head, Vec::new(), Vec::new()),
            None => held.continue_from(&self.folder)?,
        };
        notes.extend(held.notes());
        let notes = Bodies::of(&notes)?;
        if !fragment.is_empty() {
            (&held.current).write_all(b"\n")?;
        }
        let mut batch = Batch::of(&head, &[&notes, &bodies]);
        let mut obsolete = Vec::new();
        if found.len() > 0 && found.len() + batch.bytes.len() as u64 > self.max_size {
            let noted = held.repairs.len();
            let dropped;
            (dropped, obsolete) = self.rotate(&mut held, &head)?;
            let repairs = held.repairs[noted..].iter().map(damage);
            let dropped: Vec<Event> = dropped.into_iter().chain(repairs).collect();
            // The notes come first: they describe the text directly before them.
            let dropped = Bodies::of(&dropped)?;
            batch = Batch::of(&head, &[&notes, &dropped, &bodies]);
        }
        (&held.current).write_all(&batch.bytes)?;
        held.write_head(&batch.head)?;
        state_dir::report(&held.repairs);
        // Only now, because the log records by now that these files were dropped.
        for name in &obsolete {
            self.folder.files().remove(name)?;
        }
        for gap in &held.gaps {
            self.folder.close_gap(gap);
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
    fn rotate(&self, held: &mut Held, head: &Head) -> io::Result<(Option<Event>, Vec<String>)> {
        let files = self.folder.files();
        let mut first = first_line(&held.current)?.map_or(head.n, |line| line.n);
        // A log that was tampered with may contain such a file. haft must not replace it.
        while files.has(&rotated_name(first))? {
            first += 1;
        }
        files.rename(CURRENT, &rotated_name(first))?;
        held.current = files.open(CURRENT, FileUse::Append, &mut held.repairs)?;
        let mut rotated = rotated_files(&self.folder)?;
        let excess = rotated.len().saturating_sub(self.keep as usize);
        if excess == 0 {
            return Ok((None, Vec::new()));
        }
        // The chain then starts at the first line of the oldest file that is kept.
        let kept = rotated.split_off(excess);
        let kept = kept.first().map(|name| held.open_rotated(files, name));
        let dropped = match kept
            .transpose()?
            .map(|file| first_line(&file))
            .transpose()?
        {
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
    /// Lines of `parts`, chained after `head`.
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
    fn open(folder: &LogFolder) -> io::Result<Held> {
        let mut repairs = Vec::new();
        let files = folder.files();
        let lock = files.lock_noting(LOCK, &mut repairs)?;
        Ok(Held {
            _lock: lock,
            head: files.open(HEAD, FileUse::Update, &mut repairs)?,
            current: files.open(CURRENT, FileUse::Append, &mut repairs)?,
            repairs,
            gaps: folder.left_gaps(),
        })
    }

    /// Returns the notes about what was set right and about lines of processes that have ended.
    fn notes(&self) -> impl Iterator<Item = Event> {
        let lost = |gap: &LogGap| Event::LogLost {
            lines: gap.lines,
            why: format!("process {} ended before it could write them", gap.pid),
        };
        let repairs = self.repairs.iter().map(damage);
        repairs.chain(self.gaps.iter().map(lost))
    }

    /// Opens a rotated file. The caller notes its repairs in the log.
    fn open_rotated(&mut self, files: &StateFolder, name: &str) -> io::Result<File> {
        Ok(files.open(name, FileUse::Read, &mut self.repairs)?)
    }

    /// Returns the end from which the chain continues, the notes to append there, and the fragment
    /// of a line at the end of the file.
    fn continue_from(&mut self, folder: &LogFolder) -> io::Result<(Head, Vec<Event>, Vec<u8>)> {
        let head = read_head(&self.head)?;
        let mut end = end_of(&self.current)?;
        if end.last.is_none()
            && end.fragment.is_empty()
            && let Some(newest) = rotated_files(folder)?.last()
        {
            // A process was stopped between the rotation and the first line of the new file.
            end.last = end_of(&self.open_rotated(folder.files(), newest)?)?.last;
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
    /// Head of an empty log.
    fn start() -> Head {
        Head {
            n: 0,
            hash: NO_HASH.to_owned(),
        }
    }
}

/// Hash of a line without its end of line.
pub(super) fn hash(line: &[u8]) -> String {
    blake3::hash(line).to_hex().to_string()
}

/// Waits for the lock of the log. Notes in `repairs` what was set right.
pub(super) fn lock(folder: &LogFolder, repairs: &mut Vec<ModeRepair>) -> io::Result<StateLock> {
    folder.files().lock_noting(LOCK, repairs)
}

/// Content of `head.json`; `None` if the file is missing or invalid. Notes in `repairs` what
/// was set right.
pub(super) fn head_of(
    folder: &LogFolder,
    repairs: &mut Vec<ModeRepair>,
) -> io::Result<Option<Head>> {
    match folder
        .files()
        .open(HEAD, FileUse::Read, repairs)
        .map_err(io::Error::from)
    {
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

/// Names of all files of the log, the oldest first.
pub(super) fn files(folder: &LogFolder) -> io::Result<Vec<String>> {
    let mut repairs = Vec::new();
    let checked = folder.files().check(false, &mut repairs);
    record_repairs(folder, &repairs);
    checked?;
    let mut files = rotated_files(folder)?;
    if folder.files().has(CURRENT)? {
        files.push(CURRENT.to_owned());
    }
    Ok(files)
}

/// Names of the rotated files, the oldest first.
fn rotated_files(folder: &LogFolder) -> io::Result<Vec<String>> {
    // All numbers have the same number of digits, so the order of the names is that of the numbers.
    let mut names = folder.files().names()?;
    names.retain(|name| {
        let number = name.strip_prefix(ROTATED_PREFIX);
        let number = number.and_then(|rest| rest.strip_suffix(ROTATED_SUFFIX));
        number.is_some_and(|number| number.parse::<u64>().is_ok())
    });
    Ok(names)
}

fn rotated_name(first: u64) -> String {
    format!("{ROTATED_PREFIX}{first:020}{ROTATED_SUFFIX}")
}

/// Opens a file of the log to read it. The log records it if its mode was wrong.
pub(super) fn open_to_read(folder: &LogFolder, name: &str) -> io::Result<File> {
    let mut repairs = Vec::new();
    let file = folder.files().open(name, FileUse::Read, &mut repairs);
    record_repairs(folder, &repairs);
    Ok(file?)
}

/// Appends a line about each mode that was set right. The caller must not hold the lock.
pub(super) fn record_repairs(folder: &LogFolder, repairs: &[ModeRepair]) {
    if repairs.is_empty() {
        return;
    }
    state_dir::report(repairs);
    let events: Vec<Event> = repairs.iter().map(damage).collect();
    if let Err(error) = Chain::without_rotation(folder).append(&events) {
        tracing::warn!(%error, "a repair of the log cannot be recorded");
    }
}

/// Returns the line about a mode that was set right.
fn damage(repair: &ModeRepair) -> Event {
    Event::LogDamaged {
        why: repair.to_string(),
    }
}

/// Returns the first line of a file, if it is a valid line of the log.
fn first_line(file: &File) -> io::Result<Option<Line>> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    let mut lines = io::BufRead::split(io::BufReader::new(file), b'\n');
    let line = lines.next().transpose()?;
    Ok(line.and_then(|line| serde_json::from_slice(&line).ok()))
}

/// Number of the first line of a file.
pub(super) fn first_number(folder: &LogFolder, name: &str) -> Option<u64> {
    let file = open_to_read(folder, name).ok()?;
    Some(first_line(&file).ok()??.n)
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

/// Problem with the log, if there is one: it cannot be written, its end was changed, or lines
/// could not be written. Appends nothing, unless a mode was wrong.
pub(crate) fn check(folder: &LogFolder) -> Option<Problem> {
    let mut repairs = Vec::new();
    let mut attempt = || -> io::Result<Option<String>> {
        let mut held = Held::open(folder)?;
        let disk = fstatvfs(&held.current)?;
        if disk.f_bavail == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let (_, notes, _) = held.continue_from(folder)?;
        repairs = std::mem::take(&mut held.repairs);
        let damage = notes.into_iter().find_map(|note| match note {
            Event::LogDamaged { why } => Some(why),
            _ => None,
        });
        Ok(damage.or_else(|| repairs.first().map(ModeRepair::to_string)))
    };
    let attempted = attempt();
    record_repairs(folder, &repairs);
    match attempted {
        Err(error) => Some(problem(folder, &error)),
        // Calls are recorded all the same, in a chain that begins anew.
        Ok(damage) => damage.map(|why| {
            Problem::warning(format!("the log of calls was changed: {why}"))
                .at(folder.path_for_messages(""))
                .hint("`haft log --verify` shows where")
        }),
    }
}

/// Problem of a log that cannot be written.
pub(super) fn problem(folder: &LogFolder, error: &io::Error) -> Problem {
    let why = haft_config::paths::plain(error);
    Problem::warning(format!("calls are not recorded: {why}"))
        .at(folder.path_for_messages(""))
        .hint("`haft log --verify` checks the log; `log: {enabled: false}` in config.yaml turns it off")
}
