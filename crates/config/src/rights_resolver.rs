//! Rights of tools with real paths.
//!
//! Profiles, `permissions` and a project's own file name paths. What a tool has is what all of them
//! grant, and two texts with links cannot be compared. So each path is resolved before anything is
//! narrowed, and once for all tools whose rights are read together.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_process::LinkBounds;
use haft_tool::{
    Isolation, Level, Permission, PermissionKind, PermissionProfile, PermissionSource, ToolRights,
    TrustDomain,
};

use super::profiles::{PROJECT_KEY, Profile, TRUST_KEY, ToolPlace};
use super::{Config, grants, repository};

/// Computes the rights of tools, and the real paths that they grant.
pub struct RightsResolver<'a> {
    config: &'a Config,
    links: OnceCell<LinkBounds>,
    /// Real paths by entry.
    resolved: RefCell<HashMap<String, Result<String, String>>>,
    /// Files that git keeps outside of the project about its repository.
    repository: OnceCell<Vec<PathBuf>>,
}

impl Config {
    /// Returns the resolver of the rights that this configuration gives.
    pub fn rights(&self) -> RightsResolver<'_> {
        RightsResolver {
            config: self,
            links: OnceCell::new(),
            resolved: RefCell::default(),
            repository: OnceCell::new(),
        }
    }

    /// Returns the bounds of the links on the way to a granted path: links in the project, in the
    /// repository that contains it, in the folder for temporary files, and in folders that tools may
    /// write to, may not lead out of that folder.
    pub fn link_bounds(&self) -> LinkBounds {
        let home = grants::real(&self.home);
        // The home directory, and what contains it, is the user's own.
        let is_bounded = |folder: &Path| !home.starts_with(folder);
        let folders = [self.cwd.clone(), self.repository(), self.temp_dir.clone()];
        let folders = folders.iter().map(|folder| grants::real(folder));
        let mut bounds = LinkBounds::new(folders.filter(|folder| is_bounded(folder)));
        let before = bounds.clone();
        let profiles = self.profiles.values();
        let written =
            profiles.filter_map(|profile| profile.permissions.get(&PermissionKind::Write));
        for permission in written.chain([&self.permissions.write]) {
            for entry in permission.allowed().unwrap_or_default() {
                let real = before.resolve(Path::new(&self.anchored(entry)));
                if let Ok(real) = real
                    && is_bounded(real.as_path())
                {
                    bounds.add(real.as_path());
                }
            }
        }
        bounds
    }

    /// Returns the real path of the repository that contains the project, or of the project.
    pub fn repository(&self) -> PathBuf {
        let project = grants::real(&self.cwd);
        let home = grants::real(&self.home);
        let mut above = project
            .ancestors()
            .take_while(|folder| !home.starts_with(folder));
        let repository = above.find(|folder| folder.join(".git").exists());
        repository.map(Path::to_owned).unwrap_or(project)
    }

    /// Returns an entry of a list with an absolute path. Relative paths start at the project.
    pub fn anchored(&self, entry: &str) -> String {
        super::anchored(entry, &self.cwd, &self.home)
    }
}

impl RightsResolver<'_> {
    /// Returns the rights of a tool: those of its profile, as far as `permissions` and the
    /// project's own file grant them.
    pub fn rights_of(&self, place: &ToolPlace<'_>) -> ToolRights {
        self.bounded(place.domain, self.profile_of(place))
    }

    /// Returns the profile of a tool, before anything narrows it.
    pub fn profile_of(&self, place: &ToolPlace<'_>) -> Profile {
        self.profile_with(place, None)
    }

    /// Returns the profile of a trusted project's tool. `at_trust` is the profile that the user
    /// chose when the project was trusted, in place of `sandbox.project`.
    pub fn profile_at_trust(&self, place: &ToolPlace<'_>, at_trust: &str) -> Profile {
        self.profile_with(place, Some(at_trust))
    }

    fn profile_with(&self, place: &ToolPlace<'_>, at_trust: Option<&str>) -> Profile {
        let (key, name) = self.config.choice_by_place(place);
        let by_place = match at_trust {
            Some(chosen) if key == PROJECT_KEY => self.profile_by_trust(chosen),
            _ => self.profile(name, &key, false),
        };
        let Some((key, name)) = self.config.choice_by_name(place) else {
            return by_place;
        };
        let by_name = self.profile(name, &key, false);
        if place.domain == TrustDomain::User {
            return by_name;
        }
        Profile {
            permissions: by_place.permissions.narrowed(&by_name.permissions),
            isolation: by_place.isolation.max(by_name.isolation),
            source: by_name.source,
        }
    }

    /// Returns the profile of that name, which the user chose with `haft trust`.
    fn profile_by_trust(&self, name: &str) -> Profile {
        let mut profile = self.profile(name, TRUST_KEY, false);
        profile.source.chosen_by = Some((TRUST_KEY.to_owned(), "`haft trust`".to_owned()));
        let chosen = PermissionSource::Profile(profile.source.clone());
        for sources in profile.permissions.sources.values_mut() {
            *sources = vec![chosen.clone()];
        }
        profile
    }

    fn profile(&self, name: &str, key: &str, by_project: bool) -> Profile {
        let mut profile = self.config.profile(name, key, by_project);
        self.add_repository(&mut profile.permissions.read);
        self.resolve_paths(&mut profile.permissions);
        profile
    }

    /// Lets a tool that may read the project read what belongs to its git repository.
    fn add_repository(&self, read: &mut Permission) {
        let config = self.config;
        let project = config.cwd.to_str();
        if let Permission::List(allow) = read
            && !config.is_untrusted_listing
            && allow.iter().any(|entry| Some(&**entry) == project)
        {
            let find = || repository::files_outside(&config.cwd, &config.home);
            let files = self.repository.get_or_init(find).iter();
            allow.extend(files.filter_map(|file| Some(file.to_str()?.to_owned())));
        }
    }

    /// Returns the permissions of tools of that level.
    pub fn permissions_of(&self, level: Level) -> PermissionProfile {
        let mut permissions = self.config.permissions.clone();
        self.resolve_paths(&mut permissions);
        match level {
            Level::User | Level::Host => permissions,
            Level::Project => {
                let mut own = self.config.narrowing.permissions.clone();
                self.resolve_paths(&mut own);
                permissions.narrowed(&own)
            }
        }
    }

    /// Returns the rights of a tool of that domain with that profile: those that `permissions` and
    /// the project's own file grant, too.
    pub fn bounded(&self, domain: TrustDomain, profile: Profile) -> ToolRights {
        let config = self.config;
        let mut wanted = profile.permissions;
        let mut isolation = profile.isolation;
        let is_project = domain == TrustDomain::Project;
        if is_project {
            isolation = isolation.max(config.narrowing.isolation);
            if let Some(name) = &config.narrowing.profile {
                let own = self.profile(name, PROJECT_KEY, true);
                isolation = isolation.max(own.isolation);
                wanted = wanted.narrowed(&own.permissions);
            }
        }
        let level = if is_project {
            Level::Project
        } else {
            Level::User
        };
        let mut bounds = self.permissions_of(level);
        let is_stated = wanted.sources.contains_key(&PermissionKind::Ffi);
        if is_stated && !bounds.sources.contains_key(&PermissionKind::Ffi) {
            // `ffi: none` is only a default then, and the profile says something else.
            bounds.ffi = Permission::All;
        }
        let permissions = if isolation == Isolation::Sandbox {
            bounds.narrowed_in_sandbox(&wanted)
        } else {
            let mut wanted = wanted.with_tmpdir(&grants::real(&config.temp_dir));
            self.resolve_paths(&mut wanted);
            bounds.narrowed(&wanted)
        };
        ToolRights {
            permissions: Arc::new(permissions),
            isolation,
        }
    }

    /// Replaces the granted paths, which are absolute, with real ones.
    pub fn resolve_paths(&self, permissions: &mut PermissionProfile) {
        permissions.resolve_paths(|entry| self.resolve(entry));
    }

    /// Returns the real path that an entry with an absolute path grants.
    ///
    /// # Errors
    /// The reason why it grants nothing, as a fragment for people.
    pub fn resolve(&self, entry: &str) -> Result<String, String> {
        if let Some(known) = self.resolved.borrow().get(entry) {
            return known.clone();
        }
        let resolved = self.resolve_now(entry);
        let mut all = self.resolved.borrow_mut();
        if let Ok(real) = &resolved {
            all.insert(real.clone(), Ok(real.clone()));
        }
        all.insert(entry.to_owned(), resolved.clone());
        resolved
    }

    fn resolve_now(&self, entry: &str) -> Result<String, String> {
        if PermissionProfile::is_below_tmpdir(entry) {
            // The folder is put in place of its name later.
            return Ok(entry.to_owned());
        }
        let links = self.links.get_or_init(|| self.config.link_bounds());
        let granted = links.resolve(Path::new(entry));
        let granted = granted.map_err(|refusal| refusal.to_string())?;
        let real = granted.as_path().to_str().map(str::to_owned);
        real.ok_or_else(|| "it leads to a path that is not UTF-8".to_owned())
    }
}
