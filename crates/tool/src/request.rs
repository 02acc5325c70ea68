//! Permissions that a tool asks for in its own files, read without running it.
//!
//! A request only narrows: a tool has what the user grants and what it asks for. So a request is
//! never a reason to grant anything.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Permission, PermissionKind, PermissionProfile, PermissionSource, Problem};

/// Kinds that a request contains, with what it asks for.
pub type RequestedKinds = BTreeMap<PermissionKind, Permission>;

/// Request of a tool for permissions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// The file that contains the request.
    pub file: String,
    /// 1-based line; 0 if it is unknown.
    #[serde(default)]
    pub line: u32,
    /// The requested kinds, or the reason for which they cannot be read.
    pub kinds: Result<RequestedKinds, String>,
    /// Permissions in the words of another system, which haft shows as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
}

/// Kinds of Deno's notation that haft does not have. They are ignored.
const FOREIGN_KINDS: &[&str] = &["hrtime"];

/// Parses the value of `permissions` in a module or in a `package.json`: an object whose keys are
/// kinds, in Deno's notation or in that of haft's configuration.
///
/// # Errors
/// A description of the part that is invalid.
pub fn requested_kinds(value: &Value) -> Result<RequestedKinds, String> {
    let Value::Object(keys) = value else {
        return Err("it is not an object".to_owned());
    };
    let mut kinds = RequestedKinds::new();
    for (key, value) in keys {
        let Some(kind) = PermissionKind::from_name(key) else {
            if FOREIGN_KINDS.contains(&key.as_str()) {
                continue;
            }
            return Err(format!("`{key}` is not a kind of permission"));
        };
        let requested = match value {
            Value::String(text) if text == "inherit" => Permission::All,
            other => serde_json::from_value(other.clone())
                .map_err(|error| format!("`{key}`: {error}"))?,
        };
        kinds.insert(kind, requested);
    }
    Ok(kinds)
}

/// Access that a tool asks for or lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedAccess {
    /// Its kind.
    pub kind: PermissionKind,
    /// A path, a host or a name; everything of the kind if it is empty.
    pub what: String,
}

/// Writes the access as `haft permit` takes it: `read=/data`.
impl std::fmt::Display for RequestedAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.what.as_str() {
            "" => self.kind.fmt(f),
            what => write!(f, "{}={what}", self.kind),
        }
    }
}

/// Returns the access that a permission in CYCOD's words is about: `network:external:example.org`.
pub fn access_of_text(text: &str) -> Option<RequestedAccess> {
    let mut parts = text.splitn(3, ':');
    let kind = match (parts.next()?, parts.next()) {
        ("filesystem", Some("read")) => PermissionKind::Read,
        ("filesystem", _) => PermissionKind::Write,
        ("network", _) => PermissionKind::Net,
        _ => return None,
    };
    let what = parts.next().unwrap_or_default().to_owned();
    Some(RequestedAccess { kind, what })
}

impl PermissionRequest {
    /// Returns the permissions that the request leaves, for [`PermissionProfile::narrowed`]. A kind
    /// that it does not contain is not requested. `None` if it cannot be read, and for texts of
    /// another system, which the family of the tool compares with the permissions itself.
    pub fn bounds(&self) -> Option<PermissionProfile> {
        let kinds = self.kinds.as_ref().ok().filter(|_| self.texts.is_empty())?;
        let mut bounds = PermissionProfile::everything();
        for kind in PermissionKind::ALL {
            // haft imports files only, so a request says nothing with `import`.
            let requested = match kinds.get(&kind) {
                Some(requested) => requested.clone(),
                None if kind == PermissionKind::Import => continue,
                None => Permission::None,
            };
            let source = PermissionSource::Request(self.file.clone());
            bounds.set(kind, requested, source);
        }
        Some(bounds)
    }

    /// Returns the problem of a request that cannot be read.
    pub fn problem(&self) -> Option<Problem> {
        let why = self.kinds.as_ref().err()?;
        let text = format!("the tool asks for permissions that cannot be read: {why}");
        let mut problem = Problem::warning(text).at(&self.file).hint(
            "write `permissions` as an object of literals; until then the request does not count",
        );
        problem.line = (self.line > 0).then_some(self.line);
        Some(problem)
    }

    /// Returns the requested accesses.
    pub fn accesses(&self) -> Vec<RequestedAccess> {
        let kinds = self.kinds.as_ref().into_iter().flatten();
        let by_kind = kinds.flat_map(|(kind, requested)| {
            let entries = match requested {
                Permission::None => Vec::new(),
                Permission::All => vec![String::new()],
                other => other.allowed().unwrap_or_default().to_vec(),
            };
            let kind = *kind;
            let of_entry = move |what| RequestedAccess { kind, what };
            entries.into_iter().map(of_entry)
        });
        let by_text = self.texts.iter().filter_map(|text| access_of_text(text));
        by_kind.chain(by_text).collect()
    }

    /// Returns one line for each requested kind: its name, and what is requested.
    pub fn lines(&self) -> Vec<String> {
        let kinds = self.kinds.as_ref().into_iter().flatten();
        let kinds = kinds.filter(|(_, requested)| **requested != Permission::None);
        let kinds = kinds.map(|(kind, requested)| format!("{kind}: {}", requested.plain()));
        kinds.chain(self.texts.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(value: &Value) -> PermissionRequest {
        PermissionRequest {
            file: "tool.ts".to_owned(),
            line: 1,
            kinds: requested_kinds(value),
            texts: Vec::new(),
        }
    }

    #[test]
    fn a_request_narrows_and_never_widens() {
        let asked = request(&json!({"read": ["/work"], "net": true, "env": "inherit"}));
        let mut granted = PermissionProfile::everything();
        let file = PermissionSource::File("config.yaml".to_owned());
        granted.set(
            PermissionKind::Net,
            Permission::List(vec!["example.com".to_owned()]),
            file,
        );
        granted.askable = Some(Box::new(PermissionProfile::everything()));
        let rights = granted.narrowed(&asked.bounds().expect("it can be read"));
        let askable = rights.askable.as_ref().expect("it stays");
        assert!(askable.grants(PermissionKind::Net, "example.org"));
        assert!(
            !askable.grants(PermissionKind::Run, "git"),
            "it is not requested"
        );
        assert_eq!(rights.read, Permission::List(vec!["/work".to_owned()]));
        assert_eq!(rights.net, granted.net, "a request grants nothing");
        assert_eq!(rights.env, Permission::All);
        assert_eq!(rights.run, Permission::None, "it is not requested");
        assert_eq!(rights.import, Permission::All);
        assert_eq!(
            rights.refusal(PermissionKind::Run, "git"),
            "`run` access to `git` is not permitted: the tool asks for `run` of `none` only, in \
             tool.ts\nhint: its author adds `git` to `permissions.run` in tool.ts"
        );
    }

    #[test]
    fn an_invalid_request_says_why_and_does_not_narrow() {
        for (value, why) in [
            (json!(true), "it is not an object"),
            (json!({"disk": true}), "`disk` is not a kind of permission"),
            (
                json!({"read": 3}),
                "`read`: invalid type: integer `3`, expected `all`, `none` or a list of names (or \
                 `{allow: …, deny: [names]}`)",
            ),
        ] {
            let asked = request(&value);
            assert_eq!(asked.kinds, Err(why.to_owned()));
            assert_eq!(asked.bounds(), None);
            let problem = asked.problem().expect("a warning");
            assert_eq!(
                problem.message,
                format!("the tool asks for permissions that cannot be read: {why}")
            );
        }
        assert!(requested_kinds(&json!({"hrtime": true})).is_ok_and(|kinds| kinds.is_empty()));
    }
}
