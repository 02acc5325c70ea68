//! Where people make their own YAML shell tools: finding, checking, writing, removing the files.
//!
//! The commands `haft tool …` translate for it. It runs no tool and asks nobody; what a file means
//! is for `family::shell`. The hard thing is never to lose or to overwrite what somebody else wrote
//! meanwhile, and never to leave the folder of a scope.

mod draft;
mod edit;
mod files;
mod module;
mod shelf;
mod template;
mod tool_file;

pub(crate) use crate::family::shell::author::{Opened, advice, open, pretty, renamed, yaml};
pub(crate) use crate::family::shell::definition::{Datum, Number, Scope};
pub(crate) use crate::files::{Replacing, put};
pub(crate) use draft::{Draft, push, set};
pub(crate) use edit::{Desk, Edited};
pub(crate) use files::Workshop;
pub(crate) use module::NewModule;
pub(crate) use shelf::Merged;
pub(crate) use template::template;
pub(crate) use tool_file::{Summary, ToolFile};
