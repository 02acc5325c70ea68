//! Writing and repairing files of the format: the counterpart of `read`.
//!
//! Pure: texts in, texts out. `tool_files` decides where files lie and which may be replaced.

mod advice;
mod fix;
mod json;
mod mask;
mod opened;
mod rename;
mod write;

pub(crate) use advice::advice;
pub(crate) use fix::{Fixed, fix};
pub(crate) use json::pretty;
pub(crate) use opened::{Opened, open, open_file};
pub(crate) use rename::renamed;
pub(crate) use write::yaml;
