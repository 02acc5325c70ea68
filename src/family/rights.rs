//! Rights of a tool in the form in which its family uses them: the permissions that haft checks
//! itself, the programs that may be started with the variables that they see, and the sandbox in
//! which they run.
//!
//! The sandbox follows from the permissions alone. What the kernel cannot enforce is listed, and a
//! tool is not loaded without a complete sandbox if the user requires one.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use parking_lot::Mutex;

use super::credential_files;
use super::file_rights::{FileRights, RightsReader};
use super::program_files::ProgramFiles;
use super::refusals::{Attempt, RefusedAccess};
use super::tool_command::CommandScope;
use haft_config::{Config, exceeded_limit, grants, paths};
use haft_discover::Candidate;
use haft_process::sandbox::proxy::{Grant, HostPolicy, Proxy};
use haft_process::sandbox::{
    self, Access, DeniedPaths, ExceededLimit, Layers, Net, Sandbox, SandboxPolicy,
};
use haft_process::{
    Environment, Finished, GrantedPath, Limits, LinkBounds, ProgramPolicy, Rights, Spawn, StateDir,
    find_installed,
};
use haft_tool::{
    AccessTarget, Error, ErrorKind, Isolation, Permission, PermissionKind, PermissionProfile,
    PermissionSource, Problem, ProfileSource, ToolBounds, ToolRights,
};

/// Sandboxes of one host. Tools with the same policy share one, and its private folder.
pub(crate) struct Sandboxes {
    is_required: AtomicBool,
    home: PathBuf,
    /// haft's own state, which no program in a sandbox sees.
    state: StateDir,
    /// The system's folder for temporary files.
    temp_dir: PathBuf,
    /// Bounds of the links that lead to programs and code.
    links: LinkBounds,
    /// The paths below the home directory that programs read, looked up once.
    program_files: OnceLock<Vec<GrantedPath>>,
    made: Mutex<HashMap<SandboxPolicy, Made>>,
    /// Proxies by the `net` permission of the programs that use them, and its sources.
    proxies: Mutex<HashMap<NetKey, Arc<Proxy>>>,
}

/// A `net` permission and its sources, which refusals name.
type NetKey = (Permission, Vec<PermissionSource>);

/// A sandbox, or the reason why this machine cannot make it.
type Made = Result<Sandbox, Arc<str>>;

/// The restrictions of a worker process.
pub(super) struct WorkerSandbox {
    /// `None` if the system has no sandbox.
    pub(super) sandbox: Option<Sandbox>,
    /// The folder that `$TMPDIR` stands for: private in a sandbox, and the common one without.
    pub(super) tmp: Option<PathBuf>,
    /// The proxy of the worker's programs, if `net` is limited to some hosts.
    pub(super) proxy: Option<Arc<Proxy>>,
}

/// Rights of a tool, ready for its family.
#[derive(Clone)]
pub(crate) struct Confinement {
    /// The permissions with the real path of the private folder, for the checks of haft itself.
    pub(crate) permissions: Arc<PermissionProfile>,
    /// The programs that may be started, and the variables that they see.
    pub(crate) rights: Rights,
    /// The sandbox of the programs.
    pub(crate) sandbox: Option<Sandbox>,
    /// The policy of that sandbox.
    policy: Option<Arc<SandboxPolicy>>,
    /// The rights for people.
    pub(crate) bounds: Arc<ToolBounds>,
    /// The limits of its programs.
    limits: Limits,
    /// The name of the tool.
    name: Arc<str>,
    /// Programs that its commands may start.
    pub(crate) commands: CommandScope,
    /// Files that its programs can read and start besides the granted ones.
    own: Vec<GrantedPath>,
    /// The proxy of its programs, if `net` is limited to some hosts.
    proxy: Option<Arc<Proxy>>,
}

impl Sandboxes {
    pub(crate) fn new(config: &Config) -> Sandboxes {
        Sandboxes {
            is_required: AtomicBool::new(config.sandbox.required),
            home: grants::real(&config.home),
            state: config.state_dir.clone(),
            temp_dir: grants::real(&config.temp_dir),
            links: config.link_bounds(),
            program_files: OnceLock::new(),
            made: Mutex::default(),
            proxies: Mutex::default(),
        }
    }

    /// Sets whether tools without a complete sandbox are refused from now on.
    pub(crate) fn require(&self, is_required: bool) {
        self.is_required.store(is_required, Ordering::Relaxed);
    }

    /// Returns the rights of the tool `name` of a candidate. Its programs can read and start the
    /// candidate's own file.
    ///
    /// # Errors
    /// With a problem of the file, if the user requires a sandbox and this machine lacks a part of
    /// it.
    pub(crate) fn of(
        &self,
        config: &Config,
        candidate: &Candidate,
        name: &str,
    ) -> Result<Confinement, Box<Problem>> {
        self.of_with_folders(config, candidate, name, Vec::new())
    }

    /// Does the same for a tool whose programs can also read and start what is in `folders`.
    ///
    /// # Errors
    /// As [`Sandboxes::of`].
    pub(super) fn of_with_folders(
        &self,
        config: &Config,
        candidate: &Candidate,
        name: &str,
        folders: Vec<PathBuf>,
    ) -> Result<Confinement, Box<Problem>> {
        let FileRights {
            rights, profile, ..
        } = RightsReader::new(config).of(candidate, name)?;
        let source = profile.source;
        // It was resolved when it was found, and what runs was verified.
        let own = std::iter::once(&candidate.resolved).chain(&folders);
        let own = own.flat_map(|path| GrantedPath::without_links(path));
        let limits = config.limits_of(candidate.bounds_level()).of_programs();
        match self.confine(name, rights, source, own.collect()) {
            Ok(confined) => Ok(Confinement {
                limits,
                commands: CommandScope::of(candidate, config),
                ..confined
            }),
            Err(why) => {
                let problem = Problem::error(format!("not loaded, because {why}"));
                let problem = problem.at(&candidate.path).about(name);
                Err(Box::new(problem.hint(
                    "`haft doctor` lists what this system enforces; `sandbox.required: false` runs \
                     tools without the missing part",
                )))
            }
        }
    }

    /// Returns the rights that a program on behalf of the project has, for the tool `name` of haft's
    /// own. It can read `folders` besides.
    ///
    /// # Errors
    /// As [`Sandboxes::of`].
    pub(super) fn of_project_program(
        &self,
        config: &Config,
        candidate: &Candidate,
        name: &str,
        folders: Vec<PathBuf>,
    ) -> Result<Confinement, Box<Problem>> {
        let candidate = Candidate {
            named_by_project: true,
            ..candidate.clone()
        };
        self.of_with_folders(config, &candidate, name, folders)
    }

    /// Returns the rights of the tool `used` in a call of the tool `caller`: those that both have.
    ///
    /// # Errors
    /// As [`Sandboxes::of`], as a fragment for people.
    pub(crate) fn both(
        &self,
        caller: &Confinement,
        used: &Confinement,
    ) -> Result<Confinement, String> {
        let (first, second) = (&caller.bounds.rights, &used.bounds.rights);
        let limits = caller.limits.narrowed(used.limits);
        if first == second {
            return Ok(Confinement {
                limits,
                ..used.clone()
            });
        }
        let isolation = first.isolation.max(second.isolation);
        let narrowed = if isolation == Isolation::Sandbox {
            first.permissions.narrowed_in_sandbox(&second.permissions)
        } else {
            first.permissions.narrowed(&second.permissions)
        };
        let rights = ToolRights {
            permissions: Arc::new(narrowed),
            isolation,
        };
        let own = [&caller.own[..], &used.own[..]].concat();
        let confined = self.confine(&used.name, rights, used.bounds.profile.clone(), own)?;
        Ok(Confinement {
            limits,
            commands: used.commands.clone(),
            ..confined
        })
    }

    fn confine(
        &self,
        name: &str,
        rights: ToolRights,
        profile: ProfileSource,
        own: Vec<GrantedPath>,
    ) -> Result<Confinement, String> {
        let mut permissions = rights.permissions.clone();
        let (mut sandbox, mut layers, mut missing) = (None, None, Vec::new());
        let (mut proxy, mut enforced) = (None, None);
        if rights.isolation == Isolation::Sandbox {
            proxy = self.proxy(&permissions)?;
            let policy = self.policy(&permissions, &own, proxy.as_deref());
            match self.make(&policy) {
                Ok(made) => {
                    let in_force;
                    (in_force, missing) = in_force_of(&policy, made.layers().clone());
                    layers = Some(in_force);
                    if let Some(tmp) = made.tmp() {
                        permissions = Arc::new((*permissions).clone().with_tmpdir(tmp));
                    }
                    sandbox = Some(made);
                    enforced = Some(Arc::new(policy));
                }
                // Where the system has what a sandbox needs, nothing runs without one: the kernel
                // cannot enforce these permissions.
                Err(why) if sandbox::available().are_available() => return Err(why.to_string()),
                Err(why) => {
                    missing.push(without_sandbox(&why));
                    // There is no private folder, so the programs use the common one.
                    permissions = Arc::new((*permissions).clone().with_tmpdir(&self.temp_dir));
                }
            }
            self.check_required(&missing)?;
        }
        Ok(Confinement {
            rights: program_rights(&permissions),
            bounds: Arc::new(ToolBounds {
                rights,
                profile,
                layers,
                missing,
            }),
            limits: Limits::default(),
            name: name.into(),
            commands: CommandScope::default(),
            permissions,
            sandbox,
            policy: enforced,
            own,
            proxy,
        })
    }

    /// Returns the real path of `path`, if the links on the way may be followed.
    pub(super) fn resolve(&self, path: &Path) -> Option<GrantedPath> {
        let resolved = self.links.resolve(path);
        let resolved = resolved.inspect_err(|refusal| {
            tracing::debug!(%refusal, path = %path.display(), "not in the sandbox");
        });
        resolved.ok()
    }

    /// Returns the rights of a module with their enforcement in a worker process, if it runs in a
    /// sandbox.
    pub(super) fn bounds_of_module(&self, rights: &FileRights) -> ToolBounds {
        let mut bounds = ToolBounds {
            rights: rights.rights.clone(),
            profile: rights.profile.source.clone(),
            layers: None,
            missing: Vec::new(),
        };
        if bounds.rights.isolation == Isolation::Sandbox {
            let permissions = &bounds.rights.permissions;
            let mut policy = self.policy(permissions, &[], None);
            if has_some_hosts(&permissions.net) {
                // The proxy is started with the worker.
                policy.net = Net::Ports(Vec::new());
            }
            if let Err(why) = self.check_available(&policy) {
                bounds.missing = vec![without_sandbox(&why)];
                return bounds;
            }
            let (layers, missing) = in_force_of(&policy, policy.layers());
            bounds.layers = Some(layers);
            bounds.missing = missing;
        }
        bounds
    }

    /// Returns an error with the reason if no sandbox can be made on this system.
    fn check_available(&self, policy: &SandboxPolicy) -> Result<(), Arc<str>> {
        if sandbox::available().are_available() {
            Ok(())
        } else {
            self.make(policy).map(drop)
        }
    }

    /// Returns the sandbox of a worker process that runs `program`, with code of these permissions
    /// that may read the paths `code`; and the proxy of it, if `net` is limited to some hosts.
    /// Without a sandbox, only haft enforces the permissions of the worker's code, and nothing those
    /// of the programs that it starts; [`ToolBounds::missing`] of the module says so.
    ///
    /// # Errors
    /// If the sandbox cannot be made although the system has what it needs, or the user requires a
    /// part that the system lacks.
    pub(super) fn of_worker(
        &self,
        permissions: &PermissionProfile,
        program: &Path,
        code: &[GrantedPath],
        cache: Option<&Path>,
    ) -> Result<WorkerSandbox, String> {
        let proxy = self.proxy(permissions)?;
        let mut policy = self.policy(permissions, code, proxy.as_deref());
        if let Err(why) = self.check_available(&policy) {
            self.check_required(&[without_sandbox(&why)])?;
            return Ok(WorkerSandbox {
                sandbox: None,
                tmp: Some(self.temp_dir.clone()),
                proxy,
            });
        }
        // The kernel cannot tell the worker from its programs, so that its code is not excepted from
        // what is denied.
        policy.needed.retain(|path| !code.contains(path));
        if let Some(folder) = code.first()
            && !policy.may_read(folder.as_path())
        {
            let (kind, path) = (PermissionKind::Read, folder.as_path().display().to_string());
            let reason = permissions.reason(kind);
            return Err(format!(
                "`{path}` has its code, and is not readable: {reason}"
            ));
        }
        let program = self.resolve(program);
        policy.execute.extend(program.clone());
        policy.needed.extend(program.clone());
        policy.read.extend(program);
        policy.own_folder = cache.and_then(|cache| self.resolve(cache));
        let sandbox = self.make(&policy).map_err(|why| why.to_string())?;
        let (_, missing) = in_force_of(&policy, sandbox.layers().clone());
        self.check_required(&missing)?;
        Ok(WorkerSandbox {
            tmp: sandbox.tmp().map(Path::to_owned),
            sandbox: Some(sandbox),
            proxy,
        })
    }

    /// Returns an error if the user requires what is missing.
    fn check_required(&self, missing: &[String]) -> Result<(), String> {
        if !self.is_required.load(Ordering::Relaxed) || missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(", ");
        Err(format!(
            "`sandbox.required` is true and this system does not enforce {missing}"
        ))
    }

    /// Removes the private folders. Programs that still run keep their other rights.
    pub(crate) fn close(&self) {
        let made = self.made.lock();
        made.values().flatten().for_each(Sandbox::remove_tmp);
        self.proxies.lock().clear();
    }

    fn make(&self, policy: &SandboxPolicy) -> Made {
        let mut made = self.made.lock();
        let entry = made.entry(policy.clone());
        let new = || Sandbox::new(policy).map_err(|error| error.to_string().into());
        entry.or_insert_with(new).clone()
    }

    /// Returns the policy of programs with these permissions.
    fn policy(
        &self,
        permissions: &PermissionProfile,
        own: &[GrantedPath],
        proxy: Option<&Proxy>,
    ) -> SandboxPolicy {
        let is_open = [&permissions.read, &permissions.write, &permissions.net]
            .into_iter()
            .all(|permission| !permission.is_bounded());
        let mut policy = SandboxPolicy {
            read: paths_of(&permissions.read),
            write: paths_of(&permissions.write),
            execute: self.programs_of(&permissions.run, own),
            net: match (&permissions.net, proxy) {
                (Permission::All, _) => Net::All,
                (_, Some(proxy)) => Net::Ports(vec![proxy.port()]),
                (_, None) => Net::None,
            },
            // A socket of the user's (docker, an SSH agent) leads around every other limit.
            unix_sockets: is_open,
            private_tmp: permissions.names_tmpdir(),
            own_folder: None,
            denied: DeniedPaths {
                read: denied_of(permissions, PermissionKind::Read),
                write: denied_of(permissions, PermissionKind::Write),
                execute: denied_of(permissions, PermissionKind::Run),
            },
            needed: own.to_vec(),
            hidden: vec![self.state.clone()],
            unenforced: unenforced(permissions),
        }
        .with_system_files();
        let files = || {
            let store = grants::Store::at(&self.state, &self.home);
            let projects = || {
                let (projects, _) = store.projects();
                projects
                    .into_iter()
                    .map(|project| PathBuf::from(project.path))
                    .collect()
            };
            let files = ProgramFiles {
                home: &self.home,
                links: &self.links,
                projects: &projects,
            };
            files.find()
        };
        let files = self.program_files.get_or_init(files);
        // Equal policies share a sandbox, so what is granted already is not added. That includes
        // what lies in a folder that the tool may write.
        let is_further = |file: &&GrantedPath| !policy.grants_reading(file.as_path());
        let further = own.iter().chain(files).filter(is_further).cloned();
        let further: Vec<GrantedPath> = further.collect();
        policy.read.extend(further);
        policy
    }

    /// Returns the files of the granted programs, and those that their first lines name.
    fn programs_of(&self, permission: &Permission, own: &[GrantedPath]) -> Access {
        let Some(list) = permission.allowed() else {
            return Access::All;
        };
        let found = list.iter().filter_map(|program| find_installed(program));
        let found = found.filter_map(|file| self.resolve(&file));
        let mut files: Vec<GrantedPath> = found.chain(own.iter().cloned()).collect();
        let interpreters = files.iter().flat_map(|file| interpreters(file.as_path()));
        let interpreters = interpreters.filter_map(|file| self.resolve(&file));
        let interpreters: Vec<GrantedPath> = interpreters.collect();
        files.extend(interpreters);
        Access::Paths(files)
    }

    /// Returns the proxy for programs that may reach some hosts. The kernel knows only ports.
    fn proxy(&self, permissions: &PermissionProfile) -> Result<Option<Arc<Proxy>>, String> {
        let net = &permissions.net;
        if !has_some_hosts(net) {
            return Ok(None);
        }
        let kind = PermissionKind::Net;
        let sources = permissions.sources.get(&kind).cloned().unwrap_or_default();
        let mut proxies = self.proxies.lock();
        let key = (net.clone(), sources);
        if let Some(proxy) = proxies.get(&key) {
            return Ok(Some(proxy.clone()));
        }
        let permissions = permissions.clone();
        // It only binds a port, so it is ready at once.
        let started = Proxy::start(ProxyHosts(permissions)).now_or_never();
        let proxy = match started {
            Some(Ok(proxy)) => Arc::new(proxy),
            Some(Err(error)) => return Err(format!("its proxy cannot be started: {error}")),
            None => return Err("its proxy does not start".to_owned()),
        };
        proxies.insert(key, proxy.clone());
        Ok(Some(proxy))
    }
}

impl Confinement {
    /// Returns the program with these rights.
    pub(crate) fn confined(&self, spawn: Spawn) -> Spawn {
        Spawn {
            rights: self.rights.clone(),
            sandbox: self.sandbox.clone(),
            env: with_proxy(spawn.env, self.proxy.as_deref()),
            limits: self.limits.with_own(spawn.limits),
            ..spawn
        }
    }

    /// Returns the folder for temporary files of its programs, if it is their own.
    pub(crate) fn tmp(&self) -> Option<&Path> {
        self.sandbox.as_ref()?.tmp()
    }

    /// Returns a line for a program that failed, if a limit was the reason or the sandbox may be it.
    /// The kernel refuses without giving one. `folder` is the one in which the program was started.
    pub(crate) fn note_of(&self, finished: &Finished, folder: Option<&Path>) -> Option<String> {
        let own = self.limits.tree_memory.map(ExceededLimit::Memory);
        let is_ours =
            |it: &ExceededLimit| !matches!(it, ExceededLimit::Memory(_) if Some(*it) != own);
        if let Some(exceeded) = finished.exceeded.filter(is_ours) {
            let limit = exceeded_limit(exceeded);
            return Some(format!("[haft: this program was ended, because {limit}]"));
        }
        let attempt = Attempt {
            policy: self.policy.as_deref()?,
            permissions: &self.permissions,
            folder,
            finished,
        };
        if !attempt.may_be_refused() {
            return None;
        }
        Some(match attempt.refused() {
            Some(refused) => self.line_about(&refused),
            None => self.description(),
        })
    }

    /// Returns a line that names a refused access. The program named it, so the line does not
    /// recommend to grant it: an agent would follow a command that a hostile program made up. Files
    /// with credentials are not named at all.
    fn line_about(&self, refused: &RefusedAccess) -> String {
        let RefusedAccess { kind, what } = refused;
        let is_file = matches!(kind, PermissionKind::Read | PermissionKind::Write);
        if is_file && credential_files::contains(Path::new(what)) {
            return self.description();
        }
        let way_out = if self.permissions.may_be_asked(*kind, what) {
            let name = paths::quoted(Path::new(&*self.name));
            format!("the user decides, and `haft permit {name}` shows what the tool may do")
        } else {
            self.permissions.reason(*kind)
        };
        format!(
            "[haft: this program ran in the sandbox `{}`, and reported that it lacks `{kind}` access to \
             `{what}`, which the sandbox does not grant: {way_out}]",
            self.bounds.profile.name,
        )
    }

    /// Returns a line that describes the sandbox of a program.
    fn description(&self) -> String {
        format!(
            "[haft: this program ran in the sandbox `{}`: {}; `haft permit {}` shows what the tool \
             may do]",
            self.bounds.profile.name,
            self.bounds.rights.permissions.summary(),
            self.name
        )
    }
}

/// Returns the name of what is not enforced without a sandbox.
fn without_sandbox(why: &str) -> String {
    format!("any of its rights on programs ({why})")
}

/// Returns the layers that enforce the policy, and what they do not enforce.
fn in_force_of(policy: &SandboxPolicy, found: Layers) -> (String, Vec<String>) {
    // What every program may do needs no enforcement.
    let missing = if policy.unix_sockets {
        Vec::new()
    } else {
        found.missing
    };
    let layers = Layers {
        missing: Vec::new(),
        ..found
    };
    (layers.to_string(), missing)
}

/// Returns the environment with the variables that name the proxy.
pub(super) fn with_proxy(env: Environment, proxy: Option<&Proxy>) -> Environment {
    let variables = proxy.map(Proxy::environment).unwrap_or_default();
    variables
        .into_iter()
        .fold(env, |env, (name, value)| env.with(name, value))
}

/// Returns the rights of programs that are started under these permissions.
pub(super) fn program_rights(profile: &PermissionProfile) -> Rights {
    if !profile.run.is_bounded() && !profile.env.is_bounded() {
        return Rights::default();
    }
    Rights::new(ProgramPermissions(profile.clone()))
}

/// Permissions that decide about programs and their variables.
struct ProgramPermissions(PermissionProfile);

impl ProgramPolicy for ProgramPermissions {
    fn may_start(&self, files: &[PathBuf]) -> bool {
        let target = AccessTarget::Program(files);
        self.0.decide(PermissionKind::Run, target).is_granted()
    }

    fn starts_none(&self) -> bool {
        self.0.run.grants_nothing()
    }

    fn starts_all(&self) -> bool {
        !self.0.run.is_bounded()
    }

    fn shows_variable(&self, name: &OsStr) -> bool {
        // An entry is UTF-8, and a `*` at its end matches any text.
        self.0.grants(PermissionKind::Env, &name.to_string_lossy())
    }

    fn refusal(&self, program: &str) -> String {
        self.0.refusal(PermissionKind::Run, program)
    }
}

/// Permissions that decide about the hosts behind a proxy.
struct ProxyHosts(PermissionProfile);

impl HostPolicy for ProxyHosts {
    fn check_host(&self, host: &str, port: u16) -> Result<Grant, String> {
        let kind = PermissionKind::Net;
        let decision = self.0.decide(kind, AccessTarget::Host(host, port));
        if !decision.is_granted() {
            return Err(self.0.refusal(kind, &format!("{host}:{port}")));
        }
        Ok(if self.0.names_host(host) {
            Grant::Named
        } else {
            Grant::General
        })
    }

    fn refuse_address(&self, address: IpAddr, port: u16) -> Option<String> {
        let kind = PermissionKind::Net;
        let host = address.to_string();
        let decision = self.0.decide(kind, AccessTarget::Host(&host, port));
        let target = SocketAddr::new(address, port).to_string();
        decision.is_denied().then(|| self.0.refusal(kind, &target))
    }
}

/// Returns true if some hosts are granted, and not all.
fn has_some_hosts(net: &Permission) -> bool {
    net.is_bounded() && !net.grants_nothing()
}

/// Returns the real paths of a kind that are denied.
fn denied_of(permissions: &PermissionProfile, kind: PermissionKind) -> Vec<PathBuf> {
    let denied = permissions.denied_paths(kind).into_iter();
    // The kernel knows no names of links, only what they lead to.
    denied
        .filter(|path| GrantedPath::without_links(path).is_ok())
        .collect()
}

/// Returns the granted paths, which were resolved when the rights were computed. One in which a link
/// stands now grants nothing. The private folder is granted by its own.
fn paths_of(permission: &Permission) -> Access {
    match permission.allowed() {
        None => Access::All,
        Some(list) => {
            let paths = list.iter().map(Path::new);
            let paths = paths.filter_map(|path| GrantedPath::without_links(path).ok());
            Access::Paths(paths.collect())
        }
    }
}

/// Finds the programs that the first line of a candidate's file names and that a sandbox does not
/// let it read, if no rule of the project or the tool adds them.
pub(crate) fn unreadable_interpreters(config: &Config, candidate: &Candidate) -> Vec<PathBuf> {
    let links = config.link_bounds();
    let files = ProgramFiles {
        home: &grants::real(&config.home),
        links: &links,
        projects: &Vec::new,
    };
    let project = grants::real(&config.cwd);
    let named = interpreters(&candidate.resolved).into_iter();
    let mut programs: Vec<PathBuf> = named
        .filter_map(|program| program.canonicalize().ok())
        .filter(|real| !sandbox::is_system_file(real) && !real.starts_with(&project))
        .collect();
    if !programs.is_empty() {
        let readable = files.find();
        programs.retain(|real| !readable.iter().any(|path| path.contains(real)));
    }
    programs
}

/// Returns the interpreter line after `#!`, if the file begins with it.
pub(super) fn interpreter(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(path)
        .ok()?
        .take(256)
        .read_to_end(&mut start)
        .ok()?;
    let text = String::from_utf8_lossy(&start).into_owned();
    let line = text.strip_prefix("#!")?.split('\n').next()?;
    Some(line.to_owned())
}

/// Returns the programs that the first line of a script names: its interpreter, and after `env` the
/// program that this starts.
pub(super) fn interpreters(file: &Path) -> Vec<PathBuf> {
    let Some(line) = interpreter(file) else {
        return Vec::new();
    };
    let mut words = line.split_whitespace();
    let Some(first) = words.next().map(PathBuf::from) else {
        return Vec::new();
    };
    let is_env = first.file_name().is_some_and(|name| name == "env");
    let program = words.find(|word| !word.starts_with('-') && !word.contains('='));
    let started = program.filter(|_| is_env).and_then(find_installed);
    [Some(first), started].into_iter().flatten().collect()
}

/// Returns the denied entries that the kernel does not know: names of programs, which stand for the
/// files on `PATH` only, and paths in a private folder that does not exist yet.
fn unenforced(permissions: &PermissionProfile) -> Vec<String> {
    let programs = permissions.run.denied().iter();
    let programs = programs.filter(|entry| !entry.contains('/'));
    let programs =
        programs.map(|entry| format!("for programs: no program `{entry}` outside of `PATH`"));
    let kinds = [PermissionKind::Read, PermissionKind::Write];
    let private = kinds.into_iter().flat_map(|kind| {
        let denied = permissions.of(kind).denied().iter();
        let denied = denied.filter(|entry| PermissionProfile::is_below_tmpdir(entry));
        denied.map(move |entry| format!("for programs: no `{kind}` access to `{entry}`"))
    });
    programs.chain(private).collect()
}

/// Converts a refusal, whose second line is the hint, to an error of a call.
pub(super) fn denied(refusal: &str) -> Error {
    match refusal.split_once("\nhint: ") {
        Some((text, hint)) => Error::new(ErrorKind::Denied, text).with_hint(hint),
        None => Error::new(ErrorKind::Denied, refusal),
    }
}
