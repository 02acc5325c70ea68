//! Tables with aligned columns and without rules between them.
//!
//! If the width is limited, columns are shortened in two steps: texts are cut at the end, then
//! paths at the start. A column with [`Fit::Whole`] is never cut.

use super::style::Ink;
use haft_tool::{TerminalText, TerminalValue, terminal_text};

const GAP: usize = 2;

/// One column with its title, and its rule for limited width.
#[derive(Clone, Copy)]
pub struct Column {
    /// The heading.
    pub title: &'static str,
    /// The rule for limited width.
    pub fit: Fit,
}

impl Column {
    /// Returns a column with this heading.
    pub const fn new(title: &'static str, fit: Fit) -> Column {
        Column { title, fit }
    }
}

/// Rule of a column for limited width.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The cells are never cut.
    Whole,
    /// The cells are cut at the end, down to this width.
    KeepStart(usize),
    /// The cells are cut at the start, down to this width.
    KeepEnd(usize),
}

/// Returns the table as text, each line with a newline. `room` is the width of the terminal, if
/// there is one.
pub fn render(
    columns: &[Column],
    rows: &[Vec<impl TerminalValue>],
    room: Option<usize>,
    ink: Ink,
) -> TerminalText {
    let cells = |row: &Vec<_>| row.iter().map(TerminalText::from_value).collect();
    let rows: Vec<Vec<TerminalText>> = rows.iter().map(cells).collect();
    let widths = widths(columns, &rows, room);
    let titles = columns.iter().map(|c| TerminalText::from_literal(c.title));
    let titles: Vec<_> = titles.collect();
    let mut page = terminal_text!("{}\n", ink.dim(line(columns, &titles, &widths)));
    for row in &rows {
        page.push(&terminal_text!("{}\n", line(columns, row, &widths)));
    }
    page
}

fn line(columns: &[Column], cells: &[TerminalText], widths: &[usize]) -> TerminalText {
    let mut line = TerminalText::new();
    for ((column, cell), &width) in columns.iter().zip(cells).zip(widths) {
        let cell = match column.fit {
            Fit::Whole => cell.clone(),
            Fit::KeepStart(_) => cell.keep_start(width),
            Fit::KeepEnd(_) => cell.keep_end(width),
        };
        let padding = width.saturating_sub(cell.width()) + GAP;
        line.push(&cell);
        line.push(&" ".repeat(padding));
    }
    line.trimmed_end()
}

fn widths(columns: &[Column], rows: &[Vec<TerminalText>], room: Option<usize>) -> Vec<usize> {
    let widest = |index: usize| {
        let cells = rows.iter().map(|row| row[index].width());
        cells.max().unwrap_or(0)
    };
    let natural = columns.iter().enumerate();
    let mut widths: Vec<_> = natural
        .map(|(index, column)| widest(index).max(column.title.len()))
        .collect();
    let Some(room) = room else {
        return widths;
    };
    let full: usize = widths.iter().sum::<usize>() + GAP * columns.len().saturating_sub(1);
    let mut excess = full.saturating_sub(room);
    let mut give = |wanted: fn(Fit) -> Option<usize>| {
        for (column, width) in columns.iter().zip(widths.iter_mut()) {
            if let Some(least) = wanted(column.fit) {
                let cut = excess.min(width.saturating_sub(least));
                *width -= cut;
                excess -= cut;
            }
        }
    };
    give(|fit| match fit {
        Fit::KeepStart(least) => Some(least),
        Fit::Whole | Fit::KeepEnd(_) => None,
    });
    give(|fit| match fit {
        Fit::KeepEnd(least) => Some(least),
        Fit::Whole | Fit::KeepStart(_) => None,
    });
    widths
}
