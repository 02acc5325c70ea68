//! Recording of one call of a host, and the test case that is made of it.
//!
//! The call runs like any other: with the tool's own rights, isolation, approvals and user. What it
//! was answered becomes a cassette, and its result what the test expects.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::cassette::Cassettes;
use super::replay::{self, Mode, TestTape};
use super::scripted_user::user_answer;
use super::secrets::{MASKED, Secrets, is_secret_name};
use super::{Subject, definition, find, served, test_file};
use crate::host::{Host, no_such_tool};
use crate::registry::Entry;
use haft_config::Env;
use haft_tool::{Block, Call, CallRecording, Outcome, Recorded, RecordedEvent, json};
use haft_tool::{Error, ErrorKind, Family};

/// Limit of the characters of a test's name that is made of the call.
const MAX_NAME: usize = 80;

/// Limit of the depth in which secret arguments are searched.
const MAX_DEPTH: usize = 12;

/// Held while a test is added to a file.
static SAVING: Mutex<()> = Mutex::new(());

/// A call that is recorded.
pub(crate) struct Recorder {
    host: Host,
    recording: Arc<CallRecording>,
    entry: Arc<Entry>,
    arguments: Value,
}

/// The test case of a recorded call.
#[derive(Clone, Debug)]
pub(crate) struct TestCase {
    /// The test file.
    pub(crate) path: PathBuf,
    /// The name of the test.
    pub(crate) name: String,
    /// Keys of the test file besides its tests.
    head: Map<String, Value>,
    /// The test without its name.
    test: Map<String, Value>,
    cassette: Vec<replay::Recorded>,
    /// Remarks for the person who saves it.
    pub(crate) notes: Vec<String>,
    subject: Subject,
}

/// A saved test.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
}

/// A test that can be written.
struct Prepared {
    saved: Saved,
    /// The whole text of the test file.
    text: String,
    was_there: bool,
    cassettes: Cassettes,
}

impl Recorder {
    /// Prepares the recording of a call. The result's [`Recorder::host`] makes it.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchTool`], and [`ErrorKind::Usage`] if a test cannot replay calls of the tool.
    pub(crate) async fn of(host: &Host, call: &Call) -> Result<Recorder, Error> {
        let entry = host.catalog().await.find(&call.tool).cloned();
        let entry = entry.ok_or_else(|| no_such_tool(&call.tool, &[]))?;
        if !matches!(entry.tool.source.family, Family::Js | Family::Mcp) {
            let text = format!(
                "calls of `{}` cannot be recorded: a test could not replay what it does",
                call.tool
            );
            let hint = "modules in JavaScript and tools of MCP servers can be recorded";
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
        }
        let recording = Arc::<CallRecording>::default();
        Ok(Recorder {
            host: host.recording_in(recording.clone()),
            recording,
            entry,
            arguments: json::read(call.arguments.get()).unwrap_or_else(|_| json!({})),
        })
    }

    /// Returns the handle that makes the call.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the test case of the call, which has ended.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the call has no end that a test could expect.
    pub(crate) fn finish(&self, ended: Result<&Outcome, &Error>) -> Result<TestCase, Error> {
        // A long text is in a file, and a test has no limit for texts.
        let ended = ended.map(whole);
        let recorded = self.recording.recorded();
        if recorded.is_cut {
            return Err(unusable("the recording is too large for a test".to_owned()));
        }
        let secrets = self.secrets();
        let config = self.host.config();
        let tape = TestTape::new(
            Mode::Record,
            config.cwd.clone(),
            secrets.clone(),
            Vec::new(),
        );
        let mut test = Map::new();
        let tool = &self.entry.tool;
        test.insert("tool".into(), tool.name.as_str().into());
        let arguments = tape.portable(&masked(&self.arguments, &tool.input_schema));
        test.insert("arguments".into(), arguments.clone());
        let answers = recorded.events.iter().filter_map(|event| match event {
            RecordedEvent::Question { answer, .. } => Some(user_answer(answer)),
            _ => None,
        });
        let answers: Vec<Value> = answers.collect();
        if !answers.is_empty() {
            let answers: Value = answers.iter().map(|it| tape.portable(it)).collect();
            test.insert("ui".into(), answers);
        }
        let expect = match &ended {
            Ok(outcome) if outcome.stopped.is_some() => {
                return Err(unusable("a call that was stopped has no test".to_owned()));
            }
            Ok(outcome) => expected(outcome, &tape),
            Err(error) if error.kind() == ErrorKind::BadArguments => {
                Map::from_iter([("error".to_owned(), expected_text(error.message(), &tape))])
            }
            Err(_) => return Err(unusable("a call that was not run has no test".to_owned())),
        };
        test.insert("expect".into(), Value::Object(expect));
        let (subject, path, head) = self.place(&recorded);
        let cassette = match &subject {
            Subject::Server(_) => {
                served::cassette(&recorded, (&tool.name, &arguments), &ended, &tape)
            }
            Subject::Module(_) => {
                for event in &recorded.events {
                    if let RecordedEvent::Exchange {
                        channel,
                        request,
                        answer,
                    } = event
                    {
                        haft_tool::Replay::keep(&tape, *channel, request, answer);
                    }
                }
                tape.recorded()
            }
        };
        let mut case = TestCase {
            path,
            name: name_of(&tool.name, &arguments),
            head,
            test,
            cassette,
            notes: Vec::new(),
            subject,
        };
        case.notes = self.notes(&recorded, &case);
        Ok(case)
    }

    /// Checks that a test of this name can be added to its file, before the call is made.
    ///
    /// # Errors
    /// As [`TestCase::save`].
    pub(crate) fn check(&self, name: Option<&str>, file: Option<&Path>) -> Result<(), Error> {
        let (subject, path, head) = self.place(&Recorded::default());
        let case = TestCase {
            path,
            name: self.entry.tool.name.clone(),
            head,
            test: Map::new(),
            cassette: Vec::new(),
            notes: Vec::new(),
            subject,
        };
        case.prepare(name, file).map(drop)
    }

    /// Masks the values that are known to be secret.
    fn secrets(&self) -> Secrets {
        let mut values = Env::secrets_of_process();
        secret_arguments(
            &self.arguments,
            &self.entry.tool.input_schema,
            &mut values,
            MAX_DEPTH,
        );
        Secrets::new(&values)
    }

    /// Returns what the test is about, its file, and the beginning of the file.
    fn place(&self, recorded: &Recorded) -> (Subject, PathBuf, Map<String, Value>) {
        let source = &self.entry.tool.source;
        let server = recorded.served.as_ref().map(|served| &served.server);
        if let Some(server) = server.or(source
            .plugin
            .as_ref()
            .filter(|_| source.family == Family::Mcp))
        {
            let head = Map::from_iter([("server".to_owned(), server.as_str().into())]);
            let path = self
                .host
                .config()
                .cwd
                .join(find::json_name(&file_name(server)));
            return (Subject::Server(server.clone()), path, head);
        }
        let module = &self.entry.resolved_path;
        let stem = module.file_stem().unwrap_or_default().to_string_lossy();
        let path = module.with_file_name(find::json_name(&stem));
        (Subject::Module(module.clone()), path, Map::new())
    }

    /// Returns what a person should know about the test.
    fn notes(&self, recorded: &Recorded, case: &TestCase) -> Vec<String> {
        let mut notes = Vec::new();
        for event in &recorded.events {
            if let RecordedEvent::Unrepeatable(what) = event {
                notes.push(format!("{what}, which a test cannot repeat"));
            }
        }
        if let (Some(trace), Subject::Module(_)) = (self.host.own_trace(), &case.subject) {
            let traced = trace.notes();
            let known = |name: &str| case.cassette.iter().any(|one| one.reaches(name));
            let others = traced.programs.iter().chain(&traced.hosts);
            for other in others.filter(|name| !known(name)) {
                notes.push(format!(
                    "it may have reached `{}` in another way than `pi.exec` and `fetch`: such a test needs \
                     `\"live\": true`",
                    haft_tool::visible::name(other)
                ));
            }
        }
        let home = self.host.config().home.to_string_lossy().into_owned();
        let text = format!("{}{}", json!(case.cassette), json!(case.test));
        if home.len() > 1 && text.contains(&home) {
            notes.push("it mentions your home directory, which is empty in a test".to_owned());
        }
        notes
    }
}

impl TestCase {
    /// Returns the test as it is written to its file.
    pub(crate) fn test(&self, name: &str) -> Value {
        let mut test = Map::from_iter([("name".to_owned(), Value::from(name))]);
        test.extend(self.test.clone());
        Value::Object(test)
    }

    /// Returns the recorded answers as they are written to the cassette.
    pub(crate) fn cassette(&self) -> Value {
        json!(self.cassette)
    }

    /// Returns the recorded answers.
    pub(super) fn into_cassette(self) -> Vec<replay::Recorded> {
        self.cassette
    }

    /// Returns the number of the recorded answers.
    pub(crate) fn answers(&self) -> usize {
        self.cassette.len()
    }

    /// Writes the test and its cassette. `name` is the name of the test and `file` its file, if they
    /// are not the proposed ones. Nothing that is there is replaced: a proposed name gets a number, and a
    /// given one that is taken is an error.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] with the reason.
    pub(crate) fn save(&self, name: Option<&str>, file: Option<&Path>) -> Result<Saved, Error> {
        // Of two tests that are saved at once, the second one follows the first.
        let _saving = SAVING.lock();
        let mut prepared = self.prepare(name, file)?;
        let Saved { path, name } = &prepared.saved;
        prepared.cassettes.replace(name, self.cassette.clone());
        prepared.cassettes.save().map_err(unusable)?;
        let written = test_file::write(path, &prepared.text, prepared.was_there);
        let failed = |error| unusable(format!("{} cannot be written: {error}", path.display()));
        written.map_err(failed)?;
        Ok(prepared.saved)
    }

    fn prepare(&self, name: Option<&str>, file: Option<&Path>) -> Result<Prepared, Error> {
        let path = file.map_or(self.path.as_path(), |file| file);
        if !find::is_json_test(path) {
            let text = format!("{} is no test file", path.display());
            let hint = "the name of a test file ends in .tool-test.json";
            return Err(unusable(text).with_hint(hint));
        }
        let head = self.head_in(path);
        let before = match std::fs::read_to_string(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(unusable(format!("{}: {error}", path.display()))),
        };
        let cassettes = Cassettes::open(path).map_err(unusable)?;
        let mut taken = match &before {
            None => Vec::new(),
            Some(text) => self.names_in(path, text).map_err(unusable)?,
        };
        taken.extend(cassettes.names());
        let name = match name {
            Some(name) if taken.iter().any(|one| one == name) => {
                let text = format!("a test of the name `{name}` is there already");
                return Err(unusable(text).with_hint("choose another name, or remove that test"));
            }
            Some(name) => name.to_owned(),
            None => free_name(&self.name, &taken),
        };
        let text = test_file::with_test(before.as_deref(), &head, &self.test(&name));
        let text = text.map_err(|why| unusable(format!("{}: {why}", path.display())))?;
        let path = path.to_owned();
        Ok(Prepared {
            saved: Saved { path, name },
            text,
            was_there: before.is_some(),
            cassettes,
        })
    }

    /// Returns the beginning of a test file at `path`: which module its tests are about.
    fn head_in(&self, path: &Path) -> Map<String, Value> {
        let mut head = self.head.clone();
        if let Subject::Module(module) = &self.subject {
            let beside = find::module_of(path, None);
            if !beside.is_ok_and(|beside| is_same_file(&beside, module)) {
                let folder = path.parent().unwrap_or(Path::new("/"));
                head.insert("module".into(), relative(folder, module).into());
            }
        }
        head
    }

    /// Returns the names of the tests in the file at `path`, which must be about the same tools.
    fn names_in(&self, path: &Path, text: &str) -> Result<Vec<String>, String> {
        let place = path.display();
        let file = definition::read(text, false).map_err(|why| format!("{place}: {why}"))?;
        let is_same = match &self.subject {
            Subject::Server(server) => file.server.as_ref() == Some(server),
            Subject::Module(module) => {
                let tested = find::module_of(path, file.module.as_deref());
                file.server.is_none() && tested.is_ok_and(|tested| is_same_file(&tested, module))
            }
        };
        if !is_same {
            return Err(format!("the tests in {place} are about another tool"));
        }
        Ok(file.tests.into_iter().map(|test| test.name).collect())
    }
}

fn unusable(why: String) -> Error {
    Error::new(ErrorKind::Usage, why)
}

/// Returns the outcome with its whole text.
fn whole(outcome: &Outcome) -> Outcome {
    let mut outcome = outcome.clone();
    let kept = outcome.kept_in.take();
    if let Some(text) = kept.and_then(|path| std::fs::read_to_string(path).ok()) {
        outcome
            .content
            .retain(|block| !matches!(block, Block::Text { .. }));
        outcome.content.insert(0, Block::text(text));
    }
    outcome
}

fn expected(outcome: &Outcome, tape: &TestTape) -> Map<String, Value> {
    let mut expect = Map::new();
    let has_text = |block: &Block| matches!(block, Block::Text { .. });
    if outcome.content.iter().any(has_text) || outcome.content.is_empty() {
        expect.insert("text".into(), expected_text(&outcome.text(), tape));
    }
    if outcome.is_error {
        expect.insert("isError".into(), true.into());
    }
    expect
}

/// Returns what a test expects of a text. A replay may have other characters where a secret was.
fn expected_text(text: &str, tape: &TestTape) -> Value {
    let portable = tape.portable(&text.into());
    let shown = portable.as_str().unwrap_or_default();
    if text.contains(MASKED) || !shown.contains(MASKED) {
        return portable;
    }
    let parts = shown.split(MASKED).filter(|part| !part.is_empty());
    json!({ "contains": parts.collect::<Vec<_>>() })
}

/// Returns the arguments with `***` in place of secrets.
fn masked(value: &Value, schema: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let below = &schema["properties"][name];
                let is_secret = is_secret(name, below) && !value.is_object() && !value.is_array();
                let value = if is_secret {
                    MASKED.into()
                } else {
                    masked(value, below)
                };
                (name.clone(), value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| masked(item, &schema["items"]))
            .collect(),
        other => other.clone(),
    }
}

/// Adds the texts of secret arguments to `found`.
fn secret_arguments(value: &Value, schema: &Value, found: &mut Vec<String>, depth: usize) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let below = &schema["properties"][name];
                match value {
                    Value::String(text) if is_secret(name, below) => found.push(text.clone()),
                    _ => secret_arguments(value, below, found, depth - 1),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                secret_arguments(item, &schema["items"], found, depth - 1);
            }
        }
        _ => {}
    }
}

/// Returns true if an argument of that name and schema is a secret text.
fn is_secret(name: &str, schema: &Value) -> bool {
    let is_marked = schema["format"] == "password" || schema["writeOnly"] == true;
    let is_text = schema.get("type").is_none_or(|kind| kind == "string");
    is_marked || (is_text && is_secret_name(name))
}

fn name_of(tool: &str, arguments: &Value) -> String {
    let name = match arguments {
        Value::Object(fields) if fields.is_empty() => tool.to_owned(),
        arguments => format!("{tool} {arguments}"),
    };
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

fn free_name(name: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let is_free = |name: &String| !taken.contains(name);
    names.find(is_free).unwrap_or_default()
}

/// Returns a server's name as a part of a file name.
fn file_name(server: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_".contains(c);
    let plain = server.chars().map(|c| if is_plain(c) { c } else { '-' });
    plain.collect()
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// Returns the path of `file` as seen from `folder`.
fn relative(folder: &Path, file: &Path) -> String {
    let folder: Vec<Component<'_>> = folder.components().collect();
    let parts: Vec<Component<'_>> = file.components().collect();
    let same = folder
        .iter()
        .zip(&parts)
        .take_while(|(one, other)| one == other);
    let same = same.count();
    let up = std::iter::repeat_n("..".into(), folder.len() - same);
    let down = parts[same..]
        .iter()
        .map(|part| part.as_os_str().to_string_lossy());
    let words: Vec<std::borrow::Cow<'_, str>> = up.chain(down).collect();
    let path = words.join("/");
    if path.starts_with("..") {
        path
    } else {
        format!("./{path}")
    }
}
