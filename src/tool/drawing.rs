//! How a call looks to a person: what is drawn, on which screen, and what came of it.
//!
//! A drawing is lines of text with colours, nothing else: no line is wider than it was asked for, and
//! nothing in it moves the cursor, except where a picture is put on a screen that shows pictures.

use serde_json::value::RawValue;

use super::{Call, Problem};

/// What is drawn of a call.
#[derive(Clone, Copy, Debug)]
pub enum Scene<'a> {
    /// That it is made: its arguments.
    Call(&'a Call),
    /// What came of it: the JSON of `{content, details, isError?}`.
    Result(&'a Call, &'a RawValue),
}

/// How it is to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns. At least one is drawn.
    pub width: usize,
    /// Those of them that a block around the drawing takes: a drawing leaves them free, except
    /// where the tool frames its drawings itself.
    pub margin: usize,
    /// Everything there is, and not only the beginning.
    pub expanded: bool,
    /// The call still runs: the result is an update.
    pub is_partial: bool,
    /// Which frame of a spinner is due; it counts up while the call runs.
    pub spinner_frame: Option<u32>,
    /// What the screen can show.
    pub screen: Screen,
}

/// What a screen can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// How many colours; none means no other styles either.
    pub colors: Colors,
    /// Dark text on a light ground.
    pub is_light: bool,
    /// How pictures are sent to it, if it shows any.
    pub images: Option<ImageProtocol>,
    /// Text can be a link (OSC 8).
    pub hyperlinks: bool,
    /// The width and height of one character in pixels, for the size of pictures.
    pub cell: (u16, u16),
}

/// How many colours a screen has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// None: plain text.
    None,
    /// The palette of 256.
    Indexed,
    /// Red, green and blue.
    True,
}

/// How pictures are sent to a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageProtocol {
    /// The graphics protocol of kitty, which Ghostty and others speak too.
    Kitty,
    /// Inline files, as iTerm2 and WezTerm show them.
    Iterm,
    /// Sixel graphics.
    Sixel,
}

/// What a tool's own renderer painted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Painted {
    /// Lines separated by newlines, as the author's component gave them: not yet safe to print, and
    /// of any width. `None`: no line at all.
    pub text: Option<String>,
    /// The tool draws margins and background itself.
    pub is_framed: bool,
}

/// What is to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Lines that can be printed as they are.
    pub lines: Vec<String>,
    /// They already have their margins and background.
    pub is_framed: bool,
    /// The tool's own renderer made them; otherwise the host did.
    pub is_own: bool,
    /// What is wrong with the tool's own renderer, if that is why the host drew the lines.
    pub problem: Option<Problem>,
}

impl Colors {
    /// The word that `pi-tui` has for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Colors::None => "none",
            Colors::Indexed => "256",
            Colors::True => "truecolor",
        }
    }
}

impl<'a> Scene<'a> {
    /// The call that is drawn.
    pub fn call(&self) -> &'a Call {
        match self {
            Scene::Call(call) | Scene::Result(call, _) => call,
        }
    }
}

impl Look {
    /// Plain text in so many columns: no colours, no pictures, only the beginning of what is long.
    pub fn plain(width: usize) -> Look {
        Look {
            width,
            margin: 0,
            expanded: false,
            is_partial: false,
            spinner_frame: None,
            screen: Screen::PLAIN,
        }
    }
}

impl Screen {
    /// Text and nothing else.
    pub const PLAIN: Screen = Screen {
        colors: Colors::None,
        is_light: false,
        images: None,
        hyperlinks: false,
        cell: (9, 18),
    };
}
