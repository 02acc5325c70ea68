//! Imports of one file, and the places that load code that cannot be known by reading.
//!
//! The result may contain too much, never too little. An import in a branch that never runs counts,
//! and so does one that only types need. A local name that shadows a real one (`require` as a
//! parameter) counts as the real one.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use deno_ast::swc::ast::{
    CallExpr, Callee, ExportAll, Expr, ExprOrSpread, Ident, ImportDecl, ImportSpecifier,
    JSXElement, JSXFragment, Lit, MemberExpr, MemberProp, MetaPropKind, ModuleExportName,
    NamedExport, NewExpr, ObjectPat, ObjectPatProp, Pat, Prop, PropName, Str, TsImportEqualsDecl,
    TsModuleRef, UnaryExpr, UnaryOp, VarDeclarator,
};
use deno_ast::swc::ecma_visit::{Visit, VisitWith, noop_visit_type};
use deno_ast::{MediaType, ParsedSource, ProgramRef, SourcePos, SourceRangedForSpanned};
use serde::{Deserialize, Serialize};

use super::dynamic::What;
use super::requests::{self, InModule};
use super::{MAX_SOURCE_BYTES, nesting, parse_as, unwrapped, url_of};

/// Limit of the imports of one file.
const MAX_IMPORTS: usize = 20_000;

/// Limit of the openings that are listed for one file.
const MAX_OPENINGS: usize = 1000;

/// Words without which a file cannot import anything or ask for permissions. Names may be written
/// with escapes.
const SIGNS: &[&str] = &[
    "import",
    "require",
    "from",
    "eval",
    "Function",
    "Worker",
    "dlopen",
    "Builtin",
    "\\u",
    "JSX",
    "Assembly",
    "constructor",
    "_load",
    "_compile",
    "_extensions",
    "Hooks",
    requests::NAME,
];

/// Imports of one file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Imports {
    /// Specifiers of `import` and `export … from`.
    pub(crate) imported: BTreeSet<String>,
    /// The imported specifiers that only `import(…)` names: they may never be imported.
    #[serde(default)]
    dynamic: BTreeSet<String>,
    /// Specifiers of `require`.
    pub(crate) required: BTreeSet<String>,
    /// Paths in `new URL("…", import.meta.url)` and the like: perhaps read, perhaps run as a
    /// worker.
    pub(crate) assets: BTreeSet<String>,
    /// Set if the file has JSX, which imports a runtime without naming it.
    pub(crate) has_jsx: bool,
    /// Sources of the JSX runtime that comments name (`@jsxImportSource`).
    #[serde(default)]
    pub(crate) jsx_sources: BTreeSet<String>,
    /// The lines (1-based; 0 for the file) that make the graph incomplete.
    pub(crate) openings: BTreeSet<(u32, What)>,
    /// The exported request for permissions.
    #[serde(default)]
    pub(crate) permissions: Option<InModule>,
}

impl Imports {
    pub(crate) fn of(path: &Path, text: String) -> Imports {
        let media = match MediaType::from_path(path) {
            MediaType::Unknown => MediaType::TypeScript,
            media => media,
        };
        // This check comes first: the loader refuses such a file as well.
        if text.len() as u64 > MAX_SOURCE_BYTES {
            return Imports::unreadable(What::TooLarge);
        }
        if nesting::is_hostile(&text) {
            return Imports::unreadable(What::TooDeep);
        }
        let has_jsx_syntax = matches!(media, MediaType::Tsx | MediaType::Jsx);
        if !has_jsx_syntax && !SIGNS.iter().any(|sign| text.contains(sign)) {
            return Imports::default();
        }
        match parse(path, text, media) {
            Some(parsed) => Imports::in_tree(&parsed),
            None => Imports::unreadable(What::Unreadable),
        }
    }

    /// Returns the imports of a file that is not parsed.
    pub(crate) fn unreadable(why: What) -> Imports {
        Imports {
            openings: BTreeSet::from([(0, why)]),
            ..Imports::default()
        }
    }

    /// Returns true if the file imports or requires `specifier`.
    pub(crate) fn names(&self, specifier: &str) -> bool {
        self.imported.contains(specifier) || self.required.contains(specifier)
    }

    /// Returns the specifiers that are imported whenever the file is.
    pub(crate) fn at_load(&self) -> impl Iterator<Item = &str> {
        let imported = self.imported.difference(&self.dynamic);
        imported.map(String::as_str)
    }

    fn in_tree(parsed: &ParsedSource) -> Imports {
        let mut reader = Reader {
            parsed,
            imports: Imports::default(),
            requires: vec!["require".into()],
            makers: vec!["createRequire".into()],
            calls: Vec::new(),
            fixed: BTreeSet::new(),
        };
        reader.imports.permissions = requests::in_tree(parsed);
        match parsed.program_ref() {
            ProgramRef::Module(module) => module.visit_with(&mut reader),
            ProgramRef::Script(script) => script.visit_with(&mut reader),
        }
        reader.finish()
    }
}

fn parse(path: &Path, text: String, media_type: MediaType) -> Option<ParsedSource> {
    parse_as(&url_of(path).ok()?, media_type, Arc::from(text)).ok()
}

struct Reader<'a> {
    parsed: &'a ParsedSource,
    imports: Imports,
    /// Names of `require` and of results of `createRequire`.
    requires: Vec<String>,
    /// Names of `createRequire`.
    makers: Vec<String>,
    /// Calls of any name with its first argument. Only at the end all names of `require` are known.
    calls: Vec<(String, Option<String>, u32)>,
    /// Specifiers that `import` and `export … from` name.
    fixed: BTreeSet<String>,
}

impl Reader<'_> {
    fn finish(mut self) -> Imports {
        let requires: BTreeSet<String> = std::mem::take(&mut self.requires).into_iter().collect();
        for (name, argument, line) in std::mem::take(&mut self.calls) {
            if !requires.contains(&name) {
                continue;
            }
            match argument {
                Some(specifier) => self.require(specifier, line),
                None => self.open_at(line, What::ComputedRequire),
            }
        }
        if self.imports.has_jsx {
            self.imports.jsx_sources = jsx_sources(self.parsed.text());
        }
        let dynamic = self.imports.imported.difference(&self.fixed);
        self.imports.dynamic = dynamic.cloned().collect();
        let Imports {
            imported,
            required,
            assets,
            openings,
            ..
        } = &mut self.imports;
        if imported.len() + required.len() + assets.len() > MAX_IMPORTS {
            return Imports::unreadable(What::TooManyFiles);
        }
        while openings.len() > MAX_OPENINGS {
            openings.pop_last();
        }
        self.imports
    }

    fn import(&mut self, specifier: String, line: u32) {
        if is_code_in_url(&specifier) {
            self.open_at(line, What::CodeFromText);
        }
        if is_builtin(&specifier, "vm") {
            self.open_at(line, What::CodeFromText);
        }
        self.imports.imported.insert(specifier);
    }

    fn require(&mut self, specifier: String, line: u32) {
        if is_builtin(&specifier, "vm") {
            self.open_at(line, What::CodeFromText);
        }
        self.imports.required.insert(specifier);
    }

    fn line(&self, at: SourcePos) -> u32 {
        let line = self.parsed.text_info_lazy().line_index(at) + 1;
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    fn open_at(&mut self, line: u32, what: What) {
        self.imports.openings.insert((line, what));
    }

    fn imports_from(&mut self, source: &Str) {
        let line = self.line(source.start());
        let specifier = text_of(source);
        self.fixed.insert(specifier.clone());
        self.import(specifier, line);
    }

    /// Returns true for `createRequire(import.meta.url)`: a `require` like the one of this file.
    fn is_own_require(&self, expr: &Expr) -> bool {
        let Expr::Call(call) = unwrapped(expr) else {
            return false;
        };
        let Callee::Expr(callee) = &call.callee else {
            return false;
        };
        last_name(callee).is_some_and(|name| self.makers.contains(&name))
            && call
                .args
                .first()
                .is_some_and(|base| is_own_place(&base.expr))
    }

    fn call_of_name(&mut self, name: &str, call: &CallExpr, line: u32) {
        match name {
            _ if is_maker_of_code(name) => self.open_at(line, What::CodeFromText),
            _ => {
                let is_foreign = call
                    .args
                    .first()
                    .is_none_or(|base| !is_own_place(&base.expr));
                if self.makers.iter().any(|maker| maker == name) && is_foreign {
                    self.open_at(line, What::ComputedRequire);
                }
                let argument = call.args.first().and_then(literal);
                self.calls.push((name.to_owned(), argument, line));
            }
        }
    }

    fn call_of_member(&mut self, member: &MemberExpr, call: &CallExpr, line: u32) {
        let Some(name) = member_name(member) else {
            return;
        };
        let argument = call.args.first().and_then(literal);
        let is_meta =
            matches!(&*member.obj, Expr::MetaProp(meta) if meta.kind == MetaPropKind::ImportMeta);
        let of_require = matches!(&*member.obj, Expr::Ident(name) if &*name.sym == "require");
        match (name.as_str(), argument) {
            // `module.require`, `import.meta.require`.
            ("require", Some(specifier)) => self.require(specifier, line),
            ("require", None) => self.open_at(line, What::ComputedRequire),
            ("resolve", Some(specifier)) if is_meta || of_require => {
                self.imports.assets.insert(specifier);
            }
            ("getBuiltinModule", Some(specifier)) => self.import(builtin_url(&specifier), line),
            ("dlopen", _) => self.open_at(line, What::NativeCode),
            // `Module._load`, `module.registerHooks`: only `node:module` has these names.
            ("_load" | "registerHooks", _) => self.open_at(line, What::ComputedRequire),
            ("_compile", _) => self.open_at(line, What::CodeFromText),
            ("construct" | "apply", _) if call.args.first().is_some_and(is_function_itself) => {
                self.open_at(line, What::CodeFromText);
            }
            // `(async () => {}).constructor("…")`.
            ("constructor", Some(_)) => self.open_at(line, What::CodeFromText),
            (name, _) if is_maker_of_code(name) => self.open_at(line, What::CodeFromText),
            _ => {}
        }
    }
}

impl Visit for Reader<'_> {
    noop_visit_type!();

    fn visit_import_decl(&mut self, import: &ImportDecl) {
        for specifier in &import.specifiers {
            if let ImportSpecifier::Named(named) = specifier
                && let Some(ModuleExportName::Ident(imported)) = &named.imported
                && &*imported.sym == "createRequire"
            {
                self.makers.push(named.local.sym.to_string());
            }
        }
        if !import.type_only {
            self.imports_from(&import.src);
        }
    }

    fn visit_named_export(&mut self, export: &NamedExport) {
        if let Some(source) = &export.src
            && !export.type_only
        {
            self.imports_from(source);
        }
    }

    fn visit_export_all(&mut self, export: &ExportAll) {
        if !export.type_only {
            self.imports_from(&export.src);
        }
    }

    fn visit_ts_import_equals_decl(&mut self, import: &TsImportEqualsDecl) {
        if let TsModuleRef::TsExternalModuleRef(module) = &import.module_ref
            && !import.is_type_only
        {
            let line = self.line(module.expr.start());
            self.require(text_of(&module.expr), line);
        }
    }

    fn visit_jsx_element(&mut self, element: &JSXElement) {
        self.imports.has_jsx = true;
        element.visit_children_with(self);
    }

    fn visit_jsx_fragment(&mut self, fragment: &JSXFragment) {
        self.imports.has_jsx = true;
        fragment.visit_children_with(self);
    }

    fn visit_call_expr(&mut self, call: &CallExpr) {
        let line = self.line(call.start());
        match &call.callee {
            Callee::Import(_) => match call.args.first().and_then(literal) {
                Some(specifier) => self.import(specifier, line),
                None => self.open_at(line, What::ComputedImport),
            },
            Callee::Expr(callee) => match unwrapped(callee) {
                Expr::Ident(name) => {
                    self.call_of_name(&name.sym, call, line);
                    // Not through `visit_ident`, because a call does not hand the function around.
                    call.args.visit_with(self);
                    return;
                }
                Expr::Member(member) => self.call_of_member(member, call, line),
                // `createRequire(import.meta.url)("x")`.
                other if self.is_own_require(other) => match call.args.first().and_then(literal) {
                    Some(specifier) => self.require(specifier, line),
                    None => self.open_at(line, What::ComputedRequire),
                },
                _ => {}
            },
            Callee::Super(_) => {}
        }
        call.visit_children_with(self);
    }

    fn visit_new_expr(&mut self, new: &NewExpr) {
        let line = self.line(new.start());
        let args = new.args.as_deref().unwrap_or_default();
        match last_name(&new.callee).as_deref() {
            Some(name) if is_maker_of_code(name) => self.open_at(line, What::CodeFromText),
            Some("constructor") if args.last().and_then(literal).is_some() => {
                self.open_at(line, What::CodeFromText);
            }
            Some("URL") => {
                if let [path, base] = args
                    && let Some(path) = literal(path)
                    && is_own_place(&base.expr)
                    && let Some(path) = relative(path)
                {
                    self.imports.assets.insert(path);
                }
            }
            Some("Worker") => {
                let is_literal_url = args.first().is_some_and(|arg| is_own_url(&arg.expr));
                match args.first().and_then(literal).and_then(relative) {
                    Some(path) => {
                        self.imports.assets.insert(path);
                    }
                    None if is_literal_url => {}
                    None => self.open_at(line, What::Worker),
                }
            }
            _ => {}
        }
        new.visit_children_with(self);
    }

    fn visit_var_declarator(&mut self, declared: &VarDeclarator) {
        if let Pat::Object(pattern) = &declared.name {
            self.makers.extend(aliases(pattern, "createRequire"));
        }
        if let Some(value) = &declared.init
            && matches!(unwrapped(value), Expr::Ident(name) if &*name.sym == "Function")
        {
            let line = self.line(value.start());
            self.open_at(line, What::CodeFromText);
        }
        if let Some(value) = &declared.init
            && self.is_own_require(value)
        {
            if let Pat::Ident(name) = &declared.name {
                self.requires.push(name.id.sym.to_string());
            }
            return;
        }
        declared.visit_children_with(self);
    }

    fn visit_member_expr(&mut self, member: &MemberExpr) {
        let name = member_name(member);
        // `require.main`, `require.cache`: read, not handed around.
        let is_looked_at = matches!(
            name.as_deref(),
            Some("main" | "cache" | "resolve" | "extensions" | "length" | "name")
        );
        if matches!(&*member.obj, Expr::Ident(name) if &*name.sym == "require") && is_looked_at {
            member.prop.visit_with(self);
            return;
        }
        let line = self.line(member.start());
        // `Function.apply(null, …)`, `Function.bind`.
        let is_function = matches!(&*member.obj, Expr::Ident(name) if &*name.sym == "Function");
        match name.as_deref() {
            Some("apply" | "call" | "bind" | "constructor") if is_function => {
                self.open_at(line, What::CodeFromText);
            }
            Some("eval") => self.open_at(line, What::CodeFromText),
            Some("WebAssembly") => self.open_at(line, What::CodeFromBytes),
            _ => {}
        }
        member.visit_children_with(self);
    }

    fn visit_unary_expr(&mut self, unary: &UnaryExpr) {
        if unary.op != UnaryOp::TypeOf {
            unary.visit_children_with(self);
        }
    }

    fn visit_expr(&mut self, expr: &Expr) {
        if let Expr::Ident(name) = expr {
            self.handed_around(name);
        }
        expr.visit_children_with(self);
    }

    fn visit_prop(&mut self, prop: &Prop) {
        if let Prop::Shorthand(name) = prop {
            self.handed_around(name);
        }
        prop.visit_children_with(self);
    }
}

impl Reader<'_> {
    /// Notes the use of a name other than a call: the code that receives the value can load
    /// anything.
    fn handed_around(&mut self, name: &Ident) {
        let what = match &*name.sym {
            "require" | "createRequire" => What::ComputedRequire,
            "eval" => What::CodeFromText,
            "WebAssembly" => What::CodeFromBytes,
            _ => return,
        };
        let line = self.line(name.start());
        self.open_at(line, what);
    }
}

/// Returns true for the names of functions that make code of text.
fn is_maker_of_code(name: &str) -> bool {
    matches!(
        name,
        "eval" | "Function" | "AsyncFunction" | "GeneratorFunction" | "AsyncGeneratorFunction"
    )
}

/// Returns true if the argument is `Function` itself.
fn is_function_itself(argument: &ExprOrSpread) -> bool {
    last_name(&argument.expr).is_some_and(|name| name == "Function")
}

/// Returns the names that a pattern binds to the member `name`.
fn aliases<'a>(pattern: &'a ObjectPat, name: &'a str) -> impl Iterator<Item = String> + 'a {
    pattern.props.iter().filter_map(move |prop| match prop {
        ObjectPatProp::KeyValue(pair) => match (&pair.key, &*pair.value) {
            (PropName::Ident(key), Pat::Ident(alias)) if &*key.sym == name => {
                Some(alias.id.sym.to_string())
            }
            (PropName::Str(key), Pat::Ident(alias)) if text_of(key) == name => {
                Some(alias.id.sym.to_string())
            }
            _ => None,
        },
        ObjectPatProp::Assign(_) | ObjectPatProp::Rest(_) => None,
    })
}

/// Returns the values of `@jsxImportSource` in the file's comments. Strings count like comments.
fn jsx_sources(text: &str) -> BTreeSet<String> {
    const PRAGMA: &str = "@jsxImportSource";
    let found = text.match_indices(PRAGMA).filter_map(|(at, _)| {
        let rest = &text[at + PRAGMA.len()..];
        let source = rest.split_whitespace().next()?;
        rest.starts_with(char::is_whitespace)
            .then(|| source.trim_end_matches("*/").to_owned())
    });
    found.filter(|source| !source.is_empty()).collect()
}

fn text_of(text: &Str) -> String {
    text.value.to_string_lossy().into_owned()
}

/// Returns the text of a literal argument.
fn literal(argument: &ExprOrSpread) -> Option<String> {
    if argument.spread.is_some() {
        return None;
    }
    match unwrapped(&argument.expr) {
        Expr::Lit(Lit::Str(text)) => Some(text_of(text)),
        Expr::Tpl(template) if template.exprs.is_empty() => {
            let text = template.quasis.first()?.cooked.as_ref()?;
            Some(text.to_string_lossy().into_owned())
        }
        _ => None,
    }
}

/// Returns `x` for `x` and for `a.b.x`.
fn last_name(expr: &Expr) -> Option<String> {
    match unwrapped(expr) {
        Expr::Ident(name) => Some(name.sym.to_string()),
        Expr::Member(member) => member_name(member),
        _ => None,
    }
}

fn member_name(member: &MemberExpr) -> Option<String> {
    match &member.prop {
        MemberProp::Ident(name) => Some(name.sym.to_string()),
        MemberProp::Computed(computed) => match unwrapped(&computed.expr) {
            Expr::Lit(Lit::Str(text)) => Some(text_of(text)),
            _ => None,
        },
        MemberProp::PrivateName(_) => None,
    }
}

/// Returns true for `import.meta.url`, `import.meta.filename`, `import.meta.path`, `__filename`.
fn is_own_place(expr: &Expr) -> bool {
    match unwrapped(expr) {
        Expr::Ident(name) => &*name.sym == "__filename",
        Expr::Member(member) => {
            matches!(&*member.obj, Expr::MetaProp(meta) if meta.kind == MetaPropKind::ImportMeta)
                && member_name(member)
                    .is_some_and(|name| matches!(name.as_str(), "url" | "filename" | "path"))
        }
        _ => false,
    }
}

/// Returns true for `new URL("…", import.meta.url)`.
fn is_own_url(expr: &Expr) -> bool {
    let Expr::New(new) = unwrapped(expr) else {
        return false;
    };
    let args = new.args.as_deref().unwrap_or_default();
    last_name(&new.callee).as_deref() == Some("URL")
        && matches!(args, [path, base] if literal(path).is_some() && is_own_place(&base.expr))
}

/// Converts a path in a URL to a specifier; `None` if it is an absolute URL.
fn relative(path: String) -> Option<String> {
    if path.starts_with('.') || path.starts_with('/') {
        return Some(path);
    }
    (!path.contains(':')).then(|| format!("./{path}"))
}

fn is_code_in_url(specifier: &str) -> bool {
    specifier.starts_with("data:") || specifier.starts_with("blob:")
}

fn is_builtin(specifier: &str, name: &str) -> bool {
    specifier.strip_prefix("node:").unwrap_or(specifier) == name
}

fn builtin_url(name: &str) -> String {
    if name.starts_with("node:") {
        name.to_owned()
    } else {
        format!("node:{name}")
    }
}
