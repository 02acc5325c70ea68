//! Denied parts of granted folders, seen by programs in a sandbox.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use haft_process::sandbox::{Access, DeniedPaths, Sandbox, SandboxPolicy};
use haft_process::{GrantedPath, LinkBounds, Spawn};

use crate::programs::{run, sh, stdout};

/// A folder that a sandbox grants as a whole, with `private` and `open` in it.
struct GrantedFolder {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl GrantedFolder {
    fn new() -> GrantedFolder {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().canonicalize().expect("it exists");
        for name in ["private/deep", "open"] {
            fs::create_dir_all(path.join(name)).expect("a folder of ours");
        }
        for name in ["private/key", "private/deep/key"] {
            fs::write(path.join(name), "SECRET\n").expect("a file of ours");
        }
        fs::write(path.join("open/text"), "text\n").expect("a file of ours");
        symlink("../private/key", path.join("open/link")).expect("a link of ours");
        GrantedFolder {
            _folder: folder,
            path,
        }
    }

    fn granted(&self) -> Access {
        Access::Paths(vec![real(&self.path)])
    }

    /// Runs a script in the folder, in a sandbox without these paths.
    async fn script(&self, access: (Access, Access), denied: DeniedPaths, script: &str) -> String {
        let policy = SandboxPolicy {
            read: access.0,
            write: access.1,
            execute: Access::All,
            denied,
            ..SandboxPolicy::default()
        };
        let sandbox = Sandbox::new(&policy.with_system_files()).expect("this kernel has it");
        let spawn = Spawn {
            cwd: Some(self.path.clone()),
            sandbox: Some(sandbox),
            ..sh(script, &[])
        };
        let finished = run(spawn).await;
        format!("{}{}", stdout(&finished), finished.stderr.text())
    }
}

fn real(path: &Path) -> GrantedPath {
    LinkBounds::new([]).resolve(path).expect("it exists")
}

const READS: &str = "cat private/key; cat open/link; cat private/deep/key; ls private; ls private/deep; \
                     cp -r private open/copy; mv private open/moved; ln private/key open/hard; \
                     mv private/key open/key; cat open/*";

#[tokio::test]
async fn a_denied_part_of_a_granted_folder_is_not_read() {
    for (read_denied, write) in [
        (vec!["private"], Access::default()),
        (vec!["private"], Access::All),
        (vec!["private/key", "private/deep"], Access::default()),
        (vec![""], Access::default()),
    ] {
        let folder = GrantedFolder::new();
        let denied = DeniedPaths {
            read: read_denied
                .iter()
                .map(|name| folder.path.join(name))
                .collect(),
            ..DeniedPaths::default()
        };
        let write = if write == Access::All {
            folder.granted()
        } else {
            write
        };
        for read in [folder.granted(), Access::All] {
            let access = (read, write.clone());
            let text = folder.script(access, denied.clone(), READS).await;
            assert!(!text.contains("SECRET"), "{read_denied:?}: {text}");
            let is_open = !read_denied.contains(&"");
            assert_eq!(text.contains("text\n"), is_open, "{read_denied:?}: {text}");
        }
    }
}

#[tokio::test]
async fn a_denied_part_of_a_granted_folder_is_not_written() {
    let script = "echo x > private/new; echo x > private/key; rm -rf private; mv private other; \
                  mkdir private/folder; ln -s /x private/link; echo more > open/text";
    for read in [Access::All, Access::default()] {
        let folder = GrantedFolder::new();
        let denied = DeniedPaths {
            write: vec![folder.path.join("private")],
            ..DeniedPaths::default()
        };
        for write in [folder.granted(), Access::All] {
            folder
                .script((read.clone(), write), denied.clone(), script)
                .await;
            let key = fs::read_to_string(folder.path.join("private/key"));
            assert_eq!(key.expect("it is left"), "SECRET\n");
            let mut names = ["new", "folder", "link"].iter();
            assert!(names.all(|name| !folder.path.join("private").join(name).exists()));
            let text = fs::read_to_string(folder.path.join("open/text"));
            assert_eq!(text.expect("it is there"), "more\n");
        }
    }
}

#[tokio::test]
async fn a_denied_program_is_not_started_by_any_way() {
    let folder = GrantedFolder::new();
    let cat = real(&which("cat"));
    let denied = DeniedPaths {
        execute: vec![cat.as_path().to_owned()],
        ..DeniedPaths::default()
    };
    let script = format!(
        "cat open/text; /bin/cat open/text; ln -s {cat} open/tac; open/tac open/text; \
         for loader in /lib64/ld-linux-* /lib/ld-linux-*; do $loader {cat} open/text; done; \
         cp {cat} open/copy && open/copy open/text; echo started",
        cat = cat.as_path().display()
    );
    for access in [folder.granted(), Access::All] {
        let text = folder
            .script((access.clone(), folder.granted()), denied.clone(), &script)
            .await;
        assert!(!text.contains("text\n"), "{text}");
        assert!(text.contains("started\n"), "{text}");
    }
}

fn which(program: &str) -> PathBuf {
    haft_process::find_installed(program).expect("it is installed")
}

#[tokio::test]
async fn what_a_program_needs_stays_within_a_denied_folder() {
    let folder = GrantedFolder::new();
    let policy = |needed: Vec<GrantedPath>| {
        let policy = SandboxPolicy {
            read: folder.granted(),
            execute: Access::All,
            denied: DeniedPaths {
                read: vec![folder.path.clone(), folder.path.join("private/deep")],
                ..DeniedPaths::default()
            },
            needed,
            ..SandboxPolicy::default()
        };
        policy.with_system_files()
    };
    let needed = vec![real(&folder.path.join("private"))];
    let sandbox = Sandbox::new(&policy(needed)).expect("this kernel has it");
    let spawn = Spawn {
        cwd: Some(PathBuf::from("/")),
        sandbox: Some(sandbox),
        ..sh(
            "cat $1/private/key; cat $1/private/deep/key; cat $1/open/text",
            &[&folder.path.display().to_string()],
        )
    };
    let finished = run(spawn).await;
    assert_eq!(stdout(&finished), "SECRET\n");
}
