//! Parser of the commands of a tool or step: exactly one kind (spec cycod 19–25, 80–81).

use super::super::definition::{Command, Commands, Place};
use super::super::report::Report;
use super::super::yaml::Node;
use super::text;

/// Kinds of a single command, in the order of messages.
pub(super) const KINDS: [&str; 6] = ["bash", "cmd", "pwsh", "run", "script", "commands"];

/// Returns the kinds among `kinds` that the node has.
pub(super) fn present<'a>(node: &Node, kinds: &[&'a str]) -> Vec<&'a str> {
    let is_there = |kind: &&str| node.get(kind).is_some();
    kinds.iter().copied().filter(is_there).collect()
}

/// Reports that there is more than one of them.
pub(super) fn too_many(found: &[&str], what: &str, place: Place, report: &mut Report<'_>) {
    let found: Vec<String> = found.iter().map(|kind| format!("`{kind}`")).collect();
    report.error(
        place,
        format!("{what} has {} at once", found.join(" and ")),
        "keep one of them; several commands are `steps`",
    );
}

/// Reads the command of that kind.
pub(super) fn command(node: &Node, kind: &str, report: &mut Report<'_>) -> Option<Command> {
    let value = node.get(kind)?;
    if kind == "commands" {
        return commands(value, report).map(Command::Commands);
    }
    let text = value.text()?.to_owned();
    if text.trim().is_empty() {
        report.error(
            value.place,
            format!("`{kind}` is empty"),
            "write the command",
        );
    }
    Some(match kind {
        "bash" => Command::Bash(text),
        "cmd" => Command::Cmd(text),
        "pwsh" => Command::Pwsh(text),
        "run" => Command::Run(text),
        _ => Command::Script {
            text,
            shell: shell(node, value, report),
        },
    })
}

fn shell(node: &Node, script: &Node, report: &mut Report<'_>) -> Option<String> {
    let shell = text(node, "shell");
    if shell.is_none() {
        report.warning(
            script.place,
            "`script` has no `shell`: the platform's default runs it",
            "add `shell: bash`",
        );
    }
    shell
}

/// Warns of a `shell` that has no effect.
pub(super) fn check_shell(node: &Node, report: &mut Report<'_>) {
    if let Some(shell) = node.get("shell")
        && node.get("script").is_none()
    {
        report.warning(
            shell.place,
            "`shell` is ignored: there is no `script`",
            "use `script`, or remove `shell`",
        );
    }
}

fn commands(node: &Node, report: &mut Report<'_>) -> Option<Commands> {
    let own = |platform: &str| node.get("platforms").and_then(|own| text(own, platform));
    let commands = Commands {
        default: text(node, "default"),
        windows: own("windows"),
        linux: own("linux"),
        macos: own("macos"),
    };
    if commands.texts().next().is_none() {
        report.error(
            node.place,
            "`commands` holds no command",
            "add `default: …`, or a command below `platforms`",
        );
        return None;
    }
    Some(commands)
}
