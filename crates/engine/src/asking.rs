//! Questions to the user about an access that a tool's permissions do not grant.
//!
//! Deno's runtime asks its prompter where a permission is neither granted nor refused by name. The
//! check is synchronous, so the isolate's thread waits for the answer; calls in the same isolate
//! wait with it, and the deadlines of all of them are paused. The wait ends with the answer, and
//! as soon as one of these calls is cancelled, before the isolate itself would be ended.
//!
//! The prompter belongs to the process, and the runtime asks one question at a time. A second
//! isolate of the same process waits for its turn. A call that is cancelled meanwhile is ended like
//! one that never yields; its thread goes on as soon as the first question is answered.
//!
//! A granted access holds until the next call in the isolate ends: the runtime cannot tell calls
//! apart. Then the isolate has its own permissions again.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;

use deno_runtime::deno_permissions::PermissionsContainer;
use deno_runtime::deno_permissions::prompter::{
    GetFormattedStackFn, PermissionPrompter, PromptResponse, set_prompter,
};
use futures::future::{BoxFuture, select_all};

use super::caller_link::CallerLink;
use super::isolate_state::IsolateState;
use super::permissions;
use super::permits::{GrantedNow, PermitStore};
use super::requests::RunningCall;
use haft_process::{files_of_entry, in_real_folder};
use haft_tool::{
    AccessTarget, Answer, Isolation, NoticeLevel, Notification, PermissionKind, PermissionProfile,
    Progress, Prompt, Updates,
};

/// The answers that the user can give.
const ONCE: &str = "yes, until this call ends";
const ALWAYS: &str = "yes, always for this tool";
const FROM_THE_NEXT: &str = "yes, for this tool from its next call on";
const NO: &str = "no";

thread_local! {
    /// The isolate of this thread, if its user may be asked.
    static ISOLATE: RefCell<Option<Askable>> = const { RefCell::new(None) };
    /// True if an answer has changed the isolate's permissions.
    static IS_CHANGED: Cell<bool> = const { Cell::new(false) };
}

#[derive(Clone)]
struct Askable {
    callers: Arc<dyn CallerLink>,
    permissions: Arc<PermissionProfile>,
}

/// Installs the prompter; once, before the first isolate.
pub(super) fn install_prompter() {
    set_prompter(Box::new(Prompter));
}

/// Registers the isolate of this thread.
pub(super) fn belongs_to(callers: &Arc<dyn CallerLink>, permissions: &Arc<PermissionProfile>) {
    let asks = permissions.askable.is_some() || permissions::has_asked_entries(permissions);
    let askable = asks.then(|| Askable {
        callers: callers.clone(),
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
                    && isolate.callers.ask_permission(kind, &what)
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

/// Waits on this thread for an answer. The question needs an event loop of its own: that of the
/// isolate stands still.
pub(super) fn wait(answer: impl Future<Output = bool> + Send + 'static) -> bool {
    let (sender, answered) = mpsc::channel();
    let ask = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        if let Ok(runtime) = runtime {
            // The thread may have been abandoned meanwhile.
            let _ = sender.send(runtime.block_on(answer));
        }
    };
    let thread = thread::Builder::new().name("haft-question".into());
    thread.spawn(ask).is_ok() && answered.recv().unwrap_or(false)
}

/// Asks the user whether the tools of an isolate may access `what`, and stores the answer if it is
/// for good. False without a question if the user may not be asked.
pub(super) fn ask(
    shared: &Arc<IsolateState>,
    kind: PermissionKind,
    what: String,
    store: Option<Arc<dyn PermitStore>>,
    granted: Arc<GrantedNow>,
) -> BoxFuture<'static, bool> {
    let key = shared.key.clone();
    let calls = shared.requests.running_calls();
    Box::pin(async move {
        // A worker asks, too, and its word is not enough.
        if !key.permissions.may_be_asked(kind, &what) {
            return false;
        }
        let file = file_of(&calls);
        let is_late = key.isolation == Isolation::Sandbox && is_held_by_kernel(kind);
        if let Some(file) = &file
            && granted.has(file, kind, &what)
        {
            return !is_late;
        }
        let Some(first) = user_of(&calls) else {
            return false;
        };
        let always = if is_late { FROM_THE_NEXT } else { ALWAYS };
        let can_store = file.is_some() && store.is_some();
        // The first option is the one that a hasty Enter chooses.
        let mut options = vec![NO];
        options.extend((!is_late).then_some(ONCE));
        options.extend(can_store.then_some(always));
        if options.len() == 1 {
            return false;
        }
        let question = Prompt::Select {
            title: format!(
                "`{}` needs `{kind}` access to `{what}`, which its permissions do not grant. Allow \
                 it?",
                first.tool(),
            ),
            options: options.into_iter().map(str::to_owned).collect(),
        };
        let _paused = Paused::new(calls.iter().skip(1));
        let cancelled = calls
            .iter()
            .map(|call| Box::pin(call.cancellation.requested()));
        let answer = tokio::select! {
            biased;
            _ = select_all(cancelled) => return false,
            answer = first.ask(question, None) => answer,
        };
        match answer {
            Ok(Answer::Text(text)) if text == ONCE => true,
            Ok(Answer::Text(text)) if text == always => {
                if let (Some(file), Some(store)) = (file, store) {
                    granted.add(&file, kind, &what);
                    if let Err(why) = store.grant(&file, kind, &what) {
                        first.tell(Notification::Notify {
                            message: format!("the grant holds only as long as haft runs: {why}"),
                            level: NoticeLevel::Warning,
                        });
                    }
                }
                !is_late
            }
            _ => false,
        }
    })
}

/// Returns true if the permissions refuse a program that `pi.exec` starts, and the user may be asked
/// about it. A program that is granted under another spelling is not asked about.
pub(super) fn is_program_refused(permissions: &PermissionProfile, command: &str) -> bool {
    let files = files_of_entry(command);
    let decision = permissions.decide(PermissionKind::Run, AccessTarget::Program(&files));
    !decision.is_granted() && permissions.may_be_asked(PermissionKind::Run, command)
}

/// Returns true for accesses that the kernel decides about in a sandbox. Its rules cannot be
/// widened while the sandbox exists.
fn is_held_by_kernel(kind: PermissionKind) -> bool {
    !matches!(kind, PermissionKind::Env | PermissionKind::Sys)
}

/// Returns the user who can answer for all calls. Any of them may have caused the question, so one
/// user's answer must not count for another user's call.
fn user_of(calls: &[RunningCall]) -> Option<&haft_tool::User> {
    let mut users = calls.iter().map(|call| call.user.as_ref());
    let first = users.next()??;
    let is_one = users.all(|user| user.is_some_and(|user| user.has_same_interface(first)));
    (is_one && first.is_there()).then_some(first)
}

/// Returns the file of the tools that run, if it is one file.
fn file_of(calls: &[RunningCall]) -> Option<PathBuf> {
    let mut files = calls.iter().map(|call| call.file.as_ref());
    let first = files.next()??;
    files.all(|file| file == Some(first)).then(|| first.clone())
}

/// Guard that pauses the deadlines of calls that wait for an answer of another call's user.
struct Paused(Vec<Updates>);

impl Paused {
    fn new<'a>(calls: impl Iterator<Item = &'a RunningCall>) -> Paused {
        let updates: Vec<Updates> = calls.map(|call| call.updates.clone()).collect();
        for updates in &updates {
            updates.send(Progress::Asking);
        }
        Paused(updates)
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        for updates in &self.0 {
            updates.send(Progress::Answered);
        }
    }
}
