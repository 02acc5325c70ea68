//! The messages of one call in one direction and back: in their order, of any size, again if they
//! were lost.
//!
//! NATS delivers at most once and limits the size of a message. A link numbers the messages, sends
//! again what the other side has not got, and cuts long frames into messages. Not more than a window
//! is on the way, because a server disconnects clients that read too slowly. Each side sends a sign of
//! life when it has nothing to send, and counts as lost without one.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::client::{Client, ConnectionState, Subscription};
use crate::message::{Headers, Message};

/// Number of a message.
const SEQUENCE: &str = "Haft-Seq";
/// Number of the message that is expected next; all before it have arrived.
const EXPECTED: &str = "Haft-Ack";
/// Set if the frame goes on in the next message.
const MORE: &str = "Haft-More";
/// Set if a message is missing.
const AGAIN: &str = "Haft-Again";

/// Secret of the call. What comes without it is not a message of the link.
const KEY: &str = "Haft-Key";

/// Set if the other side has given up the call.
const BYE: &str = "Haft-Bye";

/// Room for headers in a message of the largest size.
const ROOM_FOR_HEADERS: usize = 4 << 10;

/// Limit of a message in bytes, whatever the server allows: a large one delays all others.
const MAX_MESSAGE: usize = 512 << 10;

/// Limits of what is on the way: messages and bytes.
const WINDOW: (usize, usize) = (64, 4 << 20);

/// A side that has got this much, in messages and bytes, says so at once.
const CONFIRM_AFTER: (usize, usize) = (8, 1 << 20);

/// Interval of signs of life.
const HEARTBEAT: Duration = Duration::from_millis(750);

/// Time after which a message without confirmation is sent again.
const RESEND_AFTER: Duration = Duration::from_millis(2000);

/// Time between two repetitions that the other side asks for.
const RESEND_AT_ONCE: Duration = Duration::from_millis(100);

/// Time without a connection after which a call is given up.
const MAX_OUTAGE: Duration = Duration::from_secs(30);

/// One end of a link.
pub(crate) struct Link {
    client: Client,
    to: String,
    key: String,
    /// The subject of the messages.
    from: String,
    messages: Subscription,
    connection: watch::Receiver<ConnectionState>,
    options: LinkOptions,
    /// Messages that the other side has not confirmed, the first with the number `confirmed`.
    unconfirmed: VecDeque<Part>,
    /// Their bytes.
    waiting: usize,
    confirmed: u64,
    /// Number of the unconfirmed messages that were sent.
    sent: usize,
    sent_at: Instant,
    /// Number of the message that is expected next.
    expected: u64,
    partial: BytesMut,
    /// Messages and bytes that have arrived since the last confirmation.
    unsaid: (usize, usize),
    spoke_at: Instant,
    heard_at: Instant,
    /// Set while the other side is not known to listen.
    is_held: bool,
    has_heard: bool,
    /// Set if it matters whether the other side still listens.
    is_asking: bool,
    /// Set when both sides know the end.
    is_over: bool,
}

/// Limits of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkOptions {
    /// Time without a sign of life after which the other side is lost.
    pub(crate) silence: Duration,
    /// Limit of a received frame in bytes.
    pub(crate) max_frame: usize,
}

struct Part {
    bytes: Bytes,
    has_more: bool,
}

/// Event of a link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkEvent {
    Frame(Bytes),
    /// The other side has everything.
    Confirmed,
    /// The subject of the call has no subscriber.
    NoResponders,
    /// There was no sign of life for too long, or the other side has given up the call.
    Silent,
    /// There is no connection with the server, for this reason.
    Disconnected(String),
    /// The other side does not keep to the protocol.
    Broken(&'static str),
}

impl Link {
    /// Opens an end that sends to the subject `to` and receives what comes on `from`, all with `key`. A
    /// held one sends nothing before it has received something.
    pub(crate) async fn open(
        client: &Client,
        (from, to, key): (String, String, String),
        options: LinkOptions,
        is_held: bool,
    ) -> Link {
        let messages = client.subscribe(from.clone()).await;
        let now = Instant::now();
        Link {
            connection: client.state(),
            client: client.clone(),
            to,
            key,
            from,
            messages,
            options,
            unconfirmed: VecDeque::new(),
            waiting: 0,
            confirmed: 0,
            sent: 0,
            sent_at: now,
            expected: 0,
            partial: BytesMut::new(),
            unsaid: (0, 0),
            spoke_at: now,
            heard_at: now,
            is_held,
            has_heard: false,
            is_asking: false,
            is_over: false,
        }
    }

    /// Sends a frame when the window allows it.
    pub(crate) fn send(&mut self, mut frame: Bytes) {
        let limit = self.client.max_payload().saturating_sub(ROOM_FOR_HEADERS);
        let limit = limit.clamp(1 << 10, MAX_MESSAGE);
        loop {
            let bytes = frame.split_to(frame.len().min(limit));
            let has_more = !frame.is_empty();
            self.waiting += bytes.len();
            self.unconfirmed.push_back(Part { bytes, has_more });
            if !has_more {
                break;
            }
        }
        self.pump();
    }

    /// Sends a frame also if the other side is not known to listen yet.
    pub(crate) fn send_at_once(&mut self, frame: Bytes) {
        self.is_held = false;
        self.send(frame);
    }

    /// Sends a frame whose confirmation shows that the other side still listens. If it has not been heard
    /// and does not listen, the server says so.
    pub(crate) fn ask(&mut self, frame: Bytes) {
        self.is_asking = true;
        self.send(frame);
    }

    /// Confirms at once what has arrived.
    pub(crate) fn acknowledge(&mut self) {
        self.say(Headers::default());
    }

    /// Returns true if the other side has everything.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.unconfirmed.is_empty()
    }

    /// Returns the number of bytes that wait to be confirmed.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Confirms what has arrived, at the end of a call.
    pub(crate) fn confirm(mut self) {
        self.say(Headers::default());
        self.is_over = true;
    }

    /// Ends a link whose other side has everything.
    pub(crate) fn end(mut self) {
        self.is_over = true;
    }

    /// Waits for the next event. Cancel safe.
    pub(crate) async fn next(&mut self) -> LinkEvent {
        loop {
            if let Some(event) = self.connection_event() {
                return event;
            }
            let beat = self.spoke_at + HEARTBEAT;
            let resend = self.sent_at + RESEND_AFTER;
            let has_sent = self.sent > 0;
            let silent = self.heard_at + self.options.silence;
            tokio::select! {
                biased;
                message = self.messages.next() => {
                    let Some(message) = message else {
                        return LinkEvent::Disconnected("the client has ended".to_owned());
                    };
                    if let Some(event) = self.receive(message) {
                        return event;
                    }
                }
                changed = self.connection.changed() => {
                    if changed.is_err() {
                        return LinkEvent::Disconnected("the client has ended".to_owned());
                    }
                    if matches!(&*self.connection.borrow(), ConnectionState::Connected) {
                        // The other side gets the time of a new call.
                        self.heard_at = Instant::now();
                        self.sent = 0;
                        self.pump();
                        self.say(Headers::default());
                    }
                }
                () = sleep_until(silent), if self.is_connected() => return LinkEvent::Silent,
                () = sleep_until(beat), if !self.is_held => self.say(Headers::default()),
                () = sleep_until(resend), if has_sent => {
                    self.sent = 0;
                    self.pump();
                }
                () = sleep_until(self.heard_at + MAX_OUTAGE), if !self.is_connected() => {}
            }
        }
    }

    fn is_connected(&self) -> bool {
        matches!(&*self.connection.borrow(), ConnectionState::Connected)
    }

    fn connection_event(&self) -> Option<LinkEvent> {
        match &*self.connection.borrow() {
            ConnectionState::Disconnected(why) if self.heard_at.elapsed() >= MAX_OUTAGE => {
                Some(LinkEvent::Disconnected(why.clone()))
            }
            _ => None,
        }
    }

    fn receive(&mut self, message: Message) -> Option<LinkEvent> {
        let headers = &message.headers;
        if !self.has_heard && headers.is_no_responders() {
            return Some(LinkEvent::NoResponders);
        }
        if headers.get(KEY) != Some(&self.key) {
            return None;
        }
        self.heard_at = Instant::now();
        if !std::mem::replace(&mut self.has_heard, true) {
            // What was sent before the other side listened is lost.
            self.sent = 0;
        }
        if headers.get(BYE).is_some() {
            self.is_over = true;
            return Some(LinkEvent::Silent);
        }
        let was_held = std::mem::take(&mut self.is_held);
        let mut is_news = false;
        if let Some(expected) = headers.number(EXPECTED) {
            let confirmed = expected.checked_sub(self.confirmed);
            let confirmed = confirmed.and_then(|count| usize::try_from(count).ok());
            // An older one says nothing new, and what was not sent cannot be confirmed.
            if let Some(count) = confirmed.filter(|count| *count <= self.unconfirmed.len()) {
                for part in self.unconfirmed.drain(..count) {
                    self.waiting -= part.bytes.len();
                }
                self.confirmed = expected;
                self.sent = self.sent.saturating_sub(count);
                if count > 0 {
                    self.sent_at = Instant::now();
                    is_news = self.unconfirmed.is_empty();
                }
            }
        }
        // Every message after a missing one says so.
        if headers.get(AGAIN).is_some() && self.sent_at.elapsed() >= RESEND_AT_ONCE {
            self.sent = 0;
        }
        if was_held || !self.unconfirmed.is_empty() {
            self.pump();
        }
        let Some(sequence) = headers.number(SEQUENCE) else {
            return is_news.then_some(LinkEvent::Confirmed);
        };
        if sequence != self.expected {
            // One that came before is confirmed again, because the confirmation may be lost.
            let headers = if sequence > self.expected {
                Headers::default().with(AGAIN, "1")
            } else {
                Headers::default()
            };
            self.say(headers);
            return None;
        }
        self.expected += 1;
        self.unsaid.0 += 1;
        self.unsaid.1 += message.payload.len();
        if self.partial.len() + message.payload.len() > self.options.max_frame {
            return Some(LinkEvent::Broken("a frame is too long"));
        }
        if self.unsaid.0 >= CONFIRM_AFTER.0 || self.unsaid.1 >= CONFIRM_AFTER.1 {
            self.say(Headers::default());
        }
        if message.headers.get(MORE).is_some() {
            self.partial.extend_from_slice(&message.payload);
            return None;
        }
        if self.partial.is_empty() {
            return Some(LinkEvent::Frame(message.payload));
        }
        self.partial.extend_from_slice(&message.payload);
        Some(LinkEvent::Frame(self.partial.split().freeze()))
    }

    /// Sends what the window allows.
    fn pump(&mut self) {
        if self.is_held || !self.is_connected() {
            return;
        }
        let mut on_the_way: usize = {
            let sent = self.unconfirmed.iter().take(self.sent);
            sent.map(|part| part.bytes.len()).sum()
        };
        while let Some(part) = self.unconfirmed.get(self.sent) {
            if self.sent >= WINDOW.0 || on_the_way > 0 && on_the_way + part.bytes.len() > WINDOW.1 {
                break;
            }
            let number = self.confirmed + u64::try_from(self.sent).unwrap_or(u64::MAX);
            let mut headers = Headers::default()
                .with(KEY, self.key.clone())
                .with(SEQUENCE, number.to_string())
                .with(EXPECTED, self.expected.to_string());
            if part.has_more {
                headers = headers.with(MORE, "1");
            }
            on_the_way += part.bytes.len();
            let bytes = part.bytes.clone();
            // The server says there if there is no subscriber.
            let reply = (self.is_asking && !self.has_heard).then_some(self.from.as_str());
            self.client.publish(self.to.clone(), reply, headers, bytes);
            if self.sent == 0 {
                self.sent_at = Instant::now();
            }
            self.sent += 1;
            self.spoke_at = Instant::now();
            self.unsaid = (0, 0);
        }
    }

    /// Sends a sign of life, which confirms what has arrived.
    fn say(&mut self, headers: Headers) {
        let headers = headers
            .with(KEY, self.key.clone())
            .with(EXPECTED, self.expected.to_string());
        self.client
            .publish(self.to.clone(), None, headers, Bytes::new());
        self.spoke_at = Instant::now();
        self.unsaid = (0, 0);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The other side need not wait for the silence.
        if !self.is_over {
            self.say(Headers::default().with(BYE, "1"));
        }
    }
}
