//! Long calls as tasks (`io.modelcontextprotocol/tasks`), for clients that support them.
//!
//! A task is driven here even if its client does not poll it. The client can poll the task, answer
//! its questions, or cancel it. Tasks are bounded in number and time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, CreateTaskResult, DetailedTask, InputResponses, JsonObject,
    Task, TaskPayload, TaskStatus,
};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::elicitation::{self, Open};
use super::execution::{Execution, Step};
use super::message::owner;
use super::progress;
use haft_tool::CallerScope;
use haft_tool::Timestamp;

/// Limit of the kept tasks of a client, including finished ones.
const MAX_TASKS: usize = 256;
/// Time after which a task is forgotten, and stopped if it still runs.
const LIFE: Duration = Duration::from_secs(24 * 3600);
/// Poll interval that clients are advised to use.
const LOOKING: Duration = Duration::from_millis(500);

/// Registry of all tasks.
#[derive(Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<HashMap<String, Arc<Job>>>>);

/// A call that continues as a task.
struct Job {
    /// The client that made the call. The task is hidden from other clients.
    owner: String,
    state: Mutex<DetailedTask>,
    answers: mpsc::UnboundedSender<InputResponses>,
    cancel: CancellationToken,
}

impl Tasks {
    /// Turns a call into a task. Returns the call if too many tasks are running.
    pub(super) fn create(
        &self,
        id: String,
        mut execution: Execution,
    ) -> Result<CallToolResponse, Box<Execution>> {
        let mut tasks = self.0.lock();
        let owner = owner(execution.sender()).to_owned();
        let count = |tasks: &HashMap<String, Arc<Job>>| {
            let own = tasks.values().filter(|job| job.owner == owner);
            own.count()
        };
        if count(&tasks) >= MAX_TASKS {
            tasks.retain(|_, job| job.owner != owner || !job.state.lock().status().is_terminal());
        }
        if count(&tasks) >= MAX_TASKS {
            tracing::warn!("{MAX_TASKS} tasks are running: a call goes on without being one");
            return Err(Box::new(execution));
        }
        let now = Timestamp::now().precise();
        let task = timed(Task::new(&id, TaskStatus::Working, &now, &now), LIFE);
        let (answers, answered) = mpsc::unbounded_channel();
        let job = Arc::new(Job {
            state: Mutex::new(DetailedTask::new(task, TaskPayload::Working)),
            answers,
            cancel: match execution.sender() {
                Some(sender) => sender.client.ended().child_token(),
                None => CancellationToken::new(),
            },
            owner,
        });
        tasks.insert(id.clone(), job.clone());
        execution.be_task();
        let created = CreateTaskResult::new(job.state.lock().task.clone());
        tokio::spawn(drive(execution, job, answered));
        let forgetting = self.clone();
        tokio::spawn(async move {
            sleep(LIFE).await;
            if let Some(job) = forgetting.0.lock().remove(&id) {
                job.cancel.cancel();
            }
        });
        Ok(created.into())
    }

    /// Returns the state of the task.
    pub(super) fn get(&self, scope: &CallerScope, id: &str) -> Result<DetailedTask, ErrorData> {
        Ok(self.job(scope, id)?.state.lock().clone())
    }

    /// Delivers answers to its questions.
    pub(super) fn answer(
        &self,
        scope: &CallerScope,
        id: &str,
        answers: InputResponses,
    ) -> Result<(), ErrorData> {
        // An error means that the task has ended.
        let _ = self.job(scope, id)?.answers.send(answers);
        Ok(())
    }

    /// Cancels the task.
    pub(super) fn cancel(&self, scope: &CallerScope, id: &str) -> Result<(), ErrorData> {
        self.job(scope, id)?.cancel.cancel();
        Ok(())
    }

    fn job(&self, scope: &CallerScope, id: &str) -> Result<Arc<Job>, ErrorData> {
        let job = self.0.lock().get(id).cloned();
        let job = job.filter(|job| scope.may_see(&job.owner));
        job.ok_or_else(|| unknown(id))
    }
}

impl Job {
    fn is(&self, payload: TaskPayload) {
        let mut state = self.state.lock();
        let mut task = state.task.clone();
        task.last_updated_at = Timestamp::now().precise();
        *state = DetailedTask::new(task, payload);
    }

    /// Sets the state: waits for answers to these questions, or works if there are none.
    fn is_asking(&self, open: &[Open]) {
        if open.is_empty() {
            return self.is(TaskPayload::Working);
        }
        let requests = open
            .iter()
            .map(|open| (open.key.clone(), open.request.clone()));
        self.is(TaskPayload::InputRequired {
            input_requests: requests.collect(),
        });
    }

    fn says(&self, message: String) {
        let mut state = self.state.lock();
        state.task.status_message = Some(message);
        state.task.last_updated_at = Timestamp::now().precise();
    }
}

/// Drives a task to its end.
async fn drive(
    mut execution: Execution,
    job: Arc<Job>,
    mut answered: mpsc::UnboundedReceiver<InputResponses>,
) {
    let mut open: Vec<Open> = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = job.cancel.cancelled() => {
                execution.cancel();
                return job.is(TaskPayload::Cancelled);
            }
            Some(answers) = answered.recv() => {
                open = elicitation::hand_over(open, &answers);
                job.is_asking(&open);
            }
            step = execution.step() => match step {
                Step::Update(update) => {
                    if let Some(message) = progress::text_of(&update) {
                        job.says(message);
                    }
                }
                // The request is over, so its log lines cannot be sent any more.
                Step::Said(_) => {}
                Step::Prompt(asked) => {
                    open.retain(|open| !open.is_withdrawn());
                    open.push(asked);
                    job.is_asking(&open);
                }
                Step::Ended(result) => return job.is(ended(result)),
            }
        }
    }
}

/// The error for a task that does not exist, or belongs to another client.
pub(super) fn unknown(id: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no task `{id}`"), None)
}

pub(super) fn ended(result: Result<CallToolResult, ErrorData>) -> TaskPayload {
    match result {
        Ok(result) => TaskPayload::Completed {
            result: object(&result),
        },
        Err(error) => TaskPayload::Failed {
            error: object(&error),
        },
    }
}

pub(super) fn object(value: &impl Serialize) -> JsonObject {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}

/// Returns a task with the time for which it is kept, and the interval at which it may be polled.
pub(super) fn timed(task: Task, keeps: Duration) -> Task {
    task.with_ttl_ms(millis(keeps))
        .with_poll_interval_ms(millis(LOOKING))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
