//! Keeps a run: `benches/runs/<date>-<machine>/` with the versions, the machine and every
//! measurement.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use super::measure::Plan;
use super::peer::Peer;
use super::table::Table;
use crate::command;
use crate::error::{During, Result};

/// Facts that a reader needs to repeat or question a run.
pub struct About {
    date: String,
    machine: String,
    lines: Vec<(&'static str, String)>,
}

impl About {
    pub fn look(
        root: &Path,
        haft: &Path,
        peer: &Peer,
        plan: &Plan,
        machine: Option<String>,
    ) -> Result<Self> {
        let says =
            |command: &mut Command| command::output(command).map(|text| text.trim().to_owned());
        let mut commit = Command::new("git");
        commit
            .current_dir(root)
            .args(["describe", "--always", "--dirty"]);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let lines = vec![
            ("haft", says(Command::new(haft).arg("--version"))?),
            ("commit", says(&mut commit)?),
            ("rustc", says(Command::new("rustc").arg("--version"))?),
            ("bun", says(Command::new(&peer.bun).arg("--version"))?),
            ("zod", peer.zod.clone()),
            ("express", peer.express.to_owned()),
            ("node", says(Command::new(&peer.node).arg("--version"))?),
            ("processor", format!("{}, {cores} cores", processor())),
            ("system", says(Command::new("uname").arg("-srm"))?),
            (
                "runs",
                format!(
                    "{} of each after {} to warm up, in turn",
                    plan.runs, plan.warm_up
                ),
            ),
        ];
        Ok(Self {
            date: says(Command::new("date").arg("+%Y-%m-%d"))?,
            machine: machine.unwrap_or_else(|| {
                format!(
                    "{}-{}-{cores}-cores",
                    std::env::consts::OS,
                    std::env::consts::ARCH
                )
            }),
            lines,
        })
    }

    fn readme(&self, table: &Table) -> String {
        let mut text = format!(
            "# {} on {}\n\n`cargo xtask bench --record`\n\n",
            self.date, self.machine
        );
        text += &table.text();
        text += "\n\nMedians and minima of the time; medians of the peak memory. Every run is in `raw.csv`.\n\n";
        for (what, value) in &self.lines {
            text += &format!("- {what}: {value}\n");
        }
        text
    }
}

pub fn write(root: &Path, about: &About, table: &Table) -> Result<()> {
    let folder = root
        .join("benches/runs")
        .join(format!("{}-{}", about.date, about.machine));
    let doing = || format!("write to `{}`", folder.display());
    fs::create_dir_all(&folder).during(doing)?;
    fs::write(folder.join("README.md"), about.readme(table)).during(doing)?;
    fs::write(folder.join("raw.csv"), table.csv()).during(doing)?;
    eprintln!("recorded in {}", folder.display());
    Ok(())
}

fn processor() -> String {
    let table = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = table.lines().find(|line| line.starts_with("model name"));
    name.and_then(|line| line.split_once(": ")).map_or_else(
        || std::env::consts::ARCH.to_owned(),
        |(_, name)| name.to_owned(),
    )
}
