//! Tables with aligned columns and without rules between them.
//!
//! If the width is limited, columns are shortened in two steps: texts are cut at the end, then
//! paths at the start. A column with [`Fit::Whole`] is never cut.

use super::style::Ink;
use super::text;

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
pub fn render(columns: &[Column], rows: &[Vec<String>], room: Option<usize>, ink: Ink) -> String {
    let widths = widths(columns, rows, room);
    let titles: Vec<_> = columns.iter().map(|c| c.title.to_owned()).collect();
    let mut page = format!("{}\n", ink.dim(line(columns, &titles, &widths)));
    for row in rows {
        page.push_str(&line(columns, row, &widths));
        page.push('\n');
    }
    page
}

fn line(columns: &[Column], cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for ((column, cell), &width) in columns.iter().zip(cells).zip(widths) {
        let cell = match column.fit {
            Fit::Whole => cell.clone(),
            Fit::KeepStart(_) => text::keep_start(cell, width),
            Fit::KeepEnd(_) => text::keep_end(cell, width),
        };
        let padding = width.saturating_sub(text::width(&cell)) + GAP;
        line.push_str(&cell);
        line.extend(std::iter::repeat_n(' ', padding));
    }
    line.truncate(line.trim_end().len());
    line
}

fn widths(columns: &[Column], rows: &[Vec<String>], room: Option<usize>) -> Vec<usize> {
    let widest = |index: usize| {
        let cells = rows.iter().map(|row| text::width(&row[index]));
        cells.max().unwrap_or(0)
    };
    let natural = columns.iter().enumerate();
    let mut widths: Vec<_> = natural
        .map(|(index, column)| widest(index).max(text::width(column.title)))
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
