//! State of the isolate of a worker process, which its event loop and the control thread share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use deno_core::v8;

use super::host_sender::HostSender;
use super::protocol::FromWorker;
use super::received_requests::ReceivedRequests;
use super::worker_report::WorkerReport;
use crate::inspector::Sessions;
use crate::messages::Termination;
use crate::render_guard::RenderGuard;
use crate::{EngineOptions, IsolateKey};

/// The state of this process, for native code that calls back without a pointer.
static STATE: OnceLock<Arc<WorkerState>> = OnceLock::new();

/// Callback of V8 before it ends the process for lack of memory: Deno's own code requests buffers
/// without handling a refusal (`new ImageData(20000, 20000)`).
#[expect(unsafe_code, reason = "V8 calls it, with pointers")]
pub(crate) unsafe extern "C" fn out_of_memory(
    _place: *const std::ffi::c_char,
    _details: &v8::OomDetails,
) {
    if let Some(state) = STATE.get() {
        state.terminate(&Termination::out_of_memory(
            "it ran out of memory".to_owned(),
        ));
    }
}

/// State of the isolate of a worker process.
pub(crate) struct WorkerState {
    pub(crate) requests: ReceivedRequests,
    /// The render request that JavaScript runs.
    pub(crate) render_guard: RenderGuard,
    /// The key of the modules in this isolate.
    pub(crate) key: IsolateKey,
    /// The sessions of debuggers; `None` if there can be none.
    pub(crate) sessions: Option<Sessions>,
    host: Arc<HostSender>,
    is_ending: AtomicBool,
    /// Handles that exist once the isolate is ready.
    running: OnceLock<RunningIsolate>,
}

struct RunningIsolate {
    v8: v8::IsolateHandle,
    thread_id: i32,
}

impl WorkerState {
    pub(crate) fn new(
        options: &EngineOptions,
        key: &IsolateKey,
        host: Arc<HostSender>,
        report: WorkerReport,
    ) -> Arc<WorkerState> {
        let state = WorkerState {
            requests: ReceivedRequests::new(host.clone(), report),
            render_guard: RenderGuard::default(),
            key: key.clone(),
            sessions: options.debugging.is_inspected.then(Sessions::default),
            host,
            is_ending: AtomicBool::new(false),
            running: OnceLock::new(),
        };
        STATE.get_or_init(|| Arc::new(state)).clone()
    }

    /// Returns true if the isolate must end. It is set before V8 is terminated, so that the
    /// termination is not taken for an error of a tool.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Stores the handles of the isolate, which is ready.
    pub(crate) fn is_ready(&self, v8: v8::IsolateHandle, thread_id: i32) {
        // The event loop calls this only once.
        let _ = self.running.set(RunningIsolate { v8, thread_id });
    }

    /// Returns the id of the isolate's thread; 0 before the isolate is ready.
    pub(crate) fn thread_id(&self) -> i32 {
        self.running.get().map_or(0, |running| running.thread_id)
    }

    /// Ends the isolate, whatever it is doing, and reports the reason. Everything that runs in it is
    /// lost. Only the first reason counts.
    pub(crate) fn terminate(&self, termination: &Termination) {
        // haft's process kills this one, if it does not end by itself.
        if self.is_ending.swap(true, Ordering::AcqRel) {
            return;
        }
        self.host.send(&FromWorker::Ending {
            why: termination.why.clone(),
            is_out_of_memory: termination.is_out_of_memory,
        });
        if let Some(running) = self.running.get() {
            running.v8.terminate_execution();
        }
        // JavaScript that is paused must go on to notice it.
        if let Some(sessions) = &self.sessions {
            sessions.release();
        }
    }

    /// Interrupts the request `id` if JavaScript renders it right now; everything else goes on.
    pub(crate) fn interrupt_render(&self, id: u32) {
        if let Some(running) = self.running.get() {
            self.render_guard.interrupt(id, &running.v8);
        }
    }
}
