//! Profiles of permissions, and the choice of a profile for each tool.
//!
//! A profile sets kinds of access and takes the others from the profile that it extends, at last
//! from `full`. The profile of a tool is the one that `sandbox.tools` names for it, else
//! `sandbox.families`, else `sandbox.project`, `sandbox.user` or `sandbox.plugins`, else `workspace`
//! for the tools of a project and `full` for others.
//! The key `permissions` and a project's own file narrow it.
//!
//! The author of a tool chooses its name. So a name never gives a tool of a project or plugin more
//! than it has without the name: there `sandbox.tools` only narrows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use haft_tool::error::{Error, ErrorKind};
use haft_tool::{
    Family, Isolation, Permission, PermissionKind, PermissionProfile, PermissionSource,
    ProfileSource, TrustDomain, known_here,
};

use super::declare::{
    self, Field, Settings, block, checked_map, default_settings, permission, settings,
};
use super::{Config, SettingSource, mcp, paths};

settings! {
    /// Choice of the profile of each tool. A value is the name of a profile.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SandboxSettings {
        /// Do not run a tool if a layer of its sandbox is missing. Otherwise it runs with the other
        /// layers, and `haft doctor` and the log of calls name the missing one.
        pub required: bool = "false", env "HAFT_SANDBOX_REQUIRED", user "HAFT_SANDBOX_REQUIRED";
        /// Profile of the tools of a project. In a project's own file: a profile that narrows the
        /// rights of its tools.
        // A project is often the code of other people.
        pub project: Option<String> = WORKSPACE, env "HAFT_SANDBOX_PROJECT";
        /// Describe the tools of a project that is not trusted: their modules are loaded in a
        /// sandbox in which they can read the project and do nothing else. They still cannot be
        /// called. Otherwise only the names of their files are listed.
        pub list_untrusted: bool = "false", user "--config";
        /// Profile of the user's own tools.
        pub user: Option<String> = "", user "--config";
        /// Profile of the tools of installed plugins.
        pub plugins: Option<String> = "", user "--config";
        /// Profiles by family of tools. They precede those above.
        pub families: FamilyProfiles = "" => block, user "--config";
        /// Profiles by tool name or pattern; for JavaScript by the name of the module's file, for
        /// MCP by the name of the server. They precede all others, the most specific pattern first. The tools of projects and plugins
        /// never get more by their names.
        pub tools: BTreeMap<String, String> = "" => checked_map(mcp::check_pattern),
            user "--config";
    }
}

settings! {
    /// Profiles by family of tools.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FamilyProfiles {
        /// Profile of JavaScript modules.
        pub js: Option<String> = "";
        /// Profile of executables that describe themselves (Kodelet, ikigai, Amp, Gemini CLI).
        pub exec: Option<String> = "";
        /// Profile of YAML shell tools.
        pub shell: Option<String> = "";
        /// Profile of JSON plugin files.
        pub plugin: Option<String> = "";
        /// Profile of MCP servers.
        pub mcp: Option<String> = "";
    }
}
default_settings!(SandboxSettings, FamilyProfiles);

/// Profile as a user writes it. What is missing comes from the profile that it extends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileSettings {
    /// The name of the profile that this one extends; `None`: `full`.
    pub extends: Option<String>,
    /// The separation from haft's process; `None`: the setting `isolation`.
    pub isolation: Option<Isolation>,
    /// The permissions that it sets.
    pub permissions: BTreeMap<PermissionKind, Permission>,
}

impl Settings for ProfileSettings {
    fn unset() -> Self {
        ProfileSettings::default()
    }

    fn fields(&mut self) -> Vec<Field<'_>> {
        let mut fields = declare::fields!(self {
            /// Profile from which the missing keys are taken. Default: `full`.
            extends = "";
            /// Separation: `process` or `sandbox`. Default: the setting `isolation`.
            isolation = "";
        });
        let permissions = Rc::new(RefCell::new(&mut self.permissions));
        fields.extend(PermissionKind::ALL.map(|kind| {
            let permissions = Rc::clone(&permissions);
            let slot = permission(kind, move |granted, _| {
                permissions.borrow_mut().insert(kind, granted);
            });
            Field::new(kind.as_str(), "As the key in `permissions`.", "", slot)
        }));
        fields
    }
}

/// The profile of tools without another one. It is as wide as the key `permissions`.
const FULL: &str = "full";

/// The profile of the tools of a project.
pub const WORKSPACE: &str = "workspace";

/// The profile in which modules of an untrusted project are described. No setting can name it.
const LISTING: &str = "listing of an untrusted project";

/// The same for executables, which need other programs to describe themselves.
const LISTING_OF_PROGRAMS: &str = "listing of an untrusted program";

/// Limit of the time in which a tool of an untrusted project describes itself.
const LISTING_TIMEOUT: Duration = Duration::from_secs(5);

/// The names of the built-in profiles.
const BUILT_IN: [&str; 3] = [FULL, WORKSPACE, "read-only"];

/// Variables that describe the user's terminal, language and places. None of them is a secret.
pub const SAFE_VARIABLES: [&str; 33] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "LINES",
    "TMPDIR",
    "ASDF_DATA_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "MISE_DATA_DIR",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RUSTUP_*",
    "SDKMAN_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Returns the built-in profile of that name.
fn built_in(name: &str) -> Option<ProfileSettings> {
    let list = |entries: &[&str]| {
        let entries = entries.iter().map(|entry| (*entry).to_owned());
        Permission::List(entries.collect())
    };
    let project = || list(&[".", PermissionProfile::TMPDIR]);
    match name {
        FULL => Some(ProfileSettings::default()),
        WORKSPACE => Some(ProfileSettings {
            extends: None,
            isolation: Some(Isolation::Sandbox),
            permissions: BTreeMap::from([
                (PermissionKind::Read, project()),
                (PermissionKind::Write, project()),
                (PermissionKind::Net, Permission::None),
                (PermissionKind::Env, list(&SAFE_VARIABLES)),
                (PermissionKind::Ffi, Permission::None),
            ]),
        }),
        "read-only" => Some(ProfileSettings {
            extends: Some(WORKSPACE.to_owned()),
            isolation: None,
            permissions: BTreeMap::from([(
                PermissionKind::Write,
                list(&[PermissionProfile::TMPDIR]),
            )]),
        }),
        LISTING => Some(ProfileSettings {
            extends: None,
            isolation: Some(Isolation::Sandbox),
            permissions: PermissionKind::ALL
                .map(|kind| match kind {
                    PermissionKind::Read => (kind, list(&["."])),
                    _ => (kind, Permission::None),
                })
                .into(),
        }),
        LISTING_OF_PROGRAMS => Some(ProfileSettings {
            extends: Some(LISTING.to_owned()),
            isolation: None,
            permissions: BTreeMap::from([(PermissionKind::Run, Permission::All)]),
        }),
        _ => None,
    }
}

/// Checks the name of a profile that a user defines.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if BUILT_IN.contains(&name) {
        return Err(format!(
            "the profile `{name}` is built in: give yours another name, with `extends: {name}`"
        ));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!(
            "`{name}` cannot be the name of a profile: use letters, digits, `-`, `_` and `.`"
        ));
    }
    Ok(())
}

/// Properties of a tool that decide its profile.
#[derive(Clone, Copy, Debug)]
pub struct ToolPlace<'a> {
    /// The party that the tool's code belongs to.
    pub domain: TrustDomain,
    /// The family.
    pub family: Family,
    /// The name that the tool's author gave it; of a JavaScript module the name of its file, since
    /// all tools of a module have the same rights.
    pub name: &'a str,
}

/// The profile of a tool, before `permissions` and the project's file narrow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name, and the key that names it.
    pub source: ProfileSource,
    /// The separation.
    pub isolation: Isolation,
    /// The permissions, with absolute paths. [`PermissionProfile::TMPDIR`] stands for itself.
    pub permissions: PermissionProfile,
}

/// Reason why a profile cannot be resolved.
enum ProfileError {
    Unknown(String),
    /// The names of the circle, of which the first and the last are the same.
    Circle(Vec<String>),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileError::Unknown(name) => write!(f, "unknown profile `{name}`"),
            ProfileError::Circle(names) => {
                let names = names.join("` → `");
                write!(f, "profiles extend each other in a circle: `{names}`")
            }
        }
    }
}

impl Config {
    /// Returns the configuration in which the tools of an untrusted project are described: in a
    /// sandbox in which they can read the project and do nothing else, whatever the user has set.
    pub fn for_untrusted_listing(&self) -> Config {
        Config {
            trust_project: true,
            use_cache: false,
            is_untrusted_listing: true,
            profiles: BTreeMap::new(),
            sandbox: SandboxSettings {
                required: true,
                project: Some(LISTING.to_owned()),
                families: FamilyProfiles {
                    exec: Some(LISTING_OF_PROGRAMS.to_owned()),
                    ..FamilyProfiles::default()
                },
                ..SandboxSettings::default()
            },
            sources: BTreeMap::new(),
            limits: super::Limits {
                load_timeout: self.limits.load_timeout.min(LISTING_TIMEOUT),
                ..self.limits.clone()
            },
            ..self.clone()
        }
    }

    /// Returns the names of all profiles.
    pub fn profile_names(&self) -> Vec<&str> {
        let own = self.profiles.keys().map(String::as_str);
        BUILT_IN.into_iter().chain(own).collect()
    }

    /// Returns the key that names a profile for the tool's name, and the name of the profile.
    pub(super) fn choice_by_name(&self, place: &ToolPlace<'_>) -> Option<(String, &str)> {
        let by_name = self.sandbox.tools.iter().filter(|(pattern, _)| {
            let matcher = mcp::matcher(pattern);
            matcher.is_ok_and(|matcher| matcher.is_match(place.name))
        });
        let (pattern, name) = by_name.max_by_key(|(pattern, _)| mcp::strength(pattern))?;
        Some((format!("sandbox.tools.{pattern}"), name))
    }

    /// Returns the key that names a profile for the tool's family or domain, and the name of the
    /// profile.
    pub(super) fn choice_by_place(&self, place: &ToolPlace<'_>) -> (String, &str) {
        let sandbox = &self.sandbox;
        let families = &sandbox.families;
        let (key, by_family) = match place.family {
            Family::Js => ("js", &families.js),
            Family::Kodelet | Family::Ikigai | Family::Amp | Family::Gemini => {
                ("exec", &families.exec)
            }
            Family::Shell => ("shell", &families.shell),
            Family::Plugin => ("plugin", &families.plugin),
            Family::Mcp => ("mcp", &families.mcp),
            // Other hosts decide about the rights of their tools.
            Family::Native | Family::Remote => ("", &None),
        };
        if let Some(name) = by_family {
            return (format!("sandbox.families.{key}"), name);
        }
        let (key, by_domain, default) = match place.domain {
            TrustDomain::Project => (PROJECT_KEY, &sandbox.project, WORKSPACE),
            TrustDomain::User => ("sandbox.user", &sandbox.user, FULL),
            TrustDomain::Plugins => ("sandbox.plugins", &sandbox.plugins, FULL),
        };
        (key.to_owned(), by_domain.as_deref().unwrap_or(default))
    }

    /// Returns the profile of that name, which the setting `key` names. Its paths are absolute, and
    /// may have links.
    pub(super) fn profile(&self, name: &str, key: &str, by_project: bool) -> Profile {
        let shown = |file: &Path| paths::shown(file, &self.home);
        let chosen_by = if by_project {
            Some(shown(&self.cwd.join(super::PROJECT_FILE)))
        } else {
            let written = self.sources.get(key).and_then(|written| written.first());
            written.map(|(source, _)| match source {
                SettingSource::File { file, .. } => shown(file),
                other => other.to_string(),
            })
        };
        let source = ProfileSource {
            name: name.to_owned(),
            file: self
                .profiles
                .contains_key(name)
                .then(|| shown(&self.config_file)),
            chosen_by: chosen_by.map(|place| (key.to_owned(), place)),
            by_project,
        };
        // Names are checked when the configuration is resolved. A program that embeds haft can
        // change them afterwards, and a wrong name must not grant anything.
        let stated = self.flattened(name).unwrap_or_else(|_| ProfileSettings {
            isolation: Some(Isolation::Sandbox),
            permissions: PermissionKind::ALL
                .map(|kind| (kind, Permission::None))
                .into(),
            ..ProfileSettings::default()
        });
        let mut permissions = PermissionProfile::everything();
        for (kind, granted) in stated.permissions {
            permissions.set(kind, granted, PermissionSource::Profile(source.clone()));
        }
        super::anchor(&mut permissions, &self.cwd, &self.home);
        Profile {
            source,
            isolation: stated.isolation.unwrap_or(self.isolation),
            permissions,
        }
    }

    /// Returns the profile of that name with everything that it extends.
    fn flattened(&self, name: &str) -> Result<ProfileSettings, ProfileError> {
        let mut merged = ProfileSettings::default();
        let mut names: Vec<String> = Vec::new();
        let mut next = Some(name.to_owned());
        while let Some(name) = next {
            let start = names.iter().position(|earlier| *earlier == name);
            names.push(name.clone());
            if let Some(start) = start {
                return Err(ProfileError::Circle(names.split_off(start)));
            }
            let own = self
                .profiles
                .get(&name)
                .cloned()
                .or_else(|| built_in(&name));
            let own = own.ok_or(ProfileError::Unknown(name))?;
            merged.isolation = merged.isolation.or(own.isolation);
            for (kind, granted) in own.permissions {
                merged.permissions.entry(kind).or_insert(granted);
            }
            next = own.extends;
        }
        Ok(merged)
    }

    /// Fails if a setting names a profile that does not exist, or profiles extend each other in a
    /// circle.
    pub(super) fn check_profiles(&self) -> Result<(), Error> {
        let sandbox = &self.sandbox;
        let families = &sandbox.families;
        let chosen = [
            (PROJECT_KEY, &sandbox.project),
            ("sandbox.user", &sandbox.user),
            ("sandbox.plugins", &sandbox.plugins),
            ("sandbox.families.js", &families.js),
            ("sandbox.families.exec", &families.exec),
            ("sandbox.families.shell", &families.shell),
            ("sandbox.families.plugin", &families.plugin),
            ("sandbox.families.mcp", &families.mcp),
        ];
        let chosen = chosen
            .into_iter()
            .filter_map(|(key, name)| Some((key.to_owned(), name.as_ref()?)));
        let by_name = sandbox.tools.iter();
        let by_name = by_name.map(|(pattern, name)| (format!("sandbox.tools.{pattern}"), name));
        let extended = self.profiles.iter().filter_map(|(name, profile)| {
            Some((
                format!("profiles.{name}.extends"),
                profile.extends.as_ref()?,
            ))
        });
        for (key, name) in extended.chain(chosen).chain(by_name) {
            let written = self.sources.get(&key).and_then(|written| written.first());
            let place = written.map_or(key, |(source, _)| source.to_string());
            self.check_profile(name, &place)?;
        }
        Ok(())
    }

    /// Fails if the profile of that name, which is written at `place`, cannot be resolved.
    pub(super) fn check_profile(&self, name: &str, place: &str) -> Result<(), Error> {
        let Err(problem) = self.flattened(name) else {
            return Ok(());
        };
        let hint = match &problem {
            ProfileError::Unknown(name) => known_here(name, &self.profile_names()),
            ProfileError::Circle(_) => "remove one `extends`".to_owned(),
        };
        Err(Error::new(ErrorKind::Usage, format!("{place}: {problem}")).with_hint(hint))
    }
}

/// The option of `haft trust` that names the profile for the tools of a project.
pub(super) const TRUST_KEY: &str = "--profile";

/// The key of the profile for the tools of a project.
pub(super) const PROJECT_KEY: &str = "sandbox.project";
