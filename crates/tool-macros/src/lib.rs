//! The macro [`terminal_text!`], which `haft-tool` exports beside its type.
//!
//! `format!` cannot be used for text of a terminal: it loses which parts are haft's own and which
//! are values. This macro reads the same format strings, and expands to calls that keep the
//! difference.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Formats a `haft_tool::TerminalText`. The text of the format string stays as it is written; each
/// argument is appended as a `haft_tool::TerminalValue`, which escapes everything that is not a
/// `TerminalText` itself.
///
/// The format string is that of `format!`: `{}`, `{name}`, `{name:<13}`. Arguments by number are not
/// supported. An argument with a format specification must be `Display`.
#[proc_macro]
pub fn terminal_text(input: TokenStream) -> TokenStream {
    match expand(input) {
        Ok(expanded) => expanded,
        Err(problem) => compile_error(&problem),
    }
}

/// One part of a format string.
enum Part {
    /// Source text of a string literal.
    Literal(String),
    /// An argument: the name or nothing, and the format specification or nothing.
    Value(String, String),
}

/// An argument behind the format string.
struct Argument {
    name: Option<String>,
    value: TokenStream,
    is_used: bool,
}

fn expand(input: TokenStream) -> Result<TokenStream, String> {
    let mut tokens = input.into_iter();
    let format = match tokens.next() {
        Some(TokenTree::Literal(literal)) => literal,
        // A literal that another macro passes on is wrapped in a group without delimiters.
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => {
            match group.stream().into_iter().next() {
                Some(TokenTree::Literal(literal)) => literal,
                _ => return Err("the first argument must be a string literal".into()),
            }
        }
        _ => return Err("the first argument must be a string literal".into()),
    };
    let mut arguments = arguments(tokens.collect())?;
    let mut text = path("new");
    text.extend([TokenTree::Group(Group::new(
        Delimiter::Parenthesis,
        TokenStream::new(),
    ))]);
    let source = format.to_string();
    let (opening, parts, closing) = parts(&source)?;
    for part in parts {
        match part {
            Part::Literal(source) => {
                let source = format!("{opening}{source}{closing}");
                let literal: TokenStream = source.parse().map_err(|error| format!("{error}"))?;
                text.extend(method("with_literal", literal));
            }
            Part::Value(name, spec) => {
                let value = value(&name, &mut arguments, format.span())?;
                text.extend(method("with_value", by_reference(formatted(value, &spec)?)));
            }
        }
    }
    if arguments.iter().any(|argument| !argument.is_used) {
        return Err("an argument is not used by the format string".into());
    }
    Ok(text)
}

/// Splits the arguments at their commas.
fn arguments(tokens: Vec<TokenTree>) -> Result<Vec<Argument>, String> {
    let mut rest = tokens.into_iter().peekable();
    match rest.next() {
        None => return Ok(Vec::new()),
        Some(token) if is_punct(&token, ',') => {}
        Some(_) => return Err("a comma must follow the format string".into()),
    }
    let mut arguments = Vec::new();
    while rest.peek().is_some() {
        let mut value: Vec<TokenTree> = Vec::new();
        for token in rest.by_ref() {
            if is_punct(&token, ',') {
                break;
            }
            value.push(token);
        }
        let name = match &value[..] {
            [TokenTree::Ident(name), TokenTree::Punct(equals), rest @ ..]
                if equals.as_char() == '=' && equals.spacing() == Spacing::Alone =>
            {
                let found = (name.to_string(), rest.iter().cloned().collect());
                Some(found)
            }
            _ => None,
        };
        let (name, value) = match name {
            Some((name, value)) => (Some(name), value),
            None => (None, value.into_iter().collect()),
        };
        arguments.push(Argument {
            name,
            value,
            is_used: false,
        });
    }
    Ok(arguments)
}

/// Returns the expression that a placeholder stands for: the next argument without a name, an
/// argument with this name, or the variable of this name.
fn value(name: &str, arguments: &mut [Argument], span: Span) -> Result<TokenStream, String> {
    let argument = arguments.iter_mut().find(|argument| match &argument.name {
        None => name.is_empty() && !argument.is_used,
        Some(own) => own == name,
    });
    match argument {
        Some(argument) if argument.is_used => Err(format!("`{name}` is used twice")),
        Some(argument) => {
            argument.is_used = true;
            Ok(argument.value.clone())
        }
        None if name.is_empty() => Err("an argument is missing".into()),
        None if name.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err("arguments by number are not supported".into())
        }
        None if name == "self" => Err("`self` needs a name: `{tool}`, tool = self".into()),
        None => Ok(TokenTree::Ident(Ident::new(name, span)).into()),
    }
}

/// Splits the source of a string literal. Returns its opening, the parts, and its closing.
///
/// The escapes of the literal stay as they are, since every part becomes a literal of the same
/// kind.
fn parts(source: &str) -> Result<(&str, Vec<Part>, &str), String> {
    let quote = source.find('"').ok_or("a string literal is needed")?;
    let end = source.rfind('"').ok_or("a string literal is needed")?;
    let (opening, closing) = (&source[..=quote], &source[end..]);
    if !matches!(opening.as_bytes()[0], b'"' | b'r') {
        return Err("a string literal is needed".into());
    }
    let is_raw = opening.starts_with('r');
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut rest = source[quote + 1..end].chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' if !is_raw => {
                literal.push(c);
                let escape = rest.next().ok_or("an escape has no end")?;
                literal.push(escape);
                if escape == 'u' {
                    literal.extend(rest.by_ref().take_while(|c| *c != '}'));
                    literal.push('}');
                }
            }
            '{' | '}' if rest.peek() == Some(&c) => {
                rest.next();
                literal.push(c);
            }
            '{' => {
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                let placeholder: String = rest.by_ref().take_while(|c| *c != '}').collect();
                let (name, spec) = placeholder.split_once(':').unwrap_or((&placeholder, ""));
                parts.push(Part::Value(name.trim().to_owned(), spec.trim().to_owned()));
            }
            '}' => return Err("a `}` without `{`; write `}}`".into()),
            c => literal.push(c),
        }
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    Ok((opening, parts, closing))
}

/// Returns `value` with its format specification, if it has one.
fn formatted(value: TokenStream, spec: &str) -> Result<TokenStream, String> {
    if spec.is_empty() {
        return Ok(parenthesized(value));
    }
    let call: TokenStream = format!("::core::format_args!(\"{{:{spec}}}\", )")
        .parse()
        .map_err(|error| format!("{error}"))?;
    // The value goes behind the comma, the last token of the last group.
    let tokens = call.into_iter().map(|token| match token {
        TokenTree::Group(group) => {
            let inner = group.stream().into_iter().chain(value.clone()).collect();
            TokenTree::Group(Group::new(group.delimiter(), inner))
        }
        token => token,
    });
    Ok(tokens.collect())
}

fn parenthesized(value: TokenStream) -> TokenStream {
    TokenTree::Group(Group::new(Delimiter::Parenthesis, value)).into()
}

fn by_reference(value: TokenStream) -> TokenStream {
    let reference = TokenTree::Punct(Punct::new('&', Spacing::Alone));
    [reference].into_iter().chain(value).collect()
}

/// Returns `::haft_tool::TerminalText::NAME`.
fn path(name: &str) -> TokenStream {
    let separator = || {
        [
            TokenTree::Punct(Punct::new(':', Spacing::Joint)),
            TokenTree::Punct(Punct::new(':', Spacing::Alone)),
        ]
    };
    let word = |word: &str| TokenTree::Ident(Ident::new(word, Span::call_site()));
    ["haft_tool", "TerminalText", name]
        .iter()
        .flat_map(|part| separator().into_iter().chain([word(part)]))
        .collect()
}

/// Returns `.NAME(ARGUMENT)`.
fn method(name: &str, argument: TokenStream) -> TokenStream {
    let dot = TokenTree::Punct(Punct::new('.', Spacing::Alone));
    let name = TokenTree::Ident(Ident::new(name, Span::call_site()));
    [dot, name]
        .into_iter()
        .chain(parenthesized(argument))
        .collect()
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn compile_error(problem: &str) -> TokenStream {
    let message = TokenTree::Literal(Literal::string(&format!("terminal_text!: {problem}")));
    let call: TokenStream = "::core::compile_error!".parse().unwrap_or_default();
    call.into_iter()
        .chain(parenthesized(message.into()))
        .collect()
}
