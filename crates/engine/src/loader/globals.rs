//! The CommonJS names in ES modules: `require`, `module`, `exports`, `__dirname`, `__filename`.
//!
//! Bun defines them in every file. A file that uses one, and does not declare it, gets an import at
//! its end. Imports are hoisted, so the names exist before its first line runs, and lines do not
//! move.

use std::collections::BTreeSet;

use deno_ast::swc::ast;
use deno_ast::swc::ecma_visit::{Visit, VisitWith, noop_visit_type};
use deno_ast::{ParsedSource, ProgramRef};
use deno_core::serde_json;
use deno_core::url::Url;

const NAMES: &[&str] = &["require", "module", "exports", "__dirname", "__filename"];

/// The CommonJS names that a file uses.
pub(super) type Used = BTreeSet<&'static str>;

/// Returns the CommonJS names that the file uses and does not declare at its top level. Names that
/// only a type or an ambient declaration (`declare const require: any`) mentions do not count.
pub(super) fn used(parsed: &ParsedSource) -> Used {
    // Almost no file uses these names, and a search is faster than a visit of the tree.
    if !NAMES.iter().any(|name| parsed.text().contains(name)) {
        return Used::new();
    }
    let mut uses = Uses::default();
    match parsed.program_ref() {
        ProgramRef::Module(module) => module.visit_with(&mut uses),
        ProgramRef::Script(script) => script.visit_with(&mut uses),
    }
    let mut used = uses.0;
    for name in super::syntax::top_level_names(parsed) {
        used.remove(name.as_str());
    }
    used
}

/// Returns the import to append to the module at `url`, if it needs one.
pub(super) fn import_for(used: &Used, url: &Url) -> Option<String> {
    if used.is_empty() {
        return None;
    }
    let names: Vec<_> = used.iter().copied().collect();
    Some(format!(
        "\nimport {{ {} }} from \"haft:commonjs?{url}\";\n",
        names.join(", ")
    ))
}

/// Appended to a file to hide the global `Deno`. It is hoisted, so lines do not move.
pub(super) const WITHOUT_DENO: &str = "\nvar Deno;\n";

/// Returns true for a file that uses the global `Deno`. Deno's own modules find it there, but tools
/// get Node's and Bun's interfaces, and packages would choose their code for Deno.
pub(super) fn is_deno_hidden(parsed: &ParsedSource) -> bool {
    uses_deno(parsed.text()) && !super::syntax::top_level_names(parsed).contains(&"Deno".to_owned())
}

/// Returns true if the code may use the global `Deno`.
pub(super) fn uses_deno(code: &str) -> bool {
    let name = "Deno";
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + name.len()..].chars().next();
        !before.is_some_and(|c| is_word(c) || c == '.') && !after.is_some_and(is_word)
    })
}

/// Returns the source of `haft:commonjs?<url of the importing module>`.
pub(super) fn module_source(url: &Url) -> Option<String> {
    if url.scheme() != "haft" || url.path() != "commonjs" {
        return None;
    }
    let importer = serde_json::to_string(url.query().unwrap_or_default()).ok()?;
    Some(format!(
        "export const {{ {} }} = globalThis[Symbol.for(\"haft.commonjs\")]({importer});\n",
        NAMES.join(", ")
    ))
}

/// Finds names that are read or written as variables. A parameter of the same name counts as well,
/// which only costs an unused import.
#[derive(Default)]
struct Uses(Used);

impl Uses {
    fn name(&mut self, ident: &ast::Ident) {
        // `module` and `exports` are common words: only their CommonJS uses count.
        let name = NAMES.iter().find(|name| ident.sym == **name);
        if let Some(name) = name.filter(|name| !matches!(**name, "module" | "exports")) {
            self.0.insert(name);
        }
    }
}

impl Visit for Uses {
    noop_visit_type!();

    fn visit_expr(&mut self, expr: &ast::Expr) {
        if let ast::Expr::Ident(ident) = expr {
            self.name(ident);
        }
        expr.visit_children_with(self);
    }

    fn visit_prop(&mut self, prop: &ast::Prop) {
        if let ast::Prop::Shorthand(ident) = prop {
            self.name(ident);
        }
        prop.visit_children_with(self);
    }

    fn visit_member_expr(&mut self, member: &ast::MemberExpr) {
        if let ast::Expr::Ident(object) = &*member.obj {
            let is_exports =
                matches!(&member.prop, ast::MemberProp::Ident(name) if name.sym == *"exports");
            match object.sym.as_str() {
                "module" if is_exports => drop(self.0.insert("module")),
                "exports" => drop(self.0.insert("exports")),
                _ => {}
            }
        }
        member.visit_children_with(self);
    }
}
