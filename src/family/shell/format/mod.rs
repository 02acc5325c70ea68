//! Table of the format's keys: the source of the checks of files, of the JSON Schema for editors
//! and of the reference in `docs/shell-tools.md`.
//!
//! A new key is added here and read in `read`; no other module lists the keys.

mod check;
mod reference;
mod schema;
mod steps;
mod tables;

pub(super) use check::check;
pub use reference::reference;
pub use schema::json_schema;
pub(super) use tables::TOOL;

/// Kinds of values under a key.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// A scalar; its text counts, however it is written.
    Text,
    /// `true` or `false`.
    Flag,
    /// Milliseconds, above 0.
    Timeout,
    /// Milliseconds, 0 included.
    Delay,
    /// A whole number from 0.
    Count,
    /// A whole number.
    Whole,
    /// Any number.
    Number,
    /// Bytes: `512`, `10MB`.
    Size,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// A list of texts; a single one counts as a list of one.
    Texts,
    /// Anything.
    Any,
    /// A list of anything.
    Values,
    /// A mapping of names to texts.
    TextMap,
    /// A mapping of names to anything.
    ValueMap,
    /// A mapping with the keys of a table.
    Table(&'static Table),
    /// A list of such mappings.
    List(&'static Table),
    /// A mapping of names to such mappings.
    Named(&'static Table),
}

/// A mapping with known keys.
pub(super) struct Table {
    /// Name of the mapping in messages, with its article: `a tool`.
    pub(super) what: &'static str,
    pub(super) keys: &'static [Key],
}

/// One key.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// For people, in editors and in the reference; one line.
    pub(super) help: &'static str,
}

const fn key(name: &'static str, shape: Shape, help: &'static str) -> Key {
    Key { name, shape, help }
}

/// Returns the names in a table of words.
const fn names<T: Copy, const N: usize>(pairs: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = pairs[index].0;
        index += 1;
    }
    names
}
