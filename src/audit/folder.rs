//! The folder of the log, and the counts of lines that could not be written to it.
//!
//! A line that cannot be written is a gap. The process that loses it keeps the number of its lost lines
//! as the name of an empty file in a second folder, which needs no room on the disk. The next append
//! notes the gap in the log. A process that ends before that leaves the file to others.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use haft_config::Config;
use haft_process::atomic_file::Durability;
use haft_process::{StateFolder, StatePart};

/// Folder of a log. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogFolder {
    files: StateFolder,
    gaps: StateFolder,
}

/// Lines that a process could not write.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LogGap {
    /// Name of the file that counts them.
    pub(super) name: String,
    pub(super) pid: u32,
    pub(super) lines: u64,
}

/// The file that counts the lost lines of one writer.
pub(super) struct GapCounter {
    gaps: StateFolder,
    /// Number of the writer in this process.
    writer: usize,
    name: Option<String>,
}

impl LogFolder {
    /// Folder of the log of `config`, whether it exists or not.
    pub(crate) fn of(config: &Config) -> LogFolder {
        LogFolder {
            files: config.state_dir.folder(StatePart::Audit),
            gaps: config.state_dir.folder(StatePart::AuditGaps),
        }
    }

    /// Files of the log.
    pub(super) fn files(&self) -> &StateFolder {
        &self.files
    }

    /// Gaps that no line of the log notes yet.
    pub(super) fn gaps(&self) -> Vec<LogGap> {
        let names = self.gaps.names().unwrap_or_default();
        names.into_iter().filter_map(LogGap::of).collect()
    }

    /// Gaps that processes have left which ended.
    pub(super) fn left_gaps(&self) -> Vec<LogGap> {
        let mut gaps = self.gaps();
        gaps.retain(|gap| !gap.name.starts_with(&own_prefix()) && !is_process_running(gap.pid));
        gaps
    }

    /// Removes the file of a gap that the log notes.
    pub(super) fn close_gap(&self, gap: &LogGap) {
        // It is noted once more if it cannot be removed.
        let _ = self.gaps.remove(&gap.name);
    }

    /// Counter of the writer with this number.
    pub(super) fn gap_counter(&self, writer: usize) -> GapCounter {
        GapCounter {
            gaps: self.gaps.clone(),
            writer,
            name: None,
        }
    }

    /// Path of a file of the log, for messages.
    #[expect(clippy::disallowed_methods, reason = "the path is only shown")]
    pub(crate) fn path_for_messages(&self, name: &str) -> PathBuf {
        self.files.path_for_messages(name)
    }

    /// Path of the file of a gap, for messages.
    #[expect(clippy::disallowed_methods, reason = "the path is only shown")]
    pub(super) fn gap_path(&self, gap: &LogGap) -> PathBuf {
        self.gaps.path_for_messages(&gap.name)
    }
}

impl LogGap {
    /// Parses `PID-KEY-WRITER-LINES`.
    fn of(name: String) -> Option<LogGap> {
        let mut parts = name.split('-');
        let (pid, _, _, lines) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (pid, lines) = (pid.parse().ok()?, lines.parse().ok()?);
        Some(LogGap { name, pid, lines })
    }
}

impl GapCounter {
    /// Keeps the number of lost lines.
    pub(super) fn set(&mut self, lines: u64) {
        let name = (lines > 0).then(|| format!("{}{}-{lines}", own_prefix(), self.writer));
        if name == self.name {
            return;
        }
        let kept = match (&self.name, &name) {
            (Some(old), Some(new)) => self.gaps.rename(old, new),
            (None, Some(new)) => self.gaps.replace(new, b"", Durability::Unsynced),
            (Some(old), None) => self.gaps.remove(old).map(drop),
            (None, None) => Ok(()),
        };
        match kept {
            Ok(()) => self.name = name,
            Err(error) => tracing::warn!(%error, lines, "lost lines of the log cannot be counted"),
        }
    }
}

/// Beginning of the names of the files that this process makes.
fn own_prefix() -> String {
    format!("{}-{:08x}-", std::process::id(), process_key())
}

/// Returns a random key of this process. It differs even from that of a later process with the same
/// id.
pub(super) fn process_key() -> u32 {
    static KEY: OnceLock<u32> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut bytes = [0; 4];
        match getrandom::fill(&mut bytes) {
            Ok(()) => u32::from_ne_bytes(bytes),
            Err(_) => std::process::id(),
        }
    })
}

/// Returns true if the process that wrote a line or a file still exists. This is a guess, since the
/// system reuses process ids.
pub(crate) fn is_process_running(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}
