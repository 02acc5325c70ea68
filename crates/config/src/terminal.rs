//! Capabilities of the user's terminal, from the variables in its environment.
//!
//! A terminal that sets none of them gets what all current terminals have: 256 colours, no images,
//! no links. Inside a multiplexer only colours are used, because the other capabilities of the
//! outer terminal do not come through.

use super::Env;
use haft_tool::{Colors, ImageProtocol, Screen};

/// Returns the capabilities of the terminal that haft was started in.
pub(super) fn screen(env: &Env) -> Screen {
    let terminal = Terminal(env);
    Screen {
        colors: terminal.colors(),
        is_light: terminal.is_light(),
        images: terminal.images(),
        hyperlinks: terminal.has_links(),
        ..Screen::PLAIN
    }
}

struct Terminal<'a>(&'a Env);

impl Terminal<'_> {
    fn says(&self, name: &str) -> Option<&str> {
        self.0.terminal.get(name).map(String::as_str)
    }

    fn has(&self, name: &str) -> bool {
        self.says(name).is_some()
    }

    fn is_named(&self, name: &str) -> bool {
        let names = [self.says("TERM_PROGRAM"), self.says("LC_TERMINAL")];
        names.into_iter().flatten().any(|said| said == name)
    }

    fn term(&self) -> &str {
        self.says("TERM").unwrap_or_default()
    }

    fn is_kitty(&self) -> bool {
        self.has("KITTY_WINDOW_ID") || self.term() == "xterm-kitty"
    }

    fn is_ghostty(&self) -> bool {
        self.has("GHOSTTY_RESOURCES_DIR")
            || self.is_named("ghostty")
            || self.term() == "xterm-ghostty"
    }

    fn is_wezterm(&self) -> bool {
        self.has("WEZTERM_EXECUTABLE") || self.is_named("WezTerm")
    }

    fn is_iterm(&self) -> bool {
        self.is_named("iTerm.app") || self.is_named("iTerm2")
    }

    fn is_foot(&self) -> bool {
        self.term().starts_with("foot")
    }

    /// Returns true for a terminal that has all colours and links.
    fn is_modern(&self) -> bool {
        self.is_kitty()
            || self.is_ghostty()
            || self.is_wezterm()
            || self.is_iterm()
            || self.is_foot()
            || self.is_named("vscode")
            || self.has("WT_SESSION")
    }

    fn is_multiplexed(&self) -> bool {
        let inside = ["TMUX", "STY", "ZELLIJ"];
        let term = self.term();
        inside.iter().any(|name| self.has(name))
            || term.starts_with("tmux")
            || term.starts_with("screen")
    }

    fn colors(&self) -> Colors {
        if self.term() == "dumb" {
            return Colors::None;
        }
        let says_true = matches!(self.says("COLORTERM"), Some("truecolor" | "24bit"));
        let is_true = self.is_modern() || self.term().ends_with("-direct");
        if says_true || (is_true && !self.is_multiplexed()) {
            Colors::True
        } else {
            Colors::Indexed
        }
    }

    /// Returns true if the background is light. `COLORFGBG` is `text;background`, numbers of the
    /// first sixteen colours.
    fn is_light(&self) -> bool {
        let ground = self
            .says("COLORFGBG")
            .and_then(|said| said.rsplit(';').next());
        matches!(ground, Some("7" | "15"))
    }

    fn images(&self) -> Option<ImageProtocol> {
        if self.is_multiplexed() || self.term() == "dumb" {
            return None;
        }
        if self.is_kitty() || self.is_ghostty() {
            Some(ImageProtocol::Kitty)
        } else if self.is_iterm() || self.is_wezterm() {
            Some(ImageProtocol::Iterm)
        } else if self.is_foot() || self.term().contains("sixel") || self.term() == "mlterm" {
            Some(ImageProtocol::Sixel)
        } else {
            None
        }
    }

    fn has_links(&self) -> bool {
        let vte = self.says("VTE_VERSION").and_then(|said| said.parse().ok());
        let has_them = self.is_modern()
            || self.has("KONSOLE_VERSION")
            || vte.is_some_and(|version: u32| version >= 5000);
        has_them && !self.is_multiplexed() && self.term() != "dumb"
    }
}
