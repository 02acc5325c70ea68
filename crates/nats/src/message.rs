//! Messages and their headers.

use async_nats::{HeaderMap, HeaderName, StatusCode};
use bytes::Bytes;

use crate::reply::UnverifiedReply;

/// A message of a subscription.
#[derive(Clone, Debug)]
pub struct Message {
    /// The subject to which it was published.
    pub subject: String,
    /// The subject for an answer, as the sender has written it.
    pub(crate) reply: Option<UnverifiedReply>,
    /// Its headers.
    pub headers: Headers,
    /// Its content.
    pub payload: Bytes,
}

/// Headers of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    status: Option<StatusCode>,
    fields: HeaderMap,
}

impl Headers {
    /// Returns the value of a header, whatever the case of its name.
    pub fn get(&self, name: &'static str) -> Option<&str> {
        let found = self.fields.get(HeaderName::from_static(name));
        let found = found.or_else(|| {
            let mut fields = self.fields.iter();
            let found = fields.find(|(field, _)| field.to_string().eq_ignore_ascii_case(name));
            found?.1.first()
        });
        found.map(|value| value.as_str())
    }

    /// Returns the value of a header that is a number.
    pub fn number(&self, name: &'static str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    /// Adds a header. Line breaks in its value become spaces.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Headers {
        let mut value: String = value.into();
        if value.contains(['\r', '\n']) {
            value = value.replace(['\r', '\n'], " ");
        }
        self.fields.append(HeaderName::from_static(name), value);
        self
    }

    /// Returns true if the server says that the subject of a request has no subscriber.
    pub fn is_no_responders(&self) -> bool {
        self.status == Some(StatusCode::NO_RESPONDERS)
    }

    /// Returns the fields as they are published.
    pub(crate) fn into_fields(self) -> HeaderMap {
        self.fields
    }

    /// Returns the headers of a message that was received.
    pub(crate) fn of(fields: Option<HeaderMap>, status: Option<StatusCode>) -> Headers {
        let fields = fields.unwrap_or_default();
        Headers { status, fields }
    }
}

impl From<async_nats::Message> for Message {
    fn from(message: async_nats::Message) -> Message {
        Message {
            headers: Headers::of(message.headers, message.status),
            subject: message.subject.into_string(),
            reply: (message.reply).map(|reply| UnverifiedReply::new(reply.into_string())),
            payload: message.payload,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_cannot_be_smuggled() {
        let headers = Headers::default().with("A", "b\r\nC: d");
        assert_eq!(headers.get("a"), Some("b  C: d"));
        assert_eq!(headers.get("C"), None);
    }
}
