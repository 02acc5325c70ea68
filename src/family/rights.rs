//! Conversion of a tool's permissions to the rights of its programs.

use haft_process::{Names, Rights};
use haft_tool::{Error, ErrorKind};
use haft_tool::{Permission, PermissionKind, PermissionProfile};

/// Returns the rights of programs that are started under these permissions.
pub(super) fn rights(profile: &PermissionProfile) -> Rights {
    let names = |permission: &Permission| Names {
        allow: match permission.granted() {
            None => Some(Vec::new()),
            Some(list) if list.is_empty() => None,
            list => list,
        },
        deny: permission.denied().to_vec(),
    };
    let refusal = {
        let profile = profile.clone();
        move |program: &str| profile.refusal(PermissionKind::Run, program)
    };
    Rights::new(&names(&profile.run), names(&profile.env), refusal)
}

/// Converts a refusal, whose second line is the hint, to an error of a call.
pub(super) fn denied(refusal: &str) -> Error {
    match refusal.split_once("\nhint: ") {
        Some((text, hint)) => Error::new(ErrorKind::Denied, text).with_hint(hint),
        None => Error::new(ErrorKind::Denied, refusal),
    }
}
