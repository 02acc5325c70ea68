//! A project with YAML shell tools and the results of their calls, for their tests.
//!
//! The project is deep in the sandbox, and the folder for temporary files is in the sandbox too. So
//! a hostile path with `..` still ends in the sandbox.

use std::fs;
use std::path::PathBuf;

use haft::approval::ApprovalMode;
use haft::config::Env;
use haft::{Call, ErrorKind, Flags, Host, Outcome};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::sandbox::Sandbox;

/// Path of the project in its sandbox.
pub const DEEP: &str = "down/in/the/sandbox";

/// A trusted project with tools in `.cycod/tools`.
pub struct Project {
    pub sandbox: Sandbox,
    pub host: Host,
}

impl Project {
    pub fn new(tools: &[(&str, &str)]) -> Project {
        Project::configured(tools, "")
    }

    /// Makes a project with the text of a configuration file.
    pub fn configured(tools: &[(&str, &str)], config: &str) -> Project {
        let sandbox = Sandbox::with_home();
        for (name, yaml) in tools {
            sandbox.write(
                &format!("{DEEP}/.cycod/tools/{name}.yaml"),
                &format!("description: d\n{yaml}\n"),
            );
        }
        let root = sandbox.path().join(DEEP);
        let temp = sandbox.path().join("temp/of/the/system");
        let home = root.join("home");
        for folder in [&temp, &home] {
            fs::create_dir_all(folder).expect("a directory of ours");
        }
        let global = root.join("global").display().to_string();
        let env = Env {
            current_dir: Some(root),
            home: Some(home),
            tmpdir: Some(temp),
            haft: [("CYCOD_GLOBAL_DIR".to_owned(), global)].into(),
            ..Env::default()
        };
        let config = (!config.is_empty()).then(|| sandbox.write("config.yaml", config));
        let flags = Flags {
            trust_project: true,
            approval_mode: Some(ApprovalMode::Yolo),
            config,
            ..Flags::default()
        };
        let config = crate::sandbox::resolve(flags, &env).expect("a configuration");
        let host = Host::new(config);
        Project { sandbox, host }
    }

    pub fn call(&self, tool: &str, arguments: &Value) -> haft::RunningCall {
        self.call_with(tool, arguments.to_string())
    }

    pub fn call_with(&self, tool: &str, arguments: String) -> haft::RunningCall {
        let call = Call {
            id: "c".into(),
            tool: tool.into(),
            arguments: RawValue::from_string(arguments).expect("it is JSON"),
        };
        self.host.call(call, None)
    }

    pub async fn outcome(&self, tool: &str, arguments: Value) -> Outcome {
        let outcome = self.call(tool, &arguments).outcome().await;
        outcome.unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    pub async fn text(&self, tool: &str, arguments: Value) -> String {
        let root = self.path("").display().to_string();
        let root = root.trim_end_matches('/');
        self.outcome(tool, arguments)
            .await
            .text()
            .replace(root, "$ROOT")
    }

    pub async fn error(&self, tool: &str, arguments: Value) -> (ErrorKind, String) {
        let error = self.call(tool, &arguments).outcome().await.expect_err(tool);
        (error.kind(), error.message().to_owned())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path().join(DEEP).join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// Runs a single tool `t` and returns its output; panics if the tool fails.
pub async fn output(yaml: &str, arguments: Value) -> String {
    let outcome = Project::new(&[("t", yaml)]).outcome("t", arguments).await;
    assert!(!outcome.is_error, "{}", outcome.text());
    outcome.text()
}

/// Runs a single tool `t` that must fail, and returns its error.
pub async fn failure(yaml: &str, arguments: Value) -> String {
    let outcome = Project::new(&[("t", yaml)]).outcome("t", arguments).await;
    assert!(outcome.is_error, "{}", outcome.text());
    outcome.text()
}

/// Returns the output of a bash command with these parameters.
pub async fn filled(command: &str, parameters: &str, arguments: Value) -> String {
    let quoted = command.replace('\'', "''");
    let indented: String = parameters
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    output(
        &format!("bash: '{quoted}'\nparameters:\n{indented}"),
        arguments,
    )
    .await
}

pub const GUARDED_X: &str = "X: {description: d, security: {escape-shell: true}}";
pub const PLAIN_X: &str = "parameters: {X: {description: d}}";
