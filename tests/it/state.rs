//! haft's own files: modes that programs of the same user change, also from a sandbox, and records that
//! cannot be believed. What the user refused stays refused, and each call is in the log.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::callers::{Bearer, serve};
use crate::sandbox::Sandbox;

const READER: &str = r#"
import fs from "node:fs";
export default (pi) => ({ name: "reader", description: "d", parameters: { type: "object" },
  async execute() {
    let text;
    try { text = fs.readFileSync("private", "utf8"); } catch { text = "refused"; }
    return { content: [{ type: "text", text }] };
  } });
"#;

/// A tool of a project that runs what it is given, in the default sandbox.
const RUNS: &str = "name: runs\ndescription: d\nbash: |\n  {C}\nparameters: {C: {type: string, \
                    description: c, required: true}}\ntags: [run]\n";

fn state(sandbox: &Sandbox, path: &str) -> PathBuf {
    sandbox.path().join("home/.local/state/haft").join(path)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .expect("it is there")
        .permissions()
        .mode()
        & 0o7777
}

/// A trusted project with both tools. The user refused `reader` the file `private`.
fn project() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write(".omp/tools/reader.ts", READER);
    sandbox.write(".cycod/tools/runs.yaml", RUNS);
    sandbox.write("private", "KEY");
    for line in [
        "haft trust --yes",
        "haft permit reader --deny read=./private",
    ] {
        let ran = sandbox.sh(line);
        assert_eq!(ran.code, 0, "{}", ran.output);
    }
    assert_eq!(sandbox.sh("haft call reader").output, "refused\n");
    sandbox
}

/// Calls `runs` with a command, as a tool of the project would.
fn run_in_sandbox(sandbox: &Sandbox, command: &str) -> String {
    sandbox.write("command", command);
    let line = "haft call runs --yolo --arg \"C=$(cat command)\" 2>&1";
    sandbox.sh(line).output
}

/// Returns the one file in a folder of the state.
fn only_file(sandbox: &Sandbox, folder: &str) -> PathBuf {
    let entries = fs::read_dir(state(sandbox, folder)).expect("a folder");
    let files = entries.flatten().map(|entry| entry.path());
    let files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[test]
fn what_was_refused_stays_refused_whatever_becomes_of_its_file() {
    let sandbox = project();
    let folder = state(&sandbox, "permits");
    let file = only_file(&sandbox, "permits");
    let text = fs::read(&file).expect("ours");
    for wrong in [0o000, 0o644, 0o755, 0o666, 0o622] {
        set_mode(&file, wrong);
        let said = sandbox.sh("haft call reader 2>&1").output;
        assert!(!said.contains("KEY"), "{wrong:o}: {said}");
        set_mode(&file, 0o600);
    }
    for wrong in [0o000, 0o755, 0o777, 0o300] {
        set_mode(&folder, wrong);
        let said = sandbox.sh("haft call reader 2>&1").output;
        assert!(!said.contains("KEY"), "{wrong:o}: {said}");
        set_mode(&folder, 0o700);
    }
    for damage in ["", "{", "{\"version\": 7}", "null"] {
        fs::write(&file, damage).expect("ours");
        let ran = sandbox.sh("haft call reader 2>&1");
        assert!(
            ran.code != 0 && !ran.output.contains("KEY"),
            "{damage}: {}",
            ran.output
        );
        let listed = sandbox.sh("haft list 2>&1").output;
        let why = "what you permitted and refused this tool cannot be read";
        assert!(
            listed.contains(why) && listed.contains("hint: remove that file"),
            "{listed}"
        );
    }
    fs::remove_file(&file).expect("ours");
    let elsewhere = sandbox.path().join("elsewhere");
    fs::write(&elsewhere, &text).expect("ours");
    symlink(&elsewhere, &file).expect("it is free");
    let ran = sandbox.sh("haft call reader 2>&1");
    assert!(!ran.output.contains("KEY"), "{}", ran.output);
    fs::remove_file(&file).expect("ours");
    fs::create_dir(&file).expect("it is free");
    let ran = sandbox.sh("haft call reader 2>&1");
    assert!(!ran.output.contains("KEY"), "{}", ran.output);
    // A new permit does not begin without what was refused before.
    let ran = sandbox.sh("haft permit reader --allow net=example.org 2>&1");
    assert!(
        ran.code != 0 && ran.output.contains("cannot be read"),
        "{}",
        ran.output
    );
    fs::remove_dir(&file).expect("ours");
    fs::write(&file, &text).expect("ours");
    set_mode(&file, 0o600);
    assert_eq!(sandbox.sh("haft call reader").output, "refused\n");
}

#[test]
fn modes_that_only_took_rights_or_let_others_read_are_set_right_and_told_once() {
    let sandbox = project();
    let file = only_file(&sandbox, "permits");
    set_mode(&file, 0o444);
    let said = sandbox.sh("haft call reader 2>&1").output;
    assert!(said.contains("refused\n"), "{said}");
    assert_eq!(
        said.matches("was 0444 instead of 0600").count(),
        1,
        "{said}"
    );
    assert_eq!(mode(&file), 0o600);
    assert_eq!(sandbox.sh("haft call reader 2>&1").output, "refused\n");
    let trust = only_file(&sandbox, "trust");
    set_mode(&trust, 0o000);
    let said = sandbox.sh("haft call reader 2>&1").output;
    assert!(said.contains("refused\n"), "{said}");
    assert_eq!(mode(&trust), 0o600);
}

#[test]
fn a_program_in_a_sandbox_undoes_no_refusal_and_silences_no_log() {
    let sandbox = project();
    for target in [
        "permits",
        "permits/*",
        "trust",
        "trust/*.json",
        "audit",
        "audit/audit.jsonl",
        "audit/head.json",
        "audit/lock",
        "",
    ] {
        for wrong in ["000", "666", "777", "755"] {
            let place = state(&sandbox, target).display().to_string();
            let before = sandbox.sh("haft log --json -n 0").output.lines().count();
            run_in_sandbox(
                &sandbox,
                &format!("chmod {wrong} {place} 2>/dev/null; true"),
            );
            let said = sandbox.sh("haft call reader 2>&1").output;
            assert!(!said.contains("KEY"), "{target} {wrong}: {said}");
            let after = sandbox.sh("haft log --json -n 0").output.lines().count();
            assert!(after > before, "{target} {wrong}: the call is recorded");
            // What the user does after the message.
            let _ = sandbox.sh("chmod -R u+rwX,go-rwx home/.local/state/haft");
        }
    }
}

#[test]
fn a_wrong_mode_of_the_log_is_set_right_recorded_and_found() {
    for target in [
        "audit/audit.jsonl",
        "audit/head.json",
        "audit/lock",
        "audit",
    ] {
        let sandbox = project();
        let place = state(&sandbox, target);
        let right = mode(&place);
        set_mode(&place, 0o666);
        // Its own call is recorded, and so is the repair.
        assert!(
            sandbox
                .sh("haft call reader 2>&1")
                .output
                .contains("refused\n")
        );
        assert_eq!(mode(&place), right, "{target}");
        let log = sandbox.sh("haft log").output;
        assert!(log.contains("log damaged: the mode of"), "{log}");
        let verified = sandbox.sh("haft log --verify");
        assert_eq!(verified.code, 1, "{}", verified.output);
        assert!(
            !verified.output.contains("the chain holds"),
            "{}",
            verified.output
        );
    }
    // Without a call in between.
    let sandbox = project();
    set_mode(&state(&sandbox, "audit/audit.jsonl"), 0o644);
    let verified = sandbox.sh("haft log --verify");
    assert_eq!(verified.code, 1, "{}", verified.output);
    assert!(
        verified.output.contains("was 0644 instead of 0600"),
        "{}",
        verified.output
    );
    assert_eq!(sandbox.sh("haft log --verify").code, 1);
}

#[test]
fn calls_that_could_not_be_recorded_are_a_gap() {
    let sandbox = project();
    let audit = state(&sandbox, "audit");
    let aside = audit.with_file_name("aside");
    fs::rename(&audit, &aside).expect("ours");
    symlink(&aside, &audit).expect("it is free");
    let said = sandbox.sh("haft call reader 2>&1").output;
    assert!(said.contains("calls are not recorded"), "{said}");
    fs::remove_file(&audit).expect("ours");
    fs::rename(&aside, &audit).expect("ours");
    let verified = sandbox.sh("haft log --verify");
    assert_eq!(verified.code, 1, "{}", verified.output);
    assert!(
        verified.output.contains("could not write 2 lines"),
        "{}",
        verified.output
    );
    let _ = sandbox.sh("haft call reader");
    let log = sandbox.sh("haft log").output;
    assert!(log.contains("2 lines lost"), "{log}");
    assert_eq!(sandbox.sh("haft log --verify").code, 1);
}

#[test]
fn a_login_a_token_and_a_pin_that_are_not_believed_are_refused_and_named() {
    let sandbox = crate::callers::project();
    let served = serve(&sandbox, &[]);
    let client = Bearer::new(&served, &sandbox, "--tools echo --name good");
    assert_eq!(client.get("/api/tools").status, 200);
    let file = only_file(&sandbox, "tokens");
    let text = fs::read(&file).expect("ours");
    for damage in ["", "{}", "null"] {
        fs::write(&file, damage).expect("ours");
        assert_eq!(client.get("/api/tools").status, 401, "{damage}");
        let listed = sandbox.sh("haft token list 2>&1").output;
        assert!(
            listed.contains("is refused") && listed.contains("hint: "),
            "{listed}"
        );
    }
    fs::write(&file, &text).expect("ours");
    set_mode(&file, 0o000);
    assert_eq!(
        client.get("/api/tools").status,
        200,
        "its owner lacked the right to read"
    );
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn scripts_of_a_project_work_in_the_first_process_of_a_machine() {
    let script = "#!/bin/sh\ncase \"$*\" in *description*) echo '{\"name\":\"hi\",\"description\":\"d\",\
                  \"input_schema\":{\"type\":\"object\"}}';; *) echo hello;; esac\n";
    for first in [
        "haft call custom_tool_hi",
        "haft call hi",
        "haft list",
        "haft trust --list; haft list",
    ] {
        let sandbox = Sandbox::with_home();
        let tool = sandbox.write("kodelet-tools/hi", script);
        set_mode(&tool, 0o755);
        let ran = sandbox.sh(&format!("haft trust --yes >/dev/null && {first} 2>&1"));
        let is_there = ran.output.contains("hello") || ran.output.contains("hi");
        assert!(
            is_there && !ran.output.contains("Permission denied"),
            "{first}: {}",
            ran.output
        );
        assert!(
            !ran.output.contains("not loaded"),
            "{first}: {}",
            ran.output
        );
    }
}

#[test]
fn a_script_sees_only_its_own_image() {
    let mut sandbox = Sandbox::with_home();
    sandbox.profile_of_the_project_is_configured();
    let script = |secret: &str, name: &str| {
        format!(
            "#!/bin/sh\n# {secret}\ncase \"$*\" in *description*) echo '{{\"name\":\"{name}\",\"description\":\"d\",\
             \"input_schema\":{{\"type\":\"object\"}}}}';; *) grep -rh SECRET \"$HOME/.local/state/haft/verified\"; \
             cat \"$0\" >/dev/null && echo own;; esac\n"
        )
    };
    for (project, name) in [("one", "first"), ("two", "second")] {
        let path = format!("{project}/kodelet-tools/{name}");
        let tool = sandbox.write(&path, &script(&format!("SECRET-{name}"), name));
        set_mode(&tool, 0o755);
        let line =
            format!("cd {project} && haft trust --yes >/dev/null && haft call {name} 2>/dev/null");
        let said = sandbox.sh(&line).output;
        assert!(said.contains("own"), "{said}");
        let other = if name == "first" {
            "SECRET-second"
        } else {
            "SECRET-first"
        };
        assert!(!said.contains(other), "{said}");
    }
}
