//! Statements, commands, redirections, here-documents and conditions.

use shuck_ast::{
    BinaryOp, BuiltinCommand, Command, Comment, CompoundCommand, ConditionalBinaryOp,
    ConditionalExpr, ConditionalUnaryOp, HeredocBodyPart, Redirect, RedirectKind, RedirectTarget,
    Span, Stmt, StmtSeq,
};

use super::super::taint::{ALL, ANY, ARGUMENTS, OUTPUT, Rule, Sources, input_of, output_of};
use super::super::{Document, word};
use super::{CALCULATES, Context, MAX_DEPTH, Quote, Walker};

impl Walker<'_> {
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
}
