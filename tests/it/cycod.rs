//! YAML shell tools as files: what is read, what is refused and where, which one has a name, what
//! a model sees, which arguments are taken. Nothing is run here. Numbers are those of spec cycod.

use std::fs;
use std::path::Path;

use haft::{Call, Config, Env, Flags, Host, Level, Tier, Tool};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// A project with tools in `.cycod/tools`, trusted.
struct World {
    sandbox: Sandbox,
    host: Host,
}

impl World {
    /// Files by their path below the sandbox; a bare name is in `.cycod/tools`.
    fn new(files: &[(&str, &str)]) -> World {
        let sandbox = Sandbox::with_home();
        for (name, text) in files {
            match name.contains('/') {
                true => sandbox.write(name, text),
                false => sandbox.write(&format!(".cycod/tools/{name}"), text),
            };
        }
        let host = Host::new(config(&sandbox.path(), true));
        World { sandbox, host }
    }

    /// One tool, `t.yaml`: a description and what is given.
    fn tool(yaml: &str) -> World {
        World::new(&[("t.yaml", &format!("description: d\n{yaml}"))])
    }

    /// One tool with these parameters and a command.
    fn parameters(yaml: &str) -> World {
        let indented: String = yaml.lines().map(|line| format!("  {line}\n")).collect();
        World::tool(&format!("bash: echo\nparameters:\n{indented}"))
    }

    /// Tools, then problems, one a line.
    async fn report(&self) -> String {
        let catalog = self.host.catalog().await;
        let root = format!("{}/", self.sandbox.path().display());
        let mut lines: Vec<String> = catalog.tools().map(tool_line).collect();
        for problem in &catalog.problems {
            let path = problem.path.as_deref().map(short).unwrap_or_default();
            let place = match (problem.line, problem.column) {
                (Some(line), Some(column)) => format!(":{line}:{column}"),
                _ => String::new(),
            };
            let severity = format!("{:?}", problem.severity).to_lowercase();
            let message = problem.message.replace(&root, "");
            lines.push(format!("{path}{place} {severity}: {message}"));
        }
        lines.join("\n")
    }

    async fn found(&self, name: &str) -> Tool {
        let catalog = self.host.catalog().await;
        let entry = catalog.find(name);
        entry.unwrap_or_else(|| panic!("no `{name}`")).tool.clone()
    }

    /// The schema of one property of `t`.
    async fn property(&self, name: &str) -> Value {
        self.found("t").await.input_schema["properties"][name].clone()
    }

    /// What is wrong with these arguments of `t`; empty: nothing.
    async fn refusal(&self, arguments: &str) -> String {
        let call = Call {
            id: "c".into(),
            tool: "t".into(),
            arguments: RawValue::from_string(arguments.to_owned()).expect("it is JSON"),
        };
        self.host.catalog().await;
        match self.host.validate(&call).await {
            Ok(()) => String::new(),
            Err(error) => error.message().to_owned(),
        }
    }
}

fn config(root: &Path, trust_project: bool) -> Config {
    let env = Env {
        current_dir: Some(root.to_owned()),
        home: Some(root.join("home")),
        haft: [(
            "CYCOD_GLOBAL_DIR".to_owned(),
            root.join("global").display().to_string(),
        )]
        .into(),
        ..Env::default()
    };
    let flags = Flags {
        trust_project,
        ..Flags::default()
    };
    Config::resolve_with(flags, &env).expect("a configuration")
}

fn tool_line(tool: &Tool) -> String {
    let hidden = if tool.hidden { " hidden" } else { "" };
    format!("{} ({}{hidden})", tool.name, tool.approval.as_str())
}

fn short(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

async fn reports(yaml: &str, expected: &str) {
    let report = World::tool(yaml).report().await;
    assert_eq!(report, expected, "of\n{yaml}");
}

// A: files, scopes, loading.

/// 1, 6, 12, c29: only `.yaml`, whatever else lies there; a folder that is missing is no problem.
#[tokio::test]
async fn only_yaml_files_are_tools() {
    let tool = "description: d\nbash: echo\n";
    let world = World::new(&[
        ("a.yaml", tool),
        ("b.yml", tool),
        ("c.json", "{}"),
        ("d.YAML", tool),
        (".e.yaml.tmp", tool),
        ("f.yaml/g.yaml", tool),
    ]);
    fs::create_dir(world.sandbox.path().join(".cycod/tools/h.yaml")).expect("a folder of ours");
    world.sandbox.fifo(".cycod/tools/pipe.yaml");
    assert_eq!(world.report().await, "a (exec)");
}

/// 3, 4, 7: the name in the file counts; local before user before global, and by file name.
#[tokio::test]
async fn the_first_of_a_name_counts() {
    let tool = |name: &str, text: &str| format!("name: {name}\ndescription: {text}\nbash: echo\n");
    let world = World::new(&[
        ("z.yaml", &tool("one", "local")),
        ("home/.cycod/tools/a.yaml", &tool("one", "user")),
        ("global/a.yaml", &tool("one", "global")),
        ("home/.cycod/tools/b.yaml", &tool("two", "user, first")),
        ("home/.cycod/tools/c.yaml", &tool("two", "user, second")),
        ("global/d.yaml", &tool("three", "global")),
        ("stem.yaml", "description: d\nbash: echo\n"),
    ]);
    assert_eq!(
        world.report().await,
        "stem (exec)\n\
         one (exec)\n\
         two (exec)\n\
         three (exec)\n\
         a.yaml info: home/.cycod/tools/a.yaml is not loaded: .cycod/tools/z.yaml comes first with the tool name `one`\n\
         c.yaml warning: home/.cycod/tools/c.yaml is not loaded: home/.cycod/tools/b.yaml comes first with the tool name `two`\n\
         a.yaml info: global/a.yaml is not loaded: .cycod/tools/z.yaml comes first with the tool name `one`"
    );
    assert_eq!(world.found("one").await.description, "local");
    assert_eq!(world.found("two").await.description, "user, first");
    assert_eq!(world.found("three").await.source.level, Level::User);
}

/// 4, c15: what an untrusted project brings takes no name from the user's own tools.
#[tokio::test]
async fn an_untrusted_tool_shadows_nothing() {
    let world = World::new(&[
        (
            "a.yaml",
            "description: theirs\nbash: rm -rf ~\ntags: [read]\n",
        ),
        (
            "home/.cycod/tools/a.yaml",
            "description: mine\nbash: echo\n",
        ),
    ]);
    let host = Host::new(config(&world.sandbox.path(), false));
    let catalog = host.catalog().await;
    let found = catalog.find("a").expect("the user's own");
    assert_eq!(found.tool.description, "mine");
    assert!(found.tool.trusted);
}

/// 1: in the home directory the project's folder is the user's own, and needs no trust.
#[tokio::test]
async fn home_as_the_project_is_the_users() {
    let world = World::new(&[("home/.cycod/tools/a.yaml", "description: d\nbash: echo\n")]);
    let home = world.sandbox.path().join("home");
    let env = Env {
        current_dir: Some(home.clone()),
        home: Some(home),
        ..Env::default()
    };
    let config = Config::resolve_with(Flags::default(), &env).expect("a configuration");
    let catalog = Host::new(config).catalog().await;
    let found = catalog.find("a").expect("it is there");
    assert_eq!(
        (found.tool.trusted, found.tool.source.level),
        (true, Level::User)
    );
}

/// 5, 8, 49, 174: one bad file costs itself only, and says everything at once.
#[tokio::test]
async fn all_problems_at_once_and_the_others_load() {
    let world = World::new(&[
        ("good.yaml", "description: d\nbash: echo\n"),
        (
            "bad.yaml",
            "version: x\ntimeout: soon\nplatforms: [linux, amiga]\nparameters:\n  X:\n    type: text\n",
        ),
    ]);
    assert_eq!(
        world.report().await,
        "good (exec)\n\
         bad.yaml:1:1 error: Tool description is required.\n\
         bad.yaml:1:1 error: Tool must have at least one command or steps.\n\
         bad.yaml:1:10 warning: `x` is not a semantic version\n\
         bad.yaml:2:10 error: `timeout` must be a whole number of milliseconds above 0, not `soon`\n\
         bad.yaml:3:20 error: `platforms` must be one of: windows, linux, macos; not `amiga`\n\
         bad.yaml:5:3 error: Parameter 'X' must have a description.\n\
         bad.yaml:6:11 error: Parameter 'X' has invalid type: 'text'. Must be one of: string, number, boolean, array, object."
    );
}

/// 9: an unknown key is a warning with the nearest known one, at every depth.
#[tokio::test]
async fn unknown_keys_are_warnings() {
    reports(
        "bash: echo\ntimeOut: 5\nx-mine: 1\nparameters:\n  P: {description: d, escape-shell: true}\nsteps-: []\n",
        "t (exec)\n\
         t.yaml:3:1 warning: unknown key `timeOut` is ignored\n\
         t.yaml:4:1 warning: unknown key `x-mine` is ignored\n\
         t.yaml:6:23 warning: unknown key `escape-shell` is ignored\n\
         t.yaml:7:1 warning: unknown key `steps-` is ignored",
    )
    .await;
}

/// 10: a key that comes twice is an error with the lines of both.
#[tokio::test]
async fn a_key_twice_is_an_error() {
    reports(
        "bash: echo\nparameters:\n  P: {description: d}\n  P: {description: e}\nbash: ls\n",
        "t.yaml:5:3 error: duplicate key `P`: it stands in line 4 already\n\
         t.yaml:6:1 error: duplicate key `bash`: it stands in line 2 already",
    )
    .await;
}

/// 11: a command line that is no YAML is taken as it is, with a warning; nothing else is touched.
#[tokio::test]
async fn command_lines_may_hold_colons() {
    let world = World::tool(
        "parameters:\n  P:\n    description: d\n    default: a: 'b'\nscript: |\n  bash: x: y\nshell: bash\n",
    );
    assert_eq!(
        world.report().await,
        "t (exec)\n\
         t.yaml:5:14 warning: not valid YAML as it stands: the rest of the line is taken as it is"
    );
    assert_eq!(world.property("P").await["default"], "a: 'b'");
    // What cannot be helped is told as the file stands.
    reports(
        "bash: echo a: b\ntags: [a\n",
        "t.yaml:2:13 error: not valid YAML: mapping values are not allowed in this context",
    )
    .await;
}

/// 12, c14: names that could leave the folder, or a command line, are refused.
#[tokio::test]
async fn names_are_harmless() {
    for name in ["../x", "a/b", "'a b'", "-rf", "_x", "é", "a.b"] {
        let world = World::tool(&format!("name: {name}\nbash: echo\n"));
        let bare = name.trim_matches('\'');
        assert_eq!(
            world.report().await,
            format!("t.yaml:2:7 error: `{bare}` cannot be the name of a tool")
        );
    }
    let world = World::new(&[("my tool.yaml", "description: d\nbash: echo\n")]);
    assert_eq!(
        world.report().await,
        "my tool.yaml:1:1 error: `my tool` cannot be the name of a tool"
    );
}

// B: versions and age.

/// 13, 183: a version is text; what is none is a warning.
#[tokio::test]
async fn versions_are_text() {
    reports("bash: echo\nversion: 1.2.3\n", "t (exec)").await;
    reports(
        "bash: echo\nversion: 1.0\n",
        "t (exec)\nt.yaml:3:10 warning: `1.0` is not a semantic version",
    )
    .await;
}

/// 14, 184, c21: too new a tool is kept from models, and says which versions; numbers compare as
/// numbers, garbage is a warning.
#[tokio::test]
async fn a_tool_may_want_a_newer_host() {
    for met in ["1.2.0", "1.1", "1", "'1.2.0-rc.1'", "v0.9", "1.2.0+build"] {
        reports(
            &format!("bash: echo\nmin-cycod-version: {met}\n"),
            "t (exec)",
        )
        .await;
    }
    for newer in ["99.0.0", "1.10", "1.2.1", "2.0.0-alpha"] {
        let world = World::tool(&format!("bash: echo\nmin-cycod-version: \"{newer}\"\n"));
        let why = format!("Tool 't' needs CYCOD {newer}; haft stands for CYCOD 1.2.0");
        assert_eq!(
            world.report().await,
            format!("t (exec hidden)\nt.yaml warning: {why}")
        );
        assert_eq!(world.refusal("{}").await, why);
    }
    reports(
        "bash: echo\nmin-cycod-version: soon\n",
        "t (exec)\nt.yaml warning: `min-cycod-version` is no version: soon",
    )
    .await;
}

/// 16, 17: what is deprecated says so to a model.
#[tokio::test]
async fn deprecated_things_say_so() {
    let world = World::tool(
        "bash: echo\ndeprecated: true\ndeprecated-message: use u\nparameters:\n  P: {description: p, deprecated: true, deprecated-alternative: Q}\n",
    );
    assert_eq!(world.found("t").await.description, "[deprecated: use u] d");
    assert_eq!(world.property("P").await["deprecated"], true);
}

// C, D: what is executed, and where.

/// 19, 80, 81, 128, 194–196, 274, 275: exactly one thing to execute, everywhere.
#[tokio::test]
async fn exactly_one_thing_is_executed() {
    reports(
        "tags: [read]\n",
        "t.yaml:1:1 error: Tool must have at least one command or steps.",
    )
    .await;
    reports(
        "steps: []\n",
        "t.yaml:2:8 error: Tool must have at least one command or steps.",
    )
    .await;
    reports(
        "bash: echo\nrun: ls\n",
        "t.yaml:1:1 error: the tool has `bash` and `run` at once",
    )
    .await;
    reports("bash: ''\n", "t.yaml:2:7 error: `bash` is empty").await;
    reports(
        "commands: {}\n",
        "t.yaml:2:11 error: `commands` holds no command",
    )
    .await;
    reports(
        "steps:\n- bash: a\n- name: s\n- name: u\n  bash: a\n  use-tool: b\n- name: u\n  run: c\n- text\n",
        "t.yaml:3:3 error: All steps must have a name.\n\
         t.yaml:4:3 error: Step 's' must have a command.\n\
         t.yaml:5:3 error: Step 'u' has `bash` and `use-tool` at once\n\
         t.yaml:8:3 error: Duplicate step name: 'u'.\n\
         t.yaml:10:3 error: a step must be a mapping, not a string",
    )
    .await;
    reports(
        "type: alias\nbash: echo\n",
        "t.yaml:2:7 error: an alias must say which tool it stands for\n\
         t.yaml:3:7 error: an alias has no `bash` of its own: it runs its base",
    )
    .await;
    reports(
        "type: tool\nbash: echo\n",
        "t.yaml:2:7 error: `type` must be one of: alias; not `tool`",
    )
    .await;
}

/// 23: a script without a shell gets the platform's, with a warning.
#[tokio::test]
async fn a_script_should_name_its_shell() {
    reports("script: echo\nshell: zsh\n", "t (exec)").await;
    reports(
        "script: echo\n",
        "t (exec)\nt.yaml:2:9 warning: `script` has no `shell`: the platform's default runs it",
    )
    .await;
    reports(
        "bash: echo\nshell: zsh\n",
        "t (exec)\nt.yaml:3:8 warning: `shell` is ignored: there is no `script`",
    )
    .await;
}

/// 31, 32, c30: a tool of another platform loads, is kept from models, and says where it runs.
#[tokio::test]
async fn tools_of_other_platforms_are_not_offered() {
    let world = World::tool("cmd: dir\nplatforms: [windows, macos]\n");
    assert_eq!(world.report().await, "t (exec hidden)");
    assert_eq!(
        world.refusal("{}").await,
        "Tool 't' is not supported on platform linux; supported: windows, macos"
    );
}

// J: steps.

/// 93: what waits for nothing that exists, for itself, or in a circle.
#[tokio::test]
async fn steps_wait_for_other_steps() {
    reports(
        "steps:\n\
         - {name: a, bash: x, wait-for: [b, b]}\n\
         - {name: b, bash: x, wait-for: c}\n\
         - {name: c, bash: x, wait-for: [a]}\n\
         - {name: fetch, bash: x, wait-for: [fetch, fetsh, nothing]}\n",
        "t.yaml:3:3 error: circular dependency a -> b -> c -> a\n\
         t.yaml:6:3 error: Step 'fetch' waits for itself.\n\
         t.yaml:6:3 error: Step 'fetch' waits for unknown step 'fetsh'.\n\
         t.yaml:6:3 error: Step 'fetch' waits for unknown step 'nothing'.",
    )
    .await;
    // Waiting for a later step is allowed.
    reports(
        "steps:\n- {name: a, bash: x, wait-for: [b]}\n- {name: b, bash: x}\n",
        "t (exec)",
    )
    .await;
}

/// c11: a thousand steps in one chain.
#[tokio::test]
async fn a_thousand_steps_are_fine() {
    let steps: String = (0..1000)
        .map(|n| match n {
            0 => "- {name: s0, bash: x}\n".to_owned(),
            n => format!("- {{name: s{n}, bash: x, wait-for: [s{}]}}\n", n - 1),
        })
        .collect();
    reports(&format!("steps:\n{steps}"), "t (exec)").await;
}

/// 197–211: every value of a step that cannot be meant.
#[tokio::test]
async fn values_of_steps_are_checked() {
    reports(
        "steps:\n\
         - name: s\n  \
           bash: x\n  \
           parallel: perhaps\n  \
           run-condition: true\n  \
           timeout: 0\n  \
           error-handling: {retry: {attempts: -1, delay: -5}}\n  \
           output: {mode: loud, buffer-limit: 10XB, stream-callback: printer, truncation: 2}\n",
        "t.yaml:5:13 error: `parallel` must be `true` or `false`, not `perhaps`\n\
         t.yaml:7:12 error: `timeout` must be a whole number of milliseconds above 0, not `0`\n\
         t.yaml:8:38 error: `attempts` must be a whole number from 0, not `-1`\n\
         t.yaml:8:49 error: `delay` must be a whole number of milliseconds, not `-5`\n\
         t.yaml:9:18 error: `mode` must be one of: buffer, stream; not `loud`\n\
         t.yaml:9:38 error: `buffer-limit` must be a size such as `512MB`, not `10XB`\n\
         t.yaml:9:61 error: `stream-callback` must be one of: console, file, function; not `printer`\n\
         t.yaml:9:82 error: `truncation` must be `true` or `false`, not `2`",
    )
    .await;
}

/// 122, 123, 200, 234–273, c20: every other value that cannot be meant.
#[tokio::test]
async fn values_of_tools_are_checked() {
    reports(
        "bash: echo\n\
         security: {execution-privilege: root, isolation: jail}\n\
         environment: {variables: {A=B: 1, 'C D': 2, OK: 3}, inherit: 7}\n\
         resources: {timeout: 1.5, max-memory: lots, cleanup: [{delete-temp-files: true, burn: 1}]}\n\
         interactive-options: {timeout: -1}\n\
         tests: [{description: x, expected: {exit-code: none}}]\n\
         tags: {read: true}\n",
        "t.yaml:3:33 error: `execution-privilege` must be one of: same-as-user, reduced, elevated; not `root`\n\
         t.yaml:3:50 error: `isolation` must be one of: none, process, container; not `jail`\n\
         t.yaml:4:27 error: `A=B` cannot be the name of a variable\n\
         t.yaml:4:35 error: `C D` cannot be the name of a variable\n\
         t.yaml:4:62 error: `inherit` must be `true` or `false`, not `7`\n\
         t.yaml:5:22 error: `timeout` must be a whole number of milliseconds above 0, not `1.5`\n\
         t.yaml:5:39 error: `max-memory` must be a size such as `512MB`, not `lots`\n\
         t.yaml:5:81 warning: unknown key `burn` is ignored\n\
         t.yaml:6:32 error: `timeout` must be a whole number of milliseconds above 0, not `-1`\n\
         t.yaml:7:9 error: All tests must have a name.\n\
         t.yaml:7:48 error: `exit-code` must be a whole number, not `none`\n\
         t.yaml:8:7 error: `tags` must be a list of texts, not a mapping",
    )
    .await;
}

// M, N, O: risk, aliases, composition.

/// 118, 119: of several security tags the highest counts; none, or none in lower case, is the
/// highest risk.
#[tokio::test]
async fn tags_are_tiers() {
    for (tags, tier) in [
        ("[read]", Tier::Read),
        ("[git, read, write]", Tier::Write),
        ("[read, run]", Tier::Exec),
        ("[Read]", Tier::Exec),
        ("[git]", Tier::Exec),
        ("read", Tier::Read),
    ] {
        let world = World::tool(&format!("bash: echo\ntags: {tags}\n"));
        assert_eq!(world.found("t").await.approval, tier, "{tags}");
    }
    let world = World::tool("bash: echo\nmetadata: {tags: [read]}\n");
    assert_eq!(world.found("t").await.approval, Tier::Exec);
}

/// 126, c16: neither an alias nor a wrapper makes what it uses harmless.
#[tokio::test]
async fn wrappers_are_as_risky_as_what_they_wrap() {
    let world = World::new(&[
        ("base.yaml", "description: d\nbash: rm\ntags: [run]\n"),
        ("bare.yaml", "description: d\nbash: rm\n"),
        (
            "alias.yaml",
            "description: d\ntype: alias\nbase-tool: base\ntags: [read, mine]\n",
        ),
        (
            "bares.yaml",
            "description: d\ntype: alias\nbase-tool: bare\ntags: [read]\n",
        ),
        (
            "wrap.yaml",
            "description: d\nsteps:\n- {name: s, use-tool: alias}\ntags: [read]\n",
        ),
    ]);
    assert_eq!(
        world.report().await,
        "alias (exec)\nbare (exec)\nbares (exec)\nbase (exec)\nwrap (exec)"
    );
}

/// 128–131: an alias is its base with its own name, description and defaults.
#[tokio::test]
async fn an_alias_is_its_base_with_defaults() {
    let world = World::new(&[
        (
            "base.yaml",
            "description: b\nbash: echo\ntags: [write]\nparameters:\n  \
             A: {description: a, required: true}\n  \
             B: {description: b, required: true}\n  \
             C: {description: c, type: number, default: 1}\n",
        ),
        (
            "t.yaml",
            "description: mine\ntype: alias\nbase-tool: base\ndefault-parameters:\n  A: x\n  C: \"2\"\n  Z: 1\ntimeout: 5\n",
        ),
    ]);
    assert_eq!(
        world.report().await,
        "base (write)\n\
         t (write)\n\
         t.yaml:8:1 warning: `timeout` is ignored: an alias has its base's\n\
         t.yaml:3:12 warning: `default-parameters` names 'Z', which 'base' does not have; it is ignored"
    );
    let tool = world.found("t").await;
    assert_eq!(tool.description, "mine");
    assert_eq!(
        tool.input_schema,
        json!({
            "type": "object",
            "properties": {
                "A": { "type": "string", "description": "a", "default": "x" },
                "B": { "type": "string", "description": "b" },
                "C": { "type": "number", "description": "c", "default": 2 },
            },
            "required": ["B"],
        })
    );
    assert_eq!(world.refusal("{}").await, "Parameter 'B' is required.");
}

/// 128, 132, 135: unknown tools and circles, of aliases and of steps.
#[tokio::test]
async fn tools_that_use_tools() {
    let world = World::new(&[
        ("a.yaml", "description: d\ntype: alias\nbase-tool: b\n"),
        (
            "b.yaml",
            "description: d\nsteps:\n- {name: s, use-tool: c}\n- {name: u, use-tool: clnoe}\n",
        ),
        ("c.yaml", "description: d\ntype: alias\nbase-tool: a\n"),
        ("clone.yaml", "description: d\nbash: git\n"),
        (
            "self.yaml",
            "description: d\nsteps:\n- {name: s, use-tool: self}\n",
        ),
        ("two.yaml", "description: d\ntype: alias\nbase-tool: one\n"),
        (
            "one.yaml",
            "description: d\ntype: alias\nbase-tool: clone\n",
        ),
    ]);
    assert_eq!(
        world.report().await,
        "clone (exec)\n\
         one (exec)\n\
         two (exec)\n\
         a.yaml:3:12 error: the alias stands for 'b', which cannot be used\n\
         b.yaml:3:23 error: step 's' uses 'c', which cannot be used\n\
         b.yaml:4:23 error: step 'u' uses 'clnoe', and there is no tool of that name\n\
         c.yaml:3:12 error: circular dependency a -> b -> c -> a\n\
         self.yaml:3:23 error: circular dependency self -> self"
    );
}

/// 135: tools that use tools that use tools … end somewhere.
#[tokio::test]
async fn chains_of_tools_have_an_end() {
    let sandbox = Sandbox::with_home();
    for n in 0..40 {
        let text = match n {
            39 => "description: d\nbash: echo\n".to_owned(),
            n => format!("description: d\ntype: alias\nbase-tool: t{:02}\n", n + 1),
        };
        sandbox.write(&format!(".cycod/tools/t{n:02}.yaml"), &text);
    }
    let catalog = Host::new(config(&sandbox.path(), true)).catalog().await;
    let too_deep = catalog.problems.iter();
    let too_deep = too_deep.filter(|problem| problem.message.contains("more than 32 tools"));
    assert_eq!(too_deep.count(), 1);
    assert!(catalog.find("t39").is_some());
}

// P: what a model sees.

/// 137, 138, 144: the specification's own example, to the letter.
#[tokio::test]
async fn the_schema_is_the_specifications() {
    let blocks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specs/shell/seed-blocks");
    let block = fs::read_to_string(blocks.join("line-0941.yaml")).expect("a fixture");
    let tool = World::new(&[("weather.yaml", &block)])
        .found("weather-lookup")
        .await;
    let shape = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    });
    let expected: Value = serde_json::from_str(
        r#"{
          "name": "weather-lookup",
          "description": "Get weather for a location",
          "parameters": {
            "type": "object",
            "properties": {
              "LOCATION": { "type": "string", "description": "City or airport code" },
              "FORMAT": { "type": "string", "description": "Output format", "default": "3" }
            },
            "required": ["LOCATION"]
          }
        }"#,
    )
    .expect("it is JSON");
    assert_eq!(shape, expected);
    assert_eq!(
        shape.to_string(),
        expected.to_string(),
        "the order counts, too"
    );
}

/// 139–142, 229–233: what `function-calling` changes.
#[tokio::test]
async fn the_schema_can_be_told() {
    let tool = |options: &str| {
        World::tool(&format!(
            "bash: echo\nparameters:\n  \
             P: {{description: p, type: number, default: 2, examples: [3]}}\n  \
             W: {{description: w, validation: {{enum: [a, b, c]}}}}\n\
             function-calling: {{schema-generation: {{{options}}}}}\n"
        ))
    };
    let bare = tool("include-descriptions: false, include-defaults: false");
    assert_eq!(bare.property("P").await, json!({ "type": "number" }));
    let full = tool("example-generation: true, parameter-mapping: {number: integer}");
    assert_eq!(
        full.property("P").await,
        json!({ "type": "integer", "description": "p", "default": 2, "examples": [3] })
    );
    assert_eq!(full.property("W").await["examples"], json!(["a", "b"]));
    let odd = tool("parameter-mapping: {number: float}");
    assert_eq!(
        odd.property("P").await,
        json!({ "type": "string", "description": "p", "default": "2" })
    );
    let raw = tool("parameter-mapping: {number: float}, sanitize-schemas: false");
    assert_eq!(raw.property("P").await["type"], "float");
}

/// 142: a secret is no default that a model sees; 52: a default that is computed is described.
#[tokio::test]
async fn secrets_and_computed_defaults_stay_out() {
    let world = World::tool(
        "bash: echo\nparameters:\n  KEY: {description: k, default: hunter2}\n  \
         TOKEN: {description: t, default: hunter3}\n  DIR: {description: d, default: './{KEY}'}\n\
         environment: {variables: {API: '{TOKEN}'}, secrets: [KEY, API]}\n",
    );
    let schema = world.found("t").await.input_schema.to_string();
    assert!(!schema.contains("hunter"), "{schema}");
    assert_eq!(
        world.property("DIR").await,
        json!({ "type": "string", "description": "d (left out: ./{KEY})" })
    );
}

/// 143, c27: rules become keywords; lists have items; names are just names.
#[tokio::test]
async fn rules_become_keywords() {
    let world = World::parameters(
        "S: {description: s, validation: {minLength: 1, maxLength: 3, pattern: ^a}}\n\
         N: {description: s, type: number, validation: {minimum: 0.5, maximum: 9, multipleOf: 0.5}}\n\
         L: {description: s, type: array, validation: {minItems: 1, maxItems: 2, uniqueItems: true, enum: [a]}}\n\
         A: {description: s, type: array}\n\
         required: {description: \"a \\\"b\\\"\\n🦀\", required: true}\n",
    );
    assert_eq!(
        world.found("t").await.input_schema,
        json!({
            "type": "object",
            "properties": {
                "S": { "type": "string", "description": "s", "minLength": 1, "maxLength": 3, "pattern": "^a" },
                "N": { "type": "number", "description": "s", "minimum": 0.5, "maximum": 9, "multipleOf": 0.5 },
                "L": {
                    "type": "array", "description": "s", "minItems": 1, "maxItems": 2,
                    "uniqueItems": true, "items": { "enum": ["a"] },
                },
                "A": { "type": "array", "description": "s", "items": {} },
                "required": { "type": "string", "description": "a \"b\"\n🦀" },
            },
            "required": ["required"],
        })
    );
}

// E: parameters and arguments.

/// 34–35, 45, 46, 58, 228: definitions of parameters that contradict themselves.
#[tokio::test]
async fn definitions_of_parameters_are_checked() {
    let world = World::parameters(
        "A: {description: d, type: number, default: abc}\n\
         B: {description: d, default: x, validation: {minLength: 2, pattern: '^[ab]+$'}}\n\
         C: {description: d, validation: {pattern: '('}}\n\
         D: {description: d, type: number, validation: {minimum: 5, maximum: 1, minLength: 2}}\n\
         E: {description: d, type: boolean, default: maybe}\n\
         'F G': {description: d}\n\
         H: text\n\
         I: {description: d, type: array, default: [a, c], validation: {enum: [a, b]}}\n",
    );
    assert_eq!(
        world.report().await,
        "t.yaml:4:46 error: The default is not allowed: Parameter 'A' must be a valid number.\n\
         t.yaml:5:32 error: The default is not allowed: Parameter 'B' must be at least 2 characters long.\n\
         t.yaml:5:32 error: The default is not allowed: Parameter 'B' does not match the required pattern: ^[ab]+$.\n\
         t.yaml:6:45 error: Parameter 'C' has an invalid pattern: (: Unbalanced parenthesis\n\
         t.yaml:7:49 error: Parameter 'D' allows nothing: `minimum` is above `maximum`.\n\
         t.yaml:7:74 warning: `minLength` has no effect on a number\n\
         t.yaml:8:47 error: The default is not allowed: Parameter 'E' must be true or false.\n\
         t.yaml:9:3 error: `F G` cannot be the name of a parameter: commands could not refer to it\n\
         t.yaml:10:3 error: Parameter 'H' must have a description.\n\
         t.yaml:10:6 error: a parameter must be a mapping, not a string\n\
         t.yaml:11:45 error: The default is not allowed: Parameter 'I' must be one of: a, b."
    );
}

/// 52: defaults that refer to each other in a circle; a chain is fine.
#[tokio::test]
async fn defaults_may_refer_to_each_other() {
    let world = World::parameters(
        "A: {description: d, default: '{B}/x'}\nB: {description: d, default: '{C:trim}'}\nC: {description: d, default: '${A}{WORKSPACE}'}\n",
    );
    assert_eq!(world.report().await, "t (exec)");
    let world = World::parameters(
        "A: {description: d, default: '{B}/x'}\nB: {description: d, default: '{A:trim}'}\n",
    );
    assert_eq!(
        world.report().await,
        "t.yaml:1:1 error: circular dependency of defaults A -> B -> A"
    );
}

/// 36, 37, 39–44, 47, 49: every problem of the arguments at once, in the format's own words.
#[tokio::test]
async fn arguments_are_checked_all_at_once() {
    let world = World::parameters(
        "R: {description: d, required: true}\n\
         D: {description: d, required: true, default: x}\n\
         S: {description: d, validation: {minLength: 2, maxLength: 3, pattern: '^[a-z🦀]+$'}}\n\
         N: {description: d, type: number, validation: {minimum: 1, maximum: 5, multipleOf: 0.1}}\n\
         B: {description: d, type: boolean}\n\
         L: {description: d, type: array, validation: {minItems: 1, maxItems: 2, uniqueItems: true}}\n\
         O: {description: d, type: object}\n\
         E: {description: d, validation: {enum: [a, no, 3]}}\n",
    );
    let refused = [
        ("{}", "Parameter 'R' is required."),
        (r#"{"R":null}"#, "Parameter 'R' is required."),
        (r#"{"R":[]}"#, "Parameter 'R' must be a string."),
        (
            r#"{"R":"","r":1,"NN":2}"#,
            "Unknown parameter 'r', did you mean 'R'? Known parameters: R, D, S, N, B, L, O, E.\n\
             Unknown parameter 'NN', did you mean 'N'? Known parameters: R, D, S, N, B, L, O, E.",
        ),
        (
            r#"{"R":"","S":"A","N":"0.95","B":"maybe","L":[],"O":"[1]","E":"A"}"#,
            "Parameter 'S' must be at least 2 characters long.\n\
             Parameter 'S' does not match the required pattern: ^[a-z🦀]+$.\n\
             Parameter 'N' must be at least 1.\n\
             Parameter 'N' must be a multiple of 0.1.\n\
             Parameter 'B' must be true or false.\n\
             Parameter 'L' must have at least 1 items.\n\
             Parameter 'O' must be an object.\n\
             Parameter 'E' must be one of: a, no, 3.",
        ),
        (
            r#"{"R":"","S":"abcd","N":6,"L":"a,a,b","O":1}"#,
            "Parameter 'S' must be no more than 3 characters long.\n\
             Parameter 'N' must be no more than 5.\n\
             Parameter 'L' must have no more than 2 items.\n\
             Parameter 'L' must not have the same item twice.\n\
             Parameter 'O' must be an object.",
        ),
        (
            r#"{"R":"","N":"abc"}"#,
            "Parameter 'N' must be a valid number.",
        ),
        (
            r#"{"R":"","N":"NaN"}"#,
            "Parameter 'N' must be a valid number.",
        ),
        (
            r#"{"R":"","N":"inf"}"#,
            "Parameter 'N' must be a valid number.",
        ),
        (
            r#"{"R":"","N":""}"#,
            "Parameter 'N' must be a valid number.",
        ),
        ("[1]", "Arguments must be an object, not a list."),
    ];
    for (arguments, refusal) in refused {
        assert_eq!(world.refusal(arguments).await, refusal, "{arguments}");
    }
    let taken = [
        r#"{"R":"x"}"#,
        r#"{"R":5}"#,
        r#"{"R":true,"D":null}"#,
        r#"{"R":"","S":"🦀🦀🦀"}"#,
        r#"{"R":"","N":"1e0"}"#,
        r#"{"R":"","N":" 3 "}"#,
        r#"{"R":"","N":2.3}"#,
        r#"{"R":"","B":"False"}"#,
        r#"{"R":"","B":1}"#,
        r#"{"R":"","B":"yes"}"#,
        r#"{"R":"","L":"[1,2]"}"#,
        r#"{"R":"","L":"one"}"#,
        r#"{"R":"","O":"{\"a\":[1]}"}"#,
        r#"{"R":"","E":3}"#,
        r#"{"R":"","E":"no"}"#,
    ];
    for arguments in taken {
        assert_eq!(world.refusal(arguments).await, "", "{arguments}");
    }
}

/// 46: ECMAScript's dialect, lookahead and backreferences included; a pattern that would run for
/// ever ends, and one that needs no backtracking has no limit.
#[tokio::test]
async fn patterns_cannot_run_away() {
    let world = World::parameters(
        "LOOK: {description: d, validation: {pattern: '^(?=.*[0-9])[^x]{3,}$'}}\n\
         BACK: {description: d, validation: {pattern: '^(a+)-\\1$'}}\n\
         SLOW: {description: d, validation: {pattern: '^(?=((a+)+)+$)b'}}\n\
         FAST: {description: d, validation: {pattern: '^(a+)+$'}}\n\
         WORD: {description: d, validation: {pattern: '^\\d+$'}}\n",
    );
    assert_eq!(world.report().await, "t (exec)");
    let long = format!("{}!", "a".repeat(5_000));
    let cases = [
        (json!({ "LOOK": "ab1" }), ""),
        (
            json!({ "LOOK": "abc" }),
            "Parameter 'LOOK' does not match the required pattern: ^(?=.*[0-9])[^x]{3,}$.",
        ),
        (json!({ "BACK": "aa-aa" }), ""),
        (
            json!({ "BACK": "aa-a" }),
            "Parameter 'BACK' does not match the required pattern: ^(a+)-\\1$.",
        ),
        (
            json!({ "FAST": long }),
            "Parameter 'FAST' does not match the required pattern: ^(a+)+$.",
        ),
        (
            json!({ "WORD": "٣" }),
            "Parameter 'WORD' does not match the required pattern: ^\\d+$.",
        ),
    ];
    let started = std::time::Instant::now();
    for (arguments, refusal) in cases {
        assert_eq!(world.refusal(&arguments.to_string()).await, refusal);
    }
    let slow = world.refusal(&json!({ "SLOW": long }).to_string()).await;
    assert!(slow.starts_with("Parameter 'SLOW' "), "{slow}");
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

// (c)6: YAML itself.

/// c6, c7: text stays the text that it is.
#[tokio::test]
async fn scalars_keep_their_text() {
    let world = World::parameters(
        "A: {description: d, default: 0755}\nB: {description: d, default: no}\n\
         C: {description: d, default: 1.0}\nD: {description: d, default: ~}\n\
         E: {description: on, default: 2024-01-01}\nF: {description: d, type: number, default: 0755}\n\
         G: {description: d, type: number, default: '1e3'}\n\
         H: {description: d, type: boolean, default: yes}\n\
         I: {description: d, type: object, default: {1: no, true: 007}}\n",
    );
    assert_eq!(world.report().await, "t (exec)");
    let schema = world.found("t").await.input_schema;
    let defaults: Vec<String> = ["A", "B", "C", "D", "E", "F", "G", "H", "I"]
        .map(|name| schema["properties"][name]["default"].to_string())
        .into();
    assert_eq!(
        defaults.join(" "),
        r#""0755" "no" "1.0" null "2024-01-01" 755 1000 true {"1":"no","true":"007"}"#
    );
    assert_eq!(world.property("E").await["description"], "on");
}

/// c6: what is hostile, and what merely came from another system.
#[tokio::test]
async fn files_may_come_from_anywhere() {
    let bomb: String = (1..30)
        .map(|n| format!("k{n}: &a{n} [{0}, {0}, {0}, {0}]\n", format!("*a{}", n - 1)))
        .collect();
    let deep = "[".repeat(5_000);
    let big = format!("description: d\nbash: echo\n# {}\n", "x".repeat(5 << 20));
    let cases: [(&str, &str); 13] = [
        ("\u{feff}description: d\nbash: echo\n", "t (exec)"),
        ("description: d\r\nbash: |\r\n  a\r\n  b\r\n", "t (exec)"),
        (
            "description: d\nbash: echo\n---\ndescription: e\n",
            "t.yaml:3:1 error: the file holds more than one document",
        ),
        ("", "t.yaml:1:1 error: the file is empty"),
        ("# only a comment\n", "t.yaml:1:1 error: the file is empty"),
        (
            "- a\n- b\n",
            "t.yaml:1:1 error: a tool must be a mapping, not a list",
        ),
        (
            "description: d\n\tbash: x\n",
            "t.yaml:1:14 error: not valid YAML: [..]tab",
        ),
        (
            &format!("description: d\nbash: echo\nx: {deep}\n"),
            "t.yaml:3:[..] error: [..]",
        ),
        (
            &format!("description: d\nbash: echo\nk0: &a0 [a]\n{bomb}"),
            "t.yaml:[..] error: it holds too many values",
        ),
        (
            "description: d\nbash: echo\nx: &a [*a]\n",
            "t.yaml:3:8 error: an alias stands inside what it refers to",
        ),
        (
            "description: d\nbash: echo\n? [a, b]\n: c\n",
            "t.yaml:3:3 error: a key must be text",
        ),
        (
            "x: &c {description: d, bash: echo}\n<<: *c\n",
            "t (exec)\nt.yaml:1:1 warning: unknown key `x` is ignored",
        ),
        (&big, "t.yaml error: the file is larger than 4 MB"),
    ];
    for (text, expected) in cases {
        let report = World::new(&[("t.yaml", text)]).report().await;
        let shown: String = text.chars().take(60).collect();
        assert!(
            fits(expected, &report),
            "{shown:?} gives\n{report}\nnot\n{expected}"
        );
    }
    let sandbox = Sandbox::with_home();
    let path = sandbox.write(".cycod/tools/t.yaml", "");
    fs::write(path, b"description: d\nbash: \xff\n").expect("a file of ours");
    let host = Host::new(config(&sandbox.path(), true));
    let problem = host.catalog().await.problems[0].clone();
    assert_eq!(
        (problem.message.as_str(), problem.line),
        ("the file is not valid UTF-8", Some(2))
    );
}

/// Whether `text` is `pattern`, in which `[..]` stands for anything.
fn fits(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    for (nth, part) in pattern.split("[..]").enumerate() {
        match rest.find(part) {
            Some(at) if nth > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    rest.is_empty() || pattern.ends_with("[..]")
}

// Editors and documentation.

/// The JSON Schema for editors and the reference in the documentation are the parser's own table.
#[test]
fn the_schema_for_editors_and_the_reference_are_the_parsers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = haft::formats::shell_tool_schema();
    let schema = serde_json::to_string_pretty(&schema).expect("it is JSON") + "\n";
    let docs = root.join("docs/shell-tools.md");
    let text = fs::read_to_string(&docs).expect("a file of the checkout");
    let (start, end) = ("<!-- reference -->\n", "<!-- end of reference -->");
    let (before, rest) = text.split_once(start).expect("the reference has a start");
    let (_, after) = rest.split_once(end).expect("the reference has an end");
    let reference = haft::formats::shell_tool_reference();
    let documented = format!("{before}{start}{reference}{end}{after}");
    let file = root.join("types/cycod-tool.schema.json");
    if std::env::var_os("HAFT_BLESS").is_some() {
        fs::write(&file, &schema).expect("the checkout can be written");
        fs::write(&docs, &documented).expect("the checkout can be written");
    }
    assert_eq!(fs::read_to_string(&file).unwrap_or_default(), schema);
    assert_eq!(text, documented);
}

/// 181–280: no key is without the case that shows it at work.
#[test]
fn every_key_is_in_the_case_of_all_keys() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specs/shell-cli/every-key");
    let mut found = std::collections::BTreeSet::new();
    for file in fs::read_dir(folder.join(".cycod/tools")).expect("a folder of the checkout") {
        let path = file.expect("a file of the checkout").path();
        let text = fs::read_to_string(path).expect("a fixture");
        let tree: Value = serde_saphyr::from_str(&text).expect("it is YAML");
        keys(&tree, "", &mut found);
    }
    let reference = haft::formats::shell_tool_reference();
    let missing: Vec<&str> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|key| !found.contains(*key))
        .collect();
    assert_eq!(missing, [""; 0]);
}

/// The keys as the reference writes them.
fn keys(tree: &Value, prefix: &str, found: &mut std::collections::BTreeSet<String>) {
    match tree {
        Value::Object(entries) => {
            for (key, value) in entries {
                let name = match prefix {
                    "parameters." => "parameters.NAME".to_owned(),
                    prefix => format!("{prefix}{key}"),
                };
                keys(value, &format!("{name}."), found);
                found.insert(name);
            }
        }
        Value::Array(items) => {
            let prefix = format!("{}[].", prefix.trim_end_matches('.'));
            items.iter().for_each(|item| keys(item, &prefix, found));
        }
        _ => {}
    }
}

/// The 58 blocks of the specification: each loads, or its problem is exactly this one. Those at
/// 1188 and 1906 are no valid YAML (11).
#[tokio::test]
async fn the_specifications_own_blocks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specs/shell/seed-blocks");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("a folder of the checkout")
        .map(|entry| short(&entry.expect("a file of the checkout").path()))
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 58);
    let texts: Vec<(String, String)> = names
        .into_iter()
        .map(|name| {
            let text = fs::read_to_string(folder.join(&name)).expect("a fixture");
            (name, text)
        })
        .collect();
    let files: Vec<(&str, &str)> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let report = World::new(&files).report().await + "\n";
    let expected = folder.join("expected.txt");
    if std::env::var_os("HAFT_BLESS").is_some() {
        fs::write(&expected, &report).expect("the checkout can be written");
    }
    let expected = fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(report, expected);
}
