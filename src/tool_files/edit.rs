//! Drafts in the user's editor. The tool itself changes only once the draft is valid; an invalid
//! draft is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haft_config::{Config, UserFolder, paths};
use haft_process::in_foreground;
use haft_tool::{Error, ErrorKind};

/// Folder for drafts, and the editor that opens them.
pub(crate) struct EditorDraft {
    folder: PathBuf,
    editor: String,
}

/// Result of an editor session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    /// The text is unchanged.
    Same,
    Changed(String),
}

impl EditorDraft {
    /// Uses the editor `named`, else the configured one, else `vi`.
    pub(crate) fn new(config: &Config, named: Option<&str>) -> EditorDraft {
        let editor = named.or(config.editor.as_deref()).unwrap_or("vi");
        EditorDraft {
            folder: config.state_dir.user_folder(UserFolder::Drafts),
            editor: editor.to_owned(),
        }
    }

    /// Writes a draft that only its user can read.
    pub(crate) fn lay(&self, name: &str, extension: &str, text: &str) -> Result<PathBuf, Error> {
        let write = || -> io::Result<PathBuf> {
            fs::create_dir_all(&self.folder)?;
            for number in 0..1000u32 {
                let path = match number {
                    0 => self.folder.join(format!("{name}.{extension}")),
                    _ => self.folder.join(format!("{name}-{number}.{extension}")),
                };
                match fs::OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(&path)
                {
                    // The name belongs to a kept draft or to a draft of another process.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                    Ok(mut file) => {
                        io::Write::write_all(&mut file, text.as_bytes())?;
                        return Ok(path);
                    }
                }
            }
            Err(io::ErrorKind::AlreadyExists.into())
        };
        write().map_err(|error| {
            let folder = self.folder.display();
            failed(format!(
                "no draft can be written to {folder}: {}",
                paths::plain(&error)
            ))
        })
    }

    /// Opens the draft and waits until the editor is closed. Blocks.
    ///
    /// # Errors
    /// If the editor fails or is killed. The draft is kept.
    pub(crate) fn edit(&self, draft: &Path, before: &str) -> Result<Edited, Error> {
        let editor = &self.editor;
        let ended = in_foreground(editor, draft.as_os_str())
            .map_err(|error| failed(format!("`{editor}` cannot be started: {error}")))?;
        if !ended.success() {
            let how = match ended.code() {
                Some(code) => format!("exit code {code}"),
                None => "it was killed".to_owned(),
            };
            return Err(failed(format!("the editor `{editor}` failed ({how})")));
        }
        let after = fs::read_to_string(draft).map_err(|error| {
            failed(format!(
                "the draft cannot be read: {}",
                paths::plain(&error)
            ))
        })?;
        Ok(if after == before {
            Edited::Same
        } else {
            Edited::Changed(after)
        })
    }

    /// Removes a draft that is not needed any more.
    pub(crate) fn clear(&self, draft: &Path) {
        // A draft that cannot be removed only takes up space.
        let _ = fs::remove_file(draft);
    }
}

fn failed(text: String) -> Error {
    Error::new(ErrorKind::Load, text)
}
