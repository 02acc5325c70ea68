//! Registry of threads that outlive their isolates: native code computes on them, and V8 cannot
//! stop that (`crypto.generatePrimeSync`, `pbkdf2Sync`).
//!
//! Such a thread gets the lowest priority, and counts until it ends. A trust domain with too many
//! of them gets no new isolate.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard};

use rustix::process::{Pid, setpriority_process};

use super::IsolateKey;
use super::lock;
use haft_tool::TrustDomain;

/// Limit of the stuck threads of one trust domain; beyond it no other isolate starts.
const MAX_STUCK_THREADS: usize = 4;

/// The lowest priority of the system.
const LOWEST_PRIORITY: i32 = 19;

/// Trust domains of stuck threads by thread id.
static STUCK: LazyLock<Mutex<HashMap<i32, TrustDomain>>> = LazyLock::new(Mutex::default);

/// Notes that the thread computes on although its isolate is gone.
pub(super) fn add(thread_id: i32, key: &IsolateKey) {
    // Linux takes the id of a thread here, and means that thread alone.
    if let Some(thread) = Pid::from_raw(thread_id)
        && let Err(error) = setpriority_process(Some(thread), LOWEST_PRIORITY)
    {
        tracing::debug!(%error, "a thread that cannot be stopped keeps its priority");
    }
    tracing::warn!(
        domain = key.domain.label().unwrap_or("user"),
        "native code of a tool that was killed still computes; its thread has the lowest priority"
    );
    stuck().insert(thread_id, key.domain);
}

/// Notes that the thread has ended.
pub(super) fn remove(thread_id: i32) {
    stuck().remove(&thread_id);
}

/// Returns the number of threads in the process that still compute.
pub(super) fn count() -> usize {
    stuck().len()
}

/// Returns the reason for which the domain gets no new isolate now, if there is one.
pub(super) fn refusal(domain: TrustDomain) -> Option<String> {
    let count = stuck().values().filter(|one| **one == domain).count();
    (count >= MAX_STUCK_THREADS).then(|| {
        format!(
            "{count} threads of tools that were killed still compute in native code; \
             wait until they end, or start haft again"
        )
    })
}

fn stuck() -> MutexGuard<'static, HashMap<i32, TrustDomain>> {
    lock(&STUCK)
}
