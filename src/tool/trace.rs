//! What is noted of a call while it runs, for the log of calls.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use url::Url;

use super::Tool;

/// More programs or hosts of one call are not kept.
const MAX_NAMES: usize = 100;

/// What one call does: noted by whoever sees it, read at its end.
#[derive(Debug, Default)]
pub(crate) struct CallTrace(Mutex<Traced>);

/// The notes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traced {
    /// The tool that runs, once it is known.
    pub(crate) tool: Option<Arc<Tool>>,
    /// The hash of the grant under which it runs.
    pub(crate) grant: Option<Arc<str>>,
    /// What was decided about its start, and by which rule.
    pub(crate) approval: Option<(&'static str, String)>,
    /// The programs that it started, by the names that it used.
    pub(crate) programs: BTreeSet<String>,
    /// The hosts that it connected to.
    pub(crate) hosts: BTreeSet<String>,
    /// There were more of either.
    pub(crate) has_more: bool,
}

impl CallTrace {
    /// It is a call of `tool`, which may run under `grant`.
    pub(crate) fn runs(&self, tool: &Arc<Tool>, grant: Option<Arc<str>>) {
        let mut traced = self.traced();
        traced.tool = Some(tool.clone());
        traced.grant = grant;
    }

    /// It may start, or not, because of `rule`.
    pub(crate) fn decided(&self, decision: &'static str, rule: String) {
        self.traced().approval = Some((decision, rule));
    }

    /// It starts a program.
    pub(crate) fn starts(&self, program: &str) {
        let mut traced = self.traced();
        match traced.programs.len() < MAX_NAMES {
            true => drop(traced.programs.insert(program.to_owned())),
            false => traced.has_more |= !traced.programs.contains(program),
        }
    }

    /// It connects to `target`: a host with its port, or a URL, of which nothing but that is kept. Paths and
    /// queries hold secrets.
    pub(crate) fn connects(&self, target: &str) {
        let host = match Url::parse(target) {
            Ok(url) if url.has_host() => host_of(&url),
            // `localhost:80` is a URL without a host, `127.0.0.1:80` none at all.
            _ => target.to_owned(),
        };
        let mut traced = self.traced();
        match traced.hosts.len() < MAX_NAMES {
            true => drop(traced.hosts.insert(host)),
            false => traced.has_more |= !traced.hosts.contains(&host),
        }
    }

    /// The notes so far.
    pub(crate) fn notes(&self) -> Traced {
        self.traced().clone()
    }

    /// No code that holds the lock can panic, so a poisoned one is still whole.
    fn traced(&self) -> MutexGuard<'_, Traced> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host of a URL, with its port.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
