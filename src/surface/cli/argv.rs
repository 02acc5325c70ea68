//! Normalises a command line before clap parses it.
//!
//! `--auto-approve tool:read tool:weather`: the option alone means every tool, and the command
//! itself may follow it. So a word becomes its value only if it must be a pattern (spec cycod 119,
//! 372, 373).
//!
//! `haft tool run NAME --CITY London`: an unknown option is a parameter of the tool (spec cycod
//! 151).

use std::ffi::{OsStr, OsString};

use clap::Command;

/// Returns the arguments in the form that clap parses.
pub(super) fn plain(
    args: impl IntoIterator<Item = OsString>,
    command: impl FnOnce() -> Command,
) -> Vec<OsString> {
    parameters(joined(args), command)
}

const OPTIONS: [&str; 2] = ["--auto-approve", "--auto-deny"];

/// Attaches each pattern to its own option: `--auto-approve=tool:read`.
fn joined(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut open = None;
    let mut args = args.into_iter();
    for arg in args.by_ref() {
        if arg == "--" {
            joined.push(arg);
            break;
        }
        let option = OPTIONS.into_iter().find(|option| arg == *option);
        match (option, open) {
            (Some(option), _) => {
                open = Some(Open {
                    option,
                    has_value: false,
                })
            }
            (None, Some(Open { option, has_value })) if is_pattern(&arg) => {
                if !has_value {
                    joined.pop();
                }
                open = Some(Open {
                    option,
                    has_value: true,
                });
                let mut own = OsString::from(option);
                own.push("=");
                own.push(arg);
                joined.push(own);
                continue;
            }
            (None, _) => open = None,
        }
        joined.push(arg);
    }
    joined.extend(args);
    joined
}

/// An option that may take further values.
#[derive(Clone, Copy)]
struct Open {
    option: &'static str,
    has_value: bool,
}

fn is_pattern(arg: &OsStr) -> bool {
    let text = arg.to_string_lossy();
    text.starts_with("tool:") || text == "*" || text == "all"
}

/// Rewrites the unknown options after `tool run` as `--param KEY=VALUE`.
fn parameters(args: Vec<OsString>, command: impl FnOnce() -> Command) -> Vec<OsString> {
    let Some(start) = after_run(&args) else {
        return args;
    };
    let mut command = command();
    // Shared options are only known to a command that has been built.
    command.build();
    let run = command.find_subcommand("tool");
    let Some(run) = run.and_then(|tool| tool.find_subcommand("run")) else {
        return args;
    };
    let own: Vec<&str> = run
        .get_arguments()
        .flat_map(|arg| {
            let aliases = arg.get_all_aliases().unwrap_or_default();
            arg.get_long().into_iter().chain(aliases)
        })
        .collect();
    let mut plain = args[..start].to_vec();
    let mut rest = args[start..].iter().peekable();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            plain.push(arg.clone());
            plain.extend(rest.cloned());
            break;
        }
        let Some((key, value)) = option(arg).filter(|(key, _)| !own.contains(&key.as_str())) else {
            plain.push(arg.clone());
            // The value of one of our options is not a tool parameter, even if it looks like an
            // option.
            let takes_next = own_that_takes_a_value(run, arg);
            plain.extend(takes_next.then(|| rest.next().cloned()).flatten());
            continue;
        };
        let value = value.or_else(|| {
            let is_value = |next: &&OsString| !next.to_string_lossy().starts_with("--");
            rest.next_if(|next| is_value(next))
                .map(|next| next.to_string_lossy().into_owned())
        });
        plain.push("--param".into());
        plain.push(format!("{key}={}", value.as_deref().unwrap_or("true")).into());
    }
    plain
}

/// Returns the index of the first word after `tool run`.
fn after_run(args: &[OsString]) -> Option<usize> {
    let tool = args
        .iter()
        .position(|arg| arg == "tool" || arg == "tools")?;
    let run = args[tool..].iter().position(|arg| arg == "run")?;
    // Only options may stand between the two words.
    let between = &args[tool + 1..tool + run];
    let is_option = |arg: &OsString| arg.to_string_lossy().starts_with('-');
    between.iter().all(is_option).then_some(tool + run + 1)
}

/// Splits `--KEY` or `--KEY=VALUE`.
fn option(arg: &OsStr) -> Option<(String, Option<String>)> {
    let text = arg.to_str()?.strip_prefix("--")?;
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (text, None),
    };
    (!key.is_empty()).then(|| (key.to_owned(), value))
}

fn own_that_takes_a_value(run: &Command, arg: &OsStr) -> bool {
    let Some((key, None)) = option(arg) else {
        return false;
    };
    run.get_arguments().any(|own| {
        let aliases = own.get_all_aliases().unwrap_or_default();
        let is_it = own.get_long() == Some(&key) || aliases.contains(&key.as_str());
        is_it && own.get_action().takes_values() && !own.is_require_equals_set()
    })
}
