//! Cost of one call for an embedding program: the median of sequential calls, or the mean of many
//! concurrent calls.
//!
//! `calls MODULE TOOL ARGUMENTS EXPECT IN_FLIGHT`. A call with an unexpected answer is an error,
//! never a measurement.

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::stream::{FuturesUnordered, StreamExt};
use haft::{Call, Flags, Host};
use serde_json::value::RawValue;

use crate::user;

/// V8 compiles in stages; after so many calls the last stage is done.
const WARM_UP: usize = 5_000;
const CALLS: usize = 30_000;

struct Bench {
    host: Host,
    tool: String,
    arguments: Box<RawValue>,
    expect: String,
}

pub async fn run(words: &[&str]) -> ExitCode {
    let &[module, tool, arguments, expect, in_flight] = words else {
        eprintln!(
            "usage: host calls MODULE TOOL ARGUMENTS EXPECT IN_FLIGHT (see `cargo xtask bench`)"
        );
        return ExitCode::from(2);
    };
    let bench = Bench {
        host: host(module),
        tool: tool.to_owned(),
        arguments: RawValue::from_string(arguments.to_owned()).expect("the arguments are JSON"),
        expect: expect.to_owned(),
    };
    let in_flight: usize = in_flight.parse().expect("a number of calls");
    let took = match in_flight {
        1 => bench.one_by_one().await,
        many => bench.at_once(many).await,
    };
    println!("{:.2}", took.as_secs_f64() * 1e6);
    bench.host.shutdown().await;
    ExitCode::SUCCESS
}

/// Returns a host whose only tools are those of `module`.
fn host(module: &str) -> Host {
    let here = env::current_dir().expect("there is a current directory");
    let flags = Flags {
        tools: vec![module.to_owned()],
        ..Flags::default()
    };
    user::host(&here.join("home"), &here, flags)
}

impl Bench {
    async fn one_by_one(&self) -> Duration {
        for number in 0..WARM_UP {
            self.call(number).await;
        }
        let mut took = Vec::with_capacity(CALLS);
        for number in 0..CALLS {
            let started = Instant::now();
            self.call(number).await;
            took.push(started.elapsed());
        }
        took.sort_unstable();
        took[CALLS / 2]
    }

    async fn at_once(&self, in_flight: usize) -> Duration {
        self.pipeline(in_flight, WARM_UP).await;
        let started = Instant::now();
        self.pipeline(in_flight, CALLS).await;
        started.elapsed() / u32::try_from(CALLS).expect("a small number")
    }

    async fn pipeline(&self, in_flight: usize, calls: usize) {
        let mut running = FuturesUnordered::new();
        for number in 0..calls {
            if running.len() == in_flight {
                running.next().await;
            }
            running.push(self.call(number));
        }
        while running.next().await.is_some() {}
    }

    async fn call(&self, number: usize) {
        let call = Call {
            id: format!("call-{number}"),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
        };
        let outcome = self.host.call(call, None).outcome().await;
        let text = outcome.expect("the tool can be run").text();
        assert_eq!(text, self.expect, "the tool answered something else");
    }
}
