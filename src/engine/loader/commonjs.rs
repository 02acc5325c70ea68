//! Importing CommonJS: an ES module in front of it, with the names that its code exports.
//!
//! Names are found as Node finds them, by reading the code; what cannot be found is still on
//! the default export.

use std::borrow::Cow;

use deno_ast::{MediaType, ParseParams};
use deno_core::url::Url;
use deno_error::JsErrorBox;
use node_resolver::DenoIsBuiltInNodeModuleChecker;
use node_resolver::analyze::{
    CjsAnalysis, CjsAnalysisExports, CjsCodeAnalyzer, CjsModuleExportAnalyzer, EsmAnalysisMode,
    NodeCodeTranslator, NodeCodeTranslatorMode,
};

use super::files;
use super::node::NodeServices;
use super::room::with_room;

/// The ES module that stands for the CommonJS file at `url`, whose JavaScript is `code`.
pub(super) async fn module_facade(
    node: &NodeServices,
    url: &Url,
    code: String,
) -> Result<String, JsErrorBox> {
    let analyzer = CjsModuleExportAnalyzer::new(
        Analyzer,
        node.checker.clone(),
        node.resolver.clone(),
        node.folders.clone(),
        node.manifests.clone(),
        super::Sys::default(),
    );
    let translator = NodeCodeTranslator::<_, _, DenoIsBuiltInNodeModuleChecker, _, _>::new(
        deno_runtime::deno_fs::sync::new_rc(analyzer),
        NodeCodeTranslatorMode::ModuleLoader,
    );
    translator
        .translate_cjs_to_esm(url, Some(Cow::Owned(code)))
        .await
        .map(Cow::into_owned)
        .map_err(|error| JsErrorBox::generic(error.to_string()))
}

struct Analyzer;

#[async_trait::async_trait(?Send)]
impl CjsCodeAnalyzer for Analyzer {
    async fn analyze_cjs<'a>(
        &self,
        specifier: &Url,
        maybe_source: Option<Cow<'a, str>>,
        _mode: EsmAnalysisMode,
    ) -> Result<CjsAnalysis<'a>, JsErrorBox> {
        let source = match maybe_source {
            Some(source) => source,
            None => Cow::Owned(read(specifier)?),
        };
        let found = with_room(source.len(), || {
            let Some(parsed) = parse(specifier, &source) else {
                // What does not parse is reported when it runs; here it only has no names.
                return Some(no_names());
            };
            let found = parsed.compute_is_script().then(|| parsed.analyze_cjs())?;
            Some(CjsAnalysisExports {
                exports: found.exports,
                reexports: found.reexports,
                ..no_names()
            })
        });
        Ok(match found {
            Some(exports) => CjsAnalysis::Cjs(exports),
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

fn no_names() -> CjsAnalysisExports {
    CjsAnalysisExports {
        exports: Vec::new(),
        reexports: Vec::new(),
        member_reexports: Vec::new(),
    }
}

fn read(specifier: &Url) -> Result<String, JsErrorBox> {
    let path = specifier
        .to_file_path()
        .map_err(|()| JsErrorBox::generic(format!("'{specifier}' is not a file")))?;
    files::read_text(&path)
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
