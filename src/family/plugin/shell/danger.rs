//! Checks for templates that give the caller more than an argument.
//!
//! Commands run without a shell, but a program may be one. A placeholder may follow only programs
//! that are known to take their arguments as text, scripts of the author, and commands that the
//! author vouches for with `trustedArgs`. Everything else is refused when the file is loaded.

use super::Refused;
use super::lexer::Word;
use super::script::{Command, NoOption};
use crate::family::plugin::template::{Part, parameters};
use haft_shell_quote::programs::{Danger, Finding, HOLE, add_input_of_xargs, base_name, judge};

/// Judges the commands of a pipeline. With `is_trusted` the author vouches for what its programs do
/// with values.
pub(super) fn judge_pipeline(pipeline: &mut [Command], is_trusted: bool) -> Result<(), Refused> {
    let mut input: Option<String> = None;
    for command in pipeline {
        command.no_options = judge_command(command, input.as_deref(), is_trusted)?;
        let own = command
            .words
            .iter()
            .flat_map(|word| parameters(word))
            .next();
        input = own.map(str::to_owned).or(input);
    }
    Ok(())
}

/// Judges one command; `input` is a placeholder whose value may be in the standard input.
fn judge_command(
    command: &Command,
    input: Option<&str>,
    is_trusted: bool,
) -> Result<Vec<NoOption>, Refused> {
    let words = &command.words;
    if let Some(name) = words.first().and_then(|word| parameters(word).next()) {
        return Err(Refused::new(
            format!("{{{{{name}}}}} stands where the program is named: the caller would choose it"),
            "write the program's name into the command",
        ));
    }
    let mut texts = texts(words);
    let mut from_input = Vec::new();
    if input.is_some() && texts.first().is_some_and(|name| base_name(name) == "xargs") {
        from_input = add_input_of_xargs(&mut texts);
    }
    let judged = judge(&texts);
    let name_in = |word: usize| {
        let own = words.get(word).and_then(|word| parameters(word).next());
        own.or(input.filter(|_| from_input.contains(&word)))
            .unwrap_or_default()
    };
    let mut no_options = Vec::new();
    for finding in &judged.findings {
        let name = name_in(finding.word);
        let is_script_file = judged.file == Some(finding.word);
        match finding.danger {
            Danger::Program if !is_trusted => return Err(chosen_program(finding, name)),
            Danger::Code if is_script_file && !is_trusted => {
                return Err(Refused::new(
                    format!(
                        "the caller would choose what `{}` runs with {{{{{name}}}}}",
                        finding.program
                    ),
                    "name the script in the command, and give the value after it",
                ));
            }
            Danger::Code
                if !is_script_file && (!is_trusted || is_interpreter(&finding.program)) =>
            {
                return Err(code(finding, name));
            }
            Danger::Option | Danger::OptionOrVariable if !is_trusted => no_options.push(NoOption {
                word: finding.word,
                program: finding.program.clone(),
                is_no_variable: finding.danger == Danger::OptionOrVariable,
            }),
            _ => {}
        }
    }
    if let (Some(code), Some(name)) = (&judged.reads_code, input)
        && (!is_trusted || is_interpreter(&code.program))
    {
        let program = &code.program;
        return Err(Refused::new(
            format!("`{program}` would run its input as code, and {{{{{name}}}}} is in it"),
            "give the value to the program as an argument",
        ));
    }
    if let Some(unknown) = judged.unknown
        && !is_trusted
        && !texts[unknown].contains('/')
        && let Some(at) = (unknown + 1..texts.len()).find(|at| texts[*at].contains(HOLE))
    {
        let (program, name) = (&texts[unknown], name_in(at));
        return Err(Refused::new(
            format!("haft does not know whether `{program}` takes {{{{{name}}}}} as plain text"),
            "if it runs nothing that is in its arguments, add `\"trustedArgs\": true` to the handler",
        ));
    }
    Ok(no_options)
}

fn chosen_program(finding: &Finding, name: &str) -> Refused {
    Refused::new(
        format!(
            "the caller would choose the program that `{}` runs with {{{{{name}}}}}",
            finding.program
        ),
        "write the program's name into the command",
    )
}

fn code(finding: &Finding, name: &str) -> Refused {
    let program = &finding.program;
    if matches!(
        program.as_str(),
        "ssh" | "watch" | "parallel" | "autossh" | "mosh"
    ) {
        return Refused::new(
            format!("`{program}` gives its arguments to a shell, and {{{{{name}}}}} is among them"),
            "allow only harmless values with a `pattern` in the inputSchema, and add \
             `\"trustedArgs\": true` to the handler",
        );
    }
    Refused::new(
        format!(
            "{{{{{name}}}}} stands in the script that `{program}` is given: its value would be run"
        ),
        instead_of_code(program, name),
    )
}

fn instead_of_code(program: &str, name: &str) -> String {
    if program.ends_with("sh") {
        return format!(
            "give the value to the script as an argument: \
             {program} -c '… \"$1\" …' {program} {{{{{name}}}}}"
        );
    }
    if is_interpreter(program) {
        return "give the value to the script as an argument, after its text".to_owned();
    }
    format!(
        "use another program; if `{program}` cannot run what the value holds, add \
         `\"trustedArgs\": true` to the handler"
    )
}

/// Returns true for programs whose code must never contain a value, even if the author vouches for
/// it.
fn is_interpreter(program: &str) -> bool {
    let known = [
        "python",
        "perl",
        "ruby",
        "node",
        "php",
        "lua",
        "bun",
        "deno",
        "osascript",
        "pypy",
    ];
    program.ends_with("sh") && program != "ssh" && program != "autossh" || known.contains(&program)
}

/// Returns the word with holes in place of its parameters.
/// Returns the words with [`HOLE`] for each value.
pub(super) fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| text(word)).collect()
}

fn text(word: &[Part]) -> String {
    word.iter()
        .map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Parameter(_) => HOLE.to_string(),
        })
        .collect()
}
