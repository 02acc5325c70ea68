//! The layout: which subject carries what.
//!
//! | subject | who listens | what |
//! | --- | --- | --- |
//! | `haft.v1.call.TENANT.TOOL.DIGEST` | one host of those with that definition | calls |
//! | `haft.v1.call.TENANT.TOOL.DIGEST.HOST` | one host | calls, while another host does not answer |
//! | `haft.v1.evt.TENANT.CALL` | the caller | from the host: updates, logs, questions, the result |
//! | `haft.v1.ctl.TENANT.CALL` | the host that runs the call | from the caller: cancellation, answers |
//! | `haft.v1.ctl.TENANT.ID.ECHO` | one host | its own echoes |
//! | `haft.v1.q.TENANT.TOOL.DIGEST` | a stream of the server | calls that must not be lost |
//! | `haft.v1.q.TENANT.CLIENT` | a stream of the server | which calls of a client have not ended |
//! | `haft.v1.list.TENANT` | all hosts | who is there |
//! | `haft.v1.news.TENANT` | all callers | that a host has come, goes, or offers something else |
//! | `haft.v1.host.TENANT.HOST` | one host | its definitions |
//! | `haft.v1.peer.TENANT.HOST` | one host | from other hosts: requests about calls that it has |
//! | `haft.v1.log.TENANT.ask.HOST` | one host, or all with `all` | questions about the log of calls |
//! | `haft.v1.log.TENANT.to.READER` | who asked | a page of a host's log |
//! | `haft.v1.log.TENANT.news` | who follows | what a host has added to its log |
//! | `$SRV.PING`, `.INFO`, `.STATS` | all hosts | discovery of NATS services |
//!
//! The digest of the definition is in the subject of a call, so that a call reaches only hosts whose
//! tool is the one that the caller trusts, also while hosts are updated one by one.

use std::fmt::Write as _;
use std::time::Duration;

use haft_tool::{Error, ErrorKind, since_1970};

/// Group of which one host gets each call.
pub(crate) const QUEUE: &str = "haft";

/// Limit of the length of a tenant's name.
const MAX_TENANT: usize = 64;

/// Limit of the length of an id or a digest.
const MAX_TOKEN: usize = 128;

/// Beginning of the subjects of calls.
pub(crate) const CALLS: &str = "haft.v1.call.";

/// Returns the subject of the calls of a tool with this definition.
pub(crate) fn call(tenant: &str, tool: &str, digest: &str) -> String {
    format!("{CALLS}{tenant}.{}.{digest}", token(tool))
}

/// Returns the subject of the calls for one of the hosts. `calls` is the subject of [`call`].
pub(crate) fn call_at(calls: &str, host: &str) -> String {
    format!("{calls}.{host}")
}

/// Returns the subject of all calls for one host only.
pub(crate) fn calls_at(tenant: &str, host: &str) -> String {
    call_at(&format!("{CALLS}{tenant}.*.*"), host)
}

/// Returns the subject of what a host sends about a call.
pub(crate) fn events(tenant: &str, call: &str) -> String {
    format!("haft.v1.evt.{tenant}.{call}")
}

/// Returns the subject of what a caller sends about its call.
pub(crate) fn control(tenant: &str, call: &str) -> String {
    format!("haft.v1.ctl.{tenant}.{call}")
}

/// Returns the beginning of the subjects on which the echoes of a host come back.
pub(crate) fn echoes(tenant: &str, id: &str) -> String {
    format!("{}.", control(tenant, id))
}

/// Returns the subject on which all hosts say that they are there.
pub(crate) fn list(tenant: &str) -> String {
    format!("haft.v1.list.{tenant}")
}

/// Returns the subject on which hosts say when they come, go, or offer something else.
pub(crate) fn news(tenant: &str) -> String {
    format!("haft.v1.news.{tenant}")
}

/// Returns the subject on which a host sends its definitions.
pub(crate) fn host(tenant: &str, host: &str) -> String {
    format!("haft.v1.host.{tenant}.{host}")
}

/// Returns the subject on which a host takes what others forward to it.
pub(crate) fn peer(tenant: &str, host: &str) -> String {
    format!("haft.v1.peer.{tenant}.{host}")
}

/// Returns the subject of questions about the log of a host, or of all hosts.
pub(crate) fn log_ask(tenant: &str, host: &str) -> String {
    format!("haft.v1.log.{tenant}.ask.{host}")
}

/// Returns the subject of the answers for a reader of logs.
pub(crate) fn log_answers(tenant: &str, reader: &str) -> String {
    format!("haft.v1.log.{tenant}.to.{reader}")
}

/// Returns the subject on which hosts say what they have added to their logs.
pub(crate) fn log_news(tenant: &str) -> String {
    format!("haft.v1.log.{tenant}.news")
}

/// Returns the subject of queued calls. `tool` is a token.
pub(crate) fn queued(tenant: &str, tool: &str, digest: &str) -> String {
    format!("haft.v1.q.{tenant}.{tool}.{digest}")
}

/// Returns the subject of the calls of a client that have not ended. `client` is a token.
pub(crate) fn quota(tenant: &str, client: &str) -> String {
    format!("haft.v1.q.{tenant}.{client}")
}

/// Returns a hash of a text, for names that may be long.
pub(crate) fn hash(text: &str) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a name as one token of a subject.
pub(crate) fn token(name: &str) -> String {
    let mut token = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
            token.push(char::from(byte));
        } else {
            // Writing to a text never fails.
            let _ = write!(token, "%{byte:02X}");
        }
    }
    token
}

/// Returns true if a text from another program can be a token of our subjects.
pub(crate) fn is_token(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && is_short(text) && text.bytes().all(is_plain)
}

/// Returns true if a text is not too long for a token.
pub(crate) fn is_short(text: &str) -> bool {
    text.len() <= MAX_TOKEN
}

/// Checks the name of a tenant.
///
/// # Errors
/// [`ErrorKind::Usage`] if it cannot be a part of subjects.
pub fn check_tenant(name: &str) -> Result<(), Error> {
    if is_token(name) && name.len() <= MAX_TENANT {
        return Ok(());
    }
    let text = format!("`{name}` is not the name of a tenant");
    let hint = format!("it has 1 to {MAX_TENANT} letters, digits, `-` and `_`");
    Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
}

/// Returns the name of this machine, by which hosts and callers are known to people.
pub fn machine_name() -> String {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let names = files
        .into_iter()
        .filter_map(|file| std::fs::read_to_string(file).ok());
    let mut names = names.map(|name| name.trim().to_owned());
    // macOS has neither file.
    names
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| "haft".to_owned())
}

/// Returns a new id of a trace, as W3C has them.
pub(crate) fn new_trace() -> String {
    format!("{:032x}", u128::from_ne_bytes(random()))
}

/// Returns true if a text from another program is the id of a trace.
pub(crate) fn is_trace(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 32 && text.bytes().all(is_digit)
}

fn random<const N: usize>() -> [u8; N] {
    let mut random = [0; N];
    // Without random numbers nothing of a system works.
    getrandom::fill(&mut random).expect("the system has random numbers");
    random
}

/// Digits of ids.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Returns a new id: a ULID, whose order is that of time.
pub(crate) fn new_id() -> String {
    let now = since_1970().as_millis();
    let random = random::<10>()
        .iter()
        .fold(0u128, |all, byte| all << 8 | u128::from(*byte));
    let bits = now << 80 | random;
    let letters = (0..26)
        .rev()
        .map(|place| (bits >> (5 * place) & 31) as usize);
    letters.map(|letter| char::from(ALPHABET[letter])).collect()
}

/// Returns when an id was made, since 1970 by the clock of who made it.
pub(crate) fn made_at(id: &str) -> Option<Duration> {
    let value = |digit: &u8| ALPHABET.iter().position(|known| known == digit);
    let mut digits = id.as_bytes().get(..10)?.iter();
    let millis = digits.try_fold(0, |millis, digit| Some(millis << 5 | value(digit)? as u64))?;
    Some(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tools_are_one_token() {
        let subject = call("acme", "a.b *>%ä_c-D", "0f");
        assert_eq!(subject, "haft.v1.call.acme.a%2Eb%20%2A%3E%25%C3%A4_c-D.0f");
    }

    #[test]
    fn tenants_cannot_have_wildcards() {
        for name in ["", "a.b", "*", ">", "a b", "ä", &"x".repeat(65)] {
            assert!(check_tenant(name).is_err(), "{name}");
        }
        check_tenant("team-1_A").expect("it is a name");
    }

    #[test]
    fn ids_are_tokens_and_differ() {
        let (one, other) = (new_id(), new_id());
        assert!(is_token(&one) && one.len() == 26);
        assert_ne!(one, other);
        let age = since_1970().checked_sub(made_at(&one).expect("it is an id"));
        assert!(age.expect("it was made before") < Duration::from_secs(60));
        let known = made_at("01ARZ3NDEKTSV4RRFFQ69G5FAV");
        assert_eq!(known, Some(Duration::from_millis(1_469_922_850_259)));
        assert_eq!((made_at("c1"), made_at("01ARZ3NDEu")), (None, None));
    }
}
