//! Shortens long results: the head and the tail stay in the result, and the whole text is written
//! to a file.
//!
//! This applies to every family. If the file cannot be written, a successful call does not fail:
//! the text is cut anyway and contains the error. Old files are removed when a new one is written.
//! A call waits only [`CLEANUP_WAIT`] for that.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_tool::{Block, Outcome, excerpt, since_1970};

/// Age at which files are removed.
const OLDEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// Limit of the bytes of all files. The newest files are kept.
const MAX_BYTES: u64 = 200 << 20;
/// Time that a call waits for the removal of old files after it has written its own. Without the
/// wait, a program that ends with the call would never remove any.
const CLEANUP_WAIT: Duration = Duration::from_millis(50);
/// Limit of a part of a file name. A name may have 255 bytes, and two such parts and a number fit.
const MAX_PART_CHARS: usize = 80;

/// Storage for long texts, with the limit above which a text is long.
#[derive(Debug)]
pub(crate) struct Spill {
    folder: PathBuf,
    /// The limit in bytes; 0 means no limit.
    limit: usize,
}

impl Spill {
    /// Creates the storage for texts of more than `limit_kb` in `folder`. The folder is created
    /// when it is needed.
    pub(crate) fn new(folder: PathBuf, limit_kb: u32) -> Self {
        let limit = (limit_kb as usize).saturating_mul(1024);
        Spill { folder, limit }
    }

    /// Shortens the text of `outcome` if it has more than `limit` bytes, by default the configured
    /// limit. All text blocks count together. Images and details are not changed.
    pub(crate) async fn shorten(
        &self,
        outcome: &mut Outcome,
        limit: Option<usize>,
        call_id: &str,
        tool: &str,
    ) {
        let limit = limit.unwrap_or(self.limit);
        let texts = outcome.content.iter().filter_map(text_of);
        // Includes the newlines that join the texts.
        let size: usize = texts.map(|text| text.len() + 1).sum();
        if limit == 0 || size.saturating_sub(1) <= limit {
            return;
        }
        let text = Arc::new(outcome.text());
        let kept = self.keep(text.clone(), call_id, tool).await;
        let way_out = match &kept {
            Ok(path) => excerpt::way_to(path),
            Err(error) => format!("The full output could not be kept: {error}"),
        };
        if let Some(display) = outcome.display.take() {
            outcome.display = Some(if display.len() > limit {
                excerpt::of(&display, limit, &way_out)
            } else {
                display
            });
        }
        let text = excerpt::of(&text, limit, &way_out);
        replace_texts(&mut outcome.content, text);
        outcome.kept_in = kept.ok();
    }

    /// Writes `text` to a new file.
    async fn keep(&self, text: Arc<String>, call_id: &str, tool: &str) -> io::Result<PathBuf> {
        let name = format!("{}-{}", file_name_part(call_id), file_name_part(tool));
        let (folder, to_clean) = (self.folder.clone(), self.folder.clone());
        let path = blocking(move || write(&folder, &name, &text)).await?;
        let newest = path.clone();
        let cleaning = blocking(move || remove_old(&to_clean, &newest));
        // A removal that is not finished by then continues in the background, or is left to the
        // next call.
        let _ = tokio::time::timeout(CLEANUP_WAIT, cleaning).await;
        Ok(path)
    }
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// Replaces the first text by `text` and removes the others. Images keep their positions.
fn replace_texts(content: &mut Vec<Block>, text: String) {
    let mut text = Some(text);
    content.retain_mut(|block| match block {
        Block::Text { text: old, .. } => match text.take() {
            Some(new) => {
                *old = new;
                true
            }
            None => false,
        },
        _ => true,
    });
}

fn write(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    // The output of a tool may be secret, so only the user may read it.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let (path, mut file) = create(folder, name)?;
    let written = file.write_all(text.as_bytes());
    if let Err(error) = written {
        // A partial file would look complete.
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

/// Creates a new file. Call ids can repeat, so the time is part of the name.
fn create(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    let mut stamp = since_1970().as_millis();
    loop {
        let path = folder.join(format!("{name}-{stamp}.txt"));
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        match made {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => stamp += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Removes files that are too old, and the oldest of the rest if they exceed the limit. Never
/// removes `newest`.
fn remove_old(folder: &Path, newest: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        // Another haft process may remove the same files at the same time.
        let Ok(found) = entry.metadata() else {
            continue;
        };
        let path = entry.path();
        if found.is_file() && path != newest {
            files.push((found.modified().unwrap_or(now), found.len(), path));
        }
    }
    files.sort_by_key(|(modified, _, _)| std::cmp::Reverse(*modified));
    let mut bytes = fs::metadata(newest)?.len();
    for (modified, size, path) in files {
        let is_old = now.duration_since(modified).is_ok_and(|age| age > OLDEST);
        let is_too_much = bytes.saturating_add(size) > MAX_BYTES;
        if is_old || is_too_much {
            let _ = fs::remove_file(path);
        } else {
            bytes += size;
        }
    }
    Ok(())
}

/// Replaces all characters except harmless ones, because ids and names may contain any text.
fn file_name_part(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let part = text.chars().take(MAX_PART_CHARS);
    part.map(|c| if harmless(c) { c } else { '_' }).collect()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}
