//! Tests of tools without a model: `*.tool-test.{json,ts}` beside a module (docs/testing.md).
//!
//! A test makes calls and checks their results. Each test has its own host and its own folder. It
//! reaches neither network nor programs; recorded answers take their place. Nothing here prints.

mod definition;
mod find;
mod schema;
mod script;

mod cassette;
mod replay;
mod secrets;
mod served;

mod recorder;
mod test_file;

mod assertions;
mod runner;
mod scripted_user;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use cassette::Cassettes;
use definition::TestDefinition;
pub use definition::json_schema;
pub(crate) use find::{TestFile, find};
use haft_config::Config;
use haft_tool::Problem;
pub(crate) use recorder::{Recorder, TestCase};
use script::Script;
use secrets::Secrets;

/// Source of the answers to `exec` and `fetch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum World {
    /// Recorded answers only.
    Replayed,
    /// Real answers, which are recorded.
    Recorded,
    /// Real answers.
    Live,
}

/// Settings for all tests of a run.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) world: World,
    /// Timeout of a call in a test that does not set one.
    pub(crate) timeout: Duration,
    /// The user's configuration: a recorded call of an MCP server's tool needs it.
    pub(crate) config: Config,
    /// System folder for temporary files.
    pub(crate) temp_dir: PathBuf,
    /// Values that must not appear in a recording.
    pub(crate) secrets: Vec<String>,
    /// Fires when the run is to end, and stops the running test.
    pub(crate) stop: CancellationToken,
}

/// A parsed test file.
pub(crate) struct Suite {
    /// Path of the test file.
    pub(crate) path: PathBuf,
    subject: Subject,
    tests: Vec<TestDefinition>,
    script: Option<Script>,
    cassettes: Cassettes,
    secrets: Secrets,
}

/// Subject of the tests of a file.
#[derive(Clone, Debug)]
enum Subject {
    Module(PathBuf),
    /// The MCP server of this name.
    Server(String),
}

/// Result of a test.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) status: Status,
    /// Remarks that do not change the status.
    pub(crate) notes: Vec<String>,
    pub(crate) duration: Duration,
}

/// Status of a finished test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Passed,
    /// Contains the reasons, each of one or more lines.
    Failed(Vec<String>),
    /// Contains the author's reason.
    Skipped(String),
}

impl Suite {
    /// Reads a test file. A script is run for that.
    pub(crate) async fn read(file: &TestFile, terms: &Terms) -> Result<Suite, Problem> {
        let problem = |text: String| Problem::error(text).at(&file.path);
        let (written, script) = if file.is_script {
            let (text, script) = Script::load(&file.path, terms).await?;
            (text, Some(script))
        } else {
            let text = tokio::fs::read_to_string(&file.path).await;
            (text.map_err(|error| problem(error.to_string()))?, None)
        };
        let definition = definition::read(&written, script.is_some()).map_err(problem)?;
        let subject = match definition.server {
            Some(server) => Subject::Server(server),
            None => {
                let module = find::module_of(&file.path, definition.module.as_deref());
                Subject::Module(module.map_err(problem)?)
            }
        };
        let secrets = Secrets::new(&terms.secrets);
        let cassettes = Cassettes::open(&file.path).map_err(problem)?;
        Ok(Suite {
            path: file.path.clone(),
            subject,
            tests: definition.tests,
            script,
            cassettes,
            secrets,
        })
    }

    /// Returns the module that the tests are about; `None` for tests of an MCP server.
    pub(crate) fn module(&self) -> Option<&Path> {
        match &self.subject {
            Subject::Module(module) => Some(module),
            Subject::Server(_) => None,
        }
    }

    /// Returns the names of the tests, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(|test| test.name.as_str())
    }

    /// Runs the test at `index`. It ends even if the tool does not.
    pub(crate) async fn run(&mut self, index: usize, terms: &Terms) -> Report {
        let test = &self.tests[index];
        if let Some(why) = &test.skip {
            return Report {
                status: Status::Skipped(why.clone()),
                notes: Vec::new(),
                duration: Duration::ZERO,
            };
        }
        runner::run(self, index, terms).await
    }

    /// Writes new recordings and returns their path, if there are any.
    pub(crate) fn save(&mut self) -> Result<Option<&Path>, Problem> {
        let saved = self.cassettes.save();
        saved.map_err(|error| Problem::error(error).at(&self.path))
    }

    /// Ends the script of the file.
    pub(crate) async fn close(self) {
        if let Some(script) = self.script {
            script.close().await;
        }
    }
}
