//! Tool names that every provider accepts: 1 to 64 of `A-Z a-z 0-9 _ -`, without a digit or dash at
//! the start.
//!
//! MCP allows more, but an MCP client passes the tool's name to its provider unchanged. So every
//! other name gets an alias. The alias of a name stays the same unless another tool claims it.

use std::collections::{BTreeMap, HashMap, HashSet};

/// Limit of a name, in characters.
pub const MAX_NAME_CHARS: usize = 64;

/// Number of hexadecimal digits that make an alias unique.
const DIGITS: usize = 8;

/// Aliases of the tools of a catalog.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Aliases by tool name. Most tools have none.
    aliases: BTreeMap<String, String>,
    names: HashMap<String, String>,
}

impl Names {
    /// Creates an alias for each name that needs one.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        let names: Vec<&str> = names.into_iter().collect();
        let mut taken: HashSet<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut found = Names::default();
        // Sorted, so that the order of the tools does not decide which of them gets the plain
        // alias.
        let mut unsafe_names: Vec<&str> = names;
        unsafe_names.retain(|name| !is_safe(name));
        unsafe_names.sort_unstable();
        unsafe_names.dedup();
        for name in unsafe_names {
            let plain = plain(name);
            let alias = if plain.len() <= MAX_NAME_CHARS && !taken.contains(&plain) {
                plain
            } else {
                marked(&plain, name)
            };
            taken.insert(alias.clone());
            found.names.insert(alias.clone(), name.to_owned());
            found.aliases.insert(name.to_owned(), alias);
        }
        found
    }

    /// Returns the name under which the tool is offered.
    pub fn offered<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// Returns the tool that is offered under this name.
    pub fn meant<'a>(&'a self, offered: &'a str) -> &'a str {
        self.names.get(offered).map_or(offered, String::as_str)
    }

    /// Returns every tool with an alias, and the alias, in the order of the tools' names.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        let aliases = self.aliases.iter();
        aliases.map(|(name, alias)| (name.as_str(), alias.as_str()))
    }
}

/// Returns true if every provider accepts the name.
pub fn is_safe(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.len() <= MAX_NAME_CHARS && name.starts_with(is_start) && name.chars().all(is_allowed)
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Returns the name with `_` for each run of characters that are not allowed.
pub(super) fn plain(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        match is_allowed(c) {
            true => plain.push(c),
            false if !plain.ends_with('_') => plain.push('_'),
            false => {}
        }
    }
    if !plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        plain.insert(0, '_');
    }
    plain
}

/// Returns the start of `plain` with a digest of `name`, which distinguishes it from all other
/// names.
pub(super) fn marked(plain: &str, name: &str) -> String {
    let digest = blake3::hash(name.as_bytes()).to_hex();
    let start = &plain[..plain.len().min(MAX_NAME_CHARS - DIGITS - 1)];
    format!("{}_{}", start.trim_end_matches('_'), &digest[..DIGITS])
}
