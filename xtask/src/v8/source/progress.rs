//! Progress of ninja: its lines become a bar at a terminal, and some lines elsewhere.
//!
//! The steps differ by a factor of two hundred, so the time left is computed from weights.

use std::collections::VecDeque;
use std::io::{self, BufRead, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Processor seconds of a step of each group, as `.ninja_log` had them on one machine. What is not
/// in the list takes one.
const WEIGHTS: [(&str, f64); 11] = [
    ("third_party/abseil-cpp/absl/strings", 3.0),
    ("v8/cppgc_base", 40.0),
    ("v8/mksnapshot", 5.0),
    ("v8/src/inspector", 4.0),
    ("v8/torque_base", 9.0),
    ("v8/torque_generated_definitions", 30.0),
    ("v8/torque_generated_initializers", 48.0),
    ("v8/v8_base_without_compiler", 30.0),
    ("v8/v8_compiler", 60.0),
    ("v8/v8_initializers", 60.0),
    ("v8/v8_libbase", 3.0),
];

/// Number of the last lines of output that are shown when a build fails.
const MAX_LAST_LINES: usize = 60;
/// Share of the build after which a line is printed where there is no terminal.
const SHARE_OF_A_LINE: f64 = 0.05;

/// A line as `[12/1017] CXX obj/v8/v8_libbase/bits.o`.
struct StepLine<'a> {
    done: u64,
    total: u64,
    output: &'a str,
}

fn parse_step(line: &str) -> Option<StepLine<'_>> {
    let (count, description) = line.strip_prefix('[')?.split_once("] ")?;
    let (done, total) = count.split_once('/')?;
    Some(StepLine {
        done: done.parse().ok()?,
        total: total.parse().ok()?,
        output: description.rsplit(' ').next().unwrap_or_default(),
    })
}

/// Returns the processor seconds that a step is expected to take.
fn weigh_step(output: &str) -> f64 {
    let weight = WEIGHTS.iter().find(|(group, _)| output.contains(group));
    weight.map_or(1.0, |(_, seconds)| *seconds)
}

/// The steps that remain, as ninja's dry run lists them.
pub struct BuildPlan {
    pub steps: u64,
    weight: f64,
}

impl BuildPlan {
    pub fn of_dry_run(output: &str) -> Self {
        let steps: Vec<f64> = output
            .lines()
            .filter_map(parse_step)
            .map(|step| weigh_step(step.output))
            .collect();
        Self {
            steps: steps.len() as u64,
            weight: steps.iter().sum(),
        }
    }

    /// Returns the expected time with this many jobs at once.
    pub fn time(&self, jobs: usize) -> Duration {
        Duration::from_secs_f64(self.weight / jobs as f64)
    }
}

/// Shows the progress of a build.
pub struct BuildProgress {
    plan: BuildPlan,
    done: f64,
    shown: f64,
    started: Instant,
    bar: Option<ProgressBar>,
    last_lines: VecDeque<String>,
}

impl BuildProgress {
    pub fn new(plan: BuildPlan) -> Self {
        let template = "{bar:30} {msg}";
        let style = ProgressStyle::with_template(template).expect("the template is right");
        let bar = io::stderr()
            .is_terminal()
            .then(|| ProgressBar::new(1000).with_style(style));
        Self {
            plan,
            done: 0.0,
            shown: 0.0,
            started: Instant::now(),
            bar,
            last_lines: VecDeque::new(),
        }
    }

    /// Reads ninja's output to its end, copies it to `log`, and shows how far it is.
    pub fn follow(&mut self, output: impl io::Read, log: &mut impl Write) -> io::Result<()> {
        let mut reader = io::BufReader::new(output);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            log.write_all(&line)?;
            let text = String::from_utf8_lossy(&line);
            match parse_step(text.trim_end()) {
                Some(step) => self.add_step(&step),
                None => self.keep(text.trim_end().to_owned()),
            }
            line.clear();
        }
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        Ok(())
    }

    /// Returns what ninja and the compiler said last, without the steps.
    pub fn last_lines(&self) -> impl Iterator<Item = &str> {
        self.last_lines.iter().map(String::as_str)
    }

    fn keep(&mut self, line: String) {
        if self.last_lines.len() == MAX_LAST_LINES {
            self.last_lines.pop_front();
        }
        self.last_lines.push_back(line);
    }

    fn add_step(&mut self, step: &StepLine) {
        self.done += weigh_step(step.output);
        let share = (self.done / self.plan.weight).min(1.0);
        let text = self.describe(step, share);
        if let Some(bar) = &self.bar {
            bar.set_position((share * 1000.0) as u64);
            bar.set_message(text);
        } else if share >= self.shown + SHARE_OF_A_LINE {
            self.shown = share;
            eprintln!("{text}");
        }
    }

    fn describe(&self, step: &StepLine, share: f64) -> String {
        let elapsed = self.started.elapsed().as_secs_f64();
        let left = elapsed / share * (1.0 - share);
        format!(
            "V8: {} of {} steps, {:.0} %, {} left",
            step.done,
            step.total,
            share * 100.0,
            describe_time(Duration::from_secs_f64(left))
        )
    }
}

/// Describes a time in whole minutes.
pub fn describe_time(time: Duration) -> String {
    match time.as_secs().div_ceil(60) {
        0 | 1 => "1 minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_and_other_lines_are_kept_for_errors() {
        let text = "[1/2] CXX obj/a/b.o\nb.cc:1: warning: w\n[2/2] AR obj/librusty_v8.a\n";
        let plan = BuildPlan::of_dry_run(text);
        assert_eq!(plan.steps, 2);
        let mut progress = BuildProgress::new(plan);
        let mut log = Vec::new();
        progress
            .follow(text.as_bytes(), &mut log)
            .expect("followed");
        assert_eq!(log, text.as_bytes());
        let kept: Vec<&str> = progress.last_lines().collect();
        assert_eq!(kept, ["b.cc:1: warning: w"]);
    }

    #[test]
    fn a_half_gives_the_time_of_the_other() {
        let plan = BuildPlan::of_dry_run("[1/2] CXX obj/a.o\n[2/2] CXX obj/b.o\n");
        assert_eq!(plan.time(2), Duration::from_secs(1));
        let progress = BuildProgress::new(plan);
        let step = parse_step("[1/2] CXX obj/a.o").expect("a step");
        let text = progress.describe(&step, 0.5);
        assert_eq!(text, "V8: 1 of 2 steps, 50 %, 1 minute left");
        assert_eq!(describe_time(Duration::from_secs(61)), "2 minutes");
    }

    #[test]
    fn lines_of_the_compiler_are_no_steps() {
        for line in [
            "",
            "[",
            "[1/2]",
            "[a/b] c",
            "a.cc:1:[1/2] note",
            "[-1/2] CXX a",
        ] {
            assert!(parse_step(line).is_none(), "{line}");
        }
    }
}
