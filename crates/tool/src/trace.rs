//! Record of a call's actions while it runs, for the log of calls.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use url::Url;

use super::{Tool, ToolBounds};

/// Limit for the programs, and for the hosts, that are recorded of one call.
const MAX_NAMES: usize = 100;

/// Recorder of one call. All code that observes the call writes to it; it is read at the call's
/// end.
#[derive(Default)]
pub struct CallTrace {
    notes: Mutex<Traced>,
    /// Called when another host runs the call, or another one than before.
    moved: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// Recorded actions of a call.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// The tool that is called, once it is known.
    pub tool: Option<Arc<Tool>>,
    /// The hash of the grant under which the tool runs.
    pub grant: Option<Arc<str>>,
    /// The rights of the tool and their enforcement, where they are its own.
    pub bounds: Option<Arc<ToolBounds>>,
    /// The decision about the call's start, and the rule that decided.
    pub approval: Option<(&'static str, String)>,
    /// The programs that the call started, under the names that it used.
    pub programs: BTreeSet<String>,
    /// The hosts that the call connected to.
    pub hosts: BTreeSet<String>,
    /// The name of the host that ran the call, if that was another one.
    pub ran_on: Option<String>,
    /// The queue that the call was put into.
    pub queue: Option<String>,
    /// Id of the call's trace, if it has none by its caller.
    pub trace_id: Option<String>,
    /// Set if programs or hosts were left out because of the limit.
    pub has_more: bool,
}

impl std::fmt::Debug for CallTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.notes.fmt(f)
    }
}

impl CallTrace {
    /// Records the called tool, the grant under which it runs, and its rights.
    pub fn runs(&self, tool: &Arc<Tool>, grant: Option<Arc<str>>, bounds: Option<Arc<ToolBounds>>) {
        let mut traced = self.notes.lock();
        traced.tool = Some(tool.clone());
        traced.grant = grant;
        traced.bounds = bounds;
    }

    /// Records the decision about the call's start, and the rule that decided.
    pub fn decided(&self, decision: &'static str, rule: String) {
        self.notes.lock().approval = Some((decision, rule));
    }

    /// Records the start of a program.
    pub fn starts(&self, program: &str) {
        let mut traced = self.notes.lock();
        if traced.programs.len() < MAX_NAMES {
            traced.programs.insert(program.to_owned());
        } else {
            traced.has_more |= !traced.programs.contains(program);
        }
    }

    /// Records a connection to `target`, which is a host with its port, or a URL. Only the host and
    /// the port of a URL are kept, because paths and queries contain secrets.
    pub fn connects(&self, target: &str) {
        let host = match Url::parse(target) {
            Ok(url) if url.has_host() => host_of(&url),
            // `localhost:80` parses as a URL without a host, and `127.0.0.1:80` is not a URL.
            _ => target.to_owned(),
        };
        let mut traced = self.notes.lock();
        if traced.hosts.len() < MAX_NAMES {
            traced.hosts.insert(host);
        } else {
            traced.has_more |= !traced.hosts.contains(&host);
        }
    }

    /// Records the name of another host that runs the call.
    pub fn ran_on(&self, host: &str) {
        let before = self.notes.lock().ran_on.replace(host.to_owned());
        if before.as_deref() != Some(host)
            && let Some(moved) = self.moved.get()
        {
            moved();
        }
    }

    /// Calls `moved` whenever another host runs the call. There is one such function at most.
    pub fn when_moved(&self, moved: impl Fn() + Send + Sync + 'static) {
        // The log of calls is the only one that sets it.
        let _ = self.moved.set(Box::new(moved));
    }

    /// Records the queue that the call was put into.
    pub fn put_into(&self, queue: &str) {
        self.notes.lock().queue = Some(queue.to_owned());
    }

    /// Returns the id of the call's trace; records the one that `new` makes if there is none.
    pub fn trace_id_or(&self, new: impl FnOnce() -> String) -> String {
        let mut traced = self.notes.lock();
        traced.trace_id.get_or_insert_with(new).clone()
    }

    /// Returns a copy of the record so far.
    pub fn notes(&self) -> Traced {
        self.read(Traced::clone)
    }

    /// Returns what `look` takes from the record so far.
    pub fn read<T>(&self, look: impl FnOnce(&Traced) -> T) -> T {
        look(&self.notes.lock())
    }
}

/// Returns the host of a URL, with its port.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
