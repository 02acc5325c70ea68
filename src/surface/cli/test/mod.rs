//! `haft test`: runs the tests beside tools, without a model, network or programs.

mod junit;
mod tap;
mod text;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use tokio_util::sync::CancellationToken;

use super::exit::{FAILURE, Failure, SUCCESS};
use super::flags::Globals;
use super::trust_question::ask_for_tests;
use crate::surface::signals::Signals;
use crate::surface::stdin;
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use crate::tool_test::{Report, Status, Suite, Terms, TestFile, World, find};
use haft_config::{Config, Env, parse_duration};
use haft_render::style::Ink;
use haft_tool::{Error, ErrorKind, terminal_text};
use haft_tool::{Problem, Stopped};

/// Run the tests beside tools: *.tool-test.json and *.tool-test.ts
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft test                              everything below this directory
  haft test .omp/tools/greet.ts          the tests of one tool
  haft test --filter polite              tests with this in their name
  haft test --record                     ask the world, and keep what it says for later
  haft test --format junit --output report.xml

A test meets no network and no program: what those would say is recorded. The code of the
tools and of the tests does run: what a project brings is asked about first, unless you name the
files. See docs/testing.md.")]
pub(super) struct Args {
    /// Test files, modules with tests beside them, or directories
    paths: Vec<PathBuf>,

    /// Only tests whose file or name contains this
    #[arg(long, short, value_name = "TEXT")]
    filter: Option<String>,

    /// Ask the world, and record what it says
    #[arg(long, conflicts_with = "live")]
    record: bool,

    /// Ask the world, and record nothing
    #[arg(long)]
    live: bool,

    /// Format of the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Write that to a file, and a summary here
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Longest time that a call may take
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    timeout: Duration,

    /// Stop after the first failure
    #[arg(long)]
    fail_fast: bool,

    /// Only list the tests; nothing runs
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Tap,
    Junit,
}

/// Reporter of test results.
trait Reporter {
    /// Reports a finished test. `file` is the path as the user would write it.
    fn test(&mut self, file: &str, name: &str, report: &Report) -> io::Result<()>;

    /// Reports a file that could not be parsed as tests.
    fn broken(&mut self, file: &str, problem: &Problem) -> io::Result<()>;

    /// Reports a remark about a file.
    fn note(&mut self, _text: &str) -> io::Result<()> {
        Ok(())
    }

    /// Reports the totals at the end.
    fn end(&mut self, count: &Count) -> io::Result<()>;
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Count {
    fn add(&mut self, status: &Status) {
        match status {
            Status::Passed => self.passed += 1,
            Status::Failed(_) => self.failed += 1,
            Status::Skipped(_) => self.skipped += 1,
        }
    }

    fn is_nothing(self) -> bool {
        self.passed + self.failed + self.skipped == 0
    }

    fn summary(self) -> String {
        let mut text = format!("{} passed, {} failed", self.passed, self.failed);
        if self.skipped > 0 {
            text.push_str(&format!(", {} skipped", self.skipped));
        }
        text
    }
}

impl Args {
    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        let config = globals.config()?;
        // Tools must not read input that is meant for haft.
        drop(stdin::claim()?);
        let files = find(&self.paths, &config.cwd).map_err(|problem| failed(&problem))?;
        let terms = Terms {
            world: match (self.record, self.live) {
                (true, _) => World::Recorded,
                (false, true) => World::Live,
                (false, false) => World::Replayed,
            },
            timeout: self.timeout,
            config: config.clone(),
            temp_dir: config.temp_dir.clone(),
            secrets: Env::secrets_of_process(),
            stop: CancellationToken::new(),
        };
        if self.list {
            return self.list_all(&files, &config, &terms, out).await;
        }
        let strange: Vec<_> = files
            .iter()
            .filter(|file| is_strange(file, &config))
            .collect();
        let strange: Vec<_> = strange
            .into_iter()
            .map(|file| (file.path.clone(), file.loads()))
            .collect();
        ask_for_tests(&config, &strange).await?;
        let ink = out.ink();
        let mut file = match &self.output {
            Some(path) => {
                let file = File::create(config.cwd.join(path)).map_err(|error| {
                    let text = format!("{} cannot be written: {error}", path.display());
                    Error::new(ErrorKind::Usage, text)
                })?;
                Some(Out::to_file(file))
            }
            None => None,
        };
        let to_file = file.is_some();
        let count = {
            let target = match &mut file {
                Some(file) => file,
                None => out,
            };
            let ink = if to_file { Ink::none() } else { ink };
            let mut reporter: Box<dyn Reporter + '_> = match self.format {
                Format::Text => Box::new(text::Text::new(target, ink)),
                Format::Tap => Box::new(tap::Tap::new(target)),
                Format::Junit => Box::new(junit::Junit::new(target)),
            };
            self.run_all(&files, &config, &terms, &mut *reporter)
                .await?
        };
        if count.is_nothing() {
            return Err(self.nothing(&config).into());
        }
        if to_file {
            out.print_line(&terminal_text!("{}", count.summary()))?;
        }
        if terms.stop.is_cancelled() {
            let text = "interrupted before all tests had run";
            let kind = ErrorKind::Stopped(Stopped::Cancelled);
            return Err(Error::new(kind, text).into());
        }
        Ok(if count.failed > 0 { FAILURE } else { SUCCESS })
    }

    async fn run_all(
        &self,
        files: &[TestFile],
        config: &Config,
        terms: &Terms,
        reporter: &mut dyn Reporter,
    ) -> Result<Count, Failure> {
        let mut signals = Signals::take()?;
        let mut count = Count::default();
        for file in files {
            let shown = shown(file, config);
            let read = heeding(&mut signals, terms, Suite::read(file, terms)).await?;
            let mut suite = match read {
                Ok(suite) => {
                    ask_for_module(file, &suite, config).await?;
                    suite
                }
                Err(problem) => {
                    count.failed += 1;
                    reporter.broken(&shown, &problem)?;
                    continue;
                }
            };
            let names: Vec<String> = suite.names().map(str::to_owned).collect();
            for (index, name) in names.iter().enumerate() {
                if !self.means(&shown, name) {
                    continue;
                }
                let report = heeding(&mut signals, terms, suite.run(index, terms)).await?;
                if terms.stop.is_cancelled() {
                    break;
                }
                count.add(&report.status);
                reporter.test(&shown, name, &report)?;
                if self.fail_fast && count.failed > 0 {
                    break;
                }
            }
            match suite.save() {
                Ok(Some(path)) => {
                    let path = path.strip_prefix(&config.cwd).unwrap_or(path);
                    reporter.note(&format!("recorded: {}", path.display()))?;
                }
                Ok(None) => {}
                Err(problem) => {
                    count.failed += 1;
                    reporter.broken(&shown, &problem)?;
                }
            }
            suite.close().await;
            if terms.stop.is_cancelled() || self.fail_fast && count.failed > 0 {
                break;
            }
        }
        // A run without tests is reported as an error instead.
        if !count.is_nothing() {
            reporter.end(&count)?;
        }
        Ok(count)
    }

    async fn list_all(
        &self,
        files: &[TestFile],
        config: &Config,
        terms: &Terms,
        out: &mut Out,
    ) -> Result<u8, Failure> {
        let mut code = SUCCESS;
        for file in files {
            let shown = shown(file, config);
            if file.is_script {
                let note = "its tests are known when it runs";
                out.print_line(&terminal_text!("{shown} > ({note})"))?;
                continue;
            }
            match Suite::read(file, terms).await {
                Ok(suite) => {
                    for name in suite.names().filter(|name| self.means(&shown, name)) {
                        let name = haft_render::text::first_line(name);
                        out.print_line(&terminal_text!("{shown} > {name}"))?;
                    }
                    suite.close().await;
                }
                Err(problem) => {
                    say(&haft_render::problem::problem(
                        &problem,
                        &config.home,
                        Ink::for_stderr(),
                    ));
                    code = FAILURE;
                }
            }
        }
        Ok(code)
    }

    /// Returns true if the filter selects the test.
    fn means(&self, file: &str, name: &str) -> bool {
        let filter = self.filter.as_ref();
        filter.is_none_or(|text| name.contains(text) || file.contains(text))
    }

    fn nothing(&self, config: &Config) -> Error {
        let (text, hint) = match &self.filter {
            Some(filter) => (
                format!("no test has `{filter}` in its name"),
                "`haft test --list` shows them all",
            ),
            None => (
                format!("there are no tests below {}", config.cwd.display()),
                "a test of `greet.ts` is `greet.tool-test.json` or `greet.tool-test.ts`: docs/testing.md",
            ),
        };
        Error::new(ErrorKind::Usage, text).with_hint(hint)
    }
}

/// Returns true for a file of an untrusted project: not named by the user, and not in a folder of
/// the user.
fn is_strange(file: &TestFile, config: &Config) -> bool {
    let roots = &config.roots;
    let own = [
        &roots.omp_agent,
        &roots.omp_plugins,
        &roots.claude,
        &roots.codex,
        &roots.cycod_user,
    ];
    let is_own = own.into_iter().any(|folder| file.path.starts_with(folder));
    !config.trust_project && !file.is_named && !is_own
}

/// Asks about the module that a script names at run time, unless that module was known before.
async fn ask_for_module(file: &TestFile, suite: &Suite, config: &Config) -> Result<(), Failure> {
    let mut loads = file.loads();
    let Some(module) = suite.module() else {
        return Ok(());
    };
    let is_known = loads.iter().any(|known| known == module);
    if is_known || !is_strange(file, config) {
        return Ok(());
    }
    loads.push(module.to_owned());
    ask_for_tests(config, &[(file.path.clone(), loads)]).await
}

/// Returns the path of the file as a user would write it.
fn shown(file: &TestFile, config: &Config) -> String {
    let path = file.path.strip_prefix(&config.cwd).unwrap_or(&file.path);
    path.display().to_string()
}

/// Waits for `work`. The first Ctrl-C stops the running test, the second one ends the wait.
async fn heeding<T>(
    signals: &mut Signals,
    terms: &Terms,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Ok(done),
            () = signals.next() => {
                if terms.stop.is_cancelled() {
                    let kind = ErrorKind::Stopped(Stopped::Cancelled);
                    return Err(Error::new(kind, "interrupted").into());
                }
                terms.stop.cancel();
            }
        }
    }
}

fn failed(problem: &Problem) -> Error {
    let path = problem.path.as_ref();
    let path = path.map(|path| format!("{}: ", path.display()));
    let text = format!("{}{}", path.unwrap_or_default(), problem.message);
    let error = Error::new(ErrorKind::Usage, text);
    match &problem.hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
