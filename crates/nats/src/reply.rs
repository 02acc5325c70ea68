//! Subjects on which a host answers.
//!
//! A host may publish to more subjects than its callers: those of its stream, its records, its news. A caller
//! names the subject of the answer, so any subject would make the host publish there for the caller, also a
//! request to the server. A [`ReplySubject`] is made only by parsing one that is an inbox or an event subject
//! of the tenant; the text that the caller has written is not readable elsewhere.

use std::sync::atomic::{AtomicU64, Ordering};

use haft_tool::{Error, ErrorKind};

use crate::subjects;

/// Limit of the length of a reply subject.
const MAX_REPLY: usize = 512;

/// Prefix of the inboxes of clients that have not chosen another one.
const DEFAULT_INBOX: &str = "_INBOX";

/// First tokens of subjects that are no inboxes: those of haft, and those by which servers of several
/// clusters pass an answer on to the subject in its end.
const RESERVED: [&str; 2] = ["haft", "_GR_"];

/// A reply subject as a client has written it.
#[derive(Clone, Debug)]
pub(crate) struct UnverifiedReply(String);

/// A subject on which a host may answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplySubject(String);

/// Error of a request whose reply subject is none on which a host answers.
#[derive(Debug)]
pub(crate) struct ReplyRefused;

/// Prefix of the inboxes of clients, in which they get answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxPrefix(String);

/// Parser of the reply subjects of one tenant's requests. It counts those that are refused.
#[derive(Debug)]
pub(crate) struct ReplyParser {
    /// Beginning of the subjects of inboxes.
    inboxes: String,
    /// Beginning of the subjects of events.
    events: String,
    /// Beginning of the subjects of readers of logs.
    log_readers: String,
    refused: AtomicU64,
}

impl UnverifiedReply {
    pub(crate) fn new(subject: String) -> UnverifiedReply {
        UnverifiedReply(subject)
    }
}

impl From<ReplySubject> for String {
    fn from(subject: ReplySubject) -> String {
        subject.0
    }
}

impl Default for InboxPrefix {
    fn default() -> InboxPrefix {
        InboxPrefix(DEFAULT_INBOX.to_owned())
    }
}

impl InboxPrefix {
    /// Parses the prefix of inboxes: one or more tokens of a subject.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it is not one, or if it is the beginning of subjects of haft or of the server.
    pub fn parse(text: &str) -> Result<InboxPrefix, Error> {
        let mut tokens = text.split('.');
        let is_reserved = tokens.next().is_none_or(|first| RESERVED.contains(&first));
        if !is_reserved && text.split('.').all(subjects::is_token) {
            return Ok(InboxPrefix(text.to_owned()));
        }
        let error = format!("`{text}` is not a prefix of inboxes");
        let hint = "it has tokens of letters, digits, `-` and `_`, as `_INBOX` or `_INBOX_acme`";
        Err(Error::new(ErrorKind::Usage, error).with_hint(hint))
    }
}

impl ReplyParser {
    pub(crate) fn new(tenant: &str, inbox: &InboxPrefix) -> ReplyParser {
        ReplyParser {
            inboxes: format!("{}.", inbox.0),
            events: subjects::events(tenant, ""),
            log_readers: subjects::log_answers(tenant, ""),
            refused: AtomicU64::new(0),
        }
    }

    /// Returns the subject for the answer to a request with the subject `request`. `None` if it wants no answer.
    pub(crate) fn of_request(
        &self,
        request: &str,
        reply: Option<&UnverifiedReply>,
    ) -> Result<Option<ReplySubject>, ReplyRefused> {
        self.parse(request, reply, |text| {
            let is_part = |token: &str| !token.is_empty() && token.chars().all(is_plain);
            let inbox = text.strip_prefix(&self.inboxes);
            inbox.is_some_and(|rest| rest.split('.').all(is_part))
                || text
                    .strip_prefix(&self.events)
                    .is_some_and(subjects::is_token)
        })
    }

    /// Returns the subject for a page of the log that the question with the subject `request` asks for.
    /// `None` if it wants none.
    pub(crate) fn of_log_question(
        &self,
        request: &str,
        reply: Option<&UnverifiedReply>,
    ) -> Result<Option<ReplySubject>, ReplyRefused> {
        self.parse(request, reply, |text| {
            let reader = text.strip_prefix(&self.log_readers);
            reader.is_some_and(subjects::is_token)
        })
    }

    /// Returns the number of requests that were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    fn parse(
        &self,
        request: &str,
        reply: Option<&UnverifiedReply>,
        is_allowed: impl Fn(&str) -> bool,
    ) -> Result<Option<ReplySubject>, ReplyRefused> {
        let Some(UnverifiedReply(reply)) = reply else {
            return Ok(None);
        };
        if reply.len() <= MAX_REPLY && is_allowed(reply) {
            return Ok(Some(ReplySubject(reply.clone())));
        }
        let count = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        // A client cannot fill the log.
        if count.is_power_of_two() {
            let reply: String = reply.chars().take(MAX_REPLY).collect();
            let reply = haft_tool::visible::line(&reply);
            tracing::warn!(
                subject = request,
                %reply,
                count,
                "a request is not answered: its reply subject is neither an inbox nor an event subject"
            );
        }
        Err(ReplyRefused)
    }
}

/// Returns true if a character can be in a token of an inbox.
fn is_plain(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !matches!(c, '*' | '>' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str = "haft.v1.list.acme";

    fn unverified(reply: &str) -> UnverifiedReply {
        UnverifiedReply::new(reply.to_owned())
    }

    #[test]
    fn only_inboxes_and_events_of_the_tenant_are_answered() {
        let replies = ReplyParser::new("acme", &InboxPrefix::default());
        for reply in [
            "_INBOX.a",
            "_INBOX.aB3.x$y.1",
            "haft.v1.evt.acme.01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ] {
            let parsed = replies.of_request(REQUEST, Some(&unverified(reply)));
            let subject = parsed.expect("it is allowed").expect("it is there");
            assert_eq!(String::from(subject), reply);
        }
        let long = format!("_INBOX.{}", "x".repeat(MAX_REPLY));
        let refused = [
            "",
            "_INBOX",
            "_INBOX.",
            "_INBOX..a",
            "_INBOX.a.",
            "_INBOX.*",
            "_INBOX.a.>",
            "_INBOX.a b",
            "_INBOX.a\r\nPUB x",
            "_INBOXES.a",
            "_inbox.a",
            "$JS.API.STREAM.DELETE.KV_HAFT_TASKS_acme",
            "$JS.ACK.HAFT_CALLS_acme.c.1.1.1.1.1",
            "$KV.HAFT_TASKS_acme.ID",
            "$SYS.REQ.USER.INFO",
            "_R_.a.b",
            "_GR_.abcdef.abcdef._INBOX.a",
            "haft.v1.evt.acme",
            "haft.v1.evt.acme.",
            "haft.v1.evt.acme.a.b",
            "haft.v1.evt.acme.*",
            "haft.v1.evt.other.a",
            "haft.v1.evt.acme.a\u{fc}",
            "haft.v1.ctl.acme.a",
            "haft.v1.call.acme.echo.d1",
            "haft.v1.q.acme.echo.d1",
            "haft.v1.news.acme",
            "haft.v1.log.acme.to.a",
            "haft.v1.log.acme.news",
            long.as_str(),
        ];
        for reply in refused {
            let parsed = replies.of_request(REQUEST, Some(&unverified(reply)));
            assert!(parsed.is_err(), "{reply}");
        }
        assert_eq!(replies.refused(), refused.len() as u64);
    }

    #[test]
    fn pages_of_logs_go_to_readers_only() {
        let replies = ReplyParser::new("acme", &InboxPrefix::default());
        let parsed = replies.of_log_question(REQUEST, Some(&unverified("haft.v1.log.acme.to.a")));
        assert!(parsed.expect("it is allowed").is_some());
        for reply in [
            "_INBOX.a",
            "haft.v1.log.acme.news",
            "haft.v1.log.other.to.a",
        ] {
            assert!(
                replies
                    .of_log_question(REQUEST, Some(&unverified(reply)))
                    .is_err(),
                "{reply}"
            );
        }
    }

    #[test]
    fn another_prefix_of_inboxes_replaces_the_first_one() {
        let prefix = InboxPrefix::parse("_INBOX_acme.hosts").expect("it is one");
        let replies = ReplyParser::new("acme", &prefix);
        assert!(
            replies
                .of_request(REQUEST, Some(&unverified("_INBOX_acme.hosts.a")))
                .is_ok()
        );
        assert!(
            replies
                .of_request(REQUEST, Some(&unverified("_INBOX.a")))
                .is_err()
        );
        for text in [
            "", ".", "a.", "haft", "haft.v1", "_GR_", "$JS", "$KV.a", "*", ">", "a b",
        ] {
            assert!(InboxPrefix::parse(text).is_err(), "{text}");
        }
    }
}
