//! Templates that hand the caller more than an argument.
//!
//! No shell runs a command, but a command can be one. A placeholder where a program's name or a
//! script's text is expected is refused; where it may become that, the author is told.

use super::Refused;
use super::script::Command;
use crate::family::plugin::template::{Part, parameters};

/// Programs that run a text, and the letters of the options that the text follows.
const INTERPRETERS: &[(&str, &str)] = &[
    ("sh", "c"),
    ("bash", "c"),
    ("dash", "c"),
    ("ash", "c"),
    ("zsh", "c"),
    ("ksh", "c"),
    ("fish", "c"),
    ("su", "c"),
    ("script", "c"),
    ("flock", "c"),
    ("python", "c"),
    ("pypy", "c"),
    ("perl", "eE"),
    ("ruby", "e"),
    ("lua", "e"),
    ("node", "ep"),
    ("bun", "ep"),
    ("php", "rBRE"),
    ("osascript", "e"),
];

/// Long forms of these options.
const LONG: &[&str] = &["--command", "--eval", "--print", "--run"];

/// Programs whose arguments are a program and its arguments.
const WRAPPERS: &[&str] = &[
    "env", "sudo", "doas", "nice", "ionice", "nohup", "setsid", "stdbuf", "time", "timeout",
    "xargs", "busybox", "chroot", "watch", "parallel", "ssh",
];

/// Programs that join their arguments and give them to a shell.
const SHELL_BEHIND: &[&str] = &["ssh", "watch", "parallel"];

/// Refuses a command, or says what its author should know.
pub(super) fn judge(command: &Command) -> Result<Vec<Refused>, Refused> {
    let words = &command.words;
    let Some(program) = words.first().and_then(|word| literal(word)) else {
        let name = words.first().and_then(|word| parameters(word).next());
        let name = name.unwrap_or_default();
        return Err(Refused::new(
            format!("{{{{{name}}}}} stands where the program is named: the caller would choose it"),
            "write the program's name into the command",
        ));
    };
    let program = base_name(program);
    let is_wrapper = WRAPPERS.contains(&program);
    let mut warnings = Vec::new();
    if SHELL_BEHIND.contains(&program)
        && let Some(name) = words.iter().find_map(|word| parameters(word).next())
    {
        warnings.push(Refused::new(
            format!("`{program}` gives its arguments to a shell, and {{{{{name}}}}} is among them"),
            "allow only harmless values with a `pattern` in the inputSchema",
        ));
    } else if is_wrapper && let Some(name) = first_operand(&words[1..]) {
        warnings.push(Refused::new(
            format!("the caller may choose the program that `{program}` runs with {{{{{name}}}}}"),
            "write the program's name into the command",
        ));
    }
    for (index, word) in words.iter().enumerate() {
        if index > 0 && !is_wrapper {
            break;
        }
        let name = literal(word).map(base_name).map(without_version);
        let found = INTERPRETERS.iter().find(|(known, _)| Some(*known) == name);
        if let Some((interpreter, letters)) = found {
            let rest = &words[index + 1..];
            refuse_code(interpreter, letters, rest)?;
            if let Some(name) = first_operand(rest) {
                warnings.push(Refused::new(
                    format!("the caller chooses what `{interpreter}` runs with {{{{{name}}}}}"),
                    "name the script in the command, and give the value after it",
                ));
            }
        }
    }
    Ok(warnings)
}

/// Refuses a placeholder in the text of a script.
fn refuse_code(interpreter: &str, letters: &str, words: &[Vec<Part>]) -> Result<(), Refused> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !is_code_option(word, letters) {
            continue;
        }
        // The text may be glued to the option; else it is the next word that is no option.
        let is_option = |word: &&Vec<Part>| literal(word).is_some_and(|text| text.starts_with('-'));
        let code = std::iter::once(word).chain(words.clone().find(|word| !is_option(word)));
        if let Some(name) = code.flat_map(|word| parameters(word)).next() {
            return Err(Refused::new(
                format!(
                    "{{{{{name}}}}} stands in the script that `{interpreter}` is given: \
                     its value would be run"
                ),
                instead_of_code(interpreter, name),
            ));
        }
    }
    Ok(())
}

fn instead_of_code(interpreter: &str, name: &str) -> String {
    if !interpreter.ends_with("sh") {
        return "give the value to the script as an argument, after its text".to_owned();
    }
    format!(
        "give the value to the script as an argument: \
         {interpreter} -c '… \"$1\" …' {interpreter} {{{{{name}}}}}"
    )
}

fn is_code_option(word: &[Part], letters: &str) -> bool {
    let Some(Part::Text(start)) = word.first() else {
        return false;
    };
    if LONG
        .iter()
        .any(|long| start.split('=').next() == Some(*long))
    {
        return true;
    }
    let is_short = start.starts_with('-') && !start.starts_with("--");
    is_short && start[1..].contains(|c| letters.contains(c))
}

/// The parameter that begins the first word that is no option, no assignment and no number.
fn first_operand(words: &[Vec<Part>]) -> Option<&str> {
    let is_skipped = |word: &&Vec<Part>| {
        literal(word).is_some_and(|text| {
            text.starts_with('-')
                || text.contains('=')
                || text.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    match words.iter().find(|word| !is_skipped(word))?.first()? {
        Part::Parameter(name) => Some(name),
        Part::Text(_) => None,
    }
}

/// The word's text, if no parameter is in it.
fn literal(word: &[Part]) -> Option<&str> {
    match word {
        [] => Some(""),
        [Part::Text(text)] => Some(text),
        _ => None,
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// `python3.12` is `python`.
fn without_version(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
}
