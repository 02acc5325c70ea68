//! A tool's own component on the terminal: drawn in place, with the keyboard, gone without a trace.
//!
//! One thread has the terminal as long as it is shown: it draws what the component painted last and
//! passes on what is pressed. A line above says whose it is, so that no tool can imitate a question of
//! haft's own.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};

use super::Inner;
use super::tty::{Heard, Tty};
use crate::render::tame::safe_lines;
use crate::render::text;
use crate::surface::cli::exit::say;
use crate::surface::cli::region::Region;
use crate::surface::stdout::Size;
use crate::tool::{Canvas, Colors, Screen, Touch, Touches, Widget};

/// The rows that a component does not have: whose it is, and where the cursor rests.
const OWN_ROWS: usize = 2;

/// Hides the cursor, and has pastes marked as such.
const BEGIN: &str = "\x1b[?25l\x1b[?2004h";
const END: &str = "\x1b[?2004l\x1b[?25h";

/// What the thread at the terminal is told.
pub(super) struct Board {
    tool: String,
    touches: Touches,
    news: Mutex<News>,
    /// Can be read when there is news.
    has_news: OwnedFd,
}

#[derive(Default)]
struct News {
    painted: Option<String>,
    is_resized: bool,
}

/// Where components are drawn; `None` where the terminal has no size.
pub(super) fn canvas(terminal: &Inner) -> Option<Canvas> {
    let size = size()?;
    let known = terminal.screen;
    Some(Canvas {
        columns: columns(size),
        rows: rows(size),
        screen: Screen {
            colors: match (terminal.ink.is_on(), known.colors) {
                (false, _) => Colors::None,
                (true, Colors::None) => Colors::Indexed,
                (true, colors) => colors,
            },
            // What changes in place is drawn again and again.
            images: None,
            cell: size.cell.unwrap_or(known.cell),
            ..known
        },
    })
}

impl Board {
    /// `None` where the system has no descriptor left.
    pub(super) fn new(widget: &Widget) -> Option<Board> {
        Some(Board {
            tool: text::name(&widget.from.tool),
            touches: widget.touches(),
            news: Mutex::default(),
            has_news: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?,
        })
    }

    /// The component looks like this now.
    pub(super) fn paint(&self, lines: String) {
        self.news().painted = Some(lines);
        self.ring();
    }

    /// The terminal may have another size now.
    pub(super) fn look_again(&self) {
        self.news().is_resized = true;
        self.ring();
    }

    /// Draws and listens until `wake` fires, or the terminal is gone.
    pub(super) fn run(&self, terminal: &Inner, wake: &OwnedFd) -> io::Result<()> {
        let mut tty = Tty::by_sequences()?;
        let Some(canvas) = canvas(terminal) else {
            return Ok(());
        };
        let easel = Easel::new(canvas.screen)?;
        let head = terminal.ink.dim(format!("[{}]", self.tool)).to_string();
        self.tell_size();
        let mut painted = String::new();
        loop {
            match tty.sequence(wake, &self.has_news)? {
                Heard::Withdrawn | Heard::End => return Ok(()),
                Heard::This(Some(data)) => self.touches.send(Touch::Key { data }),
                Heard::This(None) => {
                    let mut counted = [0; 8];
                    let _ = rustix::io::read(&self.has_news, &mut counted);
                    let news = std::mem::take(&mut *self.news());
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
            self.touches.send(Touch::Size {
                columns: columns(size),
                rows: rows(size),
            });
        }
    }

    fn ring(&self) {
        // A counter that is full rings, too.
        let _ = rustix::io::write(&self.has_news, &1u64.to_ne_bytes());
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of the screen, which is left as it was found.
struct Easel {
    region: Region,
    screen: Screen,
}

impl Easel {
    fn new(screen: Screen) -> io::Result<Easel> {
        let terminal = rustix::stdio::stderr().try_clone_to_owned()?;
        say(BEGIN);
        let screen = Screen {
            // The theme knows of no colours, then; the cursor of an editor has to be seen all the same.
            colors: match screen.colors {
                Colors::None => Colors::Indexed,
                colors => colors,
            },
            ..screen
        };
        Ok(Easel {
            region: Region::new(File::from(terminal)),
            screen,
        })
    }

    fn draw(&self, head: &str, painted: &str) -> io::Result<()> {
        let Some(size) = size() else { return Ok(()) };
        let lines = safe_lines(painted, columns(size), &self.screen);
        // Of what is too high the end is shown, where editors have their cursor.
        let cut = lines.len().saturating_sub(rows(size));
        let lines = std::iter::once(head.to_owned()).chain(lines.into_iter().skip(cut));
        self.region.draw(&lines.collect::<Vec<_>>(), size)
    }
}

impl Drop for Easel {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing anyway.
        let _ = self.region.finish(&[], size());
        say(END);
    }
}

fn size() -> Option<Size> {
    Size::of(rustix::stdio::stderr())
}

/// A line that fills the last column makes some terminals begin the next one.
fn columns(size: Size) -> usize {
    size.columns.saturating_sub(1).max(1)
}

fn rows(size: Size) -> usize {
    match size.rows {
        // It does not say.
        0 => 24 - OWN_ROWS,
        rows => rows.saturating_sub(OWN_ROWS).max(1),
    }
}
