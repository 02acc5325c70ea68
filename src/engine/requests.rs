//! The requests of one isolate that have no answer yet.
//!
//! Both the isolate's thread and whoever gives up on that thread can answer, so a thread that is
//! stuck in native code keeps nobody waiting. The hard thing is to tell apart what the tool has
//! seen from what it has not: only the latter may be sent to another isolate.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::isolate::{Answer, Lost};
use crate::tool::Updates;

/// Where the answers to a request go.
pub(super) struct Slot {
    pub(super) updates: Option<Updates>,
    pub(super) answer: oneshot::Sender<Answer>,
    /// JavaScript has seen it.
    is_taken: bool,
}

/// Why an isolate must end now.
#[derive(Clone, Debug)]
pub(super) struct Doom {
    pub(super) why: String,
    /// What runs in the isolate has eaten its memory, so whoever runs alone is the culprit.
    pub(super) is_out_of_memory: bool,
}

#[derive(Default)]
pub(super) struct Requests(Mutex<Table>);

#[derive(Default)]
struct Table {
    slots: HashMap<u32, Slot>,
    is_closed: bool,
}

impl Slot {
    pub(super) fn new(updates: Option<Updates>, answer: oneshot::Sender<Answer>) -> Self {
        Slot {
            updates,
            answer,
            is_taken: false,
        }
    }
}

impl Requests {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing in this file can panic halfway through a change.
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Registers a request before the isolate hears of it.
    pub(super) fn expect(&self, id: u32, slot: Slot) {
        let mut table = self.table();
        if table.is_closed {
            drop(table);
            // Whoever asks may have stopped waiting.
            let _ = slot.answer.send(Answer::NotStarted);
        } else {
            table.slots.insert(id, slot);
        }
    }

    /// Notes that JavaScript is about to see the request; false if nobody wants it any more.
    pub(super) fn take(&self, id: u32) -> bool {
        let mut table = self.table();
        let slot = table.slots.get_mut(&id);
        slot.map(|slot| slot.is_taken = true).is_some()
    }

    /// Where the updates of a request go.
    pub(super) fn updates(&self, id: u32) -> Option<Updates> {
        self.table().slots.get(&id)?.updates.clone()
    }

    /// Answers a request; forgotten ones and those answered before are let go.
    pub(super) fn answer(&self, id: u32, answer: Answer) {
        let slot = self.table().slots.remove(&id);
        if let Some(slot) = slot {
            let _ = slot.answer.send(answer);
        }
    }

    /// Forgets a request whose caller has gone.
    pub(super) fn forget(&self, id: u32) {
        self.table().slots.remove(&id);
    }

    /// True when nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        self.table().slots.is_empty()
    }

    /// True when requests wait although none of them runs: what keeps the thread busy is left over
    /// from a call that has ended.
    pub(super) fn is_blocked_by_nobody(&self) -> bool {
        let table = self.table();
        !table.slots.is_empty() && table.slots.values().all(|slot| !slot.is_taken)
    }

    /// Answers everyone who still waits, now and later: the isolate is no more.
    pub(super) fn close(&self, doom: &Doom) {
        let mut table = self.table();
        table.is_closed = true;
        let slots = std::mem::take(&mut table.slots);
        drop(table);
        let running = slots.values().filter(|slot| slot.is_taken).count();
        for slot in slots.into_values() {
            let why = || Lost(doom.why.clone());
            let answer = match slot.is_taken {
                false => Answer::NotStarted,
                true if doom.is_out_of_memory && running == 1 => Answer::RanAway(why()),
                true => Answer::Lost(why()),
            };
            let _ = slot.answer.send(answer);
        }
    }
}
