//! The steps of a tool (spec cycod J–L).

use super::super::definition::{
    Datum, ErrorHandling, Output, OutputMode, Retry, Step, StepWork, StreamTo, UseTool,
};
use super::super::report::Report;
use super::super::yaml::{Node, Value};
use super::{command, flag, millis, sections, text, texts, word};

/// Returns all steps that can be read.
pub(super) fn steps(node: &Node, report: &mut Report<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for item in node.items() {
        let Some(step) = step(item, report) else {
            continue;
        };
        match steps.iter().find(|other| other.name == step.name) {
            Some(_) => report.error(
                step.place,
                format!("Duplicate step name: '{}'.", step.name),
                "rename one of the two steps",
            ),
            None => steps.push(step),
        }
    }
    if node.items().is_empty() && matches!(node.value, Value::List(_)) {
        report.error(
            node.place,
            "Tool must have at least one command or steps.",
            "add a step, or a single command instead of `steps`",
        );
    }
    steps
}

fn step(node: &Node, report: &mut Report<'_>) -> Option<Step> {
    let name = text(node, "name").filter(|name| !name.trim().is_empty());
    let work = work(node, name.as_deref(), report);
    let step = Step {
        name: name.clone().unwrap_or_default(),
        work: work.unwrap_or(StepWork::UseTool(UseTool {
            tool: String::new(),
            with: Vec::new(),
            place: node.place,
        })),
        continue_on_error: flag(node, "continue-on-error").unwrap_or_default(),
        run_condition: text(node, "run-condition"),
        parallel: flag(node, "parallel").unwrap_or_default(),
        wait_for: unique(texts(node, "wait-for")),
        error_handling: error_handling(node),
        output: output(node, report),
        timeout: millis(node, "timeout"),
        working_directory: text(node, "working-directory"),
        environment: node
            .get("environment")
            .map(|own| sections::environment(own, report)),
        input: text(node, "input"),
        place: node.place,
    };
    if name.is_none() && matches!(node.value, Value::Map(_)) {
        report.error(
            node.place,
            "All steps must have a name.",
            "add `name: …` to the step",
        );
    }
    name.map(|_| step)
}

fn work(node: &Node, name: Option<&str>, report: &mut Report<'_>) -> Option<StepWork> {
    let mut kinds = command::KINDS.to_vec();
    kinds.push("use-tool");
    let found = command::present(node, &kinds);
    let what = match name {
        Some(name) => format!("Step '{name}'"),
        None => "A step".to_owned(),
    };
    command::check_shell(node, report);
    if let (Some(with), None) = (node.get("with"), node.get("use-tool")) {
        report.warning(
            with.place,
            "`with` is ignored: there is no `use-tool`",
            "use `use-tool`, or remove `with`",
        );
    }
    match found.as_slice() {
        [] if matches!(node.value, Value::Map(_)) => {
            report.error(
                node.place,
                format!("{what} must have a command."),
                "add `bash: …`, another kind of command, or `use-tool: …`",
            );
            None
        }
        [] => None,
        ["use-tool"] => use_tool(node).map(StepWork::UseTool),
        [kind] => command::command(node, kind, report).map(StepWork::Command),
        several => {
            command::too_many(several, &what, node.place, report);
            None
        }
    }
}

fn use_tool(node: &Node) -> Option<UseTool> {
    let tool = node.get("use-tool")?;
    Some(UseTool {
        tool: tool.text()?.to_owned(),
        with: node.get("with").map(values).unwrap_or_default(),
        place: tool.place,
    })
}

/// Reads a mapping of names to values.
pub(super) fn values(node: &Node) -> Vec<(String, Datum)> {
    node.entries()
        .iter()
        .map(|entry| (entry.key.clone(), entry.value.to_datum()))
        .collect()
}

/// Reads `error-handling:` of a step or of a tool with one command.
pub(super) fn error_handling(node: &Node) -> ErrorHandling {
    let Some(node) = node.get("error-handling") else {
        return ErrorHandling::default();
    };
    let default = Retry::default();
    // `retry:` with nothing below it means the defaults (spec cycod 100).
    let is_written = node.entries().iter().any(|entry| entry.key == "retry");
    let retry = is_written.then(|| {
        let own = node.get("retry");
        let attempts = own.and_then(|own| own.get("attempts")?.whole());
        Retry {
            attempts: attempts
                .and_then(|attempts| u32::try_from(attempts).ok())
                .unwrap_or(default.attempts),
            delay: own
                .and_then(|own| millis(own, "delay"))
                .unwrap_or(default.delay),
        }
    });
    ErrorHandling {
        retry,
        fallback: text(node, "fallback"),
    }
}

fn output(node: &Node, report: &mut Report<'_>) -> Output {
    let default = Output::default();
    let Some(node) = node.get("output") else {
        return default;
    };
    let limit = node.get("buffer-limit").or_else(|| node.get("max-size"));
    let streaming = match flag(node, "streaming") {
        Some(true) => OutputMode::Stream,
        _ => OutputMode::Buffer,
    };
    Output {
        mode: word(node.get("mode"), "mode", &OutputMode::NAMES, report).unwrap_or(streaming),
        buffer_limit: limit.and_then(Node::size).unwrap_or(default.buffer_limit),
        truncation: flag(node, "truncation").unwrap_or(default.truncation),
        stream_to: word(
            node.get("stream-callback"),
            "stream-callback",
            &StreamTo::NAMES,
            report,
        )
        .unwrap_or_default(),
        masked_values: texts(node, "masked-values"),
    }
}

fn unique(names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    names
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .collect()
}
