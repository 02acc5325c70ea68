//! YAML shell tools: the format that CYCOD specified (spec cycod).
//!
//! `definition` is what a file says, `run` is what happens when it is called.

pub(crate) mod definition;
mod pattern;
