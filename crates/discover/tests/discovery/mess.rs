//! Odd folders: pipes, dangling links, names that are not UTF-8, thousands of files.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use haft_discover::Verdict;

use super::{A, World};

#[test]
fn pipes_sockets_and_folders_with_module_names_are_never_opened() {
    let world = World::with(&[A, "p/.omp/tools/dir.ts/readme"]);
    let _socket =
        std::os::unix::net::UnixListener::bind(world.path("p/.omp/tools/s.ts")).expect("a socket");
    fifo(&world.path("p/.omp/tools/f.ts"));
    world.mkdir("p/.omp/tools/sub");
    fifo(&world.path("p/.omp/tools/sub/index.ts"));
    fifo(&world.path("p/.omp/tools/.gitignore"));
    world.mkdir("p/.git");
    fifo(&world.path("p/.gitignore"));
    fifo(&world.path("p/.omp/config.yml"));
    fifo(&world.path("p/given.ts"));
    let mut world = world;
    world.flags.tools = vec!["given.ts".into()];
    assert_eq!(world.names(), ["a.ts"]);
    assert!(world.reason("p/.omp/tools/s.ts").contains("a socket"));
    assert!(world.reason("p/.omp/tools/f.ts").contains("a named pipe"));
    assert!(
        world
            .reason("p/.omp/tools/sub/index.ts")
            .contains("a named pipe")
    );
    assert!(world.reason("p/given.ts").contains("a named pipe"));
    assert!(world.reason("p/.omp/tools/dir.ts").contains("no index.ts"));
}

fn fifo(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a pipe");
}

#[test]
fn a_folder_that_is_a_file_is_reported() {
    let world = World::with(&["home/.claude/tools", A]);
    assert_eq!(world.names(), ["a.ts"]);
    assert_eq!(world.only_problem().message, "not a folder");
}

#[test]
fn unreadable_folders_are_reported_and_the_rest_is_loaded() {
    if rustix::process::geteuid().is_root() {
        // Root can read everything except a loop of links.
        let world = World::with(&["p/.claude/tools/c.ts"]);
        world.link("tools", "p/.omp/tools");
        assert_eq!(world.names(), ["c.ts"]);
        assert!(
            world
                .only_problem()
                .message
                .starts_with("the folder cannot be read")
        );
        return;
    }
    let world = World::with(&[A, "p/.claude/tools/c.ts"]);
    let locked = world.path("p/.omp/tools");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).expect("locked");
    let (names, problem) = (world.names(), world.only_problem());
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).expect("unlocked");
    assert_eq!(names, ["c.ts"]);
    assert_eq!(
        problem.message,
        "the folder cannot be read: permission denied"
    );
}

#[test]
fn names_that_are_no_text_are_refused_without_harm() {
    let world = World::with(&[
        "p/.omp/tools/with space.ts",
        "p/.omp/tools/new\nline.ts",
        "p/.omp/tools/ü.ts",
    ]);
    for name in [&b"bad\xff.ts"[..], &b"bad\xff.txt"[..]] {
        let path = world
            .path("p/.omp/tools")
            .join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, "").expect("a file");
    }
    assert_eq!(world.names(), ["new\nline.ts", "with space.ts", "ü.ts"]);
    assert_eq!(
        world.only_problem().message,
        "the file name is not valid UTF-8"
    );
}

#[test]
fn ten_thousand_foreign_files_are_all_accounted_for() {
    let world = World::with(&["home/.claude/tools/real.ts"]);
    for i in 0..10_000 {
        fs::write(world.path(&format!("home/.claude/tools/data{i}.bin")), "").expect("a file");
    }
    let scan = world.scan();
    assert_eq!(scan.candidates.len(), 1);
    let ignored = scan
        .looked_at
        .iter()
        .filter(|l| matches!(l.verdict, Verdict::Ignored { .. }));
    assert_eq!(ignored.count(), 10_000);
}
