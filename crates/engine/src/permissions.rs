//! Permissions of an isolate in the form of Deno's runtime.

use std::sync::Arc;

use deno_runtime::deno_permissions::{Permissions, PermissionsContainer, PermissionsOptions};
use deno_runtime::permissions::RuntimePermissionDescriptorParser;
use sys_traits::impls::RealSys;

use haft_tool::{Permission, PermissionKind, PermissionProfile, PermissionSource};

/// Returns the permissions in the runtime's form.
pub(super) fn of_profile(profile: &PermissionProfile) -> Result<PermissionsContainer, String> {
    let parser = Arc::new(RuntimePermissionDescriptorParser::new(RealSys));
    let permissions = Permissions::from_options(&*parser, &deno_permissions(profile))
        .map_err(|error| format!("the configured permissions cannot be used: {error}"))?;
    Ok(PermissionsContainer::new(parser, permissions))
}

fn deno_permissions(profile: &PermissionProfile) -> PermissionsOptions {
    let denied = |permission: &Permission| {
        let list = permission.denied();
        (!list.is_empty()).then(|| list.to_vec())
    };
    PermissionsOptions {
        allow_env: profile.env.granted(),
        deny_env: denied(&profile.env),
        ignore_env: hides_variables(profile).then(Vec::new),
        allow_ffi: profile.ffi.granted(),
        deny_ffi: denied(&profile.ffi),
        allow_import: profile.import.granted(),
        deny_import: denied(&profile.import),
        allow_net: profile.net.granted(),
        deny_net: denied(&profile.net),
        allow_read: profile.read.granted(),
        deny_read: denied(&profile.read),
        allow_run: profile.run.granted(),
        deny_run: denied(&profile.run),
        allow_sys: profile.sys.granted(),
        deny_sys: denied(&profile.sys),
        allow_write: profile.write.granted(),
        deny_write: denied(&profile.write),
        // The prompter of `asking` asks the user of the call.
        prompt: profile.askable.is_some(),
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
