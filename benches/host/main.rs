//! The only bench program that links V8; `cargo xtask bench` runs it beside the peers.
//!
//! One file per subject; the first argument selects it. Each returns the time of one repetition,
//! which is printed in microseconds as the last line. A job with an unexpected result is an error,
//! never a measurement.

#![allow(
    clippy::disallowed_macros,
    reason = "a program for measurements prints its own numbers"
)]

mod calls;
mod children;
mod mcp;
mod native;
mod reload;
mod render;
mod shell;
mod tools;
mod user;
mod web;

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Number of repetitions in [`mean`] and [`bare_mean`], each of which starts a process.
const REPETITIONS: u32 = 300;

fn main() -> ExitCode {
    haft::run_worker_process();
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    runtime.block_on(measure())
}

async fn measure() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (subject, words) = words.split_first().unwrap_or((&"", &[]));
    let took = match *subject {
        "calls" => calls::run(words).await,
        "children" => children::run(words).await,
        "mcp" => mcp::run(words),
        "native" => native::run(words).await,
        "reload" => reload::run(words).await,
        "render" => render::run(words).await,
        "shell" => shell::run(words).await,
        "tools" => tools::run(words).await,
        "web" => web::run(words).await,
        // Cargo itself passes `--bench`.
        _ => None,
    };
    let Some(took) = took else {
        eprintln!("usage: see `xtask/src/bench/cases.rs`, and run `cargo xtask bench`");
        return ExitCode::from(2);
    };
    println!("{:.2}", took.as_secs_f64() * 1e6);
    ExitCode::SUCCESS
}

/// Measures sequential repetitions, after a warm-up.
async fn mean<F: Future<Output = ()>>(job: impl Fn() -> F) -> Duration {
    for _ in 0..REPETITIONS / 10 {
        job().await;
    }
    let started = Instant::now();
    for _ in 0..REPETITIONS {
        job().await;
    }
    started.elapsed() / REPETITIONS
}

/// Measures a peer as [`mean`] does.
fn bare_mean(job: impl Fn()) -> Duration {
    for _ in 0..REPETITIONS / 10 {
        job();
    }
    let started = Instant::now();
    for _ in 0..REPETITIONS {
        job();
    }
    started.elapsed() / REPETITIONS
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
