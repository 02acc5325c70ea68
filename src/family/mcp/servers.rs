//! The servers of one configuration file, and what is needed to reach each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Upstream;
use crate::family::LoadContext;
use crate::family::pinned::PinStore;
use crate::family::rights::{Confinement, denied};
use crate::family::tool_command::{settings_words, variable_word};
use haft_config::grants::real;
use haft_config::{Config, McpImport, McpServer, PROJECT_FILE, SAFE_VARIABLES, WORKSPACE, paths};
use haft_discover::{Candidate, imported_files};
use haft_mcp::{
    Endpoint, HttpEndpoint, Server, ServerAddress, ServerOptions, TokenStore, Unusable, foreign,
};
use haft_process::{Environment, Spawn, StatePart, project_files};
use haft_tool::{
    AccessTarget, Isolation, LogLevel, PermissionKind, Problem, TRUST_HINT, TrustDomain,
    with_permit_target,
};

/// Time until a server must be ready, if the configuration sets none.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// Time after which an idle server is stopped, if the configuration sets none.
const IDLE: Duration = Duration::from_secs(5 * 60);

/// Variables of haft that the program of a server gets besides the safe ones and its own `env`: where
/// its files and the certificates are, and those that patterns of the safe ones stand for.
const SERVER_VARIABLES: [&str; 9] = [
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "NODE_EXTRA_CA_CERTS",
    "RUSTUP_HOME",
    "SSL_CERT_FILE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// A server as a file has it.
#[derive(Clone)]
pub(crate) struct Configured {
    pub(crate) name: String,
    pub(crate) settings: Result<McpServer, String>,
}

impl Configured {
    /// Returns true if the configuration switches it off.
    pub(crate) fn is_off(&self) -> bool {
        let settings = self.settings.as_ref();
        settings.is_ok_and(|settings| settings.enabled == Some(false))
    }
}

/// Servers of a candidate's file.
pub(super) fn read(
    config: &Config,
    candidate: &Candidate,
) -> Result<Vec<Configured>, Box<Problem>> {
    let problem = |text: String| Box::new(Problem::warning(text).at(&candidate.path));
    let own = match candidate.source.provider.as_str() {
        "mcp" if candidate.resolved == config.cwd.join(PROJECT_FILE) => {
            Some(&config.mcp.project_servers)
        }
        "mcp" => Some(&config.mcp.servers),
        _ => None,
    };
    if let Some(own) = own {
        let servers = own.iter().map(|(name, settings)| Configured {
            name: name.clone(),
            settings: Ok(settings.clone()),
        });
        return Ok(servers.collect());
    }
    let bytes = fs::read(&candidate.resolved)
        .map_err(|error| problem(format!("cannot be read: {}", paths::plain(&error))))?;
    candidate.verify(&bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let import = import_of(config, candidate);
    let project = config.cwd.display().to_string();
    let servers = foreign::servers(import, &text, &project)
        .map_err(|why| problem(format!("its MCP servers cannot be read: {why}")))?;
    let servers = servers.into_iter();
    Ok(servers
        .map(|(name, settings)| Configured { name, settings })
        .collect())
}

/// Returns the program whose configuration a file is.
fn import_of(config: &Config, candidate: &Candidate) -> McpImport {
    let mut imports = McpImport::ALL
        .iter()
        .copied()
        .filter(|import| *import != McpImport::Project);
    let is_file = |import: &McpImport| {
        let files = imported_files(config, *import);
        files.contains(&candidate.path)
    };
    imports.find(is_file).unwrap_or(McpImport::Project)
}

/// Files of the project that the servers of a project's file start. They decide what runs,
/// so they belong to what the user trusts.
pub(crate) fn named_files(config: &Config, candidate: &Candidate) -> Vec<PathBuf> {
    let servers = read(config, candidate).unwrap_or_default().into_iter();
    let settings = servers.filter_map(|server| server.settings.ok());
    let files = settings.flat_map(|settings| {
        let inherited = ServerAddress::of(&settings, &haft_process::inherited);
        // Without its variables a server cannot start. Their names are not files.
        let address = inherited.or_else(|_| ServerAddress::of(&settings, &|_| Some(String::new())));
        match address {
            Ok(ServerAddress::Program {
                command,
                args,
                env,
                cwd,
            }) => {
                let folder = folder_of(config, cwd.as_deref());
                let mut words = settings_words(config, std::iter::once(command).chain(args));
                let variables = env.iter();
                words.extend(variables.map(|(name, value)| variable_word(name, value)));
                project_files(&config.cwd, &folder, &words)
            }
            Ok(ServerAddress::Http { .. }) | Err(_) => Vec::new(),
        }
    });
    files.collect()
}

/// Names of the files that a package has in its folder.
const MANIFESTS: [&str; 2] = ["package.json", "pyproject.toml"];

/// Finds the files and packages that the command line of one of the user's servers names. A server
/// in a sandbox reads its own code.
fn own_files(config: &Config, candidate: &Candidate, address: &ServerAddress) -> Vec<PathBuf> {
    let ServerAddress::Program {
        command, args, cwd, ..
    } = address
    else {
        return Vec::new();
    };
    if candidate.trust_domain() != TrustDomain::User {
        return Vec::new();
    }
    let (folder, home) = (folder_of(config, cwd.as_deref()), real(&config.home));
    let words = std::iter::once(command).chain(args);
    let paths = words.filter(|word| word.contains('/'));
    let files = paths.filter_map(|word| folder.join(word).canonicalize().ok());
    let own = files.map(|file| {
        let above = file.ancestors().take_while(|it| !home.starts_with(it));
        let mut packages = above.filter(|it| MANIFESTS.iter().any(|name| it.join(name).is_file()));
        packages.next().map_or_else(|| file.clone(), Path::to_owned)
    });
    own.filter(|file| !home.starts_with(file)).collect()
}

/// Returns the working directory of a server.
fn folder_of(config: &Config, cwd: Option<&Path>) -> PathBuf {
    cwd.map_or_else(|| config.cwd.clone(), |cwd| config.cwd.join(cwd))
}

/// A server that can be connected.
pub(super) struct Prepared {
    pub(super) name: String,
    pub(super) settings: McpServer,
    pub(super) server: Arc<Server>,
    pub(super) confinement: Confinement,
    pub(super) pins: PinStore,
    /// The address that is contacted, for the record of a call.
    pub(super) url: Option<url::Url>,
    /// Set if its sandbox restricts nothing.
    pub(super) warning: Option<Problem>,
}

impl Prepared {
    /// Returns true if nothing is known of the server, so that it is started for its list.
    pub(super) fn needs_start(&self) -> bool {
        let has_failed = self.server.failure();
        let has_failed = has_failed.is_some_and(|failure| failure.is_recent());
        self.server.definitions().is_none() && !has_failed
    }
}

/// Prepares a server. Nothing is started.
pub(super) fn prepare(
    means: &LoadContext<'_>,
    upstream: &Upstream,
    candidate: &Candidate,
    configured: Configured,
) -> Result<Prepared, Box<Problem>> {
    let Configured { name, settings } = configured;
    let config = means.config;
    let problem =
        |why: String| Problem::warning(Unusable(&name, why).to_string()).at(&candidate.path);
    let failed = |why: String| Box::new(problem(why));
    let settings = settings.map_err(failed)?;
    let address = ServerAddress::of(&settings, &haft_process::inherited).map_err(|why| {
        let hint = "set it, or write a default: `${NAME:-value}`";
        let is_variable = why.contains("environment variable");
        let problem = problem(why);
        Box::new(if is_variable {
            problem.hint(hint)
        } else {
            problem
        })
    })?;
    let with_isolation = settings.isolation.map(|isolation| {
        let mut config = config.clone();
        config.isolation = isolation;
        let is_chosen = match candidate.trust_domain() {
            TrustDomain::User => config.sandbox.user.is_some(),
            TrustDomain::Plugins => config.sandbox.plugins.is_some(),
            TrustDomain::Project => true,
        };
        if isolation == Isolation::Sandbox && !is_chosen {
            // A sandbox in which everything is allowed would be none.
            (config.sandbox.families.mcp).get_or_insert_with(|| WORKSPACE.to_owned());
        }
        config
    });
    let rights_config = with_isolation.as_ref().unwrap_or(config);
    let folders = own_files(config, candidate, &address);
    let confinement =
        (means.sandboxes).of_with_folders(rights_config, candidate, &name, folders)?;
    let identity = address.identity();
    let rights = &confinement.bounds.rights;
    let is_open = rights.permissions.restricts_nothing();
    let warning = (rights.isolation == Isolation::Sandbox && is_open).then(|| {
        let profile = &confinement.bounds.profile.name;
        let text = format!(
            "the sandbox of the MCP server `{name}` restricts nothing: the profile `{profile}` \
             grants everything"
        );
        let hint = format!(
            "`sandbox: {{tools: {{{name}: workspace}}}}` in ~/.config/haft/config.yaml restricts it"
        );
        Problem::warning(text).at(&candidate.path).hint(hint)
    });
    let rights = blake3::hash(format!("{rights:?}").as_bytes()).to_hex();
    let (mut url, mut listing) = (None, None);
    let endpoint = match &address {
        ServerAddress::Program {
            command,
            args,
            env,
            cwd,
        } => {
            let folder = folder_of(config, cwd.as_deref());
            let words = std::iter::once(command).chain(args).cloned();
            let words = settings_words(config, words);
            let variables = env.iter().map(|(name, value)| (&**name, &**value));
            let command = confinement.commands.command(&folder, &words, variables);
            let spawn = command
                .map_err(|why| Box::new(problem(why.to_string()).hint(TRUST_HINT)))?
                .spawn([""; 0]);
            let variables = SAFE_VARIABLES.iter().chain(&SERVER_VARIABLES);
            let inherited = Environment::allow(variables.copied());
            let env = env
                .iter()
                .fold(inherited, |env, (name, value)| env.with(name, value));
            let limits = config.limits_of(candidate.bounds_level());
            let spawn = confinement.confined(Spawn {
                cwd: Some(folder),
                env,
                grace: limits.grace,
                ..spawn
            });
            spawn
                .check_rights()
                .map_err(|error| failed(error.to_string()))?;
            let command = means.listing.command(candidate, spawn.clone())?;
            if command.is_restricted {
                listing = Some(Endpoint::Program(Box::new(command.into_spawn())));
            }
            Endpoint::Program(Box::new(spawn))
        }
        ServerAddress::Http {
            url: address,
            headers,
            is_sse,
        } => {
            let host = address.host_str().unwrap_or_default();
            let port = address.port_or_known_default();
            let permissions = &confinement.permissions;
            let port = port.unwrap_or_default();
            let target = AccessTarget::Host(host, port);
            if !permissions.decide(PermissionKind::Net, target).is_granted() {
                let what = format!("{host}:{port}");
                let refusal = denied(&permissions.refusal(PermissionKind::Net, &what));
                let hint = refusal.hint().unwrap_or_default();
                let hint = with_permit_target(hint, &format!("mcp:{name}"));
                return Err(Box::new(problem(refusal.message().to_owned()).hint(hint)));
            }
            url = Some(address.clone());
            Endpoint::Http(Box::new(HttpEndpoint {
                url: address.clone(),
                headers: headers.clone().into_iter().collect(),
                is_sse: *is_sse,
                tls: upstream.tls.clone(),
                tokens: TokenStore::of(&config.state_dir, config.mcp.login_store, &name, address),
            }))
        }
    };
    let (log, domain, about) = (upstream.log.clone(), candidate.trust_domain(), name.clone());
    let folder = listing
        .as_ref()
        .map_or("", |_| " listed in an empty folder");
    let key = format!("{name} {identity} {}{folder}", &rights[..16]);
    let options = ServerOptions {
        name: name.clone(),
        identity,
        key,
        endpoint,
        listing,
        startup_timeout: settings.startup_timeout.unwrap_or(STARTUP_TIMEOUT),
        idle: settings.idle.unwrap_or(IDLE),
        log: Some(Arc::new(move |line: &str| {
            log.log(domain, LogLevel::Info, &format!("mcp:{about}"), line, "");
        })),
    };
    Ok(Prepared {
        server: upstream.pool.server(options),
        pins: pin_store(config, candidate, &name, &settings),
        name,
        settings,
        confinement,
        url,
        warning,
    })
}

/// Returns where the trusted definitions of a server are. They belong to the server as the file has
/// it, whatever the values of variables are: a new token is not a new server.
pub(super) fn pin_store(
    config: &Config,
    candidate: &Candidate,
    name: &str,
    settings: &McpServer,
) -> PinStore {
    let by_name = |name: &str| Some(format!("${{{name}}}"));
    let template = ServerAddress::of(settings, &by_name);
    let template = template.map_or_else(|why| why, |address| address.identity());
    let place = if candidate.needs_trust() {
        haft_config::grants::text_of(&haft_config::grants::real(&config.cwd))
    } else {
        String::new()
    };
    let key = blake3::hash(format!("{place}\0{name}\0{template}").as_bytes()).to_hex();
    let pins = config.state_dir.folder(StatePart::McpPins);
    PinStore::new(pins, &key[..32], name)
}
