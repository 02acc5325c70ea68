//! Shows a tool's own component on the terminal: drawn in place, with the keyboard, removed at the
//! end.
//!
//! One thread owns the terminal while the component is shown. It draws the component's latest
//! output and forwards keys. A line above names the tool, so that a tool cannot imitate haft's own
//! prompts.

use std::io;
use std::os::fd::OwnedFd;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};

use super::Inner;
use super::tty::{Heard, Tty};
use crate::surface::cli::live_region::Region;
use crate::surface::terminal::Size;
use crate::surface::terminal::{TerminalFile, say, size};
use haft_render::sanitize::safe_lines;
use haft_tool::{
    Colors, InputEvent, InputSender, Screen, TerminalText, Widget, WidgetSurface, terminal_text,
};

/// Rows that a component cannot use: the line with the tool's name, and the row of the cursor.
const OWN_ROWS: usize = 2;

/// Hides the cursor, and enables bracketed paste.
const BEGIN: &str = "\x1b[?25l\x1b[?2004h";
const END: &str = "\x1b[?2004l\x1b[?25h";

/// Messages for the thread at the terminal.
pub(super) struct Board {
    tool: String,
    touches: InputSender,
    news: Mutex<News>,
    /// Event descriptor, readable when there are messages.
    has_news: OwnedFd,
}

#[derive(Default)]
struct News {
    painted: Option<String>,
    is_resized: bool,
}

/// Returns the surface for components; `None` if the size of the terminal is unknown.
pub(super) fn canvas(terminal: &Inner) -> Option<WidgetSurface> {
    let size = size()?;
    let known = terminal.screen;
    Some(WidgetSurface {
        columns: columns(size),
        rows: rows(size),
        screen: Screen {
            colors: match (terminal.ink.is_on(), known.colors) {
                (false, _) => Colors::None,
                (true, Colors::None) => Colors::Indexed,
                (true, colors) => colors,
            },
            // The component is redrawn again and again, so it gets no images.
            images: None,
            cell: size.cell.unwrap_or(known.cell),
            ..known
        },
    })
}

impl Board {
    /// Returns `None` if the system has no free file descriptor.
    pub(super) fn new(widget: &Widget) -> Option<Board> {
        Some(Board {
            tool: widget.from.tool.clone(),
            touches: widget.touches(),
            news: Mutex::default(),
            has_news: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?,
        })
    }

    /// Shows the component's new output.
    pub(super) fn paint(&self, lines: String) {
        self.news.lock().painted = Some(lines);
        self.ring();
    }

    /// Handles a possible change of the terminal's size.
    pub(super) fn look_again(&self) {
        self.news.lock().is_resized = true;
        self.ring();
    }

    /// Draws and forwards keys until `wake` fires, or the terminal is gone.
    pub(super) fn run(&self, terminal: &Inner, wake: &OwnedFd) -> io::Result<()> {
        let mut tty = Tty::by_sequences()?;
        let Some(canvas) = canvas(terminal) else {
            return Ok(());
        };
        let easel = Easel::new(canvas.screen)?;
        let head = terminal
            .ink
            .dim(terminal_text!("[{}]", self.tool))
            .to_text();
        self.tell_size();
        let mut painted = String::new();
        loop {
            match tty.sequence(wake, &self.has_news)? {
                Heard::Withdrawn | Heard::End => return Ok(()),
                Heard::This(Some(data)) => self.touches.send(InputEvent::Key { data }),
                Heard::This(None) => {
                    let mut counted = [0; 8];
                    let _ = rustix::io::read(&self.has_news, &mut counted);
                    let news = std::mem::take(&mut *self.news.lock());
                    if news.is_resized {
                        self.tell_size();
                    }
                    painted = news.painted.unwrap_or(painted);
                    easel.draw(&head, &painted)?;
                }
            }
        }
    }

    fn tell_size(&self) {
        if let Some(size) = size() {
            self.touches.send(InputEvent::Size {
                columns: columns(size),
                rows: rows(size),
            });
        }
    }

    fn ring(&self) {
        // A failed write is harmless: a full counter wakes the thread as well.
        let _ = rustix::io::write(&self.has_news, &1u64.to_ne_bytes());
    }
}

/// Guard for the component's region, which is cleared at the end.
struct Easel {
    region: Region,
    screen: Screen,
}

impl Easel {
    fn new(screen: Screen) -> io::Result<Easel> {
        say(&BEGIN.into());
        let screen = Screen {
            // Without colours the theme would hide an editor's cursor, so at least indexed colours
            // are needed.
            colors: match screen.colors {
                Colors::None => Colors::Indexed,
                colors => colors,
            },
            ..screen
        };
        Ok(Easel {
            region: Region::new(TerminalFile::for_stderr()?),
            screen,
        })
    }

    fn draw(&self, head: &TerminalText, painted: &str) -> io::Result<()> {
        let Some(size) = size() else { return Ok(()) };
        let lines = safe_lines(painted, columns(size), &self.screen);
        // Only the end of a tall output is shown, since editors have their cursor there.
        let cut = lines.len().saturating_sub(rows(size));
        let lines = std::iter::once(head.clone()).chain(lines.into_iter().skip(cut));
        self.region.draw(&lines.collect::<Vec<_>>(), size)
    }
}

impl Drop for Easel {
    fn drop(&mut self) {
        // A failure is harmless, since it means that the terminal is gone.
        let _ = self.region.finish(&[], size());
        say(&END.into());
    }
}

/// Leaves the last column empty, since a full line makes some terminals wrap.
fn columns(size: Size) -> usize {
    size.columns.saturating_sub(1).max(1)
}

fn rows(size: Size) -> usize {
    match size.rows {
        // The height is unknown.
        0 => 24 - OWN_ROWS,
        rows => rows.saturating_sub(OWN_ROWS).max(1),
    }
}
