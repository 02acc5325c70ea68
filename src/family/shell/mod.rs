//! YAML shell tools: the format that CYCOD specified (spec cycod).
//!
//! `definition` is what a file says, `read` makes it, `shelf` puts all tools side by side so that
//! one can use another, `run` is what happens when one is called.

pub(crate) mod arguments;
pub(crate) mod definition;
pub(crate) mod references;

mod format;
mod pattern;
mod read;
mod report;
mod yaml;
