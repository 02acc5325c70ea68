//! Runner of one test: its own folder, its own host, and replay of the external answers.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::assertions::{Came, differences};
use super::definition::{CallDefinition, TestDefinition};
use super::replay::{CWD, Mode, TestTape};
use super::scripted_user::Person;
use super::secrets::is_secret_name;
use super::{Recorder, Report, Secrets, Status, Subject, Suite, Terms, World, served};
use crate::host::Host;
use crate::registry::Catalog;
use haft_config::{Config, Env, Flags, Permission, PermissionKind, PermissionSource};
use haft_tool::Error;
use haft_tool::{Block, Call, Event, Outcome, Severity, json};

/// Time between cancellation and forced termination. Short, since a tool under test has nothing to
/// lose.
const GRACE: Duration = Duration::from_millis(500);

/// Providers for discovery: only the paths that the configuration names.
const PROVIDERS: [&str; 1] = ["config"];

/// Returns a configuration that ignores this machine. Home, state and temporary files are below
/// `folder`, and at most `module` is loaded.
pub(super) fn quiet_config(
    cwd: &Path,
    folder: &Path,
    module: Option<&Path>,
    terms: &Terms,
) -> Result<Config, Error> {
    let env = Env {
        current_dir: Some(cwd.to_owned()),
        home: Some(folder.join("home")),
        tmpdir: Some(terms.temp_dir.clone()),
        ..Env::default()
    };
    let flags = Flags {
        tools: module
            .iter()
            .map(|module| module.display().to_string())
            .collect(),
        no_cache: true,
        load_timeout: Some(terms.timeout),
        ..Flags::default()
    };
    let mut config = Config::resolve_with(flags, &env)?;
    config.only_providers = Some(PROVIDERS.map(str::to_owned).to_vec());
    config.limits.grace = GRACE;
    // Texts are compared whole, so a long text must not be spilled.
    config.limits.spill_kb = 0;
    Ok(config)
}

/// Runs the test at `index` to its end.
pub(super) async fn run(suite: &mut Suite, index: usize, terms: &Terms) -> Report {
    let started = Instant::now();
    let mode = mode_of(&suite.tests[index], terms.world);
    let (status, notes) = match Stage::set(suite, index, mode, terms) {
        Ok(stage) => {
            let found = stage.play(suite, index, terms).await;
            stage.close(suite, index, mode, found).await
        }
        Err(why) => (Status::Failed(vec![why]), Vec::new()),
    };
    Report {
        status,
        notes,
        duration: started.elapsed(),
    }
}

fn mode_of(test: &TestDefinition, world: World) -> Mode {
    match world {
        _ if test.is_live => Mode::Live,
        // Answers in the test itself are never recorded.
        _ if test.stubs.is_some() => Mode::Replay,
        World::Replayed => Mode::Replay,
        World::Recorded => Mode::Record,
        World::Live => Mode::Live,
    }
}

struct Stage {
    folder: TempDir,
    cwd: PathBuf,
    tape: Arc<TestTape>,
    person: Option<Arc<Person>>,
    host: Host,
    /// True for calls of a real MCP server, which are recorded one by one.
    records_calls: bool,
}

impl Stage {
    fn set(suite: &Suite, index: usize, mode: Mode, terms: &Terms) -> Result<Stage, String> {
        let test = &suite.tests[index];
        let folder = tempfile::Builder::new()
            .prefix("haft-test-")
            .tempdir_in(&terms.temp_dir)
            .map_err(|error| format!("no temporary folder can be made: {error}"))?;
        // Tools see the resolved path, so links in it must be resolved here as well.
        let real = folder
            .path()
            .canonicalize()
            .map_err(|error| error.to_string())?;
        let cwd = real.join("project");
        furnish(&cwd, &real.join("home"), test, &suite.path)
            .map_err(|error| format!("the test's folder cannot be made: {error}"))?;
        let mut config = match &suite.subject {
            // Only the user's own configuration has the server.
            Subject::Server(_) if mode != Mode::Replay => terms.config.clone(),
            _ => quiet_config(&cwd, &real, suite.module(), terms)
                .map_err(|error| error.message().to_owned())?,
        };
        config.limits.call_timeout = Some(test.timeout.unwrap_or(terms.timeout));
        if mode == Mode::Replay {
            // Only `pi.exec` and `fetch` are replayed, so deny all other access to programs and
            // network.
            for kind in [PermissionKind::Run, PermissionKind::Net] {
                let replay = PermissionSource::Replay;
                config.permissions.set(kind, Permission::None, replay);
            }
        }
        let recorded = match &test.stubs {
            Some(stubs) => stubs.clone(),
            None => suite.cassettes.of(&test.name),
        };
        let secrets = suite.secrets_of(test);
        let cwd = match &suite.subject {
            Subject::Server(_) => terms.config.cwd.clone(),
            Subject::Module(_) => cwd,
        };
        let tape = Arc::new(TestTape::new(mode, cwd.clone(), secrets, recorded));
        let mut env: BTreeMap<String, Option<String>> = BTreeMap::new();
        env.insert("HOME".into(), Some(real.join("home").display().to_string()));
        env.extend(test.env.clone());
        let host = match (&suite.subject, mode) {
            (Subject::Module(_), _) => Host::for_trial(config, Some(tape.clone()), env),
            (Subject::Server(_), Mode::Replay) => served::replaying(config, test, &tape),
            (Subject::Server(_), Mode::Record | Mode::Live) => Host::for_one_call(config),
        };
        let person = test.answers.as_deref().map(|it| Arc::new(Person::new(it)));
        if let Some(person) = &person {
            host.set_default_ui(Some(person.clone()));
        }
        Ok(Stage {
            host,
            person,
            folder,
            cwd,
            tape,
            records_calls: mode == Mode::Record && suite.module().is_none(),
        })
    }

    /// Plays the calls of the test and returns the differences.
    async fn play(&self, suite: &Suite, index: usize, terms: &Terms) -> Vec<String> {
        let test = &suite.tests[index];
        let catalog = self.host.catalog().await;
        if let Some(why) = why_empty(&catalog) {
            return vec![why];
        }
        if let Some(session) = &test.session {
            self.host.session_event(&session_event(session)).await;
        }
        let mut found = self.changes(suite, index, terms).await;
        if !found.is_empty() {
            return found;
        }
        let mut results = Vec::new();
        for (step, call) in test.calls.iter().enumerate() {
            let came = match tool_of(call, &catalog) {
                Ok(tool) => self.call(tool, call, step, &terms.stop).await,
                Err(why) => Err(why),
            };
            let came = match came {
                Ok(came) => came,
                Err(why) => {
                    found.push(why);
                    break;
                }
            };
            let differs = differences(&call.expect, &came);
            results.push(came.as_json());
            let has_several = test.calls.len() > 1;
            let place = |text: String| {
                if has_several {
                    format!("call {}: {text}", step + 1)
                } else {
                    text
                }
            };
            // Later calls depend on this one.
            if !differs.is_empty() {
                found.extend(differs.into_iter().map(place));
                break;
            }
        }
        if let Some(script) = &suite.script
            && test.has_check
            && found.is_empty()
        {
            let results = Value::Array(results);
            let checking = script.check(index, &results);
            let checked = tokio::time::timeout(terms.timeout + GRACE, checking).await;
            match checked {
                Ok(Ok(())) => {}
                Ok(Err(why)) => found.push(format!("check: {why}")),
                Err(_) => found.push("check: it did not end in time".to_owned()),
            }
        }
        found
    }

    /// Returns the reasons for which the recording does not fit any more.
    async fn changes(&self, suite: &Suite, index: usize, terms: &Terms) -> Vec<String> {
        match &suite.subject {
            Subject::Server(server) if self.tape.is_replay() => {
                let recorded = suite.cassettes.of(&suite.tests[index].name);
                served::changes(&terms.config, server, &recorded).await
            }
            _ => Vec::new(),
        }
    }

    async fn call(
        &self,
        tool: &str,
        call: &CallDefinition,
        step: usize,
        stop: &CancellationToken,
    ) -> Result<Came, String> {
        let asked = Call::new(tool, call.arguments.clone()).with_id(format!("test-{}", step + 1));
        let recorder = if self.records_calls {
            let recorder = Recorder::of(&self.host, &asked).await;
            Some(recorder.map_err(|error| error.message().to_owned())?)
        } else {
            None
        };
        let host = recorder.as_ref().map_or(&self.host, Recorder::host);
        let mut running = host.call(asked, None);
        let mut updates = Vec::new();
        let cancellation = running.cancellation();
        let ended = loop {
            let event = tokio::select! {
                biased;
                event = running.next_event() => event,
                () = stop.cancelled(), if !cancellation.is_cancelled() => {
                    cancellation.cancel();
                    continue;
                }
            };
            match event {
                Event::Started => {}
                Event::Update(partial) => {
                    let partial: Value = json::read(partial.get()).unwrap_or_default();
                    updates.push(self.portable_value(partial));
                }
                Event::Finished(ended) => break ended,
            }
        };
        if let Some(recorder) = recorder {
            let recorded = recorder.finish(ended.as_ref());
            let case = recorded.map_err(|error| error.message().to_owned())?;
            self.tape.add(case.into_cassette());
        }
        Ok(Came {
            ended: match ended {
                Ok(outcome) => Ok(self.portable_outcome(outcome)),
                Err(error) => Err(self.portable_error(error)),
            },
            updates,
        })
    }

    async fn close(
        self,
        suite: &mut Suite,
        index: usize,
        mode: Mode,
        mut found: Vec<String>,
    ) -> (Status, Vec<String>) {
        self.host.kill().await;
        let mut notes = Vec::new();
        for missed in self.tape.missed() {
            found.push(format!(
                "{missed} has no answer in this test\nhint: `haft test --record` records what the world says, \
                 `exec` and `fetch` in the test give an answer\n"
            ));
        }
        if let Some(person) = &self.person {
            let missed = person.missed().into_iter();
            found.extend(missed.map(|title| format!("`ui` has no answer to \"{title}\"")));
            if person.unused() > 0 {
                notes.push(format!(
                    "{} of the answers in `ui` were not wanted",
                    person.unused()
                ));
            }
        }
        match mode {
            Mode::Replay => {
                let unused = self.tape.unused().into_iter();
                notes.extend(unused.map(|what| format!("nobody asked for {what}")));
            }
            Mode::Record => {
                let recorded = self.tape.recorded();
                if !recorded.is_empty() {
                    notes.push(format!("recorded {}", recorded.len()));
                }
                suite.cassettes.replace(&suite.tests[index].name, recorded);
            }
            Mode::Live => {}
        }
        if let Err(error) = self.folder.close() {
            notes.push(format!("its folder is still there: {error}"));
        }
        let status = if found.is_empty() {
            Status::Passed
        } else {
            Status::Failed(found)
        };
        (status, notes)
    }

    /// Replaces the path of the test folder, which differs in every run.
    fn portable(&self, text: &str) -> String {
        text.replace(&*self.cwd.to_string_lossy(), CWD)
    }

    fn portable_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.portable(&text).into(),
            Value::Array(items) => items
                .into_iter()
                .map(|it| self.portable_value(it))
                .collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                fields
                    .map(|(key, it)| (key, self.portable_value(it)))
                    .collect()
            }
            other => other,
        }
    }

    fn portable_outcome(&self, mut outcome: Outcome) -> Outcome {
        for block in &mut outcome.content {
            if let Block::Text { text, .. } = block {
                *text = self.portable(text);
            }
        }
        outcome.details = self.portable_value(outcome.details);
        outcome
    }

    fn portable_error(&self, error: Error) -> Error {
        let portable = Error::new(error.kind(), self.portable(error.message()));
        match error.hint() {
            Some(hint) => portable.with_hint(hint),
            None => portable,
        }
    }
}

impl Suite {
    /// Returns the secrets of a test, including its environment variables with secret names.
    fn secrets_of(&self, test: &TestDefinition) -> Secrets {
        let own = test.env.iter().filter(|(name, _)| is_secret_name(name));
        let own: Vec<String> = own.filter_map(|(_, value)| value.clone()).collect();
        self.secrets.and(&own)
    }
}

impl Came {
    /// Returns the argument of the script's function `check`.
    fn as_json(&self) -> Value {
        match &self.ended {
            Ok(outcome) => json!({
                "text": outcome.text(),
                "content": outcome.content,
                "details": outcome.details,
                "isError": outcome.is_error,
                "updates": self.updates,
            }),
            Err(error) => json!({"error": error.message(), "updates": self.updates}),
        }
    }
}

/// Returns the tool of a call: the named one, or the only one of the module.
fn tool_of<'a>(call: &'a CallDefinition, catalog: &'a Catalog) -> Result<&'a str, String> {
    if let Some(tool) = &call.tool {
        return Ok(tool);
    }
    let mut names = catalog.tools().map(|tool| tool.name.as_str());
    match (names.next(), names.next()) {
        (Some(only), None) => Ok(only),
        _ => {
            let names: Vec<&str> = catalog.tools().map(|tool| tool.name.as_str()).collect();
            Err(format!(
                "`tool` says which one is meant: {}",
                names.join(", ")
            ))
        }
    }
}

/// Returns the reason for an empty catalog, or `None` if it has entries.
fn why_empty(catalog: &Catalog) -> Option<String> {
    if !catalog.entries.is_empty() {
        return None;
    }
    let errors = catalog.problems.iter();
    let errors = errors.filter(|problem| problem.severity == Severity::Error);
    let texts: Vec<String> = errors
        .map(|problem| {
            let frame = problem.frame.as_deref().unwrap_or_default();
            format!("{}\n{frame}", problem.message)
        })
        .collect();
    Some(if texts.is_empty() {
        "the module offers no tool".to_owned()
    } else {
        texts.join("\n")
    })
}

fn session_event(written: &Value) -> Box<RawValue> {
    let mut event = written.clone();
    if event.get("event").is_none() {
        event["event"] = json!({"reason": "start"});
    }
    RawValue::from_string(event.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn furnish(cwd: &Path, home: &Path, test: &TestDefinition, file: &Path) -> io::Result<()> {
    fs::create_dir_all(cwd)?;
    fs::create_dir_all(home)?;
    if let Some(project) = &test.project {
        let folder = file.parent().unwrap_or(Path::new("/"));
        copy(&folder.join(project), cwd)?;
    }
    for (name, text) in &test.files {
        let path = cwd.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&source, &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}
