//! Discovery of NATS services (`$SRV`), by which `nats micro` and others find hosts: the protocol of
//! ADR-32.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde_json::{Value, json};

use haft_tool::Timestamp;

use crate::client::{Client, Feed};
use crate::frames::HostInfo;
use crate::message::{Headers, Message};
use crate::reply::ReplySubject;
use crate::subjects::{self, QUEUE};

/// Name of the service of all hosts.
const SERVICE: &str = "haft-tools";

/// Room for headers in an answer.
const ROOM: usize = 4 << 10;

/// A tool as it is offered.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// Hash of the definition.
    pub digest: String,
    /// The definition, as callers see it.
    pub definition: Value,
    /// Answer of discovery about it.
    pub metadata: BTreeMap<String, String>,
}

/// Counts of one tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    calls: u64,
    failures: u64,
    time: Duration,
}

impl Counts {
    pub(crate) fn add(&mut self, is_success: bool, time: Duration) {
        self.calls += 1;
        self.failures += u64::from(!is_success);
        self.time += time;
    }
}

/// Answer of discovery about a host.
pub(crate) struct Discovery {
    host: HostInfo,
    tenant: String,
    started: Timestamp,
}

impl Discovery {
    pub(crate) fn new(host: HostInfo, tenant: String) -> Discovery {
        Discovery {
            host,
            tenant,
            started: Timestamp::of(SystemTime::now()),
        }
    }

    /// Subscribes to the requests of discovery.
    pub(crate) async fn subscribe(
        &self,
        client: &Client,
        messages: &tokio::sync::mpsc::Sender<Message>,
    ) -> Vec<Feed> {
        let scopes = [
            String::new(),
            format!(".{SERVICE}"),
            format!(".{SERVICE}.{}", self.host.id),
        ];
        let subjects = ["PING", "INFO", "STATS"].into_iter().flat_map(|verb| {
            scopes
                .iter()
                .map(move |scope| format!("$SRV.{verb}{scope}"))
        });
        let feeds = subjects.map(|subject| client.feed(subject, None, messages.clone()));
        futures::future::join_all(feeds).await
    }

    /// Answers a request with the subject `request`.
    pub(crate) fn answer(
        &self,
        client: &Client,
        request: &str,
        reply: ReplySubject,
        tools: &[OfferedTool],
        counts: &BTreeMap<String, Counts>,
    ) {
        let mut answer = json!({
            "name": SERVICE,
            "id": self.host.id,
            "version": self.host.version,
            "metadata": {"host": self.host.name, "tenant": self.tenant},
        });
        let endpoints: Option<Vec<Value>> = match request.split('.').nth(1) {
            Some("PING") => {
                answer["type"] = "io.nats.micro.v1.ping_response".into();
                None
            }
            Some("INFO") => {
                answer["type"] = "io.nats.micro.v1.info_response".into();
                answer["description"] = "Tools of a haft host".into();
                Some(tools.iter().map(|tool| self.info(tool)).collect())
            }
            Some("STATS") => {
                answer["type"] = "io.nats.micro.v1.stats_response".into();
                answer["started"] = self.started.timestamp().into();
                Some(tools.iter().map(|tool| self.stats(tool, counts)).collect())
            }
            _ => return,
        };
        if let Some(endpoints) = endpoints {
            let limit = client.max_payload().saturating_sub(ROOM);
            let mut room = limit.saturating_sub(answer.to_string().len());
            // A longer answer would end the connection.
            let fitting = endpoints.into_iter().take_while(|endpoint| {
                let length = endpoint.to_string().len() + 1;
                let fits = length <= room;
                room = room.saturating_sub(length);
                fits
            });
            answer["endpoints"] = fitting.collect();
        }
        let bytes = Bytes::from(answer.to_string());
        client.publish(reply, None, Headers::default(), bytes);
    }

    fn endpoint(&self, tool: &OfferedTool) -> Value {
        // Names of endpoints have fewer characters than names of tools.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let name: String = { tool.name.chars() }
            .map(|c| if is_plain(c) { c } else { '_' })
            .collect();
        json!({
            "name": name,
            "subject": subjects::call(&self.tenant, &tool.name, &tool.digest),
            "queue_group": QUEUE,
        })
    }

    fn info(&self, tool: &OfferedTool) -> Value {
        let mut endpoint = self.endpoint(tool);
        let mut metadata = tool.metadata.clone();
        metadata.insert("tool".to_owned(), tool.name.clone());
        metadata.insert("definition".to_owned(), tool.digest.clone());
        endpoint["metadata"] = json!(metadata);
        endpoint
    }

    fn stats(&self, tool: &OfferedTool, counts: &BTreeMap<String, Counts>) -> Value {
        let mut endpoint = self.endpoint(tool);
        let counts = counts.get(&tool.name).cloned().unwrap_or_default();
        let nanoseconds = counts.time.as_nanos();
        let average = nanoseconds.checked_div(u128::from(counts.calls));
        let short = |time: u128| u64::try_from(time).unwrap_or(u64::MAX);
        endpoint["num_requests"] = counts.calls.into();
        endpoint["num_errors"] = counts.failures.into();
        endpoint["last_error"] = "".into();
        endpoint["processing_time"] = short(nanoseconds).into();
        endpoint["average_processing_time"] = short(average.unwrap_or_default()).into();
        endpoint
    }
}
