//! Decision about one access of a tool: the only comparison of an access with lists of permissions.
//!
//! Everything that enforces permissions asks [`PermissionProfile::decide`]: operations of modules,
//! starts of programs, the proxy, variables, requests and files of other families. A denied entry
//! always overrides an allowed one, also if the allowed one is narrower, and it counts for the real
//! path of a link as for the link itself.
//!
//! Two mechanisms cannot ask: Deno's own lists, whose order prefers the narrower entry, and the
//! rules of the kernel, which only grant. They get lists that were computed here
//! ([`PermissionProfile::separated_lists`]), and the paths to cut out
//! ([`PermissionProfile::denied_paths`]).

use std::path::{Path, PathBuf};

use super::host_pattern::HostPattern;
use super::permissions::leads_up;
use super::{PermissionKind, PermissionProfile, PermissionSource};

/// Devices without contents of anyone, which may be read and written unless they are denied.
const FREE_DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// An access in the form in which its place of enforcement knows it.
#[derive(Clone, Copy, Debug)]
pub enum AccessTarget<'a> {
    /// A file or a folder. The path is absolute, without `.` and `..`.
    Path(&'a Path),
    /// A folder with everything below it, for operations that move or remove it as a whole.
    Tree(&'a Path),
    /// A program: its file in the real path of its folder, and then the files that this one is a
    /// link to, in order.
    Program(&'a [PathBuf]),
    /// A host, on a port.
    Host(&'a str, u16),
    /// A host, on whichever port is granted.
    AnyPort(&'a str),
    /// Everything that an entry of a list names.
    Entry(&'a str),
}

/// Rule that decided about an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessRule<'a> {
    /// Every access of the kind is granted, or every access to this device.
    Everything,
    /// This entry grants it.
    Allowed(&'a str),
    /// This entry refuses it, whatever grants it.
    Denied(&'a str),
    /// No entry grants it.
    Unlisted,
}

/// Decision about an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessDecision<'a> {
    /// The rule that decided.
    pub rule: AccessRule<'a>,
    /// The origins of that rule. Empty for a default.
    pub sources: &'a [PermissionSource],
}

impl AccessDecision<'_> {
    /// Returns true if the access is granted.
    pub fn is_granted(&self) -> bool {
        matches!(self.rule, AccessRule::Everything | AccessRule::Allowed(_))
    }

    /// Returns true if an entry refuses the access by name, so that nothing may grant it.
    pub fn is_denied(&self) -> bool {
        matches!(self.rule, AccessRule::Denied(_))
    }
}

/// Lists of one kind, for a mechanism with another order of precedence: no allowed entry is within a
/// denied one, and what a denied and an allowed entry have in common is a denied entry of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeparatedLists {
    /// The allowed entries; `None`: everything.
    pub allow: Option<Vec<String>>,
    /// The denied entries.
    pub deny: Vec<String>,
    /// Allowed patterns that contain a denied pattern of the same form, such as `*.example.org`
    /// around `*.a.example.org`. They are not in `allow`, because Deno's order of such patterns has
    /// no relation to what they contain: the code that enforces them asks [`PermissionProfile::decide`].
    pub asked: Vec<String>,
}

impl PermissionProfile {
    /// Decides about an access of that kind.
    pub fn decide(&self, kind: PermissionKind, target: AccessTarget<'_>) -> AccessDecision<'_> {
        let permission = self.of(kind);
        let target = ComparedTarget::new(kind, target);
        let mut denied = permission.denied().iter();
        if let Some(entry) = denied.find(|entry| self.denies(kind, entry, &target)) {
            return AccessDecision {
                rule: AccessRule::Denied(entry),
                sources: self.sources_of_denied(kind, entry),
            };
        }
        let rule = match permission.allowed() {
            // What the path names is not known, so that a denied entry may.
            _ if target.has_parent() && permission.is_bounded() => AccessRule::Unlisted,
            None => AccessRule::Everything,
            Some(_) if target.is_free_device(kind) => AccessRule::Everything,
            Some(list) => {
                let mut list = list.iter();
                let allowed = list.find(|entry| self.allows(kind, entry, &target));
                allowed.map_or(AccessRule::Unlisted, |entry| AccessRule::Allowed(entry))
            }
        };
        AccessDecision {
            rule,
            sources: self.sources_of(kind),
        }
    }

    /// Returns true if everything that an entry names is granted.
    pub fn grants(&self, kind: PermissionKind, entry: &str) -> bool {
        self.decide(kind, AccessTarget::Entry(entry)).is_granted()
    }

    /// Returns true if the user may be asked about the access.
    /// What is refused by name is refused without a question.
    pub fn may_be_asked(&self, kind: PermissionKind, what: &str) -> bool {
        let askable = self.askable.as_ref();
        askable.is_some_and(|askable| askable.grants(kind, what))
            && !self.decide(kind, AccessTarget::Entry(what)).is_denied()
    }

    /// Returns the denied entry that refuses what an entry names, with the source of that entry.
    pub(super) fn denied_entry(
        &self,
        kind: PermissionKind,
        what: &str,
    ) -> Option<(&str, Option<&PermissionSource>)> {
        let decision = self.decide(kind, AccessTarget::Entry(what));
        match decision.rule {
            AccessRule::Denied(entry) => Some((entry, decision.sources.last())),
            _ => None,
        }
    }

    /// Returns true if an allowed entry names this host, and not only a domain or a range that it
    /// is in.
    pub fn names_host(&self, host: &str) -> bool {
        let host = HostPattern::of_host(host, None);
        let mut entries = self.net.allowed().unwrap_or_default().iter();
        entries.any(|entry| {
            let pattern = HostPattern::parse(entry);
            pattern.is_some_and(|own| own.is_single() && own.names_host(&host))
        })
    }

    /// Returns the denied paths of a kind, as they are written and as they are without links.
    pub fn denied_paths(&self, kind: PermissionKind) -> Vec<PathBuf> {
        let denied = self.of(kind).denied().iter();
        let spellings = denied.flat_map(|entry| self.spellings_of(entry));
        let paths = spellings
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        paths.collect()
    }

    /// Returns the lists of one kind for a mechanism that prefers the narrower entry.
    pub fn separated_lists(&self, kind: PermissionKind) -> SeparatedLists {
        let permission = self.of(kind);
        let mut deny: Vec<String> = Vec::new();
        for entry in permission.denied() {
            deny.extend(self.spellings_of(entry).map(str::to_owned));
        }
        let hosts = matches!(kind, PermissionKind::Net | PermissionKind::Import);
        if hosts {
            let patterns = deny.iter().filter_map(|entry| HostPattern::parse(entry));
            let refused = patterns.flat_map(|pattern| pattern.refused_patterns());
            deny = refused.map(|pattern| pattern.to_string()).collect();
        }
        let mut lists = SeparatedLists {
            allow: permission.allowed().map(<[String]>::to_vec),
            deny,
            asked: Vec::new(),
        };
        let Some(allow) = &mut lists.allow else {
            return lists;
        };
        if kind == PermissionKind::Run {
            // A name that is found by another `PATH`, and the file that it stands for here.
            let programs = allow.iter().filter_map(|entry| {
                let program = self.program_of(entry)?;
                let files: Vec<PathBuf> = self.spellings_of(entry).map(PathBuf::from).collect();
                let decision = self.decide(kind, AccessTarget::Program(&files));
                (!decision.is_denied()).then(|| [entry.clone(), program])
            });
            *allow = programs.flatten().collect();
            allow.dedup();
            return lists;
        }
        if matches!(kind, PermissionKind::Read | PermissionKind::Write) {
            allow.extend(FREE_DEVICES.map(str::to_owned));
        }
        allow.retain(|entry| !self.decide(kind, AccessTarget::Entry(entry)).is_denied());
        if hosts {
            separate_hosts(&mut lists);
        }
        lists
    }

    /// Returns the entry itself, and its real paths.
    pub(crate) fn spellings_of<'a>(&'a self, entry: &'a str) -> impl Iterator<Item = &'a str> {
        let real = self.real_paths.get(entry).into_iter().flatten();
        std::iter::once(entry).chain(real.map(String::as_str))
    }

    /// Returns the file that an allowed entry of `run` names: the first of its real paths, because
    /// a program may act by the name of the link that it is started by.
    fn program_of(&self, entry: &str) -> Option<String> {
        match self.real_paths.get(entry) {
            Some(real) => real.first().cloned(),
            None => Some(entry.to_owned()).filter(|entry| entry.contains('/')),
        }
    }

    fn allows(&self, kind: PermissionKind, entry: &str, target: &ComparedTarget<'_>) -> bool {
        match target {
            ComparedTarget::Program(files) => {
                let file = self.program_of(entry).map(PathBuf::from);
                files.first().is_some_and(|own| Some(own) == file.as_ref())
            }
            ComparedTarget::Path(path) | ComparedTarget::Tree(path) => path.starts_with(entry),
            ComparedTarget::Host(host) => {
                HostPattern::parse(entry).is_some_and(|own| own.contains(host))
            }
            ComparedTarget::AnyPort(host) => {
                HostPattern::parse(entry).is_some_and(|own| own.names_host(host))
            }
            ComparedTarget::Name(name) => kind.contains(entry, name),
        }
    }

    fn denies(&self, kind: PermissionKind, entry: &str, target: &ComparedTarget<'_>) -> bool {
        let names_program = |file: &Path| {
            self.spellings_of(entry).any(|own| {
                if own.contains('/') {
                    file.starts_with(own)
                } else {
                    file.file_name().is_some_and(|name| name == own)
                }
            })
        };
        match target {
            ComparedTarget::Program(files) => files.iter().any(|file| names_program(file)),
            ComparedTarget::Path(path) => self.spellings_of(entry).any(|own| path.starts_with(own)),
            ComparedTarget::Tree(path) => {
                let mut spellings = self.spellings_of(entry).map(Path::new);
                spellings.any(|own| path.starts_with(own) || own.starts_with(path))
            }
            ComparedTarget::Host(host) | ComparedTarget::AnyPort(host) => {
                let refused = HostPattern::parse(entry).map(|own| own.refused_patterns());
                let mut refused = refused.into_iter().flatten();
                refused.any(|own| own.contains(host))
            }
            ComparedTarget::Name(name) if kind == PermissionKind::Run => {
                entry == *name || names_program(Path::new(name))
            }
            ComparedTarget::Name(name) => kind.contains(entry, name),
        }
    }
}

/// A target in the form in which it is compared.
enum ComparedTarget<'a> {
    Path(&'a Path),
    Tree(&'a Path),
    Program(&'a [PathBuf]),
    Host(HostPattern),
    AnyPort(HostPattern),
    Name(&'a str),
}

impl<'a> ComparedTarget<'a> {
    /// Returns true for a path with `..`, which names another file than its beginning says.
    fn has_parent(&self) -> bool {
        let (ComparedTarget::Path(path) | ComparedTarget::Tree(path)) = self else {
            return false;
        };
        leads_up(path)
    }

    fn is_free_device(&self, kind: PermissionKind) -> bool {
        let is_file = matches!(kind, PermissionKind::Read | PermissionKind::Write);
        let is_device = |path: &Path| FREE_DEVICES.iter().any(|device| path == Path::new(device));
        is_file && matches!(self, ComparedTarget::Path(path) if is_device(path))
    }

    fn new(kind: PermissionKind, target: AccessTarget<'a>) -> ComparedTarget<'a> {
        match target {
            AccessTarget::Path(path) => ComparedTarget::Path(path),
            AccessTarget::Tree(path) => ComparedTarget::Tree(path),
            AccessTarget::Program(files) => ComparedTarget::Program(files),
            AccessTarget::Host(host, port) => {
                ComparedTarget::Host(HostPattern::of_host(host, Some(port)))
            }
            AccessTarget::AnyPort(host) => {
                ComparedTarget::AnyPort(HostPattern::of_host(host, None))
            }
            AccessTarget::Entry(entry) => match kind {
                PermissionKind::Read | PermissionKind::Write | PermissionKind::Ffi => {
                    ComparedTarget::Path(Path::new(entry))
                }
                PermissionKind::Net | PermissionKind::Import => {
                    let pattern = HostPattern::parse(entry);
                    pattern.map_or(ComparedTarget::Name(entry), ComparedTarget::Host)
                }
                PermissionKind::Env | PermissionKind::Run | PermissionKind::Sys => {
                    ComparedTarget::Name(entry)
                }
            },
        }
    }
}

/// Adds to the denied entries what each has in common with an allowed one, and moves the allowed
/// patterns that Deno's order does not put behind the denied ones.
fn separate_hosts(lists: &mut SeparatedLists) {
    let deny: Vec<HostPattern> = lists
        .deny
        .iter()
        .filter_map(|it| HostPattern::parse(it))
        .collect();
    let mut common: Vec<HostPattern> = Vec::new();
    let (mut allow, mut asked) = (Vec::new(), Vec::new());
    for entry in lists.allow.take().unwrap_or_default() {
        let Some(own) = HostPattern::parse(&entry) else {
            continue;
        };
        let overlaps: Vec<HostPattern> = deny.iter().filter_map(|it| own.overlap(it)).collect();
        let has_order = own.is_single() || overlaps.iter().all(HostPattern::is_single);
        if has_order {
            allow.push(entry);
        } else {
            asked.push(entry);
        }
        common.extend(overlaps);
    }
    for pattern in common {
        if !deny.contains(&pattern) {
            lists.deny.push(pattern.to_string());
        }
    }
    (lists.allow, lists.asked) = (Some(allow), asked);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Permission;

    fn entries(list: &[&str]) -> Vec<String> {
        list.iter().map(|&entry| entry.to_owned()).collect()
    }

    /// Permissions of one kind. An empty list of allowed entries grants everything.
    fn profile(kind: PermissionKind, allow: &[&str], deny: &[&str]) -> PermissionProfile {
        let mut profile = PermissionProfile::everything();
        let permission = Permission::Except {
            allow: (!allow.is_empty()).then(|| entries(allow)),
            deny: entries(deny),
        };
        profile.set(kind, permission, PermissionSource::Program);
        profile.resolve_entries(&|entry| match entry {
            "/link" | "/p/link" => vec![PathBuf::from(entry), PathBuf::from("/real/secret")],
            "/bin" => vec![PathBuf::from("/bin"), PathBuf::from("/usr/bin")],
            "sh" | "/bin/sh" => ["/usr/bin/sh", "/usr/bin/dash"].map(PathBuf::from).to_vec(),
            "git" => vec![PathBuf::from("/usr/bin/git")],
            other => vec![PathBuf::from(other)],
        });
        profile
    }

    #[test]
    fn a_path_with_a_parent_is_granted_only_with_everything() {
        let bounded = profile(PermissionKind::Read, &["/a"], &[]);
        let denied = profile(PermissionKind::Read, &[], &["/b"]);
        let all = PermissionProfile::everything();
        for path in ["/a/..", "/a/../b", "/a/b/../c"] {
            let target = || AccessTarget::Path(Path::new(path));
            let decide = |profile: &PermissionProfile| {
                profile.decide(PermissionKind::Read, target()).is_granted()
            };
            assert!(!decide(&bounded), "{path}");
            assert!(!decide(&denied), "{path}");
            assert!(decide(&all), "{path}");
            assert!(!bounded.grants(PermissionKind::Read, path), "{path}");
        }
    }

    #[test]
    fn a_denied_entry_wins_for_every_kind_and_shape() {
        use PermissionKind::{Env, Ffi, Net, Read, Sys, Write};
        for (kind, allow, deny, target, is_granted) in [
            // A narrower allowed entry, an equal one, and a wider one.
            (Read, &["/a/b"][..], &["/a"][..], "/a/b/k", false),
            (Write, &["/a"], &["/a"], "/a", false),
            (Ffi, &["/a"], &["/a/b"], "/a/b/k", false),
            (Ffi, &["/a"], &["/a/b"], "/a/c", true),
            (Read, &["/a"], &["/"], "/a", false),
            (Read, &[], &["/a"], "/ab", true),
            // Links: the denied entry is one, or leads to the accessed path.
            (Read, &["/real"], &["/link"], "/real/secret/k", false),
            (Read, &["/p"], &["/p/link"], "/p/link", false),
            (Read, &["/real"], &["/link"], "/real/open", true),
            (Env, &["MYAPP_TOKEN"], &["MYAPP_*"], "MYAPP_TOKEN", false),
            (Env, &["MYAPP_*"], &["MYAPP_TOKEN"], "MYAPP_TOKEN", false),
            (Env, &["MYAPP_*"], &["MYAPP_TOKEN"], "MYAPP_NAME", true),
            (Env, &["A"], &["*"], "A", false),
            (
                Net,
                &["localhost:80"],
                &["localhost"],
                "localhost:80",
                false,
            ),
            (
                Net,
                &["127.0.0.1:80"],
                &["localhost"],
                "127.0.0.1:80",
                false,
            ),
            (
                Net,
                &["localhost:80"],
                &["127.0.0.1"],
                "localhost:80",
                false,
            ),
            (Net, &["10.1.2.3"], &["10.0.0.0/8"], "10.1.2.3:443", false),
            (Net, &[], &["10.0.0.0/8"], "[::ffff:10.1.2.3]:443", false),
            (
                Net,
                &["*.a.example"],
                &["*.example"],
                "x.a.example:1",
                false,
            ),
            (
                Net,
                &["*.example"],
                &["*.a.example"],
                "x.a.example:1",
                false,
            ),
            (
                Net,
                &["a.example"],
                &["*.example:443"],
                "a.example:443",
                false,
            ),
            (
                Net,
                &["a.example"],
                &["*.example:443"],
                "a.example:80",
                true,
            ),
            (Sys, &["hostname"], &["hostname"], "hostname", false),
        ] {
            let profile = profile(kind, allow, deny);
            let decision = profile.decide(kind, AccessTarget::Entry(target));
            let case = format!("{kind} allow {allow:?} deny {deny:?} {target}");
            assert_eq!(decision.is_granted(), is_granted, "{case}");
            assert_eq!(decision.is_denied(), !is_granted, "{case}");
        }
    }

    #[test]
    fn a_denied_program_is_refused_by_every_name_and_link() {
        let kind = PermissionKind::Run;
        let dash: &[&str] = &["/usr/bin/dash"];
        let sh: &[&str] = &["/usr/bin/sh", "/usr/bin/dash"];
        let link: &[&str] = &["/p/x", "/usr/bin/sh", "/usr/bin/dash"];
        for (allow, deny, files, is_granted) in [
            (&["sh"][..], &["sh"][..], sh, false),
            (&["sh"], &["/bin"], sh, false),
            (&["sh"], &["dash"], sh, false),
            (&[], &["sh"], dash, false),
            (&[], &["/bin/sh"], link, false),
            (&["/p/x"], &["sh"], link, false),
            (&["sh"], &["git"], sh, true),
            // A link to a granted program is another program.
            (&["sh"], &["git"], link, false),
            (&["sh"], &["git"], dash, false),
        ] {
            let profile = profile(kind, allow, deny);
            let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
            let decision = profile.decide(kind, AccessTarget::Program(&files));
            let case = format!("allow {allow:?} deny {deny:?} {files:?}");
            assert_eq!(decision.is_granted(), is_granted, "{case}");
        }
    }

    #[test]
    fn a_folder_around_a_denied_entry_is_no_tree() {
        let profile = profile(PermissionKind::Write, &["/a"], &["/a/b/private"]);
        let decide = |target| profile.decide(PermissionKind::Write, target).is_granted();
        assert!(decide(AccessTarget::Path(Path::new("/a/b"))));
        assert!(!decide(AccessTarget::Tree(Path::new("/a/b"))));
        assert!(decide(AccessTarget::Tree(Path::new("/a/c"))));
    }

    #[test]
    fn devices_are_free_unless_they_are_denied() {
        let null = AccessTarget::Path(Path::new("/dev/null"));
        let mut workspace = PermissionProfile::everything();
        workspace.write = Permission::List(entries(&["/p"]));
        assert!(workspace.decide(PermissionKind::Write, null).is_granted());
        let disk = AccessTarget::Path(Path::new("/dev/sda"));
        assert!(!workspace.decide(PermissionKind::Write, disk).is_granted());
        let denied = profile(PermissionKind::Write, &["/p"], &["/dev"]);
        assert!(!denied.decide(PermissionKind::Write, null).is_granted());
    }

    #[test]
    fn lists_for_others_have_no_allowed_entry_within_a_denied_one() {
        let lists = |kind, allow: &[&str], deny: &[&str]| {
            let lists = profile(kind, allow, deny).separated_lists(kind);
            (lists.allow.unwrap_or_default(), lists.deny, lists.asked)
        };
        let (allow, deny, _) = lists(PermissionKind::Ffi, &["/a/b", "/c"], &["/a", "/link"]);
        assert_eq!(allow, ["/c"]);
        assert_eq!(deny, ["/a", "/link", "/link", "/real/secret"]);
        let (allow, deny, asked) = lists(
            PermissionKind::Net,
            &["a.example", "*.example"],
            &["*.a.example", "*.example:443"],
        );
        assert_eq!(allow, ["a.example"]);
        assert_eq!(asked, ["*.example"]);
        assert_eq!(deny, ["*.a.example", "*.example:443", "a.example:443"]);
        let (allow, ..) = lists(PermissionKind::Run, &["sh", "git", "missing"], &["/bin/sh"]);
        assert_eq!(allow, ["git", "/usr/bin/git"]);
    }

    #[test]
    fn a_decision_names_its_rule_and_who_set_it() {
        let kind = PermissionKind::Read;
        let mut configured = profile(kind, &["/a"], &["/a/b"]);
        configured.set(
            kind,
            configured.read.clone(),
            PermissionSource::File("config.yaml".to_owned()),
        );
        let mut refused = profile(kind, &[], &["/a/c"]);
        refused.set(kind, refused.read.clone(), PermissionSource::Permit);
        let rights = configured.narrowed(&refused);
        for (target, rule, source) in [
            ("/a/b/k", AccessRule::Denied("/a/b"), "config.yaml"),
            (
                "/a/c",
                AccessRule::Denied("/a/c"),
                "what you granted this tool",
            ),
            ("/a/d", AccessRule::Allowed("/a"), "config.yaml"),
            ("/d", AccessRule::Unlisted, "config.yaml"),
        ] {
            let decision = rights.decide(kind, AccessTarget::Entry(target));
            assert_eq!(decision.rule, rule);
            assert_eq!(decision.sources[0].to_string(), source, "{target}");
        }
        for (target, hint) in [
            (
                "/a/b/k",
                "remove `/a/b` from `permissions.read.deny` in config.yaml",
            ),
            (
                "/a/c",
                "`haft permit NAME --remove read=/a/c` ends your refusal",
            ),
        ] {
            let refusal = rights.refusal(kind, target);
            assert_eq!(
                refusal.split_once("\nhint: ").map(|(_, hint)| hint),
                Some(hint)
            );
        }
    }

    #[test]
    fn what_was_denied_stays_denied_when_more_is_granted() {
        let kind = PermissionKind::Read;
        let mut granted = PermissionProfile::everything();
        granted.read = Permission::List(entries(&["/a/b"]));
        for allow in [&["/x"][..], &[]] {
            let mut own = profile(kind, allow, &["/a"]);
            if allow.is_empty() {
                own.read = Permission::Except {
                    allow: Some(Vec::new()),
                    deny: entries(&["/a"]),
                };
            }
            let widened = own.widened(&granted);
            assert!(!widened.grants(kind, "/a/b"), "{allow:?}");
        }
    }
}
