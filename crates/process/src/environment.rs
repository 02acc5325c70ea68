//! Environment variables of a child: a base, then changes by name.
//!
//! Each tool family chooses the names that it passes on. The tokens of haft itself are never passed
//! on. An allowed name that is not set stays unset; it does not become empty.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// Environment of a child. The changes are applied after the base, so they work with every kind of
/// base.
#[derive(Debug, Clone)]
pub struct Environment {
    base: Base,
    changes: BTreeMap<OsString, Option<OsString>>,
}

#[derive(Debug, Clone)]
enum Base {
    Inherited,
    Only(Vec<OsString>),
    Empty,
}

impl Environment {
    /// Inherits all variables of this process.
    pub fn inherit() -> Self {
        Self::from_base(Base::Inherited)
    }

    /// Inherits only the variables with these names.
    pub fn allow<N: Into<OsString>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::from_base(Base::Only(names.into_iter().map(Into::into).collect()))
    }

    /// Inherits nothing; the child gets only these variables.
    pub fn explicit<N: Into<OsString>, V: Into<OsString>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        variables
            .into_iter()
            .fold(Self::from_base(Base::Empty), |env, (name, value)| {
                env.with(name, value)
            })
    }

    /// Returns the environment with one variable set.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.changes.insert(name.into(), Some(value.into()));
        self
    }

    /// Returns the environment with one variable removed.
    #[must_use]
    pub fn without(mut self, name: impl Into<OsString>) -> Self {
        self.changes.insert(name.into(), None);
        self
    }

    /// Returns the values of the variables that are set besides those of the base.
    pub fn set_values(&self) -> impl Iterator<Item = &OsStr> {
        self.changes.values().filter_map(|value| value.as_deref())
    }

    /// Sets a variable, unless it was set or removed by name.
    pub(super) fn set_default(&mut self, name: &str, value: String) {
        let change = self.changes.entry(name.into());
        change.or_insert_with(|| Some(value.into()));
    }

    fn from_base(base: Base) -> Self {
        Self {
            base,
            changes: BTreeMap::new(),
        }
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "what a child inherits is read when it starts, and nowhere else"
    )]
    /// Returns the variables. `shows` decides which of ours the child sees.
    pub(super) fn resolve(&self, shows: impl Fn(&OsStr) -> bool) -> Resolved {
        let mut variables: BTreeMap<OsString, OsString> = match &self.base {
            Base::Inherited => std::env::vars_os()
                .filter(|(name, _)| !is_token(name))
                .collect(),
            Base::Only(names) => names
                .iter()
                .filter(|name| !is_token(name))
                .filter_map(|name| Some((name.clone(), std::env::var_os(name)?)))
                .collect(),
            Base::Empty => BTreeMap::new(),
        };
        variables.retain(|name, _| shows(name));
        for (name, value) in &self.changes {
            match value {
                Some(value) => variables.insert(name.clone(), value.clone()),
                None => variables.remove(name),
            };
        }
        Resolved(variables)
    }
}

/// Returns the value that a child would inherit for `name`, if it is set and is valid UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "what a child inherits is read when it starts, and nowhere else"
)]
pub fn inherited(name: &str) -> Option<String> {
    // `std::env::var` would panic on these names.
    if name.is_empty() || name.contains(['=', '\0']) || is_token(OsStr::new(name)) {
        return None;
    }
    std::env::var(name).ok()
}

/// Returns true if the variable holds a token of haft's own servers. With the token a child could
/// make calls that its caller may not make.
pub fn is_token(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let mut windows = bytes.windows(b"TOKEN".len());
    bytes.starts_with(b"HAFT_") && windows.any(|window| window == b"TOKEN")
}

/// The variables of one child, with all changes applied.
pub(super) struct Resolved(BTreeMap<OsString, OsString>);

impl Resolved {
    pub(super) fn path(&self) -> Option<&OsStr> {
        self.0.get(OsStr::new("PATH")).map(OsString::as_os_str)
    }

    /// Sets variables to the same value.
    pub(super) fn set_all(&mut self, names: &[&str], value: &OsStr) {
        self.extend(names.iter().map(|name| (name.into(), value.to_owned())));
    }

    /// Sets variables.
    pub(super) fn extend(&mut self, pairs: impl IntoIterator<Item = (OsString, OsString)>) {
        self.0.extend(pairs);
    }

    /// Returns the names. The flag is true if the variable has the same value in this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "what a child inherits is read when it starts, and nowhere else"
    )]
    pub(super) fn names(&self) -> impl Iterator<Item = (&OsStr, bool)> {
        let pairs = self.0.iter();
        pairs.map(|(name, value)| {
            let is_ours = std::env::var_os(name).as_ref() == Some(value);
            (name.as_os_str(), is_ours)
        })
    }

    pub(super) fn into_pairs(self) -> impl Iterator<Item = (OsString, OsString)> {
        self.0.into_iter()
    }
}
