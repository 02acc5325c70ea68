//! Questions of Deno's runtime about an access that a tool's permissions do not grant.
//!
//! Deno asks its prompter where a permission is neither granted nor refused by name. The check is
//! synchronous, so the isolate's thread waits for the answer of haft's process ([`asking`]).
//!
//! A granted access holds until the next call in the isolate ends: the runtime cannot tell calls
//! apart. Then the isolate has its own permissions again.
//!
//! [`asking`]: super::asking

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use deno_runtime::deno_permissions::PermissionsContainer;
use deno_runtime::deno_permissions::prompter::{
    GetFormattedStackFn, PermissionPrompter, PromptResponse, set_prompter,
};

use super::permissions;
use super::worker::HostLink;
use haft_process::{files_of_entry, in_real_folder};
use haft_tool::{AccessTarget, PermissionKind, PermissionProfile};

thread_local! {
    /// The isolate of this thread, if its user may be asked.
    static ISOLATE: RefCell<Option<Askable>> = const { RefCell::new(None) };
    /// True if an answer has changed the isolate's permissions.
    static IS_CHANGED: Cell<bool> = const { Cell::new(false) };
}

#[derive(Clone)]
struct Askable {
    link: Arc<HostLink>,
    permissions: Arc<PermissionProfile>,
}

/// Installs the prompter; once, before the first isolate.
pub(super) fn install_prompter() {
    set_prompter(Box::new(Prompter));
}

/// Registers the isolate of this thread.
pub(super) fn belongs_to(link: &Arc<HostLink>, permissions: &Arc<PermissionProfile>) {
    let asks = permissions.askable.is_some() || permissions::has_asked_entries(permissions);
    let askable = asks.then(|| Askable {
        link: link.clone(),
        permissions: permissions.clone(),
    });
    ISOLATE.set(askable);
}

/// Returns the isolate's own permissions, if answers have changed them. A call has ended.
pub(super) fn restored_permissions() -> Option<PermissionsContainer> {
    if !IS_CHANGED.replace(false) {
        return None;
    }
    let permissions = ISOLATE.with_borrow(|isolate| {
        let isolate = isolate.as_ref();
        isolate.map(|isolate| isolate.permissions.clone())
    });
    let permissions = permissions?;
    // They could be used when the isolate was started.
    permissions::of_profile(&permissions).ok()
}

struct Prompter;

impl PermissionPrompter for Prompter {
    fn prompt(
        &mut self,
        message: &str,
        name: &str,
        _api_name: Option<&str>,
        _is_unary: bool,
        _get_stack: Option<GetFormattedStackFn>,
    ) -> PromptResponse {
        let Some(isolate) = ISOLATE.with_borrow(Clone::clone) else {
            return PromptResponse::Deny;
        };
        // The refusal is noted in the isolate, too, until the call ends.
        IS_CHANGED.set(true);
        let asked = access_in(message, name);
        let is_granted = asked.is_some_and(|(kind, what)| {
            // Deno's lists lack the patterns that its order does not suit.
            isolate.permissions.grants(kind, &what)
                || isolate.permissions.may_be_asked(kind, &what)
                    && isolate.link.ask_permission(kind, &what)
        });
        if is_granted {
            PromptResponse::Allow
        } else {
            PromptResponse::Deny
        }
    }
}

/// Returns the access in the runtime's question, for example `read access to "/etc/passwd"`. `None`
/// if it names no resource: then the user would not see what is granted.
fn access_in(message: &str, name: &str) -> Option<(PermissionKind, String)> {
    let kind = PermissionKind::from_name(name)?;
    let what = message.strip_prefix(name)?.strip_prefix(" access to ")?;
    let what = what.strip_prefix('"')?.strip_suffix('"')?;
    let has_path = matches!(
        kind,
        PermissionKind::Read | PermissionKind::Write | PermissionKind::Ffi
    );
    if !has_path {
        return Some((kind, what.to_owned()));
    }
    // The runtime names a relative path as it was written, also with `..`.
    let path = in_real_folder(&std::path::absolute(what).ok()?);
    Some((kind, path.into_os_string().into_string().ok()?))
}

/// Returns true if the permissions refuse a program that `pi.exec` starts, and the user may be asked
/// about it. A program that is granted under another spelling is not asked about.
pub(super) fn is_program_refused(permissions: &PermissionProfile, command: &str) -> bool {
    let files = files_of_entry(command);
    let decision = permissions.decide(PermissionKind::Run, AccessTarget::Program(&files));
    !decision.is_granted() && permissions.may_be_asked(PermissionKind::Run, command)
}
