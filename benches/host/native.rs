//! Cost of a call to an embedder's own tool, compared with a program that reads the arguments and
//! calls the same closure.
//!
//! `native [bare-]call`: the median of sequential calls.

use std::time::{Duration, Instant};

use haft::config::Env;
use haft::{CustomTool, Host, Tier};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{median, user};

const CALLS: usize = 100_000;
const ARGUMENTS: &str = r#"{"text":"hello","times":1}"#;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
    times: u8,
}

async fn echo(asked: Echo) -> Result<String, String> {
    Ok(asked.text.repeat(asked.times.into()))
}

pub async fn run(words: &[&str]) -> Option<Duration> {
    match words {
        ["call"] => Some(calls().await),
        ["bare-call"] => Some(bare_calls().await),
        _ => None,
    }
}

async fn calls() -> Duration {
    let here = std::env::current_dir().expect("there is a current directory");
    let env = Env {
        home: Some(here.join("home")),
        current_dir: Some(here),
        ..Env::default()
    };
    let tool = CustomTool::new("echo", "", async |asked: Echo, _| echo(asked).await);
    let builder = Host::builder().env(env).without_discovery();
    let host = builder.tool(tool.approval(Tier::Read)).build();
    let host = host.expect("a configuration");
    let arguments = user::json(ARGUMENTS);
    let mut took = Vec::with_capacity(CALLS);
    for number in 0..CALLS {
        let call = user::call(number, "echo", &arguments);
        let started = Instant::now();
        let outcome = host.call(call, None).outcome().await;
        took.push(started.elapsed());
        assert_eq!(outcome.expect("it runs").text(), "hello");
    }
    host.shutdown().await;
    median(took)
}

async fn bare_calls() -> Duration {
    let mut took = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let started = Instant::now();
        let asked: Echo = serde_json::from_str(ARGUMENTS).expect("it fits");
        let answer = echo(asked).await;
        took.push(started.elapsed());
        assert_eq!(answer.as_deref(), Ok("hello"));
    }
    median(took)
}
