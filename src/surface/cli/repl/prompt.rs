//! What stands before the line that is being written.

use std::borrow::Cow;

use reedline::{Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};

/// Before the first line.
const FIRST: &str = "haft> ";
/// Before the lines that follow it.
const MORE: &str = "  ... ";

/// Cells that are not the line's.
pub(super) const WIDTH: usize = FIRST.len();

pub(super) struct HaftPrompt;

impl Prompt for HaftPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(FIRST)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(MORE)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let found = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "nothing has ",
        };
        Cow::Owned(format!("({found}`{}`) ", search.term))
    }
}
