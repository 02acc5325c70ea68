//! The protocol of NATS clients: control lines, messages and their headers.

use std::fmt::Write as _;

use bytes::{Buf, Bytes, BytesMut};
use serde::Deserialize;

/// Limit of a control line in bytes. `INFO` is the longest one.
const MAX_LINE: usize = 1 << 20;

/// Limit of a message in bytes, whatever the server allows.
const MAX_MESSAGE: usize = 64 << 20;

/// First line of headers.
const VERSION: &str = "NATS/1.0";

/// Status of a message that says that a subject has no subscriber.
const NO_RESPONDERS: u16 = 503;

/// Operation that the server sends.
#[derive(Debug, PartialEq)]
pub(crate) enum ServerOp {
    Info(Box<ServerInfo>),
    Message(RawMessage),
    Ping,
    Pong,
    Ok,
    Error(String),
}

/// A message as the server delivers it.
#[derive(Debug, PartialEq)]
pub(crate) struct RawMessage {
    pub(crate) subscription: u64,
    pub(crate) subject: String,
    pub(crate) reply: Option<String>,
    pub(crate) headers: Headers,
    pub(crate) payload: Bytes,
}

/// Description that a server sends of itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct ServerInfo {
    pub(crate) server_name: String,
    pub(crate) version: String,
    pub(crate) max_payload: usize,
    pub(crate) headers: bool,
    pub(crate) tls_required: bool,
    pub(crate) tls_available: bool,
    pub(crate) auth_required: bool,
    pub(crate) nonce: Option<String>,
    /// Set before the server ends.
    pub(crate) ldm: bool,
}

/// Headers of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    status: Option<u16>,
    fields: Vec<(String, String)>,
}

impl Headers {
    /// Returns the value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the value of a header that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// Adds a header. Line breaks in its value become spaces.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Headers {
        let mut value: String = value.into();
        if value.contains(['\r', '\n']) {
            value = value.replace(['\r', '\n'], " ");
        }
        self.fields.push((name.to_owned(), value));
        self
    }

    /// Returns true if the server says that the subject of a request has no subscriber.
    pub fn is_no_responders(&self) -> bool {
        self.status == Some(NO_RESPONDERS)
    }

    fn is_empty(&self) -> bool {
        self.status.is_none() && self.fields.is_empty()
    }

    fn parse(bytes: &[u8]) -> Headers {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let first = lines.next().and_then(|line| line.strip_prefix(VERSION));
        let status = first.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        let fields = lines.filter_map(|line| line.split_once(':'));
        Headers {
            status,
            fields: fields
                .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                .collect(),
        }
    }

    fn encoded(&self) -> String {
        let mut text = format!("{VERSION}\r\n");
        for (name, value) in &self.fields {
            // Writing to a text never fails.
            let _ = write!(text, "{name}: {value}\r\n");
        }
        text.push_str("\r\n");
        text
    }
}

/// Takes the first whole operation out of the received bytes; `None` if there is none yet.
///
/// # Errors
/// If the bytes are not the protocol. The connection is of no use any more.
pub(crate) fn take(received: &mut BytesMut) -> Result<Option<ServerOp>, String> {
    let Some(end) = received.iter().position(|byte| *byte == b'\n') else {
        if received.len() > MAX_LINE {
            return Err(format!("a line has more than {MAX_LINE} bytes"));
        }
        return Ok(None);
    };
    let line = received.get(..end).unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| "a line is not UTF-8")?;
    let line = line.trim_end_matches('\r');
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let operation = match word.to_ascii_uppercase().as_str() {
        "MSG" => return message(rest.to_owned(), end + 1, received, false),
        "HMSG" => return message(rest.to_owned(), end + 1, received, true),
        "PING" => ServerOp::Ping,
        "PONG" => ServerOp::Pong,
        "+OK" => ServerOp::Ok,
        "-ERR" => ServerOp::Error(rest.trim().trim_matches('\'').to_owned()),
        "INFO" => {
            let info = serde_json::from_str(rest);
            ServerOp::Info(info.map_err(|error| format!("its INFO cannot be read: {error}"))?)
        }
        _ => return Err("it does not speak the protocol of NATS".to_owned()),
    };
    received.advance(end + 1);
    Ok(Some(operation))
}

fn message(
    line: String,
    begin: usize,
    received: &mut BytesMut,
    has_headers: bool,
) -> Result<Option<ServerOp>, String> {
    let invalid = || "a message has an invalid first line".to_owned();
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &str| word.parse::<usize>().map_err(|_| invalid());
    let sizes = if has_headers { 2 } else { 1 };
    let (names, sizes) = match words.len().checked_sub(sizes) {
        Some(names @ 2..=3) => words.split_at(names),
        _ => return Err(invalid()),
    };
    let total = sizes.last().map_or(Err(invalid()), |size| number(size))?;
    let in_headers = match sizes {
        [headers, _] => number(headers)?,
        _ => 0,
    };
    if in_headers > total || total > MAX_MESSAGE {
        return Err(format!("a message has {total} bytes"));
    }
    let needed = begin + total + 2;
    if received.len() < needed {
        received.reserve(needed - received.len());
        return Ok(None);
    }
    let (subject, subscription, reply) = match names {
        [subject, subscription] => (subject, subscription, None),
        [subject, subscription, reply] => (subject, subscription, Some((*reply).to_owned())),
        _ => return Err(invalid()),
    };
    let subscription = subscription.parse().map_err(|_| invalid())?;
    let subject = (*subject).to_owned();
    received.advance(begin);
    let mut body = received.split_to(total).freeze();
    received.advance(2);
    let headers = Headers::parse(&body.split_to(in_headers));
    Ok(Some(ServerOp::Message(RawMessage {
        subscription,
        subject,
        reply,
        headers: if has_headers {
            headers
        } else {
            Headers::default()
        },
        payload: body,
    })))
}

/// Appends the operation that publishes a message.
pub(crate) fn publish(
    to: &mut BytesMut,
    subject: &str,
    reply: Option<&str>,
    headers: &Headers,
    payload: &[u8],
) {
    let reply = reply.map_or(String::new(), |reply| format!("{reply} "));
    let line = if headers.is_empty() {
        format!("PUB {subject} {reply}{}\r\n", payload.len())
    } else {
        let headers = headers.encoded();
        let (own, total) = (headers.len(), headers.len() + payload.len());
        format!("HPUB {subject} {reply}{own} {total}\r\n{headers}")
    };
    to.extend_from_slice(line.as_bytes());
    to.extend_from_slice(payload);
    to.extend_from_slice(b"\r\n");
}

/// Appends the operation that subscribes.
pub(crate) fn subscribe(to: &mut BytesMut, subject: &str, queue: Option<&str>, id: u64) {
    let queue = queue.map_or(String::new(), |queue| format!("{queue} "));
    to.extend_from_slice(format!("SUB {subject} {queue}{id}\r\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds the bytes one by one and returns the operations.
    fn taken(bytes: &[u8]) -> Result<Vec<ServerOp>, String> {
        let (mut received, mut operations) = (BytesMut::new(), Vec::new());
        for byte in bytes {
            received.extend_from_slice(&[*byte]);
            while let Some(operation) = take(&mut received)? {
                operations.push(operation);
            }
        }
        assert!(received.is_empty(), "{received:?}");
        Ok(operations)
    }

    #[test]
    fn operations_are_read_whatever_their_pieces() {
        let mut sent = BytesMut::new();
        sent.extend_from_slice(b"INFO {\"max_payload\":7,\"nonce\":\"n\",\"more\":[]}\r\nPING\r\n");
        sent.extend_from_slice(
            b"MSG a.b 9 5\r\nx\r\ny \r\nMSG a.b 9 re.ply 0\r\n\r\n-ERR 'No'\r\n",
        );
        sent.extend_from_slice(b"HMSG a 1 30 33\r\nNATS/1.0\r\nA: b\r\nHaft-Seq:7\r\n\r\nend\r\n");
        sent.extend_from_slice(b"HMSG a 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n+OK\r\npong\r\n");
        let operations = taken(&sent).expect("they are valid");
        let [
            ServerOp::Info(info),
            ServerOp::Ping,
            ServerOp::Message(first),
            ServerOp::Message(second),
            ServerOp::Error(error),
            ServerOp::Message(third),
            ServerOp::Message(fourth),
            ServerOp::Ok,
            ServerOp::Pong,
        ] = &operations[..]
        else {
            panic!("{operations:?}");
        };
        assert_eq!((info.max_payload, info.nonce.as_deref()), (7, Some("n")));
        assert_eq!((&*first.payload, first.subscription), (&b"x\r\ny "[..], 9));
        assert_eq!(second.reply.as_deref(), Some("re.ply"));
        assert_eq!(error, "No");
        assert_eq!(third.headers.get("a"), Some("b"));
        assert_eq!(third.headers.number("Haft-Seq"), Some(7));
        assert_eq!(&*third.payload, b"end");
        assert!(fourth.headers.is_no_responders());
    }

    #[test]
    fn what_is_not_the_protocol_is_an_error() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"MSG\r\n",
            b"MSG a 1\r\n",
            b"MSG a b c d 1\r\n",
            b"MSG a x 1\r\na\r\n",
            b"MSG a 1 -1\r\n",
            b"MSG a 1 99999999999999999999\r\n",
            b"MSG a 1 100000000\r\n",
            b"HMSG a 1 9 3\r\n",
            b"INFO {\r\n",
            b"\xff\xff\r\n",
            b"\r\n",
        ] {
            assert!(taken(bytes).is_err(), "{bytes:?}");
        }
        let mut endless = BytesMut::from(&vec![b'x'; MAX_LINE + 1][..]);
        assert!(take(&mut endless).is_err());
    }

    #[test]
    fn headers_cannot_be_smuggled() {
        let headers = Headers::default().with("A", "b\r\nC: d");
        let mut sent = BytesMut::new();
        publish(&mut sent, "s", Some("r"), &headers, b"p");
        let text = String::from_utf8_lossy(&sent);
        assert_eq!(
            text,
            "HPUB s r 24 25\r\nNATS/1.0\r\nA: b  C: d\r\n\r\np\r\n"
        );
    }
}
