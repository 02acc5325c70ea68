//! Prompt of a tool on the screen.
//!
//! All text of the tool is sanitised, and the first line names the tool. So a tool cannot pretend
//! that its prompt comes from haft.

use std::io;
use std::os::fd::OwnedFd;

use super::keys::Key;
use super::line::Line;
use super::prompt_view::{Frame, room};
use super::tty::{Heard, Tty};
use crate::surface::terminal::say;
use crate::tool_files::{Edited, EditorDraft};
use haft_render::style::Ink;
use haft_render::text;
use haft_tool::FRAME;
use haft_tool::{Answer, Prompt, Question, TerminalText, terminal_text};

/// Maximum number of options on the screen.
const MAX_OPTIONS: usize = 10;

/// Asks until the user answers or `wake` fires.
pub(super) fn ask(
    question: &Question,
    desk: &EditorDraft,
    ink: Ink,
    wake: &OwnedFd,
) -> io::Result<Answer> {
    // Discards keys that were typed before the prompt is visible.
    let mut terminal = Tty::by_keys()?;
    let (title, more) = match &question.what {
        Prompt::Confirm { title, message } => (title, message.as_str()),
        Prompt::Select { title, .. }
        | Prompt::Input { title, .. }
        | Prompt::Editor { title, .. } => (title, ""),
    };
    say(&head(&question.from.tool, title, more, ink));
    match &question.what {
        Prompt::Select { options, .. } => Choice::of(options, ink).run(&mut terminal, wake),
        Prompt::Confirm { .. } => confirm(&mut terminal, ink, wake),
        Prompt::Input { placeholder, .. } => {
            input(&mut terminal, placeholder.as_deref(), ink, wake)
        }
        Prompt::Editor { prefill, .. } => {
            // The editor needs the terminal's original mode.
            drop(terminal);
            Ok(edit(desk, prefill.as_deref().unwrap_or_default(), ink))
        }
    }
}

fn head(tool: &str, title: &str, more: &str, ink: Ink) -> TerminalText {
    let mut titles = title.lines().map(TerminalText::from_prose);
    let first = titles.next().unwrap_or_default();
    let tool = ink.dim(terminal_text!("[{tool}]"));
    let mut head = terminal_text!("{tool} {}\n", ink.bold(first));
    for line in titles.chain(more.lines().map(TerminalText::from_prose)) {
        // Only the first line names the tool.
        head.push(&terminal_text!("{}{line}\n", ink.dim(FRAME)));
    }
    head
}

const NO_ANSWER: &str = "(no answer)";
const WITHDRAWN: &str = "(not asked any more)";

/// Shows `why` as the last line of an unanswered prompt.
fn unanswered(frame: &mut Frame, why: &str, ink: Ink) -> Answer {
    frame.end(&ink.dim(why).to_text());
    Answer::Dismissed
}

fn confirm(terminal: &mut Tty, ink: Ink, wake: &OwnedFd) -> io::Result<Answer> {
    let mut frame = Frame::default();
    let line = terminal_text!("Yes or No? {} ", ink.dim("[y/N]"));
    let column = line.width();
    frame.draw(&[line], Some((0, column)));
    loop {
        let (answer, word) = match terminal.key(wake)? {
            Heard::Withdrawn => return Ok(unanswered(&mut frame, WITHDRAWN, ink)),
            Heard::End | Heard::This(Key::Escape | Key::End) => {
                return Ok(unanswered(&mut frame, NO_ANSWER, ink));
            }
            Heard::This(Key::Char('y' | 'Y')) => (Answer::Yes, "Yes"),
            Heard::This(Key::Char('n' | 'N') | Key::Enter) => (Answer::No, "No"),
            Heard::This(_) => continue,
        };
        frame.end(&terminal_text!("{} {word}", ink.hint("❯")));
        return Ok(answer);
    }
}

fn input(
    terminal: &mut Tty,
    placeholder: Option<&str>,
    ink: Ink,
    wake: &OwnedFd,
) -> io::Result<Answer> {
    let mut frame = Frame::default();
    let mut line = Line::default();
    let example = placeholder.map(text::first_line).unwrap_or_default();
    loop {
        let (shown, cursor) = line.view(room().saturating_sub(2));
        let shown = if line.text().is_empty() {
            ink.dim(&example).to_text()
        } else {
            TerminalText::from_line(&shown)
        };
        frame.draw(
            &[terminal_text!("{} {shown}", ink.hint("❯"))],
            Some((0, cursor + 2)),
        );
        match terminal.key(wake)? {
            Heard::Withdrawn => return Ok(unanswered(&mut frame, WITHDRAWN, ink)),
            Heard::End | Heard::This(Key::Escape) => {
                return Ok(unanswered(&mut frame, NO_ANSWER, ink));
            }
            Heard::This(Key::End) if line.text().is_empty() => {
                return Ok(unanswered(&mut frame, NO_ANSWER, ink));
            }
            Heard::This(Key::Enter) => {
                let typed = TerminalText::from_line(line.text());
                frame.end(&terminal_text!("{} {typed}", ink.hint("❯")));
                return Ok(Answer::Text(line.text().to_owned()));
            }
            Heard::This(key) => {
                line.press(key);
            }
        }
    }
}

fn edit(desk: &EditorDraft, prefill: &str, ink: Ink) -> Answer {
    let edited = desk.lay("answer", "md", prefill).and_then(|draft| {
        let edited = desk.edit(&draft, prefill);
        desk.clear(&draft);
        edited
    });
    match edited {
        Ok(Edited::Same) => Answer::Text(prefill.to_owned()),
        Ok(Edited::Changed(text)) => {
            // Editors add a line break at the end, so remove it unless the original text had one.
            let text = if prefill.ends_with('\n') {
                text
            } else {
                text.strip_suffix('\n').map_or(text.clone(), str::to_owned)
            };
            Answer::Text(text)
        }
        Err(error) => {
            say(&terminal_text!(
                "{}: {}\n",
                ink.warning("warning"),
                TerminalText::from_message(error.message())
            ));
            Answer::Dismissed
        }
    }
}

/// List of options: arrows move, letters filter.
struct Choice<'a> {
    options: &'a [String],
    labels: Vec<TerminalText>,
    filter: Line,
    /// Indexes of the options that match the filter.
    left: Vec<usize>,
    /// Index of the selected one of these.
    at: usize,
    ink: Ink,
}

impl<'a> Choice<'a> {
    fn of(options: &'a [String], ink: Ink) -> Self {
        Choice {
            labels: options.iter().map(|text| text::first_line(text)).collect(),
            left: (0..options.len()).collect(),
            options,
            filter: Line::default(),
            at: 0,
            ink,
        }
    }

    fn run(mut self, terminal: &mut Tty, wake: &OwnedFd) -> io::Result<Answer> {
        let mut frame = Frame::default();
        loop {
            frame.draw(&self.lines(), None);
            match terminal.key(wake)? {
                Heard::Withdrawn => return Ok(unanswered(&mut frame, WITHDRAWN, self.ink)),
                Heard::End | Heard::This(Key::Escape | Key::End) => {
                    return Ok(unanswered(&mut frame, NO_ANSWER, self.ink));
                }
                Heard::This(Key::Enter) => {
                    if let Some(&chosen) = self.left.get(self.at) {
                        frame.end(&terminal_text!(
                            "{} {}",
                            self.ink.hint("❯"),
                            self.labels[chosen]
                        ));
                        return Ok(Answer::Text(self.options[chosen].clone()));
                    }
                }
                Heard::This(key) => self.press(key),
            }
        }
    }

    fn press(&mut self, key: Key) {
        let last = self.left.len().saturating_sub(1);
        match key {
            Key::Up if self.at == 0 => self.at = last,
            Key::Up => self.at -= 1,
            Key::Down if self.at >= last => self.at = 0,
            Key::Down => self.at += 1,
            Key::PageUp => self.at = self.at.saturating_sub(MAX_OPTIONS),
            Key::PageDown => self.at = (self.at + MAX_OPTIONS).min(last),
            Key::LineStart => self.at = 0,
            Key::LineEnd => self.at = last,
            key => {
                if self.filter.press(key) {
                    self.narrow();
                }
            }
        }
    }

    fn narrow(&mut self) {
        let wanted = self.filter.text().to_lowercase();
        let fits = |&at: &usize| self.labels[at].as_str().to_lowercase().contains(&wanted);
        self.left = (0..self.options.len()).filter(fits).collect();
        self.at = 0;
    }

    fn lines(&self) -> Vec<TerminalText> {
        let from = self.at.saturating_sub(MAX_OPTIONS - 1);
        let shown = self.left.iter().enumerate().skip(from).take(MAX_OPTIONS);
        let mut lines: Vec<TerminalText> = shown
            .map(|(place, &option)| {
                if place == self.at {
                    let label = terminal_text!("❯ {}", self.labels[option]);
                    self.ink.hint(label).to_text()
                } else {
                    terminal_text!("  {}", self.labels[option])
                }
            })
            .collect();
        let filter = self.filter.text();
        let count = match self.left.len() {
            0 => terminal_text!("nothing has `{filter}` in it"),
            left if left < self.options.len() => {
                terminal_text!("`{filter}`: {left} of {}", self.options.len())
            }
            all if all > MAX_OPTIONS => {
                terminal_text!("{all} to choose from; type to narrow them down")
            }
            _ => return lines,
        };
        lines.push(self.ink.dim(count).to_text());
        lines
    }
}
