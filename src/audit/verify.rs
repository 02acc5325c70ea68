//! Walks the chain of the log and finds where it is broken.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::chain::{self, CURRENT, Head, NO_HASH};
use super::folder::LogFolder;
use super::line::{Event, Line};
use haft_process::state_dir::FileUse;

/// Result of a verification.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Number of files.
    pub(crate) files: usize,
    /// Number of lines.
    pub(crate) lines: u64,
    /// The numbers of the first and the last line.
    pub(crate) range: Option<(u64, u64)>,
    /// Places where the chain is broken, lines could not be written, or others could change the log.
    pub(crate) findings: Vec<Finding>,
    /// Remarks about fragments of lines, which a crash leaves.
    pub(crate) notes: Vec<Finding>,
}

/// A finding and its place.
#[derive(Debug)]
pub(crate) struct Finding {
    /// The file.
    pub(crate) path: PathBuf,
    /// The line in it, from 1; `None` for the file as a whole.
    pub(crate) line: Option<u64>,
    /// Description of the finding.
    pub(crate) text: String,
}

/// State of a verification.
#[derive(Default)]
struct Walk {
    report: Report,
    /// Content of `head.json`.
    head: Option<Head>,
    /// The line before.
    last: Option<Head>,
    /// Finding that lines before the first one are missing, and the head that the first line
    /// follows. `None` if the log begins with line 1.
    origin: Option<(Finding, Head)>,
    /// An invalid line and its hash. It is a fragment if the next line says so.
    fragment: Option<(Finding, String)>,
    /// True if the line that `head.json` names was found, but has another hash.
    head_differs: bool,
}

/// Checks the log in `folder`.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn verify(folder: &LogFolder) -> io::Result<Report> {
    let mut walk = Walk::default();
    for gap in folder.gaps() {
        walk.report.findings.push(Finding {
            path: folder.gap_path(&gap),
            line: None,
            text: format!("process {} could not write {} lines", gap.pid, gap.lines),
        });
    }
    let mut repairs = Vec::new();
    if !folder.files().check(false, &mut repairs)? {
        return Ok(walk.report);
    }
    // The lock is held only while the files are opened. Lines that are appended later are ignored.
    let mut files = Vec::new();
    {
        let _lock = chain::lock(folder, &mut repairs)?;
        walk.head = chain::head_of(folder, &mut repairs)?;
        for name in chain::files(folder)? {
            let file = folder.files().open(&name, FileUse::Read, &mut repairs);
            let file = file.map_err(io::Error::from)?;
            let length = file.metadata()?.len();
            files.push((folder.path_for_messages(&name), file.take(length)));
        }
    }
    let wrong_modes = repairs.iter().map(|repair| Finding {
        path: repair.path().to_owned(),
        line: None,
        text: format!("{repair}; it was set right"),
    });
    walk.report.findings.extend(wrong_modes);
    chain::record_repairs(folder, &repairs);
    walk.report.files = files.len();
    for (path, file) in files {
        let mut reader = BufReader::new(file);
        let mut number = 0;
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            if reader.read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            number += 1;
            let place = |text: String| Finding {
                path: path.clone(),
                line: Some(number),
                text,
            };
            match bytes.strip_suffix(b"\n") {
                Some(line) => walk.line(line, &place),
                None => walk.unfinished(&bytes, &path, &place),
            }
        }
    }
    walk.end(folder);
    Ok(walk.report)
}

impl Walk {
    fn line(&mut self, bytes: &[u8], place: &dyn Fn(String) -> Finding) {
        let line: Line = match serde_json::from_slice(bytes) {
            Ok(line) => line,
            Err(error) => {
                self.settle_fragment();
                let text = format!("it is not a line of the log: {error}");
                self.fragment = Some((place(text), chain::hash(bytes)));
                return;
            }
        };
        if let Some((finding, hash)) = self.fragment.take() {
            match &line.event {
                Event::LogTorn { fragment, .. } if *fragment == hash => {
                    self.report.notes.push(Finding {
                        text: "a writer was stopped in the middle of this line".to_owned(),
                        ..finding
                    })
                }
                _ => self.report.findings.push(finding),
            }
        }
        self.link(&line, place);
        self.note(&line.event, place);
        let this = Head {
            n: line.n,
            hash: chain::hash(bytes),
        };
        if let Some(head) = self.head.as_ref().filter(|head| head.n == line.n) {
            self.head_differs |= head.hash != this.hash;
        }
        self.report.lines += 1;
        let first = self.report.range.map_or(line.n, |(first, _)| first);
        self.report.range = Some((first, line.n));
        self.last = Some(this);
    }

    /// Compares a line with the one before.
    fn link(&mut self, line: &Line, place: &dyn Fn(String) -> Finding) {
        let n = line.n;
        let Some(last) = &self.last else {
            let is_beginning = n == 1 && line.prev == NO_HASH;
            if !is_beginning {
                let missing = n.saturating_sub(1);
                let text = format!("the lines up to #{missing} are missing");
                let before = Head {
                    n: missing,
                    hash: line.prev.clone(),
                };
                self.origin = Some((place(text), before));
            }
            return;
        };
        let text = if n == last.n + 1 && line.prev == last.hash {
            return;
        } else if n == last.n + 1 {
            let before = last.n;
            format!("line #{n} does not follow the line before it: #{before} or #{n} was changed")
        } else if n > last.n + 1 {
            let (from, to) = (last.n + 1, n - 1);
            format!("the lines #{from} to #{to} are missing before line #{n}")
        } else {
            let before = last.n;
            format!("line #{n} stands after line #{before}: it was inserted or moved")
        };
        self.report.findings.push(place(text));
    }

    fn note(&mut self, event: &Event, place: &dyn Fn(String) -> Finding) {
        match event {
            Event::LogDropped { to, hash } => {
                let dropped = Head {
                    n: *to,
                    hash: hash.clone(),
                };
                // The rotation dropped these lines, as the configuration says.
                self.origin.take_if(|(_, missing)| *missing == dropped);
            }
            Event::LogDamaged { why } => {
                let text = format!("haft found the log damaged: {why}");
                self.report.findings.push(place(text));
            }
            Event::LogLost { lines, why } => {
                let text = format!("{lines} lines could not be written: {why}");
                self.report.findings.push(place(text));
            }
            _ => {}
        }
    }

    /// Records the end of a file that lacks an end of line.
    fn unfinished(&mut self, bytes: &[u8], path: &Path, place: &dyn Fn(String) -> Finding) {
        self.settle_fragment();
        let is_current = path.file_name().is_some_and(|name| name == CURRENT);
        if is_current {
            let text = format!(
                "a writer was stopped after {} bytes of this line",
                bytes.len()
            );
            self.report.notes.push(place(text));
        } else {
            let text = "the end of this line is missing".to_owned();
            self.report.findings.push(place(text));
        }
    }

    /// Reports the fragment as a break, because the next line does not explain it.
    fn settle_fragment(&mut self) {
        let finding = self.fragment.take().map(|(finding, _)| finding);
        self.report.findings.extend(finding);
    }

    fn end(&mut self, folder: &LogFolder) {
        self.settle_fragment();
        let origin = self.origin.take().map(|(finding, _)| finding);
        if let Some(finding) = origin {
            self.report.findings.insert(0, finding);
        }
        let whole = |text: String| Finding {
            path: folder.path_for_messages("head.json"),
            line: None,
            text,
        };
        let last = self.last.as_ref().map_or(0, |last| last.n);
        let text = match &self.head {
            None if last == 0 => return,
            None => "it is missing or unreadable: whether lines at the end are missing is unknown"
                .to_owned(),
            Some(head) if head.n > last => {
                format!(
                    "the lines #{} to #{} at the end are missing",
                    last + 1,
                    head.n
                )
            }
            Some(head) if self.head_differs => format!("line #{} was changed", head.n),
            Some(_) => return,
        };
        self.report.findings.push(whole(text));
    }
}
