//! Renders data as lines for people: problems, results, tables, sizes, times.
//!
//! The functions here turn data into text. They do not decide where the text goes. Tools are not
//! trusted: text of tools passes through [`text::clean`] first, so that a description cannot move
//! the cursor or recolour the terminal.

pub(crate) mod cells;
pub(crate) mod drawing;
mod image;
pub(crate) mod ink;
pub(crate) mod outcome;
pub(crate) mod palette;
pub(crate) mod problem;
pub(crate) mod table;
pub(crate) mod tame;
pub(crate) mod text;
pub(crate) mod units;
