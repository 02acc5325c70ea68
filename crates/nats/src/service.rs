//! Offers the tools of a host to others.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;

use haft_tool::{Error, ErrorKind, Outcome};

use crate::client::{Client, Feed, Refusal};
use crate::discovery::{Counts, Discovery, OfferedTool};
use crate::frames::{Finished, HostFrame, HostInfo};
use crate::freshness::{Echoes, Freshness};
use crate::history::{self, HistoryDesk, HistoryFeed, HistoryPage, HistoryQuestion, LogReaders};
use crate::link::Link;
use crate::message::{Headers, Message};
use crate::queue::{Ends, Queue, QueuedTool, RunCall, Worker};
use crate::reply::{InboxPrefix, ReplyParser, ReplyRefused, ReplySubject};
use crate::serve_call::{self, DEFAULT_SILENCE, InPlace, IncomingCall, Request};
use crate::subjects::{self, QUEUE};

/// Number of requests that wait to be read. More than a server sends between two looks.
const CAPACITY: usize = 16 << 10;

/// Header of an answer that is an error, as NATS services have it.
const ERROR: &str = "Nats-Service-Error";
const ERROR_CODE: &str = "Nats-Service-Error-Code";

impl OfferedTool {
    /// Returns true if the definition says that a call may be made twice.
    pub fn is_idempotent(&self) -> bool {
        let says = |hint: &str| self.definition["annotations"][hint] == true;
        says("readOnlyHint") || says("idempotentHint")
    }

    /// Returns how its queued calls are taken.
    fn queued(&self) -> QueuedTool {
        QueuedTool {
            name: self.name.clone(),
            digest: self.digest.clone(),
            is_idempotent: self.is_idempotent(),
        }
    }
}

/// The host behind a service.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// Returns the tools that are offered now.
    async fn tools(&self) -> Vec<OfferedTool>;

    /// Waits until other tools may be offered.
    async fn changed(&self);

    /// Runs a call. It decides about rights, approval and limits; nothing of that is in the message.
    ///
    /// # Errors
    /// If the tool could not be run.
    async fn call(&self, call: IncomingCall) -> Result<Outcome, Error>;

    /// Returns true if other hosts may forward requests.
    fn takes_forwarded(&self) -> bool {
        false
    }

    /// Answers a request that another host of the tenant forwards, about a call that this host has. The
    /// arguments are the request, and the details of the outcome are the answer.
    ///
    /// # Errors
    /// If there is no answer.
    async fn forwarded(&self, request: IncomingCall) -> Result<Outcome, Error> {
        drop(request);
        let text = "this host takes no forwarded requests";
        Err(Error::new(ErrorKind::Usage, text))
    }

    /// Tells the user about something that went wrong.
    fn report(&self, problem: &str);

    /// Returns a page of the log of calls. It may block.
    fn history(&self, _question: &HistoryQuestion) -> HistoryPage {
        HistoryPage::default()
    }

    /// Follows the log of calls from now on, if there is one. It may block.
    fn follow_history(&self) -> Option<HistoryFeed> {
        None
    }
}

/// Options of a service.
#[derive(Clone)]
pub struct ServiceOptions {
    /// The tenant whose callers it serves.
    pub tenant: String,
    /// Name of the host for people.
    pub name: String,
    /// Version of haft.
    pub version: String,
    /// Number of calls at the same time. Others are refused, so that another host takes them.
    pub max_calls: usize,
    /// Time without a sign of life after which a caller is gone and its call is cancelled.
    pub caller_silence: Duration,
    /// Prefix of the inboxes in which clients get answers.
    pub inbox: InboxPrefix,
    /// The queue whose calls it runs too, and the number of them at the same time.
    pub queue: Option<(Queue, usize)>,
}

/// A running service. Dropping it ends it with its calls.
pub struct Service {
    host: HostInfo,
    drain: Mutex<Option<oneshot::Sender<oneshot::Sender<()>>>>,
    running: watch::Receiver<usize>,
    offered: watch::Receiver<usize>,
    replies: Arc<ReplyParser>,
    task: tokio::task::JoinHandle<()>,
}

struct Core {
    client: Client,
    options: ServiceOptions,
    host: HostInfo,
    provider: Arc<dyn Provider>,
    history: Arc<HistoryDesk>,
    replies: Arc<ReplyParser>,
    counts: Mutex<BTreeMap<String, Counts>>,
    running: watch::Sender<usize>,
    /// Number of tools that are offered.
    offered: watch::Sender<usize>,
    slots: Semaphore,
    freshness: Arc<Freshness>,
}

impl Service {
    /// Offers the tools of a provider, and follows their changes.
    pub async fn start(
        client: &Client,
        options: ServiceOptions,
        provider: Arc<dyn Provider>,
    ) -> Service {
        let host = HostInfo {
            id: subjects::new_id(),
            name: options.name.clone(),
            version: options.version.clone(),
        };
        let (page, feed) = (provider.clone(), provider.clone());
        let log = LogReaders {
            page: Box::new(move |question| page.history(question)),
            feed: Box::new(move || feed.follow_history()),
        };
        let tenant = options.tenant.clone();
        // To load them may take long, and what comes later is no older than the first subscription.
        let tools = provider.tools().await;
        let (sender, messages) = mpsc::channel(CAPACITY);
        let echoes = Echoes::new(client, &tenant, sender.clone()).await;
        let replies = Arc::new(ReplyParser::new(&tenant, &options.inbox));
        let history = HistoryDesk::new(client.clone(), tenant, host.clone(), log, replies.clone());
        let core = Arc::new(Core {
            freshness: echoes.freshness(),
            history,
            replies: replies.clone(),
            client: client.clone(),
            slots: Semaphore::new(options.max_calls),
            options,
            host: host.clone(),
            provider,
            counts: Mutex::default(),
            running: watch::Sender::new(0),
            offered: watch::Sender::new(0),
        });
        let (drain, draining) = oneshot::channel();
        let (running, offered) = (core.running.subscribe(), core.offered.subscribe());
        let mut offering = Offering::new(core, echoes, (sender, messages)).await;
        offering.offer(tools).await;
        let tenant = offering.core.options.tenant.clone();
        let service = Service {
            host,
            drain: Mutex::new(Some(drain)),
            running,
            offered,
            replies,
            task: tokio::spawn(offering.run(draining)),
        };
        // Its echoes go on meanwhile.
        client.flush(&tenant).await;
        service
    }

    /// Returns the host as others see it.
    pub fn host(&self) -> &HostInfo {
        &self.host
    }

    /// Returns the number of tools that are offered.
    pub fn tools(&self) -> usize {
        *self.offered.borrow()
    }

    /// Returns the number of requests that were not answered because of their reply subjects.
    pub fn refused_replies(&self) -> u64 {
        self.replies.refused()
    }

    /// Takes no new calls. Those that the server has sent already are begun when this returns.
    pub async fn take_no_more(&self) {
        let drain = self.drain.lock().take();
        if let Some(drain) = drain {
            let (done, is_done) = oneshot::channel();
            if drain.send(done).is_ok() {
                // Its task may have ended.
                let _ = is_done.await;
            }
        }
    }

    /// Waits until all calls have ended and their callers have the results.
    pub async fn calls_ended(&self) {
        let mut running = self.running.clone();
        // An error means that the service has ended.
        let _ = running.wait_for(|running| *running == 0).await;
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A tool with what brings its calls.
struct Offered {
    tool: OfferedTool,
    feed: Feed,
    queued: Option<Ends>,
}

/// The subscriptions of a service, and the task that answers them.
struct Offering {
    core: Arc<Core>,
    /// Set when calls are left to other hosts.
    is_leaving: bool,
    discovery: Discovery,
    tools: Vec<OfferedTool>,
    /// The tools by the subjects of their calls.
    by_subject: HashMap<String, Offered>,
    worker: Option<Arc<Worker>>,
    /// Say that the host runs queued calls, and look for those that no host would get.
    _queue_tasks: Vec<Ends>,
    /// Calls for this host only.
    direct: Feed,
    others: Vec<Feed>,
    /// Requests about calls that run here, also when no new ones are taken.
    _peers: Option<Feed>,
    /// They tell how old the messages are.
    echoes: Echoes,
    sender: mpsc::Sender<Message>,
    messages: mpsc::Receiver<Message>,
    refusals: broadcast::Receiver<Refusal>,
}

impl Offering {
    async fn new(
        core: Arc<Core>,
        echoes: Echoes,
        (sender, messages): (mpsc::Sender<Message>, mpsc::Receiver<Message>),
    ) -> Offering {
        let refusals = core.client.refusals();
        let tenant = core.options.tenant.clone();
        let discovery = Discovery::new(core.host.clone(), tenant.clone());
        let mut others = discovery.subscribe(&core.client, &sender).await;
        for subject in [
            subjects::list(&tenant),
            subjects::host(&tenant, &core.host.id),
            subjects::log_ask(&tenant, "all"),
            subjects::log_ask(&tenant, &core.host.id),
        ] {
            others.push(core.client.feed(subject, None, sender.clone()).await);
        }
        let direct = subjects::calls_at(&tenant, &core.host.id);
        let direct = core.client.feed(direct, None, sender.clone()).await;
        let peers = subjects::peer(&tenant, &core.host.id);
        let peers = if core.provider.takes_forwarded() {
            Some(core.client.feed(peers, None, sender.clone()).await)
        } else {
            None
        };
        let worker = core.options.queue.clone().map(|(queue, calls)| {
            let running = core.clone();
            let run: RunCall = Arc::new(move |call| {
                let core = running.clone();
                Box::pin(async move { core.call(call).await })
            });
            Worker::new(queue, core.host.clone(), calls, core.running.clone(), run)
        });
        Offering {
            _queue_tasks: worker
                .iter()
                .flat_map(|it| [it.beat(), it.sweep()])
                .collect(),
            worker,
            core,
            is_leaving: false,
            discovery,
            tools: Vec::new(),
            by_subject: HashMap::new(),
            direct,
            others,
            _peers: peers,
            echoes,
            sender,
            messages,
            refusals,
        }
    }

    /// Offers these tools and no others.
    async fn offer(&mut self, tools: Vec<OfferedTool>) {
        let tenant = &self.core.options.tenant;
        let subject = |tool: &OfferedTool| subjects::call(tenant, &tool.name, &tool.digest);
        let mut before = std::mem::take(&mut self.by_subject);
        for tool in &tools {
            let subject = subject(tool);
            let offered = match before.remove(&subject) {
                Some(offered) => Offered {
                    tool: tool.clone(),
                    ..offered
                },
                None => {
                    let sender = self.sender.clone();
                    let feed = self.core.client.feed(subject.clone(), Some(QUEUE), sender);
                    Offered {
                        tool: tool.clone(),
                        feed: feed.await,
                        queued: self
                            .worker
                            .as_ref()
                            .map(|worker| worker.take(tool.queued())),
                    }
                }
            };
            self.by_subject.insert(subject, offered);
        }
        self.core.offered.send_replace(tools.len());
        if self.tools != tools {
            self.tools = tools;
            self.tell_news();
        }
    }

    async fn run(mut self, draining: oneshot::Receiver<oneshot::Sender<()>>) {
        let provider = self.core.provider.clone();
        let tenant = self.core.options.tenant.clone();
        let mut draining = draining.fuse();
        loop {
            tokio::select! {
                biased;
                Ok(done) = &mut draining => {
                    self.drain().await;
                    let _ = done.send(());
                }
                // Before the messages, which may be many.
                () = self.echoes.tick() => self.echoes.send(),
                Some(message) = self.messages.recv() => self.receive(message),
                () = provider.changed(), if !self.is_leaving => {
                    let tools = provider.tools().await;
                    self.offer(tools).await;
                }
                Ok(refusal) = self.refusals.recv() => {
                    self.echoes.refused(&refusal.subject);
                    // A server without readers of logs is a choice and not a fault. A host that may serve
                    // single tools only gets all calls through the queue group.
                    let is_choice = refusal.subject.starts_with(&subjects::log_ask(&tenant, ""))
                        || refusal.subject == subjects::calls_at(&tenant, &self.core.host.id);
                    if !refusal.is_publish && !is_choice {
                        let subject = refusal.subject;
                        let text = format!("the NATS server does not allow to serve `{subject}`");
                        provider.report(&text);
                    }
                }
            }
        }
    }

    /// Begins the calls that came before, and refuses the others, so that other hosts take them.
    async fn drain(&mut self) {
        self.others.clear();
        self.direct.leave();
        for offered in self.by_subject.values_mut() {
            offered.feed.leave();
            offered.queued = None;
        }
        while let Ok(message) = self.messages.try_recv() {
            self.receive(message);
        }
        self.is_leaving = true;
        self.tools.clear();
        self.tell_news();
        // The connection may end with the service.
        self.core.client.flush(&self.core.options.tenant).await;
    }

    fn receive(&mut self, message: Message) {
        let core = &self.core;
        let tenant = &core.options.tenant;
        if message.subject.starts_with(subjects::CALLS) {
            let (core, tool) = (core.clone(), self.called(&message.subject));
            let is_leaving = self.is_leaving;
            let place = InPlace::new(&core.running);
            tokio::spawn(async move {
                let _place = place;
                match tool {
                    _ if is_leaving => core.refuse(message, "it is shutting down").await,
                    Some(tool) => core.serve(message, &tool).await,
                    None => {
                        core.refuse(message, "it does not offer the tool any more")
                            .await
                    }
                }
            });
        } else if self.echoes.receive(&message.subject) {
            // Nothing else belongs to it.
        } else if message.subject.starts_with("$SRV.") {
            if let Ok(Some(reply)) = core.reply_to(&message) {
                let (client, subject) = (&core.client, &message.subject);
                let counts = core.counts.lock();
                self.discovery
                    .answer(client, subject, reply, &self.tools, &counts);
            }
        } else if message.subject == subjects::list(tenant) {
            if self.is_meant(&message.payload)
                && let Ok(Some(reply)) = core.reply_to(&message)
            {
                self.say_hello(reply);
            }
        } else if message.subject == subjects::peer(tenant, &core.host.id) {
            if let Ok(request) = Request::of(message) {
                let core = core.clone();
                let place = InPlace::new(&core.running);
                tokio::spawn(async move {
                    let _place = place;
                    let link = core.open(&request).await;
                    let run = |request| core.provider.forwarded(request);
                    let by = (&core.host, &*core.freshness);
                    serve_call::run(&request, link, by, "", run).await;
                });
            }
        } else if [core.host.id.as_str(), "all"]
            .map(|host| subjects::log_ask(tenant, host))
            .contains(&message.subject)
        {
            history::receive(&core.history, &message);
        } else if message.subject == subjects::host(tenant, &core.host.id)
            && let Ok(request) = Request::of(message)
        {
            let definitions = self.tools.iter().map(|tool| tool.definition.clone());
            let definitions = Finished::Definitions(definitions.collect());
            let (core, host) = (core.clone(), core.host.clone());
            tokio::spawn(async move {
                let link = core.open(&request).await;
                serve_call::finish(link, HostFrame::Finished(host, definitions)).await;
            });
        }
    }

    /// Returns the tool whose calls have this subject.
    fn called(&self, subject: &str) -> Option<String> {
        let at_this_host = subject.strip_suffix(self.core.host.id.as_str());
        let calls = at_this_host.and_then(|subject| subject.strip_suffix('.'));
        let offered = self.by_subject.get(calls.unwrap_or(subject))?;
        Some(offered.tool.name.clone())
    }

    /// Returns true if a question for hosts is one for this host: it is for all, or for those that can run
    /// a call with that subject now.
    fn is_meant(&self, calls: &[u8]) -> bool {
        let offers = |calls: &str| self.by_subject.contains_key(calls);
        calls.is_empty()
            || (std::str::from_utf8(calls).is_ok_and(offers)
                && self.core.slots.available_permits() > 0)
    }

    /// Says which host this is, and a hash of what it offers.
    fn say_hello(&self, to: impl Into<String>) {
        let digests: Vec<&str> = self.tools.iter().map(|tool| tool.digest.as_str()).collect();
        let digest = subjects::hash(&digests.join("\n"));
        let hello = json!({"host": self.core.host, "offer": digest, "tools": digests.len()});
        let bytes = Bytes::from(hello.to_string());
        self.core
            .client
            .publish(to, None, Headers::default(), bytes);
    }

    fn tell_news(&self) {
        self.say_hello(subjects::news(&self.core.options.tenant));
    }
}

impl Core {
    async fn open(&self, request: &Request) -> Link {
        let (tenant, silence) = (&self.options.tenant, self.options.caller_silence);
        request.open(&self.client, tenant, silence).await
    }

    async fn serve(&self, message: Message, tool: &str) {
        let Ok(_slot) = self.slots.try_acquire() else {
            let why = format!("it runs {} calls already", self.options.max_calls);
            return self.refuse(message, &why).await;
        };
        match Request::of(message) {
            Ok(request) => {
                let link = self.open(&request).await;
                let run = |call| self.call(call);
                let by = (&self.host, &*self.freshness);
                serve_call::run(&request, link, by, tool, run).await;
            }
            Err(message) => {
                let Ok(reply) = self.reply_to(&message) else {
                    return;
                };
                let answer = if self.freshness.may_be_older_than(DEFAULT_SILENCE / 2) {
                    // There is no link to ask whether it still waits.
                    let why = "the host was cut off, so the call may be old and is not begun; make it again";
                    Err(("503", why.to_owned()))
                } else {
                    self.serve_plain(&message, tool).await
                };
                self.answer_plain(reply, answer);
            }
        }
    }

    fn reply_to(&self, request: &Message) -> Result<Option<ReplySubject>, ReplyRefused> {
        self.replies
            .of_request(&request.subject, request.reply.as_ref())
    }

    /// Refuses a call that was not begun.
    async fn refuse(&self, message: Message, why: &str) {
        match Request::of(message) {
            Ok(request) => serve_call::refuse(self.open(&request).await, &self.host, why).await,
            Err(message) => {
                let why = format!("the host refuses the call: {why}");
                if let Ok(reply) = self.reply_to(&message) {
                    self.answer_plain(reply, Err(("503", why)));
                }
            }
        }
    }

    async fn call(&self, call: IncomingCall) -> Result<Outcome, Error> {
        let (begun, tool) = (Instant::now(), call.tool.clone());
        let ended = self.provider.call(call).await;
        let is_success = ended.as_ref().is_ok_and(|outcome| !outcome.is_error);
        let mut counts = self.counts.lock();
        counts
            .entry(tool)
            .or_default()
            .add(is_success, begun.elapsed());
        ended
    }

    /// Runs a call of a client that knows nothing of haft: a request with JSON, an answer with JSON.
    async fn serve_plain(
        &self,
        message: &Message,
        tool: &str,
    ) -> Result<String, (&'static str, String)> {
        let ended = match serve_call::plain_call(message, tool) {
            Ok(call) => self.call(call).await,
            Err(error) => Err(error),
        };
        let outcome = ended.map_err(|error| ("400", error.message().to_owned()))?;
        Ok(outcome.as_result().get().to_owned())
    }

    fn answer_plain(
        &self,
        reply: Option<ReplySubject>,
        answer: Result<String, (&'static str, String)>,
    ) {
        let Some(reply) = reply else {
            return;
        };
        // A longer one would end the connection.
        let limit = self.client.max_payload().saturating_sub(4 << 10);
        let answer = answer.and_then(|text| {
            let length = text.len();
            let why = || ("413", format!("the result has {length} bytes"));
            (length <= limit).then_some(text).ok_or_else(why)
        });
        let (headers, text) = match answer {
            Ok(text) => (Headers::default(), text),
            Err((code, text)) => {
                let text: String = text.chars().take(1000).collect();
                let headers = Headers::default().with(ERROR_CODE, code).with(ERROR, text);
                (headers, String::new())
            }
        };
        self.client.publish(reply, None, headers, text.into());
    }
}
