//! What every isolate of an engine knows of the caller's session, whenever it starts.

use serde_json::value::RawValue;
use sys_traits::SystemRandom;
use sys_traits::impls::RealSys;

/// The parts of a session event that outlast it.
#[derive(Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Session {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entries: Option<Box<RawValue>>,
}

impl Session {
    /// Takes over what the JSON of an event says; one that cannot be read says nothing.
    pub(super) fn update(&mut self, event: &str) {
        if let Ok(Session { branch, entries }) = serde_json::from_str(event) {
            self.branch = branch.or(self.branch.take());
            self.entries = entries.or(self.entries.take());
        }
    }

    /// The JSON for an isolate that has just started; `None` if there is nothing to tell.
    pub(super) fn retold(&self) -> Option<String> {
        if self.branch.is_none() && self.entries.is_none() {
            return None;
        }
        serde_json::to_string(self).ok()
    }
}

/// A random UUID.
pub fn new_session_id() -> String {
    let mut bytes = [0; 16];
    // Without randomness the id is no secret; it need not be one.
    let _ = RealSys.sys_random(&mut bytes);
    let [.., version, _, variant, _, _, _, _, _, _, _] = &mut bytes;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    let number = u128::from_be_bytes(bytes);
    let hex = format!("{number:032x}");
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}
