//! Checks that no other user of the machine can replace a file: programs that haft starts by its own
//! choice, and the files with the user's grants.
//!
//! A file is as safe as every folder on the way to it, and as every link. Each must belong to root or
//! to this user, and no other user may write to it. Two exceptions, as in OpenSSH: a folder with the sticky bit
//! (`/tmp`), whose entries only their owners replace, and a group that has no other member.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

const GROUP_WRITE: u32 = 0o020;
const OTHER_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// The most links on the way to a file, as in the kernel.
const MAX_LINKS: u32 = 40;

/// Path that another user could replace, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// The file or folder.
    pub path: PathBuf,
    /// Why others can.
    pub why: Why,
}

/// Why others can replace a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It belongs to another user.
    Owner(u32),
    /// Every user may write to it.
    Everybody,
    /// The members of a group may write to it.
    Group(u32),
    /// It cannot be looked at.
    Unknown(String),
}

impl fmt::Display for Exposed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            Why::Owner(user) => write!(f, "`{path}` belongs to user {user}"),
            Why::Everybody => write!(f, "everybody may write to `{path}`"),
            Why::Group(group) => write!(f, "group {group} may write to `{path}`"),
            Why::Unknown(error) => write!(f, "`{path}` cannot be looked at: {error}"),
        }
    }
}

/// Checks the file at `path`, an absolute path, every folder above it and every link on the way.
///
/// # Errors
/// With the first that another user could replace.
pub fn check(path: &Path) -> Result<(), Exposed> {
    let user = User::current();
    let mut rest: VecDeque<OsString> = parts(path);
    let mut place = PathBuf::from("/");
    user.check(&place, &look(&place)?)?;
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            place.pop();
            continue;
        }
        let next = place.join(&part);
        let found = look(&next)?;
        user.check(&next, &found)?;
        if !found.is_symlink() {
            place = next;
            continue;
        }
        links += 1;
        let unknown = |error: io::Error| Exposed {
            path: next.clone(),
            why: Why::Unknown(error.to_string()),
        };
        if links > MAX_LINKS {
            return Err(unknown(io::Error::other("too many links")));
        }
        let target = fs::read_link(&next).map_err(unknown)?;
        if target.is_absolute() {
            place = PathBuf::from("/");
        }
        for part in parts(&target).into_iter().rev() {
            rest.push_front(part);
        }
    }
    Ok(())
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

fn look(path: &Path) -> Result<Metadata, Exposed> {
    fs::symlink_metadata(path).map_err(|error| Exposed {
        path: path.to_owned(),
        why: Why::Unknown(error.to_string().to_lowercase()),
    })
}

/// The current user, and the users whose files count as its own.
struct User {
    id: u32,
    /// In a namespace with few users: the owner that all others seem to be. None of them is in it.
    outside: Option<u32>,
}

impl User {
    fn current() -> User {
        User {
            id: rustix::process::geteuid().as_raw(),
            outside: owner_of_unmapped(),
        }
    }

    fn check(&self, path: &Path, found: &Metadata) -> Result<(), Exposed> {
        let exposed = |why: Why| {
            let path = path.to_owned();
            Err(Exposed { path, why })
        };
        let owner = found.uid();
        if owner != 0 && owner != self.id && Some(owner) != self.outside {
            return exposed(Why::Owner(owner));
        }
        // The mode of a link means nothing.
        let is_sticky = found.is_dir() && found.mode() & STICKY != 0;
        if found.is_symlink() || is_sticky {
            return Ok(());
        }
        if found.mode() & OTHER_WRITE != 0 {
            return exposed(Why::Everybody);
        }
        if found.mode() & GROUP_WRITE != 0 && !self.is_alone_in(found.gid()) {
            return exposed(Why::Group(found.gid()));
        }
        Ok(())
    }

    /// True if no other user but root is in the group, as far as the system's files say.
    fn is_alone_in(&self, group: u32) -> bool {
        if group == 0 {
            return true;
        }
        let (Ok(users), Ok(groups)) = (
            fs::read_to_string("/etc/passwd"),
            fs::read_to_string("/etc/group"),
        ) else {
            return false;
        };
        let users: Vec<Account<'_>> = users.lines().filter_map(Account::read).collect();
        let is_us = |account: &Account<'_>| account.user == self.id || account.user == 0;
        let mut primary = users.iter().filter(|account| account.group == group);
        let entry = groups.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (_, _, id, members) = (
                fields.next()?,
                fields.next()?,
                fields.next()?,
                fields.next()?,
            );
            (id.parse() == Ok(group)).then_some(members)
        });
        let Some(members) = entry else {
            // The group comes from elsewhere, and so may its members.
            return false;
        };
        let mut members = members.split(',').filter(|name| !name.is_empty());
        let is_member_us = |name: &str| users.iter().any(|one| one.name == name && is_us(one));
        primary.all(is_us) && members.all(is_member_us)
    }
}

struct Account<'a> {
    name: &'a str,
    user: u32,
    group: u32,
}

impl Account<'_> {
    fn read(line: &str) -> Option<Account<'_>> {
        let mut fields = line.split(':');
        let (name, _) = (fields.next()?, fields.next()?);
        let (user, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Account { name, user, group })
    }
}

/// The owner that files of users outside of our user namespace seem to have; nothing where all users
/// are in it.
fn owner_of_unmapped() -> Option<u32> {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let counts = map
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
    if counts.sum::<u64>() >= u64::from(u32::MAX) {
        return None;
    }
    let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?;
    overflow.trim().parse().ok()
}
