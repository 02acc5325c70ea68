//! YAML shell tools, line by line: single checks of spec cycod, each with its number, as one call
//! and its expected result.

use haft::ErrorKind;
use serde_json::{Value, json};

use crate::shell_project::{Project, failure, output};

/// A tool, the arguments of a call, and the text of its result.
type Check = (&'static str, &'static str, Value, &'static str);

#[tokio::test]
async fn what_runs() {
    let x = |value: &str| json!({ "X": value });
    let checks: [Check; 25] = [
        (
            "25: `commands` in a step",
            "steps: [{name: a, commands: {default: echo any, platforms: {linux: echo linux}}}]",
            json!({}),
            "linux\n",
        ),
        (
            "25: its default",
            "steps: [{name: a, commands: {default: echo any, platforms: {windows: dir}}}]",
            json!({}),
            "any\n",
        ),
        (
            "74: what a shell expands is its own, what another one does is text",
            "bash: V=v; echo $V %USERPROFILE% $env:X",
            json!({}),
            "v %USERPROFILE% :X\n",
        ),
        (
            "98: a step's own variables go before the tool's",
            "environment: {variables: {A: tool, B: tool}}\n\
             steps: [{name: a, bash: 'echo $A $B', environment: {variables: {A: step}}}]",
            json!({}),
            "step tool\n",
        ),
        (
            "98: a step without the host's variables",
            "steps: [{name: a, bash: 'echo [$LANG$USER]', environment: {inherit: false}}]",
            json!({}),
            "[]\n",
        ),
        (
            "98: a step's own input",
            "input: tool\nsteps: [{name: a, bash: cat, input: 'in {X}'}, {name: b, bash: cat}]\n\
             parameters: {X: {description: d}}",
            x("side"),
            "in side\ntool",
        ),
        (
            "98: a step's script",
            "steps: [{name: a, script: 'print(40 + 2)', shell: python3}]",
            json!({}),
            "42\n",
        ),
        (
            "81: a step that starts a program",
            "steps: [{name: a, run: 'printf %s| {X} $HOME'}]\nparameters: {X: {description: d}}",
            x("a; id"),
            "a; id|$HOME|",
        ),
        (
            "30: line ends of an output are cut where it is used",
            "steps: [{name: a, bash: 'echo x; echo'}, {name: b, bash: 'echo \"[{a.output}]\"'}]",
            json!({}),
            "x\n\n[x]\n",
        ),
        (
            "105: sizes with units",
            "steps: [{name: a, bash: printf abcdef, output: {buffer-limit: 3B}}]",
            json!({}),
            "abc\nwarning: Output truncated to 3 bytes",
        ),
        (
            "105: sizes without",
            "steps: [{name: a, bash: printf abcdef, output: {buffer-limit: 5}}]",
            json!({}),
            "abcde\nwarning: Output truncated to 5 bytes",
        ),
        (
            "111: `max-size` is another name",
            "steps: [{name: a, bash: printf abcdef, output: {max-size: 2, streaming: true}}]",
            json!({}),
            "ab\nwarning: Output truncated to 2 bytes",
        ),
        (
            "16: a deprecated tool runs, and says so",
            "bash: echo hi\ndeprecated: true\ndeprecated-message: use u",
            json!({}),
            "hi\n\nwarning: Tool 't' is deprecated: use u",
        ),
        (
            "17: so does a deprecated parameter",
            "bash: echo {X}\nparameters:\n  \
             X: {description: d, deprecated: true, deprecated-alternative: Y}\n  Y: {description: d}",
            x("v"),
            "v\n\nwarning: Parameter 'X' is deprecated; use 'Y' instead.",
        ),
        (
            "17: not where it is left out",
            "bash: echo fine\nparameters: {X: {description: d, deprecated: true}}",
            json!({}),
            "fine\n",
        ),
        (
            "55, c3: nothing of a value is read again",
            "bash: printf %s \"{X}\"\nparameters:\n  \
             X: {description: d, security: {escape-shell: true}}\n  Y: {description: d, default: no}",
            x("{Y}{X}$&$1$$`{TOOL_NAME}"),
            "{Y}{X}$&$1$$`{TOOL_NAME}",
        ),
        (
            "c3: names that mean something to regular expressions are names",
            "bash: printf %s {X-1} {X_1}\nparameters: {X-1: {description: d, default: a}, X_1: {description: d, default: b}}",
            json!({}),
            "ab",
        ),
        (
            "c4: a brace that is never closed, a reference in a picture",
            "bash: echo '{' '{X' {X:format({Y})} '{X'\nparameters: {X: {type: number, description: d, default: 7}, Y: {description: d}}",
            json!({}),
            "{ {X {Y} {X\n",
        ),
        (
            "c7: texts stay the texts they are",
            "bash: echo {X}\nparameters: {X: {description: d}}",
            x("007"),
            "007\n",
        ),
        (
            "59: numbers of either spelling are the same",
            "bash: echo {X}\nparameters: {X: {type: number, description: d}}",
            x("1e3"),
            "1000\n",
        ),
        (
            "c11: steps with the names of other things, and with a dot",
            "steps:\n  - {name: OS, bash: echo one}\n  - {name: a.b, bash: echo two}\n  \
             - {name: X, bash: echo three}\n  \
             - {name: all, bash: 'echo {OS} {OS.output} {a.b.output} {X} {X.output}'}\n\
             parameters: {X: {description: d, default: p}}",
            json!({}),
            "one\ntwo\nthree\nlinux one two p three\n",
        ),
        (
            "c28: İ in lower case, as JavaScript has it",
            "bash: echo {X:lowercase} | od -An -tx1 | tr -d ' \\n'\nparameters: {X: {description: d}}",
            x("İ"),
            "69cc870a",
        ),
        (
            "c28: no decimal comma, whatever the country",
            "bash: echo {X:format(0.00)}\nenvironment: {variables: {LC_ALL: de_DE.UTF-8}}\n\
             parameters: {X: {type: number, description: d, default: 1.5}}",
            json!({}),
            "1.50\n",
        ),
        (
            "c6: CRLF in a script is no part of its words",
            "script: \"echo one\\r\\necho two\\r\\n\"\nshell: bash",
            json!({}),
            "one\ntwo\n",
        ),
        (
            "c1: unicode spaces, a leading `-`, `~` and `!` are text",
            "bash: printf '[%s]' {X}\nparameters: {X: {description: d, security: {escape-shell: true}}}",
            x("-n ~\u{a0}!\u{2003}*\u{200b}"),
            "[-n ~\u{a0}!\u{2003}*\u{200b}]",
        ),
    ];
    for (cites, yaml, arguments, expected) in checks {
        assert_eq!(output(yaml, arguments).await, expected, "{cites}");
    }
}

#[tokio::test]
async fn what_fails() {
    let checks: [Check; 5] = [
        (
            "c20: a variable with a null byte",
            "bash: echo\nenvironment: {variables: {A: \"{X}\"}}\nparameters: {X: {description: d}}",
            json!({ "X": "a\u{0}b" }),
            "the variable 'A' must be without null bytes",
        ),
        (
            "c26: a program that is there and cannot be started",
            "run: /etc/passwd",
            json!({}),
            "`/etc/passwd` may not be executed",
        ),
        (
            "22: a quote that is not closed",
            "run: echo 'a",
            json!({}),
            "`run` cannot be read: the quote ' is not closed",
        ),
        (
            "76: a step's folder that is not there",
            "steps: [{name: a, bash: echo, working-directory: /no/such/folder}]",
            json!({}),
            "Step 'a' failed: the working directory `/no/such/folder` is not there",
        ),
        (
            "102: a fallback that fails",
            "steps: [{name: a, bash: exit 3, error-handling: {fallback: echo worse; exit 5}}]",
            json!({}),
            "worse\nStep 'a' failed with exit code 5",
        ),
    ];
    for (cites, yaml, arguments, expected) in checks {
        assert_eq!(failure(yaml, arguments).await, expected, "{cites}");
    }
}

/// 50: every place that references are filled into.
#[tokio::test]
async fn every_place_is_filled() {
    let yaml = "working-directory: \"in-{X}\"\n\
         file-paths: {temp-directory: \"{WORKSPACE}/tmp-{X}\"}\n\
         environment: {variables: {V: \"<{X}>\"}}\n\
         security: {required-permissions: [\"filesystem:write:in-{X}\"]}\n\
         resources: {cleanup: [{final-command: 'echo done-{X} > cleaned'}]}\n\
         parameters: {X: {description: d, default: x}}\n\
         steps:\n  \
         - {name: a, bash: 'echo $V {TEMP_DIR}; cat', input: \"in-{X}\\n\", run-condition: \"'{X}' == 'x'\"}\n  \
         - {name: b, bash: exit 1, error-handling: {fallback: 'echo fallback-{X}'}}\n  \
         - {name: c, script: 'print(\"script-{X}\")', shell: python3}\n  \
         - {name: d, run: 'echo run-{X}', working-directory: \"{X}\"}\n  \
         - {name: e, commands: {default: 'echo commands-{X}'}}\n  \
         - {name: f, bash: 'echo secret-{X}', output: {masked-values: [\"secret-{X}\"]}}\n  \
         - {name: g, use-tool: inner, with: {Y: \"with-{X}\"}}\n  \
         - {name: h, bash: echo no, run-condition: \"'{X}' == 'y'\"}\n";
    let alias = "type: alias\nbase-tool: inner\ndefault-parameters: {Y: \"{Z}-default\"}";
    let inner =
        "bash: echo {Y}\nparameters: {Y: {description: d}, Z: {description: d, default: z}}";
    let project = Project::new(&[("t", yaml), ("inner", inner), ("alias", alias)]);
    for folder in ["in-x", "x"] {
        std::fs::create_dir(project.path(folder)).expect("a folder of ours");
    }
    assert_eq!(
        project.text("t", json!({})).await,
        "<x> $ROOT/tmp-x\nin-x\nfallback-x\nscript-x\nrun-x\ncommands-x\n***\nwith-x\n"
    );
    assert_eq!(project.read("in-x/cleaned"), "done-x\n");
    assert_eq!(project.text("alias", json!({})).await, "z-default\n");
}

/// 79: the set of converted separators can be configured.
#[tokio::test]
async fn separators_are_distinguished() {
    let yaml = |more: &str| format!("bash: pwd\nfile-paths: {{working-directory: 'a|b', {more}}}");
    let project = Project::new(&[
        (
            "told",
            &yaml("normalize: true, cross-platform: {windows-separator: '|', unix-separator: /}"),
        ),
        ("untold", &yaml("normalize: false")),
    ]);
    std::fs::create_dir_all(project.path("a/b")).expect("a folder of ours");
    assert_eq!(project.text("told", json!({})).await, "$ROOT/a/b\n");
    let untold = project.text("untold", json!({})).await;
    assert_eq!(untold, "the working directory `$ROOT/a|b` is not there");
}

/// 132, 133, 135, 136, 103: tools in tools, and the result of tools that cannot run.
#[tokio::test]
async fn tools_in_tools_that_cannot_run() {
    let outer = |inner: &str, more: &str| {
        format!("steps: [{{name: a, use-tool: {inner}{more}}}, {{name: b, bash: echo after}}]")
    };
    let project = Project::new(&[
        (
            "base",
            "bash: echo {A}\nparameters: {A: {description: d, required: true}}",
        ),
        ("short", "type: alias\nbase-tool: base"),
        (
            "shorter",
            "type: alias\nbase-tool: short\ndefault-parameters: {A: two}",
        ),
        ("elsewhere", "bash: echo\nplatforms: [windows]"),
        ("newer", "bash: echo\nmin-cycod-version: 99.0.0"),
        ("on_elsewhere", &outer("elsewhere", "")),
        ("on_newer", &outer("newer", ", continue-on-error: true")),
        (
            "third",
            "bash: echo x >> n; [ $(wc -l < n) = 3 ] && echo third",
        ),
        (
            "retries",
            &outer(
                "third",
                ", error-handling: {retry: {attempts: 2, delay: 1}}",
            ),
        ),
        ("old", "bash: echo old\ndeprecated: true"),
        ("on_old", "steps: [{name: a, use-tool: old}]"),
        ("deep", "bash: exit 7"),
        (
            "saved",
            &outer("deep", ", error-handling: {fallback: echo saved}"),
        ),
    ]);
    assert_eq!(project.text("shorter", json!({})).await, "two\n");
    let (kind, text) = project.error("short", json!({})).await;
    assert_eq!(
        (kind, text.as_str()),
        (ErrorKind::BadArguments, "Parameter 'A' is required.")
    );
    assert_eq!(
        project.text("on_elsewhere", json!({})).await,
        "Step 'a' failed: Tool 'elsewhere' is not supported on platform linux; supported: windows"
    );
    let continued = project.outcome("on_newer", json!({})).await;
    assert_eq!(
        (continued.is_error, continued.text().as_str()),
        (false, "after\n")
    );
    let why = continued.details["steps"][0]["error"].as_str();
    assert_eq!(
        why,
        Some("Tool 'newer' needs CYCOD 99.0.0; haft stands for CYCOD 1.2.0")
    );
    assert_eq!(project.text("retries", json!({})).await, "third\nafter\n");
    assert_eq!(
        project.text("on_old", json!({})).await,
        "old\n\nwarning: Tool 'old' is deprecated."
    );
    assert_eq!(project.text("saved", json!({})).await, "saved\nafter\n");
}

/// 127: fallback and cleanup commands have no other rights than the tool.
#[tokio::test]
async fn fallbacks_and_cleanups_have_the_rights_of_the_tool() {
    let look = "grep NoNewPrivs /proc/self/status | tr '\\t' ' '";
    let yaml = format!(
        "bash: exit 1\nsecurity: {{execution-privilege: reduced}}\n\
         error-handling: {{fallback: \"{look}\"}}\n\
         resources: {{cleanup: [{{final-command: \"{look} > cleaned\"}}]}}",
        look = look.replace('\\', "\\\\")
    );
    let project = Project::new(&[("t", &yaml)]);
    assert_eq!(project.text("t", json!({})).await, "NoNewPrivs: 1\n");
    assert_eq!(project.read("cleaned"), "NoNewPrivs: 1\n");
}

/// 114, c25: the limit is for the tree where a control group can be made. Otherwise it is for each
/// process, and a notice says so.
#[tokio::test]
async fn memory_is_that_of_the_whole_tree() {
    let each = "python3 -c \"x = b'x' * (120 << 20); print(len(x))\"";
    let yaml = format!(
        "bash: |\n  {each} | sort & {each} | sort & {each} | sort &\n  for job in $(jobs -p); do wait $job || exit 9; done\n\
         resources: {{max-memory: 200MB}}"
    );
    let outcome = Project::new(&[("t", &yaml)]).outcome("t", json!({})).await;
    if haft_process::can_limit_trees() {
        assert_eq!(outcome.details["warnings"], Value::Null);
        let single = "run: python3 -c \"x = b'x' * (400 << 20)\"\nresources: {max-memory: 200MB}";
        let text = failure(single, json!({})).await;
        assert!(
            text.ends_with("Command exceeded its memory limit of 209715200 bytes"),
            "{text}"
        );
    } else {
        let warning = outcome.details["warnings"][0].as_str().unwrap_or_default();
        assert!(
            warning.starts_with("max-memory holds for each process"),
            "{warning}"
        );
    }
}
