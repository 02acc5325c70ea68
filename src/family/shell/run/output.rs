//! Output of a program: kept within its limit, masked, streamed if the tool wants that (spec cycod
//! 105–111).
//!
//! The order matters: output is masked first and cut then, so that no half of a secret is left. For
//! that a little more than the limit is kept.

use std::fs::File;
use std::io::Write as _;

use serde_json::json;
use serde_json::value::to_raw_value;
use tokio_util::sync::CancellationToken;

use super::super::definition::{Output, OutputMode, StreamTo};
use super::interactive::Talk;
use super::mask::{Mask, MaskedStream};
use super::report::{Ended, Text};
use super::session::Session;
use haft_process::{Captured, Chunk, Finished, Keep, Spawn, SpawnError, Stdin, Stream};
use haft_tool::{Progress, Updates};

impl Session<'_> {
    /// Runs a program and reads its output.
    pub(crate) async fn hear(
        &self,
        mut spawn: Spawn,
        name: &str,
        output: &Output,
        mask: &Mask,
        stop: &CancellationToken,
    ) -> Result<(Finished, Ended), SpawnError> {
        let limit = usize::try_from(output.limit()).unwrap_or(usize::MAX);
        let keep = Keep::Head(limit.saturating_add(mask.longest()));
        (spawn.stdout, spawn.stderr) = (keep, keep);
        let talk = match (&spawn.stdin, &self.user, self.definition.interaction()) {
            (Stdin::Open, Some(user), Some(interaction)) => Some(Talk {
                user,
                interaction,
                name,
                mask,
                timer: &self.timer,
            }),
            _ => None,
        };
        let sink = match output.mode() {
            OutputMode::Buffer => None,
            OutputMode::Stream => Some(self.sink(name, output.stream_to)),
        };
        let finished = match (talk, sink) {
            (None, None) => spawn.run(stop).await?,
            (None, Some(sink)) => {
                let mut stream = Streamed::new(sink, mask, name);
                let mut child = spawn.start(stop).await?;
                while let Some(chunk) = child.next().await {
                    stream.take(&chunk);
                }
                stream.finish();
                child.wait().await
            }
            (Some(talk), sink) => {
                let mut stream = sink.map(|sink| Streamed::new(sink, mask, name));
                let child = spawn.start(stop).await?;
                let hear = |chunk: &Chunk| {
                    if let Some(stream) = &mut stream {
                        stream.take(chunk);
                    }
                };
                let finished = talk.with(child, hear).await;
                if let Some(stream) = stream {
                    stream.finish();
                }
                finished
            }
        };
        let (stdout, stdout_cut) = bounded(&finished.stdout, limit, mask);
        let (stderr, stderr_cut) = bounded(&finished.stderr, limit, mask);
        let mut ended = Ended {
            exit_code: i64::from(finished.end.shell_code()),
            stdout,
            stderr,
            error: None,
            was_stopped: false,
        };
        if stdout_cut || stderr_cut {
            if output.truncates() {
                self.note(format!("Output truncated to {limit} bytes"));
            } else {
                ended.error = Some(format!("Output exceeds buffer limit of {limit} bytes"));
            }
        }
        Ok((finished, ended))
    }

    fn sink(&self, name: &str, to: StreamTo) -> Sink {
        match to {
            StreamTo::Console | StreamTo::Function => Sink::Updates(self.updates.clone()),
            StreamTo::File => {
                let own = self.temp.as_ref().map(|temp| temp.path());
                let folder = own.unwrap_or(self.host_env.temp());
                let safe = |c: char| if c.is_alphanumeric() { c } else { '-' };
                let file: String = name.chars().map(safe).collect();
                let path = folder.join(format!("{file}.log"));
                let mut options = File::options();
                options.append(true).create(true);
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                match options.open(&path) {
                    Ok(file) => Sink::File(file),
                    Err(error) => {
                        self.note(format!("{} cannot be written: {error}", path.display()));
                        Sink::Updates(None)
                    }
                }
            }
        }
    }
}

/// Destination of streamed lines.
enum Sink {
    Updates(Option<Updates>),
    File(File),
}

impl Sink {
    fn take(&mut self, step: &str, stream: Stream, text: &str) {
        if text.is_empty() {
            return;
        }
        match self {
            Sink::Updates(None) => {}
            Sink::Updates(Some(updates)) => {
                let stream = match stream {
                    Stream::Stdout => "stdout",
                    Stream::Stderr => "stderr",
                };
                let partial = json!({
                    "content": [{ "type": "text", "text": text }],
                    "details": { "step": step, "stream": stream },
                });
                if let Ok(partial) = to_raw_value(&partial) {
                    updates.send(Progress::Partial(partial));
                }
            }
            // The step must not fail because of its log.
            Sink::File(file) => drop(file.write_all(text.as_bytes())),
        }
    }
}

/// Forwards whole lines while the program runs.
struct Streamed<'a> {
    sink: Sink,
    lines: [Lines; 2],
    /// Name of the step.
    name: &'a str,
}

impl<'a> Streamed<'a> {
    fn new(sink: Sink, mask: &Mask, name: &'a str) -> Streamed<'a> {
        Streamed {
            sink,
            lines: [Stream::Stdout, Stream::Stderr].map(|stream| Lines::new(mask, stream)),
            name,
        }
    }

    fn take(&mut self, chunk: &Chunk) {
        for lines in &mut self.lines {
            if lines.stream == chunk.stream {
                let text = lines.push(&chunk.bytes);
                self.sink.take(self.name, lines.stream, &text);
            }
        }
    }

    fn finish(mut self) {
        for lines in &mut self.lines {
            let text = lines.finish();
            self.sink.take(self.name, lines.stream, &text);
        }
    }
}

struct Lines {
    stream: Stream,
    masked: MaskedStream,
    /// Line without an end so far.
    begun: String,
}

/// Limit of a line; a longer one is forwarded in parts.
const MAX_LINE_LEN: usize = 64 << 10;

impl Lines {
    fn new(mask: &Mask, stream: Stream) -> Lines {
        Lines {
            stream,
            masked: MaskedStream::new(mask.clone()),
            begun: String::new(),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> String {
        self.begun.push_str(&self.masked.push(bytes));
        let end = self.begun.rfind('\n').map(|at| at + 1);
        let end = end.or_else(|| (self.begun.len() > MAX_LINE_LEN).then_some(self.begun.len()));
        let rest = self.begun.split_off(end.unwrap_or(0));
        std::mem::replace(&mut self.begun, rest)
    }

    fn finish(&mut self) -> String {
        let mut text = std::mem::take(&mut self.begun);
        text.push_str(&self.masked.finish());
        text
    }
}

/// Returns the output within its limit, and true if there was more.
fn bounded(captured: &Captured, limit: usize, mask: &Mask) -> (Text, bool) {
    let mut raw = captured.text();
    let is_cut = captured.dropped > 0 || captured.bytes.len() > limit;
    let mut shown = match (mask.is_empty(), captured.dropped > 0) {
        (true, _) => raw.clone(),
        (false, true) => mask.apply_to_cut(&raw),
        (false, false) => mask.apply(&raw),
    };
    if is_cut {
        raw.truncate(raw.floor_char_boundary(limit));
        shown.truncate(shown.floor_char_boundary(limit));
    }
    (Text { raw, shown }, is_cut)
}
