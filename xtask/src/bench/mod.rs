//! `cargo xtask bench`: haft beside npm's `bun` on the same modules, in one run on one machine.
//!
//! Bun is bare: a script that imports the modules and calls their factories, without discovery,
//! schemas or isolation. It is a lower bound, not a product with the same features. haft's handling
//! of child processes is compared with the least that Rust can do.

mod cases;
mod fixture;
mod measure;
mod peer;
mod record;
mod table;

use std::path::PathBuf;

use clap::Args;

use crate::error::{Error, Result};
use crate::{command, programs, workspace};
use cases::{CASES, Programs};
use measure::Plan;
use table::Table;

/// Measure haft beside `bun`: start, list, call, `pi.exec`, and the memory of each.
#[derive(Args)]
pub struct Bench {
    /// Fewer runs, for a first look.
    #[arg(long)]
    quick: bool,

    /// Print the numbers as JSON instead of a table.
    #[arg(long)]
    json: bool,

    /// Only the cases whose titles contain this; may be repeated.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,

    /// Keep the numbers in `benches/runs/<date>-<machine>/`.
    #[arg(long)]
    record: bool,

    /// Name of this machine in the record.
    #[arg(long, value_name = "NAME", requires = "record")]
    machine: Option<String>,

    /// Measure this program instead of a release build of the checkout.
    #[arg(long, value_name = "PATH")]
    haft: Option<PathBuf>,
}

impl Bench {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let target = workspace::target_dir(&root)?;
        let haft = workspace::program(self.haft.as_deref(), || programs::build_haft(true))?;
        let peer = peer::install(&root, &target.join("bench/peer"))?;
        let fixture = fixture::Fixture::make(&peer.modules)?;
        let host = build_bench(&root)?;
        let programs = Programs {
            haft: &haft,
            host: &host,
            bun: &peer.bun,
            node: &peer.node,
            python: &peer.python,
        };
        let plan = if self.quick { Plan::QUICK } else { Plan::FULL };

        let mut table = Table::default();
        let mut failed = Vec::new();
        for case in CASES {
            if !self.only.is_empty() && !self.only.iter().any(|word| case.title.contains(word)) {
                continue;
            }
            let sides = [case.haft, case.peer].map(|side| cases::words(side, &programs, &fixture));
            eprintln!("measuring {}", case.title);
            match measure::case(case, [&sides[0], &sides[1]], &plan, &fixture) {
                Ok(row) => table.rows.push(row),
                Err(error) => {
                    // The other cases are still measured and kept.
                    eprintln!("{error}");
                    failed.push(case.title);
                }
            }
        }
        if self.json {
            println!("{}", table.json());
        } else {
            println!("{}", table.text());
        }
        if self.record {
            let about = record::About::look(&root, &haft, &peer, &plan, self.machine)?;
            record::write(&root, &about, &table)?;
        }
        match failed.as_slice() {
            [] => Ok(()),
            titles => {
                let titles = titles.join("; ");
                Err(Error::unexpected(format!("not measured: {titles}")))
            }
        }
    }
}

/// Builds `benches/host`; only cargo knows the name of the program.
fn build_bench(root: &std::path::Path) -> Result<PathBuf> {
    let mut cargo = command::cargo(root);
    cargo.args(["build", "--release", "--package", "haft"]);
    cargo.args(["--bench", "host", "--message-format=json"]);
    command::show(&cargo);
    let messages = command::output(&mut cargo)?;
    let built = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "host")
        .find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
    built.ok_or_else(|| Error::unexpected("cargo built no program from `benches/host`"))
}
