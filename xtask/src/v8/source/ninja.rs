//! Runs ninja with a progress bar and a log; ninja itself continues an interrupted build.
//!
//! When its output is not a terminal, ninja starts a line with `[done/all]` for every step. All
//! other lines are compiler output, which only goes to the log.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use indicatif::{ProgressBar, ProgressStyle};

use crate::command;
use crate::error::{During, Error, Result};
use crate::machine;

/// Number of steps between two progress lines when no terminal shows the bar.
const TOLD_EVERY: u64 = 50;

/// Number of log lines that a failure shows.
const SHOWN: usize = 25;
const WIDTH: usize = 200;

/// Builds `goal` in `out` and writes all output to `log`. Returns the number of steps.
pub fn build(out: &Path, goal: &str, log: &Path) -> Result<u64> {
    let mut ninja = Command::new("ninja");
    ninja
        .arg("-C")
        .arg(out)
        .arg("-j")
        .arg(machine::jobs().to_string())
        .arg(goal);
    command::show(&ninja);
    follow(&mut ninja, log)
}

fn follow(ninja: &mut Command, log: &Path) -> Result<u64> {
    let writing = || format!("write `{}`", log.display());
    let mut file = File::create(log).during(writing)?;
    let mut child = ninja
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(file.try_clone().during(writing)?)
        .spawn()
        .during(|| "start `ninja`".into())?;
    let output = child.stdout.take().expect("its output was asked for");
    let bar = bar();
    for line in BufReader::new(output).split(b'\n') {
        let line = line.during(|| "read what ninja says".into())?;
        let line = String::from_utf8_lossy(&line);
        writeln!(file, "{line}").during(writing)?;
        if let Some(step) = Step::read(&line) {
            bar.set_length(step.all);
            bar.set_position(step.done);
            bar.set_message(step.what.to_owned());
            if bar.is_hidden() && step.done % TOLD_EVERY == 0 {
                eprintln!("  {} of {} steps", step.done, step.all);
            }
        }
    }
    let status = child.wait().during(|| "wait for ninja".into())?;
    let steps = bar.position();
    bar.finish_and_clear();
    if status.success() {
        return Ok(steps);
    }
    show_end(log)?;
    Err(Error::Command {
        command: command::display(ninja),
        ended: status.to_string(),
        hint: Some(format!(
            "the whole log is `{}`; running the same command again goes on from here",
            log.display()
        )),
    })
}

fn bar() -> ProgressBar {
    let template = "{bar:30} {pos}/{len} steps, {elapsed} so far, about {eta} to go  {wide_msg}";
    let style = ProgressStyle::with_template(template).expect("the template is right");
    ProgressBar::new(0).with_style(style)
}

fn show_end(log: &Path) -> Result<()> {
    let text = fs::read(log).during(|| format!("read `{}`", log.display()))?;
    for line in telling(&String::from_utf8_lossy(&text), SHOWN) {
        // A compiler's command line alone would fill the screen.
        eprintln!("  {}", line.chars().take(WIDTH).collect::<String>());
    }
    Ok(())
}

/// Returns the lines from the first failed step on, or the last lines if no step failed.
fn telling(text: &str, count: usize) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let failed = lines.iter().position(|line| line.starts_with("FAILED: "));
    let start = failed.unwrap_or(lines.len().saturating_sub(count));
    lines.into_iter().skip(start).take(count).collect()
}

/// One finished step, in ninja's format: `[12/956] CXX obj/v8/api.o`.
#[derive(Debug, PartialEq)]
struct Step<'a> {
    done: u64,
    all: u64,
    what: &'a str,
}

impl<'a> Step<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let (counts, what) = line.strip_prefix('[')?.split_once("] ")?;
        let (done, all) = counts.split_once('/')?;
        Some(Self {
            done: done.trim().parse().ok()?,
            all: all.trim().parse().ok()?,
            what,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_from_a_compilers_words() {
        let step = Step::read("[12/956] CXX obj/v8/api.o").expect("a step");
        assert_eq!(
            (step.done, step.all, step.what),
            (12, 956, "CXX obj/v8/api.o")
        );
        for other in [
            "1 warning generated.",
            "[-Wunused] 3/4",
            "[a/b] c",
            "[1/2]",
            "",
        ] {
            assert_eq!(Step::read(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_failure_shows_the_step_that_failed_or_the_end_of_the_log() {
        assert_eq!(telling("a\nb\nc\n", 2), ["b", "c"]);
        assert_eq!(telling("a\n", 2), ["a"]);
        let log = "[1/9] CC a.o\nFAILED: b.o\nb.cc:1: error\n[2/9] CC c.o\nmore\n";
        assert_eq!(telling(log, 2), ["FAILED: b.o", "b.cc:1: error"]);
    }

    /// Runs a shell script that prints like ninja.
    fn pretend(script: &str, log: &Path) -> Result<u64> {
        follow(Command::new("sh").arg("-c").arg(script), log)
    }

    #[test]
    fn the_steps_are_counted_and_everything_is_logged() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("log");
        let steps = pretend(
            "echo '[1/2] CC a.o'; echo a warning >&2; echo '[2/2] AR a.a'",
            &log,
        );
        assert_eq!(steps.expect("it ends well"), 2);
        let mut lines: Vec<_> = fs::read_to_string(&log)
            .expect("there")
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        assert_eq!(lines, ["[1/2] CC a.o", "[2/2] AR a.a", "a warning"]);
    }

    #[test]
    fn a_failure_names_the_log() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("log");
        match pretend("echo '[1/2] CC a.o'; exit 3", &log) {
            Err(Error::Command {
                ended,
                hint: Some(hint),
                ..
            }) => {
                assert_eq!(ended, "exit status: 3");
                assert!(hint.contains(&*log.to_string_lossy()), "{hint}");
            }
            other => panic!("not the failure of a command: {other:?}"),
        }
    }
}
