//! The system tools where a `session.txt` is not enough (ikigai 50, 51): signals, memory, other
//! users.
//!
//! Their answers are tested in `tests/specs/system`.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const PROGRAM: &str = env!("CARGO_BIN_EXE_haft-system-tools");

/// Timeout that a machine under load never reaches, and shorter than a leftover process would run.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts a call and sends its parameters.
fn start(mut command: Command, parameters: &Value) -> Child {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is built");
    let mut input = child.stdin.take().expect("it was asked for");
    let written = input.write_all(parameters.to_string().as_bytes());
    written.expect("parameters are read");
    child
}

fn tool(sandbox: &Sandbox, name: &str) -> Command {
    let mut command = sandbox.command(PROGRAM);
    command.arg(name);
    command
}

fn answer(child: Child) -> Value {
    let ended = child.wait_with_output().expect("it is a child of ours");
    assert!(ended.status.success(), "{ended:?}");
    serde_json::from_slice(&ended.stdout).expect("the answer is JSON")
}

fn call(sandbox: &Sandbox, name: &str, parameters: &Value) -> Value {
    answer(start(tool(sandbox, name), parameters))
}

#[test]
fn there_is_no_v8_in_it() {
    let size = |path: &str| fs::metadata(path).expect("it is built").len();
    assert!(size(PROGRAM) * 5 < size(env!("CARGO_BIN_EXE_haft")));
}

// ---- bash: its processes and their end.

#[test]
fn what_runs_in_the_background_holds_up_nothing_and_goes_on() {
    let sandbox = Sandbox::with_home();
    let started = Instant::now();
    let said = call(&sandbox, "bash", &json!({"command": "sleep 600 & echo $!"}));
    assert!(started.elapsed() < TEST_TIMEOUT);
    assert_eq!(said["exit_code"], 0);
    let pid = said["output"].as_str().and_then(|text| text.parse().ok());
    let pid = pid.and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, Signal::KILL).expect("it goes on until now");
}

#[test]
fn a_flood_in_the_background_ends_too() {
    let sandbox = Sandbox::with_home();
    let said = call(
        &sandbox,
        "bash",
        &json!({"command": "yes & echo started >&2"}),
    );
    assert_eq!(said["exit_code"], 0);
}

/// Starts a command that ignores signals and whose processes all hold `held` open, and stops it.
/// Then waits for the end of `held`, which comes when the last of them is gone.
fn leaves_nothing(stop: impl Fn(Pid)) {
    let sandbox = Sandbox::with_home();
    let held = sandbox.fifo("held");
    let mut command = tool(&sandbox, "bash");
    // haft starts it like this: as the leader of its group.
    command.process_group(0);
    let script = "exec 3>held; trap '' TERM; (echo up >&3; sleep 600); sleep 600";
    let mut child = start(command, &json!({"command": script}));
    let pid = Pid::from_child(&child);

    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(File::open(held).expect("the pipe was made"));
        let mut line = String::new();
        reader.read_line(&mut line).expect("it says that it is up");
        tell.send(line).expect("the test waits");
        let rest = reader.read_to_end(&mut Vec::new());
        tell.send(format!("ended: {}", rest.is_ok()))
            .expect("the test waits");
    });
    assert_eq!(told.recv_timeout(TEST_TIMEOUT).as_deref(), Ok("up\n"));
    stop(pid);
    let ended = told.recv_timeout(TEST_TIMEOUT);
    // Before the assertion, because a failure would leave them.
    let _ = kill_process_group(pid, Signal::KILL);
    child.wait().expect("it is a child of ours");
    assert_eq!(ended.as_deref(), Ok("ended: true"));
}

#[test]
fn a_tool_that_is_told_to_end_takes_its_command_along() {
    leaves_nothing(|tool| kill_process(tool, Signal::TERM).expect("it runs"));
    leaves_nothing(|tool| kill_process(tool, Signal::INT).expect("it runs"));
}

#[test]
fn killing_the_group_of_the_tool_kills_its_command() {
    leaves_nothing(|tool| kill_process_group(tool, Signal::KILL).expect("it runs"));
}

#[test]
fn a_tool_in_the_group_of_another_ends_its_command_and_not_the_other() {
    let sandbox = Sandbox::with_home();
    let script = "echo $$; printf '{\"command\": \"kill -TERM $PPID; sleep 600\"}' \
                  | haft-system-tools bash; echo \"ended with $?\"";
    let ran = sandbox.sh(script);
    let last = ran.output.lines().last();
    assert_eq!((last, ran.code), (Some("ended with 137"), 0));
}

// ---- Memory.

/// KiB of address space in which the program runs, less than the data has.
const LITTLE_MEMORY: &str = "ulimit -v 40000; ";

fn with_little_memory(sandbox: &Sandbox, tool: &str, parameters: &str) -> Value {
    let line = format!("{LITTLE_MEMORY} printf '%s' '{parameters}' | haft-system-tools {tool}");
    let ran = sandbox.sh(&line);
    assert_eq!(ran.code, 0, "{}", ran.output);
    serde_json::from_str(&ran.output).expect("the answer is JSON")
}

#[test]
fn memory_does_not_grow_with_the_data() {
    let sandbox = Sandbox::with_home();
    let made = sandbox.sh("yes 'one line of very many' | head -n 2500000 > big; echo last >> big");
    assert_eq!(made.code, 0);

    let last = r#"{"file_path": "big", "offset": 2500001}"#;
    assert_eq!(
        with_little_memory(&sandbox, "file-read", last),
        json!({"output": "last\n"})
    );
    let all = with_little_memory(&sandbox, "file-read", r#"{"file_path": "big"}"#);
    let text = all["output"].as_str().expect("a text");
    assert!(
        text.len() < 2 << 20 && text.ends_with("]"),
        "{}",
        text.len()
    );

    let found = with_little_memory(&sandbox, "grep", r#"{"pattern": "many", "path": "big"}"#);
    assert_eq!(found["count"], 2_500_000);
    let said = with_little_memory(&sandbox, "bash", r#"{"command": "cat big"}"#);
    let text = said["output"].as_str().expect("a text");
    assert!(text.starts_with("one line of very many\n") && text.ends_with("\nlast"));
}

// ---- Writing.

#[test]
fn a_reader_sees_the_old_file_or_the_new_one() {
    let sandbox = Sandbox::with_home();
    let contents = ["a", "b"].map(|letter| letter.repeat(1 << 20));
    let path = sandbox.write("file", &contents[0]);
    let writer = std::thread::spawn(move || {
        for content in contents.iter().cycle().take(20) {
            let parameters = json!({"file_path": "file", "content": content});
            assert_eq!(call(&sandbox, "file-write", &parameters)["bytes"], 1 << 20);
        }
        sandbox
    });
    let mut seen = 0;
    while !writer.is_finished() || seen == 0 {
        let content = fs::read(&path).expect("it is always there");
        assert_eq!(content.len(), 1 << 20);
        assert!(content.iter().all(|byte| *byte == content[0]));
        seen += 1;
    }
    drop(writer.join().expect("every call was answered"));
}

/// Runs the tool as a user that is bound by file permissions; root would bypass them.
fn as_user(sandbox: &Sandbox, user: Option<u32>, name: &str) -> Command {
    let Some(user) = user else {
        return tool(sandbox, name);
    };
    let program = sandbox.copy_program(PROGRAM, "haft-system-tools");
    let mut command = sandbox.command(program.to_str().expect("a temporary path is text"));
    command.arg(name).uid(user).gid(user);
    command
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a file of ours");
}

#[test]
fn permissions_decide_and_owners_stay() {
    let sandbox = Sandbox::with_home();
    let other = rustix::process::geteuid().is_root().then_some(65_534);
    let call =
        |name: &str, parameters: &Value| answer(start(as_user(&sandbox, other, name), parameters));
    allow(&sandbox.path(), 0o755);
    let file = sandbox.write("folder/file", "old");
    let folder = file.parent().expect("it is in a folder").to_owned();
    if let Some(other) = other {
        std::os::unix::fs::chown(&file, Some(other), Some(other)).expect("root may");
    }

    // The folder accepts no new file, so the old one is written in place.
    allow(&folder, 0o555);
    let inode = fs::metadata(&file).expect("there").ino();
    let write = json!({"file_path": "folder/file", "content": "new"});
    assert_eq!(call("file-write", &write)["bytes"], 3);
    assert_eq!(fs::metadata(&file).expect("there").ino(), inode);
    let made = call(
        "file-write",
        &json!({"file_path": "folder/other", "content": ""}),
    );
    assert_eq!(made["error_code"], "PERMISSION_DENIED");

    // The folder accepts a new file, but the old one is read-only.
    allow(&folder, 0o777);
    allow(&file, 0o444);
    assert_eq!(
        call("file-write", &write)["error_code"],
        "PERMISSION_DENIED"
    );
    let edit = json!({"file_path": "folder/file", "old_string": "new", "new_string": "edited"});
    assert_eq!(call("file-edit", &edit)["error_code"], "PERMISSION_DENIED");
    allow(&file, 0o000);
    let read = json!({"file_path": "folder/file"});
    let refused =
        json!({"error": "Permission denied: folder/file", "error_code": "PERMISSION_DENIED"});
    assert_eq!(call("file-read", &read), refused);

    // An unreadable file does not hide the matches in other files.
    sandbox.write("folder/readable", "edited here\n");
    let found = call("grep", &json!({"pattern": "edited", "path": "folder"}));
    assert_eq!(
        found,
        json!({"output": "folder/readable:1: edited here", "count": 1})
    );

    allow(&file, 0o640);
    let as_ourselves = tool(&sandbox, "file-edit");
    assert_eq!(answer(start(as_ourselves, &edit))["replacements"], 1);
    let edited = fs::metadata(&file).expect("there");
    assert_eq!(edited.mode() & 0o777, 0o640);
    let owner = other.unwrap_or_else(|| rustix::process::geteuid().as_raw());
    assert_eq!(edited.uid(), owner);
}
