//! YAML shell tools as files: parsing, errors with positions, conflicts of names. Nothing is run
//! here. Numbers are those of spec cycod.

use std::fs;
use std::path::Path;

use haft::catalog::Level;
use haft::config::Env;
use haft::{Call, Config, Flags, Host, Tool};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::sandbox::Sandbox;

/// A project with tools in `.cycod/tools`, trusted.
pub struct World {
    pub sandbox: Sandbox,
    host: Host,
}

impl World {
    /// Files by their path below the sandbox; a bare name is in `.cycod/tools`.
    pub fn new(files: &[(&str, &str)]) -> World {
        let sandbox = Sandbox::with_home();
        for (name, text) in files {
            if name.contains('/') {
                sandbox.write(name, text)
            } else {
                sandbox.write(&format!(".cycod/tools/{name}"), text)
            };
        }
        let host = Host::new(config(&sandbox.path(), true));
        World { sandbox, host }
    }

    /// One tool, `t.yaml`: a description and what is given.
    pub fn tool(yaml: &str) -> World {
        World::new(&[("t.yaml", &format!("description: d\n{yaml}"))])
    }

    /// One tool with these parameters and a command.
    pub fn parameters(yaml: &str) -> World {
        let indented: String = yaml.lines().map(|line| format!("  {line}\n")).collect();
        World::tool(&format!("bash: echo\nparameters:\n{indented}"))
    }

    /// Tools, then problems, one a line.
    pub async fn report(&self) -> String {
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

    pub async fn found(&self, name: &str) -> Tool {
        let catalog = self.host.catalog().await;
        let entry = catalog.find(name);
        entry
            .unwrap_or_else(|| panic!("no `{name}`"))
            .tool
            .as_ref()
            .clone()
    }

    /// The schema of one property of `t`.
    pub async fn property(&self, name: &str) -> Value {
        self.found("t").await.input_schema["properties"][name].clone()
    }

    /// Returns the complaints about these arguments of `t`; empty if they are valid.
    pub async fn refusal(&self, arguments: &str) -> String {
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

pub fn config(root: &Path, trust_project: bool) -> Config {
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
    crate::sandbox::resolve(flags, &env).expect("a configuration")
}

fn tool_line(tool: &Tool) -> String {
    let hidden = if tool.hidden { " hidden" } else { "" };
    format!("{} ({}{hidden})", tool.name, tool.approval.as_str())
}

pub fn short(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

pub async fn reports(yaml: &str, expected: &str) {
    let report = World::tool(yaml).report().await;
    assert_eq!(report, expected, "of\n{yaml}");
}

// A: files, scopes, loading.

/// 1, 6, 12, c29: only `.yaml` files are read; a missing folder is not a problem.
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
    let config = crate::sandbox::resolve(Flags::default(), &env).expect("a configuration");
    let catalog = Host::new(config).catalog().await;
    let found = catalog.find("a").expect("it is there");
    assert_eq!(
        (found.tool.trusted, found.tool.source.level),
        (true, Level::User)
    );
}

/// 5, 8, 49, 174: a bad file affects only itself, and reports all of its errors at once.
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

/// 11: a command line that is not valid YAML is taken as it is, with a warning; other lines stay.
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
    // An error that cannot be corrected is reported at its position in the unchanged file.
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

/// 14, 184, c21: a tool that needs a newer version is hidden from models and names both versions.
/// Numbers compare as numbers, garbage is a warning.
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
        "t (exec)\nt.yaml warning: `min-cycod-version` is not a version: soon",
    )
    .await;
}

/// 16, 17: a model sees that a tool is deprecated.
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

/// 31, 32, c30: a tool for another platform loads, is hidden from models, and names its platform.
#[tokio::test]
async fn tools_of_other_platforms_are_not_offered() {
    let world = World::tool("cmd: dir\nplatforms: [windows, macos]\n");
    assert_eq!(world.report().await, "t (exec hidden)");
    assert_eq!(
        world.refusal("{}").await,
        "Tool 't' is not supported on platform linux; supported: windows, macos"
    );
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

/// 181–280: every key has a case that shows its effect.
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
/// 1188 and 1906 are not valid YAML (11).
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
