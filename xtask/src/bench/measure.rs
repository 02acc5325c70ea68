//! Runs the two sides of a case alternately and takes the time and the peak memory of each process.
//!
//! The sides alternate and also change their order, so that other load on the machine affects both.
//! A run that did not do its job is an error, never a measurement.

use std::fs;
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4;

use super::cases::{Case, Reading};
use super::fixture::Fixture;
use super::table::{Row, Sample};
use crate::command;
use crate::error::{During, Error, Result};

pub struct Plan {
    pub warm_up: usize,
    pub runs: usize,
}

impl Plan {
    pub const FULL: Self = Self {
        warm_up: 3,
        runs: 20,
    };
    pub const QUICK: Self = Self {
        warm_up: 1,
        runs: 5,
    };
}

/// Measures the commands of haft and of its peer.
pub fn case(
    case: &Case,
    [haft, peer]: [&[String]; 2],
    plan: &Plan,
    fixture: &Fixture,
) -> Result<Row> {
    let mut row = Row::new(case.title);
    let sample = |command: &[String]| sample(command, case.expect, case.reading, fixture);
    for run in 0..plan.warm_up + plan.runs {
        if case.cold {
            forget(fixture)?;
        }
        let (haft, peer) = if run % 2 == 0 {
            let haft = sample(haft)?;
            (haft, sample(peer)?)
        } else {
            let peer = sample(peer)?;
            (sample(haft)?, peer)
        };
        if run >= plan.warm_up {
            row.haft.push(haft);
            row.peer.push(peer);
        }
    }
    Ok(row)
}

/// Empties the home, including all caches.
fn forget(fixture: &Fixture) -> Result<()> {
    let home = fixture.home();
    let doing = || format!("empty `{}`", home.display());
    fs::remove_dir_all(&home).during(doing)?;
    fs::create_dir(&home).during(doing)
}

/// Runs a command, which must print `expect`.
fn sample(words: &[String], expect: &str, reading: Reading, fixture: &Fixture) -> Result<Sample> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    clean(&mut command, fixture);
    let doing = || format!("run `{}`", words[0]);
    // Files, not pipes: a full pipe would block the process unless it is read meanwhile.
    let mut printed = tempfile::tempfile().during(doing)?;
    let mut complained = tempfile::tempfile().during(doing)?;
    command.stdout(printed.try_clone().during(doing)?);
    command.stderr(complained.try_clone().during(doing)?);
    let started = Instant::now();
    let child = command.spawn().during(doing)?;
    let ended = child.wait4().during(doing)?;
    let wall = started.elapsed();
    let output = text(&mut printed).during(doing)?;
    let did_it = output.contains(expect);
    if !ended.status.success() || !did_it {
        eprint!("{output}{}", text(&mut complained).during(doing)?);
    }
    if !ended.status.success() {
        return Err(command::failed(&command, ended.status));
    }
    if !did_it {
        let shown = command::display(&command);
        let what = format!("`{shown}` did not print `{expect}`");
        return Err(Error::unexpected(what));
    }
    Ok(Sample {
        took: match reading {
            Reading::Wall => wall,
            Reading::Said => said(&output)?,
        },
        peak_bytes: ended.rusage.maxrss,
    })
}

/// Gives the command an environment without the user's own tools and settings.
fn clean(command: &mut Command, fixture: &Fixture) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", fixture.home());
    command.current_dir(fixture.home()).stdin(Stdio::null());
}

fn text(file: &mut fs::File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Parses the last line as microseconds.
fn said(output: &str) -> Result<Duration> {
    let line = output.trim_end().lines().last().unwrap_or_default();
    let micros: f64 = line
        .trim()
        .parse()
        .map_err(|_| Error::unexpected(format!("`{line}` is not a number of microseconds")))?;
    Duration::try_from_secs_f64(micros / 1e6)
        .map_err(|_| Error::unexpected(format!("{micros} microseconds cannot be")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    fn fixture() -> (Fixture, tempfile::TempDir) {
        let modules = tempfile::tempdir().expect("a temporary folder");
        (Fixture::make(modules.path()).expect("made"), modules)
    }

    #[test]
    fn both_sides_give_as_many_samples_as_planned() {
        let (fixture, _modules) = fixture();
        let echo = Case {
            title: "echo",
            haft: "",
            peer: "",
            expect: "50",
            reading: Reading::Said,
            cold: true,
        };
        let sides = [&*sh("echo hello; echo 1500"), &*sh("echo 250.5")];
        let plan = Plan {
            warm_up: 1,
            runs: 2,
        };
        let row = case(&echo, sides, &plan, &fixture).expect("it runs");
        assert_eq!((row.haft.len(), row.peer.len()), (2, 2));
        assert_eq!(row.haft[0].took, Duration::from_micros(1500));
        assert!(
            row.haft[0].peak_bytes > 100 * 1024,
            "{}",
            row.haft[0].peak_bytes
        );
    }

    #[test]
    fn a_run_that_fails_or_answers_wrongly_is_no_number() {
        let (fixture, _modules) = fixture();
        for script in ["echo hello; exit 3", "echo goodbye"] {
            assert!(sample(&sh(script), "hello", Reading::Wall, &fixture).is_err());
        }
    }

    #[test]
    fn what_was_said_must_be_a_number() {
        assert_eq!(
            said("noise\n12.5\n").expect("a number"),
            Duration::from_nanos(12_500)
        );
        assert!(said("fast\n").is_err());
    }
}
