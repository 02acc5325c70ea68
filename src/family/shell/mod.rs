//! YAML shell tools: the format that CYCOD specified (spec cycod).
//!
//! `definition` is the content of a file, `read` parses it, `tool_set` resolves the names of tools
//! that use each other, `run` makes the calls.

pub(crate) mod arguments;
pub(crate) mod definition;
pub(crate) mod edit;
pub(crate) mod references;

mod cycles;
mod format;
mod load;
mod named_files;
mod offer;
mod pattern;
mod read;
mod report;
pub(crate) mod resolve;
pub(crate) mod run;
mod schema;
mod version;
mod yaml;

pub use format::{json_schema, reference};
pub(crate) use load::load_all;
pub(crate) use named_files::named_files;
pub(crate) use schema::input_schema;
