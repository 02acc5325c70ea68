//! What a person sees while something runs.
//!
//! On a terminal one line that changes; elsewhere a line for each update. It is never
//! data, and a flood of updates costs the terminal no more than a few redraws a second.

use std::future::Future;
use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::exit::say;
use super::region::Region;
use crate::render::text;

/// Loading is fast; only when it is not, somebody should hear of it.
const PATIENCE: Duration = Duration::from_millis(800);
/// Between the tool's name and what it says of itself. No name holds it.
const STATUS_MARK: &str = " \u{2502} ";
const TICK: Duration = Duration::from_millis(100);

/// How a call shows that it is alive.
pub(super) enum Progress {
    /// One changing line.
    Spinner(Spinner),
    /// A line for each update that says something new.
    Lines {
        /// The newest line.
        last: String,
    },
    /// Not at all.
    Silent,
}

/// What changes on a terminal: a line, or a region. Clones are the same one.
#[derive(Clone)]
pub(super) enum Spinner {
    /// One line on standard error.
    Line(ProgressBar),
    /// A drawing of several lines.
    Region(Region),
}

impl Spinner {
    /// Gives the terminal to somebody else.
    pub(super) fn rest(&self) {
        match self {
            Spinner::Line(bar) => bar.finish_and_clear(),
            Spinner::Region(region) => region.rest(),
        }
    }

    /// Has `say` print above it.
    pub(super) fn suspend(&self, say: impl FnOnce()) {
        match self {
            Spinner::Line(bar) => bar.suspend(say),
            Spinner::Region(region) => {
                region.rest();
                say();
                region.go_on();
            }
        }
    }

    /// Shows `status` behind the tool's name until another one comes. A drawing has no place for it.
    pub(super) fn status(&self, status: &str) {
        let Spinner::Line(bar) = self else {
            return;
        };
        let name = bar.prefix();
        let name = name.split(STATUS_MARK).next().unwrap_or_default();
        bar.set_prefix(match status.is_empty() {
            true => name.to_owned(),
            false => format!("{name}{STATUS_MARK}{status}"),
        });
    }

    /// Takes it back, with the time from here.
    pub(super) fn go_on(&self) {
        match self {
            Spinner::Line(bar) => {
                bar.reset();
                bar.enable_steady_tick(TICK);
            }
            Spinner::Region(region) => region.go_on(),
        }
    }
}

impl Progress {
    /// For a call to `tool`; `lines` allows a line for each update where no terminal is.
    pub(super) fn for_call(tool: &str, lines: bool) -> Self {
        if io::stderr().is_terminal() {
            Progress::Spinner(Spinner::Line(spinner(text::name(tool))))
        } else if lines {
            Progress::Lines {
                last: String::new(),
            }
        } else {
            Progress::Silent
        }
    }

    /// Shows the newest update.
    pub(super) fn update(&mut self, update: &str) {
        match self {
            Progress::Spinner(Spinner::Line(bar)) => bar.set_message(text::last_line(update)),
            Progress::Lines { last } => {
                let line = text::first_line(update);
                if line != *last {
                    say(&format!("· {line}\n"));
                    *last = line;
                }
            }
            Progress::Spinner(Spinner::Region(_)) | Progress::Silent => {}
        }
    }

    /// Says something that stays.
    pub(super) fn note(&self, line: &str) {
        match self {
            Progress::Spinner(spinner) => spinner.suspend(|| say(line)),
            Progress::Lines { .. } | Progress::Silent => say(line),
        }
    }

    /// The line, where there is one.
    pub(super) fn spinner(&self) -> Option<Spinner> {
        match self {
            Progress::Spinner(spinner) => Some(spinner.clone()),
            Progress::Lines { .. } | Progress::Silent => None,
        }
    }

    /// Leaves the terminal as it was.
    pub(super) fn end(&self) {
        if let Progress::Spinner(Spinner::Line(bar)) = self {
            bar.finish_and_clear();
        }
    }
}

/// Waits for `loading`; at a terminal, says so once it takes long.
pub(super) async fn while_loading<T>(loading: impl Future<Output = T>) -> T {
    while_busy("loading tools", loading).await
}

/// Waits for `work`; at a terminal, says `what` is being done once it takes long.
pub(super) async fn while_busy<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = tokio::time::sleep(PATIENCE) => {}
    }
    let bar = io::stderr().is_terminal().then(|| spinner(what.into()));
    let done = work.await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    done
}

fn spinner(what: String) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg:.dim}")
        .expect("the template is a constant");
    let bar = ProgressBar::new_spinner()
        .with_style(style)
        .with_prefix(what);
    bar.enable_steady_tick(TICK);
    bar
}
