//! Rights of a tool in the form in which its family uses them: the permissions that haft checks
//! itself, the programs that may be started with the variables that they see, and the sandbox in
//! which they run.
//!
//! The sandbox follows from the permissions alone. What the kernel cannot enforce is listed, and a
//! tool is not loaded without a complete sandbox if the user requires one.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use parking_lot::Mutex;

use super::file_rights::{FileRights, RightsReader};
use super::program_files;
use super::refusals::{Attempt, RefusedAccess};
use haft_config::{Config, exceeded_limit, paths};
use haft_discover::Candidate;
use haft_process::sandbox::proxy::{Grant, Proxy};
use haft_process::sandbox::{self, Access, ExceededLimit, Layers, Net, Sandbox, SandboxPolicy};
use haft_process::{Environment, Finished, Limits, Names, Rights, Spawn, find_installed};
use haft_tool::{
    Error, ErrorKind, Isolation, Permission, PermissionKind, PermissionProfile, PermissionSource,
    Problem, ProfileSource, ToolBounds, ToolRights,
};

/// Folder of the copies of verified scripts, below the state directory.
pub(super) const COPIES: &str = "verified";

/// Sandboxes of one host. Tools with the same policy share one, and its private folder.
pub(crate) struct Sandboxes {
    is_required: AtomicBool,
    home: PathBuf,
    /// The system's folder for temporary files.
    temp_dir: PathBuf,
    /// The paths below the home directory that programs read, looked up once.
    program_files: OnceLock<Vec<PathBuf>>,
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
    /// Files that its programs can read and start besides the granted ones.
    own: Vec<PathBuf>,
    /// The proxy of its programs, if `net` is limited to some hosts.
    proxy: Option<Arc<Proxy>>,
}

impl Sandboxes {
    pub(crate) fn new(config: &Config) -> Sandboxes {
        Sandboxes {
            is_required: AtomicBool::new(config.sandbox.required),
            home: config.home.clone(),
            temp_dir: config.temp_dir.clone(),
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
        let FileRights {
            rights, profile, ..
        } = RightsReader::new(config).of(candidate, name);
        let source = profile.source;
        let mut own = vec![candidate.resolved.clone()];
        if candidate.verified.is_some() {
            own.push(config.state_dir.join(COPIES));
        }
        let limits = config.limits_of(candidate.bounds_level()).of_programs();
        match self.confine(name, rights, source, own) {
            Ok(confined) => Ok(Confinement { limits, ..confined }),
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
        Ok(Confinement { limits, ..confined })
    }

    fn confine(
        &self,
        name: &str,
        rights: ToolRights,
        profile: ProfileSource,
        own: Vec<PathBuf>,
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
            permissions,
            sandbox,
            policy: enforced,
            own,
            proxy,
        })
    }

    /// Returns the rights of a module with their enforcement in a worker process that reads code in
    /// the folder `code`; `None` for a module without a sandbox.
    pub(super) fn bounds_of_module(
        &self,
        rights: &FileRights,
        code: Option<PathBuf>,
    ) -> ToolBounds {
        let mut bounds = ToolBounds {
            rights: rights.rights.clone(),
            profile: rights.profile.source.clone(),
            layers: None,
            missing: Vec::new(),
        };
        if let Some(code) = code {
            let permissions = &bounds.rights.permissions;
            let mut policy = self.policy(permissions, &[code], None);
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
        code: &[PathBuf],
        cache: Option<PathBuf>,
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
        policy.execute.extend([program]);
        policy.read.extend([program]);
        policy.own_folder = cache;
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
        own: &[PathBuf],
        proxy: Option<&Proxy>,
    ) -> SandboxPolicy {
        let is_open = [&permissions.read, &permissions.write, &permissions.net]
            .into_iter()
            .all(|permission| !permission.is_bounded());
        let mut policy = SandboxPolicy {
            read: paths_of(&permissions.read),
            write: paths_of(&permissions.write),
            execute: programs_of(&permissions.run, own),
            net: match (&permissions.net, proxy) {
                (Permission::All, _) => Net::All,
                (_, Some(proxy)) => Net::Ports(vec![proxy.port()]),
                (_, None) => Net::None,
            },
            // A socket of the user's (docker, an SSH agent) leads around every other limit.
            unix_sockets: is_open,
            private_tmp: permissions.names_tmpdir(),
            own_folder: None,
            unenforced: unenforced(permissions),
        }
        .with_system_files();
        // Equal policies share a sandbox, so what is granted already is not added.
        let further = own.iter().filter(|file| !covers(&policy.read, file));
        let further: Vec<PathBuf> = further.cloned().collect();
        policy.read.extend(further);
        let files = || program_files::of_user(&self.home);
        policy.read.extend(self.program_files.get_or_init(files));
        policy
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
        let check = move |host: &str, port: u16| {
            let net = &permissions.net;
            if !net.allows_host(host, Some(port)) {
                return Err(permissions.refusal(kind, &format!("{host}:{port}")));
            }
            Ok(if net.names_host(host) {
                Grant::Named
            } else {
                Grant::General
            })
        };
        // It only binds a port, so it is ready at once.
        let started = Proxy::start(check).now_or_never();
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

    /// Returns a line that names a refused access, and the command that grants it or the reason why
    /// nothing does.
    fn line_about(&self, refused: &RefusedAccess) -> String {
        let RefusedAccess { kind, what } = refused;
        let way_out = if self.permissions.may_be_asked(*kind, what) {
            let entry = format!("{kind}={what}");
            let [name, entry] = [&*self.name, &entry].map(|word| paths::quoted(Path::new(word)));
            format!("`haft permit {name} --allow {entry}` grants it")
        } else {
            self.permissions.reason(*kind)
        };
        format!(
            "[haft: this program ran in the sandbox `{}`, without `{kind}` access to `{what}`: \
             {way_out}]",
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
    let names = |permission: &Permission| Names {
        allow: match permission.granted() {
            None => Some(Vec::new()),
            Some(list) if list.is_empty() => None,
            list => list,
        },
        deny: permission.denied().to_vec(),
    };
    let refusal = {
        let profile = profile.clone();
        move |program: &str| profile.refusal(PermissionKind::Run, program)
    };
    Rights::new(&names(&profile.run), names(&profile.env), refusal)
}

/// Returns true if some hosts are granted, and not all.
fn has_some_hosts(net: &Permission) -> bool {
    !matches!(net, Permission::All | Permission::None)
}

/// Returns the granted paths. The private folder is granted by its own.
fn paths_of(permission: &Permission) -> Access {
    match permission.granted() {
        Some(list) if list.is_empty() => Access::All,
        list => {
            let list = list.unwrap_or_default().into_iter().map(PathBuf::from);
            Access::Paths(list.filter(|path| path.is_absolute()).collect())
        }
    }
}

/// Returns true if the real path of the file is granted.
fn covers(access: &Access, file: &Path) -> bool {
    let Access::Paths(granted) = access else {
        return true;
    };
    let real = file.canonicalize();
    real.is_ok_and(|real| {
        let mut granted = granted.iter().filter_map(|path| path.canonicalize().ok());
        granted.any(|path| real.starts_with(path))
    })
}

/// Returns the files of the granted programs, and those that their first lines name.
fn programs_of(permission: &Permission, own: &[PathBuf]) -> Access {
    let list = match permission.granted() {
        Some(list) if list.is_empty() => return Access::All,
        list => list.unwrap_or_default(),
    };
    let found = list.iter().filter_map(|program| find_installed(program));
    let mut files: Vec<PathBuf> = found.chain(own.iter().cloned()).collect();
    let interpreters: Vec<PathBuf> = files.iter().flat_map(|file| interpreters(file)).collect();
    files.extend(interpreters);
    Access::Paths(files)
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
fn interpreters(file: &Path) -> Vec<PathBuf> {
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

/// Returns the denied entries that lie within granted ones. The kernel's rules only grant.
fn unenforced(permissions: &PermissionProfile) -> Vec<String> {
    let kinds = [
        PermissionKind::Read,
        PermissionKind::Write,
        PermissionKind::Run,
    ];
    let denied = kinds.into_iter().flat_map(|kind| {
        let denied = permissions.of(kind).denied().iter();
        denied.map(move |entry| format!("for programs: no `{kind}` access to `{entry}`"))
    });
    denied.collect()
}

/// Converts a refusal, whose second line is the hint, to an error of a call.
pub(super) fn denied(refusal: &str) -> Error {
    match refusal.split_once("\nhint: ") {
        Some((text, hint)) => Error::new(ErrorKind::Denied, text).with_hint(hint),
        None => Error::new(ErrorKind::Denied, refusal),
    }
}
