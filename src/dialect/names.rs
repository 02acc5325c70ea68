//! Names that every provider takes: 1 to 64 of `A-Z a-z 0-9 _ -`, no digit or dash at the start.
//!
//! MCP allows more, but what an MCP client hands to its provider is the tool's name as it is. So a
//! name outside gets an alias, the same one each time as long as nobody else wants that.

use std::collections::{BTreeMap, HashMap, HashSet};

/// The longest name, in characters.
pub(crate) const LONGEST: usize = 64;

/// How many hexadecimal digits keep two names apart.
const DIGITS: usize = 8;

/// The tools of a catalog by the names that providers take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// A tool's name → its alias. Most tools have none.
    aliases: BTreeMap<String, String>,
    names: HashMap<String, String>,
}

impl Names {
    /// Gives an alias to each name that needs one.
    pub(crate) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        let names: Vec<&str> = names.into_iter().collect();
        let mut taken: HashSet<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut found = Names::default();
        // Sorted, so that who gets the plain alias does not depend on who came first.
        let mut unsafe_names: Vec<&str> = names;
        unsafe_names.retain(|name| !is_safe(name));
        unsafe_names.sort_unstable();
        unsafe_names.dedup();
        for name in unsafe_names {
            let plain = plain(name);
            let alias = match plain.len() <= LONGEST && !taken.contains(&plain) {
                true => plain,
                false => marked(&plain, name),
            };
            taken.insert(alias.clone());
            found.names.insert(alias.clone(), name.to_owned());
            found.aliases.insert(name.to_owned(), alias);
        }
        found
    }

    /// The name under which the tool is offered.
    pub(crate) fn offered<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    /// The tool that is offered under this name.
    pub(crate) fn meant<'a>(&'a self, offered: &'a str) -> &'a str {
        self.names.get(offered).map_or(offered, String::as_str)
    }

    /// Every tool that is offered under another name, with that, in the order of their names.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        let aliases = self.aliases.iter();
        aliases.map(|(name, alias)| (name.as_str(), alias.as_str()))
    }
}

/// True for a name that every provider takes.
pub(crate) fn is_safe(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.len() <= LONGEST && name.starts_with(is_start) && name.chars().all(is_allowed)
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The name with a `_` for each run of what is not allowed.
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

/// The start of `plain`, and what tells it from all other names.
pub(super) fn marked(plain: &str, name: &str) -> String {
    let digest = blake3::hash(name.as_bytes()).to_hex();
    let start = &plain[..plain.len().min(LONGEST - DIGITS - 1)];
    format!("{}_{}", start.trim_end_matches('_'), &digest[..DIGITS])
}
