//! Keeps long texts away from the model: head and tail stay in the result, all of it goes to a file.
//!
//! Holds for every family. A disk that refuses is no reason to fail a call that worked: the text is
//! cut all the same and says so. Old files go when a new one comes, and no call waits for that.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::tool::{Block, Outcome, excerpt};

/// Files older than this go.
const OLDEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// So many bytes of files stay, the newest first.
const MOST_BYTES: u64 = 200 << 20;
/// How long a call that has just written its file stays for the cleaning; in a program that ends
/// with the call there would be none otherwise.
const PATIENCE: Duration = Duration::from_millis(50);
/// A name of a file may have 255 bytes; two such parts and a number fit.
const LONGEST_PART: usize = 80;

/// Where long texts go, and what counts as long.
#[derive(Debug)]
pub(crate) struct Spill {
    folder: PathBuf,
    /// Bytes; 0 means that nothing is too long.
    limit: usize,
}

impl Spill {
    /// Spills what is longer than `limit_kb` into `folder`, which is made when it is needed.
    pub(crate) fn new(folder: PathBuf, limit_kb: u32) -> Self {
        let limit = (limit_kb as usize).saturating_mul(1024);
        Spill { folder, limit }
    }

    /// Shortens the text of `outcome` if it has more than `limit` bytes, by default those of the
    /// configuration. All text blocks count together; images and details stay as they are.
    pub(super) async fn shorten(
        &self,
        outcome: &mut Outcome,
        limit: Option<usize>,
        call_id: &str,
        tool: &str,
    ) {
        let limit = limit.unwrap_or(self.limit);
        let texts = outcome.content.iter().filter_map(text_of);
        // With what joins them to one text.
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
            outcome.display = Some(match display.len() > limit {
                true => excerpt::of(&display, limit, &way_out),
                false => display,
            });
        }
        let text = excerpt::of(&text, limit, &way_out);
        replace_texts(&mut outcome.content, text);
        outcome.kept_in = kept.ok();
    }

    /// Writes `text` to a file of its own.
    async fn keep(&self, text: Arc<String>, call_id: &str, tool: &str) -> io::Result<PathBuf> {
        let name = format!("{}-{}", file_name_part(call_id), file_name_part(tool));
        let (folder, to_clean) = (self.folder.clone(), self.folder.clone());
        let path = blocking(move || write(&folder, &name, &text)).await?;
        let newest = path.clone();
        let cleaning = blocking(move || remove_old(&to_clean, &newest));
        // What is not done by then is done meanwhile, or by the next one.
        let _ = tokio::time::timeout(PATIENCE, cleaning).await;
        Ok(path)
    }
}

fn text_of(block: &Block) -> Option<&str> {
    match block {
        Block::Text { text } => Some(text),
        _ => None,
    }
}

/// Puts `text` where the first text was; the others go, images stay where they are.
fn replace_texts(content: &mut Vec<Block>, text: String) {
    let mut text = Some(text);
    content.retain_mut(|block| match block {
        Block::Text { text: old } => match text.take() {
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
    // What a tool prints may be secret: nobody else reads it.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let (path, mut file) = create(folder, name)?;
    let written = file.write_all(text.as_bytes());
    if let Err(error) = written {
        // Half a file would be taken for the whole.
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

/// A file that did not exist before. Call ids come back, so the time is part of the name.
fn create(folder: &Path, name: &str) -> io::Result<(PathBuf, File)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut stamp = now.map_or(0, |now| now.as_millis());
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

/// Removes what is too old, and of the rest what is too much. Never `newest`.
fn remove_old(folder: &Path, newest: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        // Another haft may remove the same files at the same time.
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
        let is_too_much = bytes.saturating_add(size) > MOST_BYTES;
        if is_old || is_too_much {
            let _ = fs::remove_file(path);
        } else {
            bytes += size;
        }
    }
    Ok(())
}

/// Ids and names are anybody's words; a file's name is made of harmless characters.
fn file_name_part(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let part = text.chars().take(LONGEST_PART);
    part.map(|c| if harmless(c) { c } else { '_' }).collect()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}
