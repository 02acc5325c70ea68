//! Replaces syntax that neither V8 nor the compiler supports, before the file is compiled.
//!
//! These are Bun's import attributes, TypeScript's `import x = require()` and `export =`, and
//! namespaces that are declared in parts. The text is edited in place: lines never move, and
//! columns move only where the new text is longer than the old one.

use std::ops::Range;

use deno_ast::swc::ast;
use deno_ast::swc::ecma_visit::{Visit, VisitWith, noop_visit_type};
use deno_ast::{ParsedSource, ProgramRef, SourceRange, SourceRangedForSpanned};

use super::assets::AssetKind;
use super::namespaces;
use super::syntax::{Edit, bytes_of};

/// Returns the text with all such syntax replaced; `None` if the file has none.
pub(super) fn rewritten(parsed: &ParsedSource) -> Option<String> {
    let mut reader = Reader {
        parsed,
        edits: Vec::new(),
    };
    match parsed.program_ref() {
        ProgramRef::Module(module) => module.visit_with(&mut reader),
        ProgramRef::Script(script) => script.visit_with(&mut reader),
    }
    let mut edits = reader.edits;
    edits.extend(namespaces::merged(parsed));
    if edits.is_empty() {
        return None;
    }
    // From the end, so that the ranges before an edit stay valid.
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = parsed.text().to_string();
    let mut end = text.len();
    for (range, new) in edits {
        // Nested in another edit, which is made first.
        if range.end > end {
            continue;
        }
        end = range.start;
        text.replace_range(range, &new);
    }
    Some(text)
}

struct Reader<'a> {
    parsed: &'a ParsedSource,
    edits: Vec<Edit>,
}

impl Reader<'_> {
    fn bytes(&self, node: SourceRange) -> Range<usize> {
        bytes_of(self.parsed, node)
    }

    fn text(&self, range: Range<usize>) -> &str {
        self.parsed.text().get(range).unwrap_or_default()
    }

    /// Blanks the clause `with { … }` and adds its type to the specifier for the loader. V8
    /// supports `json` and `text` itself.
    fn attributes(&mut self, source: &ast::Str, with: Option<&ast::ObjectLit>) {
        let Some(with) = with else { return };
        let kind = type_in(with);
        if kind.as_deref().is_some_and(is_known_to_v8) {
            return;
        }
        let literal = self.bytes(source.range());
        let whole = literal.start..self.bytes(with.range()).end;
        let kind = kind.as_deref().and_then(AssetKind::from_name);
        let mut new = match kind {
            Some(kind) => marked(self.text(literal.clone()), kind),
            None => self.text(literal.clone()).to_owned(),
        };
        new.push_str(&blank(
            self.text(literal.end..whole.end),
            new.len() - literal.len(),
        ));
        self.edits.push((whole, new));
    }

    /// Does the same for `import(…, { with: { … } })`.
    fn dynamic_attributes(&mut self, call: &ast::CallExpr) {
        let [specifier, options] = call.args.as_slice() else {
            return;
        };
        let Some(kind) = options_type(&options.expr) else {
            return;
        };
        if is_known_to_v8(&kind) {
            return;
        }
        let given = self.bytes(specifier.expr.range());
        let options = given.end..self.bytes(options.expr.range()).end;
        let blank = blank(self.text(options.clone()), 0);
        self.edits.push((options, blank));
        let Some(kind) = AssetKind::from_name(&kind) else {
            return;
        };
        let text = self.text(given.clone());
        let new = match &*specifier.expr {
            ast::Expr::Lit(ast::Lit::Str(_)) => marked(text, kind),
            _ => format!("({text})+\"{}\"", kind.mark()),
        };
        self.edits.push((given, new));
    }

    /// Replaces `import x = require("y")` by `const  x = require("y")`. Like every import that only
    /// types need, it is removed if `x` is never used.
    fn import_equals(&mut self, import: &ast::TsImportEqualsDecl) {
        if import.is_type_only
            || !matches!(import.module_ref, ast::TsModuleRef::TsExternalModuleRef(_))
        {
            return;
        }
        let whole = self.bytes(import.range());
        if !import.is_export && !is_used(self.parsed, &import.id.sym) {
            let blank = blank(self.text(whole.clone()), 0);
            return self.edits.push((whole, blank));
        }
        const KEYWORD: &str = "import";
        if let Some(at) = self.text(whole.clone()).find(KEYWORD) {
            let at = whole.start + at;
            self.edits
                .push((at..at + KEYWORD.len(), "const ".to_owned()));
        }
    }

    /// Replaces `export = x` by `module.exports = x`.
    fn export_assignment(&mut self, export: &ast::TsExportAssignment) {
        let whole = self.bytes(export.range());
        let value = self.bytes(export.expr.range());
        self.edits
            .push((whole.start..value.start, "module.exports = ".to_owned()));
    }
}

impl Visit for Reader<'_> {
    noop_visit_type!();

    fn visit_import_decl(&mut self, import: &ast::ImportDecl) {
        self.attributes(&import.src, import.with.as_deref());
    }

    fn visit_named_export(&mut self, export: &ast::NamedExport) {
        if let Some(source) = &export.src {
            self.attributes(source, export.with.as_deref());
        }
    }

    fn visit_export_all(&mut self, export: &ast::ExportAll) {
        self.attributes(&export.src, export.with.as_deref());
    }

    fn visit_call_expr(&mut self, call: &ast::CallExpr) {
        if matches!(call.callee, ast::Callee::Import(_)) {
            self.dynamic_attributes(call);
        }
        call.visit_children_with(self);
    }

    fn visit_ts_import_equals_decl(&mut self, import: &ast::TsImportEqualsDecl) {
        self.import_equals(import);
    }

    fn visit_ts_export_assignment(&mut self, export: &ast::TsExportAssignment) {
        self.export_assignment(export);
        export.visit_children_with(self);
    }
}

fn is_known_to_v8(kind: &str) -> bool {
    matches!(kind, "json" | "text")
}

/// Returns the text of a string literal with the kind before its closing quote.
fn marked(literal: &str, kind: AssetKind) -> String {
    let mark = kind.mark();
    let mark = if literal.contains('?') {
        mark.replacen('?', "&", 1)
    } else {
        mark
    };
    let (text, quote) = literal.split_at(literal.len().saturating_sub(1));
    format!("{text}{mark}{quote}")
}

/// Returns as many blanks as `text` has bytes, less `shorter` if possible; line breaks are kept.
fn blank(text: &str, shorter: usize) -> String {
    let mut left = shorter;
    let blanks = text.bytes().filter_map(|byte| match byte {
        b'\n' => Some('\n'),
        _ if left > 0 => {
            left -= 1;
            None
        }
        _ => Some(' '),
    });
    blanks.collect()
}

/// Returns the value of `type` in an object literal.
fn type_in(object: &ast::ObjectLit) -> Option<String> {
    match member(object, "type")? {
        ast::Expr::Lit(ast::Lit::Str(value)) => Some(value.value.to_string_lossy().into_owned()),
        _ => None,
    }
}

/// Returns the type in `{ with: { type: "…" } }`.
fn options_type(options: &ast::Expr) -> Option<String> {
    let ast::Expr::Object(options) = options else {
        return None;
    };
    let with = member(options, "with").or_else(|| member(options, "assert"))?;
    match with {
        ast::Expr::Object(with) => type_in(with),
        _ => None,
    }
}

fn member<'a>(object: &'a ast::ObjectLit, name: &str) -> Option<&'a ast::Expr> {
    object.props.iter().find_map(|prop| {
        let ast::PropOrSpread::Prop(prop) = prop else {
            return None;
        };
        let ast::Prop::KeyValue(pair) = &**prop else {
            return None;
        };
        let is_it = match &pair.key {
            ast::PropName::Ident(key) => key.sym == *name,
            ast::PropName::Str(key) => key.value.to_string_lossy() == name,
            _ => false,
        };
        is_it.then_some(&*pair.value)
    })
}

/// Returns true if the file uses `name` outside of types and of its declaration.
fn is_used(parsed: &ParsedSource, name: &str) -> bool {
    struct Counter<'a> {
        name: &'a str,
        found: usize,
    }
    impl Visit for Counter<'_> {
        noop_visit_type!();
        fn visit_ident(&mut self, ident: &ast::Ident) {
            self.found += usize::from(ident.sym == *self.name);
        }
    }
    let mut counter = Counter { name, found: 0 };
    match parsed.program_ref() {
        ProgramRef::Module(module) => module.visit_with(&mut counter),
        ProgramRef::Script(script) => script.visit_with(&mut counter),
    }
    counter.found > 1
}
