//! Cost of a call to an executable tool through the SDK, compared with a loop that starts the same
//! program and reads its output.
//!
//! `tools [bare-]call HOME TOOL`: an ikigai tool that answers with its input.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use haft::{Flags, Host};

use crate::{bare_mean, mean, user};

const INPUT: &str = r#"{"question":"how does one find the files that nobody reads","limit":10}"#;

pub async fn run(words: &[&str]) -> Option<Duration> {
    match words {
        ["call", home, tool] => {
            let home = Path::new(home);
            let (host, tool) = (user::host(home, home, Flags::default()), (*tool).to_owned());
            // In a task, as every surface does it.
            let calls =
                tokio::spawn(async move { mean(|| call(host.clone(), tool.clone())).await });
            Some(calls.await.expect("no call panics"))
        }
        ["bare-call", home, tool] => {
            let program = Path::new(home).join(".ikigai/tools").join(tool);
            Some(bare_mean(|| bare_call(&program)))
        }
        _ => None,
    }
}

async fn call(host: Host, tool: String) {
    let call = user::call(0, &tool, &user::json(INPUT));
    let outcome = host.call(call, None).outcome().await.expect("it runs");
    let expected = format!(r#"{{"tool_success":true,"result":{INPUT}}}"#);
    assert_eq!(outcome.text(), expected);
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
