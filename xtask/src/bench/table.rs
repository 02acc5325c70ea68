//! Table of a run: medians, the best of each side, the ratio of haft's time to the peer's.

use std::time::Duration;

use serde_json::{Value, json};

#[derive(Default)]
pub struct Table {
    pub rows: Vec<Row>,
}

/// Measurements of one process.
#[derive(Clone, Copy)]
pub struct Sample {
    pub took: Duration,
    /// The peak memory of it, or of a child that it waited for.
    pub peak_bytes: u64,
}

pub struct Row {
    pub title: &'static str,
    pub haft: Vec<Sample>,
    pub peer: Vec<Sample>,
}

/// Statistics of one side of a row.
#[derive(Debug, PartialEq)]
struct Summary {
    median_ms: f64,
    min_ms: f64,
    peak_mib: f64,
}

const HEAD: [&str; 9] = [
    "case", "haft ms", "min", "peer ms", "min", "ratio", "haft MiB", "peer MiB", "ratio",
];

impl Row {
    pub fn new(title: &'static str) -> Self {
        Self {
            title,
            haft: Vec::new(),
            peer: Vec::new(),
        }
    }

    fn cells(&self) -> [String; 9] {
        let (haft, peer) = (Summary::of(&self.haft), Summary::of(&self.peer));
        [
            self.title.to_owned(),
            milliseconds(haft.median_ms),
            milliseconds(haft.min_ms),
            milliseconds(peer.median_ms),
            milliseconds(peer.min_ms),
            ratio(haft.median_ms, peer.median_ms),
            format!("{:.0}", haft.peak_mib),
            format!("{:.0}", peer.peak_mib),
            ratio(haft.peak_mib, peer.peak_mib),
        ]
    }
}

impl Summary {
    fn of(samples: &[Sample]) -> Self {
        let took: Vec<f64> = samples.iter().map(|sample| in_ms(sample.took)).collect();
        let peaks: Vec<f64> = samples
            .iter()
            .map(|sample| in_mib(sample.peak_bytes))
            .collect();
        Self {
            median_ms: median(&took),
            min_ms: took.iter().copied().fold(f64::INFINITY, f64::min),
            peak_mib: median(&peaks),
        }
    }

    fn json(&self) -> Value {
        json!({ "medianMs": self.median_ms, "minMs": self.min_ms, "peakMib": self.peak_mib })
    }
}

impl Table {
    /// Returns the table as Markdown that is also readable on a terminal.
    pub fn text(&self) -> String {
        let mut lines = vec![HEAD.map(str::to_owned)];
        lines.extend(self.rows.iter().map(Row::cells));
        let widths: Vec<usize> = (0..HEAD.len())
            .map(|column| {
                lines
                    .iter()
                    .map(|line| line[column].len())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut text: Vec<String> = lines.iter().map(|line| aligned(line, &widths)).collect();
        text.insert(1, rule(&widths));
        text.join("\n")
    }

    pub fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let (haft, peer) = (Summary::of(&row.haft), Summary::of(&row.peer));
            json!({ "case": row.title, "runs": row.haft.len(), "haft": haft.json(), "peer": peer.json() })
        });
        Value::Array(rows.collect())
    }

    /// Returns every single run as CSV.
    pub fn csv(&self) -> String {
        let mut text = String::from("case,program,run,ms,peak_mib\n");
        for row in &self.rows {
            for (program, samples) in [("haft", &row.haft), ("peer", &row.peer)] {
                for (run, sample) in samples.iter().enumerate() {
                    let title = row.title.replace('"', "\"\"");
                    let (ms, mib) = (in_ms(sample.took), in_mib(sample.peak_bytes));
                    text += &format!("\"{title}\",{program},{},{ms:.4},{mib:.1}\n", run + 1);
                }
            }
        }
        text
    }
}

/// Formats a row: the first column to the left, numbers to the right.
fn aligned(cells: &[String; 9], widths: &[usize]) -> String {
    let mut line = format!("| {:<width$} |", cells[0], width = widths[0]);
    for (cell, width) in cells.iter().zip(widths).skip(1) {
        line += &format!(" {cell:>width$} |");
    }
    line
}

fn rule(widths: &[usize]) -> String {
    let mut line = format!("| {} |", "-".repeat(widths[0]));
    for width in &widths[1..] {
        line += &format!(" {}: |", "-".repeat(width - 1));
    }
    line
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

fn milliseconds(value: f64) -> String {
    if value < 0.1 {
        format!("{value:.4}")
    } else if value < 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.1}")
    }
}

fn ratio(haft: f64, peer: f64) -> String {
    format!("{:.2}", haft / peer)
}

fn in_ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn in_mib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0 / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[(u64, u64)]) -> Vec<Sample> {
        values
            .iter()
            .map(|&(micros, mib)| Sample {
                took: Duration::from_micros(micros),
                peak_bytes: mib * 1024 * 1024,
            })
            .collect()
    }

    fn table() -> Table {
        let haft = samples(&[(9_000, 40), (12_000, 44), (60_000, 42)]);
        let peer = samples(&[(8_000, 14), (6_000, 16)]);
        Table {
            rows: vec![Row {
                title: "start",
                haft,
                peer,
            }],
        }
    }

    #[test]
    fn one_slow_run_does_not_move_the_median() {
        assert_eq!(median(&[9.0, 60.0, 12.0]), 12.0);
        assert_eq!(median(&[8.0, 6.0]), 7.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_table_has_medians_minima_and_ratios() {
        assert_eq!(
            table().text(),
            "\
| case  | haft ms |  min | peer ms |  min | ratio | haft MiB | peer MiB | ratio |
| ----- | ------: | ---: | ------: | ---: | ----: | -------: | -------: | ----: |
| start |    12.0 | 9.00 |    7.00 | 6.00 |  1.71 |       42 |       15 |  2.80 |"
        );
    }

    #[test]
    fn json_and_csv_have_the_same_numbers() {
        let json = table().json();
        assert_eq!(json[0]["haft"]["medianMs"], 12.0);
        assert_eq!(json[0]["peer"]["peakMib"], 15.0);
        let csv = table().csv();
        assert_eq!(csv.lines().count(), 1 + 3 + 2);
        assert_eq!(csv.lines().nth(2), Some("\"start\",haft,2,12.0000,44.0"));
    }
}
