//! A connection with a server. It comes back by itself, with all subscriptions.
//!
//! Publishing waits for nothing: what is published while there is no connection is dropped, and
//! `link` sends it again.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Event, ServerError, Subscriber};
use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::{AbortHandle, unconstrained};
use tokio::time::timeout;

use crate::connection::{ConnectError, ConnectOptions, Dialer, Heard};
use crate::message::{Headers, Message};
use crate::subjects;

/// Number of unread messages of a subscription. More than a server sends between two looks.
const CAPACITY: usize = 16 << 10;

/// Number of messages that a subscription still takes after it is told to end.
const LAST_MESSAGES: u64 = 32;

/// Time for the server to say that it has taken what was sent.
const FLUSH: Duration = Duration::from_secs(5);

/// State of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    Connected,
    /// Not connected, for this reason.
    Disconnected(String),
}

/// A subject that the server does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) subject: String,
    pub(crate) is_publish: bool,
}

/// A client of one server or cluster. Clones share the connection, which ends with the last one.
#[derive(Clone)]
pub struct Client {
    nats: async_nats::Client,
    shared: Arc<Shared>,
}

struct Shared {
    state: watch::Sender<ConnectionState>,
    refusals: broadcast::Sender<Refusal>,
}

/// Messages of one subject. The subscription ends with it.
pub struct Subscription {
    /// None if the client has ended.
    messages: Option<Subscriber>,
    /// One that was looked at.
    next: Option<Message>,
}

/// A subscription whose messages go to a shared channel. Dropping it ends the subscription.
pub(crate) struct Feed {
    leave: Option<oneshot::Sender<()>>,
    task: AbortHandle,
}

impl Client {
    /// Connects with a server.
    ///
    /// # Errors
    /// If no server accepts the client. Later the client connects again by itself.
    pub async fn connect(options: ConnectOptions) -> Result<Client, ConnectError> {
        let shared = Arc::new(Shared {
            state: watch::Sender::new(ConnectionState::Disconnected(String::new())),
            refusals: broadcast::channel(256).0,
        });
        let dialer = Dialer::new(options);
        let (hearing, dialing) = (shared.clone(), dialer.clone());
        let hear = move |heard| hearing.hear(heard, &dialing);
        let nats = dialer.connect(CAPACITY, hear).await?;
        shared.state.send_replace(ConnectionState::Connected);
        Ok(Client { nats, shared })
    }

    /// Publishes a message. It is dropped if there is no connection.
    pub fn publish(
        &self,
        subject: impl Into<String>,
        reply: Option<&str>,
        headers: Headers,
        payload: Bytes,
    ) {
        if !self.is_connected() {
            return;
        }
        let (subject, fields) = (subject.into(), headers.into_fields());
        // It waits only if too much is unwritten, and does not take part in sharing the time of tasks,
        // which would make it wait too.
        let published = match reply {
            Some(reply) => {
                let reply = reply.to_owned();
                let publishing = self
                    .nats
                    .publish_with_reply_and_headers(subject, reply, fields, payload);
                unconstrained(publishing).now_or_never()
            }
            None => {
                let publishing = self.nats.publish_with_headers(subject, fields, payload);
                unconstrained(publishing).now_or_never()
            }
        };
        match published {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::warn!("a message was not published: {error}"),
            None => tracing::warn!("a message was dropped: the server does not read"),
        }
    }

    /// Subscribes to a subject. Beyond a number of unread messages, others are dropped.
    pub async fn subscribe(&self, subject: impl Into<String>) -> Subscription {
        let messages = self.nats.subscribe(subject.into()).await;
        Subscription {
            messages: messages.inspect_err(not_subscribed).ok(),
            next: None,
        }
    }

    /// Subscribes to a subject, as one of the group `queue` if there is one. The messages go to a
    /// channel.
    pub(crate) async fn feed(
        &self,
        subject: String,
        queue: Option<&str>,
        to: mpsc::Sender<Message>,
    ) -> Feed {
        let messages = match queue {
            Some(queue) => self.nats.queue_subscribe(subject, queue.to_owned()).await,
            None => self.nats.subscribe(subject).await,
        };
        let messages = messages.inspect_err(not_subscribed).ok();
        let (leave, leaving) = oneshot::channel();
        Feed {
            leave: Some(leave),
            task: tokio::spawn(forward(messages, to, leaving)).abort_handle(),
        }
    }

    /// Waits until the server has taken everything that was published and subscribed before, by
    /// subjects that a host of this tenant may use. Returns false if it does not say so.
    ///
    /// The client's own `flush` only writes.
    pub async fn flush(&self, tenant: &str) -> bool {
        let mut state = self.shared.state.subscribe();
        if *state.borrow_and_update() != ConnectionState::Connected {
            return false;
        }
        let mut refusals = self.refusals();
        let id = subjects::new_id();
        let (to, answer) = (
            subjects::events(tenant, &id),
            subjects::control(tenant, &id),
        );
        let mut answers = self.subscribe(answer.clone()).await;
        // No client listens there, and the server says so.
        self.publish(to.clone(), Some(&answer), Headers::default(), Bytes::new());
        let answered = async {
            tokio::select! {
                answer = answers.next() => answer.is_some(),
                _ = state.changed() => false,
                () = async {
                    while let Ok(refusal) = refusals.recv().await {
                        if [&to, &answer].contains(&&refusal.subject) {
                            return;
                        }
                    }
                } => false,
            }
        };
        timeout(FLUSH, answered).await.unwrap_or(false)
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// If there is none within that time.
    pub async fn connected(&self, within: Duration) -> Result<(), ConnectError> {
        let mut state = self.shared.state.subscribe();
        let connected = state.wait_for(|state| matches!(state, ConnectionState::Connected));
        match timeout(within, connected).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => match &*self.shared.state.borrow() {
                ConnectionState::Connected => Ok(()),
                ConnectionState::Disconnected(why) => Err(ConnectError::new(why.clone())),
            },
        }
    }

    /// Returns true if there is a connection.
    pub(crate) fn is_connected(&self) -> bool {
        self.nats.connection_state() == State::Connected
    }

    /// Follows the state of the connection.
    pub(crate) fn state(&self) -> watch::Receiver<ConnectionState> {
        self.shared.state.subscribe()
    }

    /// Follows what the server does not allow.
    pub(crate) fn refusals(&self) -> broadcast::Receiver<Refusal> {
        self.shared.refusals.subscribe()
    }

    /// Returns true if the server keeps messages (JetStream).
    pub fn keeps_calls(&self) -> bool {
        self.nats.server_info().jetstream
    }

    /// Returns the client of the library.
    pub fn library(&self) -> &async_nats::Client {
        &self.nats
    }

    /// Returns the limit of a message in bytes, with its headers.
    pub(crate) fn max_payload(&self) -> usize {
        self.nats.max_payload()
    }
}

impl Subscription {
    /// Returns true if a message waits to be read.
    pub fn is_waiting(&mut self) -> bool {
        if self.next.is_none() {
            self.next = self.next().now_or_never().flatten();
        }
        self.next.is_some()
    }

    /// Waits for the next message. Cancel safe.
    pub async fn next(&mut self) -> Option<Message> {
        if let Some(next) = self.next.take() {
            return Some(next);
        }
        self.messages.as_mut()?.next().await.map(Message::from)
    }
}

impl Feed {
    /// Tells the server to send no more than a few messages. These still arrive: the client would drop
    /// what is on the way when a subscription ends at once, also when it drains it.
    pub(crate) fn leave(&mut self) {
        if let Some(leave) = self.leave.take() {
            // The task has ended with the client.
            let _ = leave.send(());
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(
    messages: Option<Subscriber>,
    to: mpsc::Sender<Message>,
    leaving: oneshot::Receiver<()>,
) {
    let Some(mut messages) = messages else {
        return;
    };
    let mut leaving = leaving.fuse();
    let mut count = 0;
    loop {
        tokio::select! {
            message = messages.next() => {
                let Some(message) = message else {
                    return;
                };
                count += 1;
                if to.send(message.into()).await.is_err() {
                    return;
                }
            }
            left = &mut leaving => {
                if left.is_ok() {
                    // An error means that the client has ended.
                    let _ = messages.unsubscribe_after(count + LAST_MESSAGES).await;
                }
            }
        }
    }
}

fn not_subscribed(error: &async_nats::SubscribeError) {
    tracing::warn!("nothing is subscribed: {error}");
}

impl Shared {
    fn hear(&self, heard: Heard, dialer: &Dialer) {
        match heard {
            Heard::Event(Event::Connected) => {
                dialer.reset();
                self.state.send_if_modified(|state| {
                    let is_new = *state != ConnectionState::Connected;
                    *state = ConnectionState::Connected;
                    is_new
                });
            }
            Heard::Event(Event::Disconnected) => {
                let why = "the server closed the connection".to_owned();
                tracing::warn!("the connection with the NATS server ended");
                let why = ConnectionState::Disconnected(why);
                self.state.send_replace(why);
            }
            Heard::Event(Event::ServerError(error)) => self.refuse(&error),
            Heard::Event(Event::SlowConsumer(_)) => {
                tracing::warn!("a message was dropped: too many");
            }
            Heard::Event(_) => {}
            Heard::Unconnected(Some(why)) => {
                self.state.send_if_modified(|state| match state {
                    ConnectionState::Connected => false,
                    ConnectionState::Disconnected(before) => {
                        *before = why;
                        true
                    }
                });
            }
            Heard::Unconnected(None) => {}
        }
    }

    /// Notes what the server does not allow.
    fn refuse(&self, error: &ServerError) {
        tracing::warn!("the NATS server: {error}");
        let ServerError::Other(error) = error else {
            return;
        };
        let kinds = [("Publish", true), ("Subscription", false)];
        for (word, is_publish) in kinds {
            let subject = error.split_once(&format!("Permissions Violation for {word} to \""));
            if let Some((subject, _)) = subject.and_then(|(_, rest)| rest.split_once('"')) {
                // There may be no follower.
                let _ = self.refusals.send(Refusal {
                    subject: subject.to_owned(),
                    is_publish,
                });
            }
        }
    }
}
