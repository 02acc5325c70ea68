//! Expansions in words: parameters, arithmetic, substitutions of commands and processes, patterns.

use shuck_ast::{
    BourneParameterExpansion, CommandSubstitutionSyntax, LiteralText, ParameterExpansion,
    ParameterExpansionSyntax, ParameterOp, Pattern, PatternPart, Span, StmtSeq, Subscript, VarRef,
    Word, WordPart,
};
use shuck_parser::parser::Parser;

use super::super::origin::{OPEN, Rule, TextOrigin, keys_of};
use super::super::word;
use super::{CALCULATES, CommandInput, Context, NUMBERS, Place, Quote, VARIABLE_NAME, Walker};

impl Walker<'_> {
    pub(super) fn part(
        &mut self,
        part: &WordPart,
        span: Span,
        context: &Context<'_>,
    ) -> TextOrigin {
        match part {
            WordPart::Literal(text) => self.literal(text, span, context),
            WordPart::ZshQualifiedGlob(_) => {
                if self.has_mark(span, context) {
                    self.doubt(context.line(span));
                }
                TextOrigin::open()
            }
            WordPart::SingleQuoted { value, dollar } => {
                if context.in_document {
                    // In a here-document these are not quotes, or they are quotes of a pattern.
                    if self.has_mark(span, context) {
                        self.doubt(context.line(span));
                    }
                    return TextOrigin::default();
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
                let mut origin = TextOrigin::default();
                for part in parts {
                    origin.add(&self.part(&part.kind, part.span, &inner));
                }
                origin
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
            WordPart::ProcessSubstitution { body, is_input } => {
                let mut inner = context.inside();
                if !is_input {
                    // Text that is written into `>(…)` is its standard input.
                    inner.input = CommandInput::Open;
                }
                self.statements(body, &inner);
                TextOrigin::open()
            }
            // The parser gives these forms as `Parameter`.
            WordPart::ParameterExpansion { .. }
            | WordPart::Length(_)
            | WordPart::ArrayLength(_)
            | WordPart::ArrayAccess(_)
            | WordPart::ArrayIndices(_)
            | WordPart::Substring { .. }
            | WordPart::ArraySlice { .. }
            | WordPart::IndirectExpansion { .. }
            | WordPart::PrefixMatch { .. }
            | WordPart::Transformation { .. } => {
                self.doubt(context.line(span));
                TextOrigin::default()
            }
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
    ) -> TextOrigin {
        let span = expansion.span;
        let bourne = match &expansion.syntax {
            ParameterExpansionSyntax::Bourne(bourne) => bourne,
            ParameterExpansionSyntax::Zsh(_) => {
                self.doubt(context.line(span));
                return TextOrigin::open();
            }
        };
        match bourne {
            BourneParameterExpansion::Access { reference } => self.reference(reference, context),
            BourneParameterExpansion::Length { reference } => {
                self.reference(reference, context);
                TextOrigin::default()
            }
            BourneParameterExpansion::Indices { reference } => {
                self.reference(reference, context);
                TextOrigin::of_variable(&keys_of(&reference.name))
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
            BourneParameterExpansion::PrefixMatch { .. } => TextOrigin::default(),
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
    ) -> TextOrigin {
        let origin = self.reference(reference, context);
        self.calculation(offset, span, context);
        if let Some(length) = length {
            self.calculation(length, span, context);
        }
        origin
    }

    fn operation(
        &mut self,
        reference: &VarRef,
        operator: &ParameterOp,
        operand: Option<&Word>,
        span: Span,
        context: &Context<'_>,
    ) -> TextOrigin {
        let mut origin = self.reference(reference, context);
        // The word of an expansion has quotes of its own.
        let inner = if context.in_document {
            context.clone()
        } else {
            context.quoted(Quote::Bare)
        };
        let mut given = TextOrigin::default();
        if let Some(operand) = operand {
            given.add(&self.word(operand, &inner));
        }
        match operator {
            ParameterOp::UseDefault | ParameterOp::UseReplacement | ParameterOp::Error => {}
            ParameterOp::AssignDefault => {
                let name = reference.name.as_str().to_owned();
                self.assign(&name, &given, context.line(span));
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
                    return TextOrigin::default();
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
                    return TextOrigin::default();
                }
            }
            ParameterOp::UpperFirst
            | ParameterOp::UpperAll
            | ParameterOp::LowerFirst
            | ParameterOp::LowerAll => {}
        }
        origin.add(&given);
        origin
    }

    fn indirect(
        &mut self,
        reference: &VarRef,
        operator: Option<&ParameterOp>,
        operand: Option<&Word>,
        span: Span,
        context: &Context<'_>,
    ) -> TextOrigin {
        let origin = match operator {
            Some(operator) => self.operation(reference, operator, operand, span, context),
            None => self.reference(reference, context),
        };
        self.sink(origin, Rule::Never, context.line(span), VARIABLE_NAME);
        TextOrigin::open()
    }

    fn transformation(
        &mut self,
        reference: &VarRef,
        operator: char,
        span: Span,
        context: &Context<'_>,
    ) -> TextOrigin {
        if operator == 'P' {
            self.refuse(
                context.line(span),
                "`@P`, which runs what is in it; leave it out",
            );
        }
        self.reference(reference, context)
    }

    pub(super) fn reference(&mut self, reference: &VarRef, context: &Context<'_>) -> TextOrigin {
        let origin = self.variable(reference.name.as_str(), reference.span, context);
        if let Some(subscript) = &reference.subscript {
            self.subscript(subscript, context);
        }
        origin
    }

    pub(super) fn variable(&mut self, name: &str, span: Span, context: &Context<'_>) -> TextOrigin {
        if name.contains([self.marked.open, self.marked.close]) {
            self.doubt(context.line(span));
        }
        if NUMBERS.contains(&name) {
            return TextOrigin::default();
        }
        let is_argument = name == "@" || name == "*" || name.bytes().all(|b| b.is_ascii_digit());
        if is_argument || name.starts_with("__haft_") {
            return TextOrigin::open();
        }
        TextOrigin::of_variable(name)
    }

    /// Walks the text between the brackets of `name[…]`.
    pub(super) fn subscript(&mut self, subscript: &Subscript, context: &Context<'_>) -> TextOrigin {
        if subscript.is_array_selector() {
            return TextOrigin::default();
        }
        let text = subscript.syntax_source_text();
        if text.is_source_backed() {
            return self.arithmetic(text.span(), context);
        }
        let cooked = text.slice(context.source).to_owned();
        self.arithmetic_in(&cooked, None, context.line(text.span()), context)
    }

    /// Walks arithmetic that is not a word of the tree.
    pub(super) fn arithmetic(&mut self, span: Span, context: &Context<'_>) -> TextOrigin {
        match context.slice(span) {
            Some(text) => {
                let base = context.base.map(|base| base + span.start.offset());
                self.arithmetic_in(text, base, context.line(span), context)
            }
            None => {
                self.doubt(context.line(span));
                TextOrigin::default()
            }
        }
    }

    fn arithmetic_in(
        &mut self,
        text: &str,
        base: Option<usize>,
        line: usize,
        context: &Context<'_>,
    ) -> TextOrigin {
        let word = Parser::parse_word_string(text);
        let inner = Context {
            source: text,
            base,
            line,
            quote: context.quote,
            backquotes: context.backquotes.clone(),
            document: context.document,
            in_document: false,
            input: context.input.clone(),
        };
        self.calculated(&word, word.span, &inner)
    }

    /// Walks a calculation of the shell. The result is a number.
    pub(super) fn calculation(
        &mut self,
        word: &Word,
        span: Span,
        context: &Context<'_>,
    ) -> TextOrigin {
        self.calculated(word, span, context);
        TextOrigin::default()
    }

    /// Walks a calculation; returns the origin of its words.
    fn calculated(&mut self, word: &Word, span: Span, context: &Context<'_>) -> TextOrigin {
        let mut origin = self.word(word, &context.quoted(Quote::Number));
        if let Some(text) = context.slice(word.span).or_else(|| context.slice(span)) {
            origin.spelled.extend(word::identifiers(text));
        } else {
            self.doubt(context.line(span));
        }
        self.sink(origin.clone(), Rule::Number, context.line(span), CALCULATES);
        origin
    }

    pub(super) fn substitution(
        &mut self,
        body: &StmtSeq,
        syntax: CommandSubstitutionSyntax,
        span: Span,
        context: &Context<'_>,
    ) -> TextOrigin {
        let mut inner = context.inside();
        if syntax == CommandSubstitutionSyntax::Backtick && inner.backquotes.is_none() {
            // If the range is unknown, no text counts as free of backslashes.
            inner.backquotes = Some(context.range(span).unwrap_or(usize::MAX..usize::MAX));
        }
        self.statements(body, &inner);
        if word::is_count(body, context.source, self.marked)
            || word::is_setup(body, context.source, self.marked)
        {
            TextOrigin::default()
        } else {
            TextOrigin::open()
        }
    }

    pub(super) fn pattern(&mut self, pattern: &Pattern, context: &Context<'_>) -> TextOrigin {
        let mut origin = TextOrigin::default();
        for part in &pattern.parts {
            match &part.kind {
                PatternPart::Literal(text) => {
                    origin.add(&self.literal(text, part.span, context));
                }
                PatternPart::AnyString | PatternPart::AnyChar => {}
                PatternPart::CharClass(text) => {
                    if text.slice(context.source).contains(self.marked.open) {
                        self.doubt(context.line(part.span));
                    }
                }
                PatternPart::Group { patterns, .. } => {
                    for pattern in patterns {
                        origin.add(&self.pattern(pattern, context));
                    }
                }
                PatternPart::Word(word) => origin.add(&self.word(word, context)),
            }
        }
        origin
    }

    pub(super) fn literal(
        &mut self,
        text: &LiteralText,
        span: Span,
        context: &Context<'_>,
    ) -> TextOrigin {
        let written = context.slice(span);
        let text = match (text, written) {
            (LiteralText::Source, Some(written)) => written,
            (LiteralText::Source, None) => {
                self.doubt(context.line(span));
                return TextOrigin::default();
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
        let mut origin = self.text(text, context);
        if context.quote == Quote::Bare && text.contains(['*', '?', '[']) {
            // Names of files may be the result.
            origin.variables.insert(OPEN.to_owned());
        }
        origin
    }

    /// Returns the origin of the marks in a text.
    fn text(&mut self, text: &str, context: &Context<'_>) -> TextOrigin {
        let mut origin = TextOrigin {
            spelled: word::identifiers(text).into_iter().collect(),
            ..TextOrigin::default()
        };
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
            origin.values.insert(value);
        }
        origin
    }
}
