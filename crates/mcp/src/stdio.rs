//! Transport of a program: one JSON message a line on its standard streams.
//!
//! The program is a child of `haft-process`, so it has a session, a sandbox and limits, and its whole
//! tree is killed at the end. Lines that are no messages are skipped; a program that prints too many
//! of them, or a line that is too long, is ended.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use memchr::memchr;
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{CallToolResult, CustomResult, ErrorData, RequestId, ServerResult};
use rmcp::service::{RxJsonRpcMessage, ServiceError, TxJsonRpcMessage};
use rmcp::transport::{DynamicTransportError, Transport};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::outgoing::{Outgoing, again};
use crate::session::Session;
use crate::text::one_line;
use haft_process::{Child, End, Exit, Finished, Stream};

/// Limit of a line in bytes.
const MAX_LINE_BYTES: usize = 32 << 20;

/// Number of lines that are no messages, after which a program is ended.
const MAX_GARBAGE_LINES: u32 = 1000;

/// Number of the last lines of a server that are kept, and the limit of each in bytes.
const MAX_WORDS: (usize, usize) = (12, 300);

/// Time that a program has to end after its input has ended.
const FAREWELL: Duration = Duration::from_secs(1);

/// Streams of a running program.
pub(crate) struct Stdio {
    child: Option<Child>,
    outgoing: Outgoing,
    lines: Lines,
    garbage: u32,
    session: Arc<Session>,
    words: Arc<LastWords>,
}

impl Stdio {
    pub(crate) fn new(mut child: Child, session: Arc<Session>, words: Arc<LastWords>) -> Stdio {
        let calls = session.clone();
        let fails =
            move |written, error: &io::Error| calls.waiting.fail(written, || unsent(again(error)));
        Stdio {
            outgoing: Outgoing::start(child.take_input(), fails),
            child: Some(child),
            lines: Lines::default(),
            garbage: 0,
            session,
            words,
        }
    }

    /// Returns the program's input.
    pub(crate) fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    /// Returns the next message of the output that was read, unless it is for a call that waits.
    fn next_message(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while let Some(line) = self.lines.next() {
            let line = line.trim_ascii();
            if line.is_empty() || self.session.waiting.take_line(line) {
                continue;
            }
            let why = match parse(line, &self.session) {
                Ok(message) => return Some(message),
                Err(error) => error.to_string(),
            };
            if let Some(message) = unreadable(line, &why) {
                return Some(message);
            }
            self.garbage += 1;
            self.words.garbage(line, &why);
            if self.garbage >= MAX_GARBAGE_LINES {
                break;
            }
        }
        None
    }

    /// Ends a program that has closed its output: it can answer nothing any more. Usually it ends by
    /// itself.
    async fn end_of_output(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        if timeout(FAREWELL, self.words.hear_to_the_end(&mut child))
            .await
            .is_err()
        {
            self.words.ended("it closed its standard output".to_owned());
            child.stop();
        }
        let finished = child.wait().await;
        self.words.finished(&finished);
    }

    /// Notes the reason for which the program is ended, and ends it.
    async fn give_up(&mut self, why: String) {
        self.words.ended(why);
        if let Some(child) = self.child.take() {
            child.stop();
            child.wait().await;
        }
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        // Sent at once, so that the order of the messages is the order of the calls to `send`.
        let sent = self.outgoing.send(&item);
        let outgoing = self.outgoing.clone();
        async move { outgoing.written(sent?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.next_or_end().await;
        if message.is_none() {
            self.session.waiting.close();
        }
        message
    }

    /// Ends the input, waits for the program to end by itself, then stops it.
    async fn close(&mut self) -> Result<(), io::Error> {
        self.outgoing.close();
        if let Some(mut child) = self.child.take() {
            let ended = timeout(FAREWELL, self.words.hear_to_the_end(&mut child));
            if ended.await.is_err() {
                child.stop();
            }
            let finished = child.wait().await;
            self.words.finished(&finished);
        }
        self.session.waiting.close();
        Ok(())
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.outgoing.close();
        self.session.waiting.close();
    }
}

impl Stdio {
    /// Returns the next message; `None` when the program has ended.
    async fn next_or_end(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.next_message() {
                return Some(message);
            }
            if self.garbage >= MAX_GARBAGE_LINES {
                let text = format!("it printed {MAX_GARBAGE_LINES} lines that are no messages");
                self.give_up(text).await;
                return None;
            }
            let child = self.child.as_mut()?;
            let closed = child.closed_output();
            let chunk = tokio::select! {
                biased;
                chunk = child.next() => chunk,
                () = closed.cancelled() => {
                    self.end_of_output().await;
                    return None;
                }
            };
            let Some(chunk) = chunk else {
                // The program has ended, so this does not wait.
                let finished = self.child.take()?.wait().await;
                self.words.finished(&finished);
                return None;
            };
            match chunk.stream {
                Stream::Stderr => self.words.hear(&chunk.bytes),
                Stream::Stdout => {
                    if !self.lines.push(&chunk.bytes) {
                        let most = MAX_LINE_BYTES >> 20;
                        self.give_up(format!("it printed a line of more than {most} MiB"))
                            .await;
                        return None;
                    }
                }
            }
        }
    }
}

/// Splits the output of a program into lines.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
    /// Position up to which there is no line end.
    searched: usize,
    /// Position of the first byte that was not returned.
    start: usize,
}

impl Lines {
    /// Adds output. Returns false if the line that it belongs to is too long.
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
        self.buffer.len() <= MAX_LINE_BYTES || self.buffer[self.searched..].contains(&b'\n')
    }

    /// Returns the next whole line, without its end.
    fn next(&mut self) -> Option<&[u8]> {
        let Some(found) = memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + found;
        let begin = std::mem::replace(&mut self.start, end + 1);
        self.searched = self.start;
        Some(&self.buffer[begin..end])
    }
}

/// Result of a call in the form that nearly all servers send.
#[derive(Deserialize)]
struct UsualResult<'a> {
    id: RequestId,
    #[serde(borrow)]
    result: &'a RawValue,
}

/// Parses a message. The result of a call is parsed as what it is; rmcp would try twenty types.
fn parse(
    line: &[u8],
    session: &Session,
) -> Result<RxJsonRpcMessage<RoleClient>, serde_json::Error> {
    if let Ok(usual) = serde_json::from_slice::<UsualResult<'_>>(line)
        && session.waiting.has(&usual.id)
        && let Ok(result) = serde_json::from_str::<CallToolResult>(usual.result.get())
    {
        let result = ServerResult::CallToolResult(result);
        return Ok(RxJsonRpcMessage::<RoleClient>::response(result, usual.id));
    }
    serde_json::from_slice(line)
}

/// Answer of which only the id is known to be valid.
#[derive(Deserialize)]
struct UnreadAnswer<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    id: RequestId,
    method: Option<IgnoredAny>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// A page of a list whose entries are parsed one by one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UnreadPage<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    next_cursor: Option<String>,
}

/// Returns what stands for an answer that cannot be parsed, so that its request ends: the list of
/// tools without the bad ones, or an error. `None` if the line is no answer.
fn unreadable(line: &[u8], why: &str) -> Option<RxJsonRpcMessage<RoleClient>> {
    let answer: UnreadAnswer<'_> = serde_json::from_slice(line).ok()?;
    let is_other = answer.jsonrpc.is_some_and(|version| version != "2.0");
    if is_other || answer.method.is_some() {
        return None;
    }
    let result = answer.result?;
    if let Ok(page) = serde_json::from_str::<UnreadPage<'_>>(result.get()) {
        let tools = page.tools.into_iter().map(|tool| {
            let read = serde_json::from_str::<Value>(tool.get());
            read.unwrap_or_else(|error| Value::String(error.to_string()))
        });
        let page = json!({"tools": tools.collect::<Vec<_>>(), "nextCursor": page.next_cursor});
        let result = ServerResult::CustomResult(CustomResult::new(page));
        return Some(RxJsonRpcMessage::<RoleClient>::response(result, answer.id));
    }
    let error = ErrorData::internal_error(format!("its answer cannot be read: {why}"), None);
    Some(RxJsonRpcMessage::<RoleClient>::error(
        error,
        Some(answer.id),
    ))
}

/// Returns the failure of a request that the program has not read.
pub(crate) fn unsent(error: io::Error) -> ServiceError {
    ServiceError::TransportSend(DynamicTransportError::new::<Stdio, RoleClient>(error))
}

/// Last lines that a server has printed, and the reason of its end.
#[derive(Default)]
pub(crate) struct LastWords {
    state: Mutex<Words>,
    log: Option<LineLog>,
    /// Values of the configuration that are not shown.
    secrets: Vec<String>,
}

/// Receiver of the lines that a server prints to its standard error.
pub(crate) type LineLog = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
struct Words {
    lines: VecDeque<String>,
    partial: Vec<u8>,
    end: Option<String>,
}

impl LastWords {
    pub(crate) fn new(log: Option<LineLog>, secrets: Vec<String>) -> LastWords {
        LastWords {
            state: Mutex::default(),
            log,
            secrets,
        }
    }

    /// Returns the text without the values of the configuration.
    pub(crate) fn masked(&self, text: &str) -> String {
        let mask = |text: String, secret: &String| text.replace(secret, "…");
        self.secrets.iter().fold(text.to_owned(), mask)
    }

    /// Adds bytes of the standard error.
    pub(crate) fn hear(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        for byte in bytes {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut state.partial);
                    self.line(&mut state, &line);
                }
                // The rest of a long line is dropped.
                _ if state.partial.len() < 4 * MAX_WORDS.1 => state.partial.push(*byte),
                _ => {}
            }
        }
    }

    fn line(&self, state: &mut Words, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = one_line(&self.masked(&text), MAX_WORDS.1);
        if text.is_empty() {
            return;
        }
        if let Some(log) = &self.log {
            log(&text);
        }
        if state.lines.len() == MAX_WORDS.0 {
            state.lines.pop_front();
        }
        state.lines.push_back(text);
    }

    /// Notes a line of the standard output that is no message.
    pub(crate) fn garbage(&self, line: &[u8], why: &str) {
        tracing::debug!(why, "a line of an MCP server is no message");
        let text = [b"(standard output) ", &line[..line.len().min(MAX_WORDS.1)]].concat();
        self.line(&mut self.state.lock(), &text);
    }

    /// Notes the reason of the end. The first one counts.
    pub(crate) fn ended(&self, why: String) {
        self.state.lock().end.get_or_insert(why);
    }

    /// Returns the reason of the end, if it is known, and the last lines.
    pub(crate) fn take(&self) -> (Option<String>, Vec<String>) {
        let mut state = self.state.lock();
        let partial = std::mem::take(&mut state.partial);
        self.line(&mut state, &partial);
        (state.end.clone(), state.lines.iter().cloned().collect())
    }

    /// Takes what the program prints to its standard error until its end.
    async fn hear_to_the_end(&self, child: &mut Child) {
        while let Some(chunk) = child.next().await {
            if chunk.stream == Stream::Stderr {
                self.hear(&chunk.bytes);
            }
        }
    }

    fn finished(&self, finished: &Finished) {
        if let Some(exceeded) = finished.exceeded {
            let limit = haft_config::exceeded_limit(exceeded);
            return self.ended(format!("it was ended, because {limit}"));
        }
        let exit = match finished.end {
            End::Exited(code) => format!("it ended with exit code {code}"),
            End::Signaled(signal) => format!("it was ended by signal {signal}"),
            End::TimedOut(_) | End::Cancelled(None) => "it was stopped".to_owned(),
            End::Cancelled(Some(Exit::Code(code))) => format!("it was stopped, exit code {code}"),
            End::Cancelled(Some(Exit::Signal(signal))) => {
                format!("it was stopped by signal {signal}")
            }
        };
        self.ended(exit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_wherever_chunks_end() {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for chunk in ["a", "b\nc", "d\n\ne\nf", "\n"] {
            assert!(lines.push(chunk.as_bytes()));
            while let Some(line) = lines.next() {
                found.push(String::from_utf8(line.to_vec()).expect("it is text"));
            }
        }
        assert_eq!(found, ["ab", "cd", "", "e", "f"]);
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; 8 << 20];
        for _ in 0..4 {
            assert!(lines.push(&chunk));
            assert!(lines.next().is_none());
        }
        assert!(!lines.push(b"x"));
        // A long buffer of whole lines is not a long line.
        let mut lines = Lines::default();
        let mut chunk = vec![b'x'; 31 << 20];
        chunk.push(b'\n');
        assert!(lines.push(&chunk));
        assert!(lines.next().is_some());
        assert!(lines.push(&chunk));
    }

    #[test]
    fn an_answer_that_is_too_deep_ends_its_request() {
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"content\":{deep}}}}}");
        let message = unreadable(line.as_bytes(), "too deep").expect("it is an answer");
        let RxJsonRpcMessage::<RoleClient>::Error(error) = message else {
            panic!("it is an error");
        };
        assert_eq!(error.id, Some(RequestId::Number(3)));
        assert_eq!(error.error.message, "its answer cannot be read: too deep");
        let line = format!(
            "{{\"id\":4,\"result\":{{\"tools\":[{{\"name\":\"a\"}},{{\"name\":\"b\",\"x\":{deep}}}]}}}}"
        );
        let message = unreadable(line.as_bytes(), "too deep").expect("it is an answer");
        let text = serde_json::to_string(&message).expect("it is JSON");
        assert!(
            text.contains("{\"name\":\"a\"}") && !text.contains("\"b\""),
            "{text}"
        );
        assert!(unreadable(b"{\"id\":1,\"method\":\"ping\"}", "").is_none());
        assert!(unreadable(b"Server started", "").is_none());
        assert!(unreadable(b"{\"jsonrpc\":\"1.0\",\"id\":0,\"result\":{}}", "").is_none());
    }
}
