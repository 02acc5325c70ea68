//! Review of a project before the user trusts it: every tool, every file that it loads, and the
//! changes since the last grant. Exactly the files that are shown are granted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Store;
use super::grant::{self, Change, Files, Granted, Names, rights_of};
use super::outward_links::OutwardLinks;
use crate::family::file_rights::{RightsReader, subject_of};
use crate::family::{self, mcp};
use haft_config::grants::{Grant, Learned, TrustedTool, VERSION, digest, path_of, real, text_of};
use haft_config::permits::{Permit, PermitSubject, Permits};
use haft_config::{Config, PROJECT_FILE, RightsResolver, paths, settings};
use haft_discover::Candidate;
use haft_engine::graph::{DynamicImport, Graph, Grapher, Kind, digest_of_file};
use haft_tool::{
    AccessTarget, Error, ErrorKind, Family, Isolation, LeftOutPath, PermissionKind,
    PermissionProfile, PermissionRequest, Problem, ProfileSource, RequestedAccess, ToolRights,
    since_1970,
};

/// The tools and settings of a project, gathered without running any of it.
pub struct Review {
    /// The project's real path.
    pub project: PathBuf,
    /// Its tools, in the order in which they would claim their names.
    pub tools: Vec<Reviewed>,
    /// Files that were trusted as tools and are not tools any more.
    pub gone: Vec<String>,
    /// Its settings files that decide about plugins, features and providers.
    pub settings: Vec<ReviewedSettings>,
    /// Its configuration file, if it has one.
    pub config_file: Option<(PathBuf, State)>,
    /// Every key of that file, and the keys that it had when it was trusted.
    pub config_keys: Vec<ConfigKey>,
    /// Files that modules loaded while they ran, with their present state.
    pub learned: Vec<(PathBuf, State)>,
    /// True if commands of the user's own run in the project once it is trusted.
    pub has_own_commands: bool,
    /// Set if modules may make code of text and bytes at any time.
    pub allows_code_from_data: bool,
    /// Its links that lead out of its repository.
    pub outward_links: OutwardLinks,
    /// The problem of a store of grants that cannot be read.
    pub problem: Option<Problem>,
    grant: Grant,
    store: Store,
    permits: Permits,
    is_granted: bool,
}

/// One tool file.
pub struct Reviewed {
    /// The name of the tool, as far as the file's name shows it.
    pub key: String,
    /// The name of the provider that found it.
    pub provider_name: String,
    /// The file.
    pub path: PathBuf,
    /// The files of the project and of the user that it loads, without itself.
    pub files: Vec<PathBuf>,
    /// The packages that it loads.
    pub packages: Vec<PackageUse>,
    /// Imports that were not found: most often packages that are not installed.
    pub missing: BTreeSet<String>,
    /// Places in the code that may load other code than these files.
    pub openings: BTreeSet<DynamicImport>,
    /// Permissions that it asks for.
    pub requests: Vec<PermissionRequest>,
    /// Programs and addresses that it starts or contacts, if its file says so: a line for each MCP server.
    pub servers: Vec<String>,
    /// Rights that it lacks with its profile.
    pub lacking: LackingRights,
    /// Entries of its requests, and of what grants it anything, that grant nothing.
    pub left_out: Vec<LeftOutPath>,
    /// The profile that it will have; `None` for a test.
    pub profile: Option<ReviewedProfile>,
    /// Comparison with the grant.
    pub state: State,
}

/// Rights that a tool lacks.
#[derive(Default)]
pub struct LackingRights {
    /// Accesses that it asks for and that nothing grants.
    pub refused: Vec<RequestedAccess>,
    /// Programs that its first line names and that its sandbox does not let it read.
    pub interpreters: Vec<PathBuf>,
    /// Hosts that its MCP servers are reached at and that nothing grants yet.
    pub hosts: Vec<ServerHost>,
}

/// Host that an MCP server of the project is reached at. Trust grants it to the server.
pub struct ServerHost {
    /// The name of the server.
    pub server: String,
    /// The host with its port.
    pub host: String,
    subject: PermitSubject,
}

/// Profile of a tool.
pub struct ReviewedProfile {
    /// Its name, and the choice of it.
    pub source: ProfileSource,
    /// The rights that the tool will have.
    pub rights: ToolRights,
}

/// A key of the project's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigKey {
    /// Its name, with dots between the levels.
    pub key: String,
    /// Its value; `None` if the key is gone.
    pub value: Option<String>,
    /// Its value when the file was trusted; `None` if the key is new.
    pub before: Option<String>,
}

/// Decisions of a project's settings file.
pub struct ReviewedSettings {
    /// The file.
    pub path: PathBuf,
    /// Each key that counts, with its value.
    pub says: serde_json::Map<String, serde_json::Value>,
    /// Comparison with the grant.
    pub state: State,
}

/// A package in `node_modules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageUse {
    /// Its name.
    pub name: String,
    /// The number of its files that are loaded.
    pub files: usize,
}

/// Comparison with the grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It was not trusted before, or the project was not.
    New,
    /// It is exactly what was trusted.
    Unchanged,
    /// It differs. The list may be empty for a file that is compared as a whole.
    Changed(Vec<Change>),
}

impl Review {
    /// Reviews the project that `config` works in. The configuration should have been made with
    /// `trust_project`, because otherwise the tools that the project's own file names are missing.
    pub fn of(config: &Config) -> Review {
        Review::with_profile(config, None)
    }

    /// Reviews the project, whose tools get the profile `chosen` if it is trusted; `None` keeps the
    /// one that was chosen before, or else the configured one.
    pub fn with_profile(config: &Config, chosen: Option<&str>) -> Review {
        let names = Names::of(&config.cwd);
        let store = Store::at(&config.state_dir, &config.home);
        let read = store.read(names.project());
        let problem = read.as_ref().err();
        let problem = problem.map(|error| store.problem(names.project(), error));
        let before = read.ok().flatten();

        let grapher = Grapher::for_untrusted();
        let (mut tools, mut graphs) = (Vec::new(), Vec::new());
        let mut grant = empty(names.project());
        let chosen_before = before.as_ref().and_then(|before| before.profile.clone());
        grant.profile = chosen.map(str::to_owned).or(chosen_before);
        let resolver = config.rights();
        let rights_reader = RightsReader::new(config);
        let scan = haft_discover::scan_as(config, true);
        let mut candidates = scan.candidates.iter();
        let has_own_commands = candidates.any(super::is_own_command);
        for candidate in scan.candidates.into_iter().filter(|c| c.needs_trust()) {
            let mut graph = super::graph(&grapher, config, &candidate);
            graph.requests = requests(&names, &grapher, &candidate, &graph);
            let entry = names.name(&candidate.resolved);
            let files = names.files(&graph);
            let was = before
                .as_ref()
                .and_then(|grant| grant.files_of(&entry, &candidate));
            let tool = reviewed((&names, &grapher), &candidate, &graph, state(was, &files));
            let profile = profile(&resolver, &candidate, grant.profile.as_deref());
            let lacking =
                lacking_rights(config, &rights_reader, &candidate, &profile, &tool.requests);
            tools.push(Reviewed {
                lacking,
                left_out: left_out(config, &resolver, &profile, &tool.requests),
                profile: Some(profile),
                servers: match candidate.source.family {
                    Family::Mcp => mcp::described(config, &candidate),
                    _ => Vec::new(),
                },
                ..tool
            });
            let tool = TrustedTool {
                family: candidate.source.family,
                provider: candidate.source.provider.clone(),
                files: files.keys().cloned().collect(),
                rights: rights_of(&graph),
                requests: graph.requests.clone(),
            };
            grant.tools.insert(entry, tool);
            grant.files.extend(files);
            graphs.push(graph);
        }
        let learned = before.as_ref().map(|before| before.learned.clone());
        grant.learned = learned.unwrap_or_default();
        let learned = look_again(&names, &mut grant.learned.files);
        let decisions = haft_discover::decisions(config);
        grant.settings = names.settings(&decisions);
        let settings = decisions.into_iter().map(|one| {
            let name = names.name(&one.path);
            let was = before.as_ref().map(|before| before.settings.get(&name));
            ReviewedSettings {
                state: match was.flatten() {
                    None => State::New,
                    Some(was) if Some(was) == grant.settings.get(&name) => State::Unchanged,
                    Some(_) => State::Changed(Vec::new()),
                },
                path: names.place(&one.path),
                says: one.says,
            }
        });
        let settings = settings.collect();
        let config_file = reviewed_config(config, before.as_ref(), &mut grant);
        let config_keys = config_keys(before.as_ref(), &grant);
        let facts = names.is_direct().then(|| union(names.project(), graphs));
        // Facts that cannot be written are left out: the files are parsed instead.
        grant.facts = facts.and_then(|facts| serde_json::value::to_raw_value(&facts).ok());
        let is_still = |entry: &&String| !grant.tools.contains_key(*entry);
        let gone = before.iter().flat_map(|grant| grant.tools.keys());
        Review {
            project: names.project().to_owned(),
            gone: gone.filter(is_still).cloned().collect(),
            is_granted: before.is_some_and(|before| is_same(&before, &grant)),
            tools,
            settings,
            config_file,
            config_keys,
            learned,
            has_own_commands,
            allows_code_from_data: grant.learned.code_from_data,
            outward_links: OutwardLinks::find(names.project(), &config.repository()),
            problem,
            grant,
            store,
            permits: Permits::at(&config.state_dir, &config.home, &config.cwd),
        }
    }

    /// Reviews test files and the files that each of them loads, instead of the project's tools.
    /// The grants of tests are kept apart from those of tools.
    pub(crate) fn of_tests(config: &Config, tests: &[(PathBuf, Vec<PathBuf>)]) -> Review {
        let names = Names::of(&config.cwd);
        let store = Store::of_tests(&config.state_dir, &config.home);
        let read = store.read(names.project());
        let problem = read.as_ref().err();
        let problem = problem.map(|error| store.problem(names.project(), error));
        let before = read.ok().flatten();

        let grapher = Grapher::default();
        let mut grant = before.clone().unwrap_or_else(|| empty(names.project()));
        let mut tools = Vec::new();
        for (test, loads) in tests {
            let graphs = loads.iter().map(|file| {
                if is_code(file) {
                    grapher.graph(file)
                } else {
                    grapher.lone_file(file)
                }
            });
            let graph = union(test, graphs.collect());
            let files = names.files(&graph);
            let entry = names.name(test);
            let was = before
                .as_ref()
                .and_then(|grant| grant.files_of_test(&entry));
            let is_granted = was.as_ref().is_some_and(|was| {
                let mut files = files.iter();
                files.all(|(file, hash)| was.get(file) == Some(hash))
            });
            if is_granted {
                continue;
            }
            let name = test.file_name().unwrap_or_default().to_string_lossy();
            tools.push(Reviewed {
                key: name.into_owned(),
                provider_name: "test".to_owned(),
                path: names.place(test),
                ..reviewed_files(
                    (&names, &grapher),
                    &names.place(test),
                    &graph,
                    state(was, &files),
                )
            });
            let tool = TrustedTool {
                family: Family::Js,
                provider: "test".to_owned(),
                files: files.keys().cloned().collect(),
                rights: rights_of(&graph),
                requests: Vec::new(),
            };
            grant.tools.insert(entry, tool);
            grant.files.extend(files);
        }
        Review {
            project: names.project().to_owned(),
            gone: Vec::new(),
            is_granted: tools.is_empty(),
            tools,
            settings: Vec::new(),
            config_file: None,
            config_keys: Vec::new(),
            learned: Vec::new(),
            has_own_commands: false,
            allows_code_from_data: false,
            outward_links: OutwardLinks::default(),
            problem,
            grant,
            store,
            permits: Permits::at(&config.state_dir, &config.home, &config.cwd),
        }
    }

    /// Returns true if the project has nothing that would run or be read.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.settings.is_empty() && self.config_file.is_none()
    }

    /// Returns true if all of it is already trusted.
    pub fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// Adds files that modules loaded while they ran, with their digests; returns those that are
    /// new. It neither shows nor grants anything.
    pub(crate) fn learn(&mut self, files: BTreeMap<PathBuf, blake3::Hash>) -> Vec<PathBuf> {
        let mut new = Vec::new();
        for (path, digest) in files {
            let name = text_of(&path);
            let digest = digest.to_hex().to_string();
            let known = self.grant.learned.files.insert(name, digest.clone());
            if known.as_ref() != Some(&digest) {
                new.push(path);
            }
        }
        self.is_granted &= new.is_empty();
        new
    }

    /// Lets modules make code of text and bytes at any time. It takes effect with the next grant.
    pub(crate) fn allow_code_from_data(&mut self) {
        self.is_granted &= self.allows_code_from_data;
        self.allows_code_from_data = true;
        self.grant.learned.code_from_data = true;
    }

    /// Removes the stored grant; returns false if there was none.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn forget(&self) -> Result<bool, Error> {
        self.store.forget(&self.project)
    }

    /// Trusts exactly the reviewed bytes, in place of the earlier grant, and grants the servers their
    /// hosts. One that the user refused stays refused.
    ///
    /// # Errors
    /// When the grant cannot be stored.
    pub fn grant(&self) -> Result<(), Error> {
        for host in self.tools.iter().flat_map(|tool| &tool.lacking.hosts) {
            let before = self.permits.read(&host.subject).map_err(|error| {
                let problem = self.permits.problem(&host.subject, &error);
                Error::new(ErrorKind::Load, problem.message)
            })?;
            let mut permit = Permit::renewed(&host.subject, before.as_ref())?;
            if permit.deny.contains_key(&PermissionKind::Net) {
                continue;
            }
            permit.allow_host(&host.host);
            self.permits.write(&permit)?;
        }
        self.store.write(&self.project, &self.grant)
    }
}

fn empty(project: &Path) -> Grant {
    Grant {
        version: VERSION,
        project: text_of(project),
        trusted_at: since_1970().as_secs(),
        config: None,
        config_keys: BTreeMap::new(),
        settings: BTreeMap::new(),
        tools: BTreeMap::new(),
        files: BTreeMap::new(),
        profile: None,
        learned: Learned::default(),
        facts: None,
    }
}

fn is_same(before: &Grant, now: &Grant) -> bool {
    (&before.config, &before.settings, &before.profile)
        == (&now.config, &now.settings, &now.profile)
        && before.tools == now.tools
        && (&before.files, &before.learned) == (&now.files, &now.learned)
}

/// Updates the hashes of learned files; files that are gone are dropped.
fn look_again(names: &Names<'_>, files: &mut Files) -> Vec<(PathBuf, State)> {
    let before = std::mem::take(files);
    let mut learned = Vec::new();
    for (name, was) in before {
        let path = path_of(&name);
        let Some(is) = digest_of_file(&path) else {
            continue;
        };
        let state = if is == was {
            State::Unchanged
        } else {
            State::Changed(Vec::new())
        };
        learned.push((names.place(&path), state));
        files.insert(name, is);
    }
    learned
}

fn state(was: Option<Files>, is: &Files) -> State {
    let Some(was) = was else {
        return State::New;
    };
    match grant::changes(&was, is) {
        changes if changes.is_empty() => State::Unchanged,
        changes => State::Changed(changes),
    }
}

/// Returns true if a file that a test loads is a module. YAML tools and tests in JSON are data.
fn is_code(file: &Path) -> bool {
    let extension = file.extension();
    !extension.is_some_and(|extension| extension == "yaml" || extension == "json")
}

fn reviewed(
    (names, grapher): (&Names<'_>, &Grapher),
    candidate: &Candidate,
    graph: &Graph,
    state: State,
) -> Reviewed {
    let entry = names.place(&candidate.resolved);
    Reviewed {
        key: candidate.likely_name(),
        provider_name: candidate.source.provider_name.clone(),
        ..reviewed_files((names, grapher), &entry, graph, state)
    }
}

/// Returns the review of a graph's files. `key` and `provider_name` stay empty.
fn reviewed_files(
    (names, grapher): (&Names<'_>, &Grapher),
    entry: &Path,
    graph: &Graph,
    state: State,
) -> Reviewed {
    let (mut files, mut packages) = (Vec::new(), BTreeMap::<String, usize>::new());
    for path in graph.files.keys() {
        match package_of(path) {
            Some(package) => *packages.entry(package).or_default() += 1,
            // The real path differs from `path` if the project was reached by a link.
            None => files.push(names.place(path)),
        }
    }
    files.retain(|file| file != entry);
    let packages = packages.into_iter();
    let openings = graph.openings.iter().map(|opening| DynamicImport {
        path: names.place(&opening.path),
        ..opening.clone()
    });
    Reviewed {
        key: String::new(),
        provider_name: String::new(),
        path: entry.to_owned(),
        files,
        packages: packages
            .map(|(name, files)| PackageUse { name, files })
            .collect(),
        missing: missing_packages(graph, grapher),
        openings: openings.collect(),
        requests: graph.requests.clone(),
        servers: Vec::new(),
        lacking: LackingRights::default(),
        left_out: Vec::new(),
        profile: None,
        state,
    }
}

/// Returns the profile that a tool will have.
fn profile(
    resolver: &RightsResolver<'_>,
    candidate: &Candidate,
    chosen: Option<&str>,
) -> ReviewedProfile {
    let place = candidate.place(&candidate.key);
    let profile = match chosen {
        Some(name) => resolver.profile_at_trust(&place, name),
        None => resolver.profile_of(&place),
    };
    ReviewedProfile {
        source: profile.source.clone(),
        rights: resolver.bounded(place.domain, profile),
    }
}

/// Returns what a tool lacks with its profile and with what the user permitted it.
fn lacking_rights(
    config: &Config,
    reader: &RightsReader<'_>,
    candidate: &Candidate,
    profile: &ReviewedProfile,
    requests: &[PermissionRequest],
) -> LackingRights {
    let of_profile = &profile.rights.permissions;
    let permitted = |name: &str| Some(reader.of(candidate, name).ok()?.rights.permissions);
    let hosts = match candidate.source.family {
        Family::Mcp => mcp::declared_hosts(config, candidate),
        _ => Vec::new(),
    };
    let lacks_host = |host: &ServerHost| {
        let is_granted =
            |granted: &PermissionProfile| granted.grants(PermissionKind::Net, &host.host);
        !is_granted(of_profile) && !permitted(&host.server).is_some_and(|it| is_granted(&it))
    };
    let of_server = |(server, host): (String, String)| ServerHost {
        subject: subject_of(candidate, &server),
        server,
        host,
    };
    let is_granted = |access: &RequestedAccess| {
        grants(config, of_profile, access)
            || permitted(&candidate.key).is_some_and(|it| grants(config, &it, access))
    };
    let requested = requests.iter().flat_map(PermissionRequest::accesses);
    LackingRights {
        refused: requested.filter(|access| !is_granted(access)).collect(),
        interpreters: match profile.rights.isolation {
            Isolation::Sandbox => family::unreadable_interpreters(config, candidate),
            Isolation::Process => Vec::new(),
        },
        hosts: hosts
            .into_iter()
            .map(of_server)
            .filter(lacks_host)
            .collect(),
    }
}

/// Checks if an access that a tool asks for is granted.
fn grants(config: &Config, granted: &PermissionProfile, access: &RequestedAccess) -> bool {
    let RequestedAccess { kind, what } = access;
    match kind {
        kind if what.is_empty() => !granted.of(*kind).is_bounded(),
        PermissionKind::Net => {
            let target = AccessTarget::AnyPort(what);
            granted.grants(*kind, what) || granted.decide(*kind, target).is_granted()
        }
        kind if kind.has_paths() => granted.grants(*kind, &config.anchored(what)),
        kind => granted.grants(*kind, what),
    }
}

/// Returns the entries of the profile and of the requests whose paths cannot be granted.
fn left_out(
    config: &Config,
    resolver: &RightsResolver<'_>,
    profile: &ReviewedProfile,
    requests: &[PermissionRequest],
) -> Vec<LeftOutPath> {
    let mut all = profile.rights.permissions.left_out.clone();
    for mut bounds in requests.iter().filter_map(PermissionRequest::bounds) {
        bounds.anchor(|entry| config.anchored(entry));
        resolver.resolve_paths(&mut bounds);
        all.extend(bounds.left_out);
    }
    all
}

/// Returns what the tool asks for, with the files named by their real paths.
fn requests(
    names: &Names<'_>,
    grapher: &Grapher,
    candidate: &Candidate,
    graph: &Graph,
) -> Vec<PermissionRequest> {
    let mut requests = graph.requests.clone();
    if candidate.source.family == Family::Shell {
        requests.extend(grapher.requests_of_declaration(&candidate.resolved));
    }
    for request in &mut requests {
        let place = names.place(Path::new(&request.file));
        request.file = place.display().to_string();
    }
    requests
}

/// Returns the missing imports that are not files of the tool itself.
fn missing_packages(graph: &Graph, grapher: &Grapher) -> BTreeSet<String> {
    let missing = graph.missing_at_run_time(grapher);
    let all = missing.into_values().flatten();
    all.filter(|specifier| !specifier.starts_with(['.', '/', '#']))
        .collect()
}

/// Returns the name of the package that holds the file: the part after the last `node_modules`.
fn package_of(path: &Path) -> Option<String> {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let at = parts.iter().rposition(|part| part == "node_modules")? + 1;
    let name = parts.get(at)?;
    match (name.starts_with('@'), parts.get(at + 1)) {
        (true, Some(rest)) => Some(format!("{name}/{rest}")),
        _ => Some(name.to_string()),
    }
}

fn reviewed_config(
    config: &Config,
    before: Option<&Grant>,
    grant: &mut Grant,
) -> Option<(PathBuf, State)> {
    let path = config.cwd.join(PROJECT_FILE);
    let text = paths::read_text(&path).ok().flatten()?;
    let state = match before.map(|grant| {
        (
            grant.config.is_some(),
            grant.config.as_deref() == Some(digest(&text).as_str()),
        )
    }) {
        Some((_, true)) => State::Unchanged,
        Some((true, false)) => State::Changed(Vec::new()),
        _ => State::New,
    };
    grant.config = Some(digest(&text));
    grant.config_keys = settings(&text);
    Some((real(&config.cwd).join(PROJECT_FILE), state))
}

fn config_keys(before: Option<&Grant>, now: &Grant) -> Vec<ConfigKey> {
    let nothing = BTreeMap::new();
    let before = before.map_or(&nothing, |grant| &grant.config_keys);
    let names: BTreeSet<&String> = before.keys().chain(now.config_keys.keys()).collect();
    let key = |name: &String| ConfigKey {
        key: name.clone(),
        value: now.config_keys.get(name).cloned(),
        before: before.get(name).cloned(),
    };
    names.into_iter().map(key).collect()
}

/// Merges the facts of all graphs into one graph.
fn union(project: &Path, graphs: Vec<Graph>) -> Graph {
    let mut all = Graph {
        entry: project.to_owned(),
        ..Graph::default()
    };
    // Assets are left out: they are not code, and tools may write them.
    for graph in graphs {
        all.files.extend(graph.files);
        all.openings.extend(graph.openings);
        all.looked_at.extend(graph.looked_at);
        all.links.extend(graph.links);
        all.modules.extend(graph.modules);
    }
    // The hash of a file already implies that it is a file.
    let files = &all.files;
    all.looked_at
        .retain(|path, kind| *kind != Kind::File || !files.contains_key(path));
    all
}
