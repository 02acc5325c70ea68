//! Dialog of an interactive program with the user (spec cycod 117).
//!
//! It is not visible that a program reads its input, so its output has to show it. The user is
//! asked when the program has started and is quiet, and again whenever its output ends without a
//! newline. If no answer comes in time, the program gets the default.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::super::definition::Interaction;
use super::mask::Mask;
use super::pausable_timer::Thinking;
use haft_process::{Child, Chunk, Finished};
use haft_tool::{Answer, Prompt, User};

/// Silence after which a program is taken to be waiting for input.
const QUIET: Duration = Duration::from_millis(300);

/// Limit of the program's output in a question, in bytes; the last of it is shown.
const MAX_TITLE_LEN: usize = 4_000;

/// Parties and settings of a dialog.
pub(crate) struct Talk<'a> {
    pub(crate) user: &'a User,
    pub(crate) interaction: &'a Interaction,
    /// The tool or the step, where the program has no output.
    pub(crate) name: &'a str,
    pub(crate) mask: &'a Mask,
    pub(crate) timer: &'a Thinking,
}

/// Result of a question.
enum Said {
    /// The user's answer, or the default.
    Answer(Option<String>),
    /// The program has more output; the question must wait.
    More,
    /// The program has ended.
    Ended,
}

impl Talk<'_> {
    /// Serves a program until it ends; its input is open. `hear` is called with all its output.
    pub(crate) async fn with(&self, mut child: Child, mut hear: impl FnMut(&Chunk)) -> Finished {
        let mut said = Vec::new();
        // The output before the first question may end with a newline.
        let (mut is_first, mut wants_answer) = (true, true);
        let mut last = Instant::now();
        loop {
            // Without a question no answer can come; the default is sent after the timeout.
            let silence_limit = if wants_answer {
                QUIET
            } else {
                self.interaction.time_limit()
            };
            tokio::select! {
                biased;
                chunk = child.next() => {
                    let Some(chunk) = chunk else { break };
                    hear(&chunk);
                    said.extend(chunk.bytes);
                    wants_answer = is_first || !said.ends_with(b"\n");
                }
                () = sleep_until(last + silence_limit) => {
                    let answer = if wants_answer { match self.answer(&mut child, &mut said, &mut hear).await {
                        Said::Answer(answer) => answer,
                        Said::More => {
                            last = Instant::now();
                            continue;
                        }
                        Said::Ended => break,
                    } } else { self.interaction.default_response.clone() };
                    match answer {
                        // A program may end without reading the answer: that is not an error.
                        Some(line) => drop(child.write(format!("{line}\n").as_bytes()).await),
                        None => child.close_input(),
                    }
                    said.clear();
                    (is_first, wants_answer) = (false, false);
                }
            }
            last = Instant::now();
        }
        child.wait().await
    }

    /// Asks the user.
    async fn answer(
        &self,
        child: &mut Child,
        said: &mut Vec<u8>,
        hear: &mut impl FnMut(&Chunk),
    ) -> Said {
        let is_blind = said.is_empty();
        let default = &self.interaction.default_response;
        let question = Prompt::Input {
            title: self.title(said),
            placeholder: default.clone(),
        };
        let _thinking = self.timer.begin();
        let asked = self.user.ask(question, Some(self.interaction.time_limit()));
        tokio::pin!(asked);
        loop {
            tokio::select! {
                biased;
                answer = &mut asked => return Said::Answer(match answer {
                    Ok(Answer::Text(text)) if !text.is_empty() => Some(text),
                    _ => default.clone(),
                }),
                chunk = child.next() => match chunk {
                    Some(chunk) => {
                        hear(&chunk);
                        said.extend(chunk.bytes);
                        // The program was slow to start, and this output belongs into the question.
                        if is_blind {
                            return Said::More;
                        }
                    }
                    None => return Said::Ended,
                },
            }
        }
    }

    fn title(&self, said: &[u8]) -> String {
        let text = self.mask.apply(&String::from_utf8_lossy(said));
        let text = text.trim();
        if text.is_empty() {
            return format!("`{}` waits for an answer", self.name);
        }
        let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_TITLE_LEN));
        text[start..].to_owned()
    }
}
