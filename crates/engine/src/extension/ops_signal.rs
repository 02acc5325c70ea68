//! Signals belong to the host: a tool can neither catch the host's signals nor send it one.
//!
//! A listener is accepted but never receives a signal, because libraries listen for `SIGINT` as
//! soon as they are imported. A listener of Deno's would swallow the user's Ctrl-C.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use deno_core::op2;
use deno_core::{CancelFuture, CancelHandle, OpState, Resource, ResourceId};
use deno_error::JsErrorBox;
use deno_runtime::deno_permissions::PermissionsContainer;

use super::host::host_of;

/// Resource of a listener. It never delivers a signal.
#[derive(Default)]
struct Silence(Rc<CancelHandle>);

impl Resource for Silence {
    fn name(&self) -> Cow<'_, str> {
        "signal".into()
    }

    fn close(self: Rc<Self>) {
        self.0.cancel();
    }
}

/// Replaces `op_signal_bind`.
#[op2(fast)]
#[smi]
pub fn op_haft_signal_bind(state: &mut OpState) -> ResourceId {
    state.resource_table.add(Silence::default())
}

/// Replaces `op_signal_poll`: waits until the listener is removed.
#[op2]
pub async fn op_haft_signal_poll(
    state: Rc<RefCell<OpState>>,
    #[smi] rid: ResourceId,
) -> Result<bool, JsErrorBox> {
    let silence = state
        .borrow()
        .resource_table
        .get::<Silence>(rid)
        .map_err(JsErrorBox::from_err)?;
    let handle = silence.0.clone();
    drop(silence);
    let _ = std::future::pending::<()>().or_cancel(handle).await;
    Ok(true)
}

/// Replaces `op_signal_unbind`.
#[op2(fast)]
pub fn op_haft_signal_unbind(
    state: &mut OpState,
    #[smi] rid: ResourceId,
) -> Result<(), JsErrorBox> {
    let silence = state
        .resource_table
        .take::<Silence>(rid)
        .map_err(JsErrorBox::from_err)?;
    silence.close();
    Ok(())
}

/// Replaces `op_node_process_kill`.
#[op2(fast, stack_trace)]
pub fn op_haft_kill(
    state: &mut OpState,
    #[smi] pid: i32,
    #[smi] signal: i32,
) -> Result<i32, JsErrorBox> {
    check_target(pid, signal == 0)?;
    if !is_host(pid) {
        check_run(state, "process.kill")?;
    }
    Ok(host_of(state).send_signal(pid, signal))
}

/// Replaces `op_kill`, which is `Deno.kill`. The signal is a number or a name.
#[op2(stack_trace)]
pub fn op_haft_deno_kill(
    state: &mut OpState,
    #[smi] pid: i32,
    #[serde] signal: deno_core::serde_json::Value,
) -> Result<(), JsErrorBox> {
    let host = host_of(state);
    let number = match &signal {
        deno_core::serde_json::Value::String(name) => host.signal_number(name),
        other => other.as_i64().and_then(|number| i32::try_from(number).ok()),
    };
    let number = number.ok_or_else(|| {
        JsErrorBox::type_error(format!("there is no signal that is called {signal}"))
    })?;
    check_target(pid, number == 0)?;
    check_run(state, "Deno.kill")?;
    match host.send_signal(pid, number) {
        0 => Ok(()),
        code => Err(JsErrorBox::from_err(std::io::Error::from_raw_os_error(
            code,
        ))),
    }
}

fn check_run(state: &mut OpState, api: &str) -> Result<(), JsErrorBox> {
    state
        .borrow_mut::<PermissionsContainer>()
        .check_run_all(api)
        .map_err(JsErrorBox::from_err)
}

/// Refuses signals to the host, its group, its parent or all processes. The signal 0 is allowed.
fn check_target(pid: i32, is_question: bool) -> Result<(), JsErrorBox> {
    let meets_host = pid == 0 || pid == -1 || is_host(pid) || is_host(pid.wrapping_neg());
    if is_question || !(meets_host || pid == parent()) {
        return Ok(());
    }
    Err(JsErrorBox::generic(format!(
        "Tool called process.kill({pid}); a tool must not terminate the host process."
    )))
}

/// Returns true for the host's process id or one of its thread ids, which the system also accepts.
fn is_host(pid: i32) -> bool {
    i32::try_from(std::process::id()) == Ok(pid)
        || (pid > 0 && std::path::Path::new(&format!("/proc/self/task/{pid}")).exists())
}

fn parent() -> i32 {
    std::os::unix::process::parent_id().cast_signed()
}
