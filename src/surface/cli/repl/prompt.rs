//! Prompt before the line that is being edited.

use std::borrow::Cow;

use reedline::{Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};

/// Prompt of the first line.
const FIRST: &str = "haft> ";
/// Prompt of the following lines.
const MORE: &str = "  ... ";

/// Width of the prompt in cells.
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
