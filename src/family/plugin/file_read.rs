//! File-read tools: one file beneath a folder.

use std::path::PathBuf;

use serde_json::Value;

use super::args::Args;
use super::json::{Fault, Fields};
use super::{Ended, Ground, limits};
use crate::family::read_within;
use haft_tool::{CallCtx, PermissionProfile};

/// Default limit of a file's size, in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// A folder to read from.
pub(super) struct FileRead {
    base: PathBuf,
    max_size: u64,
}

/// One file to read.
pub(super) struct FileReadPlan {
    base: PathBuf,
    path: String,
    max_size: u64,
}

impl FileRead {
    /// Reads the handler.
    pub(super) fn read(
        handler: &Fields<'_>,
        ground: &Ground,
        faults: &mut Vec<Fault>,
    ) -> Option<FileRead> {
        let name = "File-read handler";
        let max_size = limits::bytes(name, handler, "maxSize", MAX_SIZE, faults);
        let base = handler.string("basePath").filter(|base| !base.is_empty());
        if base.is_none() {
            let text = "File-read handler basePath is required and must be a non-empty string";
            faults.push(handler.fault("basePath", text));
        }
        Some(FileRead {
            base: ground.folder(&base?),
            max_size: max_size?,
        })
    }

    /// The file that the arguments name.
    pub(super) fn plan(&self, args: &Args) -> Result<FileReadPlan, String> {
        let Some(Value::String(path)) = args.get("path") else {
            return Err("Missing or invalid 'path' parameter: must be a string".to_owned());
        };
        Ok(FileReadPlan {
            base: self.base.clone(),
            path: path.clone(),
            max_size: self.max_size,
        })
    }
}

impl FileReadPlan {
    /// Returns the reason why the file may not be read; `None` if it may. A missing file is judged
    /// by its path.
    pub(super) fn refusal(&self, permissions: &PermissionProfile) -> Option<String> {
        read_within::refusal(&self.base, &self.path, permissions)
    }

    /// Reads the file, on a thread that may wait for a slow disk.
    pub(super) async fn run(self, ctx: &CallCtx) -> Ended {
        let reading = tokio::task::spawn_blocking(move || {
            read_within::read(&self.base, &self.path, self.max_size)
                .map_err(|refused| refused.text(&self.base, &self.path, self.max_size))
        });
        tokio::select! {
            biased;
            () = ctx.cancel().cancelled() => Ended::Stopped("Reading was cancelled".to_owned()),
            read = reading => match read {
                Ok(Ok(bytes)) => Ended::Succeeded(String::from_utf8_lossy(&bytes).into_owned()),
                Ok(Err(text)) => Ended::Failed(text),
                Err(error) => Ended::Failed(format!("Cannot read the file: {error}")),
            },
        }
    }
}
