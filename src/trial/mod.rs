//! Tests of tools without a model: `*.tool-test.{json,ts}` beside a module (docs/testing.md).
//!
//! A test is calls and what is expected of them. Each has a host of its own, in a folder of its own,
//! and meets no network and no program: what those would say is on tape. Nothing here prints.

mod definition;
mod find;
mod schema;
mod script;

mod cassette;
mod secrets;
mod tape;

mod judge;
mod person;
mod stage;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::tool::Problem;
use cassette::Cassettes;
use definition::TestDefinition;
pub(crate) use find::{TestFile, find};
pub use schema::json_schema;
use script::Script;
use secrets::Secrets;

/// How the world is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum World {
    /// On tape only.
    Replayed,
    /// Really, and what it says goes on tape.
    Recorded,
    /// Really.
    Live,
}

/// What holds for all tests of a run.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) world: World,
    /// How long a call may take where the test says nothing.
    pub(crate) timeout: Duration,
    /// The system's folder for temporary files.
    pub(crate) temp_dir: PathBuf,
    /// Values that must not get into a recording.
    pub(crate) secrets: Vec<String>,
    /// Fires when the run is to end: what runs then is stopped.
    pub(crate) stop: CancellationToken,
}

/// A file with tests, read.
pub(crate) struct Suite {
    /// Where it lies.
    pub(crate) path: PathBuf,
    module: PathBuf,
    tests: Vec<TestDefinition>,
    script: Option<Script>,
    cassettes: Cassettes,
    secrets: Secrets,
}

/// What came of a test.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) status: Status,
    /// What else there is to know.
    pub(crate) notes: Vec<String>,
    pub(crate) duration: Duration,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Passed,
    /// With the reasons, each of one or more lines.
    Failed(Vec<String>),
    /// With the author's reason.
    Skipped(String),
}

impl Suite {
    /// Reads a file; a TypeScript one is run for that.
    pub(crate) async fn read(file: &TestFile, terms: &Terms) -> Result<Suite, Problem> {
        let problem = |text: String| Problem::error(text).at(&file.path);
        let (written, script) = match file.is_script {
            true => {
                let (text, script) = Script::load(&file.path, terms).await?;
                (text, Some(script))
            }
            false => {
                let text = tokio::fs::read_to_string(&file.path).await;
                (text.map_err(|error| problem(error.to_string()))?, None)
            }
        };
        let definition = definition::read(&written, script.is_some()).map_err(problem)?;
        let module = find::module_of(&file.path, definition.module.as_deref()).map_err(problem)?;
        let secrets = Secrets::new(&terms.secrets);
        let cassettes = Cassettes::open(&file.path).map_err(problem)?;
        Ok(Suite {
            path: file.path.clone(),
            module,
            tests: definition.tests,
            script,
            cassettes,
            secrets,
        })
    }

    /// The module that its tests are about.
    pub(crate) fn module(&self) -> &Path {
        &self.module
    }

    /// The names of its tests, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tests.iter().map(|test| test.name.as_str())
    }

    /// Runs the test at `index`. Ends whatever the tool does.
    pub(crate) async fn run(&mut self, index: usize, terms: &Terms) -> Report {
        let test = &self.tests[index];
        if let Some(why) = &test.skip {
            return Report {
                status: Status::Skipped(why.clone()),
                notes: Vec::new(),
                duration: Duration::ZERO,
            };
        }
        stage::run(self, index, terms).await
    }

    /// Writes what was recorded; says where, if anything was.
    pub(crate) fn save(&mut self) -> Result<Option<&Path>, Problem> {
        let saved = self.cassettes.save();
        saved.map_err(|error| Problem::error(error).at(&self.path))
    }

    /// Ends what belongs to the file.
    pub(crate) async fn close(self) {
        if let Some(script) = self.script {
            script.close().await;
        }
    }
}
