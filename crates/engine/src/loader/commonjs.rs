//! Import of CommonJS through an ES module with the names that the CommonJS code exports.
//!
//! The names are found by reading the code, as in Node. Other exports are reachable through the
//! default export.

use std::borrow::Cow;

use deno_ast::{MediaType, ParseParams};
use deno_core::url::Url;
use deno_error::JsErrorBox;
use node_resolver::DenoIsBuiltInNodeModuleChecker;
use node_resolver::analyze::{
    CjsAnalysis, CjsAnalysisExports, CjsCodeAnalyzer, CjsModuleExportAnalyzer, EsmAnalysisMode,
    NodeCodeTranslator, NodeCodeTranslatorMode,
};

use super::cache_entry::Kept;
use super::deep_stack::stack_of;
use super::files;
use super::node::NodeServices;
use crate::transpile_cache::Kind;
use crate::verify::Verifier;

/// Returns the ES module for the CommonJS file at `url`, whose JavaScript is `code`.
pub(super) async fn module_facade(
    node: &NodeServices,
    url: &Url,
    code: String,
) -> Result<String, JsErrorBox> {
    let analyzer = CjsModuleExportAnalyzer::new(
        Analyzer { node },
        node.checker.clone(),
        node.resolver.clone(),
        node.folders.clone(),
        node.manifests.clone(),
        node.sys(),
    );
    let translator = NodeCodeTranslator::<_, _, DenoIsBuiltInNodeModuleChecker, _, _>::new(
        deno_runtime::deno_fs::sync::new_rc(analyzer),
        NodeCodeTranslatorMode::ModuleLoader,
    );
    let facade = translator
        .translate_cjs_to_esm(url, Some(Cow::Owned(code)))
        .await
        .map_err(|error| JsErrorBox::generic(error.to_string()))?;
    Ok(if node.is_in_module_package(url) {
        facade.into_owned()
    } else {
        facade.replacen(NODE_DEFAULT, BUN_DEFAULT, 1)
    })
}

/// Node's default export of the facade: `module.exports`.
const NODE_DEFAULT: &str = "export default mod;\n";

/// Bun's default export: code that was compiled from an ES module is marked, and its default is
/// that module's. Not used in packages of `"type": "module"`, where Bun follows Node.
const BUN_DEFAULT: &str = "export default (typeof mod === \"object\" || typeof mod === \"function\") \
     && mod?.__esModule && \"default\" in mod ? mod.default : mod;\n";

struct Analyzer<'a> {
    node: &'a NodeServices,
}

/// Cached result of an analysis: exports and re-exports of CommonJS; `None` for an ES module.
type Names = Option<(Vec<String>, Vec<String>)>;

#[async_trait::async_trait(?Send)]
impl CjsCodeAnalyzer for Analyzer<'_> {
    async fn analyze_cjs<'a>(
        &self,
        specifier: &Url,
        maybe_source: Option<Cow<'a, str>>,
        _mode: EsmAnalysisMode,
    ) -> Result<CjsAnalysis<'a>, JsErrorBox> {
        let source = match maybe_source {
            Some(source) => source,
            None => Cow::Owned(read(specifier, self.node.verifier())?),
        };
        let place = || [blake3::hash(source.as_bytes()).as_bytes().to_vec()];
        let place = self.node.place(Kind::Names, source.len(), place);
        let known = place.as_ref().and_then(Kept::find::<Names>);
        let names = known.unwrap_or_else(|| {
            let names = match stack_of(&source) {
                Ok(stack) => stacker::maybe_grow(stack, stack, || names(specifier, &source)),
                // Reported when the code runs, like code that does not parse.
                Err(_) => Some(Default::default()),
            };
            if let Some(place) = &place {
                place.keep(&names);
            }
            names
        });
        Ok(match names {
            Some((exports, reexports)) => CjsAnalysis::Cjs(CjsAnalysisExports {
                exports,
                reexports,
                member_reexports: Vec::new(),
            }),
            None => CjsAnalysis::Esm(source, None),
        })
    }

    async fn analyze_cjs_member_props<'a>(
        &self,
        _specifier: &Url,
        _source: Option<Cow<'a, str>>,
        _member: &str,
    ) -> Result<Option<Vec<String>>, JsErrorBox> {
        Ok(None)
    }
}

fn names(specifier: &Url, source: &str) -> Names {
    let Some(parsed) = parse(specifier, source) else {
        // Code that does not parse is reported when it runs; here it only has no names.
        return Some(Default::default());
    };
    let found = parsed.compute_is_script().then(|| parsed.analyze_cjs())?;
    Some((found.exports, found.reexports))
}

fn read(specifier: &Url, verifier: Option<&Verifier>) -> Result<String, JsErrorBox> {
    let path = specifier
        .to_file_path()
        .map_err(|()| JsErrorBox::generic(format!("'{specifier}' is not a file")))?;
    files::read_text(&path, verifier)
}

fn parse(specifier: &Url, source: &str) -> Option<deno_ast::ParsedSource> {
    deno_ast::parse_program(ParseParams {
        specifier: specifier.clone(),
        text: source.into(),
        media_type: MediaType::Cjs,
        capture_tokens: false,
        scope_analysis: false,
        maybe_syntax: None,
    })
    .ok()
}
