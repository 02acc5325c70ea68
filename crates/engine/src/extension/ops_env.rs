//! `process.env` and `Deno.env`: a copy for each isolate, as a Node worker has.
//!
//! The process's own variables belong to the host and to all tools. A tool that writes `PATH` must
//! not affect the programs of others. Writing a variable while another thread reads it is undefined
//! behaviour. Changes of an isolate's tools are visible to them and to their child processes only.

use std::collections::{BTreeMap, HashMap};

use deno_core::OpState;
use deno_core::op2;
use deno_error::JsErrorBox;
use deno_runtime::deno_permissions::{PermissionCheckError, PermissionState, PermissionsContainer};

use super::host::host_of;

/// Variables that Node's own modules read while they are loaded and when they start programs. They
/// hold settings and no secrets.
const OF_NODE: [&str; 5] = [
    "FORCE_COLOR",
    "NODE_DEBUG",
    "NODE_OPTIONS",
    "NODE_V8_COVERAGE",
    "NO_COLOR",
];

/// Changes of this isolate's tools; `None` for a variable that they removed.
#[derive(Default)]
struct Changes(BTreeMap<String, Option<String>>);

/// Sets the changes that the tools of an isolate start with.
pub fn begin_with(state: &mut OpState, changed: &BTreeMap<String, Option<String>>) {
    changes(state).0.clone_from(changed);
}

fn changes(state: &mut OpState) -> &mut Changes {
    if !state.has::<Changes>() {
        state.put(Changes::default());
    }
    state.borrow_mut()
}

/// Replaces `op_set_env`.
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
    changes(state)
        .0
        .insert(key.to_owned(), Some(value.to_owned()));
    Ok(())
}

/// Replaces `op_delete_env`.
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
    changes(state).0.insert(key.to_owned(), None);
    Ok(())
}

/// Replaces `op_get_env`.
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

/// Replaces `op_get_env_no_permission_check`, which Node's own modules use.
#[op2]
#[string]
pub fn op_haft_get_env_unchecked(state: &mut OpState, #[string] key: &str) -> Option<String> {
    value(state, key)
}

/// Replaces `op_env`: returns all variables that may be seen.
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
    let shows_all = host_of(state).shows_variables();
    let permissions = state.borrow::<PermissionsContainer>();
    // Deno calls a list with denied entries complete. The check is noted by `load_trace`.
    if permissions.check_env_all().is_ok() && shows_all {
        return Ok(all);
    }
    // Hidden variables are left out, because programs are started with a copy of the result.
    all.retain(|key, _| permissions.query_env(Some(key)) == PermissionState::Granted);
    Ok(all)
}

/// Replaces `op_node_load_env_file`, which writes to the process.
#[op2(fast)]
pub fn op_haft_refuse_env_file() -> Result<(), JsErrorBox> {
    Err(JsErrorBox::generic(
        "process.loadEnvFile() is not available to tools: read the file and set process.env",
    ))
}

/// Returns the environment of a program that a tool starts, as the JSON text of an object. It has
/// the process's visible variables with the isolate's changes. Empty if the permissions show all
/// variables.
#[op2]
#[string]
pub fn op_haft_shown_env(state: &mut OpState) -> String {
    let host = host_of(state);
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

/// Returns the changes as the JSON text of an object, for `pi.exec`; empty when there are none.
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
    host_of(state).noticed("it changes the environment", true);
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

/// Returns true for a variable that the permissions hide, so that it looks missing.
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
