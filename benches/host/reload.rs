//! Time until the new code of a saved module can be called, among a hundred unchanged modules.
//!
//! `reload FILE…`: a copy of the first file is saved again and again. The wait until a change has
//! settled is not counted: it exists for people who save a file.

use std::path::Path;
use std::time::{Duration, Instant};

use haft::{Flags, Host};

use crate::{median, user};

const WARM_UP: usize = 10;
const RELOADS: usize = 60;

pub async fn run(files: &[&str]) -> Option<Duration> {
    let (first, others) = files.split_first()?;
    let text = std::fs::read_to_string(first).expect("the bench wrote it");
    // Beside the original, so that its imports are found.
    let saved = Path::new(first).with_file_name("saved_by_the_bench.ts");
    std::fs::write(&saved, &text).expect("the bench's own folder");
    let host = host(&saved, others);
    let tools = host.catalog().await.entries.len();
    assert_eq!(tools, files.len(), "every module has a tool");
    let mut took = Vec::new();
    for number in 0..WARM_UP + RELOADS {
        std::fs::write(&saved, format!("{text}\n// {number}\n")).expect("as above");
        let started = Instant::now();
        host.refresh().await;
        took.push(started.elapsed());
    }
    host.shutdown().await;
    let _ = std::fs::remove_file(saved);
    Some(median(took.split_off(WARM_UP)))
}

fn host(saved: &Path, others: &[&str]) -> Host {
    let here = saved.parent().expect("it is in a folder");
    let mut tools = vec![saved.display().to_string()];
    tools.extend(others.iter().map(|&other| other.to_owned()));
    let flags = Flags {
        tools,
        ..Flags::default()
    };
    user::host(&here.join("home"), here, flags)
}
