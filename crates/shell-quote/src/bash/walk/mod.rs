//! Walk over the syntax tree of a script: finds the quotes around each value, and its uses.
//!
//! Each mark must be met exactly once; a mark that is in no part of the tree has no place. The
//! matches list every kind of node, so that a new kind is a compile error here.

mod assignment;
mod expansion;
mod statement;

use std::collections::HashSet;
use std::ops::Range;

use shuck_ast::{Span, Word};
use shuck_parser::parser::Parser;

use super::origin::{INPUT, Need, OPEN, Rule, ScriptFacts, TextOrigin};
use super::word::{self, CommandWord};
use super::{Dialect, Document, Marked};

/// The quotes around a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    Bare,
    Double,
    Single,
    /// `$'…'`.
    Ansi,
    /// A here-document with expansions.
    Heredoc,
    /// A here-document without expansions.
    Literal,
    /// Arithmetic, whatever quotes are in it.
    Number,
    Comment,
}

/// Position of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) quote: Quote,
    /// The outermost backquotes around it.
    pub(super) backquotes: Option<Range<usize>>,
    /// The beginning of the body of the here-document that it is in.
    pub(super) document: Option<usize>,
}

/// Result of a walk.
pub(super) struct Walked {
    pub(super) places: Vec<Option<Place>>,
    pub(super) needs: Vec<Need>,
    pub(super) documents: Vec<Document>,
}

/// Standard input of a command, as far as the grammar shows what is in it.
#[derive(Clone, Debug)]
pub(super) enum CommandInput {
    /// That of the whole script.
    Inherited,
    /// The author's own text, in a here-document or here-string of the command itself.
    Text(String),
    /// A file that a redirection of the command itself names.
    File(Box<CommandWord>),
    /// Anything else.
    Open,
}

/// Surroundings of a node.
#[derive(Clone)]
pub(super) struct Context<'s> {
    /// The text that spans refer to.
    source: &'s str,
    /// Start of that text in the whole script; `None` if it is not a part of it.
    base: Option<usize>,
    line: usize,
    quote: Quote,
    backquotes: Option<Range<usize>>,
    document: Option<usize>,
    /// True in the word of an expansion in a here-document, where quotes have another meaning.
    in_document: bool,
    pub(super) input: CommandInput,
}

pub(super) struct Walker<'a> {
    marked: &'a Marked,
    pub(super) dialect: Dialect,
    places: Vec<Option<Place>>,
    documents: Vec<Document>,
    comments: Vec<Range<usize>>,
    pub(super) facts: ScriptFacts,
    /// Reason why the tree cannot be trusted.
    unclear: Option<String>,
    /// Names of the variables that are lists.
    pub(super) arrays: HashSet<String>,
    /// Declarations that would mean another thing if their variable is a list.
    declared: Vec<(String, TextOrigin, usize)>,
    /// Last components of the files that the script may write.
    pub(super) written_files: HashSet<String>,
    /// Last components of the files that the script runs, with their lines.
    pub(super) run_files: Vec<(String, usize)>,
    depth: usize,
}

/// Special parameters that are numbers.
const NUMBERS: &[&str] = &[
    "#",
    "?",
    "$",
    "!",
    "-",
    "RANDOM",
    "SECONDS",
    "LINENO",
    "UID",
    "EUID",
    "PPID",
    "BASHPID",
    "OPTIND",
    "EPOCHSECONDS",
    "SRANDOM",
    "HISTCMD",
    "BASH_SUBSHELL",
];

/// Variables that the shell fills with words and input of commands.
const HOLD_ANYTHING: &[&str] = &[
    "_",
    "BASH_ARGV",
    "BASH_COMMAND",
    "BASH_EXECUTION_STRING",
    "BASH_REMATCH",
    "MAPFILE",
    "OPTARG",
    "REPLY",
];

pub(super) const CALCULATES: &str =
    "a place where the shell calculates, so it must be a whole number";

pub(super) const VARIABLE_NAME: &str =
    "the name of a variable, which the shell evaluates; write the name";

/// Limit of nesting: each level takes stack.
const MAX_DEPTH: usize = 150;

/// Limit of code in code.
const MAX_CODE_DEPTH: usize = 20;

/// Walks a script.
///
/// # Errors
/// With a sentence that says why the script cannot be understood.
pub(super) fn walk(
    marked: &Marked,
    dialect: Dialect,
    outside: &[Option<&str>],
) -> Result<Walked, String> {
    let source = marked.text.as_str();
    let parsed = Parser::new(source).parse();
    if !parsed.is_ok() {
        let error = parsed.strict_error();
        return Err(format!(
            "haft cannot tell where the values stand, because the command cannot be parsed \
             ({error}); correct it, or hand the value over by `environment.variables` to a script"
        ));
    }
    let mut walker = Walker {
        marked,
        dialect,
        places: vec![None; marked.marks.len()],
        documents: Vec::new(),
        comments: Vec::new(),
        facts: ScriptFacts::default(),
        unclear: None,
        arrays: HashSet::new(),
        declared: Vec::new(),
        written_files: HashSet::new(),
        run_files: Vec::new(),
        depth: 0,
    };
    let context = Context {
        source,
        base: Some(0),
        line: 1,
        quote: Quote::Bare,
        backquotes: None,
        document: None,
        in_document: false,
        input: CommandInput::Inherited,
    };
    let all = marked.marks.len() + outside.len();
    walker.facts.assign(OPEN, &TextOrigin::of_values(0..all));
    for name in HOLD_ANYTHING {
        walker.facts.assign(name, &TextOrigin::open());
    }
    for (index, name) in outside.iter().enumerate() {
        let origin = TextOrigin::of_values([marked.marks.len() + index]);
        walker.facts.assign(name.unwrap_or(INPUT), &origin);
    }
    walker.statements(&parsed.file.body, &context);
    walker.finish();
    for (mark, place) in marked.marks.iter().zip(&mut walker.places) {
        let in_comment = walker
            .comments
            .iter()
            .any(|comment| comment.start <= mark.start && mark.end <= comment.end);
        if place.is_none() && in_comment {
            *place = Some(Place {
                quote: Quote::Comment,
                backquotes: None,
                document: None,
            });
        }
    }
    if let Some(why) = walker.unclear {
        return Err(why);
    }
    Ok(Walked {
        needs: walker.facts.needs(),
        places: walker.places,
        documents: walker.documents,
    })
}

impl<'s> Context<'s> {
    pub(super) fn bare(&self) -> Context<'s> {
        Context {
            quote: Quote::Bare,
            in_document: false,
            document: None,
            ..self.clone()
        }
    }

    /// Returns the context of commands inside of a command: what its own redirections give may be
    /// read by others before.
    fn inside(&self) -> Context<'s> {
        let input = match &self.input {
            CommandInput::Inherited => CommandInput::Inherited,
            CommandInput::Text(_) | CommandInput::File(_) | CommandInput::Open => {
                CommandInput::Open
            }
        };
        Context {
            input,
            ..self.bare()
        }
    }

    fn quoted(&self, quote: Quote) -> Context<'s> {
        // Quotes do not matter in arithmetic: a number is written the same in all of them.
        let quote = if self.quote == Quote::Number {
            Quote::Number
        } else {
            quote
        };
        Context {
            quote,
            ..self.clone()
        }
    }

    fn slice(&self, span: Span) -> Option<&'s str> {
        self.source.get(span.start.offset()..span.end.offset())
    }

    fn range(&self, span: Span) -> Option<Range<usize>> {
        let base = self.base?;
        Some(base + span.start.offset()..base + span.end.offset())
    }

    pub(super) fn line(&self, span: Span) -> usize {
        let before = self.source.get(..span.start.offset()).unwrap_or_default();
        self.line + before.matches('\n').count()
    }
}

impl Walker<'_> {
    pub(super) fn sink(
        &mut self,
        origin: TextOrigin,
        rule: Rule,
        line: usize,
        why: impl Into<String>,
    ) {
        self.facts.sink(origin, rule, line, why.into());
    }

    /// Refuses every value of the script: a construct may read any of them as code.
    pub(super) fn refuse(&mut self, line: usize, why: impl Into<String>) {
        self.sink(TextOrigin::open(), Rule::Never, line, why);
    }

    fn doubt(&mut self, line: usize) {
        self.unclear.get_or_insert_with(|| {
            format!(
                "haft cannot tell where the values in line {line} stand; write that part more \
                 plainly"
            )
        });
    }

    pub(super) fn command_word(&mut self, word: &Word, context: &Context<'_>) -> CommandWord {
        let origin = self.word(word, &context.bare());
        CommandWord {
            text: word::text(word, context.source, self.marked),
            origin,
            line: context.line(word.span),
            file: word::file_name(context.slice(word.span).unwrap_or_default()),
        }
    }

    pub(super) fn word(&mut self, word: &Word, context: &Context<'_>) -> TextOrigin {
        let mut origin = TextOrigin::default();
        self.nested(|walker| {
            for part in &word.parts {
                origin.add(&walker.part(&part.kind, part.span, context));
            }
        });
        origin
    }

    /// Walks one level deeper, if there are not too many.
    fn nested(&mut self, walk: impl FnOnce(&mut Self)) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.unclear = Some("the command is nested too deeply".to_owned());
        } else {
            walk(self);
        }
        self.depth -= 1;
    }

    /// Walks code for a shell that the script holds as a text: it contains no value.
    pub(super) fn code(&mut self, code: &str, line: usize, context: &Context<'_>) {
        let parsed = Parser::new(code).parse();
        if self.depth > MAX_CODE_DEPTH || !parsed.is_ok() {
            self.refuse(line, format!("code in line {line} that haft cannot parse"));
            return;
        }
        let inner = Context {
            source: code,
            base: None,
            line,
            ..context.inside()
        };
        self.statements(&parsed.file.body, &inner);
    }

    /// Judges what depends on the whole script.
    fn finish(&mut self) {
        for (name, origin, line) in std::mem::take(&mut self.declared) {
            if self.arrays.contains(&name) {
                let why = "the declaration of a list, which the shell parses again; assign it \
                           without `declare`";
                self.sink(origin, Rule::Never, line, why);
            }
        }
        for (file, line) in std::mem::take(&mut self.run_files) {
            if self.written_files.contains(&file) {
                let why = "a file that the script writes and runs; give the code to the program \
                           as a here-document, and the value as an argument";
                self.refuse(line, why);
            }
        }
    }
}
