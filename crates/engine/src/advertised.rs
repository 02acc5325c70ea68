//! The advertised description of a module, compared with its current one on a reload.
//!
//! A module loads more than once: after its isolate was lost, and at its first call if its
//! description came from the cache. Its file may have changed meanwhile. Arguments are checked
//! against the current schema, so a new text is not a reason to refuse a call. Two changes are:
//! another tool at the same place, and another approval than the user was asked for.

use std::sync::Mutex;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lock;

/// The description that was advertised, and the latest one if it differs.
pub(super) struct AdvertisedDescription {
    first: String,
    other: Mutex<Option<String>>,
}

impl AdvertisedDescription {
    pub(super) fn new(described: String) -> AdvertisedDescription {
        AdvertisedDescription {
            first: described,
            other: Mutex::default(),
        }
    }

    /// Stores the current description; false if it differs from the advertised one.
    pub(super) fn compare(&self, described: &str) -> bool {
        let is_same = described == self.first;
        let mut other = lock(&self.other);
        *other = (!is_same).then(|| described.to_owned());
        is_same
    }

    /// Returns true if the latest description is the advertised one.
    pub(super) fn is_true(&self) -> bool {
        let other = lock(&self.other);
        other.is_none()
    }

    /// Returns the reason for which the tool at `index` is not the advertised one, if it is not.
    pub(super) fn is_other(&self, index: u32) -> Option<String> {
        let other = lock(&self.other);
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

/// The compared part of a tool's description. The schema is not parsed: it may be nested more
/// deeply than most parsers accept.
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

/// Returns true if a module with this description listens for session events.
pub(super) fn listens(described: &str) -> bool {
    #[derive(Default, Deserialize)]
    struct Said {
        #[serde(default)]
        listens: bool,
    }
    let said: Said = serde_json::from_str(described).unwrap_or_default();
    said.listens
}
