//! Paths that a tool is granted, and the bounds of the links that lead to them.
//!
//! A rule of the kernel and the permissions of an isolate name files by paths. A link in such a path
//! grants whatever it leads to, at the time at which it is followed. So each granted path is a
//! [`GrantedPath`]: it has no links. [`LinkBounds::resolve`] makes it from a text once, when rights
//! are computed, and [`GrantedPath::open`] follows no link afterwards.
//!
//! Links of the user and of the system are followed: `/tmp`, a linked home directory, merged `/usr`.
//! Links in a folder that others write to (the project, the folders that tools may write) are
//! followed only as long as they stay in that folder.

#[cfg(unix)]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

#[cfg(unix)]
use rustix::fs::{CWD, FileType, Mode, OFlags, openat};
#[cfg(unix)]
use rustix::io::Errno;

/// Limit of the links that are followed for one path, as in the kernel.
pub(crate) const MAX_LINKS: usize = 40;

/// Real path that a tool is granted: absolute, without `.`, `..` and links. Two of them name the
/// same file exactly if they are equal. What it names may be missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GrantedPath(PathBuf);

/// Folders whose links count only if they do not lead out of the folder, because others than the
/// user decide about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkBounds(Vec<PathBuf>);

/// Reason why a path cannot be granted.
#[derive(Debug, thiserror::Error)]
pub enum PathRefusal {
    /// It would depend on a working directory.
    #[error("it is not an absolute path")]
    Relative,
    /// A link of the project, or of a folder that a tool may write to, leads somewhere else.
    #[error("`{}` is a link that leads out of `{}`, to `{}`", link.display(), folder.display(), target.display())]
    LeadsOut {
        /// The link.
        link: PathBuf,
        /// The folder that the link may not lead out of.
        folder: PathBuf,
        /// The real path that it leads to.
        target: PathBuf,
    },
    /// A part of the path is a link, where none is followed.
    #[error("`{}` is a link", .0.display())]
    Link(PathBuf),
    /// Its links lead to each other.
    #[error("it has too many links")]
    TooManyLinks,
    /// The system refused to read a link.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl GrantedPath {
    /// Returns the path if no part of it is a link. Missing parts are none.
    ///
    /// # Errors
    /// If the path is relative, or a part of it is a link.
    pub fn without_links(path: &Path) -> Result<GrantedPath, PathRefusal> {
        let mut walk = Walk::new(path)?;
        walk.run(|link, _| Err(PathRefusal::Link(link)))?;
        Ok(GrantedPath(walk.real))
    }

    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Returns true if the real path is this one, or below it.
    pub fn contains(&self, real: &Path) -> bool {
        real.starts_with(&self.0)
    }

    /// Returns what is left of this path without the real paths `left_out` and what is below them:
    /// a folder that contains one of them becomes the list of its other entries, as they are now.
    pub fn without(self, left_out: &[PathBuf]) -> Vec<GrantedPath> {
        if left_out.iter().any(|path| self.0.starts_with(path)) {
            return Vec::new();
        }
        if !left_out.iter().any(|path| self.contains(path)) {
            return vec![self];
        }
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        // The name of an entry of a real path has no links unless it is one.
        let entries = entries.filter(|entry| entry.file_type().is_ok_and(|it| !it.is_symlink()));
        let entries = entries.map(|entry| GrantedPath(entry.path()));
        let mut rest: Vec<GrantedPath> =
            entries.flat_map(|entry| entry.without(left_out)).collect();
        rest.sort();
        rest
    }

    /// Opens the path for a rule of the kernel, which needs no access to what it names. A link in
    /// it is an error, even if it was made a moment ago.
    ///
    /// # Errors
    /// If the path is missing or has a link now.
    #[cfg(unix)]
    pub fn open(&self) -> io::Result<OwnedFd> {
        open_without_links(&self.0, NAMED | OFlags::CLOEXEC, Mode::empty())
    }
}

/// Flags of a descriptor that only names a file. macOS has none, and opens it for reading.
#[cfg(target_os = "linux")]
const NAMED: OFlags = OFlags::PATH;
#[cfg(all(unix, not(target_os = "linux")))]
const NAMED: OFlags = OFlags::RDONLY;

/// Opens the absolute path `real`, of which no part may be a link.
///
/// # Errors
/// Of the system; `ELOOP` or `ENOTDIR` if a part is a link now.
#[cfg(unix)]
pub fn open_without_links(real: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let opened = openat2(CWD, real, flags, mode, ResolveFlags::NO_SYMLINKS);
        // Kernels before 5.6 and some filters of system calls do not support `openat2`.
        if !matches!(opened, Err(Errno::NOSYS | Errno::PERM)) {
            return Ok(opened?);
        }
    }
    let names: Vec<&OsStr> = real
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let into = NAMED | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(CWD, "/", into, Mode::empty())?;
    let Some((last, folders)) = names.split_last() else {
        return Ok(openat(CWD, "/", flags, mode)?);
    };
    for folder in folders {
        at = openat(&at, *folder, into, Mode::empty())?;
    }
    let opened = openat(&at, *last, flags | OFlags::NOFOLLOW, mode)?;
    // With `PATH` the last part is opened even if it is a link.
    let found = rustix::fs::fstat(&opened)?;
    if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
        return Err(Errno::LOOP.into());
    }
    Ok(opened)
}

impl AsRef<Path> for GrantedPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl LinkBounds {
    /// Returns bounds for the links below these folders.
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> LinkBounds {
        let mut bounds = LinkBounds(Vec::new());
        folders.into_iter().for_each(|folder| bounds.add(&folder));
        bounds
    }

    /// Adds a folder whose links may not lead out of it.
    pub fn add(&mut self, folder: &Path) {
        let real = folder.canonicalize();
        let real = real.unwrap_or_else(|_| folder.to_owned());
        if !self.0.contains(&real) {
            self.0.push(real);
        }
    }

    /// Returns the real path of `path`. Its links are followed, unless they lead out of a folder of
    /// these bounds in which they lie. Parts that are missing are kept as they are.
    ///
    /// # Errors
    /// If the path is relative, or a link cannot be followed.
    pub fn resolve(&self, path: &Path) -> Result<GrantedPath, PathRefusal> {
        let mut walk = Walk::new(path)?;
        let mut bounded: Vec<(PathBuf, &Path)> = Vec::new();
        walk.run(|link, folder| {
            if let Some(bound) = self.innermost(folder) {
                bounded.push((link, bound));
            }
            Ok(())
        })?;
        let real = walk.real;
        let leaving = bounded
            .into_iter()
            .find(|(_, bound)| !real.starts_with(bound));
        match leaving {
            None => Ok(GrantedPath(real)),
            Some((link, folder)) => Err(PathRefusal::LeadsOut {
                link,
                folder: folder.to_owned(),
                target: real,
            }),
        }
    }

    /// Returns the smallest of the folders that contains the real path.
    fn innermost(&self, real: &Path) -> Option<&Path> {
        let containing = self.0.iter().filter(|folder| real.starts_with(folder));
        let innermost = containing.max_by_key(|folder| folder.components().count());
        innermost.map(PathBuf::as_path)
    }
}

/// Resolution of a path, part by part.
struct Walk {
    /// The resolved part.
    real: PathBuf,
    /// The parts that follow, the next one at the end.
    rest: Vec<OsString>,
    links: usize,
}

impl Walk {
    fn new(path: &Path) -> Result<Walk, PathRefusal> {
        if !path.is_absolute() {
            return Err(PathRefusal::Relative);
        }
        let mut walk = Walk {
            real: PathBuf::new(),
            rest: Vec::new(),
            links: 0,
        };
        walk.push(path);
        Ok(walk)
    }

    /// Puts the parts of `path` before the others. An absolute path starts again at the root.
    fn push(&mut self, path: &Path) {
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                // A prefix and a root replace what is resolved.
                Component::Prefix(_) | Component::RootDir => self.real.push(part),
                Component::ParentDir | Component::Normal(_) => {
                    parts.push(part.as_os_str().to_owned());
                }
            }
        }
        self.rest.extend(parts.into_iter().rev());
    }

    /// Resolves all parts. `follow` gets each link with the real path of the folder in which it
    /// lies.
    fn run(
        &mut self,
        mut follow: impl FnMut(PathBuf, &Path) -> Result<(), PathRefusal>,
    ) -> Result<(), PathRefusal> {
        while let Some(part) = self.rest.pop() {
            if part == ".." {
                self.real.pop();
                continue;
            }
            let next = self.real.join(&part);
            let is_link = std::fs::symlink_metadata(&next).is_ok_and(|found| found.is_symlink());
            if !is_link {
                // A part that is missing, or that the user may not look at, has nothing below it
                // that could be a link now. It is opened without links later.
                self.real = next;
                continue;
            }
            follow(next.clone(), &self.real)?;
            self.links += 1;
            if self.links > MAX_LINKS {
                return Err(PathRefusal::TooManyLinks);
            }
            let target = std::fs::read_link(&next)?;
            self.push(&target);
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Folder with `home`, and `home/project` whose links are bounded.
    struct Scratch {
        _folder: tempfile::TempDir,
        root: PathBuf,
        bounds: LinkBounds,
    }

    impl Scratch {
        fn new() -> Scratch {
            let folder = tempfile::tempdir().expect("a folder");
            let root = folder.path().canonicalize().expect("it exists");
            for folder in ["home/.ssh", "home/project/src/deep", "home/other"] {
                fs::create_dir_all(root.join(folder)).expect("a folder of ours");
            }
            fs::write(root.join("home/.ssh/id"), "key").expect("a file of ours");
            let bounds = LinkBounds::new([root.join("home/project")]);
            Scratch {
                _folder: folder,
                root,
                bounds,
            }
        }

        fn link(&self, target: &str, link: &str) {
            symlink(target, self.root.join(link)).expect("a link of ours");
        }

        fn resolve(&self, path: &str) -> Result<PathBuf, PathRefusal> {
            let granted = self.bounds.resolve(&self.root.join(path))?;
            let below = granted.as_path().strip_prefix(&self.root);
            Ok(below.expect("all is below it").to_owned())
        }
    }

    #[test]
    fn a_link_of_a_bounded_folder_does_not_lead_out_of_it() {
        let scratch = Scratch::new();
        let root = scratch.root.display().to_string();
        for (target, link, path) in [
            ("..", "home/project/up", "home/project/up"),
            ("../.ssh", "home/project/relative", "home/project/relative"),
            (
                "..",
                "home/project/src/part",
                "home/project/src/part/../.ssh/id",
            ),
            (
                &*root,
                "home/project/absolute",
                "home/project/absolute/home/.ssh",
            ),
            ("/", "home/project/root", "home/project/root/etc"),
            ("../.ssh/id", "home/project/file", "home/project/file"),
            ("../missing", "home/project/lost", "home/project/lost/below"),
        ] {
            scratch.link(target, link);
            let refusal = scratch.resolve(path).map_err(|refusal| refusal.to_string());
            let expected =
                format!("`{root}/{link}` is a link that leads out of `{root}/home/project`");
            match refusal {
                // The text has no link: `..` is applied after the link was followed.
                Ok(real) => panic!("{path} is {}", real.display()),
                Err(text) => assert!(text.starts_with(&expected), "{path}: {text}"),
            }
        }
        // A link that another link leads to counts as well.
        scratch.link("project/up", "home/entrance");
        assert!(scratch.resolve("home/entrance/.ssh").is_err());
    }

    #[test]
    fn other_links_are_followed_once() {
        let scratch = Scratch::new();
        scratch.link("home", "linked");
        scratch.link("project/src", "home/code");
        scratch.link("src", "home/project/inside");
        scratch.link("../../project/src/deep", "home/project/src/around");
        for (path, real) in [
            ("linked/project/inside/deep", "home/project/src/deep"),
            ("linked/code", "home/project/src"),
            ("home/project/src/around", "home/project/src/deep"),
            ("home/project/missing/../src", "home/project/src"),
            ("linked/project/made/later", "home/project/made/later"),
        ] {
            let found = scratch.resolve(path);
            assert_eq!(found.expect(path), Path::new(real), "{path}");
        }
        scratch.link("circle", "home/circle");
        let refusal = scratch.resolve("home/circle").expect_err("it has no end");
        assert!(matches!(refusal, PathRefusal::TooManyLinks), "{refusal}");
        assert!(matches!(
            scratch.bounds.resolve(Path::new("src")),
            Err(PathRefusal::Relative)
        ));
    }

    #[test]
    fn what_is_left_out_of_a_folder_leaves_its_other_entries() {
        let scratch = Scratch::new();
        let root = &scratch.root;
        scratch.link(".ssh", "home/keys");
        let home = || GrantedPath::without_links(&root.join("home")).expect("it has no links");
        let left = |left_out: &[&str]| {
            let left_out: Vec<PathBuf> = left_out.iter().map(|path| root.join(path)).collect();
            let left = home().without(&left_out).into_iter();
            let left = left.map(|path| path.0.strip_prefix(root).expect("below").to_owned());
            left.collect::<Vec<_>>()
        };
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(left(&[]), paths(&["home"]));
        assert_eq!(left(&["home-2"]), paths(&["home"]));
        assert_eq!(left(&["home"]), paths(&[]));
        assert_eq!(
            left(&["home/.ssh", "home/project/src/deep/key"]),
            paths(&["home/other"])
        );
        assert_eq!(
            left(&["home/.ssh/id", "home/project/src"]),
            paths(&["home/other"])
        );
    }

    #[test]
    fn a_granted_path_follows_no_link_when_it_is_opened() {
        let scratch = Scratch::new();
        let folder = scratch.root.join("home/project/src");
        let granted = GrantedPath::without_links(&folder).expect("it has no links");
        assert!(granted.open().is_ok());
        fs::remove_dir_all(&folder).expect("it is ours");
        assert!(granted.open().is_err());
        scratch.link("../.ssh", "home/project/src");
        assert!(granted.open().is_err());
        for path in [&folder, &folder.join("id"), &folder.join("missing/below")] {
            let refusal = GrantedPath::without_links(path).expect_err("it has a link");
            assert!(matches!(&refusal, PathRefusal::Link(link) if *link == folder));
        }
    }
}
