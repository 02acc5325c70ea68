//! The cache of module descriptions: the cases that need several processes at a time, or a clock.
//!
//! All other cases are in `tests/specs/cache`.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::sandbox::Sandbox;

/// Enough processes to collide between reading and writing.
const PROCESSES: usize = 8;

fn module(name: &str) -> String {
    format!(
        "export default (pi) => ({{ name: \"{name}\", description: \"{name}\", \
         parameters: pi.zod.object({{}}), execute: () => ({{ content: [] }}) }});\n"
    )
}

fn started(mut command: Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("haft can be started")
}

/// Processes that fill the cache at once do not disturb one another, and leave no temporary files.
#[test]
fn many_processes_fill_the_cache_at_once() {
    let sandbox = Sandbox::with_home();
    for n in 0..PROCESSES {
        sandbox.write(&format!("tool_{n}.js"), &module(&format!("tool_{n}")));
    }
    let list = |from: usize| {
        let mut command = sandbox.haft();
        // Each of them has other modules.
        for n in from..PROCESSES {
            command.args(["--tool", &format!("tool_{n}.js")]);
        }
        command.args(["list", "--json"]);
        command
    };
    let running: Vec<_> = (0..PROCESSES).map(|from| started(list(from))).collect();
    for (from, child) in running.into_iter().enumerate() {
        let done = child.wait_with_output().expect("haft ends");
        let output = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{output}");
        assert_eq!(output.matches("\"name\":").count(), PROCESSES - from);
    }
    let folder = sandbox.path().join("home/.cache/haft/modules");
    let names: Vec<_> = fs::read_dir(&folder)
        .expect("the cache was made")
        .map(|entry| entry.expect("it can be listed").file_name())
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    // The last writer leaves a whole file, and one more run makes it complete.
    for expected in [None, Some(0)] {
        let log = started({
            let mut command = list(0);
            command.env("HAFT_LOG", "haft=debug");
            command
        });
        let done = log.wait_with_output().expect("haft ends");
        let log = String::from_utf8_lossy(&done.stderr);
        assert!(!log.contains("damaged"), "{log}");
        if let Some(isolates) = expected {
            assert_eq!(log.matches("an isolate starts").count(), isolates, "{log}");
        }
    }
}

/// Working directories do not share entries, and old entries are removed for new ones.
#[test]
fn the_cache_does_not_grow_without_end() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tool.js", &module("tool"));
    let folder = sandbox.path().join("home/.cache/haft/modules");
    fs::create_dir_all(&folder).expect("a directory of ours");
    for n in 0..100 {
        fs::write(folder.join(format!("{n:032x}.json")), "old").expect("a directory of ours");
    }
    let done = started({
        let mut command = sandbox.haft();
        command.args(["--tool", "tool.js", "list"]);
        command
    });
    assert!(done.wait_with_output().expect("haft ends").status.success());
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 64);
}
