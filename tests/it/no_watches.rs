//! A machine whose kernel has no inotify watches left: haft reports it and polls the files instead.
//!
//! The tests set the kernel's real limits in a user namespace, so they affect no other program.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::sandbox::Sandbox;

const TOOL: &str = "home/.omp/agent/tools/greet.ts";

fn module(description: &str) -> String {
    format!(
        "export default () => ({{ name: 'greet', description: '{description}', \
         parameters: {{ type: 'object' }}, execute: async () => ({{ content: [] }}) }});\n"
    )
}

/// `haft watch --json` with the kernel limit `limit` set to `most`.
struct Watch {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    fn start(sandbox: &Sandbox, limit: &str, most: u32) -> Watch {
        let haft = sandbox.haft();
        let mut command = limited(sandbox.command("unshare"), limit, most);
        command.arg(haft.get_program());
        let mut child = command
            .args(["watch", "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("`unshare` is on every machine with Linux");
        let stdout = child.stdout.take().expect("it is piped");
        Watch {
            child,
            lines: BufReader::new(stdout).lines(),
        }
    }

    fn next(&mut self) -> Value {
        let line = self.lines.next().expect("it goes on").expect("it is text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a watch of one tool with that limit; returns its first line.
fn watch_where(limit: &str, most: u32) -> (Sandbox, Watch, Value) {
    let sandbox = Sandbox::with_home();
    sandbox.write(TOOL, &module("one"));
    let mut watch = Watch::start(&sandbox, limit, most);
    let ready = watch.next();
    (sandbox, watch, ready)
}

/// Runs what is added to it in a user namespace with that limit.
fn limited(mut unshare: Command, limit: &str, most: u32) -> Command {
    let script = format!("echo {most} > /proc/sys/user/{limit} && exec \"$@\"");
    unshare.args(["--user", "--map-root-user", "sh", "-c", &script, "sh"]);
    unshare
}

fn warnings(ready: &Value) -> Vec<&str> {
    let problems = ready["problems"].as_array().expect("a list");
    let messages = problems.iter().map(|problem| &problem["message"]);
    messages.filter_map(Value::as_str).collect()
}

fn a_change_is_found(sandbox: &Sandbox, watch: &mut Watch) {
    sandbox.write(TOOL, &module("other"));
    let reload = watch.next();
    assert_eq!(reload["event"], "reload", "{reload}");
    assert_eq!(reload["changed"], serde_json::json!(["greet"]), "{reload}");
}

#[test]
fn where_no_folder_can_be_watched_the_files_are_looked_at() {
    let (sandbox, mut watch, ready) = watch_where("max_inotify_watches", 0);
    let why = "changes of files cannot be watched: the limit of watched folders is reached";
    assert_eq!(warnings(&ready), [why]);
    let hint = ready["problems"][0]["hint"].as_str().expect("a way out");
    assert!(hint.contains("every 2 s"), "{hint}");
    assert!(hint.contains("fs.inotify.max_user_watches"), "{hint}");
    a_change_is_found(&sandbox, &mut watch);
}

#[test]
fn where_nothing_can_watch_the_files_are_looked_at() {
    let (sandbox, mut watch, ready) = watch_where("max_inotify_instances", 0);
    let [warning] = warnings(&ready)[..] else {
        panic!("{ready}");
    };
    assert!(
        warning.starts_with("changes of files cannot be watched: "),
        "{warning}"
    );
    a_change_is_found(&sandbox, &mut watch);
}

/// The limit is reached in the middle: the folders that are already watched are polled, too.
#[test]
fn a_limit_that_is_reached_later_is_reported_like_one_from_the_start() {
    let (sandbox, mut watch, ready) = watch_where("max_inotify_watches", 2);
    assert_eq!(warnings(&ready).len(), 1, "{ready}");
    a_change_is_found(&sandbox, &mut watch);
}
