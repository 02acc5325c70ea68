//! Cost of a child process of haft's `process` module, compared with the least that Rust can do for
//! the same job.
//!
//! Both sides of a pair are in this program, so that they start from the same parent.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haft_process::{End, Exit, Finished, Keep, Spawn};
use tokio_util::sync::CancellationToken;

use crate::{bare_mean, mean};

/// Input of the tool: an argument object of common size.
const INPUT: &[u8] = br#"{"question":"how does one find the files that nobody reads","limit":10}"#;

const GRACE: Duration = Duration::from_millis(200);

pub async fn run(words: &[&str]) -> Option<Duration> {
    let took = match words {
        // In a task, as every surface does it; the main thread would have to be woken by another
        // thread.
        ["call"] => tokio::spawn(mean(call)).await.expect("no call panics"),
        ["bare-call"] => bare_mean(bare_call),
        ["drain", megabytes] => tokio::spawn(drain(bytes(megabytes)))
            .await
            .expect("it does not panic"),
        ["bare-drain", megabytes] => bare_drain(bytes(megabytes)),
        ["stop"] => stop().await,
        ["bare-stop"] => bare_stop(),
        _ => return None,
    };
    Some(took)
}

/// Runs the smallest possible tool: it answers with its input.
async fn call() {
    let spawn = Spawn {
        stdin: haft_process::Stdin::Bytes(INPUT.to_vec()),
        deadline: Some(Duration::from_secs(30)),
        ..Spawn::new("cat", [""; 0])
    };
    let finished = finished(spawn).await;
    assert_eq!(finished.end, End::Exited(0));
    assert_eq!(finished.stdout.bytes, INPUT);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the peer is what one would do without haft"
)]
fn bare_call() {
    let mut child = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("`cat` is on every machine");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    stdin.write_all(INPUT).expect("it fits into the pipe");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(output.stdout, INPUT);
}

async fn drain(bytes: u64) -> Duration {
    let kept = 1 << 19;
    let spawn = Spawn {
        stdout: Keep::Head(kept),
        ..flood(bytes)
    };
    let started = Instant::now();
    let finished = finished(spawn).await;
    let took = started.elapsed();
    assert_eq!(finished.stdout.dropped, bytes - kept as u64);
    took
}

/// Reads like `cat >/dev/null`: into one buffer, without keeping the data.
#[expect(
    clippy::disallowed_methods,
    reason = "the peer is what one would do without haft"
)]
fn bare_drain(bytes: u64) -> Duration {
    let started = Instant::now();
    let mut child = Command::new("head")
        .args(["-c", &bytes.to_string(), "/dev/zero"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("`head` is on every machine");
    let mut stdout = child.stdout.take().expect("it is a pipe");
    let mut buffer = vec![0; 128 * 1024];
    let mut seen = 0;
    while let count @ 1.. = stdout.read(&mut buffer).expect("it can be read") {
        seen += count as u64;
    }
    assert!(child.wait().expect("it ends").success());
    let took = started.elapsed();
    assert_eq!(seen, bytes);
    took
}

/// Measures the time that a stop takes beyond the grace period, for a program that ignores the
/// signal and has children.
async fn stop() -> Duration {
    let cancel = CancellationToken::new();
    let spawn = Spawn {
        grace: GRACE,
        ..Spawn::new("sh", ["-c", DEAF])
    };
    let mut child = spawn
        .start(&cancel)
        .await
        .expect("`sh` is on every machine");
    child.next().await.expect("it says that it is ready");
    let asked = Instant::now();
    cancel.cancel();
    let finished = child.wait().await;
    let took = asked.elapsed();
    assert_eq!(finished.end, End::Cancelled(Some(Exit::Signal(9))));
    took.checked_sub(GRACE).expect("not before the grace")
}

/// Kills the program alone, and waits for it.
#[expect(
    clippy::disallowed_methods,
    reason = "the peer is what one would do without haft"
)]
fn bare_stop() -> Duration {
    let mut child = Command::new("sh")
        .args(["-c", "echo ready; exec sleep 600"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("`sh` is on every machine");
    let mut stdout = child.stdout.take().expect("it is a pipe");
    stdout
        .read_exact(&mut [0])
        .expect("it says that it is ready");
    let asked = Instant::now();
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    asked.elapsed()
}

const DEAF: &str = "trap '' TERM; (setsid sleep 600 &); sleep 600 & echo ready; sleep 600";

fn flood(bytes: u64) -> Spawn {
    Spawn::new("head", ["-c", &bytes.to_string(), "/dev/zero"])
}

async fn finished(spawn: Spawn) -> Finished {
    let cancel = CancellationToken::new();
    spawn
        .run(&cancel)
        .await
        .expect("the program is on every machine")
}

fn bytes(megabytes: &str) -> u64 {
    megabytes.parse::<u64>().expect("a number of megabytes") * 1_000_000
}
