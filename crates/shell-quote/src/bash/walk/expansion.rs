//! Expansions in words: parameters, arithmetic, substitutions of commands and processes, patterns.

use shuck_ast::{
    BourneParameterExpansion, CommandSubstitutionSyntax, LiteralText, ParameterExpansion,
    ParameterExpansionSyntax, ParameterOp, Pattern, PatternPart, SourceText, Span, StmtSeq,
    Subscript, VarRef, Word, WordPart,
};
use shuck_parser::parser::Parser;

use super::super::taint::{ALL, ARGUMENTS, OUTPUT, Rule, Sources, keys_of, spelled};
use super::super::word;
use super::{CALCULATES, Context, NUMBERS, Place, Quote, Walker};

impl Walker<'_> {
    pub(super) fn part(&mut self, part: &WordPart, span: Span, context: &Context<'_>) -> Sources {
        match part {
            WordPart::Literal(text) => self.literal(text, span, context),
            WordPart::ZshQualifiedGlob(_) => {
                if self.has_mark(span, context) {
                    self.doubt(context.line(span));
                }
                Sources::of_name(OUTPUT)
            }
            WordPart::SingleQuoted { value, dollar } => {
                if context.in_document {
                    // In a here-document these are not quotes, or they are quotes of a pattern.
                    if self.has_mark(span, context) {
                        self.doubt(context.line(span));
                    }
                    return Sources::default();
                }
                let quote = match (dollar, self.dialect) {
                    (true, _) => Quote::Ansi,
                    (false, _) => Quote::Single,
                };
                self.text(value.slice(context.source), &context.quoted(quote))
            }
            WordPart::DoubleQuoted { parts, .. } => {
                let quote = if context.in_document {
                    Quote::Heredoc
                } else {
                    Quote::Double
                };
                let inner = context.quoted(quote);
                let mut sources = Sources::default();
                for part in parts {
                    sources.add(&self.part(&part.kind, part.span, &inner));
                }
                sources
            }
            WordPart::Variable(name) => self.variable(name, span, context),
            WordPart::CommandSubstitution { body, syntax } => {
                self.substitution(body, *syntax, span, context)
            }
            WordPart::ArithmeticExpansion {
                expression_word_ast,
                ..
            } => self.calculation(expression_word_ast, span, context),
            WordPart::Parameter(expansion) => self.expansion(expansion, context),
            WordPart::ParameterExpansion {
                reference,
                operator,
                operand_word_ast,
                ..
            } => self.operation(
                reference,
                operator,
                operand_word_ast.as_deref(),
                span,
                context,
            ),
            WordPart::Length(reference) | WordPart::ArrayLength(reference) => {
                self.reference(reference, context);
                Sources::default()
            }
            WordPart::ArrayAccess(reference) => self.reference(reference, context),
            WordPart::ArrayIndices(reference) => {
                self.reference(reference, context);
                Sources::of_name(&keys_of(&reference.name))
            }
            WordPart::Substring {
                reference,
                offset_word_ast,
                length_word_ast,
                ..
            }
            | WordPart::ArraySlice {
                reference,
                offset_word_ast,
                length_word_ast,
                ..
            } => self.slice(
                reference,
                offset_word_ast,
                length_word_ast.as_deref(),
                span,
                context,
            ),
            WordPart::IndirectExpansion {
                reference,
                operator,
                operand_word_ast,
                ..
            } => self.indirect(
                reference,
                operator.as_deref(),
                operand_word_ast.as_deref(),
                span,
                context,
            ),
            WordPart::PrefixMatch { .. } => Sources::default(),
            WordPart::ProcessSubstitution { body, is_input } => {
                let mut inner = context.bare();
                if !is_input {
                    // Text that is written into `>(…)` is its standard input.
                    inner.stdin = Sources::of_name(ALL);
                }
                let met = self.collecting(|walker| walker.statements(body, &inner));
                met.and(&Sources::of_name(OUTPUT))
            }
            WordPart::Transformation {
                reference,
                operator,
            } => self.transformation(reference, *operator, span, context),
        }
    }

    fn has_mark(&self, span: Span, context: &Context<'_>) -> bool {
        context
            .slice(span)
            .is_none_or(|text| text.contains(self.marked.open))
    }

    pub(super) fn expansion(
        &mut self,
        expansion: &ParameterExpansion,
        context: &Context<'_>,
    ) -> Sources {
        let span = expansion.span;
        let bourne = match &expansion.syntax {
            ParameterExpansionSyntax::Bourne(bourne) => bourne,
            ParameterExpansionSyntax::Zsh(_) => {
                self.doubt(context.line(span));
                return Sources::of_name(ALL);
            }
        };
        match bourne {
            BourneParameterExpansion::Access { reference } => self.reference(reference, context),
            BourneParameterExpansion::Length { reference } => {
                self.reference(reference, context);
                Sources::default()
            }
            BourneParameterExpansion::Indices { reference } => {
                self.reference(reference, context);
                Sources::of_name(&keys_of(&reference.name))
            }
            BourneParameterExpansion::Indirect {
                reference,
                operator,
                operand_word_ast,
                ..
            } => self.indirect(
                reference,
                operator.as_deref(),
                operand_word_ast.as_deref(),
                span,
                context,
            ),
            BourneParameterExpansion::PrefixMatch { .. } => Sources::default(),
            BourneParameterExpansion::Slice {
                reference,
                offset_word_ast,
                length_word_ast,
                ..
            } => self.slice(
                reference,
                offset_word_ast,
                length_word_ast.as_deref(),
                span,
                context,
            ),
            BourneParameterExpansion::Operation {
                reference,
                operator,
                operand_word_ast,
                ..
            } => self.operation(
                reference,
                operator,
                operand_word_ast.as_deref(),
                span,
                context,
            ),
            BourneParameterExpansion::Transformation {
                reference,
                operator,
            } => self.transformation(reference, *operator, span, context),
        }
    }

    /// Walks `${name:offset:length}`.
    fn slice(
        &mut self,
        reference: &VarRef,
        offset: &Word,
        length: Option<&Word>,
        span: Span,
        context: &Context<'_>,
    ) -> Sources {
        let sources = self.reference(reference, context);
        self.calculation(offset, span, context);
        if let Some(length) = length {
            self.calculation(length, span, context);
        }
        sources
    }

    fn operation(
        &mut self,
        reference: &VarRef,
        operator: &ParameterOp,
        operand: Option<&Word>,
        span: Span,
        context: &Context<'_>,
    ) -> Sources {
        let mut sources = self.reference(reference, context);
        // The word of an expansion has quotes of its own.
        let inner = if context.in_document {
            context.clone()
        } else {
            context.quoted(Quote::Bare)
        };
        let mut given = Sources::default();
        if let Some(operand) = operand {
            given.add(&self.word(operand, &inner));
        }
        match operator {
            ParameterOp::UseDefault | ParameterOp::UseReplacement | ParameterOp::Error => {}
            ParameterOp::AssignDefault => {
                let name = reference.name.as_str().to_owned();
                self.assign_name(&name, &given, context.line(span));
            }
            ParameterOp::RemovePrefixShort { pattern }
            | ParameterOp::RemovePrefixLong { pattern }
            | ParameterOp::RemoveSuffixShort { pattern } => {
                self.pattern(pattern, &inner);
            }
            ParameterOp::RemoveSuffixLong { pattern } => {
                self.pattern(pattern, &inner);
                let text = context.slice(span).unwrap_or_default();
                if word::keeps_digits(text) {
                    return Sources::default();
                }
            }
            ParameterOp::ReplaceFirst {
                pattern,
                replacement_word_ast,
                ..
            } => {
                self.pattern(pattern, &inner);
                given.add(&self.word(replacement_word_ast, &inner));
            }
            ParameterOp::ReplaceAll {
                pattern,
                replacement_word_ast,
                ..
            } => {
                self.pattern(pattern, &inner);
                given.add(&self.word(replacement_word_ast, &inner));
                let text = context.slice(span).unwrap_or_default();
                if word::keeps_digits(text) {
                    return Sources::default();
                }
            }
            ParameterOp::UpperFirst
            | ParameterOp::UpperAll
            | ParameterOp::LowerFirst
            | ParameterOp::LowerAll => {}
        }
        sources.add(&given);
        sources
    }

    fn indirect(
        &mut self,
        reference: &VarRef,
        operator: Option<&ParameterOp>,
        operand: Option<&Word>,
        span: Span,
        context: &Context<'_>,
    ) -> Sources {
        let sources = match operator {
            Some(operator) => self.operation(reference, operator, operand, span, context),
            None => self.reference(reference, context),
        };
        let why = "the name of a variable, which the shell evaluates";
        self.sink(sources, Rule::Never, context.line(span), why);
        Sources::of_name(ALL)
    }

    fn transformation(
        &mut self,
        reference: &VarRef,
        operator: char,
        span: Span,
        context: &Context<'_>,
    ) -> Sources {
        let sources = self.reference(reference, context);
        if operator == 'P' {
            let why = "`@P`, which runs what is in it";
            self.sink(sources.clone(), Rule::Never, context.line(span), why);
        }
        sources
    }

    pub(super) fn reference(&mut self, reference: &VarRef, context: &Context<'_>) -> Sources {
        let sources = self.variable(reference.name.as_str(), reference.span, context);
        if let Some(subscript) = &reference.subscript {
            self.subscript(subscript, &reference.name, context);
        }
        sources
    }

    pub(super) fn variable(&mut self, name: &str, span: Span, context: &Context<'_>) -> Sources {
        if name.contains([self.marked.open, self.marked.close]) {
            self.doubt(context.line(span));
        }
        if NUMBERS.contains(&name) {
            return Sources::default();
        }
        let is_argument = name == "@" || name == "*" || name.bytes().all(|b| b.is_ascii_digit());
        let name = match name {
            _ if is_argument => ARGUMENTS,
            _ if name.starts_with("__haft_") => ALL,
            name => name,
        };
        Sources::of_name(name)
    }

    /// Walks the text between the brackets of `name[…]`.
    pub(super) fn subscript(&mut self, subscript: &Subscript, name: &str, context: &Context<'_>) {
        if subscript.is_array_selector() {
            return;
        }
        let text = subscript.syntax_source_text();
        // Names that may hold a value must be numbers there; all other text is the author's.
        let names = word::identifiers(text.slice(context.source));
        let keys = Sources {
            names: names.iter().map(|name| spelled(name)).collect(),
            ..Sources::default()
        };
        self.facts.assign(&keys_of(name), &keys);
        self.arithmetic_text(text, context);
    }

    fn arithmetic_text(&mut self, text: &SourceText, context: &Context<'_>) {
        if text.is_source_backed() {
            return self.arithmetic(text.span(), context);
        }
        let cooked = text.slice(context.source).to_owned();
        self.arithmetic_in(&cooked, None, context.line(text.span()), context);
    }

    /// Walks arithmetic that is not a word of the tree.
    pub(super) fn arithmetic(&mut self, span: Span, context: &Context<'_>) {
        match context.slice(span) {
            Some(text) => {
                let base = context.base.map(|base| base + span.start.offset());
                self.arithmetic_in(text, base, context.line(span), context);
            }
            None => self.doubt(context.line(span)),
        }
    }

    fn arithmetic_in(
        &mut self,
        text: &str,
        base: Option<usize>,
        line: usize,
        context: &Context<'_>,
    ) {
        let word = Parser::parse_word_string(text);
        let inner = Context {
            source: text,
            base,
            line,
            quote: context.quote,
            backquotes: context.backquotes.clone(),
            document: context.document,
            in_document: false,
            stdin: context.stdin.clone(),
            function: context.function.clone(),
        };
        self.calculation(&word, word.span, &inner);
    }

    /// Walks a calculation of the shell. The result is a number.
    pub(super) fn calculation(
        &mut self,
        word: &Word,
        span: Span,
        context: &Context<'_>,
    ) -> Sources {
        let mut sources = self.word(word, &context.number());
        if let Some(text) = context.slice(word.span).or_else(|| context.slice(span)) {
            sources.names.extend(word::identifiers(text));
        } else {
            self.doubt(context.line(span));
        }
        self.sink(sources, Rule::Number, context.line(span), CALCULATES);
        Sources::default()
    }

    pub(super) fn substitution(
        &mut self,
        body: &StmtSeq,
        syntax: CommandSubstitutionSyntax,
        span: Span,
        context: &Context<'_>,
    ) -> Sources {
        let mut inner = context.bare();
        if syntax == CommandSubstitutionSyntax::Backtick && inner.backquotes.is_none() {
            // If the range is unknown, no text counts as free of backslashes.
            inner.backquotes = Some(context.range(span).unwrap_or(usize::MAX..usize::MAX));
        }
        let met = self.collecting(|walker| walker.statements(body, &inner));
        if word::is_count(body, context.source) || word::is_setup(body, context.source) {
            Sources::default()
        } else {
            met.and(&context.stdin).and(&Sources::of_name(OUTPUT))
        }
    }

    pub(super) fn pattern(&mut self, pattern: &Pattern, context: &Context<'_>) -> Sources {
        let mut sources = Sources::default();
        for part in &pattern.parts {
            match &part.kind {
                PatternPart::Literal(text) => {
                    sources.add(&self.literal(text, part.span, context));
                }
                PatternPart::AnyString | PatternPart::AnyChar => {}
                PatternPart::CharClass(text) => {
                    if text.slice(context.source).contains(self.marked.open) {
                        self.doubt(context.line(part.span));
                    }
                }
                PatternPart::Group { patterns, .. } => {
                    for pattern in patterns {
                        sources.add(&self.pattern(pattern, context));
                    }
                }
                PatternPart::Word(word) => sources.add(&self.word(word, context)),
            }
        }
        self.meet(&sources);
        sources
    }

    pub(super) fn literal(
        &mut self,
        text: &LiteralText,
        span: Span,
        context: &Context<'_>,
    ) -> Sources {
        let written = context.slice(span);
        let text = match (text, written) {
            (LiteralText::Source, Some(written)) => written,
            (LiteralText::Source, None) => {
                self.doubt(context.line(span));
                return Sources::default();
            }
            (LiteralText::Owned(text) | LiteralText::CookedSource(text), _) => text,
        };
        // A literal that still holds syntax was not parsed correctly.
        if context.quote != Quote::Literal
            && text.contains(self.marked.open)
            && word::holds_syntax(
                written
                    .filter(|it| it.contains(self.marked.open))
                    .unwrap_or(text),
            )
        {
            self.doubt(context.line(span));
        }
        let mut sources = self.text(text, context);
        if context.quote == Quote::Bare && text.contains(['*', '?', '[']) {
            // Names of files may be the result.
            sources.names.insert(OUTPUT.to_owned());
        }
        sources
    }

    /// Returns the sources of the marks in a text.
    fn text(&mut self, text: &str, context: &Context<'_>) -> Sources {
        let mut sources = Sources::default();
        // In a calculation the name of a variable is evaluated like the variable.
        let names = word::identifiers(text).into_iter();
        sources.names.extend(names.map(|name| spelled(&name)));
        for part in text.split(self.marked.open).skip(1) {
            let number = part.split(self.marked.close).next().unwrap_or_default();
            let Ok(value) = number.parse::<usize>() else {
                self.doubt(context.line);
                continue;
            };
            let place = Place {
                quote: context.quote,
                backquotes: context.backquotes.clone(),
                document: context.document,
            };
            match self.places.get_mut(value) {
                Some(known @ None) => *known = Some(place),
                Some(Some(known)) if *known == place => {}
                _ => self.doubt(context.line),
            }
            sources.values.insert(value);
        }
        sources
    }
}
