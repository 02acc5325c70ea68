//! Logs of calls of hosts, for readers elsewhere.
//!
//! A reader asks all hosts of a tenant, then single ones for further pages, newest first; the server's
//! permissions for these subjects decide who may. Pages are bounded in entries and bytes. A host says what
//! it adds to its log only while a reader asks for it again and again, so that it costs nothing otherwise.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, Interval, interval, sleep, timeout_at};

use crate::client::{Client, Refusal, Subscription};
use crate::fleet::{Fleet, Unavailable};
use crate::frames::HostInfo;
use crate::message::{Headers, Message};
use crate::reply::{ReplyParser, ReplySubject};
use crate::subjects;

/// Limit of the entries of one answer.
const MAX_ENTRIES: usize = 1000;

/// Limit of the entries of one host for one reader, and of the time for them.
const MAX_ENTRIES_OF_HOST: usize = 200_000;
const MAX_TIME_OF_HOST: Duration = Duration::from_secs(60);

/// Limit of a message in bytes, whatever the server allows, and the room in it for all but the entries.
const MAX_BYTES: usize = 512 << 10;
const ROOM: usize = 8 << 10;

/// Limit of a question in bytes.
const MAX_QUESTION: usize = 16 << 10;

/// Number of pages that a host reads at the same time. Further questions wait, up to a number.
const READERS: usize = 2;
const MAX_WAITING: usize = 64;

/// Time for a host to answer.
const ANSWER: Duration = Duration::from_secs(3);

/// Interval in which a host says what was added to its log, and the limit of entries of one time.
const NEWS_INTERVAL: Duration = Duration::from_millis(250);
const MAX_NEWS: usize = 1000;

/// Time for which a host says that after a reader has asked for it, and the interval in which readers do.
const FOLLOWED: Duration = Duration::from_secs(30);
const FOLLOW_AGAIN: Duration = Duration::from_secs(5);

/// Question to hosts about their logs. The texts are those of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryQuestion {
    /// Number of entries that the reader wants; 0: none.
    #[serde(default)]
    pub limit: usize,
    /// Number of the line before which the reader wants entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Set if the reader wants to hear what is added.
    #[serde(default)]
    pub follow: bool,
    /// Pattern of names of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Pattern of names of hosts that ran the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Time since which the entries were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Id of a trace, or its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Outcome of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Id of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// Line of a host's log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Number of the line in the log.
    pub n: u64,
    /// Set if the line is about a call that is still running.
    #[serde(
        default,
        rename = "running",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_running: bool,
    /// The line, a JSON object.
    pub line: Box<RawValue>,
}

/// Page of a host's log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HistoryPage {
    /// The entries, newest first.
    pub entries: Vec<HistoryEntry>,
    /// The `before` of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Reason for which entries are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Returns what was added to a log since the last time, oldest first. It blocks.
pub type HistoryFeed = Box<dyn FnMut() -> Vec<HistoryEntry> + Send>;

/// Log of a host, as far as it was asked for.
#[derive(Clone, Debug)]
pub struct HostLog {
    /// The host. Nothing proves its name.
    pub host: HostInfo,
    /// The entries, newest first.
    pub entries: Vec<HistoryEntry>,
    /// Reason for which entries are missing.
    pub problem: Option<String>,
}

/// Logs of all hosts.
#[derive(Clone, Debug, Default)]
pub struct FleetLog {
    /// The logs of hosts that answered.
    pub logs: Vec<HostLog>,
    /// Hosts that are there and did not answer.
    pub silent: Vec<HostInfo>,
}

/// Additions of hosts to their logs.
pub struct HistoryNews {
    client: Client,
    tenant: String,
    messages: Subscription,
    again: Interval,
}

/// Addition to the log of a host.
#[derive(Debug, Serialize, Deserialize)]
pub struct AddedHistory {
    /// The host.
    pub host: HostInfo,
    /// The entries, oldest first.
    pub entries: Vec<HistoryEntry>,
    /// Number of entries that are left out because they were too many.
    #[serde(default)]
    pub missed: usize,
}

#[derive(Serialize, Deserialize)]
struct Answer {
    host: HostInfo,
    page: HistoryPage,
}

/// Answers questions about the log of one host.
pub(crate) struct HistoryDesk {
    client: Client,
    tenant: String,
    host: HostInfo,
    log: LogReaders,
    replies: Arc<ReplyParser>,
    readers: Semaphore,
    /// Questions that wait or are answered.
    waiting: Arc<Semaphore>,
    /// Time until which the log is followed; `None` if it is not.
    followed: tokio::sync::Mutex<Option<Instant>>,
}

/// Readers of the log of a host. They may block.
pub(crate) struct LogReaders {
    /// Returns a page.
    pub(crate) page: Box<dyn Fn(&HistoryQuestion) -> HistoryPage + Send + Sync>,
    /// Follows the log from now on, if there is one.
    pub(crate) feed: Box<dyn Fn() -> Option<HistoryFeed> + Send + Sync>,
}

impl HistoryDesk {
    pub(crate) fn new(
        client: Client,
        tenant: String,
        host: HostInfo,
        log: LogReaders,
        replies: Arc<ReplyParser>,
    ) -> Arc<HistoryDesk> {
        Arc::new(HistoryDesk {
            client,
            tenant,
            host,
            log,
            replies,
            readers: Semaphore::new(READERS),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            followed: tokio::sync::Mutex::default(),
        })
    }
}

/// Answers a question about the log, in a task of its own.
pub(crate) fn receive(desk: &Arc<HistoryDesk>, message: &Message) {
    if message.payload.len() > MAX_QUESTION {
        return;
    }
    let Ok(question) = serde_json::from_slice::<HistoryQuestion>(&message.payload) else {
        return;
    };
    // Too many readers get no answer.
    let Ok(place) = desk.waiting.clone().try_acquire_owned() else {
        return;
    };
    let Ok(reply) = desk
        .replies
        .of_log_question(&message.subject, message.reply.as_ref())
    else {
        return;
    };
    let desk = desk.clone();
    tokio::spawn(async move {
        let _place = place;
        if question.follow {
            follow(&desk).await;
        }
        if let Some(reply) = reply.filter(|_| question.limit > 0) {
            answer(&desk, question, reply).await;
        }
    });
}

async fn answer(desk: &Arc<HistoryDesk>, mut question: HistoryQuestion, to: ReplySubject) {
    let Ok(_reader) = desk.readers.acquire().await else {
        return;
    };
    question.limit = question.limit.min(MAX_ENTRIES);
    let page = blocking(desk, move |log| (log.page)(&question)).await;
    let Some(mut page) = page else {
        return;
    };
    let mut room = room(&desk.client);
    let fitting = page.entries.iter().take_while(|entry| {
        let length = length(entry);
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    });
    let fitting = fitting.count();
    if fitting < page.entries.len() {
        match fitting
            .checked_sub(1)
            .and_then(|last| page.entries.get(last))
        {
            Some(last) => page.next = Some(last.n),
            // No page has room for it.
            None => page.next = page.entries.first().map(|entry| entry.n),
        }
        page.entries.truncate(fitting);
    }
    let answer = Answer {
        host: desk.host.clone(),
        page,
    };
    publish(&desk.client, to, &answer);
}

/// Says what is added to the log, from now on for some time.
async fn follow(desk: &Arc<HistoryDesk>) {
    let mut followed = desk.followed.lock().await;
    let is_followed = followed.replace(Instant::now() + FOLLOWED).is_some();
    if is_followed {
        return;
    }
    // Before the reader gets its page, so that nothing is missing between the two.
    let feed = blocking(desk, |log| (log.feed)()).await;
    match feed.flatten() {
        Some(feed) => drop(tokio::spawn(say_news(Arc::downgrade(desk), feed))),
        None => *followed = None,
    }
}

async fn say_news(used: Weak<HistoryDesk>, mut feed: HistoryFeed) {
    loop {
        sleep(NEWS_INTERVAL).await;
        let Some(desk) = used.upgrade() else {
            return;
        };
        {
            let mut followed = desk.followed.lock().await;
            if followed.is_none_or(|until| until < Instant::now()) {
                *followed = None;
                return;
            }
        }
        let read = spawn_blocking(move || {
            let entries = feed();
            (feed, entries)
        });
        let Ok((same, mut entries)) = read.await else {
            *desk.followed.lock().await = None;
            return;
        };
        feed = same;
        let mut missed = entries.len().saturating_sub(MAX_NEWS);
        entries.drain(..missed);
        let subject = subjects::log_news(&desk.tenant);
        let mut entries = entries.into_iter().peekable();
        while entries.peek().is_some() || missed > 0 {
            let mut room = room(&desk.client);
            let mut news = AddedHistory {
                host: desk.host.clone(),
                entries: Vec::new(),
                missed: std::mem::take(&mut missed),
            };
            while let Some(entry) = entries.next_if(|entry| length(entry) <= room) {
                room -= length(&entry);
                news.entries.push(entry);
            }
            if news.entries.is_empty() && entries.next().is_some() {
                // No message has room for it.
                news.missed += 1;
            }
            publish(&desk.client, subject.clone(), &news);
        }
    }
}

/// Reads the log on a thread that may block.
async fn blocking<T: Send + 'static>(
    desk: &Arc<HistoryDesk>,
    read: impl FnOnce(&LogReaders) -> T + Send + 'static,
) -> Option<T> {
    let desk = desk.clone();
    spawn_blocking(move || read(&desk.log)).await.ok()
}

fn room(client: &Client) -> usize {
    client.max_payload().min(MAX_BYTES).saturating_sub(ROOM)
}

fn length(entry: &HistoryEntry) -> usize {
    // For the number and the words around the line.
    entry.line.get().len() + 64
}

fn publish(client: &Client, to: impl Into<String>, what: &impl Serialize) {
    // A value that cannot be written would have a key that is not a text; there is none.
    let bytes = Bytes::from(serde_json::to_vec(what).unwrap_or_default());
    client.publish(to, None, Headers::default(), bytes);
}

impl Fleet {
    /// Asks all hosts for the newest entries of their logs: each for `question.limit`, or for all it has if
    /// that is 0.
    ///
    /// # Errors
    /// If the server cannot be asked, or does not let this client read the logs. No host at all is an empty
    /// list.
    pub async fn history(&self, question: &HistoryQuestion) -> Result<FleetLog, Unavailable> {
        let present = self.hosts().await?;
        let client = self.client().await?;
        let first = HistoryQuestion {
            limit: page_size(question.limit),
            ..question.clone()
        };
        let answers = self.ask(&client, "all", &first, &present).await?;
        let silent = present.into_iter();
        let silent = silent.filter(|host| !answers.contains_key(&host.id));
        let silent = silent.collect();
        let client = &client;
        let whole = answers.into_values().map(|answer| async move {
            let id = answer.host.id.clone();
            self.further_pages(client, answer, question, &id).await
        });
        let mut logs = join_all(whole).await;
        logs.sort_by(|a, b| (&a.host.name, &a.host.id).cmp(&(&b.host.name, &b.host.id)));
        Ok(FleetLog { logs, silent })
    }

    /// Follows what hosts add to their logs.
    ///
    /// # Errors
    /// If there is no connection.
    pub async fn follow_history(&self) -> Result<HistoryNews, Unavailable> {
        let client = self.client().await?;
        let tenant = self.options().tenant.clone();
        let messages = client.subscribe(subjects::log_news(&tenant)).await;
        Ok(HistoryNews {
            messages,
            client,
            tenant,
            again: interval(FOLLOW_AGAIN),
        })
    }

    /// Reads the pages of a host after the first.
    async fn further_pages(
        &self,
        client: &Client,
        first: Answer,
        question: &HistoryQuestion,
        id: &str,
    ) -> HostLog {
        let wanted = match question.limit {
            0 => MAX_ENTRIES_OF_HOST,
            limit => limit.min(MAX_ENTRIES_OF_HOST),
        };
        let until = Instant::now() + MAX_TIME_OF_HOST;
        let mut log = HostLog {
            host: first.host,
            entries: first.page.entries,
            problem: first.page.problem,
        };
        let (mut next, mut before) = (first.page.next, question.before.unwrap_or(u64::MAX));
        while let Some(now) = next.filter(|_| log.entries.len() < wanted && log.problem.is_none()) {
            if now >= before || Instant::now() > until {
                log.problem = Some("it does not come to an end".to_owned());
                break;
            }
            before = now;
            let page = HistoryQuestion {
                before: Some(now),
                limit: page_size(wanted - log.entries.len()),
                follow: false,
                ..question.clone()
            };
            let asked = std::slice::from_ref(&log.host);
            let answers = self.ask(client, id, &page, asked).await;
            match answers.ok().and_then(|mut answers| answers.remove(id)) {
                Some(answer) => {
                    log.entries.extend(answer.page.entries);
                    log.problem = answer.page.problem;
                    next = answer.page.next;
                }
                None => log.problem = Some("it does not answer any more".to_owned()),
            }
        }
        log.entries.truncate(wanted);
        log
    }

    /// Asks a host, or all, and waits for the answers of those that are expected.
    async fn ask(
        &self,
        client: &Client,
        whom: &str,
        question: &HistoryQuestion,
        expected: &[HostInfo],
    ) -> Result<HashMap<String, Answer>, Unavailable> {
        let tenant = &self.options().tenant;
        let mut refusals = client.refusals();
        let inbox = subjects::log_answers(tenant, &subjects::new_id());
        let mut messages = client.subscribe(inbox.clone()).await;
        let subject = subjects::log_ask(tenant, whom);
        let bytes = Bytes::from(serde_json::to_vec(question).unwrap_or_default());
        client.publish(subject.clone(), Some(&inbox), Headers::default(), bytes);
        let until = Instant::now() + ANSWER;
        let mut answers = HashMap::new();
        loop {
            let has_all = expected.iter().all(|host| answers.contains_key(&host.id));
            if has_all && !expected.is_empty() {
                return Ok(answers);
            }
            tokio::select! {
                biased;
                Ok(refusal) = refusals.recv() => {
                    if refusal.subject == subject || refusal.subject == inbox {
                        return Err(Unavailable::LogRefused(tenant.clone()));
                    }
                }
                message = timeout_at(until, messages.next()) => match message {
                    Ok(Some(message)) if message.headers.is_no_responders() => return Ok(answers),
                    Ok(Some(message)) => {
                        let answer = serde_json::from_slice::<Answer>(&message.payload).ok();
                        if let Some(mut answer) = answer.filter(|it| subjects::is_token(&it.host.id)) {
                            answer.page.entries.truncate(MAX_ENTRIES);
                            answers.insert(answer.host.id.clone(), answer);
                        }
                    }
                    Ok(None) | Err(_) => return Ok(answers),
                },
            }
        }
    }
}

/// Returns the number of entries to ask for at once.
fn page_size(wanted: usize) -> usize {
    match wanted {
        0 => MAX_ENTRIES,
        wanted => wanted.min(MAX_ENTRIES),
    }
}

impl HistoryNews {
    /// Waits for the next addition. Cancel safe.
    ///
    /// # Errors
    /// If the server does not let this client read the logs, or the client has ended.
    pub async fn next(&mut self) -> Result<AddedHistory, Unavailable> {
        let mut refusals = self.client.refusals();
        let ask = subjects::log_ask(&self.tenant, "all");
        let news = subjects::log_news(&self.tenant);
        let is_refused = |refusal: &Refusal| [&ask, &news].contains(&&refusal.subject);
        loop {
            tokio::select! {
                biased;
                Ok(refusal) = refusals.recv() => {
                    if is_refused(&refusal) {
                        return Err(Unavailable::LogRefused(self.tenant.clone()));
                    }
                }
                // Hosts that have come meanwhile hear it too.
                _ = self.again.tick() => {
                    let question = HistoryQuestion { follow: true, ..HistoryQuestion::default() };
                    publish(&self.client, ask.clone(), &question);
                }
                message = self.messages.next() => {
                    let Some(message) = message else {
                        return Err(Unavailable::LogRefused(self.tenant.clone()));
                    };
                    let added = serde_json::from_slice::<AddedHistory>(&message.payload).ok();
                    if let Some(added) = added.filter(|added| subjects::is_token(&added.host.id)) {
                        return Ok(added);
                    }
                }
            }
        }
    }
}
