//! External answers of one test: given in the test, recorded before, or recorded now.
//!
//! Requests are compared after masking secrets and after replacing the test folder by `$CWD`. So a
//! recording works on other machines and contains no secrets.

use std::collections::BTreeMap;
use std::path::PathBuf;

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::secrets::{self, Secrets};
use haft_tool::{Replay, ReplayAnswer, ReplayChannel};

/// Placeholder for the path of the test folder.
pub(super) const CWD: &str = "$CWD";

/// One request and its answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recorded {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exec: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fetch: Option<Value>,
    /// A call of a tool of an MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mcp: Option<Value>,
    pub(super) answer: Value,
}

/// Source of the answers in one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Recorded answers only.
    Replay,
    /// Real answers, which are recorded.
    Record,
    /// Real answers.
    Live,
}

/// Recording of a test, for replay or to be filled.
pub(super) struct TestTape {
    mode: Mode,
    folder: PathBuf,
    secrets: Secrets,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    recorded: Vec<Recorded>,
    /// True for each recorded request that has been answered.
    used: Vec<bool>,
    /// Requests for which no answer was recorded.
    missed: Vec<String>,
}

impl TestTape {
    pub(super) fn new(
        mode: Mode,
        folder: PathBuf,
        secrets: Secrets,
        recorded: Vec<Recorded>,
    ) -> TestTape {
        let mut tape = TestTape {
            mode,
            folder,
            secrets,
            state: Mutex::default(),
        };
        if mode == Mode::Replay {
            // Requests in the test itself get the same form as the requests of the tool.
            let portable = |asked: Option<Value>| asked.map(|asked| tape.portable_request(&asked));
            let recorded = recorded.into_iter().map(|one| Recorded {
                exec: portable(one.exec),
                fetch: portable(one.fetch),
                mcp: portable(one.mcp),
                answer: one.answer,
            });
            let recorded: Vec<Recorded> = recorded.collect();
            tape.state = Mutex::new(State {
                used: vec![false; recorded.len()],
                recorded,
                missed: Vec::new(),
            });
        }
        tape
    }

    /// Returns the recorded requests and answers.
    pub(super) fn recorded(&self) -> Vec<Recorded> {
        self.state.lock().recorded.clone()
    }

    /// Returns the recorded answer to a request, which is not used again; `None` if there is none.
    pub(super) fn answer_to(&self, asked: &Recorded) -> Option<Value> {
        let mut state = self.state.lock();
        let mut all = state.recorded.iter().zip(&state.used);
        let found = all.position(|(recorded, used)| !*used && recorded.answers(asked));
        let Some(index) = found else {
            state.missed.push(asked.title());
            return None;
        };
        state.used[index] = true;
        Some(self.local(&state.recorded[index].answer))
    }

    /// Returns true if recorded answers are used.
    pub(super) fn is_replay(&self) -> bool {
        self.mode == Mode::Replay
    }

    /// Adds recorded requests with their answers.
    pub(super) fn add(&self, recorded: Vec<Recorded>) {
        let mut state = self.state.lock();
        let used = vec![true; recorded.len()];
        state.used.extend(used);
        state.recorded.extend(recorded);
    }

    /// Returns descriptions of the requests that had no answer.
    pub(super) fn missed(&self) -> Vec<String> {
        self.state.lock().missed.clone()
    }

    /// Returns descriptions of the answers that no request used.
    pub(super) fn unused(&self) -> Vec<String> {
        let state = self.state.lock();
        let all = state.recorded.iter().zip(&state.used);
        let unused = all.filter(|(_, is_used)| !**is_used);
        unused.map(|(recorded, _)| recorded.title()).collect()
    }

    /// Returns the request in the form of recordings.
    fn request(&self, reach: ReplayChannel, request: &str) -> Recorded {
        let asked: Value = serde_json::from_str(request).unwrap_or_default();
        let mut kept = Map::new();
        let fields: &[&str] = match reach {
            ReplayChannel::Exec => &["command", "args", "cwd", "input", "inputBytes"],
            ReplayChannel::Fetch => &["method", "url", "headers", "body", "bodyBase64"],
        };
        for field in fields {
            match &asked[*field] {
                Value::Null => {}
                Value::Array(items) if items.is_empty() && *field != "args" => {}
                Value::Object(items) if items.is_empty() => {}
                value => {
                    kept.insert((*field).to_owned(), value.clone());
                }
            }
        }
        let Value::Object(mut kept) = self.portable_request(&Value::Object(kept)) else {
            return Recorded::new(reach, Value::Null, Value::Null);
        };
        if kept.get("cwd").is_some_and(|cwd| cwd == CWD) {
            kept.remove("cwd");
        }
        Recorded::new(reach, Value::Object(kept), Value::Null)
    }

    /// Returns a request without secrets, including those in its headers.
    fn portable_request(&self, request: &Value) -> Value {
        let mut portable = self.portable(request);
        let headers = portable.get_mut("headers").and_then(Value::as_object_mut);
        for (name, value) in headers.into_iter().flatten() {
            if secrets::is_secret_name(name) {
                *value = secrets::MASKED.into();
            }
        }
        portable
    }

    /// Masks secrets and replaces the path of the test folder.
    pub(super) fn portable(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let folder = self.folder.to_string_lossy();
                self.secrets.mask(&text.replace(&*folder, CWD)).into()
            }
            Value::Array(items) => items.iter().map(|item| self.portable(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(key, value)| (key.clone(), self.portable(value)))
                    .collect()
            }
            other => other.clone(),
        }
    }

    /// Restores the path of the test folder in an answer.
    fn local(&self, answer: &Value) -> Value {
        let text = answer.to_string();
        if !text.contains(CWD) {
            return answer.clone();
        }
        let folder = Value::from(&*self.folder.to_string_lossy()).to_string();
        let inner = folder.trim_matches('"');
        serde_json::from_str(&text.replace(CWD, inner)).unwrap_or_else(|_| answer.clone())
    }
}

impl Recorded {
    fn new(reach: ReplayChannel, request: Value, answer: Value) -> Recorded {
        let (exec, fetch) = match reach {
            ReplayChannel::Exec => (Some(request), None),
            ReplayChannel::Fetch => (None, Some(request)),
        };
        Recorded {
            exec,
            fetch,
            mcp: None,
            answer,
        }
    }

    /// Returns true if the request starts the program `name`, or goes to the host `name`.
    pub(super) fn reaches(&self, name: &str) -> bool {
        let url = self.fetch.as_ref().and_then(|fetch| fetch["url"].as_str());
        let url = url.and_then(|url| url::Url::parse(url).ok());
        let host = url.and_then(|url| {
            let port = url.port_or_known_default()?;
            Some(format!("{}:{port}", url.host_str()?))
        });
        let program = self.exec.as_ref().map(|exec| &exec["command"]);
        host.is_some_and(|host| host == name) || program.is_some_and(|program| program == name)
    }

    /// Returns a description of the request.
    fn title(&self) -> String {
        if let Some(mcp) = &self.mcp {
            let tool = mcp["tool"].as_str().unwrap_or_default();
            return format!("the call of `{tool}` with {}", mcp["arguments"]);
        }
        match (&self.exec, &self.fetch) {
            (Some(exec), _) => {
                let args = exec["args"].as_array().into_iter().flatten();
                let words = args.map(|arg| match arg {
                    Value::String(word) => word.clone(),
                    other => other.to_string(),
                });
                let command = exec["command"].as_str().unwrap_or_default().to_owned();
                let words: Vec<String> = [command].into_iter().chain(words).collect();
                format!("exec `{}`", words.join(" "))
            }
            (None, Some(fetch)) => format!(
                "fetch `{} {}`",
                fetch["method"].as_str().unwrap_or("GET"),
                fetch["url"].as_str().unwrap_or_default()
            ),
            (None, None) => "a request without a kind".to_owned(),
        }
    }

    /// Returns true if `self`, which may be handwritten, answers `asked`. Fields that `self` omits
    /// are not compared.
    fn answers(&self, asked: &Recorded) -> bool {
        let fits = |ours: &Option<Value>, theirs: &Option<Value>| match (ours, theirs) {
            (Some(ours), Some(theirs)) => {
                let mut named = ours.as_object().into_iter().flatten();
                named.all(|(key, value)| match key.as_str() {
                    "headers" => has_headers(&theirs[key], value),
                    _ => same(&theirs[key], value),
                })
            }
            (None, None) => true,
            _ => false,
        };
        let same_call = match (&self.mcp, &asked.mcp) {
            (Some(ours), Some(theirs)) => {
                let same = |key: &str| ours[key] == theirs[key];
                same("tool") && same("arguments")
            }
            (None, None) => true,
            _ => false,
        };
        same_call && fits(&self.exec, &asked.exec) && fits(&self.fetch, &asked.fetch)
    }
}

/// Returns true if `asked` has all headers of `wanted`. A multipart boundary differs in every
/// request and is not compared.
fn has_headers(asked: &Value, wanted: &Value) -> bool {
    let kind = |value: &Value| -> String {
        let text = value.as_str().unwrap_or_default();
        text.split("; boundary=")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let mut wanted = wanted.as_object().into_iter().flatten();
    wanted.all(|(name, value)| kind(&asked[name]) == kind(value))
}

/// Compares bodies. Bodies that are JSON are compared as JSON.
fn same(one: &Value, other: &Value) -> bool {
    if one == other {
        return true;
    }
    let parsed = |value: &Value| -> Option<Value> { serde_json::from_str(value.as_str()?).ok() };
    match (parsed(one), parsed(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

impl Replay for TestTape {
    fn play(&self, reach: ReplayChannel, request: &str) -> ReplayAnswer {
        if self.mode != Mode::Replay {
            return ReplayAnswer::World;
        }
        let asked = self.request(reach, request);
        match self.answer_to(&asked) {
            Some(answer) => ReplayAnswer::Answer(answer.to_string()),
            None => ReplayAnswer::Nothing(format!(
                "{} has no answer in this test: `haft test --record` records one",
                asked.title()
            )),
        }
    }

    fn keep(&self, reach: ReplayChannel, request: &str, answer: &str) {
        if self.mode != Mode::Record {
            return;
        }
        let mut answer: Value = serde_json::from_str(answer).unwrap_or_default();
        without_private_headers(&mut answer);
        let mut recorded = self.request(reach, request);
        recorded.answer = self.portable(&answer);
        let mut state = self.state.lock();
        state.recorded.push(recorded);
        state.used.push(true);
    }
}

/// Removes headers that identify the client, and headers that do not match the stored body.
fn without_private_headers(answer: &mut Value) {
    const DROPPED: &[&str] = &[
        "set-cookie",
        "www-authenticate",
        "content-encoding",
        "content-length",
        "transfer-encoding",
        "connection",
        "date",
    ];
    let headers = answer.pointer_mut("/response/headers");
    if let Some(headers) = headers.and_then(Value::as_array_mut) {
        headers.retain(|header| {
            let name = header[0].as_str().unwrap_or_default();
            !DROPPED.contains(&name) && !secrets::is_secret_name(name)
        });
    }
}

/// An answer to `pi.exec`. What of a request is not mentioned does not matter.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ExecStub {
    /// The program that the tool starts.
    command: String,
    /// Its arguments.
    args: Option<Vec<String>>,
    /// Working directory.
    cwd: Option<String>,
    /// Its standard input.
    input: Option<String>,
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
    #[serde(default)]
    code: i32,
    #[serde(default)]
    killed: bool,
    /// The program is not there, or cannot be started: the message.
    error: Option<String>,
}

/// An answer to `fetch`. What of a request is not mentioned does not matter.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct FetchStub {
    /// The address that the tool asks.
    url: String,
    /// Method: `GET` and its like.
    method: Option<String>,
    /// Headers that the request must have; where a name says that it is secret, any value will do.
    request_headers: Option<BTreeMap<String, String>>,
    request_body: Option<String>,
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    /// A body in JSON.
    json: Option<Value>,
    /// The network fails: the message.
    error: Option<String>,
}

/// Parses the answers that a test itself contains.
pub(super) fn read_stubs(exec: Vec<Value>, fetch: Vec<Value>) -> Result<Vec<Recorded>, String> {
    let mut all = Vec::new();
    for (index, written) in exec.into_iter().enumerate() {
        let stub: ExecStub =
            serde_json::from_value(written).map_err(|error| format!("`exec[{index}]`: {error}"))?;
        all.push(stub.into_recorded());
    }
    for (index, written) in fetch.into_iter().enumerate() {
        let stub: FetchStub = serde_json::from_value(written)
            .map_err(|error| format!("`fetch[{index}]`: {error}"))?;
        all.push(stub.into_recorded());
    }
    Ok(all)
}

impl ExecStub {
    fn into_recorded(self) -> Recorded {
        let mut request = Map::new();
        request.insert("command".into(), self.command.into());
        let optional = [
            ("args", self.args.map(Value::from)),
            ("cwd", self.cwd.map(Value::from)),
            ("input", self.input.map(Value::from)),
        ];
        for (key, value) in optional {
            request.extend(value.map(|value| (key.to_owned(), value)));
        }
        let answer = match self.error {
            Some(message) => json!({
                "stdout": "", "stderr": "", "code": 0, "killed": false,
                "error": {"code": "ENOENT", "message": message, "type": false},
            }),
            None => json!({
                "stdout": self.stdout, "stderr": self.stderr, "code": self.code, "killed": self.killed,
            }),
        };
        Recorded::new(ReplayChannel::Exec, Value::Object(request), answer)
    }
}

impl FetchStub {
    fn into_recorded(self) -> Recorded {
        let mut request = Map::new();
        // `Request` normalises the URL: `https://example.org` gets its slash.
        let url = url::Url::parse(&self.url).map_or(self.url.clone(), String::from);
        request.insert("url".into(), url.clone().into());
        request.extend(
            self.method
                .map(|method| ("method".to_owned(), method.to_uppercase().into())),
        );
        if let Some(headers) = self.request_headers {
            let headers = headers.into_iter();
            let headers = headers.map(|(name, value)| (name.to_lowercase(), value.into()));
            request.insert("headers".into(), Value::Object(headers.collect()));
        }
        request.extend(
            self.request_body
                .map(|body| ("body".to_owned(), body.into())),
        );
        let answer = match self.error {
            Some(message) => json!({"error": {"name": "TypeError", "message": message}}),
            None => {
                let mut headers = self.headers;
                let body = match self.json {
                    Some(json) => {
                        let kind = "application/json".to_owned();
                        headers.entry("content-type".to_owned()).or_insert(kind);
                        Some(json.to_string())
                    }
                    None => self.body,
                };
                let headers: Vec<[String; 2]> = headers
                    .into_iter()
                    .map(|(name, value)| [name, value])
                    .collect();
                json!({"response": {
                    "status": self.status.unwrap_or(200), "headers": headers, "url": url, "body": body,
                }})
            }
        };
        Recorded::new(ReplayChannel::Fetch, Value::Object(request), answer)
    }
}
