//! Progress display for a running operation.
//!
//! On a terminal it is one line that changes, elsewhere one line per update. It is never data. Many
//! updates cause only a few redraws per second.

use std::future::Future;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::live_region::Region;
use crate::surface::terminal::{self, say};
use haft_render::text;
use haft_tool::{TerminalText, terminal_text};

/// Delay before loading is reported, since it is usually faster.
const SHOW_AFTER: Duration = Duration::from_millis(800);
/// Separator between the tool's name and its status. It cannot occur in a name.
const STATUS_MARK: &str = " \u{2502} ";
const TICK: Duration = Duration::from_millis(100);

/// Progress display of a call.
pub(super) enum Progress {
    /// One changing line.
    Spinner(Spinner),
    /// One line for each update whose text is new.
    Lines {
        /// Line that was printed last.
        last: TerminalText,
    },
    /// No display.
    Silent,
}

/// Changing part of a terminal: a line or a region. Clones share it.
#[derive(Clone)]
pub(super) enum Spinner {
    /// One line on standard error.
    Line(ProgressBar),
    /// A rendering of several lines.
    Region(Region),
}

impl Spinner {
    /// Releases the terminal for other output.
    pub(super) fn rest(&self) {
        match self {
            Spinner::Line(bar) => bar.finish_and_clear(),
            Spinner::Region(region) => region.rest(),
        }
    }

    /// Runs `say`, which may print above the spinner.
    pub(super) fn suspend(&self, say: impl FnOnce()) {
        match self {
            Spinner::Line(bar) => bar.suspend(say),
            Spinner::Region(region) => {
                region.rest();
                say();
                region.resume();
            }
        }
    }

    /// Shows `status` behind the tool's name until the next one. A region has no place for it.
    pub(super) fn status(&self, status: &TerminalText) {
        let Spinner::Line(bar) = self else {
            return;
        };
        let name = bar.prefix();
        let name = name.split(STATUS_MARK).next().unwrap_or_default();
        bar.set_prefix(if status.is_empty() {
            name.to_owned()
        } else {
            format!("{name}{STATUS_MARK}{}", status.as_str())
        });
    }

    /// Takes the terminal back and restarts the elapsed time.
    pub(super) fn resume(&self) {
        match self {
            Spinner::Line(bar) => {
                bar.reset();
                bar.enable_steady_tick(TICK);
            }
            Spinner::Region(region) => region.resume(),
        }
    }
}

impl Progress {
    /// Creates the display for a call to `tool`. Without a terminal, `lines` allows one line per
    /// update.
    pub(super) fn for_call(tool: &str, lines: bool) -> Self {
        if terminal::is_terminal() {
            Progress::Spinner(Spinner::Line(spinner(&TerminalText::from_value(tool))))
        } else if lines {
            Progress::Lines {
                last: TerminalText::new(),
            }
        } else {
            Progress::Silent
        }
    }

    /// Shows the latest update.
    pub(super) fn update(&mut self, update: &str) {
        match self {
            Progress::Spinner(Spinner::Line(bar)) => {
                bar.set_message(text::last_line(update).into_string())
            }
            Progress::Lines { last } => {
                let line = text::first_line(update);
                if line != *last {
                    say(&terminal_text!("· {line}\n"));
                    *last = line;
                }
            }
            Progress::Spinner(Spinner::Region(_)) | Progress::Silent => {}
        }
    }

    /// Prints a line that stays on the screen.
    pub(super) fn note(&self, line: &TerminalText) {
        match self {
            Progress::Spinner(spinner) => spinner.suspend(|| say(line)),
            Progress::Lines { .. } | Progress::Silent => say(line),
        }
    }

    /// Returns the spinner, if there is one.
    pub(super) fn spinner(&self) -> Option<Spinner> {
        match self {
            Progress::Spinner(spinner) => Some(spinner.clone()),
            Progress::Lines { .. } | Progress::Silent => None,
        }
    }

    /// Restores the terminal.
    pub(super) fn end(&self) {
        if let Progress::Spinner(Spinner::Line(bar)) = self {
            bar.finish_and_clear();
        }
    }
}

/// Waits for `loading`. On a terminal it shows a message if that takes long.
pub(super) async fn while_loading<T>(loading: impl Future<Output = T>) -> T {
    while_busy(&"loading tools".into(), loading).await
}

/// Waits for `work`. On a terminal it shows `what` if that takes long.
pub(super) async fn while_busy<T>(what: &TerminalText, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = tokio::time::sleep(SHOW_AFTER) => {}
    }
    let bar = terminal::is_terminal().then(|| spinner(what));
    let done = work.await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    done
}

fn spinner(what: &TerminalText) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg:.dim}")
        .expect("the template is a constant");
    let bar = ProgressBar::new_spinner()
        .with_style(style)
        .with_prefix(what.as_str().to_owned());
    bar.enable_steady_tick(TICK);
    bar
}
