//! Statements, commands, redirections, here-documents and conditions.

use shuck_ast::{
    BinaryOp, BuiltinCommand, Command, Comment, CompoundCommand, ConditionalBinaryOp,
    ConditionalExpr, ConditionalUnaryOp, Heredoc, HeredocBodyPart, Redirect, RedirectKind,
    RedirectTarget, Span, Stmt, StmtSeq, Word,
};

use super::super::Document;
use super::super::origin::{ANY, INPUT, Rule, TextOrigin};
use super::super::word::{self, CommandWord};
use super::{CALCULATES, CommandInput, Context, Quote, VARIABLE_NAME, Walker};
use crate::programs::HOLE;

impl Walker<'_> {
    pub(super) fn statements(&mut self, sequence: &StmtSeq, context: &Context<'_>) {
        self.nested(|walker| {
            walker.comments_of(&sequence.leading_comments, context);
            walker.comments_of(&sequence.trailing_comments, context);
            for statement in &sequence.stmts {
                walker.statement(statement, context);
            }
        });
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
        for redirect in &statement.redirects {
            let is_input = redirect.fd_var.is_none() && descriptor(redirect, context) == 0;
            if let Some(input) = self.redirect(redirect, context).filter(|_| is_input) {
                inner.input = input;
            }
        }
        if !matches!(statement.command, Command::Simple(_)) {
            inner.input = inner.inside().input;
        }
        self.command(&statement.command, &inner);
    }

    /// Walks a redirection; returns what a command reads from it.
    fn redirect(&mut self, redirect: &Redirect, context: &Context<'_>) -> Option<CommandInput> {
        let line = context.line(redirect.span);
        let word = match &redirect.target {
            RedirectTarget::Word(word) => self.command_word(word, context),
            RedirectTarget::Heredoc(heredoc) => return Some(self.document(heredoc, line, context)),
        };
        // `0>` and `0>&` replace the input, too.
        let replaced = redirect.fd.map(|_| CommandInput::Open);
        match redirect.kind {
            RedirectKind::Input => Some(CommandInput::File(Box::new(word))),
            RedirectKind::HereString if word.has_hole() => Some(CommandInput::Open),
            RedirectKind::HereString => Some(CommandInput::Text(word.text)),
            RedirectKind::DupOutput => {
                let why = "the word behind `>&`, which the shell expands twice; write `&>`";
                self.sink(word.origin, Rule::Never, line, why);
                replaced
            }
            RedirectKind::DupInput => {
                let why = "the word behind `<&`, which must be a descriptor; write its number";
                self.sink(word.origin, Rule::Never, line, why);
                Some(CommandInput::Open)
            }
            RedirectKind::ReadWrite => {
                self.written_files.insert(word.file);
                Some(CommandInput::Open)
            }
            RedirectKind::Output
            | RedirectKind::Clobber
            | RedirectKind::Append
            | RedirectKind::OutputBoth => {
                self.written_files.insert(word.file);
                replaced
            }
            RedirectKind::HereDoc | RedirectKind::HereDocStrip => {
                self.doubt(line);
                None
            }
        }
    }

    fn document(&mut self, heredoc: &Heredoc, line: usize, context: &Context<'_>) -> CommandInput {
        let delimiter = self.word(&heredoc.delimiter.raw, &context.bare());
        let direct = TextOrigin::of_values(delimiter.values);
        self.sink(direct, Rule::Never, line, "the end of a here-document");
        let mut inner = context.clone();
        let body = context.range(heredoc.body.span);
        inner.document = body.as_ref().map(|body| body.start);
        inner.in_document = true;
        let is_literal = !heredoc.delimiter.expands_body;
        inner.quote = if is_literal {
            Quote::Literal
        } else {
            Quote::Heredoc
        };
        if is_literal {
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
        let mut origin = TextOrigin::default();
        for part in &heredoc.body.parts {
            origin.add(&self.document_part(&part.kind, part.span, &inner));
        }
        match context.slice(heredoc.body.span) {
            Some(text) if is_literal && origin.is_own() => {
                let tabs: &[char] = if heredoc.delimiter.strip_tabs {
                    &['\t']
                } else {
                    &[]
                };
                let lines = text.split_inclusive('\n');
                CommandInput::Text(lines.map(|line| line.trim_start_matches(tabs)).collect())
            }
            _ => CommandInput::Open,
        }
    }

    fn document_part(
        &mut self,
        part: &HeredocBodyPart,
        span: Span,
        context: &Context<'_>,
    ) -> TextOrigin {
        match part {
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
        }
    }

    fn command(&mut self, command: &Command, context: &Context<'_>) {
        match command {
            Command::Simple(simple) => {
                for assignment in &simple.assignments {
                    self.assignment(assignment, context);
                }
                if simple.name.parts.is_empty() && simple.args.is_empty() {
                    return;
                }
                let mut words = Vec::new();
                for word in std::iter::once(&simple.name).chain(&simple.args) {
                    if !self.is_descriptor(word, context) {
                        words.push(self.command_word(word, context));
                    }
                }
                let replaces_input = !matches!(context.input, CommandInput::Inherited);
                if replaces_input && words.iter().any(|word| word.text == "exec") {
                    self.facts.assign(INPUT, &TextOrigin::open());
                }
                self.simple(&words, context);
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
                    let origin = self.word(word, &context.bare());
                    self.operand(origin, line, &format!("`{name}`"));
                }
            }
            Command::Decl(clause) => self.declaration(clause, context),
            Command::Binary(binary) => match binary.op {
                BinaryOp::And | BinaryOp::Or => {
                    self.statement(&binary.left, context);
                    self.statement(&binary.right, context);
                }
                BinaryOp::Pipe | BinaryOp::PipeAll => {
                    self.statement(&binary.left, context);
                    let mut right = context.clone();
                    right.input = self.piped(&binary.left, context);
                    self.statement(&binary.right, &right);
                }
            },
            Command::Compound(compound) => self.compound(compound, context),
            Command::Function(function) => {
                for entry in &function.header.entries {
                    let line = context.line(entry.word.span);
                    let origin = self.word(&entry.word, &context.bare());
                    self.sink(origin, Rule::Never, line, "the name of a function");
                }
                if function
                    .static_names()
                    .any(|name| word::KNOWN_OUTPUT.contains(&name.as_str()))
                {
                    let why = "a function with the name of a program whose output haft knows; give \
                               it another name";
                    self.refuse(context.line(function.span), why);
                }
                let mut inner = context.clone();
                inner.input = CommandInput::Open;
                self.statement(&function.body, &inner);
            }
            Command::AnonymousFunction(function) => self.doubt(context.line(function.span)),
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
                let origin = match &it.words {
                    Some(words) => self.words(words, context),
                    None => TextOrigin::open(),
                };
                for target in &it.targets {
                    let line = context.line(target.span);
                    let name = self.word(&target.word, &context.bare());
                    self.sink(name, Rule::Never, line, VARIABLE_NAME);
                    match &target.name {
                        Some(name) => self.assign(name, &origin, line),
                        None => self.facts.assign(ANY, &origin),
                    }
                }
                self.statements(&it.body, context);
            }
            CompoundCommand::Repeat(it) => {
                let line = context.line(it.span);
                let origin = self.word(&it.count, &context.bare());
                self.sink(origin, Rule::Number, line, CALCULATES);
                self.statements(&it.body, context);
            }
            CompoundCommand::Foreach(it) => {
                let origin = self.words(&it.words, context);
                self.assign(&it.variable, &origin, context.line(it.span));
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
                let origin = self.words(&it.words, context);
                self.assign(&it.variable, &origin, context.line(it.span));
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
            CompoundCommand::Conditional(it) => drop(self.condition(&it.expression, context)),
            CompoundCommand::Coproc(it) => {
                let mut inner = context.clone();
                inner.input = CommandInput::Open;
                self.statement(&it.body, &inner);
            }
            CompoundCommand::Always(it) => {
                self.statements(&it.body, context);
                self.statements(&it.always_body, context);
            }
        }
    }

    /// Walks a condition; returns the origin of its words.
    fn condition(&mut self, expression: &ConditionalExpr, context: &Context<'_>) -> TextOrigin {
        match expression {
            ConditionalExpr::Binary(it) => match it.op {
                ConditionalBinaryOp::ArithmeticEq
                | ConditionalBinaryOp::ArithmeticNe
                | ConditionalBinaryOp::ArithmeticLe
                | ConditionalBinaryOp::ArithmeticGe
                | ConditionalBinaryOp::ArithmeticLt
                | ConditionalBinaryOp::ArithmeticGt => {
                    for side in [&it.left, &it.right] {
                        let mut origin = self.condition(side, context);
                        let text = context.slice(side.span()).unwrap_or_default();
                        origin.spelled.extend(word::identifiers(text));
                        self.sink(origin, Rule::Number, context.line(it.op_span), CALCULATES);
                    }
                    TextOrigin::default()
                }
                ConditionalBinaryOp::RegexMatch
                | ConditionalBinaryOp::NewerThan
                | ConditionalBinaryOp::OlderThan
                | ConditionalBinaryOp::SameFile
                | ConditionalBinaryOp::And
                | ConditionalBinaryOp::Or
                | ConditionalBinaryOp::PatternEqShort
                | ConditionalBinaryOp::PatternEq
                | ConditionalBinaryOp::PatternNe
                | ConditionalBinaryOp::LexicalBefore
                | ConditionalBinaryOp::LexicalAfter => {
                    let mut origin = self.condition(&it.left, context);
                    origin.add(&self.condition(&it.right, context));
                    origin
                }
            },
            ConditionalExpr::Unary(it) => {
                let origin = self.condition(&it.expr, context);
                if matches!(
                    it.op,
                    ConditionalUnaryOp::VariableSet | ConditionalUnaryOp::ReferenceVariable
                ) {
                    let line = context.line(it.op_span);
                    self.sink(origin.clone(), Rule::Never, line, VARIABLE_NAME);
                    // The shell calculates a subscript in the name.
                    let text = context.slice(it.expr.span()).unwrap_or_default();
                    self.subscript_in_name(text, line);
                }
                origin
            }
            ConditionalExpr::Parenthesized(it) => self.condition(&it.expr, context),
            ConditionalExpr::Word(word) | ConditionalExpr::Regex(word) => {
                self.word(word, &context.bare())
            }
            ConditionalExpr::Pattern(pattern) => self.pattern(pattern, &context.bare()),
            ConditionalExpr::VarRef(reference) => {
                self.variable(&reference.name, reference.span, context);
                let subscript = reference.subscript.as_deref();
                subscript.map_or(TextOrigin::default(), |subscript| {
                    self.subscript(subscript, &context.bare())
                })
            }
        }
    }

    fn words(&mut self, words: &[Word], context: &Context<'_>) -> TextOrigin {
        let mut origin = TextOrigin::default();
        for word in words {
            origin.add(&self.word(word, &context.bare()));
        }
        origin
    }

    /// Returns true for a word that is the descriptor of the redirection behind it. The tree has it
    /// as a word in front of a here-document.
    fn is_descriptor(&mut self, word: &Word, context: &Context<'_>) -> bool {
        let text = context.slice(word.span).unwrap_or_default();
        let rest = context.source.get(word.span.end.offset()..);
        let is_before = rest.unwrap_or_default().starts_with(['<', '>']);
        if is_before && text.starts_with('{') {
            self.doubt(context.line(word.span));
        }
        is_before && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Returns what a command writes to a pipe, if that is the author's own text or one file.
    fn piped(&self, statement: &Stmt, context: &Context<'_>) -> CommandInput {
        let Command::Simple(simple) = &statement.command else {
            return CommandInput::Open;
        };
        let words = word::texts(simple, context.source, self.marked);
        let is_plain = |text: &String| !text.contains(['%', '\\', HOLE]) && !text.starts_with('-');
        let has_more = !statement.redirects.is_empty() || !simple.assignments.is_empty();
        match words.split_first() {
            Some((name, rest)) if !has_more && rest.iter().all(is_plain) => match (&**name, rest) {
                ("echo", rest) => CommandInput::Text(rest.join(" ")),
                ("printf", [text]) => CommandInput::Text(text.clone()),
                ("cat", [file]) => CommandInput::File(Box::new(CommandWord {
                    file: word::file_name(file),
                    ..CommandWord::own(context.line(statement.span))
                })),
                _ => CommandInput::Open,
            },
            _ => CommandInput::Open,
        }
    }
}

/// Returns the descriptor of a redirection, 0 if it names none.
fn descriptor(redirect: &Redirect, context: &Context<'_>) -> i32 {
    let before = context.source.get(..redirect.span.start.offset());
    let before = before.unwrap_or_default();
    let word = before.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_word = word.is_empty() || word.ends_with([' ', '\t', '\n']);
    let written = before[word.len()..].parse::<i32>().ok().filter(|_| is_word);
    redirect.fd.or(written).unwrap_or(0)
}
