//! Builds a definition from the options of `haft tool add`, one after the other (spec cycod S).
//!
//! An option sets a key, and the schema of the format says which value the key takes. The parser of
//! the format validates the resulting file. Values of parameters are typed at the end, when the
//! types are known.

use super::usage;
use crate::tool_files::{Datum, Draft, Key, Number};
use haft_tool::Error;

/// Part of the definition that an option belongs to: the tool, the last step or the last test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Tool,
    Step,
    Test,
}

/// The options that set one key, with its path.
const KEYS: [(&str, Part, &str); 34] = [
    ("description", Part::Tool, "description"),
    ("bash", Part::Tool, "bash"),
    ("cmd", Part::Tool, "cmd"),
    ("pwsh", Part::Tool, "pwsh"),
    ("run", Part::Tool, "run"),
    ("script", Part::Tool, "script"),
    ("shell", Part::Tool, "shell"),
    ("input", Part::Tool, "input"),
    ("working-directory", Part::Tool, "working-directory"),
    ("timeout", Part::Tool, "timeout"),
    ("platform", Part::Tool, "platforms"),
    ("tag", Part::Tool, "tags"),
    (
        "security-privilege",
        Part::Tool,
        "security.execution-privilege",
    ),
    ("security-isolation", Part::Tool, "security.isolation"),
    (
        "security-permission",
        Part::Tool,
        "security.required-permissions",
    ),
    ("inherit-env", Part::Tool, "environment.inherit"),
    ("command-default", Part::Tool, "commands.default"),
    ("command-windows", Part::Tool, "commands.platforms.windows"),
    ("command-linux", Part::Tool, "commands.platforms.linux"),
    ("command-macos", Part::Tool, "commands.platforms.macos"),
    ("continue-on-error", Part::Step, "continue-on-error"),
    ("run-condition", Part::Step, "run-condition"),
    ("parallel", Part::Step, "parallel"),
    ("wait-for", Part::Step, "wait-for"),
    (
        "retry-attempts",
        Part::Step,
        "error-handling.retry.attempts",
    ),
    ("retry-delay", Part::Step, "error-handling.retry.delay"),
    ("fallback", Part::Step, "error-handling.fallback"),
    ("output-mode", Part::Step, "output.mode"),
    ("output-buffer-limit", Part::Step, "output.buffer-limit"),
    ("expect-exit-code", Part::Test, "expected.exit-code"),
    ("expect-output", Part::Test, "expected.output-contains"),
    ("expect-file-exists", Part::Test, "expected.file-exists"),
    ("cleanup", Part::Test, "cleanup"),
    ("test-param", Part::Test, "parameters"),
];

/// The options that take a name first.
const NAMED: [&str; 8] = [
    "env-var",
    "step",
    "step-command-default",
    "step-command-windows",
    "step-command-linux",
    "step-command-macos",
    "parameter",
    "test",
];

/// The keys that may follow `--parameter NAME DESCRIPTION` (spec cycod 160).
const RULES: [(&str, &str); 13] = [
    ("type", "type"),
    ("required", "required"),
    ("default", "default"),
    ("min-length", "validation.minLength"),
    ("max-length", "validation.maxLength"),
    ("pattern", "validation.pattern"),
    ("min", "validation.minimum"),
    ("max", "validation.maximum"),
    ("enum", "validation.enum"),
    ("transform", "transform"),
    ("format", "format"),
    ("example", "examples"),
    ("escape-shell", "security.escape-shell"),
];

/// Returns all options that describe the tool.
pub(super) fn options() -> impl Iterator<Item = String> {
    let keys = KEYS.iter().map(|(name, _, _)| *name);
    keys.chain(NAMED).map(|name| format!("--{name}"))
}

/// Iterator over the words, with their options.
pub(super) struct Words {
    pub(super) rest: std::vec::IntoIter<String>,
    /// Value after the `=` of the current option.
    pub(super) attached: Option<String>,
}

impl Words {
    /// Returns the next word unconditionally, since a value may start with `--`.
    pub(super) fn value(&mut self, option: &str, what: &str) -> Result<String, Error> {
        let word = self.attached.take().or_else(|| self.rest.next());
        word.ok_or_else(|| usage(format!("`{option}` needs {what}")))
    }

    /// Returns the next word unless it is an option.
    pub(super) fn plain(&mut self) -> Option<String> {
        let next = self.rest.as_slice().first()?;
        if next.starts_with("--") {
            None
        } else {
            self.rest.next()
        }
    }
}

/// A definition under construction.
#[derive(Default)]
pub(super) struct Building {
    pub(super) draft: Draft,
    steps: Vec<(String, Draft)>,
    parameters: Vec<Parameter>,
    tests: Vec<Test>,
}

#[derive(Default)]
struct Test {
    draft: Draft,
    parameters: Vec<(String, String)>,
}

/// A parameter whose values have no types yet.
struct Parameter {
    name: String,
    description: String,
    /// Key, path in the definition and text of each `key=value`.
    rules: Vec<(&'static str, &'static str, String)>,
}

impl Building {
    /// Applies an option with its values. Returns false if the option is unknown.
    pub(super) fn take(&mut self, option: &str, words: &mut Words) -> Result<bool, Error> {
        let name = option.trim_start_matches('-');
        match name {
            "env-var" => {
                let (name, value) = pair(option, &words.value(option, "NAME=VALUE")?)?;
                let keys = ["environment", "variables", &name];
                self.draft.set(&keys, Datum::Text(value));
            }
            "parameter" => self.parameter(option, words)?,
            "step" => {
                let name = words.value(option, "a name and a command")?;
                let command = words.value(option, "a command after the name")?;
                let mut step = Draft::default();
                step.set(&["name"], Datum::Text(name.clone()));
                step.set(&["bash"], Datum::Text(command));
                self.steps.push((name, step));
            }
            "test" => {
                let name = words.value(option, "a name and a description")?;
                let description = words.value(option, "a description after the name")?;
                let mut test = Test::default();
                test.draft.set(&["name"], Datum::Text(name));
                test.draft.set(&["description"], Datum::Text(description));
                self.tests.push(test);
            }
            _ if name.starts_with("step-command-") && NAMED.contains(&name) => {
                self.step_command(option, words)?;
            }
            _ => {
                let Some((_, part, path)) = KEYS.iter().find(|(own, _, _)| *own == name) else {
                    return Ok(false);
                };
                self.key(option, *part, path, words)?;
            }
        }
        Ok(true)
    }

    /// Applies an option that sets one key.
    fn key(
        &mut self,
        option: &str,
        part: Part,
        path: &str,
        words: &mut Words,
    ) -> Result<(), Error> {
        let none = |part: &str, example: &str| {
            let text = format!("`{option}` says something about a {part}, and there is none");
            usage(text).with_hint(format!("write it after a `{example}`"))
        };
        let (draft, key) = match part {
            Part::Tool => (&mut self.draft, path.to_owned()),
            Part::Step => match self.steps.last_mut() {
                Some((_, step)) => (step, format!("steps.{path}")),
                None => return Err(none("step", "--step NAME COMMAND")),
            },
            Part::Test => match self.tests.last_mut() {
                Some(test) if path == "parameters" => {
                    let value = words.value(option, "a value")?;
                    test.parameters.push(pair(option, &value)?);
                    return Ok(());
                }
                Some(test) => (&mut test.draft, format!("tests.{path}")),
                None => return Err(none("test", "--test NAME DESCRIPTION")),
            },
        };
        let key = Key::at(&key);
        let keys: Vec<&str> = path.split('.').collect();
        if part == Part::Step && key.is_flag() {
            draft.set(&keys, Datum::Bool(true));
            return Ok(());
        }
        let text = words.value(option, key.wanted())?;
        if option == "--wait-for" {
            draft.set(&keys, list(&text));
        } else if key.is_list() {
            draft.push(&keys, Datum::Text(text));
        } else {
            draft.set(&keys, value(key, option, &text)?);
        }
        Ok(())
    }

    /// Applies `--step-command-linux NAME COMMAND`. The step's own command becomes the default.
    fn step_command(&mut self, option: &str, words: &mut Words) -> Result<(), Error> {
        let name = words.value(option, "a step's name and a command")?;
        let command = words.value(option, "a command after the name")?;
        let Some((_, step)) = self.steps.iter_mut().find(|(own, _)| *own == name) else {
            let text = format!("`{option} {name}`: there is no step `{name}`");
            return Err(usage(text).with_hint("define it before, with `--step NAME COMMAND`"));
        };
        if let Some(own) = step.take("bash") {
            step.set(&["commands", "default"], own);
        }
        let keys: &[&str] = match option.trim_start_matches("--step-command-") {
            "default" => &["commands", "default"],
            platform => &["commands", "platforms", platform],
        };
        step.set(keys, Datum::Text(command));
        Ok(())
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

    /// Adds the steps, parameters and tests to the draft, after the last option.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        for (_, step) in std::mem::take(&mut self.steps) {
            self.draft.push(&["steps"], step.into_data());
        }
        for mut test in std::mem::take(&mut self.tests) {
            for (name, value) in test.parameters {
                let parameter = self.parameters.iter().find(|own| own.name == name);
                let kind = parameter.map_or("string", Parameter::kind);
                test.draft.set(&["parameters", &name], typed(kind, &value));
            }
            self.draft.push(&["tests"], test.draft.into_data());
        }
        for parameter in std::mem::take(&mut self.parameters) {
            let data = parameter.data()?;
            self.draft.set(&["parameters", &parameter.name], data);
        }
        Ok(())
    }
}

impl Parameter {
    /// Parses the words after `--parameter`.
    fn read(option: &str, words: &mut Words) -> Result<Parameter, Error> {
        let name = words.value(option, "a name and a description")?;
        // The second word is always the description.
        let description = words.value(option, "a description after the name")?;
        let mut rules = Vec::new();
        while let Some(word) = words.plain() {
            let Some((key, value)) = word.split_once('=') else {
                let text = format!("`{word}` after `--parameter {name}` is not KEY=VALUE");
                let hint = "a description with spaces needs quotes";
                return Err(usage(text).with_hint(hint));
            };
            let Some((key, path)) = RULES.iter().find(|(own, _)| *own == key) else {
                let text = format!("a parameter has no `{key}`");
                let hint = format!("there are {}", RULES.map(|(own, _)| own).join(", "));
                return Err(usage(text).with_hint(hint));
            };
            rules.push((*key, *path, value.to_owned()));
        }
        Ok(Parameter {
            name,
            description,
            rules,
        })
    }

    fn kind(&self) -> &str {
        let mut rules = self.rules.iter().rev();
        let kind = rules.find(|(key, _, _)| *key == "type");
        kind.map_or("string", |(_, _, kind)| kind)
    }

    fn data(&self) -> Result<Datum, Error> {
        let kind = self.kind();
        let mut draft = Draft::default();
        draft.set(&["type"], Datum::Text(kind.to_owned()));
        draft.set(&["description"], Datum::Text(self.description.clone()));
        for (key, path, text) in &self.rules {
            let keys: Vec<&str> = path.split('.').collect();
            match *key {
                "default" => draft.set(&keys, typed(kind, text)),
                "example" => draft.push(&keys, typed(kind, text)),
                "enum" => {
                    // For a list, the choices have the type of its items.
                    let choices = text.split(',').map(|choice| match kind {
                        "number" | "boolean" => typed(kind, choice.trim()),
                        _ => Datum::Text(choice.trim().to_owned()),
                    });
                    draft.set(&keys, Datum::List(choices.collect()));
                }
                key => {
                    let own = Key::at(&format!("parameters.{path}"));
                    draft.set(&keys, value(own, &format!("{key}="), text)?);
                }
            }
        }
        Ok(draft.into_data())
    }
}

/// Converts the text that was given for a key.
fn value(key: Key, option: &str, text: &str) -> Result<Datum, Error> {
    key.value(text).ok_or_else(|| {
        let wanted = key.wanted();
        usage(format!("`{option}` must be {wanted}, not `{text}`"))
    })
}

/// Converts the value of a parameter to its type. An invalid value stays text, so that the parser of
/// the format reports it.
fn typed(kind: &str, value: &str) -> Datum {
    let text = || Datum::Text(value.to_owned());
    match kind {
        "number" => Number::parse(value).map_or_else(text, Datum::Number),
        "boolean" => match value {
            "true" => Datum::Bool(true),
            "false" => Datum::Bool(false),
            _ => text(),
        },
        "array" => match Datum::from_json(value) {
            Some(items @ Datum::List(_)) => items,
            _ => list(value),
        },
        "object" => match Datum::from_json(value) {
            Some(object @ Datum::Object(_)) => object,
            _ => text(),
        },
        _ => text(),
    }
}

fn list(names: &str) -> Datum {
    let names = names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    Datum::List(names.map(|name| Datum::Text(name.to_owned())).collect())
}

fn pair(option: &str, text: &str) -> Result<(String, String), Error> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(usage(format!("`{option} {text}` is no NAME=VALUE"))),
    }
}
