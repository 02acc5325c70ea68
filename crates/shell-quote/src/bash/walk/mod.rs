//! Walk over the syntax tree of a script: finds the quotes around each value, and its uses.
//!
//! Each mark must be met exactly once; a mark that is in no part of the tree has no place. The
//! matches list every kind of node, so that a new kind is a compile error here.

mod assignment;
mod expansion;
mod statement;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use shuck_ast::{Span, Word};
use shuck_parser::parser::Parser;

use super::taint::{ALL, Facts, INPUT, Need, Rule, Sink, Sources};
use super::word::{self, View};
use super::{Dialect, Document, Marked};
use crate::programs::HOLE;

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
    pub(super) stdin: Sources,
    pub(super) function: Option<String>,
}

pub(super) struct Walker<'a> {
    marked: &'a Marked,
    pub(super) dialect: Dialect,
    places: Vec<Option<Place>>,
    documents: Vec<Document>,
    comments: Vec<Range<usize>>,
    pub(super) facts: Facts,
    /// Values and names that were met since the last reset.
    collected: Sources,
    /// Reason why the tree cannot be trusted.
    pub(super) unclear: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) functions: Vec<String>,
    /// Functions that run their arguments as a command.
    pub(super) forwarders: Vec<String>,
    pub(super) deferred: Vec<Deferred>,
    /// The words of lists that are assigned once.
    pub(super) lists: HashMap<String, Vec<View>>,
    /// Names of the lists that are run as a command.
    pub(super) list_commands: HashSet<String>,
    /// Pairs of variables, one of which is a reference to the other.
    aliases: Vec<(String, String)>,
    depth: usize,
}

/// A command whose name may be that of a function.
pub(super) struct Call {
    pub(super) words: Vec<View>,
    pub(super) stdin: Sources,
    /// It may keep what it is given.
    pub(super) keeps: bool,
}

/// An assignment that has another meaning if its variable has an attribute.
pub(super) struct Deferred {
    name: String,
    sources: Sources,
    line: usize,
    is_declaration: bool,
    /// The value is a list in parentheses.
    is_list: bool,
}

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

/// Variables that the shell fills with words of commands.
const HOLD_ANYTHING: &[&str] = &[
    "_",
    "BASH_ARGV",
    "BASH_COMMAND",
    "BASH_EXECUTION_STRING",
    "OPTARG",
];

const CALCULATES: &str = "a place where the shell calculates, so it must be a whole number";

/// Limit of nesting: each level takes stack.
const MAX_DEPTH: usize = 150;

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
        facts: Facts::default(),
        collected: Sources::default(),
        unclear: None,
        calls: Vec::new(),
        functions: Vec::new(),
        forwarders: Vec::new(),
        deferred: Vec::new(),
        lists: HashMap::new(),
        list_commands: HashSet::new(),
        aliases: Vec::new(),
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
        stdin: Sources::of_name(INPUT),
        function: None,
    };
    let mut all = Sources {
        values: (0..marked.marks.len() + outside.len()).collect(),
        ..Sources::default()
    };
    for (index, name) in outside.iter().enumerate() {
        let sources = Sources {
            values: [marked.marks.len() + index].into(),
            ..Sources::default()
        };
        walker.facts.assign(name.unwrap_or(INPUT), &sources);
    }
    walker.statements(&parsed.file.body, &context);
    all.names.clear();
    walker.facts.assign(ALL, &all);
    for name in HOLD_ANYTHING {
        walker.facts.assign(name, &Sources::of_name(ALL));
    }
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
    /// Returns the context of commands that are judged after the walk.
    pub(super) fn nowhere(stdin: Sources) -> Context<'static> {
        Context {
            source: "",
            base: None,
            line: 1,
            quote: Quote::Bare,
            backquotes: None,
            document: None,
            in_document: false,
            stdin,
            function: None,
        }
    }

    pub(super) fn bare(&self) -> Context<'s> {
        Context {
            quote: Quote::Bare,
            in_document: false,
            document: None,
            ..self.clone()
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

    fn number(&self) -> Context<'s> {
        Context {
            quote: Quote::Number,
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

    fn line(&self, span: Span) -> usize {
        let before = self.source.get(..span.start.offset()).unwrap_or_default();
        self.line + before.matches('\n').count()
    }
}

impl Walker<'_> {
    pub(super) fn sink(&mut self, sources: Sources, rule: Rule, line: usize, why: &str) {
        self.facts.sinks.push(Sink {
            sources,
            rule,
            line,
            why: why.to_owned(),
        });
    }

    fn doubt(&mut self, line: usize) {
        self.unclear.get_or_insert_with(|| {
            format!(
                "haft cannot tell where the values in line {line} stand; write that part more \
                 plainly"
            )
        });
    }

    /// Returns the sources that are met by `walk`. They still count as met by the outer walk.
    pub(super) fn collecting(&mut self, walk: impl FnOnce(&mut Self)) -> Sources {
        let outer = std::mem::take(&mut self.collected);
        walk(self);
        let inner = std::mem::replace(&mut self.collected, outer);
        self.collected.add(&inner);
        inner
    }

    pub(super) fn meet(&mut self, sources: &Sources) {
        self.collected.add(sources);
    }

    fn view(&mut self, word: &Word, context: &Context<'_>) -> View {
        let sources = self.word(word, &context.bare());
        View {
            text: word::text(word, context.source, self.marked.open, self.marked.close),
            sources,
            line: context.line(word.span),
            is_all_arguments: word::is_all_arguments(word),
            all_of: word::all_of(context.slice(word.span).unwrap_or_default()),
            file: word::file(context.slice(word.span).unwrap_or_default()),
        }
    }

    pub(super) fn word(&mut self, word: &Word, context: &Context<'_>) -> Sources {
        let mut sources = Sources::default();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.unclear = Some("the command is nested too deeply".to_owned());
        } else {
            for part in &word.parts {
                sources.add(&self.part(&part.kind, part.span, context));
            }
        }
        self.depth -= 1;
        self.meet(&sources);
        sources
    }

    /// Walks code for a shell that the script holds as a text: it contains no value.
    pub(super) fn code(&mut self, code: &str, line: usize, context: &Context<'_>) {
        self.depth += 1;
        let parsed = Parser::new(code).parse();
        if self.depth > 20 || !parsed.is_ok() {
            let why = format!("code in line {line} that haft cannot parse");
            self.sink(Sources::of_name(ALL), Rule::Never, line, &why);
        } else {
            let inner = Context {
                source: code,
                base: None,
                line,
                ..context.bare()
            };
            self.statements(&parsed.file.body, &inner);
        }
        self.depth -= 1;
    }
}

/// Returns true if a view has a hole.
pub(super) fn has_hole(view: &View) -> bool {
    view.text.contains(HOLE)
}
