//! Standard input as lines, read on a thread of its own.
//!
//! A line may be long but not endless: beyond the limit its bytes are dropped as they
//! come, and the next line is read as if nothing had been.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::thread;

use tokio::sync::mpsc;

/// The most bytes of one line.
pub(crate) const LONGEST: usize = 64 << 20;

/// How many lines wait for us at most; a faster peer waits itself.
const WAITING: usize = 64;

/// One line of input.
pub(crate) enum Line {
    Text(String),
    NotUtf8,
    TooLong,
}

/// Reads `input` to its end; the channel closes there.
pub(crate) fn start(input: File) -> io::Result<mpsc::Receiver<Line>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let mut input = BufReader::with_capacity(1 << 16, input);
    thread::Builder::new()
        .name("line-reader".into())
        .spawn(move || {
            // A read that fails ends the conversation like its regular end.
            while let Ok(Some(line)) = next(&mut input) {
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        })?;
    Ok(receiver)
}

/// The next line without its end; `None` at the end of the input.
fn next(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut too_long = false;
    let mut read_any = false;
    loop {
        let chunk = match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        if chunk.is_empty() {
            break;
        }
        read_any = true;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        if line.len() + part.len() > LONGEST {
            too_long = true;
            line = Vec::new();
        }
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    Ok(match (read_any, too_long) {
        (false, _) => None,
        (true, true) => Some(Line::TooLong),
        (true, false) => Some(String::from_utf8(line).map_or(Line::NotUtf8, Line::Text)),
    })
}
