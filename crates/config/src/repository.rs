//! The git repository that contains a project.
//!
//! A project may be a part of a repository: a sub-folder, a worktree or a submodule. Then git's own
//! folder lies outside of the project, and programs that ask git need to read it.
//!
//! A `.git` file names that folder, and the author of the project may have written the file. So it
//! counts only if the folder names the project, too: git writes both links when it makes a worktree
//! or a submodule, and no other user can write into a repository of the user.

use std::fs;
use std::path::{Path, PathBuf};

/// Limit of the small files of git that are read, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// Finds what git keeps outside of `project` about the repository around it, as real paths: its own
/// folder, and the files that name such folders. A repository in the home directory or above it is
/// none: it contains everything of the user.
pub(crate) fn files_outside(project: &Path, home: &Path) -> Vec<PathBuf> {
    let Ok(project) = project.canonicalize() else {
        return Vec::new();
    };
    let real_home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    let within = |folder: &&Path| !real_home.starts_with(folder) || **folder == *project;
    let mut folders = project.ancestors().take_while(within);
    let found = folders.find_map(|folder| Some((folder, repository(folder)?)));
    let Some((root, own)) = found else {
        return Vec::new();
    };
    let modules = submodules(root).into_iter();
    let links = modules.chain([root.to_owned()]).map(|it| it.join(".git"));
    let is_file = |link: &PathBuf| link.symlink_metadata().is_ok_and(|it| it.is_file());
    let files = links.filter(is_file).chain([own]);
    files.filter(|file| !file.starts_with(&project)).collect()
}

/// Finds the folders of the submodules that the repository with its files in `root` names.
fn submodules(root: &Path) -> Vec<PathBuf> {
    let text = text_of(&root.join(".gitmodules")).unwrap_or_default();
    let paths = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "path").then(|| root.join(value.trim()))
    });
    // A link, or `..`, could lead to another place.
    paths
        .filter(|path| {
            path.canonicalize()
                .is_ok_and(|real| real == *path && real.starts_with(root))
        })
        .collect()
}

/// Finds git's folder of the repository whose files are in `folder`, with what its worktrees share.
fn repository(folder: &Path) -> Option<PathBuf> {
    let entry = folder.join(".git");
    let kind = entry.symlink_metadata().ok()?.file_type();
    if kind.is_dir() {
        return is_repository(&entry).then_some(entry);
    }
    let own = linked(&entry, folder, "gitdir:")?;
    match linked(&own.join("commondir"), &own, "") {
        Some(common) => {
            let is_worktree = own.parent() == Some(&*common.join("worktrees"))
                && linked(&own.join("gitdir"), &own, "") == Some(entry);
            (is_worktree && is_repository(&common)).then_some(common)
        }
        None => {
            let is_submodule = worktree(&own).is_some_and(|worktree| worktree == folder);
            (is_submodule && is_repository(&own)).then_some(own)
        }
    }
}

fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir()
}

/// Finds the real path of what the text in `file` names, after `prefix`. It may be relative to
/// `folder`.
fn linked(file: &Path, folder: &Path, prefix: &str) -> Option<PathBuf> {
    let text = text_of(file)?;
    let named = text.strip_prefix(prefix)?.trim();
    folder.join(named).canonicalize().ok()
}

/// Finds the folder with the files of a repository that has them elsewhere (`core.worktree`).
fn worktree(repository: &Path) -> Option<PathBuf> {
    let config = text_of(&repository.join("config"))?;
    let lines = config.lines().map(str::trim);
    let core = lines.skip_while(|line| *line != "[core]").skip(1);
    let mut keys = core.take_while(|line| !line.starts_with('['));
    let named = keys.find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "worktree").then(|| value.trim().trim_matches('"').to_owned())
    });
    repository.join(named?).canonicalize().ok()
}

fn text_of(file: &Path) -> Option<String> {
    let found = file.symlink_metadata().ok()?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return None;
    }
    fs::read_to_string(file).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Disk(tempfile::TempDir);

    impl Disk {
        fn new() -> Disk {
            Disk(tempfile::tempdir().expect("a folder"))
        }

        fn at(&self, path: &str) -> PathBuf {
            let root = self.0.path().canonicalize().expect("it exists");
            root.join(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.at(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, text).expect("a file of ours");
        }

        fn repository(&self, path: &str) {
            self.write(&format!("{path}/HEAD"), "ref: refs/heads/main\n");
            self.write(&format!("{path}/objects/info/packs"), "");
        }

        fn files(&self, project: &str) -> Vec<PathBuf> {
            fs::create_dir_all(self.at(project)).expect("it can be made");
            files_outside(&self.at(project), &self.at("home"))
        }
    }

    #[test]
    fn a_sub_folder_has_the_repository_above_it() {
        let disk = Disk::new();
        disk.repository("home/repo/.git");
        assert_eq!(disk.files("home/repo"), Vec::<PathBuf>::new());
        assert_eq!(disk.files("home/repo/a/b"), [disk.at("home/repo/.git")]);
        assert_eq!(disk.files("home/other"), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_repository_of_the_home_directory_is_not_the_project_s() {
        let disk = Disk::new();
        disk.repository("home/.git");
        disk.repository(".git");
        assert_eq!(disk.files("home/project"), Vec::<PathBuf>::new());
        assert_eq!(disk.files("elsewhere/project"), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_worktree_has_the_common_folder() {
        let disk = Disk::new();
        disk.repository("home/repo/.git");
        let own = "home/repo/.git/worktrees/tree";
        disk.write(&format!("{own}/commondir"), "../..\n");
        let back = disk.at("home/tree/.git");
        disk.write(&format!("{own}/gitdir"), &format!("{}\n", back.display()));
        let link = format!("gitdir: {}\n", disk.at(own).display());
        disk.write("home/tree/.git", &link);
        assert_eq!(disk.files("home/tree"), [disk.at("home/repo/.git")]);
        let files = [disk.at("home/tree/.git"), disk.at("home/repo/.git")];
        assert_eq!(disk.files("home/tree/sub"), files);
        // A project that only claims to be a worktree.
        disk.write("home/other/.git", &link);
        assert_eq!(disk.files("home/other"), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_submodule_has_its_folder_only() {
        let disk = Disk::new();
        disk.repository("home/repo/.git");
        let own = "home/repo/.git/modules/sub";
        disk.repository(own);
        let config = "[core]\n\tbare = false\n\tworktree = ../../../sub\n[remote \"origin\"]\n";
        disk.write(&format!("{own}/config"), config);
        disk.write("home/repo/sub/.git", "gitdir: ../.git/modules/sub\n");
        assert_eq!(disk.files("home/repo/sub"), [disk.at(own)]);
        // The other parts of a repository read which submodules it has.
        let modules = "[submodule \"sub\"]\n\tpath = sub\n[submodule \"x\"]\n\tpath = ../other\n";
        disk.write("home/repo/.gitmodules", modules);
        disk.write("home/other/.git", "gitdir: elsewhere\n");
        let files = [disk.at("home/repo/sub/.git"), disk.at("home/repo/.git")];
        assert_eq!(disk.files("home/repo/packages"), files);
        let link = format!("gitdir: {}\n", disk.at(own).display());
        disk.write("home/other/.git", &link);
        assert_eq!(disk.files("home/other"), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_project_cannot_name_other_folders_as_its_repository() {
        let disk = Disk::new();
        disk.repository("home/secret");
        for (name, link) in [
            (
                "plain",
                format!("gitdir: {}\n", disk.at("home/secret").display()),
            ),
            ("long", format!("gitdir: {}\n", "x".repeat(100_000))),
            ("none", "gitdir:\n".to_owned()),
            ("empty", String::new()),
        ] {
            let project = format!("home/{name}");
            disk.write(&format!("{project}/.git"), &link);
            assert_eq!(disk.files(&project), Vec::<PathBuf>::new(), "{name}");
        }
        // A folder of its own that claims to share the secret one.
        let own = "home/forged/fake";
        let secret = disk.at("home/secret").display().to_string();
        disk.write(&format!("{own}/commondir"), &secret);
        disk.write(
            &format!("{own}/gitdir"),
            &disk.at("home/forged/.git").display().to_string(),
        );
        disk.write("home/forged/.git", "gitdir: fake\n");
        assert_eq!(disk.files("home/forged"), Vec::<PathBuf>::new());
        std::os::unix::fs::symlink(disk.at("home/secret"), disk.at("home/linked.git"))
            .expect("a link");
        fs::create_dir_all(disk.at("home/link")).expect("it can be made");
        std::os::unix::fs::symlink(disk.at("home/secret"), disk.at("home/link/.git"))
            .expect("a link");
        assert_eq!(disk.files("home/link"), Vec::<PathBuf>::new());
    }
}
