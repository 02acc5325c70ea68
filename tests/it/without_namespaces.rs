//! The attack suite where the system allows no namespaces, so that Landlock and seccomp stand alone:
//! as in many containers. The tests run once more, in a user namespace in which no other may be made.

use std::env;
use std::process::Command;

/// Tests of what a sandbox holds.
const TESTS: [&str; 13] = [
    "denied::what_is_denied",
    "denied::a_denied_program",
    "git::git_runs_in_the_sandbox_of_the_project",
    "granted_paths::a_link",
    "granted_paths::credentials",
    "granted_paths::in_a_sandbox",
    "granted_paths::no_link",
    "sandbox_attacks::no_attempt_leaves_the_sandbox_and_each_works_without_it",
    "state::a_program_in_a_sandbox",
    "state::a_script",
    "state::what_was_refused",
    "verified_programs::no_family_starts_a_program_that_changed",
    "without_namespaces::this_process_has_none",
];

/// Variable of the environment of that process.
const RESTRICTED: &str = "HAFT_TEST_WITHOUT_NAMESPACES";

/// Forbids each kind of namespace, and starts a program.
const FORBID: &str =
    "for limit in /proc/sys/user/max_*_namespaces; do echo 0 > \"$limit\"; done; exec \"$@\"";

#[test]
fn this_process_has_none() {
    if env::var_os(RESTRICTED).is_some() {
        let kinds = haft_process::sandbox::available().namespaces;
        assert!(kinds.is_empty(), "{kinds:?}");
    }
}

#[test]
fn slow_the_attack_suite_holds_with_landlock_alone() {
    // Where there are none, the tests themselves ran without.
    if haft_process::sandbox::available().namespaces.is_empty() {
        return;
    }
    let tests = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", FORBID, "sh"])
        .arg(env::current_exe().expect("Linux"))
        .args(TESTS)
        .env(RESTRICTED, "1")
        .output()
        .expect("`unshare` is on every machine");
    let output = String::from_utf8_lossy(&tests.stdout);
    assert!(
        tests.status.success() && output.contains("this_process_has_none ... ok"),
        "{output}{}",
        String::from_utf8_lossy(&tests.stderr)
    );
}
