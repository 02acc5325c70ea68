//! The repl without a terminal: runs lines from standard input, one after another.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use tokio::sync::mpsc;

use super::dispatch::Next;
use super::line;
use super::state::Shell;
use crate::surface::cli::exit::{CANCELLED, FAILURE, Failure, SUCCESS};

/// Runs the lines. The exit code is that of a failure if one of them failed.
pub(super) async fn run(shell: &mut Shell<'_, '_>, input: File) -> Result<u8, Failure> {
    let mut lines = lines(input);
    let mut text = String::new();
    loop {
        let line = tokio::select! {
            biased;
            () = shell.session.signals.next() => return Ok(CANCELLED),
            line = lines.recv() => line.transpose()?,
        };
        let is_end = line.is_none();
        text.push_str(&line.unwrap_or_default());
        if line::is_open(&text) && !is_end {
            continue;
        }
        let next = shell.obey(&std::mem::take(&mut text)).await?;
        if shell.session.signals.heard() > 0 {
            return Ok(CANCELLED);
        }
        if is_end || matches!(next, Next::Leave) {
            return Ok(if shell.has_failed { FAILURE } else { SUCCESS });
        }
    }
}

/// Reads the lines on a separate thread, on demand.
fn lines(input: File) -> mpsc::Receiver<io::Result<String>> {
    let (sender, lines) = mpsc::channel(1);
    tokio::task::spawn_blocking(move || {
        let mut input = BufReader::new(input);
        loop {
            let mut line = Vec::new();
            let read = input.read_until(b'\n', &mut line);
            let line = match read {
                Ok(0) => return,
                read => read.map(|_| String::from_utf8_lossy(&line).into_owned()),
            };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
