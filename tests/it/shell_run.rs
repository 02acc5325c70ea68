//! YAML shell tools that run: kinds of commands, inputs, folders, temporary directories. Numbers are
//! those of spec cycod; each test is real processes through the host, as a surface would call it.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::shell_project::{PLAIN_X, Project, failure, output};

// ---- kinds of execution (cycod 19–30) ----

#[tokio::test]
async fn every_kind_of_command_runs() {
    assert_eq!(output("bash: echo hi", json!({})).await, "hi\n");
    // 22: no shell; each value stays in its word, quotes group, other characters are plain text.
    let run = format!("run: printf '%s|' {{X}} \"a {{X}}\" $HOME '*' |\n{PLAIN_X}");
    assert_eq!(
        output(&run, json!({"X": "a; id"})).await,
        "a; id|a a; id|$HOME|*|||"
    );
    // 23, 189, 190: several lines, the requested shell, any interpreter.
    let both = "script: |\n  echo one\n  echo two\nshell: bash";
    assert_eq!(output(both, json!({})).await, "one\ntwo\n");
    assert_eq!(
        output("script: echo $0\nshell: sh", json!({})).await,
        "sh\n"
    );
    assert_eq!(
        output("script: print(1+1)\nshell: python3", json!({})).await,
        "2\n"
    );
    assert_eq!(output("script: echo default", json!({})).await, "default\n");
    // 24, 191–193
    let commands = "commands: {default: echo any, platforms: {linux: echo linux}}";
    assert_eq!(output(commands, json!({})).await, "linux\n");
    assert_eq!(
        output("commands: {default: echo any}", json!({})).await,
        "any\n"
    );
    let text = failure("commands: {platforms: {windows: echo}}", json!({})).await;
    assert_eq!(text, "not supported on platform linux");
}

#[tokio::test]
async fn what_this_machine_lacks_is_named() {
    // 21, 186, 187
    let text = failure("cmd: echo hi", json!({})).await;
    assert!(
        text.starts_with("`cmd` commands run only on Windows"),
        "{text}"
    );
    let pwsh = "pwsh: Write-Output hi\nenvironment: {variables: {PATH: /nowhere}}";
    assert_eq!(failure(pwsh, json!({})).await, "`pwsh` is not installed");
    let text = failure("run: no-such-program-here", json!({})).await;
    assert_eq!(text, "`no-such-program-here` is not installed");
}

#[tokio::test]
async fn input_ends_and_exit_codes_are_reported() {
    // 28 and c18: substituted, not quoted, and a program need not read it.
    let cat = format!("bash: cat\ninput: \"{{X}}\"\n{PLAIN_X}");
    assert_eq!(output(&cat, json!({"X": "a 'b' $c"})).await, "a 'b' $c");
    assert_eq!(output("bash: cat; echo end", json!({})).await, "end\n");
    let unread = format!("bash: 'true'\ninput: \"{{X}}\"\n{PLAIN_X}");
    assert_eq!(output(&unread, json!({"X": "x".repeat(300_000)})).await, "");

    // 26, 27, 29
    let project = Project::new(&[
        ("both", "bash: echo out; echo err >&2; exit 3"),
        ("out", "bash: echo out; exit 4"),
        ("silent", "bash: exit 5"),
        ("ignored", "bash: echo out; exit 6\nignore-errors: true"),
        ("killed", "bash: kill -9 $$"),
    ]);
    let text = async |tool| project.text(tool, json!({})).await;
    assert_eq!(text("both").await, "err\nCommand failed with exit code 3");
    assert_eq!(text("out").await, "out\nCommand failed with exit code 4");
    assert_eq!(text("silent").await, "Command failed with exit code 5");
    let ignored = project.outcome("ignored", json!({})).await;
    assert_eq!(
        (ignored.is_error, ignored.text().as_str()),
        (false, "out\n")
    );
    assert_eq!(ignored.details["exitCode"], 6);
    // c26
    let killed = project.outcome("killed", json!({})).await;
    assert_eq!(killed.details["exitCode"], 137);
    assert_eq!(killed.text(), "Command was ended by signal 9");
}

// ---- environment and paths (cycod 73–79) ----

#[tokio::test]
async fn variables_are_set_as_they_are() {
    let yaml = format!(
        "bash: printf '%s|' \"$A\" \"${{B-unset}}\" \"${{PATH:+path}}\"\n\
         environment: {{variables: {{A: \"{{X}} $x 'q'\", B: \"{{NO_SUCH_VARIABLE}}\"}}}}\n{PLAIN_X}"
    );
    assert_eq!(
        output(&yaml, json!({"X": "a;b"})).await,
        "a;b $x 'q'|unset|path|"
    );
    // 73: only the listed variables, PATH and HOME.
    let alone = "bash: env | cut -d= -f1 | sort | tr '\\n' ' '\n\
                 environment: {inherit: false, variables: {ONE: 1}}";
    assert_eq!(output(alone, json!({})).await, "HOME ONE PATH PWD SHLVL _ ");
    // 60: a name that is not a parameter is the host's variable.
    let host = "bash: echo ${MINE:+found}\n\
                environment: {inherit: false, variables: {MINE: \"<{PATH}>\"}}";
    assert_eq!(output(host, json!({})).await, "found\n");
}

#[tokio::test]
async fn folders_are_checked_before_anything_starts() {
    // 76, 77
    let top = "bash: pwd; touch ran\nworking-directory: \"{X}\"";
    let project = Project::new(&[
        ("top", &format!("{top}\n{PLAIN_X}")),
        ("home", "bash: pwd\nworking-directory: ~/"),
        (
            "both",
            "bash: pwd\nworking-directory: home\nfile-paths: {working-directory: nowhere}",
        ),
        (
            "paths",
            "bash: pwd\nfile-paths: {working-directory: 'a\\b', cross-platform: {auto-convert: true}}",
        ),
        (
            "step",
            "working-directory: home\nsteps:\n  - {name: a, bash: pwd}\n  \
             - {name: b, bash: pwd, working-directory: a}",
        ),
    ]);
    fs::create_dir_all(project.path("a/b")).expect("a directory of ours");
    assert_eq!(project.text("top", json!({"X": "a"})).await, "$ROOT/a\n");
    let missing = project.text("top", json!({"X": "missing"})).await;
    assert_eq!(
        missing,
        "the working directory `$ROOT/missing` is not there"
    );
    assert!(!project.path("ran").exists());
    assert_eq!(project.text("home", json!({})).await, "$ROOT/home\n");
    assert_eq!(project.text("both", json!({})).await, "$ROOT/home\n");
    assert_eq!(project.text("paths", json!({})).await, "$ROOT/a/b\n");
    assert_eq!(
        project.text("step", json!({})).await,
        "$ROOT/home\n$ROOT/a\n"
    );
}

/// 78, 115. A call removes only the paths that did not exist before it. A value with `..` in it
/// once removed far more than a tool's own files.
#[tokio::test]
async fn temporary_directories_are_private_and_nothing_else_is_removed() {
    let yaml = |folder: &str| {
        format!(
            "bash: stat -c %a \"$TMPDIR\" {{TEMP_DIR}}; touch {{TEMP_DIR}}/file\n\
             file-paths: {{temp-directory: \"{folder}\"}}\n{PLAIN_X}"
        )
    };
    let deleting = |folder: &str| {
        format!(
            "{}\nresources: {{cleanup: [{{delete-temp-files: true}}]}}",
            yaml(folder)
        )
    };
    let project = Project::new(&[
        ("kept", &yaml("tmp/{TOOL_NAME}/{X}")),
        ("gone", &deleting("tmp/{TOOL_NAME}/{X}")),
        ("again", &deleting("tmp/kept/{X}")),
        ("temp", &deleting("{TEMP}")),
        ("home", &deleting("{HOME}")),
        ("workspace", &deleting("{WORKSPACE}")),
        ("here", &deleting(".")),
        ("above", &deleting("{TEMP}/..")),
        ("linked", &deleting("link")),
        ("lent", "bash: cd {TEMP_DIR} && pwd -P"),
    ]);
    let made = json!({"X": "a"});
    assert_eq!(project.text("kept", made.clone()).await, "700\n700\n");
    assert!(project.path("tmp/kept/a/file").exists());
    assert_eq!(project.text("gone", made.clone()).await, "700\n700\n");
    assert!(!project.path("tmp/gone/a").exists());
    // A directory that haft made in an earlier call is used, and stays.
    assert_eq!(project.text("again", made).await, "700\n700\n");
    assert!(project.path("tmp/kept/a/file").exists());

    let precious = [
        "precious",
        "home/precious",
        "tmp/precious",
        "../../../../precious",
        "target/precious",
    ];
    fs::create_dir_all(project.path("target")).expect("a directory of ours");
    std::os::unix::fs::symlink(project.path("target"), project.path("link")).expect("it is ours");
    for name in precious {
        fs::write(project.path(name), "").expect("it is ours");
    }
    let rights = |name: &str| {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(project.path(name))
            .expect("it is there")
            .permissions()
            .mode()
    };
    let before = [
        rights(""),
        rights("home"),
        rights("tmp"),
        rights("../../../.."),
    ];
    for (tool, value) in [
        ("temp", ""),
        ("home", ""),
        ("workspace", ""),
        ("here", ""),
        ("above", ""),
        ("linked", ""),
        ("gone", ".."),
        ("gone", "../.."),
        ("gone", "../../.."),
        ("gone", "../../../../.."),
        ("gone", "x/../../.."),
        ("kept", ".."),
    ] {
        let outcome = project.outcome(tool, json!({"X": value})).await;
        let text = outcome.text();
        assert!(
            outcome.is_error && text.starts_with("the temporary directory"),
            "{tool} {value}: {text}"
        );
        for name in precious {
            assert!(project.path(name).exists(), "{tool} {value} took {name}");
        }
    }
    assert_eq!(
        [
            rights(""),
            rights("home"),
            rights("tmp"),
            rights("../../../..")
        ],
        before
    );
    // Without a directory of its own the tool gets one for the call.
    let lent = project.outcome("lent", json!({})).await.text();
    assert!(
        lent.contains("haft-shell-") && !PathBuf::from(lent.trim()).exists(),
        "{lent}"
    );
}
