//! The sandbox of a program, with real programs.

use std::path::Path;

use haft_process::Spawn;
use haft_process::sandbox::{Access, Sandbox, SandboxPolicy};

use crate::programs::{run, sh, stdout};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is a temporary folder")
}

/// What every program needs, and these folders.
fn policy(read: &[&Path], write: &[&Path]) -> SandboxPolicy {
    let paths = |list: &[&Path]| Access::Paths(list.iter().map(|path| path.into()).collect());
    SandboxPolicy {
        read: paths(read),
        write: paths(write),
        execute: Access::All,
        ..SandboxPolicy::default()
    }
    .with_system_files()
}

fn inside(policy: &SandboxPolicy, spawn: Spawn) -> Spawn {
    Spawn {
        sandbox: Some(Sandbox::new(policy).expect("this kernel has what it needs")),
        ..spawn
    }
}

#[tokio::test]
async fn files_are_read_and_written_as_the_policy_says() {
    let (open, closed) = (folder(), folder());
    for folder in [&open, &closed] {
        std::fs::write(folder.path().join("file"), "text\n").expect("it is ours");
    }
    let path = |folder: &tempfile::TempDir| folder.path().display().to_string();
    let attempt = "cat $1/file; cat $2/file 2>&1; echo more 2>&1 >$1/new; echo more 2>&1 >$2/new";
    let spawn = sh(attempt, &[&path(&open), &path(&closed)]);
    let outside = run(spawn.clone()).await;
    assert_eq!(stdout(&outside), "text\ntext\n");
    std::fs::remove_file(open.path().join("new")).expect("it was made");
    std::fs::remove_file(closed.path().join("new")).expect("it was made");

    let read_only = inside(&policy(&[open.path()], &[]), spawn.clone());
    let text = run(read_only).await;
    let closed_path = path(&closed);
    let denied = format!("cat: {closed_path}/file: Permission denied\n");
    assert!(
        stdout(&text).starts_with(&format!("text\n{denied}")),
        "{text:?}"
    );
    assert!(!open.path().join("new").exists() && !closed.path().join("new").exists());

    let writable = inside(&policy(&[], &[open.path()]), spawn);
    let text = run(writable).await;
    assert!(
        stdout(&text).starts_with(&format!("text\n{denied}")),
        "{text:?}"
    );
    assert!(open.path().join("new").exists() && !closed.path().join("new").exists());
}
