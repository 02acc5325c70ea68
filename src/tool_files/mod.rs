//! Management of the users' own YAML shell tools: find, check, write and remove their files.
//!
//! The commands `haft tool …` are built on it. It runs no tool and prompts for nothing;
//! `family::shell` interprets the files. It must never lose or overwrite concurrent changes, and
//! never leave the folder of a scope.

mod dialects;
mod draft;
mod edit;
mod files;
mod module;
mod script_module;
mod tool_file;

pub(crate) use crate::family::shell::definition::{Datum, Number, Scope};
pub(crate) use crate::family::shell::edit::{Key, Opened, advice, open, pretty, renamed, yaml};
pub(crate) use dialects::NewDialect;
pub(crate) use draft::{Draft, template};
pub(crate) use edit::{Edited, EditorDraft};
pub(crate) use files::ToolFileStore;
pub(crate) use haft_process::atomic_file::{Overwrite, write};
pub(crate) use module::NewModule;
pub(crate) use script_module::ScriptModule;
pub(crate) use tool_file::{Merged, Summary, ToolFile};
