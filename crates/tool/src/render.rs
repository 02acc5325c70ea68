//! Types for drawing a call for people: the subject, the options and the result.
//!
//! A drawing consists of lines of coloured text. No line is wider than requested, and nothing in it
//! moves the cursor, except for a picture on a screen that shows pictures.

use serde_json::value::RawValue;

use super::{Call, Problem, TerminalText};

/// Subject of a drawing.
#[derive(Clone, Copy, Debug)]
pub enum RenderTarget<'a> {
    /// The call itself, with its arguments.
    Call(&'a Call),
    /// The call's result: the JSON of `{content, details, isError?}`.
    Result(&'a Call, &'a RawValue),
}

/// Options of a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderOptions {
    /// Width in columns, at least 1.
    pub width: usize,
    /// Columns of that width for the margins of a block around the drawing. The lines leave them
    /// free, unless the tool frames its drawings itself.
    pub margin: usize,
    /// True to draw everything instead of only the beginning.
    pub expanded: bool,
    /// Set while the call runs: the result is an update.
    pub is_partial: bool,
    /// Frame number of the spinner. It counts up while the call runs.
    pub spinner_frame: Option<u32>,
    /// Capabilities of the screen.
    pub screen: Screen,
}

/// Capabilities of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Colour depth. A screen without colours gets no other styles either.
    pub colors: Colors,
    /// Set if the screen shows dark text on a light background.
    pub is_light: bool,
    /// Protocol for pictures, if the screen shows any.
    pub images: Option<ImageProtocol>,
    /// Set if text can be a link (OSC 8).
    pub hyperlinks: bool,
    /// The width and height of one character in pixels, for the size of pictures.
    pub cell: (u16, u16),
}

/// Colour depth of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// None: plain text.
    None,
    /// The palette of 256 colours.
    Indexed,
    /// 24-bit colours.
    True,
}

/// Protocol that sends pictures to a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageProtocol {
    /// The graphics protocol of kitty, which Ghostty and other terminals support too.
    Kitty,
    /// Inline files, as in iTerm2 and WezTerm.
    Iterm,
    /// Sixel graphics.
    Sixel,
}

/// Raw output of a tool's own renderer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRender {
    /// Lines separated by newlines, as the author's component returned them: unsafe to print, and
    /// of any width. `None` if it returned no lines.
    pub text: Option<String>,
    /// Set if the tool draws margins and background itself.
    pub is_framed: bool,
}

/// A finished drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Lines that are safe to print.
    pub lines: Vec<TerminalText>,
    /// Set if the lines already have margins and background.
    pub is_framed: bool,
    /// Set if the tool's own renderer made the lines; otherwise the host did.
    pub is_own: bool,
    /// Fault of the tool's own renderer, if the host drew the lines because of it.
    pub problem: Option<Problem>,
}

impl Colors {
    /// Returns the name that `pi-tui` has for the colour depth.
    pub fn as_str(self) -> &'static str {
        match self {
            Colors::None => "none",
            Colors::Indexed => "256",
            Colors::True => "truecolor",
        }
    }
}

impl<'a> RenderTarget<'a> {
    /// Returns the call that is drawn.
    pub fn call(&self) -> &'a Call {
        match self {
            RenderTarget::Call(call) | RenderTarget::Result(call, _) => call,
        }
    }
}

impl RenderOptions {
    /// Returns the options for plain text of this width: no colours, no pictures, and only the
    /// beginning of long content.
    pub fn plain(width: usize) -> RenderOptions {
        RenderOptions {
            width,
            margin: 0,
            expanded: false,
            is_partial: false,
            spinner_frame: None,
            screen: Screen::PLAIN,
        }
    }
}

impl Default for Screen {
    fn default() -> Self {
        Screen::PLAIN
    }
}

impl Screen {
    /// A screen that shows only plain text.
    pub const PLAIN: Screen = Screen {
        colors: Colors::None,
        is_light: false,
        images: None,
        hyperlinks: false,
        cell: (9, 18),
    };
}
