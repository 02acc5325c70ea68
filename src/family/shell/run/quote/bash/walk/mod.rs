//! Walk over the syntax tree of a script: finds the quotes around each value, and its uses.
//!
//! Each mark must be met exactly once; a mark that is in no part of the tree has no place. The
//! matches list every kind of node, so that a new kind is a compile error here.

mod expansion;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use shuck_ast::{
    ArrayElem, Assignment, AssignmentValue, BinaryOp, BuiltinCommand, Command, Comment,
    CompoundCommand, ConditionalBinaryOp, ConditionalExpr, ConditionalUnaryOp, DeclClause,
    DeclOperand, HeredocBodyPart, Redirect, RedirectKind, RedirectTarget, Span, Stmt, StmtSeq,
    Word,
};
use shuck_parser::parser::Parser;

use super::taint::{
    ALL, ANY, ARGUMENTS, Facts, INPUT, Need, OUTPUT, Rule, Sink, Sources, input_of, output_of,
};
use super::word::{self, View};
use super::{Dialect, Document, Marked};
use crate::family::programs::{HOLE, is_dangerous_variable};

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

/// Variables that are integers from the start.
const INTEGERS: &[&str] = &[
    "BASHPID",
    "COMP_CWORD",
    "COMP_KEY",
    "COMP_POINT",
    "COMP_TYPE",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "HISTCMD",
    "LINENO",
    "OPTERR",
    "OPTIND",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "UID",
];

/// Parameters that always are numbers or empty.
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

    pub(super) fn statements(&mut self, sequence: &StmtSeq, context: &Context<'_>) {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.unclear = Some("the command is nested too deeply".to_owned());
        } else {
            self.comments_of(&sequence.leading_comments, context);
            self.comments_of(&sequence.trailing_comments, context);
            for statement in &sequence.stmts {
                self.statement(statement, context);
            }
        }
        self.depth -= 1;
    }

    fn comments_of(&mut self, comments: &[Comment], context: &Context<'_>) {
        if let Some(base) = context.base {
            let ranges = comments.iter().map(|comment| {
                let (start, end) = (comment.range.start(), comment.range.end());
                base + usize::from(start)..base + usize::from(end)
            });
            // A comment must begin with its sign; otherwise the tree does not match this text.
            let text = &self.marked.text;
            let ranges: Vec<_> = ranges
                .filter(|range| {
                    text.get(range.clone())
                        .is_some_and(|it| it.starts_with('#'))
                })
                .collect();
            self.comments.extend(ranges);
        }
    }

    fn statement(&mut self, statement: &Stmt, context: &Context<'_>) {
        self.comments_of(&statement.leading_comments, context);
        let inline: Vec<Comment> = statement.inline_comment.into_iter().collect();
        self.comments_of(&inline, context);
        let mut inner = context.clone();
        let mut written = Vec::new();
        let met = self.collecting(|walker| {
            for redirect in &statement.redirects {
                if walker.redirect(redirect, context, &mut inner.stdin)
                    && let Some(target) = redirect.word_target()
                {
                    written.push(context.slice(target.span).unwrap_or_default());
                }
            }
            walker.command(&statement.command, &inner);
        });
        for target in written {
            self.facts.assign(OUTPUT, &met);
            self.facts.assign(&word::file(target), &met);
        }
    }

    /// Walks a redirection; returns true if it writes to a file.
    fn redirect(
        &mut self,
        redirect: &Redirect,
        context: &Context<'_>,
        stdin: &mut Sources,
    ) -> bool {
        let line = context.line(redirect.span);
        let word = match &redirect.target {
            RedirectTarget::Word(word) => word,
            RedirectTarget::Heredoc(heredoc) => {
                let delimiter = self.word(&heredoc.delimiter.raw, &context.bare());
                self.sink(
                    delimiter.direct(),
                    Rule::Never,
                    line,
                    "the end of a here-document",
                );
                let mut inner = context.clone();
                let body = context.range(heredoc.body.span);
                inner.document = body.as_ref().map(|body| body.start);
                inner.quote = if heredoc.delimiter.expands_body {
                    Quote::Heredoc
                } else {
                    Quote::Literal
                };
                inner.in_document = true;
                if !heredoc.delimiter.expands_body {
                    match (context.range(heredoc.delimiter.span), body) {
                        (Some(delimiter), Some(body)) => self.documents.push(Document {
                            delimiter,
                            cooked: heredoc.delimiter.cooked.to_string(),
                            body,
                            strips_tabs: heredoc.delimiter.strip_tabs,
                        }),
                        _ => inner.document = None,
                    }
                }
                let sources = self.collecting(|walker| {
                    for part in &heredoc.body.parts {
                        walker.document_part(&part.kind, part.span, &inner);
                    }
                });
                *stdin = sources;
                return false;
            }
        };
        let sources = self.word(word, &context.bare());
        match redirect.kind {
            RedirectKind::Input | RedirectKind::ReadWrite => {
                *stdin = sources.and(&Sources::of_name(OUTPUT));
                redirect.kind == RedirectKind::ReadWrite
            }
            RedirectKind::HereString => {
                *stdin = sources;
                false
            }
            RedirectKind::DupOutput => {
                let why = "the word behind `>&`, which the shell expands twice; write `&>`";
                self.sink(sources, Rule::Never, line, why);
                false
            }
            RedirectKind::DupInput => {
                let why = "the word behind `<&`, which must be a descriptor; write its number";
                self.sink(sources, Rule::Never, line, why);
                *stdin = Sources::of_name(ALL);
                false
            }
            RedirectKind::Output
            | RedirectKind::Clobber
            | RedirectKind::Append
            | RedirectKind::OutputBoth => true,
            RedirectKind::HereDoc | RedirectKind::HereDocStrip => {
                self.doubt(line);
                false
            }
        }
    }

    fn document_part(&mut self, part: &HeredocBodyPart, span: Span, context: &Context<'_>) {
        let sources = match part {
            HeredocBodyPart::Literal(text) => self.literal(text, span, context),
            HeredocBodyPart::Variable(name) => self.variable(name, span, context),
            HeredocBodyPart::CommandSubstitution { body, syntax } => {
                self.substitution(body, *syntax, span, context)
            }
            HeredocBodyPart::ArithmeticExpansion {
                expression_word_ast,
                ..
            } => self.calculation(expression_word_ast, span, context),
            HeredocBodyPart::Parameter(expansion) => self.expansion(expansion, context),
        };
        self.meet(&sources);
    }

    fn command(&mut self, command: &Command, context: &Context<'_>) {
        match command {
            Command::Simple(simple) => {
                for assignment in &simple.assignments {
                    self.assignment(assignment, context);
                }
                let mut words = Vec::new();
                if !(simple.name.parts.is_empty() && simple.args.is_empty()) {
                    for word in std::iter::once(&simple.name).chain(&simple.args) {
                        words.push(self.view(word, context));
                    }
                    self.simple(words, context);
                }
            }
            Command::Builtin(builtin) => {
                let (name, first, more, assignments) = match builtin {
                    BuiltinCommand::Break(it) => {
                        ("break", &it.depth, &it.extra_args, &it.assignments)
                    }
                    BuiltinCommand::Continue(it) => {
                        ("continue", &it.depth, &it.extra_args, &it.assignments)
                    }
                    BuiltinCommand::Return(it) => {
                        ("return", &it.code, &it.extra_args, &it.assignments)
                    }
                    BuiltinCommand::Exit(it) => ("exit", &it.code, &it.extra_args, &it.assignments),
                };
                for assignment in assignments {
                    self.assignment(assignment, context);
                }
                for word in first.iter().chain(more) {
                    let line = context.line(word.span);
                    let sources = self.word(word, &context.bare());
                    let why = format!("`{name}`, so it must be a whole number");
                    self.sink(sources.direct(), Rule::Operand, line, &why);
                }
            }
            Command::Decl(clause) => self.declaration(clause, context),
            Command::Binary(binary) => match binary.op {
                BinaryOp::And | BinaryOp::Or => {
                    self.statement(&binary.left, context);
                    self.statement(&binary.right, context);
                }
                BinaryOp::Pipe | BinaryOp::PipeAll => {
                    let left = self.collecting(|walker| walker.statement(&binary.left, context));
                    let mut right = context.clone();
                    right.stdin = left.and(&context.stdin).and(&Sources::of_name(OUTPUT));
                    self.statement(&binary.right, &right);
                }
            },
            Command::Compound(compound) => self.compound(compound, context),
            Command::Function(function) => {
                for entry in &function.header.entries {
                    let line = context.line(entry.word.span);
                    let sources = self.word(&entry.word, &context.bare());
                    self.sink(sources, Rule::Never, line, "the name of a function");
                }
                let names: Vec<String> = function
                    .static_names()
                    .map(|name| name.as_str().to_owned())
                    .collect();
                let mut inner = context.clone();
                inner.stdin = names.iter().fold(Sources::default(), |stdin, name| {
                    stdin.and(&Sources::of_name(&input_of(name)))
                });
                inner.function = names.first().cloned();
                let met = self.collecting(|walker| walker.statement(&function.body, &inner));
                for name in names {
                    self.facts.assign(&output_of(&name), &met);
                    self.functions.push(name);
                }
            }
            Command::AnonymousFunction(function) => {
                let line = context.line(function.span);
                let mut met = Sources::default();
                for word in &function.args {
                    met.add(&self.word(word, &context.bare()));
                }
                self.facts.assign(ARGUMENTS, &met);
                self.statement(&function.body, context);
                self.doubt(line);
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand, context: &Context<'_>) {
        match compound {
            CompoundCommand::If(it) => {
                self.statements(&it.condition, context);
                self.statements(&it.then_branch, context);
                for (condition, branch) in &it.elif_branches {
                    self.statements(condition, context);
                    self.statements(branch, context);
                }
                if let Some(branch) = &it.else_branch {
                    self.statements(branch, context);
                }
            }
            CompoundCommand::For(it) => {
                let mut sources = Sources::default();
                match &it.words {
                    Some(words) => {
                        for word in words {
                            sources.add(&self.word(word, &context.bare()));
                        }
                    }
                    None => sources = Sources::of_name(ARGUMENTS),
                }
                for target in &it.targets {
                    let line = context.line(target.span);
                    let name = self.word(&target.word, &context.bare());
                    self.sink(name, Rule::Never, line, "the name of a variable");
                    match &target.name {
                        Some(name) => self.assign_name(name, &sources, line),
                        None => self.facts.assign(ANY, &sources),
                    }
                }
                self.statements(&it.body, context);
            }
            CompoundCommand::Repeat(it) => {
                let line = context.line(it.span);
                let sources = self.word(&it.count, &context.bare());
                self.sink(sources, Rule::Number, line, CALCULATES);
                self.statements(&it.body, context);
            }
            CompoundCommand::Foreach(it) => {
                let mut sources = Sources::default();
                for word in &it.words {
                    sources.add(&self.word(word, &context.bare()));
                }
                self.assign_name(&it.variable, &sources, context.line(it.span));
                self.statements(&it.body, context);
            }
            CompoundCommand::ArithmeticFor(it) => {
                for span in [it.init_span, it.condition_span, it.step_span]
                    .into_iter()
                    .flatten()
                {
                    self.arithmetic(span, context);
                }
                self.statements(&it.body, context);
            }
            CompoundCommand::While(it) => {
                self.statements(&it.condition, context);
                self.statements(&it.body, context);
            }
            CompoundCommand::Until(it) => {
                self.statements(&it.condition, context);
                self.statements(&it.body, context);
            }
            CompoundCommand::Case(it) => {
                self.word(&it.word, &context.bare());
                for item in &it.cases {
                    for pattern in &item.patterns {
                        self.pattern(pattern, &context.bare());
                    }
                    self.statements(&item.body, context);
                }
            }
            CompoundCommand::Select(it) => {
                let mut sources = Sources::default();
                for word in &it.words {
                    sources.add(&self.word(word, &context.bare()));
                }
                let line = context.line(it.span);
                self.assign_name(&it.variable, &sources, line);
                let stdin = context.stdin.clone();
                self.assign_name("REPLY", &stdin, line);
                self.statements(&it.body, context);
            }
            CompoundCommand::Subshell(body) | CompoundCommand::BraceGroup(body) => {
                self.statements(body, context);
            }
            CompoundCommand::Arithmetic(it) => {
                if let Some(span) = it.expr_span {
                    self.arithmetic(span, context);
                }
            }
            CompoundCommand::Time(it) => {
                if let Some(command) = &it.command {
                    self.statement(command, context);
                }
            }
            CompoundCommand::Conditional(it) => self.condition(&it.expression, context),
            CompoundCommand::Coproc(it) => {
                let met = self.collecting(|walker| walker.statement(&it.body, context));
                self.facts.assign(OUTPUT, &met);
            }
            CompoundCommand::Always(it) => {
                self.statements(&it.body, context);
                self.statements(&it.always_body, context);
            }
        }
    }

    fn condition(&mut self, expression: &ConditionalExpr, context: &Context<'_>) {
        match expression {
            ConditionalExpr::Binary(it) => match it.op {
                ConditionalBinaryOp::ArithmeticEq
                | ConditionalBinaryOp::ArithmeticNe
                | ConditionalBinaryOp::ArithmeticLe
                | ConditionalBinaryOp::ArithmeticGe
                | ConditionalBinaryOp::ArithmeticLt
                | ConditionalBinaryOp::ArithmeticGt => {
                    let line = context.line(it.op_span);
                    for side in [&it.left, &it.right] {
                        let mut met = self.collecting(|walker| walker.condition(side, context));
                        let text = context.slice(side.span()).unwrap_or_default();
                        met.names.extend(word::identifiers(text));
                        self.sink(met, Rule::Number, line, CALCULATES);
                    }
                }
                ConditionalBinaryOp::RegexMatch => {
                    let met = self.collecting(|walker| walker.condition(&it.left, context));
                    self.facts.assign("BASH_REMATCH", &met);
                    self.condition(&it.right, context);
                }
                ConditionalBinaryOp::NewerThan
                | ConditionalBinaryOp::OlderThan
                | ConditionalBinaryOp::SameFile
                | ConditionalBinaryOp::And
                | ConditionalBinaryOp::Or
                | ConditionalBinaryOp::PatternEqShort
                | ConditionalBinaryOp::PatternEq
                | ConditionalBinaryOp::PatternNe
                | ConditionalBinaryOp::LexicalBefore
                | ConditionalBinaryOp::LexicalAfter => {
                    self.condition(&it.left, context);
                    self.condition(&it.right, context);
                }
            },
            ConditionalExpr::Unary(it) => {
                let line = context.line(it.op_span);
                let met = self.collecting(|walker| walker.condition(&it.expr, context));
                if matches!(
                    it.op,
                    ConditionalUnaryOp::VariableSet | ConditionalUnaryOp::ReferenceVariable
                ) {
                    let why = "the name of a variable, which the shell evaluates";
                    self.sink(met, Rule::Never, line, why);
                }
            }
            ConditionalExpr::Parenthesized(it) => self.condition(&it.expr, context),
            ConditionalExpr::Word(word) | ConditionalExpr::Regex(word) => {
                self.word(word, &context.bare());
            }
            ConditionalExpr::Pattern(pattern) => {
                self.pattern(pattern, &context.bare());
            }
            ConditionalExpr::VarRef(reference) => {
                let sources = self.reference(reference, &context.bare());
                self.meet(&sources);
            }
        }
    }

    fn declaration(&mut self, clause: &DeclClause, context: &Context<'_>) {
        for assignment in &clause.assignments {
            self.assignment(assignment, context);
        }
        let line = context.line(clause.span);
        let mut flags = String::new();
        for operand in &clause.operands {
            if let DeclOperand::Flag(word) = operand {
                let view = self.view(word, context);
                let why = "the options of a declaration";
                self.sink(view.sources.clone(), Rule::Never, line, why);
                flags.push_str(&view.text);
            }
        }
        let has = |flag: char| flags.contains(flag);
        for operand in &clause.operands {
            match operand {
                DeclOperand::Flag(_) => {}
                DeclOperand::Name(reference) => {
                    let name = reference.name.as_str();
                    self.attributes(name, &flags);
                    self.reference(reference, &context.bare());
                }
                DeclOperand::Assignment(assignment) => {
                    let name = assignment.target.name.as_str().to_owned();
                    self.attributes(&name, &flags);
                    let sources = self.assignment(assignment, context);
                    let is_scalar = matches!(assignment.value, AssignmentValue::Scalar(_));
                    if has('n') {
                        let why = "the name of a variable, which the shell evaluates";
                        self.sink(sources.clone(), Rule::Never, line, why);
                        self.alias(&name, assignment, context);
                    }
                    if is_scalar {
                        self.deferred.push(Deferred {
                            name,
                            sources,
                            line,
                            is_declaration: true,
                            is_list: false,
                        });
                    }
                }
                DeclOperand::Dynamic(word) => {
                    let view = self.view(word, context);
                    let name = view.text.split(['=', '[']).next().unwrap_or_default();
                    let name = name.trim_end_matches('+');
                    let why = "the name of a variable, which the shell evaluates";
                    if word::is_name(name)
                        && view.text[name.len()..]
                            .trim_start_matches('+')
                            .starts_with('=')
                        && !flags.contains(['a', 'A', 'i', 'n'])
                    {
                        let name = name.to_owned();
                        self.assign_name(&name, &view.sources, line);
                        self.deferred.push(Deferred {
                            name,
                            sources: view.sources.clone(),
                            line,
                            is_declaration: true,
                            is_list: false,
                        });
                    } else {
                        self.sink(view.sources.clone(), Rule::Never, line, why);
                        self.facts.assign(ANY, &view.sources);
                    }
                }
            }
        }
    }

    fn attributes(&mut self, name: &str, flags: &str) {
        if flags.contains('i') {
            self.facts.integers.insert(name.to_owned());
        }
        if flags.contains(['a', 'A']) {
            self.facts.arrays.insert(name.to_owned());
        }
    }

    /// Records `declare -n name=other`: each name stands for the other.
    fn alias(&mut self, name: &str, assignment: &Assignment, context: &Context<'_>) {
        let text = match &assignment.value {
            AssignmentValue::Scalar(word) => context.slice(word.span).unwrap_or_default(),
            AssignmentValue::Compound(_) => "",
        };
        let other = text.trim_matches(['"', '\'']);
        let both = if word::is_name(other) { other } else { ANY };
        self.facts.assign(both, &Sources::of_name(name));
        let other = if both == ANY { ALL } else { both };
        self.facts.assign(name, &Sources::of_name(other));
        self.aliases.push((name.to_owned(), both.to_owned()));
    }

    fn assignment(&mut self, assignment: &Assignment, context: &Context<'_>) -> Sources {
        let line = context.line(assignment.span);
        let name = assignment.target.name.as_str().to_owned();
        self.reference(&assignment.target, &context.bare());
        let mut sources = Sources::default();
        let mut views = Vec::new();
        match &assignment.value {
            AssignmentValue::Scalar(word) => {
                sources = self.word(word, &context.bare());
                if assignment.target.subscript.is_some() {
                    self.facts.arrays.insert(name.clone());
                }
                let mut calculated = sources.clone();
                let text = context.slice(word.span).unwrap_or_default();
                calculated.names.extend(word::identifiers(text));
                self.deferred.push(Deferred {
                    name: name.clone(),
                    sources: calculated,
                    line,
                    is_declaration: false,
                    is_list: false,
                });
            }
            AssignmentValue::Compound(array) => {
                self.facts.arrays.insert(name.clone());
                for element in &array.elements {
                    match element {
                        ArrayElem::Sequential(value) => {
                            let view = self.view(&value.word, context);
                            sources.add(&view.sources);
                            views.push(view);
                        }
                        ArrayElem::Keyed { key, value } | ArrayElem::KeyedAppend { key, value } => {
                            self.subscript(key, &name, &context.bare());
                            sources.add(&self.word(&value.word, &context.bare()));
                        }
                    }
                }
            }
        }
        let is_list = matches!(assignment.value, AssignmentValue::Compound(_));
        self.assign(&name, &sources, line, is_list);
        if let AssignmentValue::Compound(_) = &assignment.value
            && !assignment.append
            && self.lists.insert(name.clone(), views).is_some()
        {
            // The variable is assigned more than once, so its words are unknown. An empty list is
            // never a command.
            self.lists.insert(name, Vec::new());
        }
        sources
    }

    /// Assigns text that may hold values to a variable.
    pub(super) fn assign_name(&mut self, name: &str, sources: &Sources, line: usize) {
        self.assign(name, sources, line, false);
    }

    fn assign(&mut self, name: &str, sources: &Sources, line: usize, is_list: bool) {
        self.facts.assign(name, sources);
        self.deferred.push(Deferred {
            name: name.to_owned(),
            sources: sources.clone(),
            line,
            is_declaration: false,
            is_list,
        });
        if is_dangerous_variable(name) {
            let why = format!(
                "the variable `{name}`, which decides how the shell works or what programs run"
            );
            self.sink(sources.clone(), Rule::Never, line, &why);
        }
    }

    /// Applies attributes of variables and judges calls of functions, after everything is known.
    fn finish(&mut self) {
        for set in [&mut self.facts.integers, &mut self.facts.arrays] {
            for _ in 0..=self.aliases.len() {
                for (one, other) in &self.aliases {
                    let is_any = other == ANY && !set.is_empty();
                    if is_any || set.contains(one) || set.contains(other) {
                        set.extend([one.clone(), other.clone()]);
                    }
                }
            }
        }
        for deferred in std::mem::take(&mut self.deferred) {
            let name = deferred.name.as_str();
            if !deferred.is_list && self.list_commands.contains(name) {
                let why = "a list that is run as a command, so it would choose what runs";
                self.sink(deferred.sources.clone(), Rule::Never, deferred.line, why);
            }
            if self.facts.integers.contains(name) || INTEGERS.contains(&name) {
                self.sink(deferred.sources, Rule::Number, deferred.line, CALCULATES);
            } else if deferred.is_declaration && self.facts.arrays.contains(name) {
                let why = "the declaration of a list, which the shell parses again; assign it \
                           without `declare`";
                self.sink(deferred.sources, Rule::Never, deferred.line, why);
            }
        }
        self.finish_calls();
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
