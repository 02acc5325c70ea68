//! V8's platform: foreground tasks run on the thread of the isolate that they belong to.
//!
//! V8 posts a task for work that it finishes outside of JavaScript. Examples are asynchronous
//! WebAssembly, the timeout of `Atomics.waitAsync`, callbacks of a `FinalizationRegistry`, and
//! steps of the garbage collector. It does so from any thread. The task waits in the isolate's
//! queue until the event loop runs it.
//!
//! deno_core has a platform of this kind. It demands that isolates are created only on descendants
//! of the thread that initialised V8. An embedding program creates haft's isolates on any thread.

#![expect(
    unsafe_code,
    reason = "V8's platform identifies isolates by their address"
)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::ThreadId;
use std::time::Duration;

use deno_core::{JsRuntime, v8};
use futures::task::AtomicWaker;
use tokio::runtime::Handle;
use tokio::time::Sleep;

use super::lock;

/// V8's own limit on its worker threads.
const MAX_WORKER_THREADS: usize = 16;

/// Threads on which V8 compiles and collects garbage.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    /// The isolate's own thread only, so that the process can be forked.
    One,
    Several,
}

/// Returns the platform for all isolates of the process.
pub(super) fn new(threads: Threads) -> v8::SharedRef<v8::Platform> {
    if threads == Threads::One {
        HAS_OWN_QUEUE.store(true, Ordering::Relaxed);
        return v8::new_single_threaded_default_platform(false).make_shared();
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = cores.saturating_sub(1).clamp(1, MAX_WORKER_THREADS);
    let threads = u32::try_from(threads).unwrap_or(1);
    // Unprotected: memory protection keys would tie isolates to the descendants of this thread.
    v8::new_custom_platform(threads, false, true, Platform).make_shared()
}

/// True if the platform is V8's own for one thread. It keeps the tasks until they are fetched, and
/// reports neither new ones nor the end of a delay.
static HAS_OWN_QUEUE: AtomicBool = AtomicBool::new(false);

/// Interval in which tasks are fetched from V8's own platform while a request is open.
const FETCH_INTERVAL: Duration = Duration::from_millis(10);

/// The queues of all isolates that have one, by the address of the isolate.
static QUEUES: LazyLock<Mutex<HashMap<usize, Arc<Queue>>>> = LazyLock::new(Mutex::default);

/// The tasks of one isolate.
struct Queue {
    tasks: Mutex<Vec<v8::Task>>,
    waker: AtomicWaker,
    /// Runtime on which delayed tasks wait.
    timers: Handle,
}

impl Queue {
    fn push(&self, task: v8::Task) {
        lock(&self.tasks).push(task);
        self.waker.wake();
    }
}

struct Platform;

impl Platform {
    fn post(isolate: *mut c_void, task: v8::Task, delay: f64) {
        let queue = lock(&QUEUES).get(&(isolate as usize)).cloned();
        // An isolate without a queue (an expression's) has no event loop, and nothing to wait for.
        let Some(queue) = queue else { return };
        if delay <= 0.0 {
            return queue.push(task);
        }
        let delay = Duration::try_from_secs_f64(delay).unwrap_or(Duration::MAX);
        let timers = queue.timers.clone();
        timers.spawn(async move {
            tokio::time::sleep(delay).await;
            queue.push(task);
        });
    }
}

impl v8::PlatformImpl for Platform {
    fn post_task(&self, isolate: *mut c_void, task: v8::Task) {
        Self::post(isolate, task, 0.0);
    }

    fn post_non_nestable_task(&self, isolate: *mut c_void, task: v8::Task) {
        Self::post(isolate, task, 0.0);
    }

    fn post_delayed_task(&self, isolate: *mut c_void, task: v8::Task, delay: f64) {
        Self::post(isolate, task, delay);
    }

    fn post_non_nestable_delayed_task(&self, isolate: *mut c_void, task: v8::Task, delay: f64) {
        Self::post(isolate, task, delay);
    }

    fn post_idle_task(&self, _isolate: *mut c_void, _task: v8::IdleTask) {
        // Never posted: the platform is created without support for idle tasks.
    }
}

/// The queue of the isolate on this thread. Must be dropped before the isolate.
pub(super) struct ForegroundTasks {
    isolate: usize,
    queue: Arc<Queue>,
    /// Timer for the next check of background work.
    next_look: RefCell<Option<Pin<Box<Sleep>>>>,
    /// Timer for the next tasks of V8's own platform.
    next_fetch: RefCell<Option<Pin<Box<Sleep>>>>,
}

impl ForegroundTasks {
    /// Begins to take the tasks of `isolate`. Called on its thread, within a tokio runtime.
    pub(super) fn of(isolate: &mut v8::Isolate) -> ForegroundTasks {
        // SAFETY: the pointer is only a key; it is never dereferenced.
        let isolate = unsafe { isolate.as_raw_isolate_ptr() };
        // SAFETY: the type is a transparent wrapper of a pointer, which it does not show.
        let isolate = unsafe { std::mem::transmute::<v8::UnsafeRawIsolatePtr, usize>(isolate) };
        let queue = Arc::new(Queue {
            tasks: Mutex::default(),
            waker: AtomicWaker::new(),
            timers: Handle::current(),
        });
        lock(&QUEUES).insert(isolate, queue.clone());
        ForegroundTasks {
            isolate,
            queue,
            next_look: RefCell::default(),
            next_fetch: RefCell::default(),
        }
    }

    /// Runs the tasks that are due; `cx` is woken when there are more. With V8's own platform, only
    /// if `is_busy`.
    pub(super) fn run(&self, cx: &mut Context<'_>, runtime: &mut JsRuntime, is_busy: bool) {
        if HAS_OWN_QUEUE.load(Ordering::Relaxed) {
            return self.fetch(cx, runtime, is_busy);
        }
        self.queue.waker.register(cx.waker());
        let tasks = std::mem::take(&mut *lock(&self.queue.tasks));
        if tasks.is_empty() {
            return;
        }
        deno_core::scope!(_scope, runtime);
        for task in tasks {
            task.run();
        }
    }

    /// Runs the tasks in the queue of V8's own platform.
    fn fetch(&self, cx: &mut Context<'_>, runtime: &mut JsRuntime, is_busy: bool) {
        let platform = v8::V8::get_current_platform();
        deno_core::scope!(scope, runtime);
        while v8::Platform::pump_message_loop(&platform, scope, false) {}
        if !is_busy {
            self.next_fetch.take();
            return;
        }
        let mut next = self.next_fetch.borrow_mut();
        let sleep = next.get_or_insert_with(|| Box::pin(tokio::time::sleep(FETCH_INTERVAL)));
        if sleep.as_mut().poll(cx).is_ready() {
            sleep
                .as_mut()
                .reset(tokio::time::Instant::now() + FETCH_INTERVAL);
            cx.waker().wake_by_ref();
        }
    }

    /// Polls the event loop with `poll`. While V8 compiles on other threads, deno_core's event loop
    /// wakes itself without a pause; here such a wake-up comes a little later.
    pub(super) fn poll_calmly<T>(
        &self,
        cx: &mut Context<'_>,
        runtime: &mut JsRuntime,
        poll: impl FnOnce(&mut JsRuntime, &mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if !runtime.v8_isolate().has_pending_background_tasks() {
            self.next_look.take();
            return poll(runtime, cx);
        }
        let calm = Arc::new(CalmWaker {
            waker: cx.waker().clone(),
            thread: std::thread::current().id(),
            is_polling: AtomicBool::new(true),
            was_woken: AtomicBool::new(false),
        });
        let waker = Waker::from(calm.clone());
        let polled = poll(runtime, &mut Context::from_waker(&waker));
        calm.is_polling.store(false, Ordering::Relaxed);
        if calm.was_woken.load(Ordering::Relaxed) {
            let mut sleep = Box::pin(tokio::time::sleep(BACKGROUND_POLL_INTERVAL));
            if sleep.as_mut().poll(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
            self.next_look.replace(Some(sleep));
        }
        polled
    }
}

impl Drop for ForegroundTasks {
    fn drop(&mut self) {
        lock(&QUEUES).remove(&self.isolate);
        // A task may refer to its isolate while it is dropped.
        lock(&self.queue.tasks).clear();
    }
}

/// Interval of the event loop while V8 compiles on other threads. The end of the compilation is a
/// task, which wakes the loop at once.
const BACKGROUND_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Notes the wake-ups that a poll makes on its own thread, and passes on all others.
struct CalmWaker {
    waker: Waker,
    thread: ThreadId,
    is_polling: AtomicBool,
    was_woken: AtomicBool,
}

impl Wake for CalmWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let is_own =
            self.is_polling.load(Ordering::Relaxed) && std::thread::current().id() == self.thread;
        if is_own {
            self.was_woken.store(true, Ordering::Relaxed);
        } else {
            self.waker.wake_by_ref();
        }
    }
}
