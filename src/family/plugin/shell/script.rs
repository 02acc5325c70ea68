//! A command template as commands in pipelines, joined as a shell would join them.

use super::Refused;
use super::lexer::{Lexed, Operator, Token, Word, lex};

/// Parsed template: its pipelines, and warnings for the author.
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) warnings: Vec<Refused>,
}

/// One pipeline and when it runs.
pub(super) struct Step {
    pub(super) when: When,
    pub(super) pipeline: Vec<Command>,
}

/// Condition of a pipeline, by the exit code of the one that ran last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Always,
    AfterSuccess,
    AfterFailure,
}

/// One program and its arguments.
pub(super) struct Command {
    pub(super) words: Vec<Word>,
    pub(super) no_options: Vec<NoOption>,
}

impl Command {
    fn new(words: Vec<Word>) -> Command {
        Command {
            words,
            no_options: Vec::new(),
        }
    }
}

/// Check of one argument at each call: it must not be an option, since options of the program may
/// run other programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoOption {
    /// The index of the word.
    pub(super) word: usize,
    pub(super) program: String,
    /// It must not hold a `=` either.
    pub(super) is_no_variable: bool,
}

/// Parses a template.
pub(super) fn parse(template: &str) -> Result<Script, Refused> {
    let Lexed { tokens, unexpanded } = lex(template)?;
    let mut steps: Vec<Step> = Vec::new();
    let (mut when, mut pipeline, mut words) = (When::Always, Vec::new(), Vec::new());
    let mut last = None;
    for token in tokens {
        let operator = match token {
            Token::Word(word) => {
                words.push(word);
                last = None;
                continue;
            }
            Token::Operator(operator) => operator,
        };
        if words.is_empty() {
            return Err(lonely(operator));
        }
        pipeline.push(Command::new(std::mem::take(&mut words)));
        last = Some(operator);
        let next = match operator {
            Operator::Pipe => continue,
            Operator::And => When::AfterSuccess,
            Operator::Or => When::AfterFailure,
            Operator::Then => When::Always,
        };
        let pipeline = std::mem::take(&mut pipeline);
        steps.push(Step { when, pipeline });
        when = next;
    }
    match (words.is_empty(), last) {
        (false, _) => {
            pipeline.push(Command::new(words));
            steps.push(Step { when, pipeline });
        }
        (true, None) => {
            return Err(Refused::new("the command is empty", "name a program"));
        }
        // A trailing `;` is allowed, as in a shell.
        (true, Some(Operator::Then)) => {}
        (true, Some(operator)) => return Err(lonely(operator)),
    }
    let warnings = unexpanded.iter().map(|text| not_expanded(text)).collect();
    Ok(Script { steps, warnings })
}

fn lonely(operator: Operator) -> Refused {
    Refused::new(
        format!("`{}` needs a command on both sides", operator.as_str()),
        "quote it if it is part of an argument",
    )
}

fn not_expanded(text: &str) -> Refused {
    Refused::new(
        format!("`{text}` reaches the program as it is: no shell expands it"),
        "put it in single quotes if that is meant",
    )
}
