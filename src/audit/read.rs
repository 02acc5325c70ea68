//! Reads the log: from the newest line backwards, or what is appended meanwhile.
//!
//! Readers take no lock: a line is written in one piece, and an incomplete line is read next time.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt};

use super::chain::{self, CURRENT};
use super::folder::LogFolder;
use super::line::Line;

/// Number of bytes that are read at once on the way back.
const BLOCK_LEN: u64 = 64 << 10;

/// Reader of the lines of a log.
pub(crate) struct Reader {
    folder: LogFolder,
    /// Number of the line before which it reads.
    before: u64,
}

impl Reader {
    /// Returns a reader of the log in `folder`, which need not exist.
    pub(crate) fn of(folder: &LogFolder) -> Reader {
        Reader {
            folder: folder.clone(),
            before: u64::MAX,
        }
    }

    /// Returns the same reader for the lines before the one with this number.
    pub(crate) fn before(mut self, number: u64) -> Reader {
        self.before = number;
        self
    }

    /// Passes each line with its text to `look`, the newest first, until `look` returns false.
    /// Invalid lines are skipped.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(crate) fn newest_first(&self, mut look: impl FnMut(&str, Line) -> bool) -> io::Result<()> {
        let mut look = |text: &[u8]| {
            // Most lines of a long log are not parsed for a page of it.
            if number_of(text).is_some_and(|number| number >= self.before) {
                return true;
            }
            show(text, &mut look)
        };
        for name in chain::files(&self.folder)?.iter().rev() {
            let is_newer = |first: u64| first >= self.before;
            if self.before < u64::MAX
                && chain::first_number(&self.folder, name).is_some_and(is_newer)
            {
                continue;
            }
            let file = match chain::open_to_read(&self.folder, name) {
                // A rotation moved or deleted it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            if !lines_backwards(&file, &mut look)? {
                break;
            }
        }
        Ok(())
    }
}

/// Returns false if `look` returned false.
fn lines_backwards(file: &File, look: &mut impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let mut end = file.metadata()?.len();
    // First piece of the block that was read last. Its line may begin in the block before.
    let mut rest: Vec<u8> = Vec::new();
    while end > 0 {
        let begin = end.saturating_sub(BLOCK_LEN);
        let mut block = vec![0; usize::try_from(end - begin).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut block, begin)?;
        block.append(&mut rest);
        let mut pieces = block.split(|byte| *byte == b'\n');
        let first = pieces.next().unwrap_or_default();
        let whole: Vec<&[u8]> = pieces.collect();
        for line in whole.into_iter().rev() {
            if !look(line) {
                return Ok(false);
            }
        }
        rest = first.to_vec();
        end = begin;
    }
    Ok(look(&rest))
}

/// Returns the number of a line, which is at its beginning.
fn number_of(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(br#"{"n":"#)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
    let digits = std::str::from_utf8(&rest[..digits.count()]).ok()?;
    digits.parse().ok()
}

fn show(line: &[u8], look: &mut impl FnMut(&str, Line) -> bool) -> bool {
    let Ok(text) = std::str::from_utf8(line) else {
        return true;
    };
    match serde_json::from_str(text) {
        Ok(read) => look(text, read),
        Err(_) => true,
    }
}

/// Reader that follows what is appended to a log.
pub(crate) struct Tail {
    folder: LogFolder,
    /// The file that is being read, and its inode.
    reading: Option<(BufReader<File>, u64)>,
    /// Beginning of a line whose end is not written yet.
    begun: Vec<u8>,
    /// Number of the last line that was returned.
    seen: u64,
}

impl Tail {
    /// Returns a reader of the log in `folder` that starts after line `seen`.
    pub(crate) fn after(folder: &LogFolder, seen: u64) -> Tail {
        Tail {
            folder: folder.clone(),
            reading: None,
            begun: Vec::new(),
            seen,
        }
    }

    /// Returns the lines that were appended since the last call, with their texts.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(crate) fn new_lines(&mut self) -> io::Result<Vec<(String, Line)>> {
        let mut found = Vec::new();
        if let Some((reader, _)) = &mut self.reading {
            read_into(reader, &mut self.begun, &mut self.seen, &mut found)?;
        }
        if self.is_current()? {
            return Ok(found);
        }
        // The file was rotated, perhaps more than once. The newer lines are in the other files.
        let files = chain::files(&self.folder)?;
        for (at, name) in files.iter().enumerate() {
            let next = files.get(at + 1);
            let next = next.and_then(|next| chain::first_number(&self.folder, next));
            if next.is_some_and(|next| next <= self.seen + 1) {
                continue;
            }
            let file = match chain::open_to_read(&self.folder, name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let inode = file.metadata()?.ino();
            let mut reader = BufReader::new(file);
            self.begun.clear();
            read_into(&mut reader, &mut self.begun, &mut self.seen, &mut found)?;
            if name == CURRENT {
                self.reading = Some((reader, inode));
            }
        }
        Ok(found)
    }

    /// Returns true if the file that is being read is the one that writers append to.
    fn is_current(&self) -> io::Result<bool> {
        let Some((_, inode)) = &self.reading else {
            return Ok(false);
        };
        match chain::open_to_read(&self.folder, CURRENT) {
            Ok(file) => Ok(file.metadata()?.ino() == *inode),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }
}

fn read_into(
    reader: &mut BufReader<File>,
    begun: &mut Vec<u8>,
    seen: &mut u64,
    found: &mut Vec<(String, Line)>,
) -> io::Result<()> {
    while reader.read_until(b'\n', begun)? > 0 && begun.last() == Some(&b'\n') {
        begun.pop();
        let text = String::from_utf8(std::mem::take(begun)).unwrap_or_default();
        if let Ok(line) = serde_json::from_str::<Line>(&text)
            && line.n > *seen
        {
            *seen = line.n;
            found.push((text, line));
        }
    }
    Ok(())
}
