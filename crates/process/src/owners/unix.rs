//! Owners and modes of files, and of every folder and link on the way to them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::{Exposed, FileAccess, Why};
use crate::granted_path::MAX_LINKS;
use crate::unix::kernel::owner_of_unmapped;

const GROUP_WRITE: u32 = 0o020;
const OTHER_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Implements [`crate::owners::check`].
pub(crate) fn check_owners(path: &Path) -> Result<(), Exposed> {
    let user = User::current();
    walk(path, |place, found| user.check(place, found))
}

/// Returns every folder, link and file on the way to a path, as far as it exists.
pub(crate) fn places(path: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    // An error is the end of the way.
    let _ = walk(path, |place, _| {
        places.push(place.to_owned());
        Ok(())
    });
    places
}

/// Visits every folder, link and file on the way to a path.
fn walk(
    path: &Path,
    mut visit: impl FnMut(&Path, &Metadata) -> Result<(), Exposed>,
) -> Result<(), Exposed> {
    let mut rest: VecDeque<OsString> = parts(path);
    let mut place = PathBuf::from("/");
    visit(&place, &look(&place)?)?;
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            place.pop();
            continue;
        }
        let next = place.join(&part);
        let found = look(&next)?;
        visit(&next, &found)?;
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
            id: current_user(),
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

/// Returns the number of the user of this process.
fn current_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the rights on an open file.
pub(crate) fn file_access(file: &File) -> io::Result<FileAccess> {
    file.metadata().map(|found| of(&found))
}

/// Returns the rights on the file or folder at `path`. Links are followed.
pub(crate) fn path_access(path: &Path) -> io::Result<FileAccess> {
    fs::metadata(path).map(|found| of(&found))
}

/// Returns the rights on the file, folder or link at `path` itself.
pub(crate) fn link_access(path: &Path) -> io::Result<FileAccess> {
    fs::symlink_metadata(path).map(|found| of(&found))
}

fn of(found: &Metadata) -> FileAccess {
    let owner = found.uid();
    FileAccess {
        is_ours: owner == current_user(),
        is_of_system: owner == 0,
        others_read: found.mode() & 0o044 != 0,
        others_write: found.mode() & 0o022 != 0,
        all_write: found.mode() & 0o002 != 0,
        others_any: found.mode() & 0o077 != 0,
    }
}
