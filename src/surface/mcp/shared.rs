//! Tasks and suspended calls of several hosts: any of them answers for all.
//!
//! - A call that is a task from its start is a queued call. Its record is at the NATS server.
//! - Other tasks and suspended calls are in the memory of their host. What the client holds begins with
//!   the id of that host, and other hosts forward its requests.
//!
//! The hosts of a tenant believe each other which client sends a request.

use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{
    CallToolResponse, ClientCapabilities, CreateTaskResult, DetailedTask, InputResponses,
    ServerResult, Task, TaskPayload, TaskStatus,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::call::{self, Asker};
use super::client::ClientTraits;
use super::elicitation;
use super::log;
use super::message::{self, Sender, scope_of};
use super::peer::{Forwarded, HOST_MARK, ID_LEN, PeerRequest};
use super::progress::Reporter;
use super::server::Server;
use super::tasks;
use super::tool_list::OfferedTool;
use super::{result, suspended};
use crate::credentials::random_id;
use crate::host::Host;
use crate::surface::nats::{PeerRequests, QueuedBy};
use crate::surface::queued_view::owner;
use haft_nats::{IncomingCall, Queue, QueueEntry, QueueStatus, QueuedCall};
use haft_tool::CallerScope;
use haft_tool::{
    Call, CallCtx, Cancellation, Error, ErrorKind, Event, Outcome, Stopped, Timestamp, Updates,
    queue,
};

/// Place of a task.
enum Place<'a> {
    Memory,
    Queue(&'a Queue),
    Host(&'a str),
}

impl Server {
    /// Returns the id of a new task in the memory of this host.
    pub(super) fn next_task_id(&self) -> String {
        match self.sharing() {
            Some(sharing) => format!("{}{HOST_MARK}{}", sharing.host_id(), random_id()),
            None => random_id(),
        }
    }

    /// Returns the id of the other host that what a client holds belongs to.
    pub(super) fn other_host<'a>(&self, held: &'a str) -> Option<&'a str> {
        let sharing = self.sharing()?;
        let (host, _) = held.split_once(HOST_MARK)?;
        (host.len() == ID_LEN && host != sharing.host_id()).then_some(host)
    }

    fn place_of<'a>(&'a self, task: &'a str) -> Place<'a> {
        let queue = self.sharing().and_then(|sharing| sharing.queue().ok());
        match (self.other_host(task), queue) {
            (Some(host), _) => Place::Host(host),
            (None, Some(queue)) if task.len() == ID_LEN => Place::Queue(queue),
            (None, _) => Place::Memory,
        }
    }

    /// Makes a queued call of a call that is to be a task at once. `None`: it stays in the memory of
    /// this host, because there is no queue, or because other hosts do not have the tool.
    pub(super) async fn queue_task(
        &self,
        host: &Host,
        tool: &OfferedTool,
        call: &Call,
        sender: Option<&Sender>,
        answers: bool,
    ) -> Option<Result<CallToolResponse, ErrorData>> {
        let sharing = self.sharing().filter(|sharing| sharing.queue().is_ok())?;
        let by = QueuedBy {
            owner: message::owner(sender),
            answers,
        };
        match sharing.put(host, call, None, by).await {
            Ok(None) => None,
            Ok(Some(call)) => {
                let keeps = sharing.queue().map(Queue::keeps).unwrap_or_default();
                Some(Ok(CreateTaskResult::new(task_of(&call, keeps)).into()))
            }
            Err(error) => {
                let form = self.result_form(true);
                Some(result::answer(Err(error), Some(tool), form, None).map(Into::into))
            }
        }
    }

    /// Returns the state of a task.
    pub(super) async fn task(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<DetailedTask, ErrorData> {
        let sender = Sender::of(&context.extensions);
        let scope = scope_of(sender.as_ref());
        match self.place_of(id) {
            Place::Memory => self.tasks().get(&scope, id),
            Place::Queue(queue) => {
                let entry = known(queue, &scope, id).await?;
                let abilities = context.client_capabilities().unwrap_or_default();
                let traits = ClientTraits::of(context.client_info().as_ref());
                self.queued_task(queue, entry, sender.as_ref(), &abilities, traits)
                    .await
            }
            Place::Host(host) => {
                let task = id.to_owned();
                self.forward(host, scope, PeerRequest::Get { task }).await
            }
        }
    }

    /// Delivers answers to the questions of a task.
    pub(super) async fn answer_task(
        &self,
        id: &str,
        answers: InputResponses,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let scope = scope_of(Sender::of(&context.extensions).as_ref());
        match self.place_of(id) {
            Place::Memory => self.tasks().answer(&scope, id, answers),
            Place::Queue(queue) => {
                let mut entry = known(queue, &scope, id).await?;
                for (question, value) in elicitation::queued_answers(&entry.call, &answers) {
                    match queue.answer(&entry, question, value).await {
                        Ok(answered) => entry = answered,
                        // It has an answer already, or this is none.
                        Err(error) if error.kind() == ErrorKind::Usage => {}
                        Err(error) => return Err(unanswered(&error)),
                    }
                }
                Ok(())
            }
            Place::Host(host) => {
                let task = id.to_owned();
                let request = PeerRequest::Answer { task, answers };
                self.forward::<Option<()>>(host, scope, request)
                    .await
                    .map(drop)
            }
        }
    }

    /// Cancels a task.
    pub(super) async fn end_task(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let scope = scope_of(Sender::of(&context.extensions).as_ref());
        match self.place_of(id) {
            Place::Memory => self.tasks().cancel(&scope, id),
            Place::Queue(queue) => {
                let entry = known(queue, &scope, id).await?;
                let cancelled = queue.cancel(&entry).await;
                cancelled.map(drop).map_err(|error| unanswered(&error))
            }
            Place::Host(host) => {
                let task = id.to_owned();
                let request = PeerRequest::Cancel { task };
                self.forward::<Option<()>>(host, scope, request)
                    .await
                    .map(drop)
            }
        }
    }

    /// Returns a queued call as a task.
    async fn queued_task(
        &self,
        queue: &Queue,
        mut entry: QueueEntry,
        sender: Option<&Sender>,
        abilities: &ClientCapabilities,
        traits: ClientTraits,
    ) -> Result<DetailedTask, ErrorData> {
        let task = task_of(&entry.call, queue.keeps());
        let payload = if let Some(ended) = queue.outcome(&entry).await {
            let call = &entry.call;
            if call.status == QueueStatus::Lost {
                let text = ended.err().map(|error| error.message().to_owned());
                let text = text.unwrap_or_else(|| "the call was lost".to_owned());
                let error = ErrorData::internal_error(text, Some(json!({"kind": "lost"})));
                TaskPayload::Failed {
                    error: tasks::object(&error),
                }
            } else {
                self.queued_end(call, ended, sender, traits).await
            }
        } else {
            let (input_requests, unanswerable) = elicitation::queued(&entry.call, abilities);
            for question in unanswerable {
                // Others may have answered it.
                if let Ok(answered) = queue.answer(&entry, question, Value::Null).await {
                    entry = answered;
                }
            }
            if input_requests.is_empty() {
                TaskPayload::Working
            } else {
                TaskPayload::InputRequired { input_requests }
            }
        };
        Ok(DetailedTask::new(task, payload))
    }

    async fn queued_end(
        &self,
        call: &QueuedCall,
        ended: Result<Outcome, Error>,
        sender: Option<&Sender>,
        traits: ClientTraits,
    ) -> TaskPayload {
        let mut ended = ended;
        let client = sender.map(|sender| &*sender.client);
        let tool_list = self.offer_for_call(&call.tool, client).await;
        let tool = tool_list.find(&call.tool);
        if let Ok(outcome) = &mut ended {
            if outcome.stopped == Some(Stopped::Cancelled) {
                return TaskPayload::Cancelled;
            }
            let host = match tool {
                Some(tool) => traits.host_for(self.host().clone(), tool),
                None => self.host().clone(),
            };
            host.shorten(outcome, &call.id, &call.tool).await;
        }
        let mut form = self.result_form(true);
        form.is_task = true;
        tasks::ended(result::answer(ended, tool, form, None))
    }

    /// Sends a request to the host that has a call, and returns its answer.
    async fn forward<T: DeserializeOwned>(
        &self,
        host: &str,
        client: CallerScope,
        request: PeerRequest,
    ) -> Result<T, ErrorData> {
        let ctx = CallCtx::new(
            Cancellation::default(),
            Updates::new(queue::unheard(), None),
        );
        let answer = self.forwarded(host, Forwarded { client, request }, &ctx);
        let answer = answer.await.map_err(|error| unanswered(&error))?;
        read(answer)
    }

    async fn forwarded(
        &self,
        host: &str,
        request: Forwarded,
        ctx: &CallCtx,
    ) -> Result<Value, Error> {
        let sharing = self.sharing();
        let sharing =
            sharing.ok_or_else(|| Error::new(ErrorKind::Internal, "nothing is shared"))?;
        let request = to_raw_value(&request);
        let request =
            request.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        let outcome = sharing.forward(host, request, ctx).await?;
        Ok(outcome.details)
    }

    /// Sends the answers to a suspended call to the host that has it. The client gets its progress
    /// meanwhile.
    pub(super) async fn forward_call(
        &self,
        host: &str,
        request: PeerRequest,
        sender: Option<&Sender>,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut reporter = Reporter::new(&context);
        let (log, mut lines) = self.log().listen(&context);
        let (updates, mut events) = queue::channel();
        let mut ctx = CallCtx::new(Cancellation::default(), Updates::new(updates, None));
        ctx.log = log;
        let client = scope_of(sender);
        let forwarding = self.forwarded(host, Forwarded { client, request }, &ctx);
        tokio::pin!(forwarding);
        let answer = loop {
            tokio::select! {
                biased;
                // Without its caller the other host cancels the call.
                () = context.ct.cancelled() => return Err(call::taken_back()),
                Some(event) = events.recv() => if let Event::Update(update) = event {
                    reporter.tell(&update).await;
                },
                line = lines.next() => log::tell(&context.peer, line).await,
                answer = &mut forwarding => break answer,
            }
        };
        match answer {
            Ok(answer) => response_of(answer),
            Err(error) => {
                let form = self.result_form(true);
                result::answer(Err(error), None, form, None).map(Into::into)
            }
        }
    }

    async fn answer_peer(
        &self,
        Forwarded { client, request }: Forwarded,
        asked: IncomingCall,
    ) -> Result<Value, ErrorData> {
        match request {
            PeerRequest::Get { task } => Ok(value(&self.tasks().get(&client, &task)?)),
            PeerRequest::Answer { task, answers } => {
                self.tasks().answer(&client, &task, answers)?;
                Ok(Value::Null)
            }
            PeerRequest::Cancel { task } => {
                self.tasks().cancel(&client, &task)?;
                Ok(Value::Null)
            }
            PeerRequest::Resume {
                tool,
                arguments,
                state,
                answers,
                may_be_task,
            } => {
                // The state opens only for the same client, tool and arguments.
                let origin = suspended::origin(client.id(), &tool, &arguments);
                let execution = match self.suspended().resume(&state, answers, &origin)? {
                    Ok(execution) => execution,
                    Err(again) => return Ok(value_of(again.into())),
                };
                let tool_list = self.tool_list().await;
                let task = tool_list.find(&tool).filter(|_| may_be_task);
                let task = task.map(|tool| tool.task);
                let asker = Asker::Host(asked.link, asked.cancellation);
                let answered =
                    call::call_with_input_required(self, execution, &origin, task, asker);
                Ok(value_of(answered.await?))
            }
        }
    }
}

#[async_trait]
impl PeerRequests for Server {
    async fn answer(&self, asked: IncomingCall) -> Result<Outcome, Error> {
        let request: Forwarded = serde_json::from_str(asked.arguments.get()).map_err(|error| {
            let text = format!("another host sent what cannot be read: {error}");
            Error::new(ErrorKind::Usage, text)
        })?;
        let answer = match self.answer_peer(request, asked).await {
            Ok(answer) => json!({"answer": answer}),
            Err(error) => json!({"error": error}),
        };
        Ok(Outcome {
            details: answer,
            ..Outcome::success("", Duration::ZERO)
        })
    }
}

/// Returns a queued call as a task that works.
fn task_of(call: &QueuedCall, keeps: Duration) -> Task {
    let time = |time| Timestamp::of(time).precise();
    let status = TaskStatus::Working;
    let task = Task::new(&call.id, status, time(call.queued), time(call.updated));
    let mut task = tasks::timed(task, keeps);
    task.status_message.clone_from(&call.message);
    task
}

/// Returns a queued call that the client may see.
async fn known(queue: &Queue, scope: &CallerScope, id: &str) -> Result<QueueEntry, ErrorData> {
    let entry = match queue.read(id).await {
        Err(error) if error.kind() == ErrorKind::Usage => return Err(tasks::unknown(id)),
        entry => entry.map_err(|error| unanswered(&error))?,
    };
    if scope.may_see(owner(&entry.call)) {
        Ok(entry)
    } else {
        Err(tasks::unknown(id))
    }
}

/// The error of a request that has no answer, with its kind.
fn unanswered(error: &Error) -> ErrorData {
    let data = json!({"kind": error.kind().as_str()});
    ErrorData::internal_error(error.message().to_owned(), Some(data))
}

/// Reads the answer of another host.
fn read<T: DeserializeOwned>(answer: Value) -> Result<T, ErrorData> {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Answered {
        Answer(Value),
        Error(ErrorData),
    }
    match serde_json::from_value(answer).map_err(unreadable)? {
        Answered::Answer(value) => serde_json::from_value(value).map_err(unreadable),
        Answered::Error(error) => Err(error),
    }
}

fn response_of(answer: Value) -> Result<CallToolResponse, ErrorData> {
    let answer: Value = read(answer)?;
    let kind = answer["resultType"].as_str().unwrap_or_default();
    let response = match kind {
        "input_required" => serde_json::from_value(answer).map(CallToolResponse::InputRequired),
        "task" => serde_json::from_value(answer).map(CallToolResponse::Task),
        _ => serde_json::from_value(answer).map(CallToolResponse::Complete),
    };
    response.map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> ErrorData {
    let text = format!("another host answered what cannot be read: {error}");
    ErrorData::internal_error(text, None)
}

fn value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn value_of(response: CallToolResponse) -> Value {
    value(&ServerResult::from(response))
}
