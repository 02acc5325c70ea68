//! Check of the places of values in a definition, before there are any values.

use super::super::definition::{Command, Definition, Environment, Platform};
use super::super::references::PREDEFINED;
use super::template::{Head, Names, Part, Reference, Tail, Template};
use super::values::{FIXED, ValueOnly};
use super::words::words;
use haft_shell_quote::programs::is_dangerous_variable;
use haft_shell_quote::{self as quote, Dialect, Finding, Outside, Piece};

/// Returns the problems with the places of the values in a command; with its own environment and
/// input.
pub(crate) fn survey(
    definition: &Definition,
    command: &Command,
    own: Option<&Environment>,
    input: Option<&str>,
) -> Vec<Finding> {
    let outside = outside(definition, own, input);
    let mut found = Vec::new();
    for one in &outside {
        if let Some(name) = &one.variable
            && !one.is_fixed
            && is_dangerous_variable(name)
        {
            found.push(Finding {
                name: one.name.clone(),
                why: format!("it is in the variable `{name}`, which decides what programs run"),
                is_number: false,
            });
        }
    }
    let posix = |text: &str, dialect| {
        quote::survey(
            &pieces(&text.replace("\r\n", "\n"), definition),
            dialect,
            &outside,
        )
    };
    found.extend(match command {
        Command::Bash(text) => posix(text, Dialect::Bash),
        Command::Commands(commands) => match commands.on(Platform::current()) {
            Some(text) => posix(text, Dialect::Bash),
            None => Vec::new(),
        },
        Command::Script { text, shell } => {
            let shell = shell.as_deref().unwrap_or("bash");
            Dialect::of_shell(shell).map_or(Vec::new(), |dialect| posix(text, dialect))
        }
        Command::Run(text) => match words(text) {
            Ok(words) => {
                let words: Vec<Vec<Piece>> =
                    words.iter().map(|word| pieces(word, definition)).collect();
                quote::survey(&quote::as_command(&words), Dialect::Bash, &outside)
            }
            Err(_) => Vec::new(),
        },
        Command::Cmd(_) | Command::Pwsh(_) => Vec::new(),
    });
    found
}

/// Returns the text of a command with a placeholder for each value.
fn pieces(text: &str, definition: &Definition) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for part in Template::parse(text, &Known(definition)).parts {
        match part {
            Part::Text(text) => pieces.push(Piece::raw(text)),
            Part::Reference(reference) => add(&reference, definition, &mut pieces),
        }
    }
    pieces
}

fn add(reference: &Reference, definition: &Definition, pieces: &mut Vec<Piece>) {
    // Placeholder that is neither a number nor an option of any program.
    const STAND_IN: &str = "x";
    if let Tail::Choice { yes, .. } = &reference.tail {
        return pieces.push(Piece::raw(yes.clone()));
    }
    let (name, is_guarded, is_fixed, format) = described(reference, definition);
    let piece = if is_guarded && !reference.is_raw {
        Piece {
            is_fixed,
            ..Piece::guarded(STAND_IN, name)
        }
    } else {
        Piece::raw(STAND_IN)
    };
    let Some(format) = format else {
        return pieces.push(piece);
    };
    for part in Template::parse(format, &ValueOnly).parts {
        match part {
            Part::Text(text) => pieces.push(Piece::raw(text)),
            Part::Reference(Reference {
                tail: Tail::Choice { yes, .. },
                ..
            }) => pieces.push(Piece::raw(yes)),
            Part::Reference(_) => pieces.push(piece.clone()),
        }
    }
}

/// Returns the name of a reference, whether its value is guarded, whether it cannot be code, and
/// its format.
fn described<'a>(
    reference: &Reference,
    definition: &'a Definition,
) -> (String, bool, bool, Option<&'a str>) {
    match &reference.head {
        Head::Name(name) => match definition.parameter(name) {
            Some(parameter) => (
                name.clone(),
                parameter.security.escape_shell,
                parameter.is_fixed(),
                parameter.format.as_deref(),
            ),
            None => (name.clone(), true, FIXED.contains(&name.as_str()), None),
        },
        Head::Step { step, property } => {
            let is_text = matches!(property.as_str(), "output" | "error");
            (format!("{step}.{property}"), true, !is_text, None)
        }
    }
}

fn outside(
    definition: &Definition,
    own: Option<&Environment>,
    input: Option<&str>,
) -> Vec<Outside> {
    let variables = definition.environment.variables.iter();
    let variables = variables.chain(own.iter().flat_map(|own| &own.variables));
    let input = input.or(definition.input.as_deref());
    let texts = variables
        .map(|(name, text)| (Some(name.clone()), text.as_str()))
        .chain(input.map(|text| (None, text)));
    let mut found = Vec::new();
    for (variable, text) in texts {
        let template = Template::parse(text, &Known(definition));
        let values = template.references().filter(|reference| {
            let is_value = match &reference.head {
                Head::Name(name) => definition.parameter(name).is_some(),
                Head::Step { .. } => true,
            };
            is_value && !matches!(reference.tail, Tail::Choice { .. })
        });
        let described: Vec<_> = values.map(|value| described(value, definition)).collect();
        if let Some((name, ..)) = described.first() {
            found.push(Outside {
                variable,
                name: name.clone(),
                text: String::new(),
                is_fixed: described.iter().all(|(_, _, is_fixed, _)| *is_fixed),
            });
        }
    }
    found
}

/// Names that a call of the tool will know.
struct Known<'a>(&'a Definition);

impl Names for Known<'_> {
    fn knows(&self, name: &str) -> bool {
        PREDEFINED.contains(&name) || self.0.parameter(name).is_some()
    }

    fn has_step(&self, name: &str) -> bool {
        self.0.steps().iter().any(|step| step.name == name)
    }
}
