//! Programs and folders that other users of the machine can replace: nothing there is started.
//!
//! Only root can create files of other users, so the tests need root, as in CI.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use crate::sandbox::Sandbox;

/// The user id of `nobody`.
const OTHER: u32 = 65534;

/// A tool of ikigai's that leaves a trace when it is started.
const TOOL: &str = "#!/bin/sh\necho started >> \"$HOME/trace\"\n\
    echo '{\"name\":\"probe\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}'\n";

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a file of ours");
}

fn give_away(path: &Path) {
    chown(path, Some(OTHER), None).expect("root may");
}

/// Returns true if listing starts the tool in `PREFIX/libexec/haft`, and the output.
fn listed(sandbox: &Sandbox, prefix: &Path) -> (bool, String) {
    let trace = sandbox.path().join("home/trace");
    let _ = fs::remove_file(&trace);
    let ran = sandbox.sh(&format!(
        "HAFT_IKIGAI_PREFIX={} haft list",
        prefix.display()
    ));
    assert_eq!(ran.code, 0, "{}", ran.output);
    (trace.exists(), ran.output)
}

fn installed(sandbox: &Sandbox) -> std::path::PathBuf {
    let tool = sandbox.write("prefix/libexec/haft/probe", TOOL);
    set_mode(&tool, 0o755);
    for folder in ["prefix", "prefix/libexec", "prefix/libexec/haft"] {
        set_mode(&sandbox.path().join(folder), 0o755);
    }
    sandbox.path().join("prefix")
}

#[test]
fn a_program_in_a_safe_folder_is_started() {
    let sandbox = Sandbox::with_home();
    let prefix = installed(&sandbox);
    let (started, said) = listed(&sandbox, &prefix);
    assert!(started, "{said}");
}

#[test]
fn no_program_below_a_folder_that_others_may_write_to_is_started() {
    for exposed in ["prefix", "prefix/libexec", "prefix/libexec/haft"] {
        let sandbox = Sandbox::with_home();
        let prefix = installed(&sandbox);
        set_mode(&sandbox.path().join(exposed), 0o777);
        let (started, said) = listed(&sandbox, &prefix);
        assert!(!started, "{exposed}\n{said}");
        let why = format!("everybody may write to `$CASE/{exposed}`");
        assert!(said.contains(&why), "{said}");
    }
}

#[test]
fn the_sticky_bit_protects_our_files_in_a_world_writable_folder() {
    let sandbox = Sandbox::with_home();
    let prefix = installed(&sandbox);
    set_mode(&prefix, 0o1777);
    let (started, said) = listed(&sandbox, &prefix);
    assert!(started, "{said}");
    if is_root() {
        give_away(&prefix.join("libexec"));
        let (started, said) = listed(&sandbox, &prefix);
        assert!(!started, "{said}");
        assert!(said.contains("belongs to user 65534"), "{said}");
    }
}

#[test]
fn no_program_of_another_user_is_started() {
    if !is_root() {
        return;
    }
    for given in ["prefix", "prefix/libexec/haft", "prefix/libexec/haft/probe"] {
        let sandbox = Sandbox::with_home();
        let prefix = installed(&sandbox);
        give_away(&sandbox.path().join(given));
        let (started, said) = listed(&sandbox, &prefix);
        assert!(!started, "{given}\n{said}");
        let why = format!("`$CASE/{given}` belongs to user 65534");
        assert!(said.contains(&why), "{said}");
    }
}

#[test]
fn a_link_through_a_folder_of_others_is_not_followed() {
    let sandbox = Sandbox::with_home();
    let prefix = installed(&sandbox);
    let open = sandbox.path().join("open");
    fs::create_dir(&open).expect("a folder of ours");
    set_mode(&open, 0o777);
    symlink(&prefix, open.join("link")).expect("a folder of ours");
    symlink(open.join("link"), sandbox.path().join("way")).expect("a folder of ours");
    let (started, said) = listed(&sandbox, &sandbox.path().join("way"));
    assert!(!started, "{said}");
    assert!(
        said.contains("everybody may write to `$CASE/open`"),
        "{said}"
    );
}

#[test]
fn a_git_that_others_can_replace_is_passed_over() {
    let sandbox = Sandbox::with_home();
    let fake = sandbox.write("open/git", "#!/bin/sh\necho fake >> \"$HOME/trace\"\n");
    set_mode(&fake, 0o755);
    set_mode(&sandbox.path().join("open"), 0o777);
    let call = "git init -q . && HAFT_BUILTIN_TOOLS=1 PATH=$CASE/open:$PATH haft call git-status";
    let ran = sandbox.sh(call);
    assert!(
        !sandbox.path().join("home/trace").exists(),
        "{}",
        ran.output
    );
    assert_eq!(ran.code, 0, "{}", ran.output);
    // If it is the only one on the PATH, there is an error with the reason.
    let ran = sandbox
        .sh("haft=$(command -v haft); HAFT_BUILTIN_TOOLS=1 PATH=$CASE/open $haft call git-status");
    assert!(
        !sandbox.path().join("home/trace").exists(),
        "{}",
        ran.output
    );
    assert!(
        ran.output.contains("everybody may write to `$CASE/open`"),
        "{}",
        ran.output
    );
}

/// Relative folders of the `PATH` count as the project's.
#[test]
fn a_git_of_the_project_is_passed_over() {
    let sandbox = Sandbox::with_home();
    let fake = sandbox.write("bin/git", "#!/bin/sh\necho fake >> \"$HOME/trace\"\n");
    set_mode(&fake, 0o755);
    let ran =
        sandbox.sh("git init -q . && HAFT_BUILTIN_TOOLS=1 PATH=bin:.:$PATH haft call git-status");
    assert_eq!(ran.code, 0, "{}", ran.output);
    assert!(
        !sandbox.path().join("home/trace").exists(),
        "{}",
        ran.output
    );
}

#[test]
fn trust_in_a_folder_that_others_can_replace_is_not_believed() {
    let exposed = ["state", "state/haft"];
    for exposed in exposed {
        let sandbox = Sandbox::with_home();
        sandbox.write(".omp/tools/t.ts", "globalThis.x = 1; export default {}");
        sandbox.write("state/place", "");
        let ran = sandbox.sh("XDG_STATE_HOME=$CASE/state haft trust --yes");
        assert_eq!(ran.code, 0, "{}", ran.output);
        set_mode(&sandbox.path().join(exposed), 0o777);
        let ran = sandbox.sh("XDG_STATE_HOME=$CASE/state haft list");
        let why = format!("the stored trust is not used: everybody may write to `$CASE/{exposed}`");
        assert!(ran.output.contains(&why), "{}", ran.output);
        assert!(ran.output.contains("untrusted"), "{}", ran.output);
    }
}
