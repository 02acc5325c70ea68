//! What is said to clients besides answers: what tools log while they are called, and which tools cannot
//! be offered.
#![allow(
    deprecated,
    reason = "the newer era is giving logging up; clients of the older one want it"
)]

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{JsonObject, LoggingLevel, LoggingMessageNotificationParam, ServerCapabilities};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};

use super::call::is_new;
use super::offer::Offer;
use super::server::Server;
use crate::host::Host;
use crate::render::text::clean;
use crate::tool::{LogLevel, LogLine, LogListener, queue};

/// Lines of one call beyond so many that are not yet sent are left out; the tools' log file has them.
const WAITING: usize = 1024;
/// A line has at most so many bytes.
const LONGEST: usize = 16 << 10;

/// What one connection wants to hear.
#[derive(Default)]
pub(super) struct Log {
    least: Mutex<Option<LoggingLevel>>,
    is_told: AtomicBool,
}

/// What the tool of one call logs, on its way to the caller.
pub(super) struct Lines(Option<queue::Receiver<LogLine>>);

/// The end of it at the tool.
#[derive(Debug)]
struct Ear {
    least: LoggingLevel,
    lines: queue::Sender<LogLine>,
}

impl Log {
    /// Nothing below this level is said from now on.
    pub(super) fn set_least(&self, level: LoggingLevel) {
        *self.least.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Names what is left out of a list, once for each connection that wants to hear it.
    pub(super) async fn tell_left_out(&self, offer: &Offer, context: &RequestContext<RoleServer>) {
        let least = self.least(context);
        let wants = least.is_some_and(|least| least as u8 <= LoggingLevel::Warning as u8);
        if !wants || offer.left_out.is_empty() || self.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        for text in &offer.left_out {
            let data = text.as_str().into();
            let line = LoggingMessageNotificationParam::new(LoggingLevel::Warning, data);
            let said = context
                .peer
                .notify_logging_message(line.with_logger("haft"));
            // Whoever is gone needs to know nothing.
            let _ = said.await;
        }
    }

    /// Listens to a call for whoever sent this request, as far as they want to hear it.
    pub(super) fn listen(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> (Option<Arc<dyn LogListener>>, Lines) {
        match self.least(context) {
            Some(least) => listen(least),
            None => (None, Lines(None)),
        }
    }

    /// The quietest that whoever sent this request wants to hear; `None`: nothing.
    fn least(&self, context: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        match is_new(context) {
            true => context.meta.log_level(),
            false => Some(self.least_of_connection()),
        }
    }

    fn least_of_connection(&self) -> LoggingLevel {
        let least = *self.least.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever said nothing hears of warnings.
        least.unwrap_or(LoggingLevel::Warning)
    }
}

fn listen(least: LoggingLevel) -> (Option<Arc<dyn LogListener>>, Lines) {
    let (lines, receiver) = queue::channel();
    (Some(Arc::new(Ear { least, lines })), Lines(Some(receiver)))
}

/// Who hears what all calls of one connection log, where what is heard is said at once. For clients of
/// the older era.
pub(super) struct Herald<S> {
    server: Server,
    say: S,
}

impl<S: Fn(LoggingMessageNotificationParam) + Send + Sync> Herald<S> {
    /// `say` must not block.
    pub(super) fn new(server: Server, say: S) -> Herald<S> {
        Herald { server, say }
    }
}

impl<S: Fn(LoggingMessageNotificationParam) + Send + Sync> LogListener for Herald<S> {
    fn hear(&self, line: LogLine) {
        if is_wanted(&line, self.server.log().least_of_connection()) && !self.server.is_behind() {
            (self.say)(notification(shortened(line)));
        }
    }
}

impl<S> fmt::Debug for Herald<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Herald").finish_non_exhaustive()
    }
}

impl Lines {
    /// The next line, as soon as there is one; waits for ever if none can come.
    pub(super) async fn next(&mut self) -> LogLine {
        if let Some(lines) = &mut self.0
            && let Some(line) = lines.recv().await
        {
            return line;
        }
        std::future::pending().await
    }

    /// The next line, if there is one.
    pub(super) fn waiting(&mut self) -> Option<LogLine> {
        self.0.as_mut()?.try_recv()
    }
}

impl LogListener for Ear {
    fn hear(&self, line: LogLine) {
        if is_wanted(&line, self.least) {
            // A tool is never held up by its log.
            self.lines.send_within(WAITING, shortened(line));
        }
    }
}

fn is_wanted(line: &LogLine, least: LoggingLevel) -> bool {
    level(line.level) as u8 >= least as u8
}

fn shortened(mut line: LogLine) -> LogLine {
    if line.message.len() > LONGEST {
        line.message
            .truncate(line.message.floor_char_boundary(LONGEST));
        line.message.push('…');
    }
    line.context
        .take_if(|context| context.get().len() > LONGEST);
    line
}

/// The host with that listener, if there is one.
pub(super) fn heard(host: &Host, listener: Option<Arc<dyn LogListener>>) -> Host {
    match listener {
        Some(listener) => host.with_log(listener),
        None => host.clone(),
    }
}

/// Sends a line to the caller, unless it reads too slowly.
pub(super) async fn tell(server: &Server, peer: &Peer<RoleServer>, line: LogLine) {
    if !server.is_behind() {
        let _ = peer.notify_logging_message(notification(line)).await;
    }
}

fn notification(line: LogLine) -> LoggingMessageNotificationParam {
    let message = clean(&line.message);
    let data = match line.context {
        Some(context) => json!({"message": message, "context": context}),
        None => Value::from(message),
    };
    LoggingMessageNotificationParam::new(level(line.level), data).with_logger(line.tool)
}

/// Says that there are log messages.
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
