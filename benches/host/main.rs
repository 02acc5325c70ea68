//! The only bench program that links V8; `cargo xtask bench` runs it beside the peers.
//!
//! One file per subject; the first argument selects it. Each prints the microseconds of one
//! repetition as its last line.

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

#[tokio::main]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["calls", rest @ ..] => calls::run(rest).await,
        ["children", rest @ ..] => children::run(rest).await,
        ["mcp", rest @ ..] => mcp::run(rest),
        ["native", rest @ ..] => native::run(rest).await,
        ["reload", rest @ ..] => reload::run(rest).await,
        ["render", rest @ ..] => render::run(rest).await,
        ["shell", rest @ ..] => shell::run(rest).await,
        ["tools", rest @ ..] => tools::run(rest).await,
        ["web", rest @ ..] => web::run(rest).await,
        // Cargo itself passes `--bench`.
        _ => {
            eprintln!(
                "usage: host calls|children|mcp|native|reload|render|shell|tools|web … (see `cargo xtask bench`)"
            );
            ExitCode::from(2)
        }
    }
}
