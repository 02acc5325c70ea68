//! Cost of rendering a long result: from the JSON of the result to printable lines.
//!
//! `render MODULE`: a module with the tool `document`, which renders its result itself.

use std::process::ExitCode;
use std::time::Instant;

use haft::render::{Colors, RenderOptions, Screen};
use haft::{Call, Flags};
use serde_json::value::RawValue;

use crate::user;

/// V8 compiles in stages; after so many calls the last stage is done.
const WARM_UP: usize = 40;
const DRAWINGS: usize = 60;

const WIDTH: usize = 120;
const LEAST_LINES: usize = 10_000;

/// Limit up to which the caller gets a result whole. A longer result is cut and spilled to a file.
const WHOLE_KB: u32 = 16 << 10;

pub async fn run(words: &[&str]) -> ExitCode {
    let &[module] = words else {
        eprintln!("usage: host render MODULE (see `cargo xtask bench`)");
        return ExitCode::from(2);
    };
    let here = std::env::current_dir().expect("there is a current directory");
    let flags = Flags {
        tools: vec![module.to_owned()],
        spill_kb: Some(WHOLE_KB),
        ..Flags::default()
    };
    let host = user::host(&here.join("home"), &here, flags);
    let call = Call {
        id: "document".into(),
        tool: "document".into(),
        arguments: RawValue::from_string("{}".into()).expect("it is JSON"),
    };
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
    took.sort_unstable();
    println!("{:.2}", took[DRAWINGS / 2].as_secs_f64() * 1e6);
    host.shutdown().await;
    ExitCode::SUCCESS
}
