//! Selection of the tools that a client sees: tool sets and include patterns, minus exclude patterns.

use std::collections::BTreeMap;

use haft_tool::{CallerScope, Error, ErrorKind, ToolNames};

// The texts are the help of the flags.
/// Selection arguments of the user, as typed.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Wanted {
    /// Offer the tools of this set of the configuration (may be repeated)
    #[arg(long = "toolset", value_name = "NAME")]
    pub(crate) toolsets: Vec<String>,

    /// Offer only tools whose names match (may be repeated)
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,

    /// Do not offer tools whose names match (may be repeated)
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
}

impl Wanted {
    /// Returns the scope of clients that see these tools. Tool sets are combined; `include` narrows the
    /// combination.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an unknown tool set and for an invalid glob.
    pub(crate) fn scope(
        &self,
        known: &BTreeMap<String, Vec<String>>,
    ) -> Result<CallerScope, Error> {
        let mut scope = CallerScope::user();
        if !self.toolsets.is_empty() {
            let mut globs = Vec::new();
            for name in &self.toolsets {
                globs.extend_from_slice(known.get(name).ok_or_else(|| no_such_set(name, known))?);
            }
            if globs.iter().all(|glob| glob.starts_with('!')) {
                // A set without a tool has none, and not all others.
                globs.push(NO_TOOL.to_owned());
            }
            scope = scope.with_tools(tool_names(globs)?);
        }
        if !self.include.is_empty() {
            let globs = self.include.iter().map(|glob| literal(glob)).collect();
            scope = scope.with_tools(tool_names(globs)?);
        }
        if !self.exclude.is_empty() {
            let globs = self
                .exclude
                .iter()
                .map(|glob| format!("!{}", literal(glob)));
            scope = scope.with_tools(tool_names(globs.collect())?);
        }
        Ok(scope)
    }
}

/// Pattern that excludes every name.
const NO_TOOL: &str = "!*";

/// Returns a glob in which a `!` at the beginning is a character of the name.
fn literal(glob: &str) -> String {
    match glob.strip_prefix('!') {
        Some(rest) => format!("{{!}}{rest}"),
        None => glob.to_owned(),
    }
}

fn tool_names(globs: Vec<String>) -> Result<ToolNames, Error> {
    ToolNames::new(globs).map_err(|error| {
        error.with_hint("a pattern is a name with `*`, `?`, `[abc]` or `{one,two}` in it")
    })
}

fn no_such_set(name: &str, known: &BTreeMap<String, Vec<String>>) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("there is no toolset `{name}`"));
    if known.is_empty() {
        return error.with_hint("`toolsets: {name: [\"glob\"]}` in config.yaml makes one");
    }
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    error.with_hint(format!("the configuration has: {}", names.join(", ")))
}
