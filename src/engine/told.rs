//! What callers were told about a module, held against what it says when it loads again.
//!
//! A module loads more than once: after its isolate was lost, and at its first call when its
//! description was remembered. Its file may have changed meanwhile. Arguments are checked against
//! the schema that it has then, so a new text is no reason to refuse; another tool at the same place,
//! or one that may do more harm than the user was asked about, is.

use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;

/// The description that a module was announced with, and the last one if it is another.
pub(super) struct Told {
    first: String,
    other: Mutex<Option<String>>,
}

impl Told {
    pub(super) fn new(described: String) -> Told {
        Told {
            first: described,
            other: Mutex::default(),
        }
    }

    /// Takes what the module says now; false if it is something else.
    pub(super) fn compare(&self, described: &str) -> bool {
        let is_same = described == self.first;
        let mut other = self.other.lock().unwrap_or_else(PoisonError::into_inner);
        *other = (!is_same).then(|| described.to_owned());
        is_same
    }

    /// False if the module said something else when it was loaded last.
    pub(super) fn is_true(&self) -> bool {
        let other = self.other.lock().unwrap_or_else(PoisonError::into_inner);
        other.is_none()
    }

    /// Why the tool at `index` is not the one that callers know, if it is not.
    pub(super) fn is_other(&self, index: u32) -> Option<String> {
        let other = self.other.lock().unwrap_or_else(PoisonError::into_inner);
        let now = tool_at(other.as_deref()?, index);
        let then = tool_at(&self.first, index);
        let name = &then.name;
        if *name != now.name {
            return Some(format!(
                "its file has no tool `{name}` in this place any more"
            ));
        }
        (then.approval() != now.approval()).then(|| {
            format!("what its file says about the approval of `{name}` is not what it said")
        })
    }
}

/// What is compared of a tool. Its schema is not read: it may be nested more deeply than most parsers take.
#[derive(Default, Deserialize)]
struct Compared<'a> {
    index: u32,
    #[serde(default)]
    name: String,
    #[serde(borrow, default)]
    approval: Option<&'a RawValue>,
    /// A refused element has an `index` as well, that of its place in the author's list.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl Compared<'_> {
    fn approval(&self) -> Option<&str> {
        self.approval.map(RawValue::get)
    }
}

fn tool_at(described: &str, index: u32) -> Compared<'_> {
    #[derive(Default, Deserialize)]
    struct Described<'a> {
        #[serde(borrow)]
        tools: Vec<Compared<'a>>,
    }
    let described: Described<'_> = serde_json::from_str(described).unwrap_or_default();
    let mut tools = described.tools.into_iter();
    tools
        .find(|tool| tool.index == index && tool.error.is_none())
        .unwrap_or_default()
}

/// Whether a module that says this wants to hear of session events.
pub(super) fn listens(described: &str) -> bool {
    #[derive(Default, Deserialize)]
    struct Said {
        #[serde(default)]
        listens: bool,
    }
    let said: Said = serde_json::from_str(described).unwrap_or_default();
    said.listens
}
