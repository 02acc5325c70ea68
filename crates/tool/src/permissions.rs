//! Permissions of tools: the access that a tool gets to files, hosts, variables, programs and
//! native code.
//!
//! These types are data: the engine and the families turn a profile into their own checks. Refusals
//! are worded here, so that all of them have one form. Each names the refused access, the key and
//! file that refuse it, and the way to allow it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::host_pattern::HostPattern;
use super::{Problem, Tier};

/// Permissions of tools, with one entry for each kind of access.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PermissionProfile {
    /// Paths that may be read.
    pub read: Permission,
    /// Paths that may be written.
    pub write: Permission,
    /// Hosts (`name` or `name:port`) that may be connected to.
    pub net: Permission,
    /// Environment variables that may be read.
    pub env: Permission,
    /// Programs that may be started.
    pub run: Permission,
    /// Facts about the system (`hostname`, `osRelease`, …) that may be queried.
    pub sys: Permission,
    /// Native libraries and addons that may be loaded.
    pub ffi: Permission,
    /// Hosts that modules may be imported from.
    pub import: Permission,
    /// Permissions that the user may grant when a tool needs them. An access within them is asked
    /// about, and one beyond them refused at once. `None`: the user is never asked.
    pub askable: Option<Box<PermissionProfile>>,
    /// True if every access is recorded, for `haft permit --record`.
    pub is_recorded: bool,
    /// The folder that [`PermissionProfile::with_tmpdir`] put into the lists. Texts for people show
    /// the name instead, because the folder is another one in each run.
    pub tmpdir: Option<String>,
    /// Origins of each kind's permission, for refusals: files, or the tier of the tool. A kind with
    /// the default permission has no entry.
    pub sources: BTreeMap<PermissionKind, Vec<PermissionSource>>,
    /// Granted entries that [`PermissionProfile::resolve_paths`] left out.
    pub left_out: Vec<LeftOutPath>,
    /// Origins of denied entries, where they are not those of the whole kind: the permissions of
    /// several sources were narrowed to what all of them grant.
    pub(crate) denied_by: BTreeMap<PermissionKind, BTreeMap<String, Vec<PermissionSource>>>,
    /// Paths that entries lead to, in the order of the links on the way; see
    /// [`PermissionProfile::resolve_entries`].
    pub(crate) real_paths: BTreeMap<String, Vec<String>>,
}

/// Entry of a permission that grants nothing, because its path cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeftOutPath {
    /// The kind of access.
    pub kind: PermissionKind,
    /// The entry as it would have been granted.
    pub entry: String,
    /// Place in which the entry is written.
    pub sources: Vec<PermissionSource>,
    /// Reason, as a fragment for people.
    pub why: String,
}

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[allow(missing_docs, reason = "see the fields of `PermissionProfile`")]
pub enum PermissionKind {
    Read,
    Write,
    Net,
    Env,
    Run,
    Sys,
    Ffi,
    Import,
}

/// Origin of a permission.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PermissionSource {
    /// The key `permissions` of this configuration file, as the user would write its path.
    File(String),
    /// The program that embeds haft.
    Program,
    /// A grant or refusal of the user for this tool, with `haft permit` or when asked.
    Permit,
    /// The tool's own request, which this file contains.
    Request(String),
    /// The tier of the tool.
    Tier(Tier),
    /// The replay of a test, in which the tool may not reach the outside except through the
    /// recording.
    Replay,
    /// A profile.
    Profile(ProfileSource),
}

/// A profile as the origin of permissions, and the choice of that profile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProfileSource {
    /// The name of the profile.
    pub name: String,
    /// The file that defines it, as the user would write its path; `None`: it is built in.
    pub file: Option<String>,
    /// The key that names it, and the file or variable that has the key. `None`: the default.
    pub chosen_by: Option<(String, String)>,
    /// True if the project's own file names it. A grant of the user does not widen it.
    pub by_project: bool,
}

/// Extent to which one kind of access is granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Everything. The default, because tools written for oh-my-pi expect the rights of their user.
    #[default]
    All,
    /// Nothing.
    None,
    /// The entries of the list.
    List(Vec<String>),
    /// The entries of `allow`, except those of `deny`.
    Except {
        /// Granted entries; `None`: everything.
        allow: Option<Vec<String>>,
        /// Refused entries. They override `allow`.
        deny: Vec<String>,
    },
}

impl Default for PermissionProfile {
    /// Returns all permissions except that for native code, which cannot be restricted once it is
    /// loaded.
    fn default() -> Self {
        PermissionProfile {
            ffi: Permission::None,
            ..PermissionProfile::everything()
        }
    }
}

impl PermissionProfile {
    /// The folder for temporary files in lists of paths: in a sandbox the private one, else that of
    /// the system.
    pub const TMPDIR: &str = "$TMPDIR";

    /// Returns true for the folder for temporary files and paths below it.
    pub fn is_below_tmpdir(entry: &str) -> bool {
        let path = Path::new(entry);
        path.starts_with(Self::TMPDIR) && !leads_up(path)
    }

    /// Returns a profile that grants every kind of access.
    pub fn everything() -> PermissionProfile {
        PermissionProfile {
            read: Permission::All,
            write: Permission::All,
            net: Permission::All,
            env: Permission::All,
            run: Permission::All,
            sys: Permission::All,
            ffi: Permission::All,
            import: Permission::All,
            askable: None,
            is_recorded: false,
            tmpdir: None,
            sources: BTreeMap::new(),
            left_out: Vec::new(),
            denied_by: BTreeMap::new(),
            real_paths: BTreeMap::new(),
        }
    }

    /// Returns the limits on files, hosts and programs on one line: `write [~/site], net none`.
    pub fn summary(&self) -> String {
        let kinds = [
            PermissionKind::Read,
            PermissionKind::Write,
            PermissionKind::Net,
            PermissionKind::Run,
        ];
        let bounded = kinds.into_iter().filter(|kind| self.of(*kind).is_bounded());
        let bounded = bounded.map(|kind| format!("{kind} {}", self.of(kind)).replace('`', ""));
        let bounded: Vec<String> = bounded.collect();
        if bounded.is_empty() {
            "no files, hosts or programs refused".to_owned()
        } else {
            bounded.join(", ")
        }
    }

    /// Returns the permission of that kind.
    pub fn of(&self, kind: PermissionKind) -> &Permission {
        match kind {
            PermissionKind::Read => &self.read,
            PermissionKind::Write => &self.write,
            PermissionKind::Net => &self.net,
            PermissionKind::Env => &self.env,
            PermissionKind::Run => &self.run,
            PermissionKind::Sys => &self.sys,
            PermissionKind::Ffi => &self.ffi,
            PermissionKind::Import => &self.import,
        }
    }

    pub fn of_mut(&mut self, kind: PermissionKind) -> &mut Permission {
        match kind {
            PermissionKind::Read => &mut self.read,
            PermissionKind::Write => &mut self.write,
            PermissionKind::Net => &mut self.net,
            PermissionKind::Env => &mut self.env,
            PermissionKind::Run => &mut self.run,
            PermissionKind::Sys => &mut self.sys,
            PermissionKind::Ffi => &mut self.ffi,
            PermissionKind::Import => &mut self.import,
        }
    }

    /// Returns true if every kind is granted entirely or as in the default profile.
    pub fn grants_defaults(&self) -> bool {
        let default = PermissionProfile::default();
        PermissionKind::ALL
            .iter()
            .all(|kind| self.of(*kind) == &Permission::All || self.of(*kind) == default.of(*kind))
    }

    /// Returns the permissions that both profiles grant. If `other` restricts a kind, its sources
    /// are added to the kind's sources, or take their place if `self` grants everything.
    #[must_use]
    pub fn narrowed(&self, other: &PermissionProfile) -> PermissionProfile {
        let mut narrowed = self.clone();
        narrowed.add_denied_sources(other);
        for kind in PermissionKind::ALL {
            let both = self.of(kind).both(other.of(kind), kind);
            if both != *self.of(kind) {
                let sources = narrowed.sources.entry(kind).or_default();
                if !self.of(kind).is_bounded() {
                    sources.clear();
                }
                add_sources(sources, other, kind);
            }
            *narrowed.of_mut(kind) = both;
        }
        let askable = self.askable.as_ref();
        narrowed.askable = askable.map(|askable| Box::new(askable.narrowed(other)));
        narrowed.add_left_out(other);
        narrowed
    }

    /// Adds the permissions of `other` that this profile does not have.
    #[must_use]
    pub fn widened(&self, other: &PermissionProfile) -> PermissionProfile {
        let mut widened = self.clone();
        widened.add_denied_sources(other);
        for kind in PermissionKind::ALL {
            let either = self.of(kind).either(other.of(kind), kind);
            if either != *self.of(kind) {
                let sources = widened.sources.entry(kind).or_default();
                add_sources(sources, other, kind);
            }
            *widened.of_mut(kind) = either;
        }
        widened.add_left_out(other);
        widened
    }

    fn add_left_out(&mut self, other: &PermissionProfile) {
        for left_out in &other.left_out {
            if !self.left_out.contains(left_out) {
                self.left_out.push(left_out.clone());
            }
        }
    }

    /// Returns true if everything that `other` grants is granted. False where that cannot be told
    /// from the entries alone.
    pub fn contains(&self, other: &PermissionProfile) -> bool {
        let mut kinds = PermissionKind::ALL.into_iter();
        kinds.all(|kind| self.of(kind).contains(other.of(kind), kind))
    }

    /// Finds out where entries lead to. `resolve` returns the paths that an entry of that kind
    /// leads to, without links in the folders: the file itself, and the targets of a link in order.
    /// The denied entries are resolved, since a refusal counts for the target of a link too, and all
    /// entries of `run`, since a program is compared by its file.
    pub fn resolve_entries(&mut self, resolve: &impl Fn(&str) -> Vec<PathBuf>) {
        for kind in PermissionKind::ALL {
            let has_programs = kind == PermissionKind::Run;
            if !has_programs && !kind.has_paths() {
                continue;
            }
            let permission = self.of(kind);
            let allowed = permission.allowed().filter(|_| has_programs);
            let entries = permission
                .denied()
                .iter()
                .chain(allowed.unwrap_or_default());
            let entries: Vec<String> = entries.cloned().collect();
            for entry in entries {
                let real = resolve(&entry).into_iter();
                let real: Vec<String> = real.map(|path| path.display().to_string()).collect();
                let is_as_written = real.len() == 1 && real[0] == entry;
                if !real.is_empty() && !is_as_written {
                    self.real_paths.insert(entry, real);
                }
            }
        }
        if let Some(askable) = &mut self.askable {
            askable.resolve_entries(resolve);
        }
    }

    /// Returns the origins of the permission of that kind.
    pub(crate) fn sources_of(&self, kind: PermissionKind) -> &[PermissionSource] {
        self.sources.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// Returns the origins of a denied entry.
    pub(crate) fn sources_of_denied(
        &self,
        kind: PermissionKind,
        entry: &str,
    ) -> &[PermissionSource] {
        let own = self.denied_by.get(&kind).and_then(|own| own.get(entry));
        own.map_or_else(|| self.sources_of(kind), Vec::as_slice)
    }

    /// Notes who denied the entries of both profiles, before their sources are put together.
    fn add_denied_sources(&mut self, other: &PermissionProfile) {
        for profile in [&self.clone(), other] {
            for kind in PermissionKind::ALL {
                for entry in profile.of(kind).denied() {
                    let sources = profile.sources_of_denied(kind, entry).to_vec();
                    let own = self.denied_by.entry(kind).or_default();
                    own.entry(entry.clone()).or_insert(sources);
                }
            }
            let real = profile.real_paths.clone();
            self.real_paths.extend(real);
        }
    }

    /// Returns the permissions that both profiles grant in a sandbox. There
    /// [`PermissionProfile::TMPDIR`] is a folder of the tool's own, so it stays if one of them names
    /// it.
    #[must_use]
    pub fn narrowed_in_sandbox(&self, other: &PermissionProfile) -> PermissionProfile {
        let mut narrowed = self.narrowed(other);
        for kind in [PermissionKind::Read, PermissionKind::Write] {
            let lists = [self, other].map(|profile| profile.of(kind).allowed());
            let entries = lists.into_iter().flatten().flatten();
            for entry in entries.filter(|entry| Self::is_below_tmpdir(entry)) {
                narrowed.grant(kind, entry);
            }
        }
        narrowed
    }

    /// Returns the permissions of a call of this tier: `read` excludes writing, programs and native
    /// code; `write` excludes programs and native code.
    #[must_use]
    pub fn of_tier(&self, tier: Tier) -> PermissionProfile {
        let mut narrow = PermissionProfile::everything();
        let refused: &[PermissionKind] = match tier {
            Tier::Read => &[
                PermissionKind::Write,
                PermissionKind::Run,
                PermissionKind::Ffi,
            ],
            Tier::Write => &[PermissionKind::Run, PermissionKind::Ffi],
            Tier::Exec => &[],
        };
        for kind in refused {
            *narrow.of_mut(*kind) = Permission::None;
            let source = PermissionSource::Tier(tier);
            narrow.sources.insert(*kind, vec![source]);
        }
        self.narrowed(&narrow)
    }

    /// Returns the same profile with the embedding program as the source of each kind that differs
    /// from the default.
    #[must_use]
    pub fn by_program(mut self) -> PermissionProfile {
        let default = PermissionProfile::default();
        for kind in PermissionKind::ALL {
            if self.of(kind) != default.of(kind) {
                let sources = self.sources.entry(kind);
                sources.or_insert_with(|| vec![PermissionSource::Program]);
            }
        }
        self
    }

    /// Sets the permission of one kind and its source.
    pub fn set(&mut self, kind: PermissionKind, granted: Permission, by: PermissionSource) {
        *self.of_mut(kind) = granted;
        self.sources.insert(kind, vec![by]);
    }

    /// Adds an entry to the granted ones of that kind.
    pub fn grant(&mut self, kind: PermissionKind, entry: &str) {
        let granted = self.of_mut(kind);
        match granted {
            Permission::All => {}
            Permission::None => *granted = Permission::List(vec![entry.to_owned()]),
            Permission::Except { allow: None, .. } => {}
            Permission::List(allow)
            | Permission::Except {
                allow: Some(allow), ..
            } => {
                if !allow.iter().any(|own| kind.contains(own, entry)) {
                    allow.push(entry.to_owned());
                }
            }
        }
    }

    /// Replaces each path with the result of `anchor`. A name of a program without a slash is not a
    /// path.
    pub fn anchor(&mut self, anchor: impl Fn(&str) -> String) {
        let mut nothing = Vec::new();
        for kind in PermissionKind::ALL {
            let lists = match self.of_mut(kind) {
                Permission::All | Permission::None => continue,
                Permission::List(list) => [list, &mut nothing],
                Permission::Except { allow, deny } => {
                    [allow.as_mut().unwrap_or(&mut nothing), deny]
                }
            };
            for entry in lists.into_iter().flatten() {
                if kind.has_paths() || kind == PermissionKind::Run && entry.contains('/') {
                    *entry = anchor(entry);
                }
            }
        }
    }

    /// Replaces each granted path with its real path, which `resolve` returns, and leaves out the
    /// entries that it refuses. Narrowing compares real paths, because a text can have links.
    pub fn resolve_paths(&mut self, mut resolve: impl FnMut(&str) -> Result<String, String>) {
        for kind in PermissionKind::ALL
            .into_iter()
            .filter(|kind| kind.has_paths())
        {
            let (entries, denied) = match self.of_mut(kind) {
                Permission::List(entries) => (std::mem::take(entries), Vec::new()),
                Permission::Except {
                    allow: Some(allow),
                    deny,
                } => (std::mem::take(allow), std::mem::take(deny)),
                Permission::All | Permission::None | Permission::Except { .. } => continue,
            };
            let mut real = Vec::new();
            for entry in entries {
                match resolve(&entry) {
                    Ok(path) if real.contains(&path) => {}
                    Ok(path) => real.push(path),
                    Err(why) => {
                        let sources = self.sources.get(&kind).cloned();
                        self.left_out.push(LeftOutPath {
                            kind,
                            entry,
                            sources: sources.unwrap_or_default(),
                            why,
                        });
                    }
                }
            }
            *self.of_mut(kind) = Permission::of_lists(Some(real), denied);
        }
    }

    /// Checks if everything that a sandbox could restrict is granted.
    pub fn restricts_nothing(&self) -> bool {
        let kinds = [
            PermissionKind::Read,
            PermissionKind::Write,
            PermissionKind::Net,
            PermissionKind::Run,
            PermissionKind::Env,
        ];
        kinds.iter().all(|kind| !self.of(*kind).is_bounded())
    }

    /// Returns true if a list of paths names [`PermissionProfile::TMPDIR`].
    pub fn names_tmpdir(&self) -> bool {
        let kinds = PermissionKind::ALL.into_iter();
        let lists = kinds.filter_map(|kind| self.of(kind).allowed());
        lists.flatten().any(|entry| Self::is_below_tmpdir(entry))
    }

    /// Returns the same permissions with `folder` in place of [`PermissionProfile::TMPDIR`].
    #[must_use]
    pub fn with_tmpdir(mut self, folder: &Path) -> PermissionProfile {
        // Permissions that do not name it stay equal to themselves: isolates are shared by equality.
        if !self.names_tmpdir() {
            return self;
        }
        let folder = folder.display().to_string();
        self.anchor(|entry| {
            if Self::is_below_tmpdir(entry) {
                entry.replacen(Self::TMPDIR, &folder, 1)
            } else {
                entry.to_owned()
            }
        });
        self.tmpdir = Some(folder);
        self
    }

    /// Returns the permission of that kind for people.
    pub fn shown(&self, kind: PermissionKind) -> Permission {
        let Some(folder) = &self.tmpdir else {
            return self.of(kind).clone();
        };
        let mut shown = self.clone();
        shown.anchor(|entry| {
            // Without a private folder, other entries may be below it.
            if entry == folder {
                Self::TMPDIR.to_owned()
            } else {
                entry.to_owned()
            }
        });
        shown.of(kind).clone()
    }

    /// Splits a refusal that these permissions produce into its text and its hint. `None` for any
    /// other text.
    pub fn parts_of_refusal<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let (access, _) = text.strip_prefix('`')?.split_once("` is not permitted: ")?;
        let (kind, what) = access.split_once("` access to `")?;
        let kind = PermissionKind::from_name(kind)?;
        if self.refusal(kind, what) == text {
            text.split_once("\nhint: ")
        } else {
            None
        }
    }

    /// Returns the refusal of that kind of access to `what`, in two lines: the reason, and a hint
    /// that allows it.
    pub fn refusal(&self, kind: PermissionKind, what: &str) -> String {
        self.refusal_text(kind, what, &self.way_out(kind, what))
    }

    /// Returns the refusals of accesses to `what` that name their denied entry, with each spelling of
    /// that entry.
    pub fn denied_refusals(&self, kind: PermissionKind, what: &str) -> Vec<(String, String)> {
        let denied = self.of(kind).denied().iter();
        let refusals = denied.flat_map(|entry| {
            let sources = self.sources_of_denied(kind, entry);
            let way_out = way_out_of_denied(kind, entry, sources.last());
            let text = self.refusal_text(kind, what, &way_out);
            self.spellings_of(entry)
                .map(move |entry| (entry.to_owned(), text.clone()))
        });
        refusals.collect()
    }

    fn refusal_text(&self, kind: PermissionKind, what: &str, way_out: &str) -> String {
        let reason = self.reason(kind);
        let what = what.replace(['\n', '\r'], " ");
        let what = what.as_str();
        let access = match what {
            "" => format!("`{kind}` access"),
            what => format!("`{kind}` access to `{what}`"),
        };
        format!("{access} is not permitted: {reason}\nhint: {way_out}")
    }

    /// Returns the configured permission of that kind, and the place where it is configured.
    pub fn reason(&self, kind: PermissionKind) -> String {
        let granted = self.shown(kind);
        let sources = self.sources_of(kind);
        if let Some(PermissionSource::Tier(tier)) = sources.last() {
            let tier = tier.as_str();
            return format!("a call of the tier `{tier}` has no `{kind}` permission");
        }
        if let Some(PermissionSource::Request(file)) = sources.last() {
            return format!("the tool asks for `{kind}` of {granted} only, in {file}");
        }
        let is_chosen = |source: &PermissionSource| {
            matches!(
                source,
                PermissionSource::Profile(_) | PermissionSource::Permit
            )
        };
        if sources.iter().any(is_chosen) {
            let places = sources.iter().map(|source| match source {
                PermissionSource::Profile(_) => format!("in {source}"),
                PermissionSource::Permit => format!("with {source}"),
                other => format!("by `permissions.{kind}` in {other}"),
            });
            let places: Vec<String> = places.collect();
            return format!("`{kind}` is {granted} {}", places.join(", and "));
        }
        let place = match sources {
            [] => "by default".to_owned(),
            sources => {
                let places: Vec<String> = sources.iter().map(ToString::to_string).collect();
                format!("in {}", places.join(" and "))
            }
        };
        format!("`permissions.{kind}` is {granted} {place}")
    }

    fn way_out(&self, kind: PermissionKind, what: &str) -> String {
        if let Some((entry, source)) = self.denied_entry(kind, what) {
            return way_out_of_denied(kind, entry, source);
        }
        let sources = self.sources_of(kind);
        let file = match sources.last() {
            Some(PermissionSource::Tier(_)) => {
                return "a tool that does this is of the tier `exec`: its author declares \
                        `approval: \"exec\"`, or you set `approval.tiers` in \
                        ~/.config/haft/config.yaml"
                    .to_owned();
            }
            Some(PermissionSource::Replay) => {
                return "what goes through `pi.exec` and `fetch` can be recorded: `haft test --record`"
                    .to_owned();
            }
            Some(PermissionSource::Request(file)) => {
                return match what {
                    "" => format!("its author adds `{kind}` to the `permissions` in {file}"),
                    what => {
                        format!("its author adds `{what}` to `permissions.{kind}` in {file}")
                    }
                };
            }
            Some(PermissionSource::Permit) => {
                return permit_command(kind, what);
            }
            Some(PermissionSource::Profile(profile)) => return profile.way_out(kind, what),
            Some(PermissionSource::File(file)) => file,
            Some(PermissionSource::Program) => "the program that embeds haft",
            None => "~/.config/haft/config.yaml",
        };
        let key = match self.of(kind) {
            Permission::Except { .. } => format!("permissions.{kind}.allow"),
            _ => format!("permissions.{kind}"),
        };
        match what {
            "" => format!("set `permissions.{kind}: all` in {file}"),
            what => format!("add `{what}` to `{key}` in {file}"),
        }
    }
}

impl ProfileSource {
    /// Returns the instruction that allows that kind of access to `what`, or to everything if
    /// `what` is empty.
    fn way_out(&self, kind: PermissionKind, what: &str) -> String {
        if let (true, Some((key, file))) = (self.by_project, &self.chosen_by) {
            return format!("choose another profile for `{key}` in {file}");
        }
        permit_command(kind, what)
    }
}

impl fmt::Display for ProfileSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the profile `{}` ", self.name)?;
        match &self.file {
            Some(file) => write!(f, "of {file}")?,
            None => f.write_str("(built in)")?,
        }
        match &self.chosen_by {
            Some((key, place)) => write!(f, ", which `{key}` in {place} names"),
            None => f.write_str(", the default of such tools"),
        }
    }
}

impl PermissionKind {
    /// Every kind.
    pub const ALL: [PermissionKind; 8] = [
        PermissionKind::Read,
        PermissionKind::Write,
        PermissionKind::Net,
        PermissionKind::Env,
        PermissionKind::Run,
        PermissionKind::Sys,
        PermissionKind::Ffi,
        PermissionKind::Import,
    ];

    /// Returns the kind's key in the configuration.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the kind with that key.
    pub fn from_name(name: &str) -> Option<PermissionKind> {
        name.parse().ok()
    }

    /// Returns the reason why an entry of a list cannot mean anything, as a fragment for people.
    fn problem_of(self, entry: &str) -> Option<String> {
        let has_space = entry.contains(char::is_whitespace);
        match self {
            _ if entry.is_empty() => Some("an entry is empty".to_owned()),
            _ if entry.contains('\0') => Some("an entry has a zero byte".to_owned()),
            Self::Read | Self::Write | Self::Ffi if entry.contains('*') => Some(format!(
                "`{entry}`: a path has no patterns; name a folder, which includes all below it"
            )),
            Self::Read | Self::Write | Self::Ffi
                if entry.starts_with(PermissionProfile::TMPDIR) && leads_up(Path::new(entry)) =>
            {
                Some(format!(
                    "`{entry}` leads out of the folder for temporary files"
                ))
            }
            Self::Net | Self::Import if entry.contains("://") => Some(format!(
                "`{entry}` is an address; name its host, as `example.org` or `example.org:443`"
            )),
            Self::Net | Self::Import if has_space || HostPattern::parse(entry).is_none() => {
                Some(format!(
                    "`{entry}` is not a host: `example.org`, `*.example.org`, `127.0.0.1:8080`, \
                 `[::1]:80` or `10.0.0.0/8`"
                ))
            }
            Self::Env if entry.contains('=') || has_space => {
                Some(format!("`{entry}` is not the name of a variable"))
            }
            Self::Env if entry.trim_end_matches('*').contains('*') => Some(format!(
                "`{entry}`: a pattern of variables has its `*` at the end, as `LC_*`"
            )),
            _ => None,
        }
    }

    /// Returns true if the entries of this kind are paths.
    pub fn has_paths(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Ffi)
    }

    /// Returns true if the entry `outer` covers everything that the entry `inner` covers.
    pub(crate) fn contains(self, outer: &str, inner: &str) -> bool {
        if outer == inner {
            return true;
        }
        match self {
            Self::Read | Self::Write | Self::Ffi => Path::new(inner).starts_with(outer),
            Self::Net | Self::Import => {
                let patterns = (HostPattern::parse(outer), HostPattern::parse(inner));
                matches!(patterns, (Some(outer), Some(inner)) if outer.contains(&inner))
            }
            Self::Env => outer
                .strip_suffix('*')
                .is_some_and(|prefix| inner.starts_with(prefix)),
            // Two spellings of a program may be two programs.
            Self::Run | Self::Sys => false,
        }
    }
}

/// Returns true if the path has a part `..`.
pub(super) fn leads_up(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// Returns the text as one word of a shell's command line. A zero byte, which no word has, stands for
/// text that JavaScript puts there as one.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%=:,\0".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Name that stands for the tool in a hint. JavaScript replaces it where it knows the name.
pub const TOOL_PLACEHOLDER: &str = "NAME";

/// Returns the hint with the name of the tool in place of [`TOOL_PLACEHOLDER`].
pub fn with_tool_name(hint: &str, tool: &str) -> String {
    let (command, sentence) = (
        format!("haft permit {TOOL_PLACEHOLDER} "),
        format!("grants it to the tool {TOOL_PLACEHOLDER}"),
    );
    let alone = format!("haft permit {TOOL_PLACEHOLDER}`");
    let named = hint.replacen(&command, &format!("haft permit {tool} "), 1);
    let all = named.replacen(&alone, &format!("haft permit {tool}`"), 1);
    all.replacen(&sentence, &format!("grants it to the tool {tool}"), 1)
}

/// Returns the hint with the target of the command in place of [`TOOL_PLACEHOLDER`]: a file, or a
/// server, with the words of a shell.
pub fn with_permit_target(hint: &str, target: &str) -> String {
    let sentence = format!("grants it to the tool {TOOL_PLACEHOLDER}");
    with_tool_name(
        &hint.replacen(&sentence, "grants it", 1),
        &shell_word(target),
    )
}

/// Returns the hint that names the command which grants a tool the access.
pub fn permit_command(kind: PermissionKind, what: &str) -> String {
    let entry = match what {
        "" => kind.to_string(),
        what => shell_word(&format!("{kind}={what}")),
    };
    format!(
        "`haft permit {TOOL_PLACEHOLDER} --allow {entry}` grants it to the tool {TOOL_PLACEHOLDER}"
    )
}

/// Returns the instruction that ends a refusal by name. A further grant would not end it.
fn way_out_of_denied(
    kind: PermissionKind,
    entry: &str,
    source: Option<&PermissionSource>,
) -> String {
    match source {
        Some(PermissionSource::Permit) => {
            format!("`haft permit {TOOL_PLACEHOLDER} --remove {kind}={entry}` ends your refusal")
        }
        Some(PermissionSource::Profile(profile)) => {
            format!("remove `{entry}` from `{kind}.deny` in {profile}")
        }
        Some(source) => format!("remove `{entry}` from `permissions.{kind}.deny` in {source}"),
        None => format!("remove `{entry}` from `permissions.{kind}.deny`"),
    }
}

impl LeftOutPath {
    /// Returns the problem of the entry.
    pub fn problem(&self) -> Problem {
        let sources = self.sources.iter().map(|source| match source {
            PermissionSource::Permit => format!("with {source}"),
            source => format!("in {source}"),
        });
        let place = match sources.collect::<Vec<_>>().join(" and ") {
            place if place.is_empty() => String::new(),
            place => format!(" {place}"),
        };
        let LeftOutPath {
            kind, entry, why, ..
        } = self;
        let text = format!("`{kind}` access to `{entry}`{place} is not granted: {why}");
        Problem::warning(text).hint(
            "name the path that you mean without the link, or replace the link with what it leads \
             to",
        )
    }
}

impl fmt::Display for PermissionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PermissionSource::File(path) => f.write_str(path),
            PermissionSource::Program => f.write_str("the program that embeds haft"),
            PermissionSource::Replay => f.write_str("a test that is replayed"),
            PermissionSource::Permit => f.write_str("what you granted this tool"),
            PermissionSource::Request(file) => write!(f, "the request in {file}"),
            PermissionSource::Tier(tier) => write!(f, "the tier `{}`", tier.as_str()),
            PermissionSource::Profile(profile) => profile.fmt(f),
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |list: &[String]| format!("[{}]", list.join(", "));
        match self {
            Permission::All => f.write_str("`all`"),
            Permission::None => f.write_str("`none`"),
            Permission::List(entries) => write!(f, "`{}`", list(entries)),
            Permission::Except { allow: None, deny } => {
                write!(f, "`{{deny: {}}}`", list(deny))
            }
            Permission::Except {
                allow: Some(allow),
                deny,
            } => {
                write!(f, "`{{allow: {}, deny: {}}}`", list(allow), list(deny))
            }
        }
    }
}

impl Permission {
    /// Returns the granted entries, or `None` if everything is granted.
    pub fn allowed(&self) -> Option<&[String]> {
        match self {
            Permission::All => None,
            Permission::None => Some(&[]),
            Permission::List(list) => Some(list),
            Permission::Except { allow, .. } => allow.as_deref(),
        }
    }

    /// Returns true if no access is granted.
    pub fn grants_nothing(&self) -> bool {
        self.allowed().is_some_and(<[String]>::is_empty)
    }

    /// Returns the permission without the backticks that sentences have around it.
    pub fn plain(&self) -> String {
        self.to_string().trim_matches('`').to_owned()
    }

    /// Returns an error if an entry cannot mean anything for that kind.
    ///
    /// # Errors
    /// The reason, as a fragment for people.
    pub fn check(&self, kind: PermissionKind) -> Result<(), String> {
        let entries = self.allowed().unwrap_or_default().iter();
        let problem = entries
            .chain(self.denied())
            .find_map(|entry| kind.problem_of(entry));
        problem.map_or(Ok(()), Err)
    }

    /// Returns true if less than everything is granted.
    pub fn is_bounded(&self) -> bool {
        *self != Permission::All
    }

    /// Returns the refused entries, which override the granted ones.
    pub fn denied(&self) -> &[String] {
        match self {
            Permission::Except { deny, .. } => deny,
            Permission::All | Permission::None | Permission::List(_) => &[],
        }
    }

    /// Returns the permission that covers what both permissions grant.
    fn both(&self, other: &Permission, kind: PermissionKind) -> Permission {
        let allow = match (self.allowed(), other.allowed()) {
            (None, None) => None,
            (Some(list), None) | (None, Some(list)) => Some(list.to_vec()),
            (Some(ours), Some(theirs)) => Some(common(ours, theirs, kind)),
        };
        let mut deny = self.denied().to_vec();
        for entry in other.denied() {
            if !deny.contains(entry) {
                deny.push(entry.clone());
            }
        }
        Permission::of_lists(allow, deny)
    }

    /// Returns the permission that covers what either permission grants. An entry that either one
    /// refuses by name stays refused.
    fn either(&self, other: &Permission, kind: PermissionKind) -> Permission {
        let mut deny = self.denied().to_vec();
        deny.extend(other.denied().iter().cloned());
        deny.sort();
        deny.dedup();
        let allow = match (self.allowed(), other.allowed()) {
            (None, _) | (_, None) => None,
            (Some(ours), Some(theirs)) => {
                let mut all = ours.to_vec();
                for entry in theirs {
                    if !ours.iter().any(|one| kind.contains(one, entry)) {
                        all.push(entry.clone());
                    }
                }
                Some(all)
            }
        };
        Permission::of_lists(allow, deny)
    }

    /// Returns the permission that grants the entries of `allow`, or everything without a list,
    /// except those of `deny`.
    fn of_lists(allow: Option<Vec<String>>, deny: Vec<String>) -> Permission {
        match (allow, deny.is_empty()) {
            (None, true) => Permission::All,
            (Some(allow), true) if allow.is_empty() => Permission::None,
            (Some(allow), true) => Permission::List(allow),
            // The denied entries stay where nothing is granted: something may be granted later.
            (allow, false) => Permission::Except { allow, deny },
        }
    }

    /// The same for one kind of access.
    fn contains(&self, other: &Permission, kind: PermissionKind) -> bool {
        match (self, other) {
            (Permission::All, _) | (_, Permission::None) => true,
            (Permission::List(_), Permission::List(entries)) => {
                let own = self.allowed().unwrap_or_default();
                let mut entries = entries.iter();
                entries.all(|entry| own.iter().any(|outer| kind.contains(outer, entry)))
            }
            // A refused entry may be within a granted one.
            (ours, theirs) => ours == theirs,
        }
    }
}

/// Adds the sources of the kind in `other` that are not there yet.
fn add_sources(
    sources: &mut Vec<PermissionSource>,
    other: &PermissionProfile,
    kind: PermissionKind,
) {
    for source in other.sources.get(&kind).into_iter().flatten() {
        if !sources.contains(source) {
            sources.push(source.clone());
        }
    }
}

/// Returns the entries of both lists that the other one contains. Paths are compared as texts. That
/// compares files, because the entries of both sides were made real paths before
/// (`RightsResolver::resolve_paths` of haft-config), and a real path is opened without following a
/// link that was put into it since.
fn common(ours: &[String], theirs: &[String], kind: PermissionKind) -> Vec<String> {
    let mut both: Vec<String> = Vec::new();
    for one in ours {
        for other in theirs {
            let narrower = if kind.contains(one, other) {
                other
            } else if kind.contains(other, one) {
                one
            } else {
                continue;
            };
            if !both.contains(narrower) {
                both.push(narrower.clone());
            }
        }
    }
    both
}

/// Writes the notation that is read.
impl Serialize for Permission {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Permission::All => serializer.serialize_str("all"),
            Permission::None => serializer.serialize_str("none"),
            Permission::List(names) => names.serialize(serializer),
            Permission::Except { allow, deny } => {
                let mut map = serializer.serialize_map(Some(2))?;
                match allow {
                    None => map.serialize_entry("allow", "all")?,
                    Some(allow) => map.serialize_entry("allow", allow)?,
                }
                map.serialize_entry("deny", deny)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Permission {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Permission;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all`, `none` or a list of names (or `{allow: …, deny: [names]}`)")
            }

            fn visit_bool<E: de::Error>(self, all: bool) -> Result<Permission, E> {
                Ok(if all {
                    Permission::All
                } else {
                    Permission::None
                })
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Permission, E> {
                match text {
                    "all" | "true" => Ok(Permission::All),
                    "none" | "false" => Ok(Permission::None),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Permission, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element()? {
                    names.push(name);
                }
                // An empty list grants nothing. It becomes `None`, because equal permissions must
                // be equal values.
                Ok(if names.is_empty() {
                    Permission::None
                } else {
                    Permission::List(names)
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Permission, A::Error> {
                let (mut allow, mut deny) = (Permission::All, Vec::new());
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "allow" => allow = map.next_value()?,
                        "deny" => deny = map.next_value::<Vec<String>>()?,
                        other => return Err(de::Error::unknown_field(other, &["allow", "deny"])),
                    }
                }
                if !allow.denied().is_empty() {
                    let text = "`allow` must be `all`, `none` or a list of names";
                    return Err(de::Error::custom(text));
                }
                let allow = allow.allowed().map(<[String]>::to_vec);
                Ok(Permission::of_lists(allow, deny))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
