//! Renders data as lines for people: problems, results, tables, sizes, times.
//!
//! The functions here turn data into text. They do not decide where the text goes. Tools are not
//! trusted: text of tools passes through [`text::clean`] first, so that a description cannot move
//! the cursor or recolour the terminal.

pub(crate) mod draw;
mod image;
pub(crate) mod outcome;
pub(crate) mod palette;
pub(crate) mod problem;
pub(crate) mod sanitize;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod units;
pub(crate) mod width;

pub use crate::tool::{
    Colors, Drawing, ImageProtocol, RawRender, RenderOptions, RenderTarget, Screen,
};
pub use sanitize::safe_lines;
