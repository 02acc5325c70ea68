//! Cost of one call for an embedding program: the median of sequential calls, or the mean of many
//! concurrent calls.
//!
//! `calls MODULE TOOL ARGUMENTS EXPECT IN_FLIGHT`

use std::time::{Duration, Instant};

use futures::stream::{FuturesUnordered, StreamExt};
use haft::{Flags, Host};
use serde_json::value::RawValue;

use crate::{median, user};

/// V8 compiles in stages; after so many calls the last stage is done.
const WARM_UP: usize = 5_000;
const CALLS: usize = 30_000;

struct Bench {
    host: Host,
    tool: String,
    arguments: Box<RawValue>,
    expect: String,
}

pub async fn run(words: &[&str]) -> Option<Duration> {
    let &[module, tool, arguments, expect, in_flight] = words else {
        return None;
    };
    let bench = Bench {
        host: user::host_of(module, Flags::default()),
        tool: tool.to_owned(),
        arguments: user::json(arguments),
        expect: expect.to_owned(),
    };
    let took = match in_flight.parse().expect("a number of calls") {
        1 => bench.one_by_one().await,
        many => bench.at_once(many).await,
    };
    bench.host.shutdown().await;
    Some(took)
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
        median(took)
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
        let call = user::call(number, &self.tool, &self.arguments);
        let outcome = self.host.call(call, None).outcome().await;
        let text = outcome.expect("the tool can be run").text();
        assert_eq!(text, self.expect, "the tool answered something else");
    }
}
