//! All servers with their states, for people: which there are, whether they can be used, what they
//! offer, what of it is not trusted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Upstream, servers};
use crate::family::LoadContext;
use crate::family::pinned::PinStore;
use haft_config::McpServer;
use haft_discover::Candidate;
use haft_mcp::{
    Authorization, Connection, Definitions, Failure, Pins, Rules, Server, ServerAddress,
    ServerRules, Standing, TlsConfig, TokenPlace, TokenStore, ToolDefinition,
};
use haft_tool::{Problem, Source};
use url::Url;

/// A server of a configuration file.
pub(crate) struct ServerState {
    pub(crate) name: String,
    /// The file.
    pub(crate) source: Source,
    /// False if the project that brings it is not trusted.
    pub(crate) is_allowed: bool,
    /// False if the configuration switches it off.
    pub(crate) is_enabled: bool,
    /// Its configuration; `None` if it cannot be read.
    pub(crate) settings: Option<McpServer>,
    /// Its address without secrets and without the values of variables.
    pub(crate) address: String,
    /// The reason why it cannot be used.
    pub(crate) fault: Option<Problem>,
    server: Option<Arc<Server>>,
    pins: PinStore,
    /// The address of a server over HTTP, with the store of the user's login.
    login: Option<(Url, TokenStore, TlsConfig)>,
}

/// Returns the servers in the files of these candidates. Nothing is started.
pub(crate) fn survey(
    means: &LoadContext<'_>,
    upstream: &Upstream,
    candidates: &[(Candidate, bool)],
) -> Vec<ServerState> {
    let mut states: Vec<ServerState> = Vec::new();
    for (candidate, is_allowed) in candidates {
        for configured in servers::read(means.config, candidate).unwrap_or_default() {
            let name = configured.name.clone();
            let settings = configured.settings.clone();
            let is_enabled = !configured.is_off();
            let template = settings.clone().ok();
            let pins = servers::pin_store(
                means.config,
                candidate,
                &name,
                &template.clone().unwrap_or_default(),
            );
            let address = template.as_ref().map_or_else(String::new, shown);
            let (mut server, mut fault, mut login) = (None, None, None);
            if *is_allowed && is_enabled {
                match servers::prepare(means, upstream, candidate, configured) {
                    Ok(prepared) => {
                        login = prepared.url.map(|url| {
                            let config = means.config;
                            let (state, wanted) = (&config.state_dir, config.mcp.login_store);
                            let tokens = TokenStore::of(state, wanted, &name, &url);
                            (url, tokens, upstream.tls.clone())
                        });
                        server = Some(prepared.server);
                    }
                    Err(problem) => fault = Some(*problem),
                }
            }
            states.push(ServerState {
                name,
                source: candidate.source.clone(),
                is_allowed: *is_allowed,
                is_enabled,
                settings: template,
                address,
                fault,
                server,
                pins,
                login,
            });
        }
    }
    states
}

/// Returns the address as the file has it: references to variables stay references.
pub(super) fn shown(server: &McpServer) -> String {
    match (&server.command, &server.url) {
        (Some(command), _) => {
            let words = std::iter::once(command).chain(&server.args);
            words.map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        (None, Some(_)) => {
            let by_name = |name: &str| Some(format!("${{{name}}}"));
            ServerAddress::of(server, &by_name).map_or_else(|why| why, |address| address.shown())
        }
        (None, None) => String::new(),
    }
}

impl ServerState {
    /// Returns what the server offered when it was last connected.
    pub(crate) fn definitions(&self) -> Option<Arc<Definitions>> {
        self.server.as_ref()?.definitions()
    }

    /// Returns the failure of the last start.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.server.as_ref()?.failure()
    }

    /// Returns what differs from the trusted definitions.
    pub(crate) fn changes(&self) -> BTreeMap<String, Standing> {
        let (Some(definitions), Ok(Some(pins))) = (self.definitions(), self.pins.read()) else {
            return BTreeMap::new();
        };
        Pins::changes(&pins, &definitions)
    }

    /// Returns the hash of the trusted definition of the server's tool `tool`, if it is known.
    pub(crate) fn trusted_digest(&self, tool: &str) -> Option<String> {
        let pins = self.pins.read().ok()??;
        pins.tool(tool).map(haft_mcp::ToolDefinition::digest)
    }

    /// Returns true if definitions are trusted.
    pub(crate) fn is_pinned(&self) -> bool {
        matches!(self.pins.read(), Ok(Some(_)))
    }

    /// Returns the number of trusted definitions; `None` if nothing is trusted yet.
    ///
    /// # Errors
    /// If the file with them cannot be used.
    pub(crate) fn pinned(&self) -> std::io::Result<Option<usize>> {
        Ok(self.pins.read()?.map(|pins| pins.tools().len()))
    }

    /// Returns the trusted definition of the tool that is offered under this name, and true if the
    /// server still has it.
    pub(crate) fn pin_of(&self, offered: &str) -> Option<(ToolDefinition, bool)> {
        let pins = self.pins.read().ok()??;
        let rules = ServerRules(self.settings.as_ref()?);
        let is_it = |pinned: &&ToolDefinition| {
            let name = rules.offered_name(&pinned.name);
            // Names that two servers have begin with that of the server.
            let rest = offered.strip_prefix(&*self.name);
            let rest = rest.and_then(|rest| rest.strip_prefix('_'));
            rules.takes(&pinned.name) && (name == offered || rest == Some(&name))
        };
        let pinned = pins.tools().find(is_it)?;
        let definitions = self.definitions()?;
        let now = definitions.tool(&pinned.name)?;
        Some((pinned.clone(), now.digest() == pinned.digest()))
    }

    /// Starts the server anew and lists its tools. The first definitions are trusted.
    pub(crate) async fn connect(&self) -> Result<Arc<Connection>, Failure> {
        let Some(server) = &self.server else {
            let why = match &self.fault {
                Some(problem) => problem.message.clone(),
                None if !self.is_allowed => "its project is not trusted".to_owned(),
                None => "it is switched off".to_owned(),
            };
            return Err(Failure::now(why, Vec::new()));
        };
        let connection = server.reconnect().await?;
        let definitions = connection.definitions();
        if let Err(error) = self.pins.of(&definitions, false) {
            tracing::warn!(%error, "trusted definitions cannot be read");
        }
        Ok(connection)
    }

    /// Stops the server.
    pub(crate) async fn close(&self) {
        if let Some(server) = &self.server {
            server.close().await;
        }
    }

    /// Logs the user in, and returns where the tokens are. `open` shows the page for it.
    pub(crate) async fn log_in(
        &self,
        client_id: Option<String>,
        open: &(dyn Fn(&Url) + Send + Sync),
    ) -> Result<TokenPlace, String> {
        let Some((url, tokens, tls)) = self.login.clone() else {
            return Err(match &self.fault {
                Some(problem) => problem.message.clone(),
                None => "only a server over HTTP has a login".to_owned(),
            });
        };
        let authorization = Authorization {
            url: &url,
            tls,
            client_id,
            tokens,
            open,
        };
        authorization.run().await
    }

    /// Forgets the user's login; returns false if there was none.
    ///
    /// # Errors
    /// If the tokens cannot be removed; a sentence.
    pub(crate) async fn log_out(&self) -> Result<bool, String> {
        match &self.login {
            Some((_, tokens, _)) => tokens.forget().await,
            None => Ok(false),
        }
    }

    /// Trusts what the server offers now.
    pub(crate) fn trust(&self) -> std::io::Result<()> {
        match self.definitions() {
            Some(definitions) => self.pins.replace(&definitions),
            None => self.pins.forget(),
        }
    }

    /// Forgets what is trusted of the server.
    pub(crate) fn forget(&self) -> std::io::Result<()> {
        self.pins.forget()
    }
}
