//! Settings of NATS: the server by which this host offers its tools, and those by which it reaches the
//! tools of other hosts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use strum::{EnumString, VariantNames};

use super::declare::{
    checked_map, default_settings, map, optional_path, replaced, settings, timeout, values, whole,
};
use super::mcp::{NewTools, check_pattern, parse_word};
use haft_tool::Tier;

/// Name of the hosts that `remote: nats://…` reaches.
pub(super) const SHORT_NAME: &str = "remote";

/// The tenant of hosts and callers that name none.
pub const DEFAULT_TENANT: &str = "default";

settings! {
    /// Other hosts whose tools haft offers.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Remote {
        /// Addresses of the NATS servers, separated by commas: `nats://HOST:PORT`, `tls://HOST:PORT`.
        pub url: Option<NatsUrls> = "";
        /// File with the credentials of an account (`.creds`).
        pub creds: Option<PathBuf> = "" => optional_path;
        /// File with the seed of an nkey.
        pub nkey: Option<PathBuf> = "" => optional_path;
        /// Certificates of the authorities that are trusted instead of the machine's.
        pub ca: Option<PathBuf> = "" => optional_path;
        /// Certificate that haft presents.
        pub certificate: Option<PathBuf> = "" => optional_path;
        /// Key of that certificate.
        pub key: Option<PathBuf> = "" => optional_path;
        /// Tenant whose hosts are called. Default: `default`.
        pub tenant: Option<String> = "";
        /// False: the hosts are not used. Default: true.
        pub enabled: Option<bool> = "";
        /// Patterns of the hosts' tools that are offered. Default: all.
        pub include: Vec<String> = "" => replaced(',');
        /// Patterns of the hosts' tools that are not offered.
        pub exclude: Vec<String> = "" => replaced(',');
        /// New names of tools, by the hosts' names.
        pub rename: BTreeMap<String, String> = "" => map;
        /// Prefix of the names of the hosts' tools.
        pub prefix: Option<String> = "";
        /// Tiers by patterns of the hosts' names: `read`, `write`, `exec`. Default: `exec`.
        pub approval: BTreeMap<String, Tier> = "" => checked_map(check_pattern);
        /// True if the tiers that the hosts name are believed. Default: false.
        pub trusted: Option<bool> = "";
        /// Tools that the hosts did not have when they were trusted: `hold` until the user trusts
        /// them, or `offer`. Default: `hold`.
        pub new_tools: Option<NewTools> = "";
        /// Maximum time of a call. Default: as other tools.
        pub timeout: Option<Duration> = "";
        /// Time without a sign of life after which a host is lost. Default: 3s.
        pub silence: Option<Duration> = "";
    }
}

settings! {
    /// Settings of `haft serve nats`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ServeNats {
        /// Addresses of the NATS servers, separated by commas: `nats://HOST:PORT`, `tls://HOST:PORT`.
        pub url: Option<NatsUrls> = "", env "HAFT_SERVE_NATS_URL";
        /// File with the credentials of an account (`.creds`).
        pub creds: Option<PathBuf> = "" => optional_path, env "HAFT_SERVE_NATS_CREDS";
        /// File with the seed of an nkey.
        pub nkey: Option<PathBuf> = "" => optional_path, env "HAFT_SERVE_NATS_NKEY";
        /// Certificates of the authorities that are trusted instead of the machine's.
        pub ca: Option<PathBuf> = "" => optional_path, env "HAFT_SERVE_NATS_CA";
        /// Certificate that haft presents.
        pub certificate: Option<PathBuf> = "" => optional_path;
        /// Key of that certificate.
        pub key: Option<PathBuf> = "" => optional_path;
        /// Tenant whose callers are served.
        pub tenant: String = DEFAULT_TENANT, env "HAFT_SERVE_NATS_TENANT";
        /// Name of this host, which callers see. Default: the machine's.
        pub name: Option<String> = "", env "HAFT_SERVE_NATS_NAME";
        /// Maximum number of calls at the same time. Others are left to other hosts.
        pub calls: u32 = "256" => whole(1..=100_000, " of calls"), env "HAFT_SERVE_NATS_CALLS";
        /// Maximum number of queued calls at the same time, if the server keeps calls (JetStream). 0: none.
        pub queue: u32 = "16" => whole(0..=100_000, " of calls"), env "HAFT_SERVE_NATS_QUEUE";
        /// Maximum number of queued calls of one client that have not ended, at all hosts of the tenant
        /// together. The host that has started last sets it for all.
        pub queue_per_client: u32 = "10000" => whole(1..=1_000_000, " of calls"), env "HAFT_SERVE_NATS_QUEUE_PER_CLIENT";
        /// Time without a sign of life after which a caller is gone and its call is cancelled.
        pub caller_silence: Duration = "10s" => timeout;
        /// Prefix of the inboxes in which clients of NATS get answers. See nats.md.
        pub inbox: String = "_INBOX";
        /// True if HTTP servers (`haft serve`, `haft serve mcp --http`, `haft serve rest`) offer their
        /// tools there too, and share queued calls, tasks and suspended calls with the other hosts of
        /// the tenant. See scale.md.
        pub share: bool = "false", env "HAFT_SERVE_NATS_SHARE";
        /// Calls of this host's log that readers of the tenant get (`haft log --hosts`): those of the
        /// `tenant`, `all` of the user, or `none`. See nats.md.
        pub history: ServedHistory = "tenant", env "HAFT_SERVE_NATS_HISTORY";
    }
}
default_settings!(Remote, ServeNats);

/// Calls of a host's log that other hosts may read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum ServedHistory {
    /// Those that the host served to the tenant.
    #[default]
    Tenant,
    /// All calls of the user on the machine.
    All,
    /// None.
    None,
}

/// Addresses of the servers of one cluster. A user and a password in them are never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsUrls(Vec<url::Url>);

/// The settings that the command line of `haft serve nats` has.
#[derive(Clone, Debug, Default)]
pub struct ServeNatsFlags {
    /// Addresses of the servers.
    pub url: Option<NatsUrls>,
    /// File with the credentials of an account.
    pub creds: Option<PathBuf>,
    /// Certificates of the authorities.
    pub ca: Option<PathBuf>,
    /// Tenant whose callers are served.
    pub tenant: Option<String>,
    /// Name of this host.
    pub name: Option<String>,
}

impl ServeNats {
    /// Sets what the flags set.
    pub(super) fn apply(&mut self, flags: ServeNatsFlags) {
        self.url = flags.url.or(self.url.take());
        self.creds = flags.creds.or(self.creds.take());
        self.ca = flags.ca.or(self.ca.take());
        self.tenant = flags.tenant.unwrap_or_else(|| self.tenant.clone());
        self.name = flags.name.or(self.name.take());
    }
}

impl NatsUrls {
    /// Returns the addresses.
    pub fn all(&self) -> &[url::Url] {
        &self.0
    }
}

impl std::str::FromStr for NatsUrls {
    type Err = String;

    fn from_str(text: &str) -> Result<NatsUrls, String> {
        let parsed = text.split(',').map(|address| {
            let address = address.trim();
            let address = if address.contains("://") {
                address.to_owned()
            } else {
                format!("nats://{address}")
            };
            let url = address.parse::<url::Url>();
            let url = url.map_err(|error| format!("it is not an address: {error}"))?;
            if !matches!(url.scheme(), "nats" | "tls") || url.host_str().is_none_or(str::is_empty) {
                return Err("an address is `nats://HOST:PORT` or `tls://HOST:PORT`".to_owned());
            }
            Ok(url)
        });
        parsed.collect::<Result<_, _>>().map(NatsUrls)
    }
}

impl std::fmt::Display for NatsUrls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.0.iter().map(|url| {
            let mut url = url.clone();
            // An address with a host can have both.
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.to_string()
        });
        f.write_str(&shown.collect::<Vec<_>>().join(", "))
    }
}

impl std::fmt::Debug for NatsUrls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NatsUrls({self})")
    }
}

values! {
    NatsUrls: super::declare::Form::Secret, str::parse;
    ServedHistory: super::declare::Form::Word(ServedHistory::VARIANTS), parse_word;
}

#[cfg(test)]
mod tests {
    use super::NatsUrls;

    #[test]
    fn addresses_are_checked_and_shown_without_secrets() {
        let urls: NatsUrls = "nats://ada:secret@a:4222, tls://b, c:1"
            .parse()
            .expect("they are valid");
        assert_eq!(urls.to_string(), "nats://a:4222, tls://b, nats://c:1");
        assert_eq!(urls.all().len(), 3);
        for invalid in ["", "http://a", "nats://", "nats://a b", "unix://x"] {
            assert!(invalid.parse::<NatsUrls>().is_err(), "{invalid}");
        }
    }
}
