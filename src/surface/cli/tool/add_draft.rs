//! Builds a definition from the options of `haft tool add`, one after the other.
//!
//! This module interprets the options. The parser of the format validates the resulting file.
//! Values are typed at the end, when the types of the parameters are known.

use super::add_parameter::Parameter;
use super::add_values::{flag, list, pair, typed, whole};
use super::add_words::Words;
use super::usage;
use crate::tool_files::{Datum, Draft, push, set};
use haft_tool::Error;

/// All options that describe the tool.
pub(super) const OPTIONS: &[&str] = &[
    "--description",
    "--bash",
    "--cmd",
    "--pwsh",
    "--run",
    "--script",
    "--shell",
    "--input",
    "--working-directory",
    "--timeout",
    "--platform",
    "--tag",
    "--security-privilege",
    "--security-isolation",
    "--security-permission",
    "--env-var",
    "--inherit-env",
    "--command-default",
    "--command-windows",
    "--command-linux",
    "--command-macos",
    "--step",
    "--step-command-default",
    "--step-command-windows",
    "--step-command-linux",
    "--step-command-macos",
    "--continue-on-error",
    "--run-condition",
    "--parallel",
    "--wait-for",
    "--retry-attempts",
    "--retry-delay",
    "--fallback",
    "--output-mode",
    "--output-buffer-limit",
    "--parameter",
    "--test",
    "--test-param",
    "--expect-exit-code",
    "--expect-output",
    "--expect-file-exists",
    "--cleanup",
];

/// A definition under construction.
#[derive(Default)]
pub(super) struct Building {
    pub(super) draft: Draft,
    steps: Vec<(String, Datum)>,
    parameters: Vec<Parameter>,
    tests: Vec<Test>,
}

struct Test {
    data: Datum,
    parameters: Vec<(String, String)>,
}

impl Building {
    /// Applies an option with its values. Returns false if the option is unknown.
    pub(super) fn take(&mut self, option: &str, words: &mut Words) -> Result<bool, Error> {
        let name = option.trim_start_matches('-');
        match name {
            "description" | "bash" | "cmd" | "pwsh" | "run" | "script" | "shell" | "input"
            | "working-directory" => {
                let value = words.value(option, "a value")?;
                self.draft.set(&[name], Datum::Text(value));
            }
            "timeout" => {
                let value = whole(option, &words.value(option, "milliseconds")?)?;
                self.draft.set(&["timeout"], value);
            }
            "platform" => self.add(&["platforms"], words.value(option, "a platform")?),
            "tag" => self.add(&["tags"], words.value(option, "a tag")?),
            "security-permission" => {
                let value = words.value(option, "a permission")?;
                self.add(&["security", "required-permissions"], value);
            }
            "security-privilege" => {
                let value = Datum::Text(words.value(option, "a level")?);
                self.draft.set(&["security", "execution-privilege"], value);
            }
            "security-isolation" => {
                let value = Datum::Text(words.value(option, "a level")?);
                self.draft.set(&["security", "isolation"], value);
            }
            "env-var" => {
                let (name, value) = pair(option, &words.value(option, "NAME=VALUE")?)?;
                let keys = ["environment", "variables", &name];
                self.draft.set(&keys, Datum::Text(value));
            }
            "inherit-env" => {
                let value = flag(option, &words.value(option, "true or false")?)?;
                self.draft.set(&["environment", "inherit"], value);
            }
            "command-default" => {
                let value = Datum::Text(words.value(option, "a command")?);
                self.draft.set(&["commands", "default"], value);
            }
            "command-windows" | "command-linux" | "command-macos" => {
                let platform = name.trim_start_matches("command-");
                let value = Datum::Text(words.value(option, "a command")?);
                self.draft.set(&["commands", "platforms", platform], value);
            }
            "parameter" => self.parameter(option, words)?,
            _ => return Ok(self.step(option, name, words)? || self.test(option, name, words)?),
        }
        Ok(true)
    }

    fn add(&mut self, keys: &[&str], value: String) {
        self.draft.push(keys, Datum::Text(value));
    }

    fn parameter(&mut self, option: &str, words: &mut Words) -> Result<(), Error> {
        let parameter = Parameter::read(option, words)?;
        let name = &parameter.name;
        if self.parameters.iter().any(|own| own.name == *name) {
            return Err(usage(format!("the parameter `{name}` is given twice")));
        }
        self.parameters.push(parameter);
        Ok(())
    }

    fn step(&mut self, option: &str, name: &str, words: &mut Words) -> Result<bool, Error> {
        if let Some(platform) = name.strip_prefix("step-command-") {
            return self.step_command(option, platform, words);
        }
        if name == "step" {
            let name = words.value(option, "a name and a command")?;
            let command = words.value(option, "a command after the name")?;
            let mut step = Datum::Null;
            set(&mut step, &["name"], Datum::Text(name.clone()));
            set(&mut step, &["bash"], Datum::Text(command));
            self.steps.push((name, step));
            return Ok(true);
        }
        let Some((keys, kind)) = STEP
            .iter()
            .find_map(|(own, keys, kind)| (*own == name).then_some((*keys, *kind)))
        else {
            return Ok(false);
        };
        let Some((_, step)) = self.steps.last_mut() else {
            let text = format!("`{option}` says something about a step, and there is none");
            return Err(usage(text).with_hint("write it after a `--step NAME COMMAND`"));
        };
        let value = match kind {
            Value::Set => Datum::Bool(true),
            Value::Whole => whole(option, &words.value(option, "a number")?)?,
            Value::Text => Datum::Text(words.value(option, "a value")?),
            Value::Names => {
                let names = words.value(option, "names of steps")?;
                list(&names)
            }
        };
        set(step, keys, value);
        Ok(true)
    }

    /// Applies `--step-command-linux NAME COMMAND`. The step's own command becomes the default.
    fn step_command(
        &mut self,
        option: &str,
        platform: &str,
        words: &mut Words,
    ) -> Result<bool, Error> {
        if !matches!(platform, "default" | "windows" | "linux" | "macos") {
            return Ok(false);
        }
        let name = words.value(option, "a step's name and a command")?;
        let command = words.value(option, "a command after the name")?;
        let Some((_, step)) = self.steps.iter_mut().find(|(own, _)| *own == name) else {
            let text = format!("`{option} {name}`: there is no step `{name}`");
            return Err(usage(text).with_hint("define it before, with `--step NAME COMMAND`"));
        };
        if let Datum::Object(entries) = step
            && let Some(at) = entries.iter().position(|(key, _)| key == "bash")
        {
            let (_, own) = entries.remove(at);
            set(step, &["commands", "default"], own);
        }
        let keys: &[&str] = match platform {
            "default" => &["commands", "default"],
            other => &["commands", "platforms", other],
        };
        set(step, keys, Datum::Text(command));
        Ok(true)
    }

    fn test(&mut self, option: &str, name: &str, words: &mut Words) -> Result<bool, Error> {
        if name == "test" {
            let name = words.value(option, "a name and a description")?;
            let description = words.value(option, "a description after the name")?;
            let mut data = Datum::Null;
            set(&mut data, &["name"], Datum::Text(name));
            set(&mut data, &["description"], Datum::Text(description));
            self.tests.push(Test {
                data,
                parameters: Vec::new(),
            });
            return Ok(true);
        }
        let is_ours = matches!(
            name,
            "test-param" | "expect-exit-code" | "expect-output" | "expect-file-exists" | "cleanup"
        );
        if !is_ours {
            return Ok(false);
        }
        let Some(test) = self.tests.last_mut() else {
            let text = format!("`{option}` says something about a test, and there is none");
            return Err(usage(text).with_hint("write it after a `--test NAME DESCRIPTION`"));
        };
        let value = words.value(option, "a value")?;
        match name {
            "test-param" => test.parameters.push(pair(option, &value)?),
            "expect-exit-code" => {
                set(
                    &mut test.data,
                    &["expected", "exit-code"],
                    whole(option, &value)?,
                );
            }
            "expect-output" => {
                let keys = ["expected", "output-contains"];
                push(&mut test.data, &keys, Datum::Text(value));
            }
            "expect-file-exists" => {
                let keys = ["expected", "file-exists"];
                push(&mut test.data, &keys, Datum::Text(value));
            }
            _ => push(&mut test.data, &["cleanup"], Datum::Text(value)),
        }
        Ok(true)
    }

    /// Adds the steps, parameters and tests to the draft, after the last option.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        for (_, step) in std::mem::take(&mut self.steps) {
            self.draft.push(&["steps"], step);
        }
        for mut test in std::mem::take(&mut self.tests) {
            for (name, value) in test.parameters {
                let parameter = self.parameters.iter().find(|own| own.name == name);
                let kind = parameter.map_or("string", Parameter::kind);
                set(&mut test.data, &["parameters", &name], typed(kind, &value));
            }
            self.draft.push(&["tests"], test.data);
        }
        for parameter in std::mem::take(&mut self.parameters) {
            let data = parameter.data()?;
            self.draft.set(&["parameters", &parameter.name], data);
        }
        Ok(())
    }
}

/// Kind of value that an option of a step takes.
#[derive(Clone, Copy)]
enum Value {
    /// None: the option is a flag.
    Set,
    Whole,
    Text,
    Names,
}

const STEP: [(&str, &[&str], Value); 9] = [
    ("continue-on-error", &["continue-on-error"], Value::Set),
    ("run-condition", &["run-condition"], Value::Text),
    ("parallel", &["parallel"], Value::Set),
    ("wait-for", &["wait-for"], Value::Names),
    (
        "retry-attempts",
        &["error-handling", "retry", "attempts"],
        Value::Whole,
    ),
    (
        "retry-delay",
        &["error-handling", "retry", "delay"],
        Value::Whole,
    ),
    ("fallback", &["error-handling", "fallback"], Value::Text),
    ("output-mode", &["output", "mode"], Value::Text),
    (
        "output-buffer-limit",
        &["output", "buffer-limit"],
        Value::Text,
    ),
];
