//! Call log of one server: running calls and the last ended ones, by client and call id.
//!
//! Ended calls are limited in number, bytes and age for each client; the newest are kept. Running
//! calls are limited by the connections that wait for them. Only the client that made a call and
//! the user can see it. Each start and end is published to the listeners among these.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::call_dto::{CallState, CallView, Ended, Record};
use super::event_ring::Feeds;
use super::history::Recorded;
use crate::credentials::random_id;
use crate::surface::http::{Client, ProblemResponse};
use haft_tool::{Error, ErrorKind};
use haft_tool::{Outcome, Stopped};

/// Limit of the ended calls of a client that are kept.
const MAX_CALLS: usize = 1000;
/// Limit of the bytes of their results.
const MAX_BYTES: usize = 32 << 20;
/// Limit of a result's length. A longer result is dropped, but its call is kept.
const MAX_CALL_BYTES: usize = 4 << 20;
/// Limit of the age of an ended call.
const OLDEST: Duration = Duration::from_secs(3600);

/// Call log of one server.
pub(super) struct CallLog {
    calls: Mutex<Calls>,
    feeds: Arc<Feeds>,
}

#[derive(Default)]
struct Calls {
    running: HashMap<Key, Arc<Running>>,
    /// Ended calls by client, so that the calls of one client do not displace those of another.
    ended: HashMap<String, History>,
}

/// The ended calls of one client.
#[derive(Default)]
struct History {
    /// Sorted from oldest to newest.
    calls: VecDeque<Arc<Past>>,
    by_id: HashMap<String, Arc<Past>>,
    bytes: usize,
}

/// Client id and call id. Two clients may choose the same call id.
type Key = (String, String);

/// A running call.
pub(super) struct Running {
    pub(super) record: Record,
    cancel: CancellationToken,
    /// The newest update.
    partial: Mutex<Option<Box<RawValue>>>,
}

/// An ended call.
struct Past {
    record: Record,
    state: CallState,
    is_error: bool,
    stopped: Option<Stopped>,
    duration_ms: f64,
    /// The result or the error; `None` if it was too long.
    json: Option<Bytes>,
    at: Instant,
}

/// Data of the events about calls.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallNews<'a> {
    call_id: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<CallState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    started_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
}

impl CallLog {
    pub(super) fn new(feeds: Arc<Feeds>) -> CallLog {
        CallLog {
            calls: Mutex::default(),
            feeds,
        }
    }

    /// Logs the start of a call, under the caller's id or a generated one.
    pub(super) fn enter(
        &self,
        client: &Client,
        id: Option<String>,
        tool: &str,
        start: impl FnOnce(&str) -> CancellationToken,
    ) -> Result<Arc<Running>, ProblemResponse> {
        let mut calls = self.calls();
        let id = match id {
            Some(id) if calls.running.contains_key(&key(client.id(), &id)) => {
                let text = format!("a call with the id `{id}` is running");
                return Err(ProblemResponse::new(StatusCode::CONFLICT, text)
                    .hint("choose another callId, or leave it out"));
            }
            Some(id) => id,
            None => format!("call-{}", random_id()),
        };
        // The start time is taken before the call starts.
        let record = Record::new(client.id().to_owned(), id.clone(), tool.to_owned());
        let running = Arc::new(Running {
            record,
            cancel: start(&id),
            partial: Mutex::default(),
        });
        let record = &running.record;
        calls.running.insert(record.key(), Arc::clone(&running));
        drop(calls);
        self.feeds
            .publish_for(&record.owner, "call.started", &news(record));
        Ok(running)
    }

    /// Logs the end of a call and returns the response for its caller.
    ///
    /// # Errors
    /// The error for a call that could not be run.
    pub(super) fn end(
        &self,
        running: &Arc<Running>,
        ended: &Result<Outcome, Error>,
    ) -> Result<Bytes, ProblemResponse> {
        let (answer, is_error, stopped) = match ended {
            Ok(outcome) => (
                running.record.answer(outcome),
                outcome.is_error,
                outcome.stopped,
            ),
            Err(error) => {
                let stopped = match error.kind() {
                    ErrorKind::Stopped(why) => Some(why),
                    _ => None,
                };
                (Err(ProblemResponse::from(error)), true, stopped)
            }
        };
        let kept = match &answer {
            Ok(json) => Ended::Finished(json.clone()),
            Err(problem_response) => Ended::Failed(problem_response.json().into()),
        };
        self.leave(running, &kept, is_error, stopped);
        answer
    }

    /// Moves a call to the ended ones.
    fn leave(
        &self,
        running: &Arc<Running>,
        ended: &Ended,
        is_error: bool,
        stopped: Option<Stopped>,
    ) {
        let record = &running.record;
        let duration_ms = record.millis();
        let json = ended.json();
        let past = Arc::new(Past {
            record: Record {
                owner: record.owner.clone(),
                id: record.id.clone(),
                tool: record.tool.clone(),
                started: record.started,
                started_at: record.started_at.clone(),
            },
            state: ended.state(),
            is_error,
            stopped,
            duration_ms,
            json: (json.len() <= MAX_CALL_BYTES).then(|| json.clone()),
            at: Instant::now(),
        });
        let mut calls = self.calls();
        calls.running.remove(&record.key());
        calls.history(&record.owner).keep(past);
        calls.forget_old();
        drop(calls);
        self.feeds.publish_for(
            &record.owner,
            "call.ended",
            &CallNews {
                state: Some(ended.state()),
                is_error: Some(is_error),
                stopped,
                duration_ms: Some(duration_ms),
                ..news(record)
            },
        );
    }

    /// Passes a call to `tell`, if the client may see it.
    pub(super) fn show<T>(
        &self,
        client: &Client,
        id: &str,
        tell: impl FnOnce(&CallView<'_>) -> T,
    ) -> Option<T> {
        let mut calls = self.calls();
        if let Some(running) = calls.running(client, id) {
            drop(calls);
            let partial = running.partial();
            let record = &running.record;
            return Some(tell(&record.view(record.millis(), partial.as_deref())));
        }
        calls.forget_old();
        let past = calls.past(client, id);
        drop(calls);
        past.map(|past| tell(&past.view(true)))
    }

    /// Passes every call that the client may see to `tell`, without results. Running calls come
    /// first, then ended ones, newest first, then those that are only in the audit log.
    pub(super) fn show_all<T>(
        &self,
        client: &Client,
        history: &[Arc<Recorded>],
        tell: impl FnOnce(&[CallView<'_>]) -> T,
    ) -> T {
        let mut calls = self.calls();
        calls.forget_old();
        let running = calls.running.values();
        let running = running.filter(|one| client.may_see(&one.record.owner));
        let mut running: Vec<_> = running.cloned().collect();
        let ended = calls.ended.iter();
        let ended = ended.filter(|(owner, _)| client.may_see(owner));
        let ended = ended.flat_map(|(_, history)| history.calls.iter());
        let mut ended: Vec<_> = ended.cloned().collect();
        drop(calls);
        running.sort_by_key(|running| std::cmp::Reverse(running.record.started));
        ended.sort_by_key(|past| std::cmp::Reverse(past.at));
        let known: HashSet<&str> = (running.iter().map(|running| &running.record))
            .chain(ended.iter().map(|past| &past.record))
            .map(|record| record.id.as_str())
            .collect();
        let others = history.iter();
        let others = others.filter(|one| !one.is_ours || !known.contains(one.call.call.as_str()));
        let others = others.take(MAX_CALLS.saturating_sub(ended.len()));
        let others = others.map(|one| CallView::recorded(&one.call));
        let running = running.iter().map(|running| {
            let record = &running.record;
            record.view(record.millis(), None)
        });
        let views: Vec<_> = running
            .chain(ended.iter().map(|past| past.view(false)))
            .chain(others)
            .collect();
        tell(&views)
    }

    /// Requests a running call to stop, or deletes an ended one. Returns true if it was running,
    /// and `None` if the client may not see it.
    pub(super) fn cancel(&self, client: &Client, id: &str) -> Option<bool> {
        let mut calls = self.calls();
        if let Some(running) = calls.running(client, id) {
            running.cancel.cancel();
            return Some(true);
        }
        calls.forget_old();
        let past = calls.past(client, id)?;
        calls.history(&past.record.owner).remove(&past);
        Some(false)
    }

    /// Code that holds the lock cannot panic, so the data of a poisoned lock is still consistent.
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(owner: &str, id: &str) -> Key {
    (owner.to_owned(), id.to_owned())
}

impl Record {
    fn key(&self) -> Key {
        key(&self.owner, &self.id)
    }
}

impl Calls {
    /// Returns the running call with this id: the client's own, or for the user that of any client.
    fn running(&self, client: &Client, id: &str) -> Option<Arc<Running>> {
        if let Some(own) = self.running.get(&key(client.id(), id)) {
            return Some(Arc::clone(own));
        }
        let mut all = self.running.values();
        let other = all.find(|one| one.record.id == id && client.may_see(&one.record.owner));
        other.cloned()
    }

    /// Returns the ended call with this id, by the same rule.
    fn past(&self, client: &Client, id: &str) -> Option<Arc<Past>> {
        let own = self.ended.get(client.id());
        if let Some(own) = own.and_then(|history| history.by_id.get(id)) {
            return Some(Arc::clone(own));
        }
        let mut all = self.ended.iter().filter(|(owner, _)| client.may_see(owner));
        all.find_map(|(_, history)| history.by_id.get(id).cloned())
    }

    fn history(&mut self, owner: &str) -> &mut History {
        self.ended.entry(owner.to_owned()).or_default()
    }

    fn forget_old(&mut self) {
        self.ended.retain(|_, history| {
            history.forget_old();
            !history.calls.is_empty()
        });
    }
}

impl History {
    fn keep(&mut self, past: Arc<Past>) {
        self.bytes += past.size();
        // A client may reuse an id.
        if let Some(before) = self.by_id.insert(past.record.id.clone(), Arc::clone(&past)) {
            self.take(&before);
        }
        self.calls.push_back(past);
        while self.calls.len() > MAX_CALLS || self.bytes > MAX_BYTES {
            self.forget_oldest();
        }
    }

    fn remove(&mut self, past: &Arc<Past>) {
        self.by_id.remove(&past.record.id);
        self.take(past);
    }

    /// Removes a call that was already removed from `by_id`.
    fn take(&mut self, gone: &Arc<Past>) {
        self.calls.retain(|past| !Arc::ptr_eq(past, gone));
        self.bytes -= gone.size();
    }

    fn forget_old(&mut self) {
        while self
            .calls
            .front()
            .is_some_and(|past| past.at.elapsed() > OLDEST)
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(past) = self.calls.pop_front() {
            self.bytes -= past.size();
            self.by_id.remove(&past.record.id);
        }
    }
}

impl Running {
    /// Keeps the newest update.
    pub(super) fn update(&self, partial: &RawValue) {
        let mut newest = self.partial();
        // Large updates, such as an image every second, are not kept: readers only need to see the
        // progress.
        *newest = (partial.get().len() <= MAX_CALL_BYTES).then(|| partial.to_owned());
    }

    fn partial(&self) -> MutexGuard<'_, Option<Box<RawValue>>> {
        self.partial.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Past {
    fn size(&self) -> usize {
        self.json.as_ref().map_or(0, Bytes::len)
    }

    fn view(&self, is_whole: bool) -> CallView<'_> {
        let json = self.json.as_ref().filter(|_| is_whole);
        // haft wrote this JSON itself, so it is valid.
        let json = json.and_then(|json| serde_json::from_slice(json).ok());
        let view = self.record.view(self.duration_ms, None);
        let mut view = view.ended(self.state, json);
        view.is_error = Some(self.is_error);
        view.stopped = self.stopped;
        view
    }
}

fn news(record: &Record) -> CallNews<'_> {
    CallNews {
        call_id: &record.id,
        tool: &record.tool,
        state: None,
        is_error: None,
        stopped: None,
        started_at: &record.started_at,
        duration_ms: None,
    }
}
