//! Cost of rendering a long result: from the JSON of the result to printable lines.
//!
//! `render MODULE`: a module with the tool `document`, which renders its result itself.

use std::time::{Duration, Instant};

use haft::Flags;
use haft::render::{Colors, RenderOptions, Screen};

use crate::{median, user};

/// V8 compiles in stages; after so many calls the last stage is done.
const WARM_UP: usize = 40;
const DRAWINGS: usize = 60;

const WIDTH: usize = 120;
const LEAST_LINES: usize = 10_000;

/// Limit up to which the caller gets a result whole. A longer result is cut and spilled to a file.
const WHOLE_KB: u32 = 16 << 10;

pub async fn run(words: &[&str]) -> Option<Duration> {
    let &[module] = words else {
        return None;
    };
    let flags = Flags {
        spill_kb: Some(WHOLE_KB),
        ..Flags::default()
    };
    let host = user::host_of(module, flags);
    let call = user::call(0, "document", &user::json("{}"));
    let outcome = host.call(call.clone(), None).outcome().await;
    let result = outcome.expect("the tool can be run").as_result();
    let look = RenderOptions {
        screen: Screen {
            colors: Colors::Indexed,
            ..Screen::PLAIN
        },
        ..RenderOptions::plain(WIDTH)
    };
    let mut took = Vec::with_capacity(DRAWINGS);
    for number in 0..WARM_UP + DRAWINGS {
        let started = Instant::now();
        let drawn = host.render_result(&call, &result, &look).await;
        let elapsed = started.elapsed();
        let drawn = drawn.expect("there is such a tool");
        // The host's own rendering would be faster.
        assert!(
            drawn.is_own && drawn.lines.len() > LEAST_LINES,
            "{:?}",
            drawn.problem
        );
        if number >= WARM_UP {
            took.push(elapsed);
        }
    }
    host.shutdown().await;
    Some(median(took))
}
