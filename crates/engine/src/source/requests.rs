//! Requests for permissions in a tool's own files: `export const permissions` of a module,
//! `haft.permissions` of its `package.json`, `security.required-permissions` of a YAML tool.
//!
//! Nothing is run or computed: a value that is not written out cannot be read.

use std::path::Path;

use deno_ast::swc::ast::{
    Decl, ExportSpecifier, Expr, Lit, Module, ModuleDecl, ModuleExportName, ModuleItem, ObjectLit,
    Pat, Prop, PropName, PropOrSpread, Stmt, VarDecl, VarDeclKind,
};
use deno_ast::{ParsedSource, ProgramRef, SourceRangedForSpanned};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::unwrapped;
use haft_tool::{PermissionRequest, RequestedKinds, requested_kinds};

/// Name of the exported constant, and of the key of a manifest.
pub(crate) const NAME: &str = "permissions";

/// Request in a module: its 1-based line, and the requested kinds or the reason for which they
/// cannot be read.
pub(crate) type InModule = (u32, Result<RequestedKinds, String>);

/// Returns the request that was found in the module.
pub(crate) fn of_module(path: &Path, (line, kinds): InModule) -> PermissionRequest {
    PermissionRequest {
        file: path.display().to_string(),
        line,
        kinds,
        texts: Vec::new(),
    }
}

/// Returns the request of a `package.json` with these bytes.
pub(crate) fn of_manifest(path: &Path, bytes: &[u8]) -> Option<PermissionRequest> {
    let manifest: Value = serde_json::from_slice(bytes).ok()?;
    let value = manifest.get("haft")?.get(NAME)?;
    Some(PermissionRequest {
        file: path.display().to_string(),
        line: 0,
        kinds: requested_kinds(value),
        texts: Vec::new(),
    })
}

/// Returns the request of a YAML tool with this text.
pub(crate) fn of_declaration(path: &Path, text: &str) -> Option<PermissionRequest> {
    #[derive(Deserialize)]
    struct Declaration {
        security: Option<Security>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    struct Security {
        #[serde(default)]
        required_permissions: Vec<String>,
    }
    // A file that is not a YAML tool has its own problem when it is loaded.
    let declaration: Declaration = serde_saphyr::from_str(text).ok()?;
    let texts = declaration.security?.required_permissions;
    (!texts.is_empty()).then(|| PermissionRequest {
        file: path.display().to_string(),
        line: 0,
        kinds: Ok(RequestedKinds::new()),
        texts,
    })
}

/// Returns the request in the exports of a module.
pub(crate) fn in_tree(parsed: &ParsedSource) -> Option<InModule> {
    let ProgramRef::Module(module) = parsed.program_ref() else {
        return None;
    };
    let line = |start| {
        let line = parsed.text_info_lazy().line_index(start) + 1;
        u32::try_from(line).unwrap_or(u32::MAX)
    };
    for item in &module.body {
        let ModuleItem::ModuleDecl(declared) = item else {
            continue;
        };
        let found = match declared {
            ModuleDecl::ExportDecl(export) => match &export.decl {
                Decl::Var(variables) => value_in(variables, NAME),
                _ => None,
            },
            ModuleDecl::ExportNamed(export) => {
                let local = export.specifiers.iter().find_map(exported_as_permissions);
                local.map(|local| match &export.src {
                    Some(_) => Err("another module exports it".to_owned()),
                    None => value_of_local(module, &local),
                })
            }
            _ => None,
        };
        if let Some(value) = found {
            let kinds = value.and_then(|value| requested_kinds(&value));
            return Some((line(declared.start()), kinds));
        }
    }
    None
}

/// Returns the local name of what is exported as `permissions`.
fn exported_as_permissions(specifier: &ExportSpecifier) -> Option<String> {
    let ExportSpecifier::Named(named) = specifier else {
        return None;
    };
    let exported = named.exported.as_ref().unwrap_or(&named.orig);
    (name_of(exported) == NAME).then(|| name_of(&named.orig))
}

fn name_of(name: &ModuleExportName) -> String {
    match name {
        ModuleExportName::Ident(name) => name.sym.to_string(),
        ModuleExportName::Str(text) => text.value.to_string_lossy().into_owned(),
    }
}

fn value_of_local(module: &Module, name: &str) -> Result<Value, String> {
    let variables = module.body.iter().filter_map(|item| match item {
        ModuleItem::Stmt(Stmt::Decl(Decl::Var(variables))) => Some(variables),
        _ => None,
    });
    let mut values = variables.filter_map(|variables| value_in(variables, name));
    let missing = || Err(format!("`{name}` is not a constant of the module"));
    values.next().unwrap_or_else(missing)
}

/// Returns the value of the variable `name`, if these declarations contain it.
fn value_in(variables: &VarDecl, name: &str) -> Option<Result<Value, String>> {
    let mut declared = variables.decls.iter();
    let declared = declared.find(|one| match &one.name {
        Pat::Ident(ident) => &*ident.id.sym == name,
        _ => false,
    })?;
    Some(match (&declared.init, variables.kind) {
        (Some(value), VarDeclKind::Const) => literal(value),
        _ => Err("it is not a constant".to_owned()),
    })
}

/// Returns the value of an expression that is written out.
fn literal(expr: &Expr) -> Result<Value, String> {
    match unwrapped(expr) {
        Expr::Lit(Lit::Bool(value)) => Ok(value.value.into()),
        Expr::Lit(Lit::Str(text)) => Ok(text.value.to_string_lossy().into()),
        Expr::Lit(Lit::Num(number)) => Ok(number.value.into()),
        Expr::Tpl(template) if template.exprs.is_empty() => {
            let text = template
                .quasis
                .first()
                .and_then(|part| part.cooked.as_ref());
            Ok(text
                .map_or_else(String::new, |text| text.to_string_lossy().into_owned())
                .into())
        }
        Expr::Array(array) => {
            let elements = array.elems.iter().map(|element| match element {
                Some(element) if element.spread.is_none() => literal(&element.expr),
                _ => Err(COMPUTED.to_owned()),
            });
            Ok(Value::Array(elements.collect::<Result<_, _>>()?))
        }
        Expr::Object(object) => Ok(Value::Object(members(object)?)),
        _ => Err(COMPUTED.to_owned()),
    }
}

const COMPUTED: &str = "a part of it is computed";

fn members(object: &ObjectLit) -> Result<Map<String, Value>, String> {
    let mut members = Map::new();
    for prop in &object.props {
        let PropOrSpread::Prop(prop) = prop else {
            return Err(COMPUTED.to_owned());
        };
        let Prop::KeyValue(pair) = &**prop else {
            return Err(COMPUTED.to_owned());
        };
        let key = match &pair.key {
            PropName::Ident(key) => key.sym.to_string(),
            PropName::Str(key) => key.value.to_string_lossy().into_owned(),
            _ => return Err(COMPUTED.to_owned()),
        };
        members.insert(key, literal(&pair.value)?);
    }
    Ok(members)
}
