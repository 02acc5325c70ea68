//! Address of a server: a program with its arguments, or a URL with its headers. References to
//! environment variables are replaced here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

use haft_config::{McpServer, McpTransport};

/// Place of a server. The values may contain secrets, so it is never printed whole.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerAddress {
    /// A program that talks over its standard streams.
    Program {
        /// A name on the `PATH`, or a path.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are set for it.
        env: BTreeMap<String, String>,
        /// Its working directory, if it is not the project.
        cwd: Option<PathBuf>,
    },
    /// A running server.
    Http {
        /// Its address.
        url: Url,
        /// Headers of each request.
        headers: BTreeMap<String, String>,
        /// True for the transport of MCP 2024-11-05.
        is_sse: bool,
    },
}

/// Returns the value of an environment variable.
pub type Reference<'a> = &'a dyn Fn(&str) -> Option<String>;

impl ServerAddress {
    /// Returns the address of a configured server, with `${VAR}` and `${VAR:-default}` replaced.
    ///
    /// # Errors
    /// A description of the fault, as a fragment for people. It contains no value.
    pub fn of(server: &McpServer, variables: Reference<'_>) -> Result<ServerAddress, String> {
        let mut missing = Vec::new();
        let mut expanded = |text: &str| expand(text, variables, &mut missing);
        let transport = match (server.transport, &server.command, &server.url) {
            (Some(transport), ..) => transport,
            (None, Some(_), _) => McpTransport::Stdio,
            (None, None, Some(_)) => McpTransport::Http,
            (None, None, None) => return Err("neither `command` nor `url` is set".to_owned()),
        };
        let mut all = |map: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            map.iter()
                .map(|(name, value)| (name.clone(), expanded(value)))
                .collect()
        };
        let address = match transport {
            McpTransport::Stdio => {
                let command = server.command.as_deref().ok_or("`command` is not set")?;
                let env = all(&server.env);
                ServerAddress::Program {
                    command: expanded(command),
                    args: server.args.iter().map(|arg| expanded(arg)).collect(),
                    env,
                    cwd: server.cwd.clone(),
                }
            }
            McpTransport::Http | McpTransport::Sse => {
                let url = server.url.as_deref().ok_or("`url` is not set")?;
                let headers = all(&server.headers);
                let url = expanded(url);
                let url = Url::parse(&url).map_err(|error| format!("`url` is invalid: {error}"));
                // Without its variables the text may be anything.
                let url = match url {
                    Err(_) if !missing.is_empty() => return Err(unset(&missing)),
                    url => url?,
                };
                if !matches!(url.scheme(), "http" | "https") {
                    let scheme = url.scheme();
                    return Err(format!(
                        "`url` has the scheme `{scheme}`, not http or https"
                    ));
                }
                ServerAddress::Http {
                    url,
                    headers,
                    is_sse: transport == McpTransport::Sse,
                }
            }
        };
        if missing.is_empty() {
            Ok(address)
        } else {
            Err(unset(&missing))
        }
    }

    /// Returns the identity of the server: equal addresses are the same server. It reveals no
    /// value.
    pub fn identity(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |text: &str| {
            hasher.update(&text.len().to_le_bytes());
            hasher.update(text.as_bytes());
        };
        match self {
            ServerAddress::Program {
                command,
                args,
                env,
                cwd,
            } => {
                add("program");
                add(command);
                args.iter().for_each(|arg| add(arg));
                add("env");
                for (name, value) in env {
                    add(name);
                    add(value);
                }
                add(&cwd
                    .as_ref()
                    .map_or(String::new(), |cwd| cwd.display().to_string()));
            }
            ServerAddress::Http {
                url,
                headers,
                is_sse,
            } => {
                add(if *is_sse { "sse" } else { "http" });
                add(url.as_str());
                for (name, value) in headers {
                    add(name);
                    add(value);
                }
            }
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Returns a short form for people. It contains no variable, no header, and no secret of a URL.
    pub fn shown(&self) -> String {
        match self {
            ServerAddress::Program { command, args, .. } => {
                let words = std::iter::once(command).chain(args);
                words.map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            ServerAddress::Http { url, .. } => {
                let mut url = url.clone();
                // An error means that the URL cannot have one.
                let _ = url.set_username("");
                let _ = url.set_password(None);
                url.set_query(None);
                url.to_string()
            }
        }
    }

    /// Returns the transport.
    pub fn transport(&self) -> McpTransport {
        match self {
            ServerAddress::Program { .. } => McpTransport::Stdio,
            ServerAddress::Http { is_sse: true, .. } => McpTransport::Sse,
            ServerAddress::Http { is_sse: false, .. } => McpTransport::Http,
        }
    }
}

fn unset(missing: &[String]) -> String {
    let names: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [name] => format!("the environment variable {name} is not set"),
        names => format!("the environment variables {} are not set", names.join(", ")),
    }
}

/// Replaces `${VAR}` and `${VAR:-default}`. Names of variables without a value and a default are
/// added to `missing`.
fn expand(text: &str, variables: Reference<'_>, missing: &mut Vec<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, after) = rest.split_at(start);
        expanded.push_str(before);
        let Some(end) = after.find('}') else {
            rest = after;
            break;
        };
        let inside = &after[2..end];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            expanded.push_str(&after[..=end]);
        } else {
            let value = variables(name).filter(|value| !value.is_empty() || default.is_none());
            match (value, default) {
                (Some(value), _) => expanded.push_str(&value),
                (None, Some(default)) => expanded.push_str(default),
                (None, None) if missing.iter().any(|known| known == name) => {}
                (None, None) => missing.push(name.to_owned()),
            }
        }
        rest = &after[end + 1..];
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(name: &str) -> Option<String> {
        match name {
            "HOST" => Some("example.com".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    fn program(args: &[&str]) -> McpServer {
        McpServer {
            command: Some("server".to_owned()),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            ..McpServer::default()
        }
    }

    #[test]
    fn variables_are_replaced() {
        let server = program(&["${HOST}/${EMPTY:-x}/${NONE:-a b}", "$HOST ${not a name} ${"]);
        let address = ServerAddress::of(&server, &variables).expect("it is valid");
        assert_eq!(
            address.shown(),
            "server example.com/x/a b $HOST ${not a name} ${"
        );
    }

    #[test]
    fn all_unset_variables_are_named_without_values() {
        let mut server = program(&["${ONE}", "${TWO}${ONE}"]);
        server.env.insert("KEY".to_owned(), "${HOST}".to_owned());
        let why = ServerAddress::of(&server, &variables).err();
        let expected = "the environment variables `ONE`, `TWO` are not set";
        assert_eq!(why.as_deref(), Some(expected));
    }

    #[test]
    fn the_transport_follows_from_the_keys() {
        let server = McpServer {
            url: Some("https://user:secret@${HOST}/mcp?key=1".to_owned()),
            ..McpServer::default()
        };
        let address = ServerAddress::of(&server, &variables).expect("it is valid");
        assert_eq!(address.transport(), McpTransport::Http);
        assert_eq!(address.shown(), "https://example.com/mcp");
        let nothing = ServerAddress::of(&McpServer::default(), &variables).err();
        assert_eq!(
            nothing.as_deref(),
            Some("neither `command` nor `url` is set")
        );
        let server = McpServer {
            url: Some("file:///etc/passwd".to_owned()),
            ..McpServer::default()
        };
        let why = ServerAddress::of(&server, &variables).err();
        assert_eq!(
            why.as_deref(),
            Some("`url` has the scheme `file`, not http or https")
        );
    }

    #[test]
    fn the_identity_depends_on_every_part() {
        let plain = program(&["a", "b"]);
        let mut with_env = plain.clone();
        with_env.env.insert("A".to_owned(), "1".to_owned());
        let mut other_env = plain.clone();
        other_env.env.insert("A".to_owned(), "2".to_owned());
        let joined = program(&["ab"]);
        let identity = |server: &McpServer| {
            let address = ServerAddress::of(server, &variables).expect("it is valid");
            address.identity()
        };
        let all = [&plain, &with_env, &other_env, &joined].map(identity);
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(identity(&plain), identity(&plain.clone()));
    }
}
