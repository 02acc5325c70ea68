//! Palette of haft's own drawings, and of the blocks around drawings of tools.
//!
//! Names and values are the same as in `js-runtime/packages/pi-tui/theme-colors.ts`, so that haft's
//! drawings look like those of tools.

use haft_tool::{Colors, Screen, TerminalText, terminal_text};

/// A colour as RGB for a dark and for a light background, each with the nearest entry in the
/// palette of 256 colours.
struct Color {
    dark: (u32, u8),
    light: (u32, u8),
}

/// Role of a coloured text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// `toolTitle`: the terminal's own colour.
    Title,
    /// `toolOutput`.
    Output,
    /// `muted`.
    Muted,
    /// `dim`.
    Dim,
    /// `error`.
    Error,
}

/// Background of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// `toolPendingBg`: the call runs.
    Pending,
    /// `toolSuccessBg`.
    Success,
    /// `toolErrorBg`.
    Error,
}

impl Tone {
    fn color(self) -> Option<Color> {
        Some(match self {
            Tone::Title => return None,
            Tone::Output | Tone::Muted => Color {
                dark: (0x808080, 244),
                light: (0x6c6c6c, 242),
            },
            Tone::Dim => Color {
                dark: (0x6c6c6c, 242),
                light: (0x8a8a8a, 245),
            },
            Tone::Error => Color {
                dark: (0xd75f5f, 167),
                light: (0xaf0000, 124),
            },
        })
    }
}

impl Ground {
    fn color(self) -> Color {
        match self {
            Ground::Pending => Color {
                dark: (0x262626, 235),
                light: (0xeeeeee, 255),
            },
            Ground::Success => Color {
                dark: (0x1f2a1f, 235),
                light: (0xe4f1e4, 255),
            },
            Ground::Error => Color {
                dark: (0x3a1f1f, 52),
                light: (0xf8e4e4, 224),
            },
        }
    }
}

/// Returns `text` in the colour of its role.
pub fn paint(screen: &Screen, tone: Tone, text: &TerminalText) -> TerminalText {
    match tone.color().and_then(|color| code(screen, &color)) {
        Some(code) if !text.is_empty() => terminal_text!("\x1b[38;{code}m{text}\x1b[39m"),
        _ => text.clone(),
    }
}

/// Returns `text` in bold.
pub fn bold(screen: &Screen, text: &TerminalText) -> TerminalText {
    match screen.colors {
        Colors::None => text.clone(),
        Colors::Indexed | Colors::True => terminal_text!("\x1b[1m{text}\x1b[22m"),
    }
}

/// Returns the sequence that starts a background, which `ESC[49m` ends. `None` on a screen without
/// colours.
pub fn ground(screen: &Screen, ground: Ground) -> Option<TerminalText> {
    let code = code(screen, &ground.color())?;
    Some(terminal_text!("\x1b[48;{code}m"))
}

fn code(screen: &Screen, color: &Color) -> Option<TerminalText> {
    let (rgb, index) = if screen.is_light {
        color.light
    } else {
        color.dark
    };
    match screen.colors {
        Colors::None => None,
        Colors::Indexed => Some(terminal_text!("5;{index}")),
        Colors::True => {
            let [_, red, green, blue] = rgb.to_be_bytes();
            Some(terminal_text!("2;{red};{green};{blue}"))
        }
    }
}
