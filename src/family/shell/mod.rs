//! YAML shell tools: the format that CYCOD specified (spec cycod).
//!
//! `definition` is the content of a file, `read` parses it, `shelf` resolves the names of tools
//! that use each other, `run` makes the calls.

pub(crate) mod arguments;
pub(crate) mod author;
pub(crate) mod definition;
pub(crate) mod references;

mod circle;
mod format;
mod load;
mod offer;
mod pattern;
mod read;
mod report;
pub(crate) mod run;
mod schema;
pub(crate) mod shelf;
mod version;
mod yaml;

pub use format::{json_schema, reference};
pub(crate) use load::load_all;
pub(crate) use schema::input_schema;
