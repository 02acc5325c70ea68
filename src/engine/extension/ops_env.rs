//! `process.env` and `Deno.env`: a copy for each isolate, as a Node worker has.
//!
//! The process's own variables are the host's and everybody's: a tool that writes `PATH` must not
//! move the programs of others, and writing them beside another thread that reads is undefined
//! behaviour. What the tools of an isolate change, they and their children see; nobody else does.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use deno_core::OpState;
use deno_core::op2;
use deno_error::JsErrorBox;
use deno_runtime::deno_permissions::{PermissionCheckError, PermissionState, PermissionsContainer};

use super::host::IsolateHost;

/// Variables that Node's own modules read while they are loaded and when they start programs; they hold settings and no secrets.
const OF_NODE: [&str; 5] = [
    "FORCE_COLOR",
    "NODE_DEBUG",
    "NODE_OPTIONS",
    "NODE_V8_COVERAGE",
    "NO_COLOR",
];

/// What the tools of this isolate changed; `None` for a variable that they took away.
#[derive(Default)]
struct Changes(BTreeMap<String, Option<String>>);

/// What the tools of an isolate find changed from the start.
pub fn begin_with(state: &mut OpState, changed: &BTreeMap<String, Option<String>>) {
    changes(state).0.clone_from(changed);
}

/// For whoever writes.
fn changes_to_make(state: &mut OpState) -> &mut Changes {
    state.borrow::<Rc<dyn IsolateHost>>().env_changed();
    changes(state)
}

fn changes(state: &mut OpState) -> &mut Changes {
    if !state.has::<Changes>() {
        state.put(Changes::default());
    }
    state.borrow_mut()
}

/// In place of `op_set_env`.
#[op2(fast, stack_trace)]
pub fn op_haft_set_env(
    state: &mut OpState,
    #[string] key: &str,
    #[string] value: &str,
) -> Result<(), JsErrorBox> {
    if is_ignored(state, key)? {
        return Ok(());
    }
    check_name(key)?;
    if value.contains('\0') {
        return Err(JsErrorBox::type_error(format!(
            "the value of the environment variable {key} contains a NUL"
        )));
    }
    // Packages write what they have just read (`debug` does so while it is imported).
    if self::value(state, key).as_deref() == Some(value) {
        return Ok(());
    }
    note_change(state);
    changes_to_make(state)
        .0
        .insert(key.to_owned(), Some(value.to_owned()));
    Ok(())
}

/// In place of `op_delete_env`.
#[op2(fast, stack_trace)]
pub fn op_haft_delete_env(state: &mut OpState, #[string] key: &str) -> Result<(), JsErrorBox> {
    if is_ignored(state, key)? {
        return Ok(());
    }
    check_name(key)?;
    if value(state, key).is_none() {
        return Ok(());
    }
    note_change(state);
    changes_to_make(state).0.insert(key.to_owned(), None);
    Ok(())
}

/// In place of `op_get_env`.
#[op2(stack_trace)]
#[string]
pub fn op_haft_get_env(
    state: &mut OpState,
    #[string] key: &str,
) -> Result<Option<String>, JsErrorBox> {
    if !OF_NODE.contains(&key) && is_ignored(state, key)? {
        return Ok(None);
    }
    check_name(key)?;
    Ok(value(state, key))
}

/// In place of `op_get_env_no_permission_check`, which Node's own modules use.
#[op2]
#[string]
pub fn op_haft_get_env_unchecked(state: &mut OpState, #[string] key: &str) -> Option<String> {
    value(state, key)
}

/// In place of `op_env`: everything that may be seen.
#[op2(stack_trace)]
#[serde]
pub fn op_haft_env(state: &mut OpState) -> Result<HashMap<String, String>, JsErrorBox> {
    let mut all: HashMap<String, String> = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(key, _)| check_name(key).is_ok())
        .collect();
    for (key, value) in &changes(state).0 {
        match value {
            Some(value) => all.insert(key.clone(), value.clone()),
            None => all.remove(key),
        };
    }
    let permissions = state.borrow::<PermissionsContainer>();
    if permissions.check_env_all().is_ok() {
        return Ok(all);
    }
    // What may not be seen is not there: programs are started with a copy of what is.
    all.retain(|key, _| permissions.query_env(Some(key)) == PermissionState::Granted);
    Ok(all)
}

/// In place of `op_node_load_env_file`, which writes to the process.
#[op2(fast)]
pub fn op_haft_refuse_env_file() -> Result<(), JsErrorBox> {
    Err(JsErrorBox::generic(
        "process.loadEnvFile() is not available to tools: read the file and set process.env",
    ))
}

/// What a program sees of the process's variables and of what the tools of this isolate changed, where the
/// permissions do not show all of them: the JSON text of an object; empty where they do.
#[op2]
#[string]
pub fn op_haft_shown_env(state: &mut OpState) -> String {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    if host.shows_variables() {
        return String::new();
    }
    let mut shown: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(key, _)| check_name(key).is_ok() && host.shows_variable(key))
        .collect();
    for (key, value) in &changes(state).0 {
        match value {
            Some(value) => shown.insert(key.clone(), value.clone()),
            None => shown.remove(key),
        };
    }
    deno_core::serde_json::to_string(&shown).unwrap_or_default()
}

/// The changes as the JSON text of an object, for `pi.exec`; empty when there are none.
#[op2]
#[string]
pub fn op_haft_env_changes(state: &mut OpState) -> String {
    let changes = &changes(state).0;
    if changes.is_empty() {
        return String::new();
    }
    deno_core::serde_json::to_string(changes).unwrap_or_default()
}

fn note_change(state: &OpState) {
    let host = state.borrow::<Rc<dyn IsolateHost>>().clone();
    host.noticed("it changes the environment", true);
}

#[expect(
    clippy::disallowed_methods,
    reason = "tools ask for the process's variables, not haft for its own"
)]
fn value(state: &mut OpState, key: &str) -> Option<String> {
    match changes(state).0.get(key) {
        Some(changed) => changed.clone(),
        None => std::env::var(key).ok(),
    }
}

fn check_name(key: &str) -> Result<(), JsErrorBox> {
    if key.is_empty() || key.contains(['=', '\0']) {
        return Err(JsErrorBox::type_error(format!(
            "'{key}' cannot be the name of an environment variable"
        )));
    }
    Ok(())
}

/// True for a variable that the permissions say is to look as if it were not there.
fn is_ignored(state: &mut OpState, key: &str) -> Result<bool, JsErrorBox> {
    match state.borrow::<PermissionsContainer>().check_env(key) {
        Ok(()) => Ok(false),
        Err(PermissionCheckError::PermissionDenied(denied))
            if denied.state == PermissionState::Ignored =>
        {
            Ok(true)
        }
        Err(error) => Err(JsErrorBox::from_err(error)),
    }
}
