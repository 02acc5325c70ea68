//! Which tools are offered: those of named sets, what is included, never what is excluded.

use std::collections::BTreeMap;

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::error::{Error, ErrorKind};

/// What the user asked to offer, as typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Names of sets of the configuration.
    pub(crate) toolsets: Vec<String>,
    /// Globs of names.
    pub(crate) include: Vec<String>,
    /// Globs of names.
    pub(crate) exclude: Vec<String>,
}

/// Decides for each name. What is not taken can neither be seen nor called.
#[derive(Debug)]
pub(crate) struct Selection {
    /// `None`: all of them.
    toolsets: Option<GlobSet>,
    included: Option<GlobSet>,
    excluded: GlobSet,
}

impl Selection {
    /// Every tool.
    pub(crate) fn all() -> Selection {
        Selection {
            toolsets: None,
            included: None,
            excluded: GlobSet::empty(),
        }
    }

    /// Sets add up; `include` narrows what they hold.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a set that does not exist and a glob that is none.
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
            toolsets: match wanted.toolsets.is_empty() {
                true => None,
                false => Some(compiled(&of_sets)?),
            },
            included: match included.is_empty() {
                true => None,
                false => Some(compiled(&included)?),
            },
            excluded: compiled(&excluded)?,
        })
    }

    /// Whether the tool of this name is offered.
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
    let text = format!("`{glob}` is no pattern of tool names: {}", error.kind());
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
