//! Aligned columns with no lines between them.
//!
//! Where the room is limited the columns give way in two steps: texts lose their end,
//! then paths lose their start. A column that does neither is never cut.

use super::ink::Ink;
use super::text;

const GAP: usize = 2;

/// One column: its title, and what it does when there is not enough room.
pub(crate) struct Column {
    /// What stands above it.
    pub(crate) title: &'static str,
    /// How it gives way.
    pub(crate) fit: Fit,
}

/// What a column does when there is not enough room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Nothing: it is always whole.
    Whole,
    /// It loses the end of its cells, down to this width.
    KeepStart(usize),
    /// It loses the start of its cells, down to this width.
    KeepEnd(usize),
}

/// The table as text, every line ended; `room` is the width of the terminal, if it is one.
pub(crate) fn render(
    columns: &[Column],
    rows: &[Vec<String>],
    room: Option<usize>,
    ink: Ink,
) -> String {
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
