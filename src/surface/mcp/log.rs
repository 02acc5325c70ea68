//! What haft has to say to its clients besides answers: which tools it cannot offer them.
#![allow(
    deprecated,
    reason = "the newer era is giving logging up; clients of the older one want it"
)]

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::model::{JsonObject, LoggingLevel, LoggingMessageNotificationParam, ServerCapabilities};
use rmcp::service::RequestContext;

use super::call::is_new;
use super::offer::Offer;

/// What one connection wants to hear.
#[derive(Default)]
pub(super) struct Log {
    least: Mutex<Option<LoggingLevel>>,
    is_told: AtomicBool,
}

impl Log {
    /// Nothing below this level is said from now on.
    pub(super) fn set_least(&self, level: LoggingLevel) {
        *self.least.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// Names what is left out of a list, once for each connection that wants to hear it.
    pub(super) async fn tell_left_out(&self, offer: &Offer, context: &RequestContext<RoleServer>) {
        let least = match is_new(context) {
            true => context.meta.log_level(),
            false => {
                let least = *self.least.lock().unwrap_or_else(PoisonError::into_inner);
                // Whoever said nothing hears of warnings.
                least.or(Some(LoggingLevel::Warning))
            }
        };
        let wants = least.is_some_and(|least| least as u8 <= LoggingLevel::Warning as u8);
        if !wants || offer.left_out.is_empty() || self.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        for text in &offer.left_out {
            let data = text.as_str().into();
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Warning, data);
            // Whoever is gone needs to know nothing.
            let _ = context
                .peer
                .notify_logging_message(message.with_logger("haft"))
                .await;
        }
    }
}

/// Says that there are log messages.
pub(super) fn declare(capabilities: &mut ServerCapabilities) {
    capabilities.logging = Some(JsonObject::new());
}
