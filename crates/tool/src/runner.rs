//! Interface between the code that calls a tool and the families that run it.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    Approval, ApprovalRequirement, Call, CallRecording, CallTrace, CallerScope, Cancellation,
    LogListener, NestedCalls, Outcome, Problem, Progress, RawRender, RenderOptions, RenderTarget,
    Stopped, Tier, ToolBounds, TraceContext, Updates, User,
};
use crate::error::Error;
use crate::recording::RecordedLog;

/// Runner of one tool. Every family implements it; callers use only this interface.
#[async_trait]
pub trait Runner: Send + Sync {
    /// Returns the work that is needed once before the first call; `None` if there is none or if it
    /// is done. Its time does not count as the call's. If it fails, the call reports the failure.
    fn prepare_runner(&self) -> Option<BoxFuture<'_, ()>> {
        None
    }

    /// Validates the arguments as the family requires, without starting anything.
    ///
    /// # Errors
    /// [`ErrorKind::BadArguments`](crate::ErrorKind) with every problem in its text.
    async fn check(&self, call: &Call) -> Result<(), Error>;

    /// Runs the tool to its end. The arguments are validated first, and invalid ones start nothing.
    /// If `ctx.gate` is set, nothing starts before the gate approves the call.
    ///
    /// Returns soon after [`CallCtx::cancel`] is cancelled, within the family's grace period,
    /// whatever the tool does.
    ///
    /// # Errors
    /// Returns an error if the tool could not be run. A failure that the tool itself reports is an
    /// [`Outcome`].
    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error>;

    /// Computes the current description, for tools whose author computes it. `None` if it never
    /// changes.
    async fn current_description(&self) -> Option<String> {
        None
    }

    /// Draws a call or its result with the author's renderer; `None` leaves the drawing to the
    /// host. Returns soon, whatever the author's code does.
    ///
    /// # Errors
    /// Returns the fault of the author's renderer.
    async fn render(
        &self,
        _scene: RenderTarget<'_>,
        _look: &RenderOptions,
    ) -> Result<Option<RawRender>, Problem> {
        Ok(None)
    }

    /// Returns the text of what a call would run, for people, with secrets masked. Starts nothing.
    /// `None` if that cannot be known.
    ///
    /// # Errors
    /// Returns the error with which the call itself would fail to start.
    async fn preview(&self, _call: &Call) -> Result<Option<String>, Error> {
        Ok(None)
    }

    /// Returns the tests that the tool's author wrote for it.
    fn tests(&self) -> Vec<Test> {
        Vec::new()
    }

    /// Returns the rights of the tool and their enforcement; `None` if it runs as a part of haft.
    fn bounds(&self) -> Option<Arc<ToolBounds>> {
        None
    }

    /// Returns the deadline that the tool's author sets for its calls instead of the configured one.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Returns true if the tool can call other tools.
    fn makes_calls(&self) -> bool {
        false
    }

    /// Returns true if a thread of its own runs the tool, so that a caller can wait for a small call
    /// without sleeping.
    fn has_thread(&self) -> bool {
        false
    }

    /// Returns the limit of the text of this call's result in bytes, if the tool has one of its own.
    fn text_limit(&self, _call: &Call) -> Option<usize> {
        None
    }

    /// Returns the source of the tool's own stance on approval.
    fn approval(&self) -> Approval<'_> {
        Approval::ByTier
    }
}

/// A test that a tool contains. It is run as a call without arguments. If the test fails, the
/// outcome is an error with a line for each reason, and `details.output` has the tool's output.
#[derive(Clone)]
pub struct Test {
    /// Name, unique among the tool's tests.
    pub name: String,
    /// Description of the tested behaviour.
    pub description: Option<String>,
    /// Reason for skipping the test here, if it is skipped.
    pub skipped: Option<String>,
    /// Runner of the test.
    pub runner: Arc<dyn Runner>,
}

/// Approval step between the validation of the arguments and the start of a tool.
#[async_trait]
pub trait Gate: Debug + Send + Sync {
    /// Waits for the decision about the call. The future is dropped when the call is cancelled.
    ///
    /// Returns the tier whose rights the call gets, where they can be enforced. It is the call's
    /// own tier if that tier is the reason for the approval, otherwise `exec`.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`](crate::ErrorKind) with the text for the model.
    async fn pass(&self, stance: ApprovalRequirement) -> Result<Tier, Error>;

    /// Returns the highest tier of calls that need no question. Code that runs before
    /// [`Gate::pass`] has the rights of this tier.
    fn unasked(&self) -> Tier;

    /// Returns the time that the user took for the answer. It does not count as the tool's time.
    fn waited(&self) -> Duration;
}

/// Context of a running call.
#[derive(Clone, Debug)]
pub struct CallCtx {
    /// Receiver of the call's progress.
    pub updates: Updates,
    /// Gate that decides whether the call may start; `None` if the call is approved already.
    pub gate: Option<Arc<dyn Gate>>,
    /// The user for the tool's questions, if there is one.
    pub user: Option<User>,
    /// Starter of calls of other tools as parts of the call, if its runner
    /// [makes such calls](Runner::makes_calls).
    pub nested: Option<Arc<dyn NestedCalls>>,
    /// Listener for the tool's log lines. Without one they go only to the log file.
    pub log: Option<Arc<dyn LogListener>>,
    /// Set if calls like this one run without a question.
    pub auto_approve: bool,
    /// Record of the call's actions, if the call is recorded.
    pub trace: Option<Arc<CallTrace>>,
    /// Recording of the call for a test, if it is recorded.
    pub recording: Option<Arc<CallRecording>>,
    /// Span of the call, or of its caller; `None` outside of traces.
    pub span: Option<TraceContext>,
    /// The MCP client that made the call, if one did.
    pub mcp_client: Option<Arc<McpClient>>,
    /// Set if the call is only put where it waits for a host; its outcome says where.
    pub is_queued: bool,
    /// The tools that exist for the caller, for runners whose tool is at another host.
    pub scope: Arc<CallerScope>,
    cancellation: Cancellation,
}

impl CallCtx {
    /// Creates the context of one call of the user, which `cancellation` cancels.
    pub fn new(cancellation: Cancellation, updates: Updates) -> Self {
        CallCtx::within(Arc::new(CallerScope::user()), cancellation, updates)
    }

    /// Creates the context of one call of a caller with this scope.
    pub fn within(scope: Arc<CallerScope>, cancellation: Cancellation, updates: Updates) -> Self {
        CallCtx {
            scope,
            updates,
            gate: None,
            user: None,
            nested: None,
            log: None,
            auto_approve: false,
            trace: None,
            recording: None,
            span: None,
            mcp_client: None,
            is_queued: false,
            cancellation,
        }
    }

    /// Returns the same context with a gate before the start.
    pub fn behind(mut self, gate: Arc<dyn Gate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Returns the same context. If the call is recorded, its updates, its log lines and the user's
    /// answers are, too: for runners whose tool is elsewhere.
    pub fn recorded(mut self) -> Self {
        if let Some(recording) = self.recording.clone() {
            self.updates.recording = Some(recording.clone());
            self.user = self.user.map(|user| user.recorded_in(&recording));
            let listener = self.log.take();
            self.log = Some(Arc::new(RecordedLog {
                recording,
                listener,
            }));
        }
        self
    }

    /// Waits for the approval of the call and reports its start. For runners that have validated
    /// the arguments. Returns the reason if the call was cancelled before its start.
    ///
    /// # Errors
    /// If the call was not approved.
    pub async fn admit(&self, stance: ApprovalRequirement) -> Result<Option<Stopped>, Error> {
        if let Some(gate) = &self.gate {
            tokio::select! {
                biased;
                passed = gate.pass(stance) => passed.map(drop)?,
                () = self.cancel().cancelled() => {}
            }
        }
        if self.is_cancelled() {
            return Ok(Some(self.stop_reason()));
        }
        self.updates.send(Progress::Started);
        Ok(None)
    }

    /// Returns the time that the call waited at its gate.
    pub fn waited(&self) -> Duration {
        self.gate
            .as_ref()
            .map_or(Duration::ZERO, |gate| gate.waited())
    }

    /// Records that the call sends a request to a host.
    pub fn connects(&self, url: &Url) {
        if let Some(trace) = &self.trace {
            trace.connects(url.as_str());
        }
    }

    /// Records that another host runs the call.
    pub fn ran_on(&self, host: &str) {
        if let Some(trace) = &self.trace {
            trace.ran_on(host);
        }
    }

    /// Returns the cancellation of the call.
    pub fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Returns the token that is cancelled when the call must end.
    pub fn cancel(&self) -> &CancellationToken {
        self.cancellation.token()
    }

    /// Returns true once the call must end.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Waits until the call must end.
    pub async fn cancelled(&self) {
        self.cancellation.requested().await;
    }

    /// Returns the time until the call's deadline, if it has one.
    pub fn time_left(&self) -> Option<Duration> {
        self.updates.time_left()
    }

    /// Returns the reason for the cancellation.
    pub fn stop_reason(&self) -> Stopped {
        self.cancellation.reason().unwrap_or(Stopped::Cancelled)
    }

    /// Returns the token that is cancelled when the grace period of the cancelled call is over.
    /// Work of the call that still runs then must end at once.
    pub fn force_token(&self) -> CancellationToken {
        self.cancellation.force_token().clone()
    }
}

/// The MCP client that made a call, for tools of MCP servers behind haft.
#[derive(Debug, Default)]
pub struct McpClient {
    /// Its capabilities, as MCP defines them: the requests that it answers during the call.
    pub capabilities: serde_json::Value,
    /// Cancelled when the server has made a task of the call.
    became_task: CancellationToken,
}

impl McpClient {
    /// Creates the client of one call.
    pub fn new(capabilities: serde_json::Value) -> McpClient {
        McpClient {
            capabilities,
            became_task: CancellationToken::new(),
        }
    }

    /// Reports that the server has made a task of the call.
    pub fn note_task(&self) {
        self.became_task.cancel();
    }

    /// Waits until the server has made a task of the call.
    pub async fn has_task(&self) {
        self.became_task.cancelled().await;
    }
}
