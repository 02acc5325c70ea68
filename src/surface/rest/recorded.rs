//! The tests of recorded calls, to be looked at and to be saved.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::host::RunningCall;
use crate::tool_test::{Recorder, TestCase};
use haft_tool::{Error, Outcome};

/// Limit of the recorded calls whose tests are remembered.
const MAX_TESTS: usize = 20;

/// The thing that tokens of limited rights may not do.
pub(super) const RECORD: &str = "record their calls";

/// The tests of the calls that were recorded last.
#[derive(Default)]
pub(super) struct RecordedTests(Mutex<VecDeque<(String, Result<TestCase, String>)>>);

/// A call that is recorded, with the place for its test.
pub(super) struct Recording {
    pub(super) recorder: Recorder,
    pub(super) tests: Arc<RecordedTests>,
}

impl Recording {
    /// Keeps the test of the call, which has ended.
    pub(super) fn end(&self, call: &RunningCall, ended: &Result<Outcome, Error>) {
        let test = self.recorder.finish(ended.as_ref());
        let test = test.map_err(|error| error.message().to_owned());
        let mut tests = self.tests.0.lock();
        let id = &call.record().id;
        tests.retain(|(known, _)| known != id);
        tests.push_back((id.clone(), test));
        if tests.len() > MAX_TESTS {
            tests.pop_front();
        }
    }
}

impl RecordedTests {
    /// Returns the test of a call, or why it has none; `None` for a call that is not known.
    pub(super) fn of(&self, id: &str) -> Option<Result<TestCase, String>> {
        let tests = self.0.lock();
        let found = tests.iter().find(|(known, _)| known == id);
        found.map(|(_, test)| test.clone())
    }
}
