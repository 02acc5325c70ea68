//! Helpers over a parsed file: the names that it declares, and edits of its text.

use std::ops::Range;

use deno_ast::swc::ast;
use deno_ast::{ParsedSource, ProgramRef, SourceRange};

/// A range of the text in bytes, and its replacement.
pub(super) type Edit = (Range<usize>, String);

/// Returns the byte range of a node in the text.
pub(super) fn bytes_of(parsed: &ParsedSource, node: SourceRange) -> Range<usize> {
    let start = parsed.range().start;
    node.start - start..node.end - start
}

/// Returns the names that the file declares or imports at its top level, except types.
pub(super) fn top_level_names(parsed: &ParsedSource) -> Vec<String> {
    let mut names = Vec::new();
    match parsed.program_ref() {
        ProgramRef::Module(module) => {
            for item in &module.body {
                match item {
                    ast::ModuleItem::ModuleDecl(ast::ModuleDecl::Import(import))
                        if !import.type_only =>
                    {
                        let values = import.specifiers.iter().filter(|one| !is_type(one));
                        names.extend(values.map(|one| one.local().sym.to_string()));
                    }
                    ast::ModuleItem::ModuleDecl(ast::ModuleDecl::TsImportEquals(import))
                        if !import.is_type_only =>
                    {
                        names.push(import.id.sym.to_string());
                    }
                    ast::ModuleItem::ModuleDecl(ast::ModuleDecl::ExportDecl(export)) => {
                        declared_names(&export.decl, &mut names);
                    }
                    ast::ModuleItem::Stmt(ast::Stmt::Decl(decl)) => {
                        declared_names(decl, &mut names)
                    }
                    _ => {}
                }
            }
        }
        ProgramRef::Script(script) => {
            for statement in &script.body {
                if let ast::Stmt::Decl(decl) = statement {
                    declared_names(decl, &mut names);
                }
            }
        }
    }
    names
}

fn is_type(specifier: &ast::ImportSpecifier) -> bool {
    matches!(specifier, ast::ImportSpecifier::Named(named) if named.is_type_only)
}

/// Adds the names that a declaration binds. An ambient one (`declare const x: any`) binds none,
/// because it describes a value that is defined elsewhere.
pub(super) fn declared_names(decl: &ast::Decl, names: &mut Vec<String>) {
    match decl {
        ast::Decl::Fn(function) if !function.declare => names.push(function.ident.sym.to_string()),
        ast::Decl::Class(class) if !class.declare => names.push(class.ident.sym.to_string()),
        ast::Decl::TsEnum(it) if !it.declare => names.push(it.id.sym.to_string()),
        ast::Decl::TsModule(it) if !it.declare => {
            if let ast::TsModuleName::Ident(name) = &it.id {
                names.push(name.sym.to_string());
            }
        }
        ast::Decl::Var(var) if !var.declare => {
            for one in &var.decls {
                pattern_names(&one.name, names);
            }
        }
        _ => {}
    }
}

fn pattern_names(pattern: &ast::Pat, names: &mut Vec<String>) {
    match pattern {
        ast::Pat::Ident(name) => names.push(name.id.sym.to_string()),
        ast::Pat::Array(array) => {
            for element in array.elems.iter().flatten() {
                pattern_names(element, names);
            }
        }
        ast::Pat::Object(object) => {
            for prop in &object.props {
                match prop {
                    ast::ObjectPatProp::KeyValue(pair) => pattern_names(&pair.value, names),
                    ast::ObjectPatProp::Assign(assign) => names.push(assign.key.id.sym.to_string()),
                    ast::ObjectPatProp::Rest(rest) => pattern_names(&rest.arg, names),
                }
            }
        }
        ast::Pat::Assign(assign) => pattern_names(&assign.left, names),
        ast::Pat::Rest(rest) => pattern_names(&rest.arg, names),
        _ => {}
    }
}
