//! Sanitizer for the output of tools' renderers: makes its lines safe to print, within the given
//! width.
//!
//! Renderers are third-party code. Of the escape sequences in their lines, only styles (SGR) and
//! links (OSC 8) are kept. A picture arrives as a mark of haft's own and is replaced by the
//! terminal's own protocol. All other sequences are removed: cursor, title, clipboard, and files
//! that a terminal would read. The end of a line turns off everything that the line turned on.

use super::image;
use super::width::{self, TAB};
use haft_tool::visible::is_harmful;
use haft_tool::{Colors, RenderOptions, Screen, TerminalText, terminal_text};

/// Start of the mark of a picture, which `image.ts` writes and `ESC \` ends.
const IMAGE: &str = "\x1b_haft:image;";

/// Returns the lines of a [`Widget`](haft_tool::Widget)'s picture in a form that is safe to print on a
/// terminal. Of all control sequences only styles, links and pictures are kept, and no line is
/// wider than `columns`.
pub fn safe_lines(painted: &str, columns: usize, screen: &Screen) -> Vec<TerminalText> {
    let Some(painted) = painted.strip_suffix('\n') else {
        return Vec::new();
    };
    let look = RenderOptions {
        screen: *screen,
        ..RenderOptions::plain(columns)
    };
    lines(painted, &look)
}

/// Returns the lines of `painted`, ready to print.
pub fn lines(painted: &str, look: &RenderOptions) -> Vec<TerminalText> {
    let mut lines = Vec::new();
    for line in painted.split('\n') {
        let row = lines.len();
        let line = line.strip_suffix('\r').unwrap_or(line);
        lines.push(tame(line, row, look));
    }
    lines
}

/// Returns text of a library (a help page, a line of the internal log). Of its control sequences only
/// styles are kept, and none if `is_colored` is false.
pub fn styled_text(text: &str, is_colored: bool) -> TerminalText {
    let colors = if is_colored {
        Colors::Indexed
    } else {
        Colors::None
    };
    let look = RenderOptions {
        screen: Screen {
            colors,
            ..Screen::PLAIN
        },
        ..RenderOptions::plain(usize::MAX)
    };
    TerminalText::join(&lines(text, &look), "\n")
}

/// Returns the width of a line that was made safe.
pub fn width(line: &TerminalText) -> usize {
    let mut rest = line.as_str();
    let mut columns = 0;
    while let Some(at) = memchr::memchr(0x1b, rest.as_bytes()) {
        columns += width::width(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[sequence(rest).len()..];
    }
    columns + width::width(rest)
}

fn tame(line: &str, row: usize, look: &RenderOptions) -> TerminalText {
    if is_plain(line) {
        return TerminalText::from_value(&line[..line.len().min(look.width)]);
    }
    let mut tamed = SafeLine {
        line: TerminalText::new(),
        room: look.width,
        styles: Styles::default(),
        has_link: false,
    };
    let mut rest = line;
    while let Some(at) = memchr::memchr(0x1b, rest.as_bytes()) {
        tamed.text(&rest[..at]);
        rest = &rest[at..];
        let sequence = sequence(rest);
        rest = &rest[sequence.len()..];
        tamed.sequence(sequence, row, look);
    }
    tamed.text(rest);
    tamed.end()
}

/// Returns true if all of `text` is printable ASCII.
fn is_plain(text: &str) -> bool {
    // Without an early exit inside a chunk, the compiler can vectorize the check.
    let all_printable = |chunk: &[u8]| {
        chunk
            .iter()
            .fold(true, |so_far, byte| so_far & matches!(byte, 0x20..0x7f))
    };
    text.as_bytes().chunks(64).all(all_printable)
}

/// Returns the escape sequence at the start of `text`.
fn sequence(text: &str) -> &str {
    let bytes = text.as_bytes();
    let end = match bytes.get(1) {
        Some(b'[') => bytes[2..]
            .iter()
            .position(|byte| (0x40..=0x7e).contains(byte))
            .map(|at| at + 3),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => end_of_string(bytes),
        Some(byte) if byte.is_ascii() => Some(2),
        _ => Some(1),
    };
    &text[..end.unwrap_or(bytes.len())]
}

/// Returns the end of a string sequence: after BEL, after ESC and a backslash, or before any other
/// ESC.
fn end_of_string(bytes: &[u8]) -> Option<usize> {
    let at = bytes[2..]
        .iter()
        .position(|byte| matches!(byte, 0x07 | 0x1b))?
        + 2;
    match (bytes[at], bytes.get(at + 1)) {
        (0x07, _) => Some(at + 1),
        (_, Some(b'\\')) => Some(at + 2),
        _ => Some(at),
    }
}

/// Builder of a safe line.
struct SafeLine {
    line: TerminalText,
    /// The remaining columns.
    room: usize,
    styles: Styles,
    has_link: bool,
}

impl SafeLine {
    fn text(&mut self, text: &str) {
        if is_plain(text) {
            let fits = &text[..text.len().min(self.room)];
            self.line.push(fits);
            self.room -= fits.len();
            return;
        }
        let mut plain = text.replace('\t', TAB);
        // Control characters have no use in a line; these are the remains of a sequence.
        plain.retain(|c| !c.is_control());
        let text = TerminalText::from_prose(&plain);
        let (fits, columns) = width::fitting(text.as_str(), self.room);
        let is_cut = fits.len() < text.as_str().len();
        self.line
            .push(&text.part(|text| width::fitting(text, self.room).0));
        // If the text is cut, the rest begins with a character that is too wide. No narrower one may
        // follow.
        self.room = if is_cut { 0 } else { self.room - columns };
    }

    fn sequence(&mut self, sequence: &str, row: usize, look: &RenderOptions) {
        if let Some(codes) = sequence
            .strip_prefix("\x1b[")
            .and_then(|rest| rest.strip_suffix('m'))
        {
            let is_sgr = codes
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b';' || byte == b':');
            if is_sgr && look.screen.colors != Colors::None {
                self.styles.see(codes);
                self.line.push(&terminal_text!("\x1b[{codes}m"));
            }
        } else if let Some(link) = sequence.strip_prefix("\x1b]8;") {
            if look.screen.hyperlinks {
                self.link(link);
            }
        } else if let Some(mark) = sequence.strip_prefix(IMAGE) {
            let mark = mark.trim_end_matches('\\').trim_end_matches('\x1b');
            if let Some(picture) = image::from_mark(mark, row, self.room, &look.screen) {
                self.line.push(&picture);
            }
        }
    }

    /// Handles a link: `link` is the text after `ESC ] 8 ;`, with parameters, `;`, the address and
    /// the end of the string.
    fn link(&mut self, link: &str) {
        let address = link
            .trim_end_matches('\x07')
            .trim_end_matches('\\')
            .trim_end_matches('\x1b')
            .split_once(';')
            .map(|(_, address)| address);
        let Some(address) = address else { return };
        if address.contains(is_harmful) {
            return;
        }
        if address.is_empty() {
            self.close_link();
        } else {
            self.has_link = true;
            self.line.push(&terminal_text!("\x1b]8;;{address}\x1b\\"));
        }
    }

    fn close_link(&mut self) {
        if std::mem::take(&mut self.has_link) {
            self.line.push_literal("\x1b]8;;\x1b\\");
        }
    }

    fn end(mut self) -> TerminalText {
        self.close_link();
        if self.styles.any() {
            self.line.push_literal("\x1b[0m");
        }
        self.line
    }
}

/// Bit set of the active styles, which must be turned off at the end of a line.
#[derive(Default)]
struct Styles(u16);

impl Styles {
    fn any(&self) -> bool {
        self.0 != 0
    }

    fn see(&mut self, codes: &str) {
        let mut codes = codes.split(';');
        while let Some(code) = codes.next() {
            let (number, is_extended) = match code.split_once(':') {
                Some((number, rest)) => (number, (number, rest) != ("4", "0")),
                None => (code, false),
            };
            match number.parse::<u16>().unwrap_or(0) {
                0 => self.0 = 0,
                4 if code == "4:0" => self.0 &= !(1 << 4),
                number @ 1..=9 => self.0 |= 1 << number,
                21 => self.0 |= 1 << 4,
                22 => self.0 &= !(1 << 1 | 1 << 2),
                number @ 23..=25 => self.0 &= !(1 << (number - 20) | u16::from(number == 25) << 6),
                number @ 27..=29 => self.0 &= !(1 << (number - 20)),
                number @ (38 | 48 | 58) => {
                    self.0 |= 1 << Self::color(number);
                    if !is_extended {
                        match codes.next() {
                            Some("5") => drop(codes.next()),
                            Some("2") => drop(codes.nth(2)),
                            _ => {}
                        }
                    }
                }
                30..=37 | 90..=97 => self.0 |= 1 << Self::color(38),
                40..=47 | 100..=107 => self.0 |= 1 << Self::color(48),
                number @ (39 | 49 | 59) => self.0 &= !(1 << Self::color(number - 1)),
                53 => self.0 |= 1 << 13,
                55 => self.0 &= !(1 << 13),
                _ => {}
            }
        }
    }

    /// Returns the bit of the foreground, background or underline colour.
    fn color(number: u16) -> u16 {
        match number {
            38 => 10,
            48 => 11,
            _ => 12,
        }
    }
}
