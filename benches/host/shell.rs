//! Cost of YAML shell tools: loading many of them, one command, a hundred parallel steps.
//!
//! `shell load|parse FOLDER`: the processor time of loading every tool in the folder, beside that
//! of a YAML parser alone. `shell [bare-]call`, `shell [bare-]parallel`: beside bash itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haft::approval::ApprovalMode;
use haft::{Flags, Host};
use tempfile::TempDir;

use crate::{bare_mean, mean, user};

/// A typical command of a tool: a parameter and a pipe.
const COMMAND: &str = "printf '%s\\n' hello | tr a-z A-Z";
const ANSWER: &str = "HELLO\n";

const STEPS: usize = 100;

pub async fn run(words: &[&str]) -> Option<Duration> {
    let took = match words {
        ["load", folder] => load(Path::new(folder)).await,
        ["parse", folder] => parse(Path::new(folder)),
        // In a task, as every surface does it.
        ["call"] => tokio::spawn(calls()).await.expect("no call panics"),
        ["bare-call"] => bare_mean(|| assert_eq!(bash(COMMAND), ANSWER)),
        ["parallel"] => tokio::spawn(parallel()).await.expect("no call panics"),
        ["bare-parallel"] => bare_parallel(),
        _ => return None,
    };
    Some(took)
}

/// A host whose user has the tools of `folder`.
fn host(home: &Path) -> Host {
    let flags = Flags {
        approval_mode: Some(ApprovalMode::Yolo),
        ..Flags::default()
    };
    user::host(home, home, flags)
}

async fn load(home: &Path) -> Duration {
    let before = processor_time();
    let host = host(home);
    let catalog = host.catalog().await;
    let took = processor_time() - before;
    let files = files(home).len();
    assert_eq!((catalog.usable(), catalog.problems.len()), (files, 0));
    took
}

fn parse(home: &Path) -> Duration {
    let before = processor_time();
    for file in files(home) {
        let text = fs::read_to_string(file).expect("the bench wrote it");
        let tree: serde_json::Value = serde_saphyr::from_str(&text).expect("it is YAML");
        assert!(tree["description"].is_string());
    }
    processor_time() - before
}

fn files(home: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(home.join(".cycod/tools")).expect("the bench made it");
    entries
        .map(|entry| entry.expect("it is ours").path())
        .collect()
}

/// Returns the processor time of all threads. The first number of each line is in nanoseconds.
fn processor_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").expect("it is on every Linux");
    let nanos = threads.map(|thread| {
        let path = thread
            .expect("it is on every Linux")
            .path()
            .join("schedstat");
        // The file of a thread that has ended meanwhile is gone.
        let text = fs::read_to_string(path).unwrap_or_default();
        let first = text.split(' ').next().unwrap_or_default();
        first.parse::<u64>().unwrap_or_default()
    });
    Duration::from_nanos(nanos.sum())
}

async fn calls() -> Duration {
    let (_home, host) = with_tool(&format!("bash: {COMMAND}"));
    let job = || {
        let host = host.clone();
        async move { assert_eq!(call(&host).await, ANSWER) }
    };
    mean(job).await
}

async fn parallel() -> Duration {
    let step = |n| format!("  - {{name: s{n}, bash: sleep 1, parallel: true}}\n");
    let steps: String = (0..STEPS).map(step).collect();
    let (_home, host) = with_tool(&format!("steps:\n{steps}"));
    host.catalog().await;
    let started = Instant::now();
    assert_eq!(call(&host).await, "");
    started.elapsed()
}

fn bare_parallel() -> Duration {
    let started = Instant::now();
    let each = format!("for n in {{1..{STEPS}}}; do bash -c 'sleep 1' & done; wait");
    assert_eq!(bash(&each), "");
    started.elapsed()
}

fn with_tool(work: &str) -> (TempDir, Host) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = home.path().join(".cycod/tools");
    fs::create_dir_all(&folder).expect("it is ours");
    fs::write(folder.join("t.yaml"), format!("description: d\n{work}\n")).expect("it is ours");
    let host = host(home.path());
    (home, host)
}

async fn call(host: &Host) -> String {
    let call = user::call(0, "t", &user::json("{}"));
    let outcome = host.call(call, None).outcome().await.expect("it runs");
    assert!(!outcome.is_error, "{}", outcome.text());
    outcome.text()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the peer is what one would do without haft"
)]
fn bash(command: &str) -> String {
    let output = Command::new("bash")
        .args(["-c", command])
        .stdin(Stdio::null())
        .output()
        .expect("`bash` is on every machine");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("it is text")
}
