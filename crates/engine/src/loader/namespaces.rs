//! Qualifies names in TypeScript namespaces that are declared in several parts.
//!
//! Inside a part, the exports of other parts are visible without a qualifier. The compiler makes a
//! function of each part, where these names are unknown. So they are qualified here: `a` becomes
//! `N.a`.

use std::collections::{BTreeMap, BTreeSet};

use deno_ast::swc::ast;
use deno_ast::swc::common::SyntaxContext;
use deno_ast::swc::ecma_visit::{Visit, VisitWith, noop_visit_type};
use deno_ast::{ParseParams, ParsedSource, ProgramRef, SourceRangedForSpanned};

use super::syntax::{Edit, bytes_of, declared_names};

/// Returns the edits that qualify names in a file.
pub(super) fn merged(parsed: &ParsedSource) -> Vec<Edit> {
    // Almost no file has two namespaces, and the following code needs another parse.
    if parsed.text().matches("namespace").count() < 2 {
        return Vec::new();
    }
    let mut parts = Parts::default();
    visit(parsed, &mut parts);
    parts.exports.retain(|path, _| parts.count[path] > 1);
    if parts.exports.is_empty() {
        return Vec::new();
    }
    let resolved = deno_ast::parse_program(ParseParams {
        specifier: parsed.specifier().clone(),
        text: parsed.text().clone(),
        media_type: parsed.media_type(),
        capture_tokens: false,
        scope_analysis: true,
        maybe_syntax: None,
    });
    let Ok(resolved) = resolved else {
        return Vec::new();
    };
    let mut qualifier = Qualifier {
        parsed: &resolved,
        outside: [resolved.unresolved_context(), resolved.top_level_context()],
        exports: &parts.exports,
        open: Vec::new(),
        edits: Vec::new(),
    };
    visit(&resolved, &mut qualifier);
    qualifier.edits
}

fn visit(parsed: &ParsedSource, visitor: &mut impl Visit) {
    match parsed.program_ref() {
        ProgramRef::Module(module) => module.visit_with(visitor),
        ProgramRef::Script(script) => script.visit_with(visitor),
    }
}

/// Names that each namespace (`A.B`) exports.
type Exports = BTreeMap<String, BTreeSet<String>>;

/// Collects the exports of all parts of each namespace.
#[derive(Default)]
struct Parts {
    path: Vec<String>,
    exports: Exports,
    count: BTreeMap<String, usize>,
}

impl Parts {
    fn enter(&mut self, name: &str, body: &ast::TsNamespaceBody) {
        self.path.push(name.to_owned());
        let path = self.path.join(".");
        *self.count.entry(path.clone()).or_default() += 1;
        let exports = self.exports.entry(path).or_default();
        match body {
            ast::TsNamespaceBody::TsModuleBlock(block) => {
                exports.extend(exported_names(block));
                block.visit_with(self);
            }
            ast::TsNamespaceBody::TsNamespaceDecl(inner) => {
                exports.insert(inner.id.sym.to_string());
                self.enter(&inner.id.sym, &inner.body);
            }
        }
        self.path.pop();
    }
}

impl Visit for Parts {
    noop_visit_type!();

    fn visit_ts_module_decl(&mut self, module: &ast::TsModuleDecl) {
        if let (ast::TsModuleName::Ident(name), Some(body), false) =
            (&module.id, &module.body, module.declare)
        {
            self.enter(&name.sym, body);
        }
    }
}

fn exported_names(block: &ast::TsModuleBlock) -> Vec<String> {
    let mut names = Vec::new();
    for item in &block.body {
        match item {
            ast::ModuleItem::ModuleDecl(ast::ModuleDecl::ExportDecl(export)) => {
                declared_names(&export.decl, &mut names);
            }
            ast::ModuleItem::ModuleDecl(ast::ModuleDecl::TsImportEquals(import))
                if import.is_export =>
            {
                names.push(import.id.sym.to_string());
            }
            _ => {}
        }
    }
    names
}

/// Qualifies the names in a part that neither the part nor the code around the namespace declares.
struct Qualifier<'a> {
    parsed: &'a ParsedSource,
    /// The scopes of names that no part declares: that of unresolved names, and the file's top
    /// level.
    outside: [SyntaxContext; 2],
    exports: &'a Exports,
    /// The namespaces around the visited node.
    open: Vec<Part>,
    edits: Vec<Edit>,
}

/// One part of a namespace.
struct Part {
    path: String,
    /// Names that the part declares itself.
    own: BTreeSet<String>,
    /// The exported namespaces among them. They exist before the part runs if another part has made
    /// them.
    inner: BTreeSet<ast::Id>,
}

impl Qualifier<'_> {
    fn enter(&mut self, name: &str, body: &ast::TsNamespaceBody) {
        let path = match self.open.last() {
            Some(outer) => format!("{}.{name}", outer.path),
            None => name.to_owned(),
        };
        match body {
            ast::TsNamespaceBody::TsModuleBlock(block) => {
                self.open.push(Part {
                    path,
                    own: own_names(block),
                    inner: inner_namespaces(block),
                });
                block.visit_with(self);
            }
            ast::TsNamespaceBody::TsNamespaceDecl(inner) => {
                self.open.push(Part {
                    path,
                    own: BTreeSet::from([inner.id.sym.to_string()]),
                    inner: BTreeSet::new(),
                });
                self.enter(&inner.id.sym, &inner.body);
            }
        }
        self.open.pop();
    }

    /// Returns the namespace whose other part exports `ident`.
    fn namespace_of(&self, ident: &ast::Ident) -> Option<&str> {
        let name = ident.sym.as_str();
        let is_exported = |part: &&Part| {
            let exports = self.exports.get(&part.path);
            exports.is_some_and(|exports| exports.contains(name))
        };
        let mut parts = self.open.iter().rev();
        let part = if self.outside.contains(&ident.ctxt) {
            parts.find(|part| part.own.contains(name) || is_exported(part))?
        } else {
            let id = ident.to_id();
            let own = parts
                .find(|part| part.inner.contains(&id))
                .filter(is_exported)?;
            return Some(&own.path);
        };
        (!part.own.contains(name)).then_some(part.path.as_str())
    }

    fn qualify(&mut self, ident: &ast::Ident, is_shorthand: bool) {
        let Some(path) = self.namespace_of(ident) else {
            return;
        };
        let name = &ident.sym;
        let new = if is_shorthand {
            format!("{name}: {path}.{name}")
        } else {
            format!("{path}.{name}")
        };
        self.edits.push((bytes_of(self.parsed, ident.range()), new));
    }
}

impl Visit for Qualifier<'_> {
    noop_visit_type!();

    fn visit_ts_module_decl(&mut self, module: &ast::TsModuleDecl) {
        if let (ast::TsModuleName::Ident(name), Some(body), false) =
            (&module.id, &module.body, module.declare)
        {
            self.enter(&name.sym, body);
        }
    }

    fn visit_expr(&mut self, expr: &ast::Expr) {
        if let ast::Expr::Ident(ident) = expr {
            self.qualify(ident, false);
        }
        expr.visit_children_with(self);
    }

    fn visit_simple_assign_target(&mut self, target: &ast::SimpleAssignTarget) {
        if let ast::SimpleAssignTarget::Ident(name) = target {
            self.qualify(&name.id, false);
        }
        target.visit_children_with(self);
    }

    fn visit_prop(&mut self, prop: &ast::Prop) {
        if let ast::Prop::Shorthand(ident) = prop {
            self.qualify(ident, true);
        }
        prop.visit_children_with(self);
    }

    fn visit_ts_import_equals_decl(&mut self, import: &ast::TsImportEqualsDecl) {
        let ast::TsModuleRef::TsEntityName(name) = &import.module_ref else {
            return;
        };
        let mut first = name;
        while let ast::TsEntityName::TsQualifiedName(qualified) = first {
            first = &qualified.left;
        }
        if let ast::TsEntityName::Ident(ident) = first {
            self.qualify(ident, false);
        }
    }
}

fn inner_namespaces(block: &ast::TsModuleBlock) -> BTreeSet<ast::Id> {
    let names = block.body.iter().filter_map(|item| match item {
        ast::ModuleItem::ModuleDecl(ast::ModuleDecl::ExportDecl(export)) => match &export.decl {
            ast::Decl::TsModule(inner) if !inner.declare => match &inner.id {
                ast::TsModuleName::Ident(name) => Some(name.to_id()),
                ast::TsModuleName::Str(_) => None,
            },
            _ => None,
        },
        _ => None,
    });
    names.collect()
}

/// Returns all names that the block declares.
fn own_names(block: &ast::TsModuleBlock) -> BTreeSet<String> {
    let mut names = exported_names(block);
    for item in &block.body {
        match item {
            ast::ModuleItem::Stmt(ast::Stmt::Decl(decl)) => {
                declared_names(decl, &mut names);
            }
            ast::ModuleItem::ModuleDecl(ast::ModuleDecl::TsImportEquals(import)) => {
                names.push(import.id.sym.to_string());
            }
            _ => {}
        }
    }
    names.into_iter().collect()
}
