//! Measures the cost of the sandbox: the start of `true` without it, with it, and with namespaces in
//! addition; and one measurement of a tree's memory.
//!
//! `cargo run --release -p haft-process --example sandbox_cost`

#![allow(
    clippy::disallowed_macros,
    reason = "a program for measurements prints its own numbers"
)]

use std::time::{Duration, Instant};

use haft_process::sandbox::{Access, Net, Sandbox, SandboxPolicy, tree_memory};
use haft_process::{GrantedPath, Spawn};
use tokio_util::sync::CancellationToken;

const PAIRS: usize = 200;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = std::env::current_dir().expect("it is there");
    let folder = GrantedPath::without_links(&folder).expect("the system gives real paths");
    let policy = SandboxPolicy {
        read: Access::Paths(vec![folder.clone()]),
        write: Access::Paths(vec![folder]),
        execute: Access::All,
        net: Net::None,
        private_tmp: true,
        ..SandboxPolicy::default()
    };
    let policy = policy.with_system_files();
    // A policy with unix sockets has no namespaces.
    let shared = SandboxPolicy {
        unix_sockets: true,
        ..policy.clone()
    };
    let shared = made(&shared);
    let first = made(&policy);
    // The first one also makes what all of them share.
    let own = made(&policy);
    drop(first);

    let cases = [None, Some(&shared), Some(&own)];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..PAIRS {
        for (sandbox, times) in cases.iter().zip(&mut times) {
            times.push(start(*sandbox).await);
        }
    }
    println!("{PAIRS} starts of `true`, in turn: minimum, median");
    for (name, times) in ["without", "with", "with namespaces"].iter().zip(times) {
        let (minimum, median) = summary(times);
        println!("{name:16} {minimum:?}, {median:?}");
    }

    let own = i32::try_from(std::process::id()).expect("a process number");
    let times = (0..PAIRS).map(|_| {
        let started = Instant::now();
        tree_memory(own);
        started.elapsed()
    });
    let (minimum, median) = summary(times.collect());
    println!("memory of a tree of one process: {minimum:?}, {median:?}");
}

fn made(policy: &SandboxPolicy) -> Sandbox {
    let started = Instant::now();
    let sandbox = Sandbox::new(policy).expect("the kernel has it");
    let time = started.elapsed();
    println!("a new sandbox ({}): {time:?}", sandbox.layers());
    sandbox
}

async fn start(sandbox: Option<&Sandbox>) -> Duration {
    let spawn = Spawn {
        sandbox: sandbox.cloned(),
        ..Spawn::new("true", [""; 0])
    };
    let started = Instant::now();
    let finished = spawn.run(&CancellationToken::new()).await;
    let time = started.elapsed();
    assert_eq!(finished.expect("it starts").end.shell_code(), 0);
    time
}

fn summary(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[0], times[times.len() / 2])
}
