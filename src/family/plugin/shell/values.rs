//! Checks of values that become part of an argument.
//!
//! Values never pass through a shell of ours. The checks are a second line of defence, for programs
//! that are shells themselves. They are aynd's: five sequences are refused, other characters that
//! have a meaning in a shell are only logged.

use super::lexer::Word;
use super::script::NoOption;
use crate::family::plugin::template::Part;

/// Limit of a value, in characters.
const MAX_CHARS: usize = 10_000;

/// Sequences that are refused in every value. This also forbids `a|b` for grep.
const REFUSED: [&str; 5] = [";", "|", "&&", "`", "$("];

/// Characters that are logged.
const SUSPICIOUS: &str = "><&$*?~!#'\"\\\n";

/// Checks the value of `parameter` for a call of `tool`.
pub(super) fn check(tool: &str, parameter: &str, value: &str) -> Result<(), String> {
    if value.contains('\0') {
        return Err(format!(
            "Parameter '{parameter}' contains null bytes - potential security risk"
        ));
    }
    if value.chars().count() > MAX_CHARS {
        return Err(format!(
            "Parameter '{parameter}' exceeds maximum length of {MAX_CHARS} characters"
        ));
    }
    if let Some(sequence) = REFUSED.iter().find(|sequence| value.contains(**sequence)) {
        return Err(format!(
            "Parameter '{parameter}' contains shell metacharacter '{sequence}' - potential \
             security risk"
        ));
    }
    if value.contains(|c| SUSPICIOUS.contains(c)) {
        tracing::warn!(tool, parameter, "the value has shell metacharacters");
    }
    Ok(())
}

/// Checks an argument of a program whose options may run other programs.
pub(super) fn check_option(rule: &NoOption, words: &[Word], argv: &[String]) -> Result<(), String> {
    let Some(argument) = argv.get(rule.word) else {
        return Ok(());
    };
    let parameter = words[rule.word].iter().find_map(|part| match part {
        Part::Parameter(name) => Some(name.as_str()),
        Part::Text(_) => None,
    });
    let (parameter, program) = (parameter.unwrap_or_default(), &rule.program);
    if argument.starts_with('-') {
        return Err(format!(
            "Parameter '{parameter}' must not begin with '-': '{program}' has options that run \
             other programs. Write `--` before the placeholder if the program knows it."
        ));
    }
    if rule.is_no_variable && argument.contains('=') {
        return Err(format!(
            "Parameter '{parameter}' must not contain '=': '{program}' would take it for a \
             variable"
        ));
    }
    Ok(())
}

/// Logs a value that may be taken for an option of the program.
pub(super) fn notice_option(tool: &str, argument: &str) {
    if argument.starts_with('-') {
        tracing::warn!(
            tool,
            argument,
            "the value looks like an option; `--` before it helps"
        );
    }
}
