//! What model providers take: names and JSON Schemas in the dialect of each.
//!
//! Text in, text out. Nothing here knows where a tool comes from or who asks; surfaces offer what
//! comes out of it.

mod names;

pub(crate) use names::Names;
