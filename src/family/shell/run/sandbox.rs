//! Rights of a tool: permissions, dropped privileges, isolation (spec cycod 122–124).
//!
//! Nothing is weakened silently: rights that this machine cannot enforce are refused with a reason.
//! Rights can only be dropped between the start of a program and its first instruction, so a small
//! program that does that is started in front of it.

use std::path::Path;

use super::super::definition::{Isolation, Privilege, Security};
use crate::family::rights::denied;
use haft_config::{PermissionProfile, paths};
use haft_process::{GrantedPath, Limits, LinkBounds, Spawn, Wrapper};
use haft_tool::{AccessTarget, PermissionKind, RequestedAccess, access_of_text};

/// The programs that run containers, the one without a server first.
pub(crate) const CONTAINER_PROGRAMS: [&str; 2] = ["podman", "docker"];

/// Returns the permission that the host does not grant, if there is one, and the hint that names the
/// command which grants it. `permissions` are filled.
pub(crate) fn not_granted<'a>(
    permissions: &'a [String],
    profile: &PermissionProfile,
    cwd: &Path,
) -> Option<(&'a str, Option<String>)> {
    permissions.iter().find_map(|permission| {
        let access = access_of_text(permission);
        let is_granted = match &access {
            Some(RequestedAccess { kind, what }) if *kind == PermissionKind::Net => {
                let host = AccessTarget::AnyPort(what);
                profile.decide(*kind, host).is_granted()
            }
            Some(RequestedAccess { kind, what }) => grants_path(profile, *kind, what, cwd),
            // A permission that the host has no name for is granted only by a host without
            // restrictions.
            None => profile.grants_defaults(),
        };
        let hint = access.map(|RequestedAccess { kind, what }| {
            let refusal = denied(&profile.refusal(kind, &what));
            refusal.hint().unwrap_or_default().to_owned()
        });
        (!is_granted).then_some((permission.as_str(), hint))
    })
}

fn grants_path(profile: &PermissionProfile, kind: PermissionKind, path: &str, cwd: &Path) -> bool {
    let real = LinkBounds::new([]).resolve(&paths::resolve(cwd, Path::new(path)));
    real.is_ok_and(|real| {
        let target = AccessTarget::Path(real.as_path());
        profile.decide(kind, target).is_granted()
    })
}

/// Returns the program with the rights that the tool requires.
pub(crate) fn confined(spawn: Spawn, security: &Security) -> Result<Spawn, String> {
    let is_root = rustix::process::geteuid().is_root();
    match security.privilege {
        Privilege::SameAsUser => Ok(spawn),
        Privilege::Elevated if is_root => Ok(spawn),
        Privilege::Elevated => Err(
            "`execution-privilege: elevated` needs haft to run as root, and haft never asks for a \
             password; start haft with `sudo`, or run the command by hand"
                .to_owned(),
        ),
        Privilege::Reduced => {
            let mut arguments = vec!["--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all"];
            if is_root {
                // Without capabilities root can do no more than a user who owns root's files.
                arguments.push("--bounding-set=-all");
            }
            arguments.push("--");
            spawn.check_rights().map_err(|error| error.to_string())?;
            let wrapper = Wrapper {
                name: "setpriv",
                finds_program: true,
            };
            Ok(Spawn {
                rights: spawn.rights.of_wrapper(),
                ..spawn.behind(&wrapper, &arguments)
            })
        }
    }
}

/// Settings of a container, with the folders of the host that it sees.
pub(crate) struct Container<'a> {
    /// `podman` or `docker`.
    pub(crate) program: &'static str,
    pub(crate) image: &'a str,
    /// The name by which it can be removed.
    pub(crate) name: String,
    pub(crate) cwd: &'a Path,
    /// Folders that it sees besides the working directory.
    pub(crate) folders: Vec<&'a Path>,
    /// The folder of the verified copies of the project's files that it starts.
    pub(crate) image_folder: Option<GrantedPath>,
    /// Names of variables, whose values the program takes from its own environment.
    pub(crate) variables: Vec<String>,
    /// Permissions with their references filled.
    pub(crate) permissions: &'a [String],
    /// The tool's permissions, if it runs in a sandbox. The container replaces the sandbox, so that
    /// it must not grant more.
    pub(crate) bounds: Option<&'a PermissionProfile>,
    pub(crate) max_memory: Option<u64>,
}

/// Returns the program in a container: no network, and nothing to write to except what the tool
/// requested.
pub(crate) fn contained(spawn: Spawn, container: &Container<'_>, security: &Security) -> Spawn {
    let asks_for = |prefix: &str| {
        container
            .permissions
            .iter()
            .any(|permission| permission.starts_with(prefix))
    };
    // The engines parse this as a line of CSV, so it is quoted: a folder may have a comma in its
    // name.
    let mount = |folder: &Path, mode: &str| {
        let folder = folder.display().to_string().replace('"', "\"\"");
        format!("--mount=type=bind,\"source={folder}\",\"target={folder}\"{mode}")
    };
    let bounds = container.bounds;
    // The folder is mounted as a whole: with a denied part it is not writable.
    let folder = container.cwd.canonicalize();
    let folder = folder.as_deref().unwrap_or(container.cwd);
    let may_write = bounds.is_none_or(|bounds| {
        let target = AccessTarget::Tree(folder);
        bounds.decide(PermissionKind::Write, target).is_granted()
    });
    // A container has the whole network or none.
    let may_connect = bounds.is_none_or(|bounds| !bounds.net.is_bounded());
    let mode = if asks_for("filesystem:write") && may_write {
        ""
    } else {
        ",readonly"
    };
    let mut options = vec![
        "run".to_owned(),
        "--rm".to_owned(),
        "--interactive".to_owned(),
        format!("--name={}", container.name),
    ];
    options.push(mount(container.cwd, mode));
    options.extend(container.folders.iter().map(|folder| mount(folder, "")));
    let denied = bounds.map(|bounds| bounds.denied_paths(PermissionKind::Read));
    let denied = denied
        .into_iter()
        .flatten()
        .filter(|path| path.starts_with(folder));
    options.extend(denied.filter_map(|path| covering_mount(&path)));
    let image = container.image_folder.iter();
    options.extend(image.map(|folder| mount(folder.as_path(), ",readonly")));
    options.push(format!("--workdir={}", container.cwd.display()));
    if !(asks_for("network:") && may_connect) {
        options.push("--network=none".to_owned());
    }
    if security.privilege == Privilege::Reduced {
        options.push("--cap-drop=all".to_owned());
        options.push("--security-opt=no-new-privileges".to_owned());
    }
    if let Some(bytes) = container.max_memory {
        options.push(format!("--memory={bytes}b"));
    }
    options.extend(
        container
            .variables
            .iter()
            .map(|name| format!("--env={name}")),
    );
    options.push(container.image.to_owned());
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    // The program is looked up in the container.
    let wrapper = Wrapper {
        name: container.program,
        finds_program: false,
    };
    Spawn {
        limits: Limits::default(),
        chosen_by_haft: true,
        // It speaks with the service that runs containers.
        sandbox: None,
        ..spawn.behind(&wrapper, &options)
    }
}

/// Returns the mount that covers a denied path in a container; `None` if nothing is there.
fn covering_mount(path: &Path) -> Option<String> {
    let found = std::fs::symlink_metadata(path).ok()?;
    let target = path.display().to_string().replace('"', "\"\"");
    Some(if found.is_dir() {
        format!("--mount=type=tmpfs,\"target={target}\"")
    } else {
        format!("--mount=type=bind,source=/dev/null,\"target={target}\",readonly")
    })
}

/// Returns true if the tool runs in a container.
pub(crate) fn is_contained(security: &Security) -> bool {
    security.isolation == Isolation::Container
}
