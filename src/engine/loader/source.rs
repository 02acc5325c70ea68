//! From a file of source code to JavaScript: TypeScript away, source map kept, form decided.

use std::path::Path;
use std::sync::Arc;

use deno_ast::diagnostics::Diagnostic;
use deno_ast::swc::ast;
use deno_ast::{
    DecoratorsTranspileOption, EmitOptions, JsxAutomaticOptions, JsxRuntime, MediaType, ModuleKind,
    ParseDiagnostic, ParseParams, ParsedSource, ProgramRef, SourceMapOption,
    SourceRangedForSpanned, TranspileModuleOptions, TranspileOptions,
};
use deno_core::url::Url;
use deno_error::JsErrorBox;
use serde::{Deserialize, Serialize};

use super::kept::{self, Kept};
use super::node::NodeServices;
use super::tsconfig::{self, TsConfig};
use super::{files, globals, room};
use crate::engine::compiled::Kind;
use crate::engine::graph::{Imports, Lesson};
use crate::engine::witness;

/// A file ready for V8.
pub(super) struct Prepared {
    pub(super) code: String,
    pub(super) source_map: Option<Vec<u8>>,
    pub(super) form: Form,
}

/// Which of the two module systems a file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Form {
    Module,
    CommonJs,
}

/// Reads the file and makes it JavaScript.
pub(super) fn prepare(
    path: &Path,
    url: &Url,
    tsconfigs: &tsconfig::Cache,
    node: &NodeServices,
) -> Result<Prepared, JsErrorBox> {
    let (text, read) = files::read(path)?;
    let digest = read.digest().to_owned();
    witness::imported(path, read);
    room::with_text(path, text, |text| {
        prepare_text(path, url, (text, &digest), tsconfigs, node)
    })
}

/// Makes the text of the file, whose bytes have that hash, JavaScript.
pub(super) fn prepare_text(
    path: &Path,
    url: &Url,
    (text, digest): (String, &str),
    tsconfigs: &tsconfig::Cache,
    node: &NodeServices,
) -> Result<Prepared, JsErrorBox> {
    let config = tsconfigs.of(path);
    let config = config.as_deref();
    let place = || {
        let circumstances = kept::circumstances(path, config, node.is_commonjs_package(path));
        [digest.as_bytes().to_vec(), circumstances]
    };
    let place = node.place(Kind::Imported, text.len(), place);
    if let Some((prepared, imports)) = place.as_ref().and_then(Kept::find_prepared) {
        if let Some(imports) = imports {
            Lesson::recall(path, digest, imports);
        }
        return Ok(prepared);
    }
    let parsed = parse(url, path, text)?;
    let imports = match &place {
        Some(_) => Imports::of_parsed(&parsed),
        None => None,
    };
    match &imports {
        Some(imports) => Lesson::recall(path, digest, imports.clone()),
        None => Lesson::learn(path, digest, &parsed),
    }
    let form = form_of(path, &parsed, node);
    let transformed = transform(parsed, config, form, path)?;
    let prepared = match form {
        Form::Module => finish_module(transformed, url),
        Form::CommonJs => Prepared {
            code: transformed.code,
            source_map: transformed.source_map,
            form,
        },
    };
    if let Some(place) = place {
        place.keep_prepared(&prepared, imports);
    }
    Ok(prepared)
}

/// For `require`: the file as CommonJS source.
pub(super) fn prepare_required(
    path: &Path,
    tsconfigs: &tsconfig::Cache,
    node: &NodeServices,
) -> Result<Prepared, JsErrorBox> {
    let url = super::url_of(path)?;
    if !needs_transform(MediaType::from_path(path)) {
        return Ok(Prepared {
            code: required_text(&url, path)?,
            source_map: None,
            form: Form::CommonJs,
        });
    }
    room::with_source(path, |text| {
        let config = tsconfigs.of(path);
        let config = config.as_deref();
        let place = || [hash(&text), kept::circumstances(path, config, true)];
        let place = node.place(Kind::Required, text.len(), place);
        if let Some((prepared, _)) = place.as_ref().and_then(Kept::find_prepared) {
            return Ok(prepared);
        }
        let parsed = parse(&url, path, text)?;
        let transformed = transform(parsed, config, Form::CommonJs, path)?;
        let prepared = Prepared {
            code: transformed.code,
            source_map: transformed.source_map,
            form: Form::CommonJs,
        };
        if let Some(place) = place {
            place.keep_prepared(&prepared, None);
        }
        Ok(prepared)
    })
}

/// JavaScript as it is; only what names `Deno` is parsed.
fn required_text(url: &Url, path: &Path) -> Result<String, JsErrorBox> {
    let mut code = files::read_text(path)?;
    let is_script = MediaType::from_path(path) != MediaType::Json;
    if is_script && globals::uses_deno(&code) {
        // What does not parse is reported by V8.
        if let Ok(parsed) = parse(url, path, code.clone()) {
            globals::hide_deno(&mut code, &top_level_names(&parsed));
        }
    }
    Ok(code)
}

/// The form of a file that `require` was given, decided without the cost of a parse where the name
/// tells it.
pub(super) fn form_of_file(path: &Path, node: &NodeServices) -> Form {
    match MediaType::from_path(path) {
        MediaType::Mjs | MediaType::Mts => Form::Module,
        MediaType::Cjs | MediaType::Cts | MediaType::Json => Form::CommonJs,
        _ => {
            let found = room::with_source(path, |text| {
                let in_commonjs = node.is_commonjs_package(path);
                let place = || [hash(&text), kept::circumstances(path, None, in_commonjs)];
                let place = node.place(Kind::Form, text.len(), place);
                if let Some(form) = place.as_ref().and_then(Kept::find) {
                    return Ok(form);
                }
                let parsed = parse(&super::url_of(path)?, path, text)?;
                let form = form_of(path, &parsed, node);
                if let Some(place) = place {
                    place.keep(&form);
                }
                Ok(form)
            });
            found.unwrap_or(Form::CommonJs)
        }
    }
}

fn hash(text: &str) -> Vec<u8> {
    blake3::hash(text.as_bytes()).as_bytes().to_vec()
}

fn parse(url: &Url, path: &Path, text: String) -> Result<ParsedSource, JsErrorBox> {
    let media = match MediaType::from_path(path) {
        // Tools are TypeScript unless they say otherwise: any extension may be configured.
        MediaType::Unknown => MediaType::TypeScript,
        media => media,
    };
    let parse = |text: Arc<str>| {
        deno_ast::parse_program(ParseParams {
            specifier: url.clone(),
            text,
            media_type: media,
            capture_tokens: false,
            scope_analysis: false,
            maybe_syntax: None,
        })
    };
    let text: Arc<str> = text.into();
    let parsed = parse(text.clone()).map_err(|error| syntax_error(path, &error))?;
    if let Some(fatal) = parsed.diagnostics().first() {
        return Err(syntax_error(path, fatal));
    }
    match without_foreign_attributes(&parsed, &text) {
        Some(plain) => parse(plain.into()).map_err(|error| syntax_error(path, &error)),
        None => Ok(parsed),
    }
}

fn syntax_error(path: &Path, error: &ParseDiagnostic) -> JsErrorBox {
    let place = error.display_position();
    syntax_box(format!(
        "{} ({}:{}:{})",
        readable(&error.message()),
        path.display(),
        place.line_number,
        place.column_number
    ))
}

/// The parser shows literals as it keeps them: `'string literal ("y", "y")'` is `'"y"'`.
fn readable(message: &str) -> String {
    for kind in ["'string literal (", "'numeric literal ("] {
        if let Some((start, literal)) = message.split_once(kind)
            && let Some((literal, end)) = literal.split_once(")'")
        {
            let written = literal.rsplit(", ").next().unwrap_or(literal);
            return format!("{start}'{written}'{end}");
        }
    }
    message.to_owned()
}

fn syntax_box(message: String) -> JsErrorBox {
    JsErrorBox::new("SyntaxError", message)
}

/// V8 knows `with { type: "json" }` and `"text"`; Bun's other types are told by the extension, so
/// their clause is blanked out. Nothing moves.
fn without_foreign_attributes(parsed: &ParsedSource, text: &str) -> Option<String> {
    let ProgramRef::Module(module) = parsed.program_ref() else {
        return None;
    };
    let start = parsed.range().start;
    let mut blanked: Option<String> = None;
    for item in &module.body {
        let ast::ModuleItem::ModuleDecl(declaration) = item else {
            continue;
        };
        let (source, with, whole) = match declaration {
            ast::ModuleDecl::Import(import) => (Some(&import.src), &import.with, import.range()),
            ast::ModuleDecl::ExportNamed(export) => {
                (export.src.as_ref(), &export.with, export.range())
            }
            ast::ModuleDecl::ExportAll(export) => (Some(&export.src), &export.with, export.range()),
            _ => continue,
        };
        let (Some(source), Some(with)) = (source, with) else {
            continue;
        };
        if attribute_type(with).is_some_and(|kind| kind == "json" || kind == "text") {
            continue;
        }
        let from = source.range().end - start;
        let to = whole.end - start;
        let out = blanked.get_or_insert_with(|| text.to_owned());
        let blank: String = text[from..to]
            .chars()
            .map(|c| {
                if c == '\n' {
                    "\n".to_owned()
                } else {
                    " ".repeat(c.len_utf8())
                }
            })
            .collect();
        out.replace_range(from..to, &blank);
    }
    blanked
}

fn attribute_type(with: &ast::ObjectLit) -> Option<String> {
    with.props.iter().find_map(|prop| {
        let ast::PropOrSpread::Prop(prop) = prop else {
            return None;
        };
        let ast::Prop::KeyValue(pair) = &**prop else {
            return None;
        };
        let is_type = match &pair.key {
            ast::PropName::Ident(name) => name.sym == *"type",
            ast::PropName::Str(name) => name.value.to_string_lossy() == "type",
            _ => false,
        };
        match &*pair.value {
            ast::Expr::Lit(ast::Lit::Str(value)) if is_type => {
                Some(value.value.to_string_lossy().into_owned())
            }
            _ => None,
        }
    })
}

/// The syntax decides, not the `package.json`: published tools lie beside one that says
/// "commonjs" and are ES modules all the same (spec omp-usage 10.3).
fn form_of(path: &Path, parsed: &ParsedSource, node: &NodeServices) -> Form {
    match MediaType::from_path(path) {
        MediaType::Mjs | MediaType::Mts => return Form::Module,
        MediaType::Cjs | MediaType::Cts => return Form::CommonJs,
        _ => {}
    }
    if !parsed.compute_is_script() {
        return Form::Module;
    }
    let uses_commonjs = {
        let text = parsed.text();
        text.contains("module.exports") || text.contains("exports.") || text.contains("require(")
    };
    if uses_commonjs || node.is_commonjs_package(path) {
        Form::CommonJs
    } else {
        Form::Module
    }
}

struct Transformed {
    code: String,
    source_map: Option<Vec<u8>>,
    /// The names that the file declares or imports at its top level.
    declared: Vec<String>,
}

fn needs_transform(media: MediaType) -> bool {
    !matches!(
        media,
        MediaType::JavaScript | MediaType::Mjs | MediaType::Cjs | MediaType::Json
    )
}

fn transform(
    parsed: ParsedSource,
    config: Option<&TsConfig>,
    form: Form,
    path: &Path,
) -> Result<Transformed, JsErrorBox> {
    let declared = top_level_names(&parsed);
    let text = parsed.text().clone();
    let plain = !needs_transform(parsed.media_type()) && !text.contains('@');
    if plain && !(form == Form::Module && wants_meta(&text)) {
        return Ok(Transformed {
            code: text.to_string(),
            source_map: None,
            declared,
        });
    }
    let emitted = parsed
        .transpile(
            &transpile_options(config),
            &TranspileModuleOptions {
                module_kind: Some(match form {
                    Form::Module => ModuleKind::Esm,
                    Form::CommonJs => ModuleKind::Cjs,
                }),
            },
            &EmitOptions {
                source_map: SourceMapOption::Separate,
                inline_sources: false,
                ..Default::default()
            },
        )
        .map_err(|error| syntax_box(format!("{error} ({}:1:1)", path.display())))?
        .into_source();
    Ok(Transformed {
        code: emitted.text,
        source_map: emitted.source_map.map(String::into_bytes),
        declared,
    })
}

fn transpile_options(config: Option<&TsConfig>) -> TranspileOptions {
    let default = TsConfig::default();
    let config = config.unwrap_or(&default);
    TranspileOptions {
        decorators: if config.legacy_decorators {
            DecoratorsTranspileOption::LegacyTypeScript {
                emit_metadata: config.decorator_metadata,
            }
        } else {
            DecoratorsTranspileOption::Ecma
        },
        jsx: Some(if config.jsx_classic {
            JsxRuntime::Classic(Default::default())
        } else {
            JsxRuntime::Automatic(JsxAutomaticOptions {
                development: false,
                import_source: config.jsx_import_source.clone(),
            })
        }),
        ..Default::default()
    }
}

/// Adds what Bun gives to every module and V8 does not.
fn finish_module(transformed: Transformed, url: &Url) -> Prepared {
    let Transformed {
        mut code,
        mut source_map,
        declared,
    } = transformed;
    if wants_meta(&code) {
        code.insert_str(0, META_PREFIX);
        source_map = source_map.map(shifted_by_one_line);
    }
    if let Some(import) = globals::import_for(&code, url, &declared) {
        code.push_str(&import);
    }
    globals::hide_deno(&mut code, &declared);
    Prepared {
        code,
        source_map,
        form: Form::Module,
    }
}

/// Bun's members of `import.meta`; the standard ones are V8's.
const META_PREFIX: &str = "import.meta.dir ??= import.meta.dirname; \
     import.meta.path ??= import.meta.filename; \
     import.meta.file ??= import.meta.filename?.split(\"/\").at(-1); \
     import.meta.env ??= globalThis.process?.env;\n";

fn wants_meta(code: &str) -> bool {
    code.contains("import.meta")
}

/// Every `;` in `mappings` starts a generated line.
fn shifted_by_one_line(map: Vec<u8>) -> Vec<u8> {
    const KEY: &str = "\"mappings\":\"";
    match String::from_utf8(map) {
        Ok(text) => text.replacen(KEY, &format!("{KEY};"), 1).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}

fn top_level_names(parsed: &ParsedSource) -> Vec<String> {
    let mut names = Vec::new();
    match parsed.program_ref() {
        ProgramRef::Module(module) => {
            for item in &module.body {
                match item {
                    ast::ModuleItem::ModuleDecl(ast::ModuleDecl::Import(import)) => {
                        names.extend(
                            import
                                .specifiers
                                .iter()
                                .map(|one| one.local().sym.to_string()),
                        );
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

fn declared_names(decl: &ast::Decl, names: &mut Vec<String>) {
    match decl {
        ast::Decl::Fn(function) => names.push(function.ident.sym.to_string()),
        ast::Decl::Class(class) => names.push(class.ident.sym.to_string()),
        ast::Decl::Var(var) => {
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
