//! Renders data as lines for people: problems, results, tables, sizes, times.
//!
//! The functions here turn data into [`TerminalText`](haft_tool::TerminalText). They do not decide
//! where the text goes.

pub mod draw;
mod image;
pub mod outcome;
pub mod palette;
pub mod problem;
pub mod sanitize;
pub mod style;
pub mod table;
pub mod text;
pub mod units;
pub mod width;

pub use haft_tool::{
    Colors, Drawing, ImageProtocol, RawRender, RenderOptions, RenderTarget, Screen,
};
pub use sanitize::safe_lines;
