//! Questions to the user about an access that a tool's permissions do not grant.
//!
//! Calls in the isolate wait while its thread waits for the answer, and the deadlines of all of them
//! are paused. The wait ends with the answer, and as soon as one of these calls is cancelled, before
//! the isolate itself would be ended.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, select_all};

use super::isolate_state::IsolateState;
use super::permits::{GrantedNow, PermitStore};
use super::requests::RunningCall;
use haft_tool::{
    Answer, Isolation, NoticeLevel, Notification, PermissionKind, Progress, Prompt, Updates,
};

/// The answers that the user can give.
const ONCE: &str = "yes, until this call ends";
const ALWAYS: &str = "yes, always for this tool";
const FROM_THE_NEXT: &str = "yes, for this tool from its next call on";
const NO: &str = "no";

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
            return use_grant(&calls, kind, &what, is_late);
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
                use_grant(&calls, kind, &what, is_late)
            }
            _ => false,
        }
    })
}

/// Checks if the calls can use an access that the user granted. It is noted in them otherwise.
fn use_grant(calls: &[RunningCall], kind: PermissionKind, what: &str, is_late: bool) -> bool {
    if is_late {
        for call in calls {
            call.updates.grant_late(kind, what);
        }
    }
    !is_late
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
