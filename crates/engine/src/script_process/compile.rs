//! Turns the text of a script into the JavaScript of one function: checks it, strips its types, and
//! makes the value of its last expression the result.
//!
//! Types are replaced by blanks, so lines and columns stay those of the author. The function begins
//! on a line of its own, which the numbers do not count.

use std::sync::Arc;

use deno_ast::diagnostics::Diagnostic;
use deno_ast::swc::ast::{Callee, Expr, Function, ModuleItem, Stmt};
use deno_ast::swc::ecma_visit::{Visit, VisitWith, noop_visit_type};
use deno_ast::{
    MediaType, ParseDiagnostic, ParsedSource, ProgramRef, SourcePos, SourceRangedForSpanned,
    TypeStripOptions,
};
use url::Url;

use crate::script::{Place, ScriptFailure};
use crate::source::{parse_as, stack_for};

/// First line of the function. Lines of the script begin below it.
const HEAD: &str = "(async function script() { \"use strict\";\n";
const TAIL: &str = "\n})";

/// Begins the last expression, whose value is the result.
const RETURN: &str = "return (";

/// A script as V8 gets it.
#[derive(Debug)]
pub(super) struct Compiled {
    /// An expression whose value is the function.
    pub(super) code: String,
    /// The place at which [`RETURN`] was inserted, if it was.
    inserted: Option<Place>,
}

impl Compiled {
    /// Returns the place in the author's text. `line` counts the author's lines already.
    pub(super) fn place(&self, line: u32, column: u32) -> Place {
        let column = match self.inserted {
            Some(inserted) if inserted.line == line && column > inserted.column => {
                let inserted_len = u32::try_from(RETURN.len()).unwrap_or_default();
                column.saturating_sub(inserted_len).max(inserted.column)
            }
            _ => column,
        };
        Place { line, column }
    }
}

/// Compiles the script.
///
/// # Errors
/// [`ScriptFailure::Syntax`] if it is not the body of an async function.
pub(super) fn compile(source: &str) -> Result<Compiled, ScriptFailure> {
    let source = without_fences(source);
    let text = format!("{HEAD}{source}{TAIL}");
    let Some(stack) = stack_for(&text) else {
        return Err(syntax("The code nests too deeply", None));
    };
    stacker::maybe_grow(stack, stack, || compile_on_stack(text))
}

fn compile_on_stack(text: String) -> Result<Compiled, ScriptFailure> {
    let url = Url::parse("file:///script.ts").map_err(|error| syntax(&error.to_string(), None))?;
    let parsed = parse(&url, &text)?;
    let unmatched = || syntax("The brackets of the script do not match", None);
    let function = function_of(&parsed).ok_or_else(unmatched)?;
    let statements = function.body.as_ref().ok_or_else(unmatched)?;
    let mut imports = Imports::default();
    statements.visit_with(&mut imports);
    if let Some(position) = imports.first {
        let text = "`import()` is not available: a script has only `tools`";
        return Err(syntax(text, Some(place_of(&parsed, position))));
    }
    let mut inserted = None;
    let mut text = text;
    if let Some(Stmt::Expr(last)) = statements.stmts.last()
        && !is_directive(&statements.stmts, last)
    {
        let start = parsed.text_info_lazy().range().start;
        let (from, to) = (last.expr.start(), last.expr.end());
        text.insert(to.as_byte_index(start), ')');
        text.insert_str(from.as_byte_index(start), RETURN);
        inserted = Some(place_of(&parsed, from));
    }
    let options = TypeStripOptions {
        module: Some(false),
    };
    let code = deno_ast::type_strip(&url, text, options);
    let code = code.map_err(|error| refusal_of(&error.to_string(), &url))?;
    Ok(Compiled { code, inserted })
}

/// Returns the failure for syntax that is more than a type: `… at file:///script.ts:2:1`.
fn refusal_of(text: &str, url: &Url) -> ScriptFailure {
    let first = text.lines().next().unwrap_or_default();
    let (message, place) = match first.split_once(&format!(" at {url}:")) {
        Some((message, place)) => {
            let mut numbers = place.split(':').map(str::parse);
            let place = match (numbers.next(), numbers.next()) {
                (Some(Ok(line)), Some(Ok(column))) => Some(Place { line, column }.without_head()),
                _ => None,
            };
            (message, place)
        }
        None => (first, None),
    };
    let message = message.replace("in strip-only mode", "in scripts");
    syntax(&message, place)
}

/// Removes the fence of Markdown around a script, which models often write. The lines keep their
/// numbers.
fn without_fences(source: &str) -> String {
    let trimmed = source.trim_end();
    let body = trimmed.trim_start();
    if let Some(inner) = body.strip_prefix("```")
        && let Some(inner) = inner.strip_suffix("```")
        && let Some((language, inner)) = inner.split_once('\n')
        && language.trim().chars().all(char::is_alphanumeric)
    {
        let before = &trimmed[..trimmed.len() - body.len()];
        return format!("{before}\n{inner}");
    }
    source.to_owned()
}

fn parse(url: &Url, text: &str) -> Result<ParsedSource, ScriptFailure> {
    let text: Arc<str> = text.into();
    let refused = |error: &ParseDiagnostic| {
        let position = error.display_position();
        let place = Place {
            line: u32::try_from(position.line_number).unwrap_or(1),
            column: u32::try_from(position.column_number).unwrap_or(1),
        };
        let message = error.message().to_string();
        let is_module = message.contains("import") && message.contains("export");
        let message = if is_module {
            "`import` and `export` are not available: a script has only `tools`".to_owned()
        } else {
            message
        };
        syntax(&message, Some(place.without_head()))
    };
    let parsed = parse_as(url, MediaType::TypeScript, text).map_err(|error| refused(&error))?;
    match parsed.diagnostics().first() {
        Some(fatal) => Err(refused(fatal)),
        None => Ok(parsed),
    }
}

/// Returns the function if it is all of the program. A script whose brackets do not match could end
/// the function early.
fn function_of(parsed: &ParsedSource) -> Option<&Function> {
    let statement = match parsed.program_ref() {
        ProgramRef::Script(script) => match script.body.as_slice() {
            [one] => one,
            _ => return None,
        },
        ProgramRef::Module(module) => match module.body.as_slice() {
            [ModuleItem::Stmt(one)] => one,
            _ => return None,
        },
    };
    let Stmt::Expr(statement) = statement else {
        return None;
    };
    let Expr::Paren(outer) = &*statement.expr else {
        return None;
    };
    match &*outer.expr {
        Expr::Fn(function) => Some(&function.function),
        _ => None,
    }
}

/// Returns true for the directive of the first line, if the script is empty.
fn is_directive(all: &[Stmt], last: &deno_ast::swc::ast::ExprStmt) -> bool {
    all.len() == 1 && last.expr.is_lit()
}

fn place_of(parsed: &ParsedSource, position: SourcePos) -> Place {
    let position = parsed.text_info_lazy().line_and_column_display(position);
    let place = Place {
        line: u32::try_from(position.line_number).unwrap_or(1),
        column: u32::try_from(position.column_number).unwrap_or(1),
    };
    place.without_head()
}

impl Place {
    /// Returns the place in the author's text, without the line of the function's head.
    fn without_head(self) -> Place {
        Place {
            line: self.line.saturating_sub(1).max(1),
            column: self.column,
        }
    }
}

fn syntax(message: &str, place: Option<Place>) -> ScriptFailure {
    ScriptFailure::Syntax {
        message: message.to_owned(),
        place,
    }
}

/// Finds the first `import()`.
#[derive(Default)]
struct Imports {
    first: Option<SourcePos>,
}

impl Visit for Imports {
    noop_visit_type!();

    fn visit_callee(&mut self, callee: &Callee) {
        if let Callee::Import(import) = callee {
            self.first.get_or_insert(import.start());
        }
        callee.visit_children_with(self);
    }
}
