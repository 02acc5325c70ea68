//! YAML shell tools that run: texts, steps, outputs, secrets, rights. Numbers are those of spec
//! cycod; each test is real processes through the host, as a surface would call it.
//!
//! The project lies deep in the sandbox, and the folder for temporary files is in the sandbox too:
//! what a hostile path climbs to is still ours to lose.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use haft::{ApprovalMode, Call, Config, Env, ErrorKind, Event, Flags, Host, Outcome, Stopped};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Where the project is in its sandbox.
const DEEP: &str = "down/in/the/sandbox";

/// A trusted project with tools in `.cycod/tools`.
struct Project {
    sandbox: Sandbox,
    host: Host,
}

impl Project {
    fn new(tools: &[(&str, &str)]) -> Project {
        Project::configured(tools, "")
    }

    /// With the text of a configuration file.
    fn configured(tools: &[(&str, &str)], config: &str) -> Project {
        let sandbox = Sandbox::with_home();
        for (name, yaml) in tools {
            sandbox.write(
                &format!("{DEEP}/.cycod/tools/{name}.yaml"),
                &format!("description: d\n{yaml}\n"),
            );
        }
        let root = sandbox.path().join(DEEP);
        let temp = sandbox.path().join("temp/of/the/system");
        let home = root.join("home");
        for folder in [&temp, &home] {
            fs::create_dir_all(folder).expect("a directory of ours");
        }
        let global = root.join("global").display().to_string();
        let env = Env {
            current_dir: Some(root),
            home: Some(home),
            tmpdir: Some(temp),
            haft: [("CYCOD_GLOBAL_DIR".to_owned(), global)].into(),
            ..Env::default()
        };
        let config = (!config.is_empty()).then(|| sandbox.write("config.yaml", config));
        let flags = Flags {
            trust_project: true,
            approval_mode: Some(ApprovalMode::Yolo),
            config,
            ..Flags::default()
        };
        let config = Config::resolve_with(flags, &env).expect("a configuration");
        let host = Host::new(config);
        Project { sandbox, host }
    }

    fn call(&self, tool: &str, arguments: &Value) -> haft::RunningCall {
        self.call_with(tool, arguments.to_string())
    }

    fn call_with(&self, tool: &str, arguments: String) -> haft::RunningCall {
        let call = Call {
            id: "c".into(),
            tool: tool.into(),
            arguments: RawValue::from_string(arguments).expect("it is JSON"),
        };
        self.host.call(call, None)
    }

    async fn outcome(&self, tool: &str, arguments: Value) -> Outcome {
        let outcome = self.call(tool, &arguments).outcome().await;
        outcome.unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    async fn text(&self, tool: &str, arguments: Value) -> String {
        let root = self.path("").display().to_string();
        let root = root.trim_end_matches('/');
        self.outcome(tool, arguments)
            .await
            .text()
            .replace(root, "$ROOT")
    }

    async fn error(&self, tool: &str, arguments: Value) -> (ErrorKind, String) {
        let error = self.call(tool, &arguments).outcome().await.expect_err(tool);
        (error.kind(), error.message().to_owned())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path().join(DEEP).join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// What a single tool `t` gives; fails where the tool does.
async fn output(yaml: &str, arguments: Value) -> String {
    let outcome = Project::new(&[("t", yaml)]).outcome("t", arguments).await;
    assert!(!outcome.is_error, "{}", outcome.text());
    outcome.text()
}

/// What a single tool `t` says when it fails.
async fn failure(yaml: &str, arguments: Value) -> String {
    let outcome = Project::new(&[("t", yaml)]).outcome("t", arguments).await;
    assert!(outcome.is_error, "{}", outcome.text());
    outcome.text()
}

/// What a bash command with these parameters prints.
async fn filled(command: &str, parameters: &str, arguments: Value) -> String {
    let quoted = command.replace('\'', "''");
    let indented: String = parameters
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    output(
        &format!("bash: '{quoted}'\nparameters:\n{indented}"),
        arguments,
    )
    .await
}

const GUARDED_X: &str = "X: {description: d, security: {escape-shell: true}}";
const PLAIN_X: &str = "parameters: {X: {description: d}}";

// ---- kinds of execution (cycod 19–30) ----

#[tokio::test]
async fn every_kind_of_command_runs() {
    assert_eq!(output("bash: echo hi", json!({})).await, "hi\n");
    // 22: no shell; each value stays in its word, quotes group, nothing else acts.
    let run = format!("run: printf '%s|' {{X}} \"a {{X}}\" $HOME '*' |\n{PLAIN_X}");
    assert_eq!(
        output(&run, json!({"X": "a; id"})).await,
        "a; id|a a; id|$HOME|*|||"
    );
    // 23, 189, 190: both lines, the shell that was asked for, any interpreter.
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

// ---- substitution (cycod 50–67) ----

#[tokio::test]
async fn references_are_filled_once_and_unknown_braces_stay() {
    let x = format!("{GUARDED_X}\nY: {{description: d, default: y}}");
    // 55: what comes from a value is never looked at again.
    let hostile = json!({"X": "{Y} $& $1"});
    assert_eq!(filled("printf %s {X}", &x, hostile).await, "{Y} $& $1");
    // 56, c4
    let braces = "echo a b | awk '{print $2}'; V=v; echo ${V} {a,b} {1..3} {} '{{Y}}' \
                  '{\"k\": 1}' '{unknown}' '{Y'";
    let expected = "b\nv a b 1 2 3 {} {y} {\"k\": 1} {unknown} {Y\n";
    assert_eq!(filled(braces, &x, json!({})).await, expected);
    // `${X}` is the shell's even if X is a parameter.
    assert_eq!(
        filled("Y=shell; echo ${Y} {Y}", &x, json!({})).await,
        "shell y\n"
    );
    // 58: capitals count. 38: an optional parameter that nobody gave is empty.
    assert_eq!(
        filled("echo {y} {Y} [{X}]", &x, json!({})).await,
        "{y} y []\n"
    );
}

#[tokio::test]
async fn values_are_written_by_their_type() {
    // 59
    let all = "N: {type: number, description: d}\nB: {type: boolean, description: d}\n\
               L: {type: array, description: d}\n\
               O: {type: object, description: d, security: {escape-shell: true}}";
    let arguments = json!({"N": 5.0, "B": true, "L": ["a", 1, "b c"], "O": {"k": [1, "x"]}});
    let text = filled("echo {N} {B} {L} {O}", all, arguments).await;
    assert_eq!(text, "5 true a 1 b c {\"k\":[1,\"x\"]}\n");
    let yaml = "bash: echo {N}\nparameters: {N: {type: number, description: d}}";
    let project = Project::new(&[("t", yaml)]);
    let call = project.call_with("t", "{\"N\": 123456789012345678901234567890}".to_owned());
    let exact = call.outcome().await.expect("it runs");
    assert_eq!(exact.text(), "123456789012345678901234567890\n");
    // Each item is quoted by itself.
    let list = "L: {type: array, description: d, security: {escape-shell: true}}";
    let text = filled("printf '[%s]' {L}", list, json!({"L": ["a b", "$c", ""]})).await;
    assert_eq!(text, "[a b][$c][]");
}

#[tokio::test]
async fn transforms_and_pictures() {
    let transformed = async |inline: &str, value: &str| {
        let command = format!("printf %s {{X:{inline}}}");
        filled(&command, GUARDED_X, json!({"X": value})).await
    };
    // 61, c28; 53: chained from left to right; 62: JavaScript, with marks of ours in its strings.
    for (inline, value, expected) in [
        ("lowercase", "AbC", "abc"),
        ("uppercase", "straße", "STRASSE"),
        ("trim", " \u{feff}a \n", "a"),
        ("base64encode", "Hello", "SGVsbG8="),
        ("base64decode", "SGVsbG8", "Hello"),
        ("urlencode", "a b&c😀", "a%20b%26c%F0%9F%98%80"),
        ("urldecode", "a%20b+c", "a b+c"),
        ("jsonescaped", "a\"b\n", "a\\\"b\\n"),
        ("shellescaped", "it's", "'it'\\''s'"),
        ("trim:lowercase", " A ", "a"),
        ("value + '}' + (value ? ':' : \"x\"):uppercase", "a", "A}:"),
        ("value.replace(/[}:]/g, '-')", "a}b:c", "a-b-c"),
    ] {
        assert_eq!(transformed(inline, value).await, expected, "{inline}");
    }
    let count = "COUNT: {type: number, description: d}";
    let picture = "echo {COUNT:format(0000)} {COUNT:format(#,##0.00)} {COUNT:format(0.#)}";
    assert_eq!(
        filled(picture, count, json!({"COUNT": 5})).await,
        "0005 5.00 5\n"
    );
    let text = filled(picture, count, json!({"COUNT": -1234567.055})).await;
    assert_eq!(text, "-1234567 -1,234,567.06 -1234567.1\n");
    let slug = "X: {description: d, transform: \"value.toUpperCase().replace(/\\\\s+/g, '-')\"}";
    assert_eq!(filled("echo {X}", slug, json!({"X": "a b"})).await, "A-B\n");
    let floor = "X: {type: number, description: d, transform: Math.floor}";
    assert_eq!(filled("echo {X}", floor, json!({"X": 2.7})).await, "2\n");
}

#[tokio::test]
async fn formats_and_choices() {
    // 66, 67
    let formats = "N: {type: number, description: d, format: \"--count={value}\"}\n\
         D: {type: boolean, description: d, default: false, format: \"{value ? '--debug' : ''}\"}\n\
         I: {type: boolean, description: d, default: false, format: \"{value ? '' : '-i'}\"}";
    let command = "echo [{N}{D}{I}]";
    assert_eq!(
        filled(command, formats, json!({"N": 5})).await,
        "[--count=5-i]\n"
    );
    assert_eq!(
        filled(command, formats, json!({"D": "true", "I": true})).await,
        "[--debug]\n"
    );
    // 54
    let number = "N: {type: number, description: d}";
    let choice = "echo {N ? \"it\\'s\" : 'no'}";
    assert_eq!(filled(choice, number, json!({"N": 0})).await, "no\n");
    // 65: only the value's part of a format is quoted.
    let word = "X: {description: d, format: \"-m {value}\", security: {escape-shell: true}}";
    assert_eq!(
        filled("printf '[%s]' {X}", word, json!({"X": "a b"})).await,
        "[-m][a b]"
    );
}

#[tokio::test]
async fn defaults_may_refer_to_others() {
    // 52: in any order of the file, through chains; a caller's value goes before.
    let chain = "C: {description: d, default: \"{B}/c\"}\nA: {description: d, required: true}\n\
                 B: {description: d, default: \"./{A}\"}";
    assert_eq!(
        filled("echo {C}", chain, json!({"A": "a"})).await,
        "./a/c\n"
    );
    assert_eq!(
        filled("echo {C}", chain, json!({"A": "a", "B": "x"})).await,
        "x/c\n"
    );
    // 45: what is computed keeps the rules, too.
    let ruled = "bash: echo {B}\nparameters:\n  A: {description: d}\n  \
                 B: {description: d, default: \"{A}\", validation: {maxLength: 2}}";
    let (kind, text) = Project::new(&[("t", ruled)])
        .error("t", json!({"A": "long"}))
        .await;
    assert_eq!(kind, ErrorKind::BadArguments);
    assert_eq!(
        text,
        "Parameter 'B' must be no more than 2 characters long."
    );
}

#[tokio::test]
async fn predefined_variables_are_the_hosts_own() {
    // 33, 51
    let yaml = "bash: echo {TOOL_NAME} {OS} {HOME} {WORKSPACE}; echo {DATE}T{TIME}Z {TIMESTAMP}";
    let text = Project::new(&[("t", yaml)]).text("t", json!({})).await;
    let (first, second) = text.split_once('\n').expect("two lines");
    assert_eq!(first, "t linux $ROOT/home $ROOT");
    let (left, right) = second.trim_end().split_once(' ').expect("two words");
    assert_eq!((left, left.len()), (right, "2026-11-21T09:41:07Z".len()));
    // A parameter of that name wins.
    let own = "OS: {description: d, default: mine}";
    assert_eq!(filled("echo {OS}", own, json!({})).await, "mine\n");
}

#[tokio::test]
async fn what_cannot_be_transformed_is_an_error_of_its_parameter() {
    let refused = async |transform: &str, value: &str| {
        let yaml = format!(
            "bash: echo {{X}}\nparameters:\n  X:\n    description: d\n    transform: {}",
            Value::from(transform)
        );
        let (kind, text) = Project::new(&[("t", &yaml)])
            .error("t", json!({"X": value}))
            .await;
        assert_eq!(kind, ErrorKind::BadArguments);
        text
    };
    // 64
    for (transform, value, why) in [
        ("base64decode", "!", "is not valid base64"),
        (
            "base64decode",
            "/w==",
            "is base64 of bytes that are no UTF-8 text",
        ),
        (
            "urldecode",
            "%zz",
            "has a `%` that two hexadecimal digits do not follow",
        ),
        ("format(0)", "x", "cannot be formatted: it is not a number"),
    ] {
        assert_eq!(
            refused(transform, value).await,
            format!("Parameter 'X' {why}.")
        );
    }
    // 63, c5
    let no_value = |kind: &str| format!("it gave {kind}, which is no value that can be used");
    let unread = "TypeError: Cannot read properties of undefined (reading 'more')";
    let late = "it did not end within 1 s".to_owned();
    for (source, why) in [
        ("value.nothing.more", unread.to_owned()),
        ("value +", "SyntaxError: Unexpected end of input".to_owned()),
        ("throw 'no'", "no".to_owned()),
        ("undefined", no_value("undefined")),
        ("Promise.resolve(1)", no_value("a promise")),
        ("async () => 1", no_value("a promise")),
        ("while(true){}", late.clone()),
        ("/(a+)+$/.test('a'.repeat(50) + 'b')", late),
    ] {
        let expected = format!("Parameter 'X' cannot be transformed: {why}.");
        assert_eq!(refused(source, "v").await, expected, "{source}");
    }
}

#[tokio::test]
async fn javascript_is_given_nothing_and_keeps_nothing() {
    // 63: nothing of a host, no code from text, no memory outside of the heap.
    let yaml = |source: &str| {
        let source = Value::from(source);
        format!(
            "bash: echo {{X}}\nparameters:\n  X:\n    description: d\n    default: v\n    \
             security: {{escape-shell: true}}\n    transform: {source}"
        )
    };
    let all = "[typeof Deno, typeof require, typeof fetch, typeof process, typeof WebAssembly, \
               typeof ArrayBuffer, typeof setTimeout, typeof console].join()";
    let nothing = ["undefined"; 8].join(",");
    assert_eq!(output(&yaml(all), json!({})).await, format!("{nothing}\n"));
    let project = Project::new(&[
        (
            "code",
            &yaml("value.constructor.constructor('return this')()"),
        ),
        (
            "first",
            &yaml("String.prototype.x = 1; globalThis.y = 1; 'set'"),
        ),
        (
            "bomb",
            &yaml("let a = []; for (;;) a.push('x'.repeat(9) + a.length)"),
        ),
        ("second", &yaml("typeof ''.x + typeof y")),
        ("length", &yaml("value.length")),
    ]);
    let (_, text) = project.error("code", json!({})).await;
    assert!(
        text.contains("EvalError: Code generation from strings disallowed"),
        "{text}"
    );
    assert_eq!(project.text("first", json!({})).await, "set\n");
    // A broken isolate is replaced.
    let (_, text) = project.error("bomb", json!({})).await;
    assert!(
        text.contains("it ran out of memory") || text.contains("did not end"),
        "{text}"
    );
    assert_eq!(
        project.text("second", json!({})).await,
        "undefinedundefined\n"
    );
    // A value is a value, whatever is in it.
    assert_eq!(
        project
            .text("length", json!({"X": "'); throw 1; ('"}))
            .await,
        "15\n"
    );
}

// ---- escaping (cycod 68–72) ----

#[tokio::test]
async fn escaped_values_cannot_act() {
    // The words of the specification's own tools: `"{PATTERN}"` with escape-shell.
    let nasty = "x>pwned; $(touch pwned) `id` \"a\\ b\" 'it\\'s' *\n!~";
    let text = filled(
        "printf '%s|' {X} \"{X}\" '{X}'; ls",
        GUARDED_X,
        json!({"X": nasty}),
    )
    .await;
    assert_eq!(text, format!("{nasty}|{nasty}|{nasty}|home\n"));
    // 70: without it the text is the command's own.
    let words = json!({"X": "-H 'A: b'"});
    let plain = "X: {description: d}";
    assert_eq!(
        filled("printf '[%s]' {X}", plain, words).await,
        "[-H][A: b]"
    );
    // The author can say so for one place.
    let text = filled("printf '[%s]' {RAW:X}", GUARDED_X, json!({"X": "a b"})).await;
    assert_eq!(text, "[a][b]");
}

#[tokio::test]
async fn long_values_and_null_bytes() {
    // 72
    let long = json!({"X": "é'\"".repeat(60_000)});
    let text = filled("printf %s \"{X}\" | wc -c", GUARDED_X, long).await;
    assert_eq!(text, "240000\n");
    let run = format!("run: echo {{X}}\n{PLAIN_X}");
    let text = failure(&run, json!({"X": "x".repeat(200_000)})).await;
    assert_eq!(
        text,
        "the arguments of `echo` are too long for the system; use `input`"
    );
    let text = failure(&run, json!({"X": "a\u{0}b"})).await;
    assert_eq!(text, "the argument 'args[0]' must be without null bytes");
    let guarded = format!("bash: echo {{X}}\nparameters: {{{GUARDED_X}}}");
    let text = failure(&guarded, json!({"X": "a\u{0}b"})).await;
    assert_eq!(
        text,
        "the value of `X` cannot stand there: it has a NUL character"
    );
    // c19: one that nobody gave is no argument, one that is empty is an empty one.
    let words = format!("run: printf '[%s]' {{X}} end\n{PLAIN_X}");
    assert_eq!(output(&words, json!({})).await, "[end]");
    assert_eq!(output(&words, json!({"X": ""})).await, "[][end]");
}

#[tokio::test]
async fn languages_without_rules_take_only_harmless_values() {
    let yaml = format!("script: print('{{X}}')\nshell: python3\nparameters: {{{GUARDED_X}}}");
    assert_eq!(output(&yaml, json!({"X": "a b-1.5"})).await, "a b-1.5\n");
    let text = failure(&yaml, json!({"X": "'+__import__('os').name+'"})).await;
    let start = "the value of `X` cannot stand there: haft does not know how this language quotes";
    assert!(text.starts_with(start), "{text}");
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
    // 73: nothing but what is listed, PATH and HOME.
    let alone = "bash: env | cut -d= -f1 | sort | tr '\\n' ' '\n\
                 environment: {inherit: false, variables: {ONE: 1}}";
    assert_eq!(output(alone, json!({})).await, "HOME ONE PATH PWD SHLVL _ ");
    // 60: a name that is no parameter is the host's variable.
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

/// 78, 115. What is not there before a call is removed after it, and nothing else ever is: once a
/// value with `..` in it took far more than a tool's own files with it.
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
    // One that haft made in an earlier call is used, and stays.
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
    // Without a directory of its own there is one for the call.
    let lent = project.outcome("lent", json!({})).await.text();
    assert!(
        lent.contains("haft-shell-") && !PathBuf::from(lent.trim()).exists(),
        "{lent}"
    );
}

// ---- steps (cycod 80–98) ----

#[tokio::test]
async fn steps_run_in_order_and_stop_at_a_failure() {
    let yaml = "steps:\n  - {name: a, bash: echo a}\n  \
                - {name: b, bash: 'echo b; echo why >&2; exit 7'}\n  \
                - {name: c, bash: echo c; touch ran}";
    let project = Project::new(&[("t", yaml), ("i", &format!("ignore-errors: true\n{yaml}"))]);
    let failed = project.outcome("t", json!({})).await;
    // 82, 96
    assert_eq!(failed.text(), "why\nStep 'b' failed with exit code 7");
    assert!(failed.is_error && !project.path("ran").exists());
    let steps = failed.details["steps"].as_array().expect("a list");
    let states: Vec<_> = steps.iter().map(|step| step["state"].clone()).collect();
    assert_eq!(states, ["ok", "failed", "not started"]);
    // 29: the tool goes on, and says its true exit code.
    let ignored = project.outcome("i", json!({})).await;
    assert_eq!(
        (ignored.is_error, ignored.text().as_str()),
        (false, "a\nb\nc\n")
    );
    assert_eq!(ignored.details["exitCode"], 7);
    // 83, 95
    let continued = "steps:\n  - {name: a, bash: 'printf a; exit 1', continue-on-error: true}\n  \
                     - {name: b, bash: 'echo {a.exit-code}'}";
    assert_eq!(output(continued, json!({})).await, "a\n1\n");
}

#[tokio::test]
async fn steps_know_of_each_other() {
    // 84, 30, 71, c2: whatever a step wrote, it is text for the next one.
    let yaml = "steps:\n  - name: first\n    bash: |\n      printf '%s\\n\\n' \"it's {X}\"\n      \
                echo e >&2; sleep 0.02\n  - name: c\n    bash: |\n      \
                printf '%s|' '{first.output}' \"{first.output}\" {first.error} {first.exit-code}\n      \
                [ {first.duration} -ge 20 ] && echo {first.start-time} {first.end-time}\n\
                parameters:\n  X: {description: d, security: {escape-shell: true}}";
    let project = Project::new(&[("t", yaml)]);
    let hostile = "'; touch pwned; $(touch pwned) {c.output}";
    let outcome = project.outcome("t", json!({"X": hostile})).await;
    let text = outcome.details["steps"][1]["stdout"]
        .as_str()
        .expect("a text")
        .to_owned();
    let value = format!("it's {hostile}");
    let rest = text.strip_prefix(&format!("{value}|{value}|e|0|"));
    let rest = rest.unwrap_or_else(|| panic!("{text}"));
    let times: Vec<&str> = rest.split_whitespace().collect();
    assert!(
        times.len() == 2 && times[0] < times[1] && times[0].ends_with('Z'),
        "{rest}"
    );
    assert!(!project.path("pwned").exists());
}

#[tokio::test]
async fn conditions_are_javascript_over_values() {
    let ran = async |condition: &str| {
        let condition = Value::from(condition);
        let yaml = format!(
            "steps:\n  - {{name: a, bash: 'printf %s \"{{X}}\"'}}\n  \
             - {{name: s, bash: echo, run-condition: 'false'}}\n  \
             - {{name: b, bash: echo ran, run-condition: {condition}}}\n\
             parameters:\n  X: {{description: d, security: {{escape-shell: true}}}}\n  \
             N: {{type: number, description: d, default: 5}}"
        );
        let hostile = json!({"X": "\" || true || \""});
        let outcome = Project::new(&[("t", &yaml)]).outcome("t", hostile).await;
        match outcome.is_error {
            true => outcome.text(),
            false => outcome.details["steps"][2]["state"]
                .as_str()
                .expect("a state")
                .to_owned(),
        }
    };
    for (condition, state) in [
        // 85, decided without JavaScript
        ("{a.exit-code} == 0", "ok"),
        ("{a.exit-code} != 0", "skipped"),
        (
            "(({a.exit-code} == 0) || ({s.exit-code} == 0)) && !({N} < 5)",
            "ok",
        ),
        (
            "{N} >= 5 && {N} <= 5.0 && '5' == {N} && \"a\" !== 'b'",
            "ok",
        ),
        ("{N} === '5'", "skipped"),
        // 86: null is neither 0 nor anything else.
        ("{s.exit-code} == 0", "skipped"),
        ("{s.exit-code} != 0", "ok"),
        ("{s.output} == ''", "ok"),
        // 87, c2: as a value, and as text in quotes.
        ("{a.output} == 'no'", "skipped"),
        ("\"{a.output}\" == \"no\"", "skipped"),
        ("'{a.output}' == '\" || true || \"'", "ok"),
        // with it
        (
            "{a.output}.includes('true') && `{a.output}`.length === 14",
            "ok",
        ),
        ("{a.output}.length > 100", "skipped"),
        ("[1, 2].length == 2", "ok"),
        ("true", "ok"),
    ] {
        assert_eq!(ran(condition).await, state, "{condition}");
    }
    // 88
    let text = ran("{a.exit-code} ==").await;
    let undecided = "Step 'b' failed: its run-condition cannot be decided: ";
    assert_eq!(
        text,
        format!("{undecided}SyntaxError: Unexpected end of input")
    );
    let text = ran("nonsense > 1").await;
    assert_eq!(
        text,
        format!("{undecided}ReferenceError: nonsense is not defined")
    );
}

#[tokio::test]
async fn parallel_steps_run_at_once() {
    // 92, and the hundred of the issue, with room for a busy machine.
    let step = |n| format!("  - {{name: s{n}, bash: sleep 1, parallel: true}}\n");
    let steps: String = (0..100).map(step).collect();
    let started = Instant::now();
    output(&format!("steps:\n{steps}"), json!({})).await;
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn the_order_is_what_the_author_said() {
    // 89–91, 93: each step writes its name; a parallel one waits for nobody, unless it is told to.
    async fn order(steps: &[String]) -> String {
        let project = Project::new(&[("t", &format!("steps:\n{}", steps.concat()))]);
        project.outcome("t", json!({})).await;
        project.read("order").replace('\n', " ")
    }
    let step = |name: &str, more: &str| {
        format!("  - {{name: {name}, bash: echo {name} >> order{more}}}\n")
    };
    let slow = |name: &str, more: &str| {
        format!("  - {{name: {name}, bash: 'sleep 0.5; echo {name} >> order'{more}}}\n")
    };
    let parallel = ", parallel: true";
    assert_eq!(order(&[slow("a", ""), step("b", parallel)]).await, "b a ");
    // Not for a parallel step that it has nothing to do with,
    assert_eq!(order(&[slow("a", parallel), step("b", "")]).await, "b a ");
    // but for one that it names or refers to.
    let named = step("b", ", wait-for: [a]");
    assert_eq!(order(&[slow("a", parallel), named]).await, "a b ");
    let referring = step("b", ", run-condition: '{a.exit-code} == 0'");
    assert_eq!(order(&[slow("a", parallel), referring]).await, "a b ");
    // A later one may be waited for; the order of the list gives way, and holds for the others.
    let first = step("a", ", wait-for: [c]");
    assert_eq!(
        order(&[first, step("b", ""), step("c", ""), step("d", "")]).await,
        "c a b d "
    );
    // 94: who waits for a failed step is not started; a neighbour goes on.
    let failing = "  - {name: a, bash: exit 1, parallel: true}\n".to_owned();
    let waiting = step("c", ", wait-for: [a]");
    assert_eq!(order(&[failing, slow("b", parallel), waiting]).await, "b ");
}

#[tokio::test]
async fn circles_of_references_are_refused() {
    let yaml = "steps:\n  - {name: a, bash: 'touch ran; echo {b.output}'}\n  \
                - {name: b, bash: 'echo {a.output}'}";
    let project = Project::new(&[("t", yaml)]);
    // Wherever it is found, nothing runs.
    match project.call("t", &json!({})).outcome().await {
        Ok(outcome) => assert_eq!(outcome.text(), "circular dependency a -> b -> a"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::NoSuchTool),
    }
    assert!(!project.path("ran").exists());
}

// ---- retry and fallback (cycod 99–104) ----

#[tokio::test]
async fn a_step_is_tried_again_and_then_replaced() {
    let retry = "error-handling: {retry: {attempts: 3, delay: 20}";
    let step = |bash: &str| format!("steps:\n  - {{name: a, bash: '{bash}', {retry}}}}}");
    let fallback = format!("bash: exit 9\n{retry}, fallback: 'echo {{X}}'}}\n{PLAIN_X}");
    let project = Project::new(&[
        ("third", &step("echo x >> n; [ $(wc -l < n) = 3 ]")),
        ("never", &step("echo x >> m; exit 9")),
        ("fallback", &fallback),
        ("worse", "bash: exit 9\nerror-handling: {fallback: exit 8}"),
        (
            "slow",
            "steps:\n  - {name: a, bash: 'echo x >> s; sleep 9', timeout: 300, \
             error-handling: {retry: {attempts: 1, delay: 1}}}",
        ),
    ]);
    let third = project.outcome("third", json!({})).await;
    assert!(!third.is_error && third.details["steps"][0]["attempts"] == 3);
    // 99, 100: 1 + 3 runs; 20, 40 and 80 ms between them.
    let started = Instant::now();
    assert!(project.outcome("never", json!({})).await.is_error);
    assert!(
        started.elapsed() >= Duration::from_millis(140),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(project.read("m").lines().count(), 4);
    // 101, 102, 104
    assert_eq!(
        project.text("fallback", json!({"X": "saved"})).await,
        "saved\n"
    );
    assert_eq!(
        project.text("worse", json!({})).await,
        "Command failed with exit code 8"
    );
    // 97, 103: a timeout is a failure like any other.
    let slow = project.text("slow", json!({})).await;
    assert_eq!(slow, "Step 'a' failed: Command timed out after 300ms");
    assert_eq!(project.read("s").lines().count(), 2);
}

// ---- output (cycod 105–111) ----

#[tokio::test]
async fn output_keeps_its_limit() {
    let step = |more: &str| {
        format!("steps:\n  - {{name: a, bash: printf ééééé, output: {{buffer-limit: 5{more}}}}}")
    };
    // 106, 110, c12: in whole characters.
    let text = output(&step(""), json!({})).await;
    assert_eq!(text, "éé\nwarning: Output truncated to 5 bytes");
    // 107
    let text = failure(&step(", truncation: false"), json!({})).await;
    assert_eq!(
        text,
        "éé\nStep 'a' failed: Output exceeds buffer limit of 5 bytes"
    );
    // c10: whole outputs in the order of the file, though they come at once.
    let letters = |name: &str| {
        format!(
            "  - {{name: {name}, bash: 'for i in {{1..2000}}; do printf {name}; done', parallel: true}}\n"
        )
    };
    let steps: String = ["a", "b", "c"].map(letters).concat();
    let text = output(&format!("steps:\n{steps}"), json!({})).await;
    assert_eq!(
        text,
        ["a", "b", "c"].map(|name| name.repeat(2000)).join("\n")
    );
}

#[tokio::test]
async fn streamed_lines_come_while_the_step_runs() {
    // 108, 178: the second line is written only after the first was seen; a secret in two writes
    // stays one.
    let yaml = "steps:\n  - name: a\n    bash: |\n      echo first\n      \
                until [ -e go ]; do sleep 0.02; done\n      \
                printf 'sek'; sleep 0.1; echo 'ret123 {K}'\n    \
                output: {mode: stream, stream-callback: console, masked-values: [\"{K}\"]}\n\
                parameters: {K: {description: d}}";
    let project = Project::new(&[("t", yaml)]);
    let mut call = project.call("t", &json!({"K": "sekret123"}));
    let mut streamed = String::new();
    while let Some(event) = call.next_event().await {
        if let Event::Update(update) = event {
            let update: Value = serde_json::from_str(update.get()).expect("it is JSON");
            assert_eq!(update["details"], json!({"step": "a", "stream": "stdout"}));
            streamed.push_str(update["content"][0]["text"].as_str().expect("a text"));
            project.sandbox.write(&format!("{DEEP}/go"), "");
        }
    }
    let outcome = call.outcome().await.expect("it runs");
    assert_eq!(streamed, "first\n*** ***\n");
    assert_eq!(outcome.text(), "first\n*** ***\n");
}

#[tokio::test]
async fn a_stream_can_go_to_a_file() {
    let yaml = "steps:\n  - {name: ab, bash: echo line, output: {mode: stream, stream-callback: file}}\n\
                file-paths: {temp-directory: tmp}";
    let project = Project::new(&[("t", yaml)]);
    assert_eq!(project.text("t", json!({})).await, "line\n");
    assert_eq!(project.read("tmp/ab.log"), "line\n");
}

// ---- secrets (cycod 75, 109, 178–180) ----

#[tokio::test]
async fn secrets_are_seen_nowhere() {
    let secret = "s3cr3t/\"value+ x";
    let yaml = "steps:\n  - name: a\n    bash: |\n      printf %s \"$KEY\"; echo \" {K}\"\n      \
                printf %s \"$KEY\" | base64\n      printf %s \"$KEY\" | jq -sRr @uri\n      \
                printf %s \"$KEY\" | jq -sR .; echo \"$KEY\" >&2\n  \
                - {name: b, bash: 'test {a.error} = \"$KEY\" && exit 3'}\n\
                environment: {variables: {KEY: \"{K}\"}, secrets: [KEY]}\n\
                parameters: {K: {description: d, security: {escape-shell: true}}}";
    let project = Project::new(&[("t", yaml)]);
    let outcome = project.outcome("t", json!({"K": secret})).await;
    // Used inside it is the true one.
    assert_eq!(outcome.text(), "Step 'b' failed with exit code 3");
    let stdout = &outcome.details["steps"][0]["stdout"];
    assert_eq!(*stdout, "*** ***\n***\n***\n\"***\"\n");
    let shown = format!("{}{}", outcome.text(), outcome.details);
    for form in ["s3cr3t", "czNjcjN0", "s3cr3t%2F"] {
        assert!(!shown.contains(form), "{form}: {shown}");
    }
    // c12: cut after masking, so that no half is left; 179: short ones are not masked.
    let cut = "steps:\n  - {name: a, bash: 'printf \"%s\" \"xx{K}\"', \
               output: {buffer-limit: 6, masked-values: [\"{K}\", x]}}\n\
               parameters: {K: {description: d}}";
    let text = output(cut, json!({"K": "abcdefghij"})).await;
    assert_eq!(text, "xx***\nwarning: Output truncated to 6 bytes");
    // c13: nor in what haft says about a command.
    let named = "run: \"{K}\"\nenvironment: {secrets: [K]}\nparameters: {K: {description: d}}";
    let text = failure(named, json!({"K": "no-such-thing"})).await;
    assert_eq!(text, "`***` is not installed");
}

// ---- time, memory, the end (cycod 112–117) ----

#[tokio::test]
async fn the_time_of_a_tool_ends_everything_and_cleanup_still_runs() {
    // c8: deaf children, grandchildren that hold the pipe, a retry that sleeps.
    let yaml = |bash: &str| {
        format!(
            "bash: \"{bash}\"\ntimeout: 600\n\
             resources: {{cleanup: [{{final-command: 'echo {{X}} >> cleaned'}}]}}\n\
             parameters: {{X: {{description: d, default: it}}}}"
        )
    };
    let retry = "error-handling: {retry: {attempts: 9, delay: 60000}}";
    let project = Project::new(&[
        (
            "deaf",
            &yaml("trap '' TERM; echo begun; sleep 30 & sleep 30; sleep 30"),
        ),
        ("retrying", &format!("{}\n{retry}", yaml("exit 1"))),
        ("fails", &yaml("exit 1")),
        ("works", &yaml("echo fine")),
        (
            "smaller",
            "bash: sleep 30\ntimeout: 30000\nresources: {timeout: 200}",
        ),
    ]);
    let started = Instant::now();
    let deaf = project.outcome("deaf", json!({})).await;
    assert_eq!(deaf.text(), "begun\nCommand timed out after 600ms");
    assert_eq!((deaf.is_error, deaf.stopped), (true, None));
    let late = "Command timed out after 600ms";
    assert_eq!(project.text("retrying", json!({})).await, late);
    // 113
    let smaller = project.text("smaller", json!({})).await;
    assert_eq!(smaller, "Command timed out after 200ms");
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
    // 115
    project.outcome("fails", json!({})).await;
    project.outcome("works", json!({})).await;
    assert_eq!(project.read("cleaned"), "it\n".repeat(4));
}

#[tokio::test]
async fn cleanup_changes_nothing_and_runs_after_a_cancel() {
    // 116, in order, with what the steps said
    let failing = "steps: [{name: a, bash: echo id7}]\nresources:\n  cleanup:\n    \
                   - final-command: echo {a.output} > first\n    - final-command: exit 1\n    \
                   - final-command: cat first > second";
    let slow = "bash: sleep 30\nresources: {cleanup: [{final-command: touch cleaned}]}";
    let empty = "bash: 'true'\nresources: {cleanup: [{final-command: 'touch emptied; : {X}/'}]}";
    let empty = format!("{empty}\n{PLAIN_X}");
    let project = Project::new(&[("t", failing), ("slow", slow), ("empty", &empty)]);
    assert_eq!(project.text("t", json!({})).await, "id7\n");
    assert_eq!(project.read("second"), "id7\n");
    // c23: nothing is cleaned up by a command that does not say what.
    let empty = project.outcome("empty", json!({})).await;
    assert!(!empty.is_error && !project.path("emptied").exists());
    let mut call = project.call("slow", &json!({}));
    let event = call.next_event().await;
    assert!(matches!(event, Some(Event::Started)), "{event:?}");
    call.cancel_token().cancel();
    let outcome = call.outcome().await.expect("a stopped call is an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert!(project.path("cleaned").exists());
}

#[tokio::test]
async fn a_background_child_does_not_hold_a_step() {
    // c9
    let started = Instant::now();
    assert_eq!(
        output("bash: sleep 20 & echo done", json!({})).await,
        "done\n"
    );
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn memory_has_a_limit_and_questions_have_an_answer() {
    // 114
    let hog = "run: python3 -c \"x = b'x' * (1 << 30)\"\nresources: {max-memory: 256MB}";
    let text = failure(hog, json!({})).await;
    assert!(text.contains("MemoryError"), "{text}");
    // 117
    let asks = "bash: read -r answer; echo \"got $answer\"\ninteractive: true\n\
                interactive-options: {default-response: y}";
    assert_eq!(output(asks, json!({})).await, "got y\n");
}

// ---- tools in tools (cycod 126–136) ----

#[tokio::test]
async fn a_tool_uses_another_one() {
    let inner = "bash: echo [{N}] [{L}] {X}; exit {CODE}\nparameters:\n  \
                 N: {type: number, description: d, required: true}\n  \
                 L: {type: array, description: d, default: []}\n  \
                 X: {description: d, security: {escape-shell: true}}\n  \
                 CODE: {type: number, description: d, default: 0}";
    let outer = "steps:\n  - name: a\n    use-tool: inner\n    \
                 with: {N: 5, L: \"{LIST}\", X: \"it's {MORE}\"}\n  \
                 - name: b\n    bash: echo {a.exit-code} {a.output}\n  \
                 - {name: c, use-tool: inner, with: {N: 1, CODE: 4}, continue-on-error: true}\n  \
                 - {name: d, bash: 'echo {c.exit-code}'}\n\
                 parameters: {LIST: {type: array, description: d}, MORE: {description: d}}";
    let missing = "steps: [{name: a, use-tool: inner, with: {X: '{N}'}}]\n\
                   parameters: {N: {description: d}}";
    let project = Project::new(&[("inner", inner), ("outer", outer), ("missing", missing)]);
    let text = project
        .text("outer", json!({"LIST": ["p", "q"], "MORE": "$x"}))
        .await;
    // 133, 134
    assert_eq!(text, "[5] [p q] it's $x\n0 [5] [p q] it's $x\n[1] []\n4\n");
    // The inner tool sees only `with`.
    let text = project.text("missing", json!({"N": "5"})).await;
    assert_eq!(text, "Step 'a' failed: Parameter 'N' is required.");
}

#[tokio::test]
async fn an_alias_is_its_base_with_other_defaults() {
    // 128–131
    let base = "bash: echo {A} {B} {C}\nparameters:\n  A: {description: d, required: true}\n  \
                B: {description: d, default: base}\n  C: {description: d, default: c}";
    let alias = "type: alias\nbase-tool: base\ndefault-parameters: {A: alias, B: \"./{A}\"}";
    let project = Project::new(&[("base", base), ("short", alias)]);
    assert_eq!(project.text("short", json!({})).await, "alias ./alias c\n");
    let given = json!({"A": "x", "C": "y"});
    assert_eq!(project.text("short", given).await, "x ./x y\n");
}

// ---- rights (cycod 118–126) ----

#[tokio::test]
async fn permissions_are_held_against_the_hosts_own() {
    // 124
    let yaml = "bash: touch ran\nsecurity:\n  required-permissions:\n    \
                - \"filesystem:write:{X}\"\n    - \"network:external:api.example.org\"";
    let yaml = format!("{yaml}\n{PLAIN_X}");
    let open = Project::new(&[("t", &yaml)]);
    assert!(!open.outcome("t", json!({"X": "."})).await.is_error);
    let config = "permissions:\n  write: [ok]\n  net: [\"api.example.org:443\"]\n";
    let closed = Project::configured(&[("t", &yaml)], config);
    let (kind, text) = closed.error("t", json!({"X": "ok/../other"})).await;
    assert_eq!(kind, ErrorKind::Denied);
    assert_eq!(text, "Permission not granted: filesystem:write:ok/../other");
    assert!(!closed.path("ran").exists());
    assert!(!closed.outcome("t", json!({"X": "ok/below"})).await.is_error);
}

#[tokio::test]
async fn reduced_rights_cannot_come_back() {
    // 122
    let yaml = "bash: grep -E 'NoNewPrivs|CapEff' /proc/self/status | tr -s '\\t\\n' ' '\n\
                security: {execution-privilege: reduced}";
    let text = output(yaml, json!({})).await;
    assert!(text.contains("NoNewPrivs: 1"), "{text}");
    assert!(text.contains("CapEff: 0000000000000000"), "{text}");
    let without = format!("{yaml}\nenvironment: {{variables: {{PATH: /nowhere}}}}");
    let text = failure(&without, json!({})).await;
    let start = "`execution-privilege: reduced` needs the program setpriv";
    assert!(text.starts_with(start), "{text}");
}

#[tokio::test]
async fn elevated_rights_are_always_asked_for() {
    // 122, also behind a wrapper (126), also where everything is allowed
    let elevated = "bash: touch ran\nsecurity: {execution-privilege: elevated}\ntags: [read]";
    let wrapper = "tags: [read]\nsteps: [{name: a, use-tool: t}]";
    let project = Project::new(&[("t", elevated), ("wrapper", wrapper)]);
    for tool in ["t", "wrapper"] {
        let (kind, text) = project.error(tool, json!({})).await;
        assert_eq!(kind, ErrorKind::Denied);
        assert!(text.contains("requires approval"), "{text}");
    }
    assert!(!project.path("ran").exists());
}
