//! An interactive program and the person who answers it (spec cycod 117).
//!
//! Nobody can see that a program reads, so what it wrote has to tell: the person is asked when it
//! has begun and is quiet, and again whenever the last thing that it wrote is a line without an end.
//! Where nobody answers in time it gets the default.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::super::definition::Interaction;
use super::mask::Mask;
use super::thinking::Thinking;
use crate::process::{Child, Chunk, Finished};
use crate::tool::{Answer, Asked, User};

/// So long a program writes nothing before it is taken to be waiting.
const QUIET: Duration = Duration::from_millis(300);

/// What of a program's words is shown with the question; the last of them count.
const LONGEST_TITLE: usize = 4_000;

/// Who talks to whom.
pub(crate) struct Talk<'a> {
    pub(crate) user: &'a User,
    pub(crate) interaction: &'a Interaction,
    /// The tool or the step, where the program says nothing.
    pub(crate) name: &'a str,
    pub(crate) mask: &'a Mask,
    pub(crate) thinking: &'a Thinking,
}

/// What came of a question.
enum Said {
    /// The person's answer, or the default.
    Answer(Option<String>),
    /// The program has something to say first.
    More,
    /// The program has ended.
    Ended,
}

impl Talk<'_> {
    /// Serves a program whose input is open until it ends. `hear` is given all that it writes.
    pub(crate) async fn with(&self, mut child: Child, mut hear: impl FnMut(&Chunk)) -> Finished {
        let mut said = Vec::new();
        // The first question may well end its line.
        let (mut is_first, mut wants_answer) = (true, true);
        let mut last = Instant::now();
        loop {
            // Without a question nobody is going to answer, and the default comes late.
            let patience = match wants_answer {
                true => QUIET,
                false => self.interaction.timeout,
            };
            tokio::select! {
                biased;
                chunk = child.next() => {
                    let Some(chunk) = chunk else { break };
                    hear(&chunk);
                    said.extend(chunk.bytes);
                    wants_answer = is_first || !said.ends_with(b"\n");
                }
                () = sleep_until(last + patience) => {
                    let answer = match wants_answer {
                        true => match self.answer(&mut child, &mut said, &mut hear).await {
                            Said::Answer(answer) => answer,
                            Said::More => {
                                last = Instant::now();
                                continue;
                            }
                            Said::Ended => break,
                        },
                        false => self.interaction.default_response.clone(),
                    };
                    match answer {
                        // One that ends without reading it has its reasons.
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

    /// Asks the person.
    async fn answer(
        &self,
        child: &mut Child,
        said: &mut Vec<u8>,
        hear: &mut impl FnMut(&Chunk),
    ) -> Said {
        let is_blind = said.is_empty();
        let default = &self.interaction.default_response;
        let question = Asked::Input {
            title: self.title(said),
            placeholder: default.clone(),
        };
        let _thinking = self.thinking.begin();
        let asked = self.user.ask(question, Some(self.interaction.timeout));
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
                        // It was slow to begin, and these are the words to ask with.
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
        let start = text.ceil_char_boundary(text.len().saturating_sub(LONGEST_TITLE));
        text[start..].to_owned()
    }
}
