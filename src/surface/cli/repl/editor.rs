//! Line editor on its own thread, which can be interrupted.
//!
//! Each line has its own editor. Output during editing removes the line from the screen. The next
//! editor then begins with the draft of that line.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reedline::{
    Color, ColumnarMenu, DefaultHinter, EditCommand, Emacs, KeyCode, KeyModifiers, MenuBuilder,
    Reedline, ReedlineEvent, ReedlineMenu, Signal, ValidationResult, Validator,
    default_emacs_keybindings,
};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::task::JoinHandle;

use super::complete::Tab;
use super::completion_data::Known;
use super::highlight::Painter;
use super::prompt::{self, HaftPrompt};
use super::{history, line};
use crate::surface::terminal::{self, say};
use haft_render::style::Ink;
use haft_render::width::width;
use haft_tool::{TerminalText, terminal_text};

const MENU: &str = "completion_menu";

/// Factory of line editors.
pub(super) struct Editor {
    pub(super) known: Arc<Known>,
    /// File of the history; `None` to keep it in memory.
    pub(super) history: Option<PathBuf>,
    pub(super) ink: Ink,
}

/// An unfinished line.
#[derive(Default)]
pub(super) struct Draft {
    text: String,
    /// Position of the cursor, in bytes.
    at: usize,
}

/// Result of editing a line.
pub(super) enum Read {
    Line(String),
    /// Ctrl-C on an empty line.
    Nothing,
    /// Ctrl-C discarded the line.
    Dropped,
    /// Ctrl-D.
    End,
    /// The editor was stopped from outside.
    Stopped(Draft),
}

/// A line editor that is running.
pub(super) struct Reading {
    task: JoinHandle<io::Result<Read>>,
    stop: Arc<AtomicBool>,
    /// Terminal settings from before, to be restored.
    before: Option<(File, Termios)>,
}

impl Editor {
    /// Shows the prompt with `draft` behind it.
    pub(super) fn read(&self, draft: Draft) -> Reading {
        let stop = Arc::new(AtomicBool::new(false));
        let is_empty = Arc::new(AtomicBool::new(true));
        let mut editor = self.make(&stop, &is_empty);
        let before = File::open("/dev/tty")
            .ok()
            .and_then(|tty| Some((tcgetattr(&tty).ok()?, tty)))
            .map(|(mode, tty)| (tty, mode));
        let task = tokio::task::spawn_blocking(move || {
            editor.run_edit_commands(&[
                EditCommand::InsertString(draft.text),
                EditCommand::MoveToPosition {
                    position: draft.at,
                    select: false,
                },
            ]);
            Ok(match editor.read_line(&HaftPrompt)? {
                Signal::Success(line) => Read::Line(line),
                Signal::CtrlC if is_empty.load(Ordering::Relaxed) => Read::Nothing,
                Signal::CtrlC => Read::Dropped,
                Signal::CtrlD => Read::End,
                Signal::ExternalBreak(text) => {
                    let at = editor.current_insertion_point().min(text.len());
                    wipe(&text[..at]);
                    Read::Stopped(Draft { text, at })
                }
                // Our key bindings cause no other signal.
                _ => Read::Nothing,
            })
        });
        Reading { task, stop, before }
    }

    fn make(&self, stop: &Arc<AtomicBool>, is_empty: &Arc<AtomicBool>) -> Reedline {
        let mut keys = default_emacs_keybindings();
        let tab = ReedlineEvent::UntilFound(vec![
            ReedlineEvent::Menu(MENU.to_owned()),
            ReedlineEvent::MenuNext,
        ]);
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, tab);
        keys.add_binding(
            KeyModifiers::SHIFT,
            KeyCode::BackTab,
            ReedlineEvent::MenuPrevious,
        );
        let menu = ColumnarMenu::default().with_name(MENU).with_marker("");
        let editor = Reedline::create()
            .with_break_signal(stop.clone())
            .with_ansi_colors(self.ink.is_on())
            .use_bracketed_paste(true)
            .with_validator(Box::new(Whole))
            .with_highlighter(Box::new(Painter {
                known: self.known.clone(),
                is_empty: is_empty.clone(),
            }))
            .with_completer(Box::new(Tab(self.known.clone())))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_history_exclusion_prefix(Some(" ".to_owned()));
        let editor = match history::open(self.history.as_deref()) {
            Some(history) => editor.with_history(history),
            None => editor,
        };
        // Without colours a hint would look like typed text.
        if self.ink.is_on() {
            editor.with_hinter(Box::new(hinter()))
        } else {
            editor
        }
    }
}

/// Hints at the rest of an earlier line with the same beginning.
fn hinter() -> DefaultHinter {
    DefaultHinter::default().with_style(Color::DarkGray.normal())
}

impl Reading {
    /// Waits for the end of editing. Cancel safe.
    pub(super) async fn end(&mut self) -> io::Result<Read> {
        let ended = (&mut self.task).await;
        ended.unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// Stops the editor and returns the draft, unless editing ended meanwhile.
    pub(super) async fn stop(mut self) -> io::Result<Read> {
        self.stop.store(true, Ordering::Relaxed);
        self.end().await
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        // Restores the terminal even if the editor has failed.
        if let Some((tty, before)) = &self.before {
            let _ = tcsetattr(tty, OptionalActions::Now, before);
        }
    }
}

/// Removes the prompt from the screen; `written` is the text before the cursor.
fn wipe(written: &str) {
    let columns = terminal::size().map_or(80, |size| size.columns);
    let mut lines = written.split('\n').rev();
    let rows = |line: &str| (prompt::WIDTH + width(line)) / columns;
    let last = lines.next().map_or(0, rows);
    let up = last + lines.map(|line| rows(line) + 1).sum::<usize>();
    let up = match up {
        0 => TerminalText::new(),
        up => terminal_text!("\x1b[{up}A"),
    };
    say(&terminal_text!("\r{up}\x1b[J"));
}

/// Validator that makes Enter begin another line while a bracket or quote is open.
struct Whole;

impl Validator for Whole {
    fn validate(&self, line: &str) -> ValidationResult {
        if line::is_open(line) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Complete
        }
    }
}
