//! Measures the cost of the sandbox: the start of `true` with and without it, and one measurement
//! of a tree's memory.
//!
//! `cargo run --release -p haft-process --example sandbox_cost`

use std::time::{Duration, Instant};

use haft_process::Spawn;
use haft_process::sandbox::{Access, Net, Sandbox, SandboxPolicy, tree_memory};
use tokio_util::sync::CancellationToken;

const PAIRS: usize = 200;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = std::env::current_dir().expect("it is there");
    let policy = SandboxPolicy {
        read: Access::Paths(vec![folder.clone()]),
        write: Access::Paths(vec![folder]),
        execute: Access::All,
        net: Net::Ports(vec![8080]),
        private_tmp: true,
        ..SandboxPolicy::default()
    };
    let started = Instant::now();
    let sandbox = Sandbox::new(&policy.with_system_files()).expect("the kernel has it");
    println!(
        "a new sandbox ({}): {:?}",
        sandbox.layers(),
        started.elapsed()
    );

    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        without.push(start(None).await);
        with.push(start(Some(&sandbox)).await);
    }
    let (without, with) = (summary(without), summary(with));
    println!("{PAIRS} starts of `true`, in turn: minimum, median");
    println!("without: {:?}, {:?}", without.0, without.1);
    println!("with:    {:?}, {:?}", with.0, with.1);

    let own = i32::try_from(std::process::id()).expect("a process number");
    let times = (0..PAIRS).map(|_| {
        let started = Instant::now();
        tree_memory(own);
        started.elapsed()
    });
    let (minimum, median) = summary(times.collect());
    println!("memory of a tree of one process: {minimum:?}, {median:?}");
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
