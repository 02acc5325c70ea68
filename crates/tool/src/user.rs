//! The user of one call. Questions carry the call's id, pause its deadline, and are withdrawn when
//! it ends.
//!
//! A question runs on the runtime on which the call was started, never on the tool's own thread.
//! Otherwise another tool that computes on that thread would delay the question.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::panic::{Caught, caught};
use super::ui::{
    Answer, Forwarded, Notification, NotificationFrom, Prompt, PromptOrigin, Question,
    UserInterface,
};
use super::{CallRecording, Progress, Updates, Widget, WidgetSurface};

/// Limit of the open questions of one call. More are not a dialogue, and each takes memory.
pub const MAX_QUESTIONS: usize = 16;

/// Time in which an interface withdraws a question or a component, when the call has ended.
const WITHDRAWAL_TIMEOUT: Duration = Duration::from_millis(100);

/// Handle through which one call asks the user. Cheap to clone.
#[derive(Clone)]
pub struct User(Arc<Inner>);

struct Inner {
    listener: Listener,
    from: PromptOrigin,
    /// Cancelled when the call has ended or must end.
    ended: CancellationToken,
    /// Sender that pauses the call's deadline; `None` outside calls.
    updates: Option<Updates>,
    /// Recording of the questions and their answers.
    recording: Option<Arc<CallRecording>>,
    open: AtomicUsize,
}

/// The default user of a host: for calls whose handle has no user interface of its own, and for
/// modules outside calls. It can be set and removed while the host runs.
#[derive(Default)]
pub struct DefaultUser(RwLock<Option<Listener>>);

/// A user interface, with the runtime on which its questions run.
#[derive(Clone)]
struct Listener {
    ui: Arc<dyn UserInterface>,
    runtime: Option<Handle>,
}

/// Error of a call that already has [`MAX_QUESTIONS`] open questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyQuestions;

impl User {
    /// Creates the user of the call `call_id`. `ended` withdraws its questions.
    pub fn of_call(
        ui: Arc<dyn UserInterface>,
        call_id: &str,
        tool: &str,
        ended: CancellationToken,
        updates: Updates,
    ) -> User {
        let from = PromptOrigin {
            call_id: Some(call_id.to_owned()),
            tool: tool.to_owned(),
        };
        User::new(Listener::here(ui), from, ended, Some(updates))
    }

    fn new(
        listener: Listener,
        from: PromptOrigin,
        ended: CancellationToken,
        updates: Option<Updates>,
    ) -> User {
        User(Arc::new(Inner {
            listener,
            from,
            ended,
            updates,
            recording: None,
            open: AtomicUsize::new(0),
        }))
    }

    /// Returns the same user. Questions that are asked through it are recorded.
    pub fn recorded_in(&self, recording: &Arc<CallRecording>) -> User {
        User(Arc::new(Inner {
            listener: self.0.listener.clone(),
            from: self.0.from.clone(),
            ended: self.0.ended.clone(),
            updates: self.0.updates.clone(),
            recording: Some(recording.clone()),
            open: AtomicUsize::new(0),
        }))
    }

    /// Returns true if the user can be asked now.
    pub fn is_there(&self) -> bool {
        said("has_user", || self.0.listener.ui.has_user())
    }

    /// Returns the name of the tool on whose behalf the user is asked.
    pub fn tool(&self) -> &str {
        &self.0.from.tool
    }

    /// Returns true if both ask through the same interface.
    pub fn has_same_interface(&self, other: &User) -> bool {
        Arc::ptr_eq(&self.0.listener.ui, &other.0.listener.ui)
    }

    /// Returns true if the call has ended or must end. No question is asked any more then.
    pub fn must_end(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Asks the user. The call's deadline is paused until there is an answer.
    ///
    /// Dropping the future withdraws the question. So do the end of the call and `timeout`, and the
    /// answer is [`Answer::Dismissed`]. The answer is the same, at once, if no user can be asked or
    /// a choice has no options.
    ///
    /// # Errors
    /// [`TooManyQuestions`] if the call already has [`MAX_QUESTIONS`] open questions.
    pub async fn ask(
        &self,
        what: Prompt,
        timeout: Option<Duration>,
    ) -> Result<Answer, TooManyQuestions> {
        let is_empty = matches!(&what, Prompt::Select { options, .. } if options.is_empty());
        if is_empty || !self.is_there() || self.must_end() {
            return Ok(Answer::Dismissed);
        }
        let _open = Open::one_more(&self.0)?;
        let recording = self.0.recording.as_ref();
        let recorded = recording.and_then(|recording| recording.asks(&what));
        let withdrawn = self.0.ended.child_token();
        let question = Question {
            from: self.0.from.clone(),
            what: what.clone(),
            timeout,
            withdrawn: withdrawn.clone(),
        };
        let _withdraw = withdrawn.clone().drop_guard();
        let ui = self.0.listener.ui.clone();
        let asking = async move { ui.ask(question).await };
        let answer = tokio::select! {
            biased;
            answer = self.0.listener.put(asking, &withdrawn) => answer.unwrap_or(Answer::Dismissed),
            () = time_out(timeout) => Answer::Dismissed,
        };
        let answer = what.fitting(answer);
        if let Some(recorded) = recorded {
            recorded.answered(&answer);
        }
        Ok(answer)
    }

    /// Forwards a request of an MCP server to the program behind the interface. `key` is the server's
    /// own for it. The call's deadline is paused until there is an answer. `None` if the program does
    /// not answer such requests, or the call has ended.
    ///
    /// # Errors
    /// [`TooManyQuestions`] if the call already has [`MAX_QUESTIONS`] open questions.
    pub async fn forward(
        &self,
        method: &'static str,
        key: Option<&str>,
        params: Value,
    ) -> Result<Option<Value>, TooManyQuestions> {
        if self.must_end() {
            return Ok(None);
        }
        let _open = Open::one_more(&self.0)?;
        let withdrawn = self.0.ended.child_token();
        let request = Forwarded {
            from: self.0.from.clone(),
            method,
            key: key.map(str::to_owned),
            params: params.clone(),
            withdrawn: withdrawn.clone(),
        };
        let _withdraw = withdrawn.clone().drop_guard();
        let ui = self.0.listener.ui.clone();
        let forwarding = async move { ui.forward(request).await };
        let answer = self.0.listener.put(forwarding, &withdrawn).await.flatten();
        // A request without an answer becomes questions, which are recorded.
        if let (Some(recording), Some(answer)) = (&self.0.recording, &answer) {
            recording.forwarded(method, params, answer.clone());
        }
        Ok(answer)
    }

    /// Shows a notification that needs no answer.
    pub fn tell(&self, what: Notification) {
        if self.is_there() {
            let from = self.0.from.clone();
            said("tell", || {
                self.0.listener.ui.tell(NotificationFrom { from, what })
            });
        }
    }

    /// Returns the text that the user has written but not sent.
    pub fn editor_text(&self) -> String {
        if self.is_there() {
            said("editor_text", || self.0.listener.ui.editor_text())
        } else {
            String::new()
        }
    }

    /// Returns the space in which a component of the tool can be shown now.
    pub fn canvas(&self) -> Option<WidgetSurface> {
        if !self.is_there() || self.must_end() {
            return None;
        }
        said("canvas", || self.0.listener.ui.canvas())
    }

    /// Shows a component until the surface removes it. The call's deadline is paused meanwhile.
    /// Dropping the future removes the component, as does the end of the call.
    ///
    /// # Errors
    /// [`TooManyQuestions`] if the call already has [`MAX_QUESTIONS`] open questions.
    pub async fn show(&self, widget: Widget) -> Result<(), TooManyQuestions> {
        let _open = Open::one_more(&self.0)?;
        if let Some(recording) = &self.0.recording {
            recording.cannot_repeat("it showed a component of its own");
        }
        let withdrawn = self.0.ended.child_token();
        let widget = widget.of(self.0.from.clone(), withdrawn.clone());
        let _withdraw = withdrawn.clone().drop_guard();
        let ui = self.0.listener.ui.clone();
        let showing = async move { ui.show(widget).await };
        self.0.listener.put(showing, &withdrawn).await;
        Ok(())
    }
}

impl DefaultUser {
    /// Sets the user interface; `None` removes it.
    pub fn set(&self, ui: Option<Arc<dyn UserInterface>>) {
        *self.0.write() = ui.map(Listener::here);
    }

    /// Returns the user interface, if there is one.
    pub fn get(&self) -> Option<Arc<dyn UserInterface>> {
        Some(self.listener()?.ui)
    }

    /// Returns the user of `tool` outside calls.
    pub fn of(&self, tool: &str) -> Option<User> {
        let from = PromptOrigin {
            call_id: None,
            tool: tool.to_owned(),
        };
        let listener = self.listener()?;
        Some(User::new(listener, from, CancellationToken::new(), None))
    }

    fn listener(&self) -> Option<Listener> {
        let listener = self.0.read();
        listener.clone()
    }
}

impl Listener {
    fn here(ui: Arc<dyn UserInterface>) -> Listener {
        let runtime = Handle::try_current().ok();
        Listener { ui, runtime }
    }

    /// Runs a function of the interface until it ends or `withdrawn` is cancelled. `None` if it
    /// was withdrawn or panicked.
    ///
    /// The cancellation is awaited in the task of the interface, which then drops the function. So
    /// the interface has withdrawn its question or component before the tool goes on and the
    /// call's result is sent. An interface that takes too long is not waited for.
    async fn put<T: Send + 'static>(
        &self,
        doing: impl Future<Output = T> + Send + 'static,
        withdrawn: &CancellationToken,
    ) -> Option<T> {
        let ended = withdrawn.clone();
        let doing = Caught::new(Box::pin(async move {
            tokio::select! {
                biased;
                done = doing => Some(done),
                () = ended.cancelled() => None,
            }
        }));
        let running = async {
            match &self.runtime {
                None => doing.await,
                Some(runtime) => {
                    let task = AbortOnDropHandle::new(runtime.spawn(doing));
                    task.await.unwrap_or(Ok(None))
                }
            }
        };
        tokio::select! {
            biased;
            done = running => done
                .inspect_err(|panicked| tell_of("ask or show", panicked))
                .unwrap_or_default(),
            () = overdue(withdrawn) => None,
        }
    }
}

/// Calls a function of the interface and returns the default value if it panics. Tools call these
/// functions on their own threads, which must not unwind.
fn said<T: Default>(function: &str, ask: impl FnOnce() -> T) -> T {
    caught(ask).unwrap_or_else(|panicked| {
        tell_of(function, &panicked);
        T::default()
    })
}

fn tell_of(function: &str, panicked: &str) {
    tracing::error!("`{function}` of the user interface failed: {panicked}");
}

impl Prompt {
    /// Returns the title.
    pub fn title(&self) -> &str {
        let (Prompt::Select { title, .. }
        | Prompt::Confirm { title, .. }
        | Prompt::Input { title, .. }
        | Prompt::Editor { title, .. }) = self;
        title
    }

    /// Returns `answer` if it is valid for this question, otherwise a dismissal. An interface may
    /// be another program, so its answers are checked.
    fn fitting(&self, answer: Answer) -> Answer {
        let fits = match (self, &answer) {
            (Prompt::Confirm { .. }, Answer::Yes | Answer::No) => true,
            (Prompt::Select { options, .. }, Answer::Text(text)) => options.contains(text),
            (Prompt::Input { .. } | Prompt::Editor { .. }, Answer::Text(_)) => true,
            (_, Answer::Dismissed | Answer::Yes | Answer::No | Answer::Text(_)) => false,
        };
        if fits { answer } else { Answer::Dismissed }
    }
}

/// Guard of an open question. The call's deadline is paused while it exists.
struct Open<'a>(&'a Inner);

impl<'a> Open<'a> {
    fn one_more(user: &'a Inner) -> Result<Open<'a>, TooManyQuestions> {
        let before = user.open.fetch_add(1, Ordering::Relaxed);
        if before >= MAX_QUESTIONS {
            user.open.fetch_sub(1, Ordering::Relaxed);
            return Err(TooManyQuestions);
        }
        if let Some(updates) = &user.updates {
            updates.send(Progress::Asking);
        }
        Ok(Open(user))
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        if let Some(updates) = &self.0.updates {
            updates.send(Progress::Answered);
        }
    }
}

/// Waits for the end of the call, and then for an interface that does not withdraw its question.
async fn overdue(withdrawn: &CancellationToken) {
    withdrawn.cancelled().await;
    tokio::time::sleep(WITHDRAWAL_TIMEOUT).await;
}

async fn time_out(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("from", &self.0.from)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for TooManyQuestions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a call may have {MAX_QUESTIONS} open questions to the user; wait for an answer first"
        )
    }
}

impl std::error::Error for TooManyQuestions {}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use async_trait::async_trait;

    use super::*;

    /// Interface without a user who answers. It notes when a question or component is withdrawn.
    #[derive(Default)]
    struct Silent {
        has_withdrawn: Arc<AtomicBool>,
    }

    /// Sets the flag when it is dropped.
    struct Shown(Arc<AtomicBool>);

    impl Drop for Shown {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[async_trait]
    impl UserInterface for Silent {
        async fn ask(&self, _question: Question) -> Answer {
            let _shown = Shown(self.has_withdrawn.clone());
            std::future::pending().await
        }

        async fn show(&self, _widget: Widget) {
            let _shown = Shown(self.has_withdrawn.clone());
            std::future::pending().await
        }
    }

    /// Ends the call after `ask` was polled once. Returns true if the interface had withdrawn its
    /// question or component when `ask` returned.
    async fn is_withdrawn_first<T>(ask: impl AsyncFnOnce(User) -> T) -> bool {
        let ui = Silent::default();
        let has_withdrawn = ui.has_withdrawn.clone();
        let ended = CancellationToken::new();
        let from = PromptOrigin {
            call_id: None,
            tool: "tool".to_owned(),
        };
        let user = User::new(Listener::here(Arc::new(ui)), from, ended.clone(), None);
        let end = async {
            // The task of the interface runs before this goes on.
            tokio::task::yield_now().await;
            assert!(!has_withdrawn.load(Ordering::SeqCst));
            ended.cancel();
        };
        let ask = async { (ask(user).await, has_withdrawn.load(Ordering::SeqCst)).1 };
        tokio::join!(ask, end).0
    }

    #[test]
    fn the_interface_withdraws_before_the_tool_goes_on() {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().build().expect("a runtime");
        let question = Prompt::Confirm {
            title: "Go on?".to_owned(),
            message: String::new(),
        };
        runtime.block_on(async {
            assert!(is_withdrawn_first(async |user| user.ask(question, None).await).await);
            let (widget, _tool) = Widget::pair();
            assert!(is_withdrawn_first(async |user| user.show(widget).await).await);
        });
    }
}
