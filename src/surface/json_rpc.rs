//! Parser of JSON-RPC 2.0 messages.
//!
//! Nothing here does I/O. Parameters and ids stay raw, so that an id is returned exactly as it was
//! sent, and arguments keep all their digits.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Id of a request, exactly as it was sent.
pub(crate) type Id = Box<RawValue>;

/// The messages in a text.
pub(crate) enum Messages<'a> {
    /// Only spaces.
    Blank,
    Single(&'a str),
    Batch(Vec<&'a RawValue>),
}

/// A parsed message.
pub(crate) enum Message {
    Request(Request),
    Reply(Reply),
}

/// A request, or a notification if it has no id.
pub(crate) struct Request {
    pub(crate) id: Option<Id>,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
}

/// The peer's reply to a request of haft.
pub(crate) struct Reply {
    pub(crate) id: Option<Id>,
    pub(crate) result: Option<Box<RawValue>>,
    pub(crate) error: Option<Box<RawValue>>,
}

/// Reason for which a text or a message is refused.
pub(crate) struct Fault {
    /// The id of the message, if it could be read.
    pub(crate) id: Option<Id>,
    /// True if the text is not JSON; false if it is JSON, but not a message.
    pub(crate) is_syntax: bool,
    pub(crate) text: String,
}

impl Fault {
    fn syntax(error: &serde_json::Error) -> Fault {
        Fault {
            id: None,
            is_syntax: true,
            text: format!("the message is not JSON: {error}"),
        }
    }

    fn invalid(id: Option<&RawValue>, text: impl Into<String>) -> Fault {
        Fault {
            id: id.map(ToOwned::to_owned),
            is_syntax: false,
            text: text.into(),
        }
    }
}

/// The known members of a message; others are ignored.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Distinguishes `null` from a missing member: a request with the id `null` expects a response.
fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(member).map(Some)
}

/// Separates the messages of a line or a body.
pub(crate) fn split(text: &str) -> Result<Messages<'_>, Fault> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(Messages::Blank);
    }
    if !text.starts_with('[') {
        return Ok(Messages::Single(text));
    }
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Ok(messages) if messages.is_empty() => Err(Fault::invalid(None, "the batch is empty")),
        Ok(messages) => Ok(Messages::Batch(messages)),
        Err(error) => Err(Fault::syntax(&error)),
    }
}

/// Parses one message.
pub(crate) fn parse(text: &str) -> Result<Message, Fault> {
    let json: &RawValue = serde_json::from_str(text).map_err(|error| Fault::syntax(&error))?;
    if !json.get().starts_with('{') {
        return Err(Fault::invalid(None, "a message is a JSON object"));
    }
    let envelope: Envelope<'_> = serde_json::from_str(json.get())
        .map_err(|error| Fault::invalid(None, error.to_string()))?;
    let id = envelope.id;
    if id.is_some_and(|id| id.get().starts_with(['{', '[', 't', 'f'])) {
        return Err(Fault::invalid(None, "`id` is a string, a number or null"));
    }
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(Fault::invalid(id, "`jsonrpc` must be \"2.0\""));
    }
    let owned = |raw: Option<&RawValue>| raw.map(ToOwned::to_owned);
    match envelope.method {
        Some(method) => {
            let method = serde_json::from_str(method.get());
            let method = method.map_err(|_| Fault::invalid(id, "`method` is a string"))?;
            Ok(Message::Request(Request {
                id: owned(id),
                method,
                params: owned(envelope.params),
            }))
        }
        None if envelope.result.is_some() || envelope.error.is_some() => {
            Ok(Message::Reply(Reply {
                id: owned(id),
                result: owned(envelope.result),
                error: owned(envelope.error),
            }))
        }
        None => Err(Fault::invalid(id, "there is no `method`")),
    }
}

/// Returns the id of a reply that [`parse`] refuses, or of which only the beginning is known. The
/// caller can then fail the request instead of waiting for another reply. `None` for requests, and
/// if the id is not in the readable part.
pub(crate) fn id_of_reply(text: &str) -> Option<Id> {
    let mut head = Head::default();
    let mut parser = serde_json::Deserializer::from_str(text);
    // The error is the reason for this function. It comes after the readable members.
    let _ = (&mut head).deserialize(&mut parser);
    head.id.filter(|_| !head.is_request)
}

/// The first readable members of a message.
#[derive(Default)]
struct Head {
    id: Option<Id>,
    is_request: bool,
}

impl<'de> DeserializeSeed<'de> for &mut Head {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, message: D) -> Result<(), D::Error> {
        message.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Head {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<Cow<'_, str>>()? {
            match &*name {
                "id" => self.id = Some(members.next_value()?),
                name => {
                    self.is_request |= name == "method";
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
