//! Selection of the tools that a client sees: tool sets and include patterns, minus exclude patterns.

use std::collections::BTreeMap;

use globset::{Glob, GlobSet, GlobSetBuilder};

use haft_tool::{Error, ErrorKind};

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

/// Compiled selection. A tool that is not selected can neither be listed nor called.
#[derive(Debug)]
pub(crate) struct Selection {
    /// The globs of the tool sets. `None`: all tools.
    toolsets: Option<GlobSet>,
    included: Option<GlobSet>,
    excluded: GlobSet,
}

impl Selection {
    /// Selects every tool.
    pub(crate) fn all() -> Selection {
        Selection {
            toolsets: None,
            included: None,
            excluded: GlobSet::empty(),
        }
    }

    /// Returns true if every tool is selected.
    pub(crate) fn is_all(&self) -> bool {
        self.toolsets.is_none() && self.included.is_none() && self.excluded.is_empty()
    }

    /// Compiles a selection. Tool sets are combined; `include` narrows the combination.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an unknown tool set and for an invalid glob.
    pub(crate) fn new(
        known: &BTreeMap<String, Vec<String>>,
        wanted: &Wanted,
    ) -> Result<Selection, Error> {
        let mut excluded: Vec<&str> = wanted.exclude.iter().map(String::as_str).collect();
        let mut of_sets = Vec::new();
        for name in &wanted.toolsets {
            let globs = known.get(name).ok_or_else(|| no_such_set(name, known))?;
            for glob in globs {
                match glob.strip_prefix('!') {
                    Some(glob) => excluded.push(glob),
                    None => of_sets.push(glob.as_str()),
                }
            }
        }
        let included: Vec<&str> = wanted.include.iter().map(String::as_str).collect();
        Ok(Selection {
            toolsets: if wanted.toolsets.is_empty() {
                None
            } else {
                Some(compiled(&of_sets)?)
            },
            included: if included.is_empty() {
                None
            } else {
                Some(compiled(&included)?)
            },
            excluded: compiled(&excluded)?,
        })
    }

    /// Returns true if the tool of this name is selected.
    pub(crate) fn takes(&self, name: &str) -> bool {
        let is_in = |set: &Option<GlobSet>| set.as_ref().is_none_or(|set| set.is_match(name));
        is_in(&self.toolsets) && is_in(&self.included) && !self.excluded.is_match(name)
    }
}

fn compiled(globs: &[&str]) -> Result<GlobSet, Error> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(Glob::new(glob).map_err(|error| bad_glob(glob, &error))?);
    }
    set.build().map_err(|error| bad_glob("", &error))
}

fn bad_glob(glob: &str, error: &globset::Error) -> Error {
    let text = format!("`{glob}` is not a pattern of tool names: {}", error.kind());
    Error::new(ErrorKind::Usage, text)
        .with_hint("a pattern is a name with `*`, `?`, `[abc]` or `{one,two}` in it")
}

fn no_such_set(name: &str, known: &BTreeMap<String, Vec<String>>) -> Error {
    let error = Error::new(ErrorKind::Usage, format!("there is no toolset `{name}`"));
    if known.is_empty() {
        return error.with_hint("`toolsets: {name: [\"glob\"]}` in config.yaml makes one");
    }
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    error.with_hint(format!("the configuration has: {}", names.join(", ")))
}
