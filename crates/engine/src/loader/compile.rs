//! Compiles a source file to JavaScript: erases TypeScript, makes a source map, finds the module
//! system.

use std::path::Path;
use std::sync::Arc;

use deno_ast::diagnostics::Diagnostic;
use deno_ast::swc::ast;
use deno_ast::{
    DecoratorsTranspileOption, EmitOptions, JsxAutomaticOptions, JsxRuntime, MediaType, ModuleKind,
    ParseDiagnostic, ParsedSource, ProgramRef, SourceMapOption, TranspileModuleOptions,
    TranspileOptions,
};
use deno_core::url::Url;
use deno_error::JsErrorBox;

use super::cache_entry::{self, Form, Kept, Prepared};
use super::node::NodeServices;
use super::tsconfig::{self, TsConfig};
use super::{deep_stack, files, globals, rewrite};
use crate::load_trace;
use crate::source::{parse_as, url_of};
use crate::transpile_cache::Kind;
use crate::verify::Verifier;

/// Reads the file and compiles it to JavaScript.
pub(super) fn prepare(
    path: &Path,
    url: &Url,
    tsconfigs: &tsconfig::Cache,
    node: &NodeServices,
) -> Result<Prepared, JsErrorBox> {
    let (text, read) = files::read(path, node.verifier())?;
    let digest = read.digest().to_owned();
    load_trace::imported(path, read);
    deep_stack::with_text(path, text, |text| {
        prepare_text(path, url, (text, &digest), tsconfigs, node)
    })
}

/// Compiles the text of the file, whose bytes have the hash `digest`, to JavaScript.
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
        let circumstances =
            cache_entry::circumstances(path, config, node.is_commonjs_package(path));
        [digest.as_bytes().to_vec(), circumstances]
    };
    let place = node.place(Kind::Imported, text.len(), place);
    if let Some(prepared) = place.as_ref().and_then(Kept::find_prepared) {
        return Ok(prepared);
    }
    let parsed = parse(url, path, text)?;
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
        place.keep_prepared(&prepared);
    }
    Ok(prepared)
}

/// Compiles the code of a `data:` URL to JavaScript.
pub(super) fn prepare_data(
    text: String,
    url: &Url,
    is_typescript: bool,
) -> Result<String, JsErrorBox> {
    let media = if is_typescript {
        MediaType::TypeScript
    } else {
        MediaType::JavaScript
    };
    let path = Path::new("data:");
    deep_stack::with_text(path, text, |text| {
        let parsed =
            parse_as(url, media, text.into()).map_err(|error| syntax_error(path, &error))?;
        if let Some(fatal) = parsed.diagnostics().first() {
            return Err(syntax_error(path, fatal));
        }
        transform(parsed, None, Form::Module, path).map(|transformed| transformed.code)
    })
}

/// Compiles the file to CommonJS for `require`.
pub(super) fn prepare_required(
    path: &Path,
    tsconfigs: &tsconfig::Cache,
    node: &NodeServices,
) -> Result<Prepared, JsErrorBox> {
    let url = url_of(path)?;
    if !needs_transform(MediaType::from_path(path)) {
        return Ok(Prepared {
            code: required_text(&url, path, node.verifier())?,
            source_map: None,
            form: Form::CommonJs,
        });
    }
    deep_stack::with_source(path, node.verifier(), |text| {
        let config = tsconfigs.of(path);
        let config = config.as_deref();
        let place = || [hash(&text), cache_entry::circumstances(path, config, true)];
        let place = node.place(Kind::Required, text.len(), place);
        if let Some(prepared) = place.as_ref().and_then(Kept::find_prepared) {
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
            place.keep_prepared(&prepared);
        }
        Ok(prepared)
    })
}

/// Reads JavaScript unchanged; only a file that names `Deno` is parsed.
fn required_text(
    url: &Url,
    path: &Path,
    verifier: Option<&Verifier>,
) -> Result<String, JsErrorBox> {
    let mut code = files::read_text(path, verifier)?;
    let is_script = MediaType::from_path(path) != MediaType::Json;
    if is_script && globals::uses_deno(&code) {
        // V8 reports code that does not parse.
        let is_hidden = deep_stack::with_text(path, code.clone(), |code| {
            Ok(globals::is_deno_hidden(&parse(url, path, code)?))
        });
        if matches!(is_hidden, Ok(true)) {
            code.push_str(globals::WITHOUT_DENO);
        }
    }
    Ok(code)
}

/// Returns the module system of a file for `require`. It is found without a parse where the file's
/// name or a search for words is enough.
pub(super) fn form_of_file(path: &Path, node: &NodeServices) -> Form {
    match MediaType::from_path(path) {
        MediaType::Mjs | MediaType::Mts => Form::Module,
        MediaType::Json => Form::CommonJs,
        _ => {
            let found = deep_stack::with_source(path, node.verifier(), |text| {
                if !may_be_es_module(&text) {
                    return Ok(Form::CommonJs);
                }
                let in_commonjs = node.is_commonjs_package(path);
                let place = || {
                    [
                        hash(&text),
                        cache_entry::circumstances(path, None, in_commonjs),
                    ]
                };
                let place = node.place(Kind::Form, text.len(), place);
                if let Some(form) = place.as_ref().and_then(Kept::find) {
                    return Ok(form);
                }
                let parsed = parse(&url_of(path)?, path, text)?;
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

/// Returns false if the text lacks all words that an ES module needs.
fn may_be_es_module(text: &str) -> bool {
    let export = "export";
    let mut exports = text.match_indices(export);
    text.contains("import") || exports.any(|(at, _)| !text[at + export.len()..].starts_with('s'))
}

fn hash(text: &str) -> Vec<u8> {
    blake3::hash(text.as_bytes()).as_bytes().to_vec()
}

fn parse(url: &Url, path: &Path, text: String) -> Result<ParsedSource, JsErrorBox> {
    let media = match MediaType::from_path(path) {
        // Any extension may be configured for tools; unknown ones are TypeScript.
        MediaType::Unknown => MediaType::TypeScript,
        media => media,
    };
    let parse = |text: Arc<str>| parse_as(url, media, text);
    let parsed = parse(text.into()).map_err(|error| syntax_error(path, &error))?;
    if let Some(fatal) = parsed.diagnostics().first() {
        return Err(syntax_error(path, fatal));
    }
    match rewrite::rewritten(&parsed) {
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

/// Shows literals as written. The parser's form is `'string literal ("y", "y")'` for `'"y"'`.
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

/// Returns the module system of a parsed file. Its syntax takes precedence over `package.json`:
/// published tools are beside one with "commonjs" and are ES modules all the same (spec omp-usage
/// 10.3).
fn form_of(path: &Path, parsed: &ParsedSource, node: &NodeServices) -> Form {
    let media = MediaType::from_path(path);
    if matches!(media, MediaType::Mjs | MediaType::Mts) || is_es_module(parsed) {
        return Form::Module;
    }
    if matches!(media, MediaType::Cjs | MediaType::Cts) {
        return Form::CommonJs;
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

/// Returns true if the file has syntax that only ES modules have.
fn is_es_module(parsed: &ParsedSource) -> bool {
    let ProgramRef::Module(module) = parsed.program_ref() else {
        return false;
    };
    let mut only_typescript = false;
    for item in &module.body {
        let ast::ModuleItem::ModuleDecl(declaration) = item else {
            continue;
        };
        match declaration {
            // Syntax that only TypeScript has does not make an ES module.
            ast::ModuleDecl::TsImportEquals(import) if !import.is_export => only_typescript = true,
            ast::ModuleDecl::TsExportAssignment(_) | ast::ModuleDecl::TsNamespaceExport(_) => {
                only_typescript = true;
            }
            ast::ModuleDecl::Import(import) if import.type_only => only_typescript = true,
            _ => return true,
        }
    }
    // Otherwise `import.meta` or a top-level `await` made it a module. But the parser takes every
    // `.cts` file for a module.
    !only_typescript && parsed.media_type() != MediaType::Cts
}

/// Returns true if the file has an export of ES modules.
fn has_exports(parsed: &ParsedSource) -> bool {
    let ProgramRef::Module(module) = parsed.program_ref() else {
        return false;
    };
    module.body.iter().any(|item| {
        let ast::ModuleItem::ModuleDecl(declaration) = item else {
            return false;
        };
        match declaration {
            ast::ModuleDecl::Import(_) | ast::ModuleDecl::TsNamespaceExport(_) => false,
            ast::ModuleDecl::TsImportEquals(import) => import.is_export,
            _ => true,
        }
    })
}

struct Transformed {
    code: String,
    source_map: Option<Vec<u8>>,
    /// The CommonJS names that the file uses and does not declare.
    used: globals::Used,
    /// Set if it is an ES module by its imports, and its exports are in `module.exports`.
    exports_commonjs: bool,
    /// Set if it names the global `Deno`, which is hidden from it.
    hides_deno: bool,
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
    let used = match form {
        Form::Module => globals::used(&parsed),
        Form::CommonJs => globals::Used::new(),
    };
    let hides_deno = form == Form::Module && globals::is_deno_hidden(&parsed);
    let exports_commonjs = used.contains("module") && !has_exports(&parsed);
    let text = parsed.text().clone();
    let plain = !needs_transform(parsed.media_type()) && !text.contains('@');
    if plain && !(form == Form::Module && wants_meta(&text)) {
        return Ok(Transformed {
            code: text.to_string(),
            source_map: None,
            used,
            exports_commonjs,
            hides_deno,
        });
    }
    let emitted = parsed
        .transpile(
            &transpile_options(config, &text),
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
        .map_err(|error| {
            // The message contains the file's name, and is repeated with a frame of the code.
            let message = error.to_string();
            let message = message.split(" at file:").next().unwrap_or_default();
            syntax_box(format!("{message} ({}:1:1)", path.display()))
        })?
        .into_source();
    Ok(Transformed {
        code: emitted.text,
        source_map: emitted.source_map.map(String::into_bytes),
        used,
        exports_commonjs,
        hides_deno,
    })
}

fn transpile_options(config: Option<&TsConfig>, text: &str) -> TranspileOptions {
    let default = TsConfig::default();
    let config = config.unwrap_or(&default);
    // `/** @jsx h */` names a function, which only the classic runtime has.
    let pragmas = ["@jsx ", "@jsxFrag ", "@jsxRuntime classic"];
    let is_classic = config.jsx_classic || pragmas.iter().any(|pragma| text.contains(pragma));
    TranspileOptions {
        decorators: if config.legacy_decorators {
            DecoratorsTranspileOption::LegacyTypeScript {
                emit_metadata: config.decorator_metadata,
            }
        } else {
            DecoratorsTranspileOption::Ecma
        },
        jsx: Some(if is_classic {
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

/// Adds the features of Bun's modules that V8 lacks.
fn finish_module(transformed: Transformed, url: &Url) -> Prepared {
    let Transformed {
        mut code,
        mut source_map,
        used,
        exports_commonjs,
        hides_deno,
    } = transformed;
    if wants_meta(&code) {
        // A `#!` line is one only at the beginning of the code.
        if code.starts_with("#!") {
            code.replace_range(..2, "//");
        }
        code.insert_str(0, META_PREFIX);
        source_map = source_map.map(shifted_by_one_line);
    }
    if let Some(import) = globals::import_for(&used, url) {
        code.push_str(&import);
    }
    if exports_commonjs {
        code.push_str(COMMONJS_EXPORTS);
    }
    if hides_deno {
        code.push_str(globals::WITHOUT_DENO);
    }
    Prepared {
        code,
        source_map,
        form: Form::Module,
    }
}

/// Exports the value of `module.exports` of a file with imports, as TypeScript's `export =` does.
/// `require` uses the second name for the value of the module.
const COMMONJS_EXPORTS: &str = "const __haftExports = module.exports;\n\
     export { __haftExports as default, __haftExports as \"module.exports\" };\n";

/// Bun's members of `import.meta`; V8 adds the standard ones.
const META_PREFIX: &str = "import.meta.dir ??= import.meta.dirname; \
     import.meta.path ??= import.meta.filename; \
     import.meta.file ??= import.meta.filename?.split(\"/\").at(-1); \
     import.meta.env ??= globalThis.process?.env;\n";

fn wants_meta(code: &str) -> bool {
    code.contains("import.meta")
}

/// Shifts a source map by one line. Every `;` in `mappings` starts a generated line.
fn shifted_by_one_line(map: Vec<u8>) -> Vec<u8> {
    const KEY: &str = "\"mappings\":\"";
    match String::from_utf8(map) {
        Ok(text) => text.replacen(KEY, &format!("{KEY};"), 1).into_bytes(),
        Err(error) => error.into_bytes(),
    }
}
