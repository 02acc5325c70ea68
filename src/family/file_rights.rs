//! Rights of one tool file: what the configuration grants it, what the user granted and refused it,
//! and what it asks for.

use std::path::Path;
use std::sync::Arc;

use haft_config::grants;
use haft_config::paths;
use haft_config::permits::{Permit, PermitSubject, Permits};
use haft_config::{Config, Profile, RightsResolver};
use haft_discover::Candidate;
use haft_engine::PermitStore;
use haft_engine::graph::RequestReader;
use haft_process::LinkBounds;
use haft_process::files_of_entry;
use haft_tool::{ApprovalMemory, PermissionRequest, Problem, Tier, Tool, ToolRights};
use haft_tool::{
    Family, Isolation, LeftOutPath, Permission, PermissionKind, PermissionProfile, PermissionSource,
};

/// Rights of the tools of one file, with everything that decided about them.
#[derive(Clone, Debug)]
pub(crate) struct FileRights {
    /// The rights under which the tools run.
    pub(crate) rights: ToolRights,
    /// The profile that the configuration or the user chose for them.
    pub(crate) profile: Profile,
    /// Grants and refusals of the user for this file.
    pub(crate) permit: Option<Permit>,
    /// Permissions that the file asks for.
    pub(crate) requests: Vec<PermissionRequest>,
    /// Permits and requests that do not count.
    pub(crate) problems: Vec<Problem>,
}

/// Reader of the rights of several tool files. What they have in common is read once.
pub(crate) struct RightsReader<'a> {
    config: &'a Config,
    resolver: RightsResolver<'a>,
    store: Permits,
    requests: RequestReader,
}

impl<'a> RightsReader<'a> {
    pub(crate) fn new(config: &'a Config) -> RightsReader<'a> {
        RightsReader {
            config,
            resolver: config.rights(),
            store: permits_of(config),
            requests: RequestReader::default(),
        }
    }

    /// Returns the rights of the tools of a candidate: what the configuration and the user grant
    /// them, narrowed to what they ask for.
    ///
    /// `name` is that of the tool, or of the MCP server; tools of a module share their rights, and its
    /// key stands for all of them.
    ///
    /// # Errors
    /// With a problem of the file, if what the user refused it is not known. It must not be loaded.
    pub(crate) fn of(&self, candidate: &Candidate, name: &str) -> Result<FileRights, Box<Problem>> {
        let (config, resolver, store) = (self.config, &self.resolver, &self.store);
        let place = candidate.place(name);
        let at_trust = candidate.verified.as_ref();
        let profile = match at_trust.and_then(|trusted| trusted.profile.as_deref()) {
            Some(name) => resolver.profile_at_trust(&place, name),
            None => resolver.profile_of(&place),
        };
        let mut problems = Vec::new();
        let permit = if config.is_untrusted_listing {
            None
        } else {
            let subject = subject_of(candidate, name);
            store.read(&subject).map_err(|error| {
                let name = candidate.likely_name();
                Box::new(store.problem(&subject, &error).about(name))
            })?
        };
        if let Some(permit) = &permit
            && !permit.allow.is_empty()
            && !permit.is_current()
        {
            problems.push(changed(candidate));
        }
        let widest = Profile {
            permissions: PermissionProfile::everything(),
            ..profile.clone()
        };
        let widest = resolver.bounded(place.domain, widest);
        let is_recorded = config.records_permissions_of.as_deref() == Some(&*candidate.resolved);
        let mut rights = if is_recorded {
            ToolRights {
                permissions: Arc::new(recordable(&widest.permissions)),
                ..widest.clone()
            }
        } else {
            let mut granted = profile.clone();
            widen_to_place(&mut granted.permissions, candidate, config);
            if let Some(permit) = &permit {
                granted.permissions = permit.widened(granted.permissions);
            }
            resolver.bounded(place.domain, granted)
        };
        let mut permissions = PermissionProfile::clone(&rights.permissions);
        // Plain `permissions` are the user's last word; a profile is a proposal.
        let is_chosen = !profile.permissions.sources.is_empty() || permit.is_some();
        if is_chosen && !is_recorded {
            permissions.askable = Some(Box::new(PermissionProfile::clone(&widest.permissions)));
        }
        if let Some(permit) = &permit {
            permissions = permissions.narrowed(&permit.bounds());
        }
        let requests = requests_of(candidate, &self.requests);
        for request in &requests {
            let shown = PermissionRequest {
                file: paths::shown(Path::new(&request.file), &config.home),
                ..request.clone()
            };
            if let Some(mut bounds) = shown.bounds() {
                bounds.anchor(|entry| config.anchored(entry));
                resolver.resolve_paths(&mut bounds);
                permissions = if rights.isolation == Isolation::Sandbox {
                    permissions.narrowed_in_sandbox(&bounds)
                } else {
                    permissions.narrowed(&bounds)
                };
            }
            let place = |problem: Problem| Problem {
                path: Some(candidate.path.clone()),
                ..problem
            };
            problems.extend(request.problem().map(place));
        }
        let left_out = permissions.left_out.iter().map(LeftOutPath::problem);
        problems.extend(left_out.map(|problem| Problem {
            path: Some(candidate.path.clone()),
            ..problem
        }));
        permissions.resolve_entries(&files_of_entry);
        rights.permissions = Arc::new(permissions);
        Ok(FileRights {
            rights,
            profile,
            permit,
            requests,
            problems,
        })
    }
}

/// Adds the folder with a project's `.opencode` to the lists of paths that contain the working
/// directory, which may be below it: opencode's tools work on the whole repository. The home
/// directory and the directories above it are never added: they are not a project's, even where
/// they are a repository.
fn widen_to_place(permissions: &mut PermissionProfile, candidate: &Candidate, config: &Config) {
    let is_opencode = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".opencode");
    let folders = candidate.resolved.ancestors();
    let place = folders.filter(is_opencode).find_map(Path::parent);
    // The place is a real path, because that of the candidate is one.
    let (home, cwd) = (grants::real(&config.home), grants::real(&config.cwd));
    let is_project = |place: &&Path| place.parent().is_some() && !home.starts_with(place);
    let is_above = |place: &&Path| cwd.starts_with(place) && *place != cwd;
    let Some(place) = place.filter(is_above).filter(is_project) else {
        return;
    };
    let (cwd, place) = (cwd.display().to_string(), place.display().to_string());
    for kind in [PermissionKind::Read, PermissionKind::Write] {
        if let Permission::List(list) = permissions.of_mut(kind)
            && list.contains(&cwd)
        {
            list.push(place.clone());
        }
    }
}

/// Returns what the permits of the tool or the server `name` of a candidate are about.
pub(crate) fn subject_of(candidate: &Candidate, name: &str) -> PermitSubject {
    match candidate.source.family {
        Family::Mcp => PermitSubject::of_server(&candidate.resolved, name),
        _ => PermitSubject::of_file(&candidate.resolved),
    }
}

/// Returns what the permits of a tool are about.
pub(crate) fn subject_of_tool(tool: &Tool, file: &Path) -> PermitSubject {
    match (tool.source.family, &tool.source.plugin) {
        (Family::Mcp, Some(server)) => PermitSubject::of_server(file, server),
        _ => PermitSubject::of_file(file),
    }
}

fn permits_of(config: &Config) -> Permits {
    Permits::at(&config.state_dir, &config.home, &config.cwd)
}

/// Store of what users grant tools when they are asked.
pub(crate) struct GrantingStore {
    permits: Permits,
    links: LinkBounds,
}

impl GrantingStore {
    pub(crate) fn new(config: &Config) -> GrantingStore {
        GrantingStore {
            permits: permits_of(config),
            links: config.link_bounds(),
        }
    }
}

impl PermitStore for GrantingStore {
    fn grant(&self, file: &Path, kind: PermissionKind, what: &str) -> Result<(), String> {
        change(&self.permits, &PermitSubject::of_file(file), |permit| {
            let allowed = permit.allow(kind, Some(what), &self.links);
            allowed.map_err(|refusal| refusal.to_string())
        })
    }
}

/// Changes what the user granted and refused.
fn change(
    store: &Permits,
    subject: &PermitSubject,
    change: impl FnOnce(&mut Permit) -> Result<(), String>,
) -> Result<(), String> {
    let before = store.read(subject).map_err(|error| error.to_string())?;
    let renewed = Permit::renewed(subject, before.as_ref());
    let mut permit = renewed.map_err(|error| error.message().to_owned())?;
    change(&mut permit)?;
    let written = store.write(&permit);
    written.map_err(|error| error.message().to_owned())
}

/// The user's answers about the calls of one tool, beside what its file may access.
struct StoredApprovals {
    store: Permits,
    subject: PermitSubject,
    tool: String,
}

/// Returns the user's answers about the calls of a tool that count for later calls; `None` if it
/// has no file to which they could be bound.
pub(crate) fn approvals_of(
    config: &Config,
    file: &Path,
    tool: &Tool,
) -> Option<Arc<dyn ApprovalMemory>> {
    file.is_file().then(|| {
        Arc::new(StoredApprovals {
            store: permits_of(config),
            subject: subject_of_tool(tool, file),
            tool: tool.name.clone(),
        }) as Arc<dyn ApprovalMemory>
    })
}

impl ApprovalMemory for StoredApprovals {
    fn approved(&self) -> Option<Tier> {
        let permit = self.store.read(&self.subject).ok()??;
        let tier = permit.approved.get(&self.tool).copied();
        tier.filter(|_| permit.is_current())
    }

    fn approve(&self, tier: Tier) -> Result<(), String> {
        change(&self.store, &self.subject, |permit| {
            permit.approved.insert(self.tool.clone(), tier);
            Ok(())
        })
    }
}

/// Returns what the file asks for: as it was trusted, or as it is if it is the user's own.
fn requests_of(candidate: &Candidate, reader: &RequestReader) -> Vec<PermissionRequest> {
    if let Some(verified) = &candidate.verified {
        let entry = verified.entries.get(&candidate.resolved);
        let by_alias = || {
            let alias = verified.alias.as_deref()?;
            let rest = candidate.resolved.strip_prefix(alias).ok()?;
            verified.entries.get(&verified.project.join(rest))
        };
        return entry
            .or_else(by_alias)
            .map(|entry| entry.requests.clone())
            .unwrap_or_default();
    }
    match candidate.source.family {
        Family::Js => reader.of_module(&candidate.resolved),
        // A YAML tool compares its `required-permissions` itself; other files ask for nothing.
        _ => Vec::new(),
    }
}

/// Returns the same permissions in a form in which the runtime reports reads and writes apart: it
/// does not tell them apart where both are granted as a whole.
fn recordable(ceiling: &PermissionProfile) -> PermissionProfile {
    let mut permissions = ceiling.clone();
    for (kind, granted) in [
        (PermissionKind::Read, &ceiling.read),
        (PermissionKind::Write, &ceiling.write),
    ] {
        if *granted == Permission::All {
            let sources = permissions.sources.get(&kind).cloned();
            let source = sources.into_iter().flatten().next();
            let source = source.unwrap_or(PermissionSource::Permit);
            permissions.set(kind, Permission::List(vec!["/".to_owned()]), source);
        }
    }
    permissions.is_recorded = true;
    permissions
}

fn changed(candidate: &Candidate) -> Problem {
    let text = "the permissions that you granted this tool do not count: its file has changed";
    let hint = "`haft permit NAME --keep` grants them to the changed file";
    Problem::warning(text).at(&candidate.path).hint(hint)
}
