//! Strict parser of test files: an unknown key is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::time::Duration;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::assertions::{Expectation, read_expectation};
use super::replay::{ExecStub, FetchStub, Recorded, read_stubs};
use super::schema;
use super::scripted_user::read_answer;
use haft_tool::Answer;

/// A test file.
pub(super) struct FileDefinition {
    /// Module, relative to the file; `None` for the module beside it.
    pub(super) module: Option<String>,
    /// The MCP server whose tools are tested instead of a module.
    pub(super) server: Option<String>,
    pub(super) tests: Vec<TestDefinition>,
}

/// One test.
pub(super) struct TestDefinition {
    pub(super) name: String,
    pub(super) calls: Vec<CallDefinition>,
    /// Answers to `exec` and `fetch` that the test itself contains; `None` if they are recorded.
    pub(super) stubs: Option<Vec<Recorded>>,
    /// True if the test uses the real network and real programs.
    pub(super) is_live: bool,
    /// Folder beside the test file. The tool works in a copy of it.
    pub(super) project: Option<String>,
    /// Files to create in the folder that the tool works in.
    pub(super) files: BTreeMap<String, String>,
    /// Changes to the environment; `None` removes a variable.
    pub(super) env: BTreeMap<String, Option<String>>,
    /// Answers to prompts, in order; `None` if the test has no user.
    pub(super) answers: Option<Vec<Answer>>,
    /// Initial session event: `{event?, branch?, entries?}`.
    pub(super) session: Option<Value>,
    pub(super) timeout: Option<Duration>,
    pub(super) skip: Option<String>,
    /// True if the script has a function `check` for the test.
    pub(super) has_check: bool,
}

/// One call and its expected result.
pub(super) struct CallDefinition {
    /// Name of the tool; `None` for the only tool of the module.
    pub(super) tool: Option<String>,
    pub(super) arguments: Value,
    pub(super) expect: Expectation,
}

/// Tests of one module (docs/testing.md).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "File")]
pub(super) struct WrittenFile {
    /// The schema of this file, for editors.
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    /// The module, relative to this file; without it the one of the same name.
    module: Option<String>,
    /// The MCP server whose tools are tested, in place of a module.
    server: Option<String>,
    /// The tests; each has a name of its own.
    #[schemars(with = "Vec<WrittenTest>")]
    tests: Vec<Value>,
}

/// A call, or several of one session, and what is expected.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Test")]
pub(super) struct WrittenTest {
    /// Name in the report.
    name: String,
    /// The tool; not needed where the module has only one.
    tool: Option<String>,
    /// The arguments of the call; `{}` without them.
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    arguments: Option<Value>,
    /// Expected result of the call. Only what is given is compared, and success.
    #[schemars(with = "Option<schema::Expectation>")]
    expect: Option<Value>,
    /// Several calls, in place of `tool`, `arguments` and `expect`.
    calls: Option<Vec<WrittenCall>>,
    /// Answers of programs. With these or `fetch` nothing is recorded.
    #[schemars(with = "Option<Vec<ExecStub>>")]
    exec: Option<Vec<Value>>,
    /// Answers of servers.
    #[schemars(with = "Option<Vec<FetchStub>>")]
    fetch: Option<Vec<Value>>,
    /// Meets the world really.
    #[serde(default)]
    live: bool,
    /// A folder beside this file; the tool works in a copy of it.
    project: Option<String>,
    /// Files that the tool finds: their texts by their paths.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Environment variables; `null` takes one away.
    #[serde(default)]
    env: BTreeMap<String, Option<String>>,
    /// Answers of the user, question by question: a text, yes or no, `null` for no answer. Without
    /// it there is no user.
    #[schemars(with = "Option<Vec<schema::PersonsAnswer>>")]
    ui: Option<Vec<Value>>,
    /// The session when the test begins.
    #[schemars(with = "Option<schema::Session>")]
    session: Option<Value>,
    /// Longest time that each call may take, in milliseconds.
    timeout_ms: Option<u64>,
    /// Not run, for this reason.
    skip: Option<String>,
    #[serde(default)]
    #[schemars(skip)]
    check: bool,
}

/// One call, and what is expected of it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Call")]
struct WrittenCall {
    /// The tool; not needed where the module has only one.
    tool: Option<String>,
    /// The arguments of the call; `{}` without them.
    #[schemars(with = "Option<BTreeMap<String, Value>>")]
    arguments: Option<Value>,
    /// Expected result of the call. Only what is given is compared, and success.
    #[schemars(with = "Option<schema::Expectation>")]
    expect: Option<Value>,
}

/// Parses a test file. Only scripts may have `check`, which has been replaced by a flag before.
pub(super) fn read(text: &str, is_script: bool) -> Result<FileDefinition, String> {
    let written: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let file: WrittenFile = match written {
        Value::Array(tests) => WrittenFile {
            _schema: None,
            module: None,
            server: None,
            tests,
        },
        written => serde_json::from_value(written).map_err(|error| error.to_string())?,
    };
    let mut names = BTreeSet::new();
    let mut tests = Vec::with_capacity(file.tests.len());
    for (index, written) in file.tests.into_iter().enumerate() {
        let place = match written["name"].as_str() {
            Some(name) => format!("the test `{name}`"),
            None => format!("test {} of the file", index + 1),
        };
        let test = test(written, is_script).map_err(|error| format!("{place}: {error}"))?;
        if !names.insert(test.name.clone()) {
            return Err(format!("two tests have the name `{}`", test.name));
        }
        tests.push(test);
    }
    if file.server.is_some() {
        if file.module.is_some() {
            return Err("`server` stands for `module`: leave that out".to_owned());
        }
        for test in &tests {
            served(test).map_err(|why| format!("the test `{}`: {why}", test.name))?;
        }
    }
    Ok(FileDefinition {
        module: file.module,
        server: file.server,
        tests,
    })
}

fn test(written: Value, is_script: bool) -> Result<TestDefinition, String> {
    let written: WrittenTest =
        serde_json::from_value(written).map_err(|error| error.to_string())?;
    if written.check && !is_script {
        return Err("`check` is a function: write it in a .tool-test.ts".to_owned());
    }
    let is_single =
        written.tool.is_some() || written.arguments.is_some() || written.expect.is_some();
    let calls = match written.calls {
        Some(_) if is_single => {
            return Err(
                "`calls` stands for `tool`, `arguments` and `expect`: leave those out".to_owned(),
            );
        }
        Some(calls) if calls.is_empty() => return Err("`calls` is empty".to_owned()),
        Some(calls) => calls,
        None => vec![WrittenCall {
            tool: written.tool,
            arguments: written.arguments,
            expect: written.expect,
        }],
    };
    let calls: Result<Vec<_>, String> = calls.into_iter().map(call).collect();
    let has_stubs = written.exec.is_some() || written.fetch.is_some();
    if has_stubs && written.live {
        return Err(
            "a test that is `live` asks the world: leave out `exec` and `fetch`".to_owned(),
        );
    }
    let stubs = read_stubs(
        written.exec.unwrap_or_default(),
        written.fetch.unwrap_or_default(),
    )?;
    let answers = written
        .ui
        .map(|ui| ui.into_iter().map(read_answer).collect());
    for path in written.files.keys().chain(&written.project) {
        stays_inside(path)?;
    }
    Ok(TestDefinition {
        name: written.name,
        calls: calls?,
        stubs: has_stubs.then_some(stubs),
        is_live: written.live,
        project: written.project,
        files: written.files,
        env: written.env,
        answers: answers.transpose()?,
        session: written.session,
        timeout: written.timeout_ms.map(Duration::from_millis),
        skip: written.skip,
        has_check: written.check,
    })
}

/// Checks a test of a server's tools, whose world is the server's.
fn served(test: &TestDefinition) -> Result<(), String> {
    let has_own_world = test.stubs.is_some()
        || test.session.is_some()
        || test.project.is_some()
        || !(test.files.is_empty() && test.env.is_empty());
    if has_own_world {
        let keys = "`exec`, `fetch`, `session`, `project`, `files` and `env`";
        return Err(format!("{keys} do not reach an MCP server: leave them out"));
    }
    match test.calls.iter().find(|call| call.tool.is_none()) {
        Some(_) => Err("`tool` says which tool of the server is called".to_owned()),
        None => Ok(()),
    }
}

fn call(written: WrittenCall) -> Result<CallDefinition, String> {
    Ok(CallDefinition {
        tool: written.tool,
        arguments: written
            .arguments
            .unwrap_or_else(|| Value::Object(Map::new())),
        expect: read_expectation(written.expect.unwrap_or(Value::Null))?,
    })
}

fn stays_inside(path: &str) -> Result<(), String> {
    let mut parts = Path::new(path).components();
    let is_plain = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if is_plain && !path.is_empty() {
        Ok(())
    } else {
        Err(format!("`{path}` leads out of the folder"))
    }
}

/// Returns the JSON Schema of a test file, for editors (`types/tool-test.schema.json`): an object with
/// tests, or just the list of tests.
pub fn json_schema() -> Value {
    let settings = SchemaSettings::draft07();
    let mut generator = settings.into_generator();
    let file = generator.subschema_for::<WrittenFile>();
    let test = generator.subschema_for::<WrittenTest>();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Tests of a tool (*.tool-test.json)",
        "anyOf": [file, {"type": "array", "items": test}],
        "definitions": generator.take_definitions(true),
    })
}
