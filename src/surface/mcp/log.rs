//! Log messages to clients: lines that tools log during calls, and tools that cannot be listed.
#![allow(
    deprecated,
    reason = "the newer era is giving logging up; clients of the older one want it"
)]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{JsonObject, LoggingLevel, LoggingMessageNotificationParam, ServerCapabilities};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};

use super::client::is_new;
use super::tool_list::ToolList;
use crate::host::Host;
use haft_tool::{LogLevel, LogLine, LogListener, TerminalText, queue};

/// Limit of the unsent lines of one call. Lines beyond it are dropped; the tools' log file contains
/// them.
const LOG_QUEUE_CAPACITY: usize = 1024;
/// Limit of a line's length in bytes.
const MAX_LINE_BYTES: usize = 16 << 10;

/// Log settings of one connection.
#[derive(Default)]
pub(super) struct Log {
    least: Mutex<Option<LoggingLevel>>,
    is_told: AtomicBool,
}

/// Receiver of the lines that the tool of one call logs.
pub(super) struct Lines(Option<queue::Receiver<LogLine>>);

/// Sink that the tool writes its lines to.
#[derive(Debug)]
struct LogSink {
    least: LoggingLevel,
    lines: queue::Sender<LogLine>,
}

impl Log {
    /// Sets the level below which no lines are sent.
    pub(super) fn set_least(&self, level: LoggingLevel) {
        *self.least.lock() = Some(level);
    }

    /// Sends a warning for each tool that is missing from the list, once per connection that wants
    /// warnings.
    pub(super) async fn tell_left_out(
        &self,
        tool_list: &ToolList,
        context: &RequestContext<RoleServer>,
    ) {
        let least = self.least(context);
        let wants = least.is_some_and(|least| least as u8 <= LoggingLevel::Warning as u8);
        if !wants || tool_list.left_out.is_empty() || self.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        for text in &tool_list.left_out {
            let data = text.as_str().into();
            let line = LoggingMessageNotificationParam::new(LoggingLevel::Warning, data);
            let said = context
                .peer
                .notify_logging_message(line.with_logger("haft"));
            // An error means that the client has disconnected.
            let _ = said.await;
        }
    }

    /// Creates the listener for the call of this request, with the level that its sender requested.
    pub(super) fn listen(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> (Option<Arc<dyn LogListener>>, Lines) {
        match self.least(context) {
            Some(least) => listen(least),
            None => (None, Lines(None)),
        }
    }

    /// Returns the minimum level that the sender of this request wants; `None` disables logging.
    fn least(&self, context: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        if is_new(context) {
            context.meta.log_level()
        } else {
            Some(self.least_of_connection())
        }
    }

    fn least_of_connection(&self) -> LoggingLevel {
        let least = *self.least.lock();
        // Warnings are the default of a client that set no level.
        least.unwrap_or(LoggingLevel::Warning)
    }
}

fn listen(least: LoggingLevel) -> (Option<Arc<dyn LogListener>>, Lines) {
    let (lines, receiver) = queue::channel();
    (
        Some(Arc::new(LogSink { least, lines })),
        Lines(Some(receiver)),
    )
}

/// Forwards the log of all calls of one connection, and sends each line at once. For clients up to
/// MCP 2025-11.
pub(super) struct LogForwarder<S> {
    log: Arc<Log>,
    say: S,
}

impl<S: Fn(LoggingMessageNotificationParam) + Send + Sync> LogForwarder<S> {
    /// Creates the forwarder. `say` must not block.
    pub(super) fn new(log: Arc<Log>, say: S) -> LogForwarder<S> {
        LogForwarder { log, say }
    }
}

impl<S: Fn(LoggingMessageNotificationParam) + Send + Sync> LogListener for LogForwarder<S> {
    fn hear(&self, line: LogLine) {
        if is_wanted(&line, self.log.least_of_connection()) {
            (self.say)(notification(shortened(line)));
        }
    }
}

impl<S> fmt::Debug for LogForwarder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogForwarder").finish_non_exhaustive()
    }
}

impl Lines {
    /// Waits for the next line; waits forever if none can come.
    pub(super) async fn next(&mut self) -> LogLine {
        if let Some(lines) = &mut self.0
            && let Some(line) = lines.recv().await
        {
            return line;
        }
        std::future::pending().await
    }
}

impl LogListener for LogSink {
    fn hear(&self, line: LogLine) {
        if is_wanted(&line, self.least) {
            // The tool must not wait for its log.
            self.lines.send_within(LOG_QUEUE_CAPACITY, shortened(line));
        }
    }
}

fn is_wanted(line: &LogLine, least: LoggingLevel) -> bool {
    level(line.level) as u8 >= least as u8
}

fn shortened(mut line: LogLine) -> LogLine {
    if line.message.len() > MAX_LINE_BYTES {
        line.message
            .truncate(line.message.floor_char_boundary(MAX_LINE_BYTES));
        line.message.push('…');
    }
    line.context
        .take_if(|context| context.get().len() > MAX_LINE_BYTES);
    line
}

/// Returns the host with this listener, if there is one.
pub(super) fn heard(host: &Host, listener: Option<Arc<dyn LogListener>>) -> Host {
    match listener {
        Some(listener) => host.with_log(listener),
        None => host.clone(),
    }
}

/// Sends a line to the client.
pub(super) async fn tell(peer: &Peer<RoleServer>, line: LogLine) {
    // An error means that the client has disconnected.
    let _ = peer.notify_logging_message(notification(line)).await;
}

fn notification(line: LogLine) -> LoggingMessageNotificationParam {
    let message = TerminalText::from_prose(&line.message).into_string();
    let data = match line.context {
        Some(context) => json!({"message": message, "context": context}),
        None => Value::from(message),
    };
    LoggingMessageNotificationParam::new(level(line.level), data).with_logger(line.tool)
}

/// Declares the logging capability.
pub(super) fn declare(capabilities: &mut ServerCapabilities) {
    capabilities.logging = Some(JsonObject::new());
}

fn level(level: LogLevel) -> LoggingLevel {
    match level {
        LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Warn => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
    }
}
