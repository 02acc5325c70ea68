//! A connection with a server. It comes back by itself, with all subscriptions.
//!
//! Nothing waits for the network: what is published while there is no connection is dropped, and
//! `link` sends it again.

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::connection::{ConnectError, ConnectOptions, Established, establish, plain};
use crate::protocol::{self, Headers, ServerOp};

/// Delay before the first new connection; it doubles up to the other one.
const RECONNECT_DELAY: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Interval of pings. A server that leaves two unanswered is gone.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Time for writing what is waiting. A server that takes longer is gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes that are written at once.
const BATCH: usize = 256 << 10;

/// Reads and parses in pieces of this size.
const READ: usize = 64 << 10;

/// A message of a subscription.
#[derive(Clone, Debug)]
pub struct Message {
    /// The subject to which it was published.
    pub subject: String,
    /// The subject for an answer.
    pub reply: Option<String>,
    /// Its headers.
    pub headers: Headers,
    /// Its content.
    pub payload: Bytes,
}

/// State of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    /// Connected, for the nth time.
    Connected(u64),
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
    shared: Arc<Shared>,
    _end: Arc<DropGuard>,
}

struct Shared {
    commands: mpsc::UnboundedSender<Command>,
    subscriptions: Mutex<HashMap<u64, Entry>>,
    next_subscription: AtomicU64,
    state: watch::Sender<ConnectionState>,
    max_payload: AtomicU64,
    pongs: Mutex<VecDeque<Option<oneshot::Sender<()>>>>,
    refusals: broadcast::Sender<Refusal>,
}

struct Entry {
    subject: String,
    queue: Option<&'static str>,
    messages: mpsc::Sender<Message>,
}

enum Command {
    Publish {
        subject: String,
        reply: Option<String>,
        headers: Headers,
        payload: Bytes,
    },
    Subscribe(u64),
    Unsubscribe(u64),
    Flush(oneshot::Sender<()>),
    Pong,
}

/// Messages of one subject. The subscription ends with it.
pub struct Subscription {
    messages: mpsc::Receiver<Message>,
    _guard: SubscriptionGuard,
}

/// A subscription whose messages go to a shared channel. Dropping it ends the subscription.
pub(crate) struct SubscriptionGuard {
    shared: Arc<Shared>,
    id: u64,
}

impl Client {
    /// Connects with a server.
    ///
    /// # Errors
    /// If no server accepts the client. Later the client connects again by itself.
    pub async fn connect(options: ConnectOptions) -> Result<Client, ConnectError> {
        let first = establish(&options).await?;
        let (commands, queue) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            commands,
            subscriptions: Mutex::default(),
            next_subscription: AtomicU64::new(1),
            state: watch::Sender::new(ConnectionState::Connected(1)),
            max_payload: AtomicU64::new(as_u64(first.info.max_payload)),
            pongs: Mutex::default(),
            refusals: broadcast::channel(256).0,
        });
        let end = CancellationToken::new();
        let running = keep_connected(shared.clone(), options, first, queue);
        let ended = end.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = ended.cancelled() => {}
                () = running => {}
            }
        });
        Ok(Client {
            shared,
            _end: Arc::new(end.drop_guard()),
        })
    }

    /// Publishes a message. It is dropped if there is no connection.
    pub fn publish(
        &self,
        subject: impl Into<String>,
        reply: Option<&str>,
        headers: Headers,
        payload: Bytes,
    ) {
        self.shared.send(Command::Publish {
            subject: subject.into(),
            reply: reply.map(str::to_owned),
            headers,
            payload,
        });
    }

    /// Subscribes to a subject. Beyond `capacity` unread messages, others are dropped.
    pub fn subscribe(&self, subject: impl Into<String>, capacity: usize) -> Subscription {
        let (sender, messages) = mpsc::channel(capacity);
        Subscription {
            messages,
            _guard: self.subscribe_into(subject, None, sender),
        }
    }

    /// Subscribes to a subject, as one of the group `queue` if there is one. The messages go to a
    /// channel.
    pub(crate) fn subscribe_into(
        &self,
        subject: impl Into<String>,
        queue: Option<&'static str>,
        messages: mpsc::Sender<Message>,
    ) -> SubscriptionGuard {
        let id = (self.shared.next_subscription).fetch_add(1, Ordering::Relaxed);
        let entry = Entry {
            subject: subject.into(),
            queue,
            messages,
        };
        self.shared.subscriptions.lock().insert(id, entry);
        self.shared.send(Command::Subscribe(id));
        SubscriptionGuard {
            shared: self.shared.clone(),
            id,
        }
    }

    /// Waits until the server has taken everything that was published and subscribed before. Returns
    /// false if the connection ended first.
    pub async fn flush(&self) -> bool {
        let (sender, done) = oneshot::channel();
        self.shared.send(Command::Flush(sender));
        done.await.is_ok()
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// If there is none within that time.
    pub async fn connected(&self, within: Duration) -> Result<(), ConnectError> {
        let mut state = self.shared.state.subscribe();
        let connected = state.wait_for(|state| matches!(state, ConnectionState::Connected(_)));
        match timeout(within, connected).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => match &*self.shared.state.borrow() {
                ConnectionState::Connected(_) => Ok(()),
                ConnectionState::Disconnected(why) => Err(ConnectError::new(why.clone())),
            },
        }
    }

    /// Follows the state of the connection.
    pub(crate) fn state(&self) -> watch::Receiver<ConnectionState> {
        self.shared.state.subscribe()
    }

    /// Follows what the server does not allow.
    pub(crate) fn refusals(&self) -> broadcast::Receiver<Refusal> {
        self.shared.refusals.subscribe()
    }

    /// Returns the limit of a message in bytes, with its headers.
    pub(crate) fn max_payload(&self) -> usize {
        usize::try_from(self.shared.max_payload.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }
}

impl Subscription {
    /// Returns true if a message waits to be read.
    pub fn is_waiting(&self) -> bool {
        !self.messages.is_empty()
    }

    /// Waits for the next message. Cancel safe.
    pub async fn next(&mut self) -> Option<Message> {
        self.messages.recv().await
    }
}

impl SubscriptionGuard {
    /// Tells the server to send no more. What it has sent before still arrives.
    pub(crate) fn unsubscribe(&mut self) {
        self.shared.send(Command::Unsubscribe(self.id));
    }
}

impl Drop for SubscriptionGuard {
    fn drop(&mut self) {
        self.shared.subscriptions.lock().remove(&self.id);
        self.shared.send(Command::Unsubscribe(self.id));
    }
}

impl Shared {
    fn send(&self, command: Command) {
        // Without a task there is no connection any more.
        let _ = self.commands.send(command);
    }

    fn deliver(&self, message: protocol::RawMessage) {
        let sender = {
            let subscriptions = self.subscriptions.lock();
            let entry = subscriptions.get(&message.subscription);
            entry.map(|entry| entry.messages.clone())
        };
        let Some(sender) = sender else {
            return;
        };
        let message = Message {
            subject: message.subject,
            reply: message.reply,
            headers: message.headers,
            payload: message.payload,
        };
        if let Err(mpsc::error::TrySendError::Full(message)) = sender.try_send(message) {
            tracing::warn!(subject = message.subject, "a message was dropped: too many");
        }
    }

    /// Notes what the server does not allow.
    fn refuse(&self, error: &str) {
        tracing::warn!("the NATS server: {error}");
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

/// Keeps the connection until the future is dropped.
async fn keep_connected(
    shared: Arc<Shared>,
    options: ConnectOptions,
    first: Established,
    mut commands: mpsc::UnboundedReceiver<Command>,
) {
    let mut established = first;
    let mut count = 1;
    loop {
        let why = converse(&shared, established, &mut commands).await;
        tracing::warn!("the connection with the NATS server ended: {why}");
        shared.pongs.lock().clear();
        shared
            .state
            .send_replace(ConnectionState::Disconnected(why));
        established = {
            let mut connecting = pin!(reconnect(&shared, &options));
            loop {
                tokio::select! {
                    established = &mut connecting => break established,
                    // Dropped: a flush ends with its sender.
                    command = commands.recv() => if command.is_none() {
                        return;
                    },
                }
            }
        };
        count += 1;
        let limit = as_u64(established.info.max_payload);
        shared.max_payload.store(limit, Ordering::Relaxed);
        shared.state.send_replace(ConnectionState::Connected(count));
    }
}

async fn reconnect(shared: &Shared, options: &ConnectOptions) -> Established {
    let (mut delay, max_delay) = RECONNECT_DELAY;
    loop {
        sleep(delay).await;
        match establish(options).await {
            Ok(established) => return established,
            Err(error) => {
                let state = ConnectionState::Disconnected(error.to_string());
                shared.state.send_replace(state);
            }
        }
        delay = (delay * 2).min(max_delay);
    }
}

/// Reads and writes until the connection ends; returns the reason.
async fn converse(
    shared: &Shared,
    established: Established,
    commands: &mut mpsc::UnboundedReceiver<Command>,
) -> String {
    let (reader, writer) = tokio::io::split(established.stream);
    tokio::select! {
        why = read(shared, reader, established.received) => why,
        why = write(shared, writer, commands) => why,
    }
}

async fn read(
    shared: &Shared,
    mut reader: ReadHalf<impl tokio::io::AsyncRead>,
    mut received: BytesMut,
) -> String {
    loop {
        loop {
            match protocol::take(&mut received) {
                Ok(None) => break,
                Ok(Some(ServerOp::Message(message))) => shared.deliver(message),
                Ok(Some(ServerOp::Ping)) => shared.send(Command::Pong),
                Ok(Some(ServerOp::Pong)) => {
                    if let Some(Some(flushed)) = shared.pongs.lock().pop_front() {
                        // The waiting task may have ended.
                        let _ = flushed.send(());
                    }
                }
                Ok(Some(ServerOp::Error(error))) => {
                    shared.refuse(&error);
                    // The server closes the connection after all other errors.
                    if !error.starts_with("Permissions Violation") {
                        return error;
                    }
                }
                Ok(Some(ServerOp::Info(_) | ServerOp::Ok)) => {}
                Err(why) => return why,
            }
        }
        received.reserve(READ);
        match reader.read_buf(&mut received).await {
            Ok(0) => return "the server closed the connection".to_owned(),
            Ok(_) => {}
            Err(error) => return plain(&error),
        }
    }
}

async fn write(
    shared: &Shared,
    mut writer: WriteHalf<impl tokio::io::AsyncWrite>,
    commands: &mut mpsc::UnboundedReceiver<Command>,
) -> String {
    let mut bytes = BytesMut::new();
    {
        let subscriptions = shared.subscriptions.lock();
        for (id, entry) in subscriptions.iter() {
            protocol::subscribe(&mut bytes, &entry.subject, entry.queue, *id);
        }
    }
    let mut pings = interval(PING_INTERVAL);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Its first tick is at once.
    pings.tick().await;
    loop {
        if !bytes.is_empty() {
            let writing = async {
                writer.write_all(&bytes).await?;
                writer.flush().await
            };
            match timeout(WRITE_TIMEOUT, writing).await {
                Ok(Ok(())) => bytes.clear(),
                Ok(Err(error)) => return plain(&error),
                Err(_) => return "the server does not read".to_owned(),
            }
        }
        tokio::select! {
            command = commands.recv() => match command {
                None => return "the client has ended".to_owned(),
                Some(command) => append(shared, command, &mut bytes),
            },
            _ = pings.tick() => {
                let mut pongs = shared.pongs.lock();
                if pongs.len() >= 2 && pongs.iter().filter(|pong| pong.is_none()).count() >= 2 {
                    return "the server does not answer".to_owned();
                }
                pongs.push_back(None);
                bytes.extend_from_slice(b"PING\r\n");
            }
        }
        while bytes.len() < BATCH {
            match commands.try_recv() {
                Ok(command) => append(shared, command, &mut bytes),
                Err(_) => break,
            }
        }
    }
}

fn append(shared: &Shared, command: Command, bytes: &mut BytesMut) {
    match command {
        Command::Publish {
            subject,
            reply,
            headers,
            payload,
        } => protocol::publish(bytes, &subject, reply.as_deref(), &headers, &payload),
        Command::Subscribe(id) => {
            if let Some(entry) = shared.subscriptions.lock().get(&id) {
                protocol::subscribe(bytes, &entry.subject, entry.queue, id);
            }
        }
        Command::Unsubscribe(id) => bytes.extend_from_slice(format!("UNSUB {id}\r\n").as_bytes()),
        Command::Flush(flushed) => {
            shared.pongs.lock().push_back(Some(flushed));
            bytes.extend_from_slice(b"PING\r\n");
        }
        Command::Pong => bytes.extend_from_slice(b"PONG\r\n"),
    }
}

fn as_u64(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
