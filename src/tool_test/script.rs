//! Test files in TypeScript. Each runs in its own host, as a module that offers two tools.
//!
//! A generated module imports the test file. One of its tools returns the exports, the other calls
//! the function `check` of a test. So the engine does not need to know about tests.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use super::Terms;
use super::runner::quiet_config;
use crate::host::Host;
use haft_tool::{Call, Outcome, Problem, Severity};

/// A running script.
pub(super) struct Script {
    host: Host,
    _folder: TempDir,
}

const LIST: &str = "haft_test_list";
const CHECK: &str = "haft_test_check";

impl Script {
    /// Runs the file and returns its exports as JSON.
    pub(super) async fn load(path: &Path, terms: &Terms) -> Result<(String, Script), Problem> {
        let problem = |text: String| Problem::error(text).at(path);
        let folder = tempfile::Builder::new()
            .prefix("haft-test-")
            .tempdir_in(&terms.temp_dir)
            .map_err(|error| problem(format!("no temporary folder can be made: {error}")))?;
        let url =
            Url::from_file_path(path).map_err(|()| problem("its path is not absolute".into()))?;
        let module = folder.path().join("tests.mjs");
        std::fs::write(&module, wrapper(&url))
            .map_err(|error| problem(format!("a temporary file cannot be written: {error}")))?;
        let cwd = path.parent().unwrap_or(Path::new("/"));
        let mut config = quiet_config(cwd, folder.path(), Some(&module), terms)
            .map_err(|error| problem(error.to_string()))?;
        config.limits.call_timeout = Some(terms.timeout);
        let script = Script {
            host: Host::for_trial(config, None, Default::default()),
            _folder: folder,
        };
        let catalog = script.host.catalog().await;
        let is_error = |problem: &&Problem| problem.severity == Severity::Error;
        if let Some(broken) = catalog.problems.iter().find(is_error) {
            let mut broken = broken.clone();
            broken.path = Some(path.to_owned());
            script.close().await;
            return Err(broken);
        }
        let listed = script.call(LIST, json!({})).await;
        match listed {
            Ok(outcome) if !outcome.is_error => Ok((outcome.text(), script)),
            Ok(outcome) => {
                script.close().await;
                Err(problem(outcome.text()))
            }
            Err(text) => {
                script.close().await;
                Err(problem(text))
            }
        }
    }

    /// Runs `check` of the test at `index`. The error is the reason for which the check failed.
    pub(super) async fn check(&self, index: usize, results: &Value) -> Result<(), String> {
        let outcome = self
            .call(CHECK, json!({"index": index, "results": results}))
            .await?;
        if outcome.is_error {
            Err(outcome.text())
        } else {
            Ok(())
        }
    }

    /// Ends the script.
    pub(super) async fn close(self) {
        self.host.kill().await;
    }

    async fn call(&self, tool: &str, arguments: Value) -> Result<Outcome, String> {
        let ended = self
            .host
            .call(Call::new(tool, arguments), None)
            .outcome()
            .await;
        ended.map_err(|error| error.to_string())
    }
}

fn wrapper(tests: &Url) -> String {
    format!(
        r#"import written from {url};
const tests = Array.isArray(written) ? written : written?.tests;
const says = (text, isError) => ({{ content: [{{ type: "text", text }}], isError }});
const tool = (name, execute) => ({{ name, description: name, parameters: {{ type: "object" }}, execute }});
const described = (test) => typeof test?.check === "function" ? {{ ...test, check: true }} : test;
export default () => [
  tool("{LIST}", () => {{
    if (!Array.isArray(tests)) return says("its default export is not a list of tests", true);
    const list = tests.map(described);
    return says(JSON.stringify(Array.isArray(written) ? list : {{ ...written, tests: list }}), false);
  }}),
  tool("{CHECK}", async (_id, {{ index, results }}) => {{
    await tests[index].check(...results);
    return says("", false);
  }}),
];
"#,
        url = Value::from(tests.as_str()),
    )
}
