//! Landlock rules of a policy: files, TCP ports, signals and abstract sockets.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::LazyLock;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, NetPort, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};
use nix::errno::Errno;
use rustix::fs::FileType;

use super::denied::DeniedCut;
use super::{Access, Net, SandboxError, SandboxPolicy};
use crate::GrantedPath;

/// Flag of `landlock_create_ruleset` that asks for the version (landlock_create_ruleset(2)).
const CREATE_RULESET_VERSION: u32 = 1;

/// Devices are never made, not even below writable folders: a device of a disk would open all of
/// its files to root.
const NEVER: BitFlags<AccessFs> = make_bitflags!(AccessFs::{MakeChar | MakeBlock});

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});

/// Returns the version of Landlock's interface, or 0.
pub(super) fn abi() -> u32 {
    static FOUND: LazyLock<u32> = LazyLock::new(|| {
        let none = std::ptr::null::<u8>();
        #[allow(unsafe_code, reason = "crate `landlock` keeps this call private")]
        // SAFETY: with this flag the kernel reads nothing from the null pointer.
        let version = unsafe {
            let number = nix::libc::SYS_landlock_create_ruleset;
            nix::libc::syscall(number, none, 0usize, CREATE_RULESET_VERSION)
        };
        u32::try_from(version).unwrap_or_default()
    });
    *FOUND
}

/// Returns the restrictions of the policy that this version of Landlock lacks.
pub(super) fn missing(policy: &SandboxPolicy, abi: u32) -> Vec<String> {
    if abi == 0 {
        return Vec::new();
    }
    let restricts_writes = matches!(policy.write, Access::Paths(_));
    let lacks = [
        (restricts_writes, 3, "truncation of files (Linux 6.2)"),
        (restricts_writes, 5, "control of devices (Linux 6.10)"),
        (true, 6, "signals to other processes (Linux 6.12)"),
        (policy.unix_sockets, 6, "abstract unix sockets (Linux 6.12)"),
        (policy.unix_sockets, 9, "unix sockets by path"),
    ];
    let lacks = lacks.into_iter();
    // Paths of sockets are not restricted with any version; see the module's documentation.
    let lacks = lacks.filter(|(concerns, since, _)| *concerns && (abi < *since || *since == 9));
    lacks.map(|(_, _, text)| text.to_owned()).collect()
}

/// Rules for the files that the paths of a policy named when they were made.
#[derive(Debug)]
pub(super) struct FileRules {
    descriptor: OwnedFd,
    files: Vec<(GrantedPath, Option<FileId>)>,
}

/// Device and inode of a file.
type FileId = (u64, u64);

impl FileRules {
    /// Makes the rules. `tmp` is the private temporary folder, and `private` are folders that only
    /// programs of the sandbox see.
    pub(super) fn new(
        policy: &SandboxPolicy,
        tmp: Option<&GrantedPath>,
        private: &[OwnedFd],
    ) -> Result<FileRules, SandboxError> {
        let accesses = [&policy.read, &policy.write, &policy.execute];
        let lists = accesses.into_iter().filter_map(|access| match access {
            Access::All => None,
            Access::Paths(paths) => Some(paths),
        });
        let listed = lists.flatten().chain(&policy.needed);
        let paths: BTreeSet<_> = listed.chain(&policy.own_folder).chain(tmp).collect();
        let files = paths.into_iter().map(|path| (path.clone(), id_of(path)));
        Ok(FileRules {
            // First, so that rules are out of date that were made while a file was replaced.
            files: files.collect(),
            descriptor: rules(policy, tmp, private)?,
        })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Checks if the paths still name the same files. A path that names none does not matter.
    pub(super) fn are_current(&self) -> bool {
        self.files.iter().all(|(path, known)| {
            let found = id_of(path);
            found.is_none() || found == *known
        })
    }
}

fn id_of(path: &GrantedPath) -> Option<FileId> {
    let found = rustix::fs::lstat(path.as_path()).ok()?;
    Some((found.st_dev, found.st_ino))
}

fn rules(
    policy: &SandboxPolicy,
    tmp: Option<&GrantedPath>,
    private: &[OwnedFd],
) -> Result<OwnedFd, SandboxError> {
    // The crate leaves out the rights that the kernel does not know; `missing` lists them.
    let latest = ABI::V8;
    let write = AccessFs::from_write(latest) & !NEVER;
    let rules = |error: RulesetError| SandboxError::Rules(error.to_string());
    let mut handled = NEVER;
    let mut lists: Vec<(Vec<GrantedPath>, BitFlags<AccessFs>)> = Vec::new();
    let denied = &policy.denied;
    // The dynamic loader starts every program that can be read.
    let unreadable = DeniedCut::new(&[&denied.read, &denied.execute]);
    let unwritable = DeniedCut::new(&[&denied.write]);
    let unstartable = DeniedCut::new(&[&denied.execute]);
    let execute = BitFlags::from(AccessFs::Execute);
    for (access, cut, rights) in [
        (&policy.read, &unreadable, READ),
        (&policy.write, &unwritable, write),
        (&policy.execute, &unstartable, execute),
    ] {
        if let Some(paths) = cut.of_access(access)? {
            handled |= rights;
            lists.push((paths, rights));
        }
    }
    // What may be written may be read as well, and the kernel reads the file to execute with the
    // rights of the program.
    for (access, rights) in [
        (&policy.write, READ),
        (&policy.execute, AccessFs::ReadFile.into()),
    ] {
        if let Access::Paths(_) = access {
            let paths = unreadable.of_access(access)?;
            lists.push((paths.unwrap_or_default(), rights));
        }
    }
    let needed = unreadable.of_needed(&policy.needed)?;
    let is_executable = |path: &&GrantedPath| policy.execute.covers(path.as_path());
    let executable = needed.iter().filter(is_executable).cloned().collect();
    lists.extend([(needed, READ), (executable, execute)]);
    let own = tmp.into_iter().chain(&policy.own_folder);
    lists.push((own.cloned().collect(), write | READ));
    let root = GrantedPath::without_links(Path::new("/"));
    if !handled.intersects(write) {
        // The kernel denies renames and links between folders in every sandbox, unless a rule
        // allows them.
        handled |= AccessFs::Refer;
        lists.push((root.into_iter().collect(), AccessFs::Refer.into()));
    }

    let mut ruleset = Ruleset::default()
        .handle_access(handled)
        .and_then(|ruleset| ruleset.scope(Scope::from_all(latest)))
        .map_err(rules)?;
    if policy.net != Net::All {
        ruleset = ruleset
            .handle_access(AccessNet::from_all(latest))
            .map_err(rules)?;
    }
    let mut ruleset = ruleset.create().map_err(rules)?;
    if let Net::Ports(ports) = &policy.net {
        for port in ports {
            let rule = NetPort::new(*port, AccessNet::ConnectTcp);
            ruleset = ruleset.add_rule(rule).map_err(rules)?;
        }
    }
    for (paths, rights) in lists {
        for path in &paths {
            ruleset = allow(ruleset, path, rights & handled)?;
        }
    }
    for folder in private {
        let rule = PathBeneath::new(folder, (write | READ) & handled);
        ruleset = ruleset.add_rule(rule).map_err(rules)?;
    }
    // It makes terminals of the private folder beside it.
    if !private.is_empty()
        && let Ok(terminals) = GrantedPath::without_links(Path::new("/dev/ptmx"))
    {
        ruleset = allow(ruleset, &terminals, (write | READ) & handled)?;
    }
    let descriptor: Option<OwnedFd> = ruleset.into();
    descriptor.ok_or_else(|| SandboxError::Rules("the kernel made none".to_owned()))
}

fn allow(
    ruleset: RulesetCreated,
    path: &GrantedPath,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, SandboxError> {
    let name = path.as_path().display();
    let failed = |error: &dyn std::fmt::Display| SandboxError::Rules(format!("`{name}`: {error}"));
    let descriptor = match path.open() {
        Ok(descriptor) => descriptor,
        Err(error) => {
            tracing::debug!(%error, path = %name, "not in the sandbox");
            return Ok(ruleset);
        }
    };
    let found = rustix::fs::fstat(descriptor.as_fd()).map_err(|error| failed(&error))?;
    let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    let rights = if is_folder {
        rights
    } else {
        rights & AccessFs::from_file(ABI::V8)
    };
    if rights.is_empty() {
        return Ok(ruleset);
    }
    let rule = PathBeneath::new(descriptor, rights);
    ruleset.add_rule(rule).map_err(|error| failed(&error))
}

/// Puts the calling thread into a new domain with these rules. It allocates nothing.
pub(super) fn restrict(rules: BorrowedFd<'_>) -> Result<(), Errno> {
    rustix::thread::set_no_new_privs(true)
        .map_err(|errno| Errno::from_raw(errno.raw_os_error()))?;
    #[allow(
        unsafe_code,
        reason = "the crate's method consumes the rules, and they are used many times"
    )]
    // SAFETY: the call takes numbers only, and the descriptor is open.
    let result = unsafe {
        nix::libc::syscall(
            nix::libc::SYS_landlock_restrict_self,
            rules.as_raw_fd(),
            0u32,
        )
    };
    Errno::result(result).map(drop)
}
