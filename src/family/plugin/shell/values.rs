//! What a value may be before it becomes part of an argument.
//!
//! No value is ever read by a shell of ours, so the refusals are a second fence: for programs that
//! are shells themselves. They are the seed's: five sequences are refused, other characters that a
//! shell heeds are only worth a line in the log.

/// The most characters of a value.
const MAX_CHARS: usize = 10_000;

/// Refused in every value. They are the price of `a|b` for grep.
const REFUSED: [&str; 5] = [";", "|", "&&", "`", "$("];

/// Worth a warning.
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

/// Says so where a value may be taken for an option of the program.
pub(super) fn notice_option(tool: &str, argument: &str) {
    if argument.starts_with('-') {
        tracing::warn!(
            tool,
            argument,
            "the value looks like an option; `--` before it helps"
        );
    }
}
