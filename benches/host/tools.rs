//! Cost of a call to an executable tool through the SDK, compared with a loop that starts the same
//! program and reads its output.
//!
//! `tools [bare-]call HOME TOOL`: an ikigai tool that answers with its input.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use haft::{Call, Flags, Host};
use serde_json::value::RawValue;

use crate::user;

const CALLS: u32 = 300;
const INPUT: &str = r#"{"question":"how does one find the files that nobody reads","limit":10}"#;

pub async fn run(words: &[&str]) -> ExitCode {
    let took = match words {
        ["call", home, tool] => {
            let home = Path::new(home);
            let (host, tool) = (user::host(home, home, Flags::default()), (*tool).to_owned());
            // In a task, as every surface does it.
            let calls = tokio::spawn(async move { calls(&host, &tool).await });
            calls.await.expect("no call panics")
        }
        ["bare-call", home, tool] => bare_calls(&Path::new(home).join(".ikigai/tools").join(tool)),
        _ => {
            eprintln!("usage: host tools [bare-]call HOME TOOL (see `cargo xtask bench`)");
            return ExitCode::from(2);
        }
    };
    println!("{:.2}", took.as_secs_f64() * 1e6);
    ExitCode::SUCCESS
}

async fn calls(host: &Host, tool: &str) -> Duration {
    for _ in 0..CALLS / 10 {
        call(host, tool).await;
    }
    let started = Instant::now();
    for _ in 0..CALLS {
        call(host, tool).await;
    }
    started.elapsed() / CALLS
}

async fn call(host: &Host, tool: &str) {
    let call = Call {
        id: "c".into(),
        tool: tool.to_owned(),
        arguments: RawValue::from_string(INPUT.to_owned()).expect("it is JSON"),
    };
    let outcome = host.call(call, None).outcome().await.expect("it runs");
    let expected = format!(r#"{{"tool_success":true,"result":{INPUT}}}"#);
    assert_eq!(outcome.text(), expected);
}

fn bare_calls(program: &Path) -> Duration {
    for _ in 0..CALLS / 10 {
        bare_call(program);
    }
    let started = Instant::now();
    for _ in 0..CALLS {
        bare_call(program);
    }
    started.elapsed() / CALLS
}

#[expect(
    clippy::disallowed_methods,
    reason = "the peer is what one would do without haft"
)]
fn bare_call(program: &Path) {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the bench wrote it");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    stdin
        .write_all(INPUT.as_bytes())
        .expect("it fits into the pipe");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(output.stdout, INPUT.as_bytes());
}
