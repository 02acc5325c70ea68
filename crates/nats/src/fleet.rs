//! The hosts of one tenant: who is there, and what they offer.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::client::{Client, Subscription};
use crate::connection::{ConnectError, ConnectOptions};
use crate::frames::{Finished, HostFrame, HostInfo};
use crate::link::{Link, LinkEvent, LinkOptions};
use crate::message::Headers;
use crate::serve_call::{CALL, KEY};
use crate::subjects;
use haft_tool::{Error, ErrorKind};

/// Time for a connection that is lost to come back before a call or a list fails.
const RECONNECT: Duration = Duration::from_secs(3);

/// Time for the first host to say that it is there, and for each further one.
const FIRST_HELLO: Duration = Duration::from_secs(2);
const NEXT_HELLO: Duration = Duration::from_millis(250);

/// Time for all hosts to say that they are there.
const ALL_HELLOS: Duration = Duration::from_secs(3);

/// Time for a host to say that it can run a call.
const FOUND: Duration = Duration::from_millis(500);

/// Time for which a server may still send calls to a host that does not answer. By default NATS asks a
/// connection every two minutes whether it is there, and closes it after two questions without an answer.
const STALE: Duration = Duration::from_secs(6 * 60);

/// Time for the definitions of one host.
const DEFINITIONS: Duration = Duration::from_secs(3);

/// Limit of the number of hosts that are listed, and of the hosts with different offers.
const MAX_HOSTS: usize = 1024;
const MAX_OFFERS: usize = 64;

/// Limit of the definitions of a host in bytes.
const MAX_DEFINITIONS: usize = 64 << 20;

/// Options of the connection with other hosts.
#[derive(Clone)]
pub struct FleetOptions {
    /// The server.
    pub connect: ConnectOptions,
    /// The tenant.
    pub tenant: String,
    /// Name of this host, which others see.
    pub caller: String,
    /// Time without a sign of life after which a host is lost.
    pub silence: Duration,
    /// Time for a cancelled call to end before it is left behind.
    pub grace: Duration,
}

/// The hosts of one tenant. The connection begins with the first use.
pub struct Fleet {
    options: FleetOptions,
    client: tokio::sync::Mutex<Option<Client>>,
    /// When a host last did not answer.
    silent_at: Mutex<Option<Instant>>,
}

/// Hosts with the same tools.
#[derive(Clone, Debug, PartialEq)]
pub struct HostOffer {
    /// The hosts.
    pub hosts: Vec<HostInfo>,
    /// Their definitions.
    pub tools: Vec<Value>,
}

/// Offer of all hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The offers, in the order of the hosts' names.
    pub offers: Vec<HostOffer>,
    /// Hosts whose definitions could not be read, with the reasons.
    pub faults: Vec<String>,
}

/// Reason for which there are no hosts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// There is no connection with the server.
    #[error("no connection with the NATS server: {0}")]
    Disconnected(#[from] ConnectError),
    /// The server does not let this client ask.
    #[error("the NATS server does not let this client use the tenant `{0}`")]
    Refused(String),
    /// The server does not let this client read the logs of calls.
    #[error("the NATS server does not let this client read the logs of the tenant `{0}`")]
    LogRefused(String),
}

impl From<Unavailable> for Error {
    fn from(why: Unavailable) -> Error {
        Error::new(ErrorKind::Unavailable, why.to_string())
    }
}

#[derive(Deserialize)]
struct Hello {
    host: HostInfo,
    offer: String,
}

impl Fleet {
    /// Creates a fleet without a connection.
    pub fn new(options: FleetOptions) -> Fleet {
        Fleet {
            options,
            client: tokio::sync::Mutex::default(),
            silent_at: Mutex::default(),
        }
    }

    /// Creates a fleet that is reached by a connection of this host.
    pub fn over(client: &Client, options: FleetOptions) -> Fleet {
        Fleet {
            options,
            client: tokio::sync::Mutex::new(Some(client.clone())),
            silent_at: Mutex::default(),
        }
    }

    /// Returns how it is reached.
    pub fn options(&self) -> &FleetOptions {
        &self.options
    }

    /// Returns the connection; begins one if there is none.
    ///
    /// # Errors
    /// If the server does not accept the client, or a lost connection does not come back.
    pub async fn client(&self) -> Result<Client, ConnectError> {
        let mut client = self.client.lock().await;
        if let Some(client) = &*client {
            let client = client.clone();
            client.connected(RECONNECT).await?;
            return Ok(client);
        }
        let new = Client::connect(self.options.connect.clone()).await?;
        *client = Some(new.clone());
        Ok(new)
    }

    /// Returns true if there is a connection, so that a call can be made at once.
    pub fn is_connected(&self) -> bool {
        self.client.try_lock().is_ok_and(|client| client.is_some())
    }

    /// Ends the connection.
    pub async fn close(&self) {
        *self.client.lock().await = None;
    }

    /// Subscribes to what hosts say when they come, go, or offer something else.
    ///
    /// # Errors
    /// If there is no connection.
    pub async fn news(&self) -> Result<Subscription, ConnectError> {
        let client = self.client().await?;
        Ok(client.subscribe(subjects::news(&self.options.tenant)).await)
    }

    /// Asks all hosts what they offer.
    ///
    /// # Errors
    /// If the server cannot be asked. No host at all is an empty list.
    pub async fn list(&self) -> Result<Listing, Unavailable> {
        let client = self.client().await?;
        let hellos = self.hellos(&client).await?;
        // Hosts with the same offer are asked once.
        let mut by_offer: BTreeMap<String, Vec<HostInfo>> = BTreeMap::new();
        for hello in hellos {
            by_offer.entry(hello.offer).or_default().push(hello.host);
        }
        let mut groups: Vec<Vec<HostInfo>> = by_offer.into_values().take(MAX_OFFERS).collect();
        for group in &mut groups {
            group.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        }
        groups.sort_by(|a, b| {
            a.first()
                .map(|host| &host.name)
                .cmp(&b.first().map(|host| &host.name))
        });
        let asked = groups.iter().map(|hosts| self.definitions(&client, hosts));
        let asked = join_all(asked).await;
        let mut listing = Listing::default();
        for (hosts, found) in groups.into_iter().zip(asked) {
            match found {
                Ok(Some(tools)) => listing.offers.push(HostOffer { hosts, tools }),
                // They have gone meanwhile.
                Ok(None) => {}
                Err(fault) => listing.faults.push(fault),
            }
        }
        Ok(listing)
    }

    /// Returns the hosts that are there.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub async fn hosts(&self) -> Result<Vec<HostInfo>, Unavailable> {
        let client = self.client().await?;
        let hellos = self.hellos(&client).await?;
        Ok(hellos.into_iter().map(|hello| hello.host).collect())
    }

    /// Notes that a host does not answer. The server may send calls to it until it notices, too.
    pub(crate) fn note_silence(&self) {
        *self.silent_at.lock() = Some(Instant::now());
    }

    /// Returns a host that answers and can run a call, if another one did not answer lately. `calls` is the
    /// subject of the calls, and `except` has the ids of hosts that are not wanted.
    pub(crate) async fn answering_host(
        &self,
        client: &Client,
        calls: &str,
        except: &[String],
    ) -> Option<HostInfo> {
        let is_recent = |at: Instant| at.elapsed() < STALE;
        if !self.silent_at.lock().is_some_and(is_recent) {
            return None;
        }
        let question = Bytes::copy_from_slice(calls.as_bytes());
        let is_wanted = |hello: &Hello| !except.contains(&hello.host.id);
        let hellos = self.hellos_of_connection(client, question, FOUND, is_wanted);
        // Without an answer the call goes to any host.
        let hellos = hellos.await.ok().flatten().unwrap_or_default();
        hellos.into_iter().find(is_wanted).map(|hello| hello.host)
    }

    async fn hellos(&self, client: &Client) -> Result<Vec<Hello>, Unavailable> {
        loop {
            let hellos = self.hellos_of_connection(client, Bytes::new(), FIRST_HELLO, |_| false);
            if let Some(hellos) = hellos.await? {
                return Ok(hellos);
            }
            client.connected(RECONNECT).await?;
        }
    }

    /// Asks who is there, and waits for the first answer for a time, and for others until one is enough.
    /// `None` if the connection ended meanwhile.
    async fn hellos_of_connection(
        &self,
        client: &Client,
        question: Bytes,
        first: Duration,
        is_enough: impl Fn(&Hello) -> bool,
    ) -> Result<Option<Vec<Hello>>, Unavailable> {
        let mut connection = client.state();
        let tenant = &self.options.tenant;
        let inbox = subjects::events(tenant, &subjects::new_id());
        let mut messages = client.subscribe(inbox.clone()).await;
        let mut refusals = client.refusals();
        let subject = subjects::list(tenant);
        client.publish(subject.clone(), Some(&inbox), Headers::default(), question);
        let begun = Instant::now();
        let mut until = begun + first;
        let mut hellos: Vec<Hello> = Vec::new();
        loop {
            tokio::select! {
                biased;
                Ok(refusal) = refusals.recv() => {
                    if refusal.subject == subject || refusal.subject == inbox {
                        return Err(Unavailable::Refused(tenant.clone()));
                    }
                }
                _ = connection.changed() => return Ok(None),
                message = timeout_at(until, messages.next()) => match message {
                    Ok(Some(message)) if message.headers.is_no_responders() => break,
                    Ok(Some(message)) => {
                        until = (Instant::now() + NEXT_HELLO).min(begun + ALL_HELLOS);
                        let hello = serde_json::from_slice::<Hello>(&message.payload).ok();
                        hellos.extend(hello.filter(|hello| subjects::is_token(&hello.host.id)));
                        if hellos.len() >= MAX_HOSTS || hellos.last().is_some_and(&is_enough) {
                            break;
                        }
                    }
                    Ok(None) | Err(_) => break,
                },
            }
        }
        Ok(Some(hellos))
    }

    /// Asks one of several hosts with the same offer for its definitions. `None` if they are gone.
    async fn definitions(
        &self,
        client: &Client,
        hosts: &[HostInfo],
    ) -> Result<Option<Vec<Value>>, String> {
        let mut fault = None;
        for host in hosts.iter().take(3) {
            match self.definitions_of(client, host).await {
                Ok(None) => {}
                Ok(tools) => return Ok(tools),
                Err(why) => {
                    let name = haft_tool::visible::name(&host.name);
                    fault = Some(format!("the host `{name}` did not send its tools: {why}"));
                }
            }
        }
        fault.map_or(Ok(None), Err)
    }

    async fn definitions_of(
        &self,
        client: &Client,
        host: &HostInfo,
    ) -> Result<Option<Vec<Value>>, String> {
        let tenant = &self.options.tenant;
        let subject = subjects::host(tenant, &host.id);
        let mut link = open_link(
            client,
            &subject,
            tenant,
            Headers::default(),
            Bytes::new(),
            self.limits(),
        )
        .await;
        let until = Instant::now() + DEFINITIONS;
        loop {
            match timeout_at(until, link.next()).await {
                Ok(LinkEvent::Frame(frame)) => {
                    let frame = HostFrame::read(&frame, "");
                    link.confirm();
                    return match frame {
                        Ok(HostFrame::Finished(_, Finished::Definitions(tools))) => Ok(Some(tools)),
                        Ok(_) => Err("it sent something else".to_owned()),
                        Err(why) => Err(why),
                    };
                }
                Ok(LinkEvent::Confirmed) => {}
                Ok(LinkEvent::NoResponders) => return Ok(None),
                Ok(LinkEvent::Silent) => return Err("it does not answer".to_owned()),
                Ok(LinkEvent::Disconnected(why)) => return Err(why),
                Ok(LinkEvent::Broken(why)) => return Err(why.to_owned()),
                Err(_) => return Err("it is too slow".to_owned()),
            }
        }
    }

    fn limits(&self) -> LinkOptions {
        LinkOptions {
            silence: self.options.silence,
            max_frame: MAX_DEFINITIONS,
        }
    }
}

/// Sends a request with a link and returns the caller's end.
pub(crate) async fn open_link(
    client: &Client,
    subject: &str,
    tenant: &str,
    headers: Headers,
    payload: Bytes,
    options: LinkOptions,
) -> Link {
    let (id, key) = (subjects::new_id(), subjects::new_id());
    let events = subjects::events(tenant, &id);
    let ends = (events.clone(), subjects::control(tenant, &id), key.clone());
    let link = Link::open(client, ends, options, true).await;
    let headers = headers.with(CALL, id).with(KEY, key);
    // The server says there if there is no subscriber.
    client.publish(subject, Some(&events), headers, payload);
    link
}
