//! The log of calls of a host, as readers of its tenant get it.

use std::collections::HashSet;

use serde_json::value::{RawValue, to_raw_value};

use crate::audit::{Event, Filter, FilterTexts, Line, LogFolder, Reader, Tail};
use crate::host::Host;
use haft_config::{ServeNats, ServedHistory};
use haft_nats::{HistoryEntry, HistoryFeed, HistoryPage, HistoryQuestion};

/// Surface of the calls that a host serves to others.
const SURFACE: &str = "nats";

/// Number of lines that are read for one page. The reader asks for the rest.
const MAX_LINES_READ: usize = 20_000;

/// Length in bytes beyond which the text of the arguments is left out of a line.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Place of a host among others.
#[derive(Clone)]
pub(crate) struct NatsPlace {
    /// Its name, which others see.
    pub(crate) name: String,
    /// The tenant that it serves.
    pub(crate) tenant: String,
    /// Addresses of the servers without secrets.
    pub(crate) address: String,
    /// Calls of its log that others may read.
    pub(crate) history: ServedHistory,
}

/// The part of the log of calls that readers of the tenant get.
#[derive(Clone)]
pub(super) struct SharedLog {
    /// Folder of the log; `None` if nothing is recorded.
    folder: Option<LogFolder>,
    place: NatsPlace,
}

impl NatsPlace {
    /// Returns the place of a host with that name.
    pub(crate) fn of(settings: &ServeNats, name: &str) -> NatsPlace {
        let address = settings.url.as_ref().map(ToString::to_string);
        NatsPlace {
            name: name.to_owned(),
            tenant: settings.tenant.clone(),
            address: address.unwrap_or_default(),
            history: settings.history,
        }
    }
}

impl SharedLog {
    pub(super) fn of(host: &Host, place: &NatsPlace) -> SharedLog {
        SharedLog {
            folder: host.audit_log().map(|_| LogFolder::of(host.config())),
            place: place.clone(),
        }
    }

    /// Returns the folder, if anything is shared.
    fn folder(&self) -> Result<&LogFolder, &'static str> {
        if self.place.history == ServedHistory::None {
            return Err("it does not share its log (`serve.nats.history`)");
        }
        self.folder.as_ref().ok_or("it keeps no log of calls")
    }

    /// Returns the page that a reader asks for.
    pub(super) fn page(&self, question: &HistoryQuestion) -> HistoryPage {
        self.read(question).unwrap_or_else(|why| HistoryPage {
            problem: Some(why),
            ..HistoryPage::default()
        })
    }

    fn read(&self, question: &HistoryQuestion) -> Result<HistoryPage, String> {
        let filter = filter_of(question)?;
        let folder = self.folder()?;
        let (mut page, mut ended) = (HistoryPage::default(), HashSet::new());
        let (mut read, mut last) = (0, None);
        let reader = Reader::of(folder).before(question.before.unwrap_or(u64::MAX));
        let reading = reader.newest_first(|text, line| {
            if filter.is_past(&line) {
                return false;
            }
            if read >= MAX_LINES_READ || page.entries.len() >= question.limit {
                // There is more than what was read.
                page.next = last;
                return false;
            }
            read += 1;
            last = Some(line.n);
            if self.is_shared(&line) && filter.takes(&line, &self.place.name, &mut ended) {
                page.entries.push(entry(text, line));
            }
            true
        });
        reading.map_err(|error| format!("its log cannot be read: {error}"))?;
        Ok(page)
    }

    /// Follows what is added from now on.
    pub(super) fn feed(&self) -> Option<HistoryFeed> {
        let folder = self.folder().ok()?.clone();
        let mut newest = 0;
        let reading = Reader::of(&folder).newest_first(|_, line| {
            newest = line.n;
            false
        });
        reading.ok()?;
        let mut tail = Tail::after(&folder, newest);
        let log = self.clone();
        Some(Box::new(move || {
            let lines = tail.new_lines().unwrap_or_default();
            let shared = lines.into_iter().filter(|(_, line)| log.is_shared(line));
            shared.map(|(text, line)| entry(&text, line)).collect()
        }))
    }

    /// Returns true if readers of the tenant get the line.
    fn is_shared(&self, line: &Line) -> bool {
        let Some(call) = line.event.call() else {
            return false;
        };
        match self.place.history {
            ServedHistory::None => false,
            ServedHistory::All => true,
            // Another server may have a tenant of the same name.
            ServedHistory::Tenant => {
                call.caller.surface == SURFACE
                    && call.tenant.as_ref() == Some(&self.place.tenant)
                    && call.caller.address.as_ref() == Some(&self.place.address)
            }
        }
    }
}

fn filter_of(question: &HistoryQuestion) -> Result<Filter, String> {
    let texts = FilterTexts {
        tool: question.tool.as_deref(),
        host: question.host.as_deref(),
        since: question.since.as_deref(),
        trace: question.trace.as_deref(),
        ended: question.outcome.as_deref(),
        call: question.call.as_deref(),
    };
    texts.read().map_err(|error| error.message().to_owned())
}

/// Returns a line as readers get it: as it is, or without the text of the arguments if it is too long.
fn entry(text: &str, mut line: Line) -> HistoryEntry {
    let is_running =
        matches!(line.event, Event::CallStarted(_)) && crate::audit::is_process_running(line.pid);
    let n = line.n;
    if text.len() > MAX_LINE_BYTES
        && let Event::Call(call) | Event::CallStarted(call) = &mut line.event
        && let Some(arguments) = &mut call.arguments
    {
        arguments.text = None;
        if let Ok(line) = to_raw_value(&line) {
            return HistoryEntry {
                n,
                is_running,
                line,
            };
        }
    }
    // The text has been parsed as JSON before.
    let line = RawValue::from_string(text.to_owned()).unwrap_or_default();
    HistoryEntry {
        n,
        is_running,
        line,
    }
}
