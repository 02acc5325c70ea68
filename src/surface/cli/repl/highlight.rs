//! Highlighter of the line: known names look different from unknown ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{Color, Highlighter, StyledText};

use super::commands;
use super::completion_data::Known;

pub(super) struct Painter {
    pub(super) known: Arc<Known>,
    /// Set if the line is empty. The line editor does not report this in any other way.
    pub(super) is_empty: Arc<AtomicBool>,
}

impl Highlighter for Painter {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        self.is_empty.store(line.is_empty(), Ordering::Relaxed);
        let blank = line.len() - line.trim_start().len();
        let end = line[blank..].find(char::is_whitespace);
        let (first, rest) = line.split_at(end.map_or(line.len(), |end| blank + end));
        let is_known = match first.trim_start().strip_prefix('/') {
            Some(command) => commands::find(command).is_some(),
            None => self.known.tool(first.trim_start()).is_some(),
        };
        let style = if is_known {
            Color::Green.bold()
        } else {
            Color::Default.normal()
        };
        let mut styled = StyledText::new();
        styled.push((style, first.to_owned()));
        styled.push((Color::Default.normal(), rest.to_owned()));
        styled
    }
}
