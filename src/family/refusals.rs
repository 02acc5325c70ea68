//! Accesses that a sandbox refused to a program, read from what the program printed.
//!
//! The kernel refuses without a reason, and programs print the path or the host in forms of their
//! own. So a path counts only if it exists, the user could access it, and the sandbox does not
//! grant it; a host only if the program says that it did not reach it, and it is not granted.

use std::path::{Path, PathBuf};

use rustix::fs::Access as Mode;

use haft_process::sandbox::{Access, SandboxPolicy};
use haft_process::{Captured, End, Finished};
use haft_tool::{AccessTarget, PermissionKind, PermissionProfile};

/// Parts of lines about files and system calls that the kernel refused.
const DENIED: [&str; 4] = ["permission denied", "not permitted", "eacces", "eperm"];

/// Parts of lines about hosts that were not reached.
const UNREACHED: [&str; 8] = [
    "network is unreachable",
    "enetunreach",
    "could not resolve",
    "couldn't resolve",
    "name resolution",
    "eai_again",
    "address family not supported",
    "eafnosupport",
];

/// Words after which programs name a host that they could not resolve.
const BEFORE_HOST: [&str; 4] = [
    "could not resolve host:",
    "couldn't resolve host",
    "could not resolve hostname",
    "getaddrinfo eai_again",
];

/// Limit of the lines of an output that are examined, from its end.
const MAX_LINES: usize = 200;

/// Limit of the examined words of a line.
const MAX_WORDS: usize = 40;

/// A program that ended under a sandbox.
pub(super) struct Attempt<'a> {
    pub(super) policy: &'a SandboxPolicy,
    pub(super) permissions: &'a PermissionProfile,
    /// The folder in which the program was started.
    pub(super) folder: Option<&'a Path>,
    pub(super) finished: &'a Finished,
}

/// An access that the sandbox does not grant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusedAccess {
    pub(super) kind: PermissionKind,
    /// The path or the host, as `haft permit` takes it.
    pub(super) what: String,
}

impl Attempt<'_> {
    /// Checks if the sandbox may be the reason why the program failed. Most programs do not say
    /// why (`ModuleNotFoundError`, `not a git repository`), and the sandbox does not know.
    pub(super) fn may_be_refused(&self) -> bool {
        match self.finished.end {
            End::Exited(0) => false,
            // The answer of `grep` and `test`, too.
            End::Exited(1) => !self.outputs().iter().all(|output| output.bytes.is_empty()),
            End::Exited(_) => true,
            _ => false,
        }
    }

    /// Returns the last refused access that the outputs name; `None` if they name none for sure.
    pub(super) fn refused(&self) -> Option<RefusedAccess> {
        self.outputs().into_iter().find_map(|output| {
            let text = output.text();
            let mut lines = text.lines().rev().take(MAX_LINES);
            lines.find_map(|line| self.refused_in(line))
        })
    }

    fn outputs(&self) -> [&Captured; 2] {
        [&self.finished.stderr, &self.finished.stdout]
    }

    fn refused_in(&self, line: &str) -> Option<RefusedAccess> {
        let lower = line.to_lowercase();
        if is_about(&lower, &UNREACHED) {
            return self.host_in(&lower);
        }
        if !is_about(&lower, &DENIED) {
            return None;
        }
        paths_in(line).find_map(|path| self.path(path))
    }

    fn host_in(&self, lower: &str) -> Option<RefusedAccess> {
        let rest = BEFORE_HOST
            .iter()
            .find_map(|before| Some(lower.split_once(before)?.1))?;
        let word = rest.split_whitespace().next()?;
        let host = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let target = AccessTarget::AnyPort(host);
        let decision = self.permissions.decide(PermissionKind::Net, target);
        let is_host = host.contains('.') || host == "localhost";
        (is_host && !decision.is_granted()).then(|| RefusedAccess {
            kind: PermissionKind::Net,
            what: host.to_owned(),
        })
    }

    /// Returns the access to a printed path that the sandbox does not grant, if the user has it.
    fn path(&self, printed: &str) -> Option<RefusedAccess> {
        let path = match Path::new(printed) {
            path if path.is_absolute() => path.to_owned(),
            path => self.folder?.join(path),
        };
        let (kind, path) = match path.canonicalize() {
            Ok(path) => self.refused_existing(path)?,
            // Only who makes a file is refused one that does not exist.
            Err(_) => {
                let folder = path.parent()?.canonicalize().ok()?;
                let is_refused = !self.policy.may_write(&folder);
                (PermissionKind::Write, Some(folder).filter(|_| is_refused)?)
            }
        };
        let mode = match kind {
            PermissionKind::Read => Mode::READ_OK,
            PermissionKind::Write => Mode::WRITE_OK,
            _ => Mode::EXEC_OK,
        };
        rustix::fs::access(&path, mode).ok()?;
        let what = path.into_os_string().into_string().ok()?;
        Some(RefusedAccess { kind, what })
    }

    fn refused_existing(&self, path: PathBuf) -> Option<(PermissionKind, PathBuf)> {
        let policy = self.policy;
        // With every program granted, a file must be readable to be started.
        let is_granted_program = policy.execute != Access::All && policy.may_execute(&path);
        let is_program = path.is_file() && rustix::fs::access(&path, Mode::EXEC_OK).is_ok();
        if is_program && !policy.may_execute(&path) {
            return Some((PermissionKind::Run, path));
        }
        if !is_granted_program && !policy.may_read(&path) {
            return Some((PermissionKind::Read, path));
        }
        if !policy.may_write(&path) {
            return Some((PermissionKind::Write, path));
        }
        // Files are removed and renamed with the right to their folder.
        let folder = path.parent()?.to_owned();
        (!policy.may_write(&folder)).then_some((PermissionKind::Write, folder))
    }
}

/// Returns true if the text contains one of the parts.
fn is_about(lower: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| lower.contains(part))
}

/// Returns the parts of a line that may be refused paths: what is quoted, what stands directly before
/// the refusal, and the words after it. Text further to the left names the program that printed it.
fn paths_in(line: &str) -> impl Iterator<Item = &str> {
    let quoted = ['\'', '"', '`', '‘']
        .into_iter()
        .flat_map(move |quote| line.split([quote, '’']).skip(1).step_by(2));
    let parts: Vec<&str> = line.split(": ").map(str::trim).collect();
    let is_refusal = |part: &&str| is_about(&part.to_lowercase(), &DENIED);
    let place = parts.iter().position(is_refusal).unwrap_or(parts.len());
    let before = place.checked_sub(1).map(|before| parts[before]);
    let last = before.and_then(|before| before.split_whitespace().last());
    let after = parts.into_iter().skip(place);
    let words = after.flat_map(str::split_whitespace).take(MAX_WORDS);
    let words = words.map(|word| {
        word.trim_matches(|c: char| {
            matches!(c, '\'' | '"' | '`' | ',' | ':' | '(' | ')' | '[' | ']')
        })
    });
    let parts = quoted.chain(before).chain(last).chain(words);
    // A name without a slash may be a word that a file of that name happens to exist for.
    parts.filter(|part| part.contains('/') && part.len() < 4096)
}
