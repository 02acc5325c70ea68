//! Patterns of hosts in lists of permissions: `example.org`, `*.example.org:443`, `10.0.0.0/8`.
//!
//! Both a pattern and the host that it is compared with are parsed to one form, so that spellings
//! of one address (`127.1`, `0x7f000001`, `[::ffff:127.0.0.1]`) and of one name (`Example.ORG.`) are
//! equal.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hosts and ports that an entry of a list names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPattern {
    names: HostNames,
    /// `None`: every port.
    port: Option<u16>,
}

/// Hosts that a pattern names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HostNames {
    /// One name, in lower case and without a dot at the end.
    Name(String),
    /// The names below this one.
    Below(String),
    Address(IpAddr),
    /// The addresses that share so many bits with this one.
    Range(IpAddr, u32),
}

/// Addresses of this machine. Connections to the unspecified ones reach it too.
const LOOPBACK: [HostNames; 4] = [
    HostNames::Range(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), 8),
    HostNames::Address(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
    HostNames::Address(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    HostNames::Address(IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
];

/// Addresses that the name `localhost` is resolved to.
const OF_LOCALHOST: [HostNames; 2] = [
    HostNames::Address(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    HostNames::Address(IpAddr::V6(Ipv6Addr::LOCALHOST)),
];

const LOCALHOST: &str = "localhost";

impl HostPattern {
    /// Parses an entry. `None` if it names no host.
    pub(crate) fn parse(entry: &str) -> Option<HostPattern> {
        if entry.contains('/') {
            let (start, bits) = parse_range(entry)?;
            let (names, port) = (HostNames::Range(start, bits), None);
            return Some(HostPattern { names, port });
        }
        let (host, port) = split_port(entry);
        let port = match port {
            Some(port) => Some(port.parse().ok()?),
            None => None,
        };
        Some(HostPattern {
            names: HostNames::parse(host)?,
            port,
        })
    }

    /// Returns the pattern of one host, on `port` or on every port. The host need not be a valid
    /// name.
    pub(crate) fn of_host(host: &str, port: Option<u16>) -> HostPattern {
        let names = HostNames::parse(host).filter(|names| !matches!(names, HostNames::Below(_)));
        let names = names.unwrap_or_else(|| HostNames::Name(host.to_lowercase()));
        HostPattern { names, port }
    }

    /// Returns true if everything that `inner` names is named.
    pub(crate) fn contains(&self, inner: &HostPattern) -> bool {
        self.names.contain(&inner.names) && (self.port.is_none() || self.port == inner.port)
    }

    /// Returns true if the host is named, on whatever port.
    pub(crate) fn names_host(&self, host: &HostPattern) -> bool {
        self.names.contain(&host.names)
    }

    /// Returns true if the pattern is one host, and not a domain or a range.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.names, HostNames::Name(_) | HostNames::Address(_))
    }

    /// Returns the hosts and ports that both patterns name.
    pub(crate) fn overlap(&self, other: &HostPattern) -> Option<HostPattern> {
        let names = if self.names.contain(&other.names) {
            &other.names
        } else if other.names.contain(&self.names) {
            &self.names
        } else {
            return None;
        };
        let port = match (self.port, other.port) {
            (Some(one), Some(two)) if one != two => return None,
            (one, two) => one.or(two),
        };
        Some(HostPattern {
            names: names.clone(),
            port,
        })
    }

    /// Returns the patterns that are refused if this one is. `localhost` and the addresses of this
    /// machine are refused together, since the name leads to the addresses.
    pub(crate) fn refused_patterns(&self) -> Vec<HostPattern> {
        let is_local_name = self.names.is_localhost();
        let mut refused = vec![self.names.clone()];
        if is_local_name || OF_LOCALHOST.iter().any(|local| self.names.contain(local)) {
            refused.push(HostNames::Name(LOCALHOST.to_owned()));
            refused.push(HostNames::Below(LOCALHOST.to_owned()));
        }
        if is_local_name {
            refused.extend(LOOPBACK);
        }
        let port = self.port;
        let refused = refused.into_iter();
        refused.map(|names| HostPattern { names, port }).collect()
    }
}

impl std::fmt::Display for HostPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.names {
            HostNames::Name(name) => f.write_str(name)?,
            HostNames::Below(domain) => write!(f, "*.{domain}")?,
            HostNames::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            HostNames::Address(address) => write!(f, "{address}")?,
            HostNames::Range(start, bits) => write!(f, "{start}/{bits}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl HostNames {
    fn parse(host: &str) -> Option<HostNames> {
        if let Some(domain) = host.strip_prefix("*.") {
            return Some(HostNames::Below(parse_name(domain)?));
        }
        let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        let bare = bare.unwrap_or(host);
        // The zone of a link-local address says which interface is used.
        let address = bare.split_once('%').map_or(bare, |(address, _)| address);
        if let Ok(address) = address.parse::<IpAddr>() {
            return Some(HostNames::Address(address.to_canonical()));
        }
        // URLs and resolvers also take addresses as numbers: `2130706433`, `0x7f.1`.
        match url::Host::parse(host.strip_suffix('.').unwrap_or(host)) {
            Ok(url::Host::Ipv4(address)) => Some(HostNames::Address(address.into())),
            Ok(url::Host::Ipv6(address)) => {
                Some(HostNames::Address(IpAddr::from(address).to_canonical()))
            }
            Ok(url::Host::Domain(_)) | Err(_) => Some(HostNames::Name(parse_name(host)?)),
        }
    }

    fn contain(&self, inner: &HostNames) -> bool {
        match (self, inner) {
            (HostNames::Below(domain), HostNames::Name(name)) => is_below(name, domain),
            (HostNames::Below(domain), HostNames::Below(inner)) => {
                domain == inner || is_below(inner, domain)
            }
            (HostNames::Range(start, bits), HostNames::Address(address)) => {
                is_in_range(*address, *start, *bits)
            }
            (HostNames::Range(start, bits), HostNames::Range(inner, inner_bits)) => {
                bits <= inner_bits && is_in_range(*inner, *start, *bits)
            }
            (own, inner) => own == inner,
        }
    }

    fn is_localhost(&self) -> bool {
        matches!(self, HostNames::Name(name) if name == LOCALHOST || is_below(name, LOCALHOST))
    }
}

/// Returns the name of a host in lower case, as a resolver compares it.
fn parse_name(name: &str) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.contains(['*', ':', '[', ']', '?', '#', '@', '\\', '/']) {
        return None;
    }
    // A name with letters beyond ASCII has one form for resolvers.
    let ascii = url::Host::parse(name).ok().map(|host| host.to_string());
    Some(ascii.unwrap_or_else(|| name.to_lowercase()))
}

fn is_below(name: &str, domain: &str) -> bool {
    let above = name.strip_suffix(domain);
    above.is_some_and(|above| above.len() > 1 && above.ends_with('.'))
}

/// Returns true if the address shares so many bits with the start of a range.
fn is_in_range(address: IpAddr, start: IpAddr, bits: u32) -> bool {
    let shift = |width: u32| width - bits.min(width);
    match (start, address) {
        (IpAddr::V4(start), IpAddr::V4(address)) => {
            let differs = start.to_bits() ^ address.to_bits();
            differs.checked_shr(shift(32)).unwrap_or(0) == 0
        }
        (IpAddr::V6(start), IpAddr::V6(address)) => {
            let differs = start.to_bits() ^ address.to_bits();
            differs.checked_shr(shift(128)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// Parses a range of addresses such as `10.0.0.0/8`: an address, and the number of its bits that
/// count.
fn parse_range(entry: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = entry.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let bits: u32 = bits.parse().ok()?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    (bits <= width).then_some((address, bits))
}

/// Splits `host:port` into host and port. An entry with several colons is an IPv6 address.
fn split_port(entry: &str) -> (&str, Option<&str>) {
    match entry.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (entry, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(entry: &str) -> HostPattern {
        HostPattern::parse(entry).unwrap_or_else(|| panic!("{entry} names no host"))
    }

    #[test]
    fn spellings_of_one_host_are_equal() {
        for (one, other) in [
            ("127.0.0.1", "127.1"),
            ("127.0.0.1", "2130706433"),
            ("127.0.0.1", "0x7f.0.0.1"),
            ("127.0.0.1", "[::ffff:127.0.0.1]"),
            ("::1", "[0:0:0:0:0:0:0:1]"),
            ("Example.ORG.", "example.org"),
            ("bücher.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(pattern(one), pattern(other), "{one} {other}");
        }
    }

    #[test]
    fn a_pattern_contains_narrower_ones() {
        for (outer, inner, is_contained) in [
            ("example.org", "example.org:443", true),
            ("example.org:443", "example.org", false),
            ("*.example.org", "a.b.example.org:1", true),
            ("*.example.org", "example.org", false),
            ("*.example.org", "badexample.org", false),
            ("*.example.org", "*.a.example.org", true),
            ("*.a.example.org", "*.example.org", false),
            ("10.0.0.0/8", "10.1.0.0/16", true),
            ("10.1.0.0/16", "10.0.0.0/8", false),
            ("10.0.0.0/8", "10.2.3.4:80", true),
            ("::/0", "10.2.3.4", false),
            ("0.0.0.0/0", "[::ffff:10.2.3.4]", true),
        ] {
            assert_eq!(
                pattern(outer).contains(&pattern(inner)),
                is_contained,
                "{outer} {inner}"
            );
        }
    }

    #[test]
    fn localhost_and_its_addresses_are_refused_together() {
        for (refused, host, is_refused) in [
            ("localhost", "127.0.0.1:80", true),
            ("localhost", "[::1]:80", true),
            ("localhost", "0.0.0.0", true),
            ("localhost:80", "127.8.8.8:80", true),
            ("localhost:80", "127.8.8.8:81", false),
            ("127.0.0.1", "localhost:80", true),
            ("127.0.0.1", "a.localhost", true),
            ("127.0.0.2", "localhost", false),
            ("127.0.0.0/8", "localhost:80", true),
            ("[::1]", "localhost", true),
            ("localhost", "example.org", false),
        ] {
            let patterns = pattern(refused).refused_patterns();
            let is_named = patterns
                .iter()
                .any(|refused| refused.contains(&pattern(host)));
            assert_eq!(is_named, is_refused, "{refused} {host}");
        }
    }

    #[test]
    fn patterns_overlap_in_the_narrower_host_and_port() {
        let overlap = |one: &str, other: &str| {
            let overlap = pattern(one).overlap(&pattern(other));
            overlap.map(|overlap| overlap.to_string())
        };
        let expected = Some("a.example.org:443".to_owned());
        assert_eq!(overlap("a.example.org", "*.example.org:443"), expected);
        assert_eq!(overlap("*.example.org:443", "a.example.org"), expected);
        assert_eq!(overlap("a.example.org:1", "*.example.org:443"), None);
        assert_eq!(overlap("10.0.0.0/8", "example.org"), None);
    }
}
