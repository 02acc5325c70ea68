//! Permissions of an isolate in the form of Deno's runtime.
//!
//! Deno prefers the narrower of two entries, and haft the denied one, whatever
//! [`PermissionProfile::decide`] says elsewhere. So Deno gets lists in which no allowed entry is
//! within a denied one; patterns that its order does not suit are left out of them, and its prompter
//! (`asking`) asks `decide`. It compares texts, so that paths are compared without the links in
//! their folders ([`RealPathParser`]); a link as the last component is followed by `files`.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use deno_runtime::deno_permissions::{
    AllowRunDescriptorParseResult, DenyRunDescriptor, EnvDescriptor, EnvDescriptorParseError,
    FfiDescriptor, ImportDescriptor, NetDescriptor, NetDescriptorParseError, PathQueryDescriptor,
    PathResolveError, PermissionDescriptorParser, Permissions, PermissionsContainer,
    PermissionsOptions, ReadDescriptor, RunDescriptorParseError, RunQueryDescriptor,
    SpecialFilePathQueryDescriptor, SysDescriptor, SysDescriptorParseError, WriteDescriptor,
};
use deno_runtime::permissions::RuntimePermissionDescriptorParser;
use sys_traits::impls::RealSys;

use haft_process::in_real_folder;
use haft_tool::{PermissionKind, PermissionProfile, PermissionSource};

/// Returns the permissions in the runtime's form.
pub(super) fn of_profile(profile: &PermissionProfile) -> Result<PermissionsContainer, String> {
    let parser = RuntimePermissionDescriptorParser::new(RealSys);
    let permissions = Permissions::from_options(&parser, &deno_permissions(profile))
        .map_err(|error| format!("the configured permissions cannot be used: {error}"))?;
    let has_paths = [
        PermissionKind::Read,
        PermissionKind::Write,
        PermissionKind::Ffi,
    ]
    .into_iter()
    .any(|kind| !profile.of(kind).grants_nothing() && profile.of(kind).is_bounded());
    let parser: Arc<dyn PermissionDescriptorParser> = if has_paths {
        Arc::new(RealPathParser(parser))
    } else {
        Arc::new(parser)
    };
    Ok(PermissionsContainer::new(parser, permissions))
}

/// Returns true if Deno's lists do not contain all that is granted of some kind, so that its prompter
/// has to decide.
pub(super) fn has_asked_entries(profile: &PermissionProfile) -> bool {
    let mut kinds = PermissionKind::ALL.into_iter();
    kinds.any(|kind| !profile.separated_lists(kind).asked.is_empty())
}

fn deno_permissions(profile: &PermissionProfile) -> PermissionsOptions {
    // Deno's notation: `None` for nothing, or a list, which means everything if it is empty.
    let lists = |kind: PermissionKind| {
        let lists = profile.separated_lists(kind);
        let allow = match lists.allow {
            None => Some(Vec::new()),
            Some(allow) => Some(allow).filter(|allow| !allow.is_empty()),
        };
        let deny = Some(lists.deny).filter(|deny| !deny.is_empty());
        (allow, deny)
    };
    let (allow_env, deny_env) = lists(PermissionKind::Env);
    let (allow_ffi, deny_ffi) = lists(PermissionKind::Ffi);
    let (allow_import, deny_import) = lists(PermissionKind::Import);
    let (allow_net, deny_net) = lists(PermissionKind::Net);
    let (allow_read, deny_read) = lists(PermissionKind::Read);
    let (allow_run, deny_run) = lists(PermissionKind::Run);
    let (allow_sys, deny_sys) = lists(PermissionKind::Sys);
    let (allow_write, deny_write) = lists(PermissionKind::Write);
    PermissionsOptions {
        allow_env,
        deny_env,
        ignore_env: hides_variables(profile).then(Vec::new),
        allow_ffi,
        deny_ffi,
        allow_import,
        deny_import,
        allow_net,
        deny_net,
        allow_read,
        deny_read,
        allow_run,
        deny_run,
        allow_sys,
        deny_sys,
        allow_write,
        deny_write,
        prompt: profile.askable.is_some() || has_asked_entries(profile),
        ..Default::default()
    }
}

/// Returns true if variables that are not granted look unset. A profile hides them so, as it does
/// from programs: packages look for many variables (`NODE_ENV`, `DEBUG`) that are seldom set, and
/// would end with an error.
fn hides_variables(profile: &PermissionProfile) -> bool {
    let sources = profile.sources.get(&PermissionKind::Env);
    let of_profile = |source: &PermissionSource| matches!(source, PermissionSource::Profile(_));
    profile.env.denied().is_empty() && sources.into_iter().flatten().any(of_profile)
}

/// Deno's parser, with paths in which the links of the folders are resolved. The last component
/// stays as it is: operations on a link itself need its name.
#[derive(Debug)]
struct RealPathParser(RuntimePermissionDescriptorParser<RealSys>);

impl PermissionDescriptorParser for RealPathParser {
    fn parse_path_query<'a>(
        &self,
        path: Cow<'a, Path>,
    ) -> Result<PathQueryDescriptor<'a>, PathResolveError> {
        let is_absolute = path.is_absolute();
        let written = self.0.parse_path_query(path)?;
        let shown = written.display_name().into_owned();
        let real = in_real_folder(&written.as_descriptor().into_path_buf());
        let real = PathQueryDescriptor::new_known_absolute(Cow::Owned(real));
        // A refusal names a relative path as it was written. Of another one Deno keeps the path before
        // the last link, from which `pinned` sees that there was a link.
        Ok(if is_absolute {
            real
        } else {
            real.with_requested(shown)
        })
    }

    fn parse_read_descriptor(&self, text: &str) -> Result<ReadDescriptor, PathResolveError> {
        self.0.parse_read_descriptor(text)
    }

    fn parse_write_descriptor(&self, text: &str) -> Result<WriteDescriptor, PathResolveError> {
        self.0.parse_write_descriptor(text)
    }

    fn parse_net_descriptor(&self, text: &str) -> Result<NetDescriptor, NetDescriptorParseError> {
        self.0.parse_net_descriptor(text)
    }

    fn parse_import_descriptor(
        &self,
        text: &str,
    ) -> Result<ImportDescriptor, NetDescriptorParseError> {
        self.0.parse_import_descriptor(text)
    }

    fn parse_env_descriptor(&self, text: &str) -> Result<EnvDescriptor, EnvDescriptorParseError> {
        self.0.parse_env_descriptor(text)
    }

    fn parse_sys_descriptor(&self, text: &str) -> Result<SysDescriptor, SysDescriptorParseError> {
        self.0.parse_sys_descriptor(text)
    }

    fn parse_allow_run_descriptor(
        &self,
        text: &str,
    ) -> Result<AllowRunDescriptorParseResult, RunDescriptorParseError> {
        self.0.parse_allow_run_descriptor(text)
    }

    fn parse_deny_run_descriptor(&self, text: &str) -> Result<DenyRunDescriptor, PathResolveError> {
        self.0.parse_deny_run_descriptor(text)
    }

    fn parse_ffi_descriptor(&self, text: &str) -> Result<FfiDescriptor, PathResolveError> {
        self.0.parse_ffi_descriptor(text)
    }

    fn parse_special_file_descriptor<'a>(
        &self,
        path: PathQueryDescriptor<'a>,
    ) -> Result<SpecialFilePathQueryDescriptor<'a>, PathResolveError> {
        self.0.parse_special_file_descriptor(path)
    }

    fn parse_net_query(&self, text: &str) -> Result<NetDescriptor, NetDescriptorParseError> {
        self.0.parse_net_query(text)
    }

    fn parse_run_query<'a>(
        &self,
        requested: &'a str,
    ) -> Result<RunQueryDescriptor<'a>, RunDescriptorParseError> {
        self.0.parse_run_query(requested)
    }
}
