//! `haft install` with the real npm and a registry of ours on loopback (`docs/install.md`).

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::pty::Terminal;
use crate::sandbox::{Ran, Sandbox};

const TOOLS: &str = "home/.omp/agent/tools";

/// A registry, killed when it is dropped.
struct Registry {
    child: Child,
    lines: BufReader<ChildStdout>,
    port: u16,
}

impl Registry {
    fn start(packages: &Path) -> Registry {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/npm_registry.mjs");
        let mut child = Command::new("node")
            .arg(script)
            .arg(packages)
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is there");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut port = String::new();
        lines.read_line(&mut port).expect("it is text");
        Registry {
            port: port.trim().parse().expect("a port"),
            child,
            lines,
        }
    }

    /// Waits for a request whose line starts with `begin`.
    fn is_asked(&mut self, begin: &str) {
        let mut line = String::new();
        while !line.starts_with(begin) {
            line.clear();
            let read = self.lines.read_line(&mut line).expect("it is text");
            assert!(read > 0, "the registry ended before {begin}");
        }
    }

    /// Ends the registry and returns every request that was not awaited.
    fn requests(mut self) -> Vec<String> {
        self.child.kill().expect("it is ours");
        let lines = std::mem::replace(&mut self.lines, BufReader::new(empty_output()));
        lines
            .lines()
            .map(|line| line.expect("it is text"))
            .collect()
    }
}

/// The output of a program that says nothing.
fn empty_output() -> ChildStdout {
    let mut child = Command::new("true")
        .stdout(Stdio::piped())
        .spawn()
        .expect("`true` is on every machine");
    let output = child.stdout.take().expect("it is piped");
    child.wait().expect("it is ours");
    output
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Fixture {
    sandbox: Sandbox,
    registry: Registry,
}

impl Fixture {
    fn new() -> Fixture {
        let sandbox = Sandbox::with_home();
        let esm = |text: &str| json!({ "index.js": format!("export default () => '{text}';\n") });
        let packages = json!({
            "left": {
                "1.0.0": { "type": "module", "exports": "./index.js", "files": esm("left 1.0.0") },
                "1.2.0": {
                    "type": "module", "exports": "./index.js", "dependencies": { "right": "^1.0.0" },
                    "files": { "index.js": "import right from 'right';\nexport default () => `left 1.2.0, ${right()}`;\n" },
                },
            },
            "right": { "1.0.1": { "main": "index.js", "files": { "index.js": "module.exports = () => 'right 1.0.1';\n" } } },
            "@acme/util": { "3.0.0": { "type": "module", "exports": { "./deep": "./deep.js" }, "files": { "deep.js": "export default () => 'util';\n" } } },
            "native": { "2.0.0": {
                "main": "index.js", "scripts": { "install": "echo ran > $HOME/canary" },
                "files": { "index.js": "module.exports = () => 'native';\n", "binding.gyp": "{}" },
            } },
            "helper": { "1.0.0": {
                "type": "module", "exports": "./index.js", "files": esm("helper"),
                "peerDependencies": { "@oh-my-pi/pi-coding-agent": "*" },
            } },
            "@oh-my-pi/pi-coding-agent": { "18.0.0": { "files": {} } },
            "zod": { "4.0.0": { "files": {} } },
            "slow": { "1.0.0": { "hangs": true, "files": {} } },
        });
        let file = sandbox.write("registry.json", &packages.to_string());
        Fixture {
            registry: Registry::start(&file),
            sandbox,
        }
    }

    fn tool(&self, path: &str, imports: &str) -> PathBuf {
        let name = Path::new(path)
            .file_stem()
            .expect("a file")
            .to_string_lossy();
        let text = format!(
            "import got from '{imports}';\nexport default () => ({{ name: '{name}', description: 'd', \
             parameters: {{ type: 'object' }}, execute: async () => ({{ content: [{{ type: 'text', text: got() }}] }}) }});\n"
        );
        self.sandbox.write(path, &text)
    }

    /// A line of shell in which `haft` and npm ask the registry.
    fn sh(&self, line: &str) -> Ran {
        let port = self.registry.port;
        let mut ran = self.sandbox.sh(&format!(
            "export npm_config_registry=http://127.0.0.1:{port}/; {line}"
        ));
        ran.output = ran.output.replace(&format!("127.0.0.1:{port}"), "REGISTRY");
        ran
    }

    /// The same, which prints exactly this and ends with this code.
    fn gives(&self, line: &str, expected: &str, code: i32) {
        let ran = self.sh(line);
        assert_eq!((ran.output.as_str(), ran.code), (expected, code), "{line}");
    }

    fn haft(&self) -> Command {
        let mut command = self.sandbox.haft();
        let registry = format!("http://127.0.0.1:{}/", self.registry.port);
        command
            .env("npm_config_registry", registry)
            .env("NO_COLOR", "1");
        command
    }

    fn json(&self, line: &str) -> Value {
        let ran = self.sh(line);
        serde_json::from_str(&ran.output).unwrap_or_else(|_| panic!("{line}: {}", ran.output))
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.sandbox.path().join(path)).expect(path)
    }

    /// The names in a folder, hidden ones too.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.sandbox.path().join(folder)).expect(folder);
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names
            .map(|name| name.into_string().expect("text"))
            .collect();
        names.sort();
        names
    }
}

// ---- What is installed, and where.

#[test]
fn tools_in_a_flat_folder_share_their_packages() {
    let fixture = Fixture::new();
    fixture.tool(&format!("{TOOLS}/html.ts"), "left");
    fixture.tool(&format!("{TOOLS}/pad.ts"), "@acme/util/deep");
    fixture.tool(&format!("{TOOLS}/own.ts"), "./lib/text.ts");
    fixture.sandbox.write(
        &format!("{TOOLS}/lib/text.ts"),
        "export default () => 'own';\n",
    );
    // The hint of the load error is a command that repairs it.
    let list = fixture.sh("haft list");
    let hint = "hint: `haft install html` installs `left` beside it\n";
    assert!(list.output.contains(hint), "{}", list.output);
    fixture.gives(
        "haft install html --yes",
        "~/.omp/agent/tools  for `html`\n  \
           left 1.2.0  imported by ~/.omp/agent/tools/html.ts\n  \
           and 1 package that these need: right 1.0.1\n  \
           from REGISTRY\n  \
           writes a new package.json, package-lock.json, node_modules\n\
         installed: 2 packages in ~/.omp/agent/tools\n",
        0,
    );
    fixture.gives("haft call html", "left 1.2.0, right 1.0.1\n", 0);
    fixture.gives(
        "haft install html",
        "nothing to install: every package that the tool imports is there\n",
        0,
    );
    // Without arguments every tool; installed versions stay, although a newer version exists by
    // now.
    let newer = fixture
        .read("registry.json")
        .replace("\"1.2.0\":{", "\"1.3.0\":{\"files\":{}},\"1.2.0\":{");
    fixture.sandbox.write("registry.json", &newer);
    fixture.gives(
        "haft install --yes",
        "~/.omp/agent/tools  for `pad`\n  \
           @acme/util 3.0.0  imported by ~/.omp/agent/tools/pad.ts\n  \
           from REGISTRY\n  \
           writes package.json, package-lock.json, node_modules\n\
         installed: 1 package in ~/.omp/agent/tools\n",
        0,
    );
    fixture.gives(
        "haft call pad; haft call html; haft call own",
        "util\nleft 1.2.0, right 1.0.1\nown\n",
        0,
    );
    let manifest: Value =
        serde_json::from_str(&fixture.read(&format!("{TOOLS}/package.json"))).expect("JSON");
    let expected =
        json!({ "private": true, "dependencies": { "@acme/util": "^3.0.0", "left": "^1.2.0" } });
    assert_eq!(manifest, expected);
    let lock: Value =
        serde_json::from_str(&fixture.read(&format!("{TOOLS}/package-lock.json"))).expect("JSON");
    assert_eq!(lock["name"], "tools");
    assert_eq!(lock["packages"]["node_modules/right"]["version"], "1.0.1");
    let expected = [
        "html.ts",
        "lib",
        "node_modules",
        "own.ts",
        "package-lock.json",
        "package.json",
        "pad.ts",
    ];
    assert_eq!(fixture.names(TOOLS), expected);
}

#[test]
fn the_manifest_of_a_tool_says_which_versions() {
    let fixture = Fixture::new();
    let folder = format!("{TOOLS}/html");
    fixture.tool(&format!("{folder}/index.ts"), "left");
    // haft has zod, so only `right` counts as missing besides; npm installs what the author wrote.
    let manifest = "{\n    \"type\": \"module\",\n    \"dependencies\": { \"left\": \"1.0.0\", \"right\": \"1\", \"zod\": \"*\" }\n}\n";
    fixture
        .sandbox
        .write(&format!("{folder}/package.json"), manifest);
    let report = fixture.json("haft install html --yes --json 2>plan");
    assert_eq!(
        fixture
            .read("plan")
            .replace(&format!("127.0.0.1:{}", fixture.registry.port), "REGISTRY"),
        "~/.omp/agent/tools/html  for `html`\n  \
           left 1.0.0  named in package.json\n  \
           right 1.0.1  named in package.json\n  \
           zod 4.0.0  named in package.json\n  \
           from REGISTRY\n  \
           writes package.json, package-lock.json, node_modules\n"
    );
    assert_eq!(report["installs"][0]["packages"][0]["version"], "1.0.0");
    assert_eq!(report["dryRun"], false);
    assert_eq!(fixture.read(&format!("{folder}/package.json")), manifest);
    let expected = [".package-lock.json", "left", "right", "zod"];
    assert_eq!(fixture.names(&format!("{folder}/node_modules")), expected);
    fixture.gives("haft call index", "left 1.0.0\n", 0);
    // The same from a directory inside of it, and by its folder.
    fixture.gives(
        "cd ~/.omp/agent/tools/html && rm -r node_modules && haft install . --yes >/dev/null 2>&1 && ls node_modules",
        "left\nright\nzod\n",
        0,
    );
}

#[test]
fn a_package_that_only_types_need_is_not_installed() {
    let fixture = Fixture::new();
    let text = "import { Left } from 'left';\nimport type { Right } from 'right';\n\
                export default () => ({ name: 't', description: '', parameters: {}, execute: async (x: Left | Right) => 1 });\n";
    fixture.sandbox.write(&format!("{TOOLS}/typed.ts"), text);
    fixture.gives(
        "haft install typed",
        "nothing to install: every package that the tool imports is there\n",
        0,
    );
}

#[test]
fn only_names_of_packages_reach_npm() {
    let fixture = Fixture::new();
    let specifiers = [
        "../../../etc/passwd",
        "@../evil",
        "@evil/..",
        "--prefix=/tmp/x",
        "-g",
        ".hidden",
        "_private",
        "a b",
        "left@1.0.0",
        "npm:left@1",
        "https://example.com/x.js",
        "git+ssh://example.com/x",
        "@/lib/util",
        "#inner",
        "evil.tgz\\u0000",
        "..%2f..",
        "fs",
        "node:path",
        "zod",
        "@sinclair/typebox",
        "bun",
        "@oh-my-pi/pi-coding-agent",
        "@oh-my-pi/pi-coding-agent/not/there",
        "left/../../right",
        "slow.tgz",
    ];
    let imports: String = specifiers
        .iter()
        .map(|one| format!("await import('{one}');\n"))
        .collect();
    fixture
        .sandbox
        .write("draft.ts", &format!("{imports}export default () => [];\n"));
    let packages =
        json!({ "left": { "1.0.0": { "files": {} } }, "slow.tgz": { "1.0.0": { "files": {} } } });
    fixture
        .sandbox
        .write("registry.json", &packages.to_string());
    let report = fixture.json("haft install ./draft.ts --dry-run --json 2>problems");
    let named: Vec<&Value> = report["installs"][0]["packages"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(named, ["left"]);
    let problems = fixture.read("problems");
    for refused in [
        "@../evil",
        "--prefix=/tmp/x",
        "npm:left@1",
        "slow.tgz",
        "@oh-my-pi/pi-coding-agent/not/there",
    ] {
        assert!(
            problems.contains(&format!("warning: `{refused}` is not installed: ")),
            "{problems}"
        );
    }
    let Fixture { registry, .. } = fixture;
    let mut asked = registry.requests();
    asked.dedup();
    assert_eq!(asked, ["GET /left"]);
}

#[test]
fn an_agent_that_a_package_expects_as_its_host_is_not_installed() {
    let fixture = Fixture::new();
    fixture.tool(&format!("{TOOLS}/helped.ts"), "helper");
    assert_eq!(fixture.sh("haft install --yes").code, 0);
    fixture.gives("haft call helped", "helper\n", 0);
    assert_eq!(
        fixture.names(&format!("{TOOLS}/node_modules")),
        [".package-lock.json", "helper"]
    );
}

// ---- Scripts.

#[test]
fn scripts_of_packages_do_not_run_and_the_hint_runs_them() {
    let fixture = Fixture::new();
    fixture.tool(&format!("{TOOLS}/db.ts"), "native");
    // Scripts of the tool's own package do not run either.
    let ran = fixture.sh("npm_config_ignore_scripts=false haft install db --yes");
    let expected = "installed: 1 package in ~/.omp/agent/tools\n\
        scripts were not run: `native`\n\
        warning: `native` cannot work before native code is built\n\
        hint: if you trust these packages, `npm rebuild --prefix ~/.omp/agent/tools native` runs the scripts\n";
    assert!(ran.output.ends_with(expected), "{}", ran.output);
    assert!(
        !fixture.sandbox.path().join("home/canary").exists(),
        "a script ran"
    );
    assert_eq!(
        fixture
            .sh("npm rebuild --prefix ~/.omp/agent/tools native")
            .code,
        0
    );
    assert_eq!(fixture.read("home/canary"), "ran\n");
}

// ---- Questions.

#[test]
fn at_a_terminal_it_asks_and_elsewhere_it_requires_yes() {
    let fixture = Fixture::new();
    fixture.tool("draft.ts", "left");
    let ran = fixture.sh("haft install ./draft.ts");
    let expected = "error: nobody can be asked whether to install these packages\n\
        hint: after a look at the list above: `haft install --yes`\n";
    assert!(
        ran.output.ends_with(expected) && ran.code == 4,
        "{}",
        ran.output
    );
    let before = fixture.names(".");
    for (answer, code) in [("n\n", 4), ("\n", 4), ("\x03", 130)] {
        let mut terminal = Terminal::start(100, fixture.haft().args(["install", "./draft.ts"]));
        terminal.shows("Install 2 packages? [y/N] ");
        terminal.types(answer);
        assert_eq!(terminal.end().1, Some(code), "{answer:?}");
        assert_eq!(fixture.names("."), before);
    }
    let mut terminal = Terminal::start(100, fixture.haft().args(["install", "./draft.ts"]));
    terminal.shows("Install 2 packages? [y/N] ");
    terminal.types("y\n");
    terminal.shows("installed: 2 packages");
    assert_eq!(terminal.end().1, Some(0));
    fixture.gives(
        "haft --tool draft.ts call draft",
        "left 1.2.0, right 1.0.1\n",
        0,
    );
}

#[test]
fn a_dry_run_changes_nothing() {
    let fixture = Fixture::new();
    fixture.tool(&format!("{TOOLS}/html.ts"), "left");
    fixture.tool(&format!("{TOOLS}/db.ts"), "native");
    fixture.gives(
        "haft install --dry-run",
        "~/.omp/agent/tools  for `db`, `html`\n  \
           left 1.2.0  imported by ~/.omp/agent/tools/html.ts\n  \
           native 2.0.0  imported by ~/.omp/agent/tools/db.ts\n  \
           and 1 package that these need: right 1.0.1\n  \
           from REGISTRY\n  \
           writes a new package.json, package-lock.json, node_modules\n",
        0,
    );
    let report = fixture.json("haft install --dry-run --json");
    let package = |name: &str, version: &str, direct: bool, scripts: bool| json!({ "name": name, "version": version, "direct": direct, "skippedScripts": scripts });
    let expected = json!({ "dryRun": true, "installs": [{
        "directory": format!("$CASE/{TOOLS}"), "manager": "npm", "tools": ["db", "html"],
        "packages": [package("left", "1.2.0", true, false), package("native", "2.0.0", true, true), package("right", "1.0.1", false, false)],
        "hosts": ["REGISTRY"], "needsTrust": false,
    }] });
    assert_eq!(report, expected);
    assert_eq!(fixture.names(TOOLS), ["db.ts", "html.ts"]);
}

// ---- Projects.

#[test]
fn a_project_that_is_not_trusted_runs_nothing_and_is_asked_about_again() {
    let fixture = Fixture::new();
    let tools = "p/.omp/tools";
    let tool = fixture.tool(&format!("{tools}/pad.ts"), "left");
    let text = fs::read_to_string(&tool).expect("ours");
    let canary =
        "import { writeFileSync } from 'node:fs';\nwriteFileSync(process.env.HOME + '/ran', '');\n";
    fs::write(&tool, format!("{canary}{text}")).expect("ours");
    // It would send the user's token to another host, and run a program of its own as git.
    fixture.sandbox.write(
        &format!("{tools}/.npmrc"),
        "registry=http://127.0.0.1:1/\nignore-scripts=false\ngit=./evil.sh\n//127.0.0.1:1/:_authToken=${SECRET}\n",
    );
    let manifest =
        "{\"scripts\": {\"preinstall\": \"touch $HOME/ran\", \"prepare\": \"touch $HOME/ran\"}}";
    fixture
        .sandbox
        .write(&format!("{tools}/package.json"), manifest);
    let ran = fixture.sh("cd p && SECRET=s haft install --yes");
    let expected = "installed: 2 packages in $CASE/p/.omp/tools\n\
        hint: what these tools import has changed: `haft trust` shows what would run, and asks\n";
    assert!(
        ran.output.ends_with(expected) && ran.code == 0,
        "{}",
        ran.output
    );
    assert!(
        !fixture.sandbox.path().join("home/ran").exists(),
        "something ran"
    );
    fixture.gives(
        "cd p && haft call pad",
        "error: `pad` comes from a project that is not trusted\nhint: `haft trust` shows what would run, and asks\n",
        4,
    );
    fixture.gives(
        "cd p && haft trust --yes | tail -n 1 && haft call pad",
        "trusted: 1 tool of $CASE/p\nleft 1.2.0, right 1.0.1\n",
        0,
    );
    // A remote dependency in the project's manifest would already be fetched when it is resolved.
    let remote = "{\"dependencies\": {\"far\": \"git+https://example.com/left.git\"}}";
    fixture
        .sandbox
        .write("p/.omp/tools/far/package.json", remote);
    fixture.tool("p/.omp/tools/far/index.ts", "far");
    fixture.gives(
        "cd p && haft install far --yes",
        "error: the package.json in `$CASE/p/.omp/tools/far` takes packages from elsewhere than a registry (far: git+https://example.com/left.git)\n\
         hint: run `npm install --ignore-scripts` there, if you trust the project\n",
        1,
    );
    fs::remove_dir_all(fixture.sandbox.path().join("p/.omp/tools/far")).expect("ours");
    // A trusted tool is not trusted any more with another package.
    fixture.tool(&format!("{tools}/more.ts"), "@acme/util/deep");
    assert_eq!(
        fixture.sh("cd p && haft trust --yes && haft call pad").code,
        0
    );
    assert_eq!(fixture.sh("cd p && haft install more --yes").code, 0);
    let ran = fixture.sh("cd p && haft call more");
    assert!(
        ran.output
            .starts_with("error: `more` changed since you trusted it: "),
        "{}",
        ran.output
    );
    assert_eq!(ran.code, 4);
}

#[test]
fn the_manifest_of_a_project_stays_the_projects() {
    let fixture = Fixture::new();
    fixture.tool("p/.omp/tools/pad.ts", "left");
    let manifest = "{\"type\": \"commonjs\", \"dependencies\": {\"left\": \"1.0.0\"}}";
    fixture.sandbox.write("p/package.json", manifest);
    fixture.gives(
        "cd p && haft install pad --yes",
        "error: `pad` imports `left`, which belongs to the project's `$CASE/p/package.json`\n\
         hint: run `npm install` there, or `haft install pad --into $CASE/p`\n",
        2,
    );
    assert_eq!(fixture.names("p"), [".omp", "package.json"]);
    assert_eq!(
        fixture.sh("cd p && haft install pad --into . --yes").code,
        0
    );
    fixture.gives("haft --cwd p --trust-project call pad", "left 1.0.0\n", 0);
    assert_eq!(fixture.read("p/package.json"), manifest);
    // Packages that the project does not name go beside the tool, whose module type stays.
    fixture.tool("p/.omp/tools/util.mts", "@acme/util/deep");
    assert_eq!(fixture.sh("cd p && haft install util --yes").code, 0);
    assert_eq!(fixture.read("p/package.json"), manifest);
    let own: Value =
        serde_json::from_str(&fixture.read("p/.omp/tools/package.json")).expect("JSON");
    assert_eq!(
        own,
        json!({ "private": true, "type": "commonjs", "dependencies": { "@acme/util": "^3.0.0" } })
    );
    fixture.gives("haft --cwd p --trust-project call util", "util\n", 0);
    fixture.gives(
        "cd p && haft install pad --into .omp/tools/none --yes; haft install pad --into home",
        "error: `$CASE/p/.omp/tools/none` is not a folder\nhint: `--into` names a folder at or above the tool\n\
         error: `$CASE/p/home` is not a folder\nhint: `--into` names a folder at or above the tool\n",
        2,
    );
}

#[test]
fn links_of_a_project_lead_nowhere() {
    let fixture = Fixture::new();
    fixture.tool("elsewhere/pad.ts", "left");
    assert_eq!(
        fixture
            .sh("mkdir -p p/.omp && ln -s ../../elsewhere p/.omp/tools")
            .code,
        0
    );
    fixture.gives(
        "cd p && haft install --yes",
        "error: the packages of `pad` would go into `$CASE/elsewhere`, outside of the project\n\
         hint: allow it with `--into $CASE/elsewhere`\n",
        2,
    );
    fixture.tool("q/.omp/tools/pad.ts", "left");
    assert_eq!(
        fixture
            .sh("ln -s ../../../elsewhere q/.omp/tools/node_modules")
            .code,
        0
    );
    fixture.gives(
        "cd q && haft install --yes",
        "error: `$CASE/q/.omp/tools/node_modules` is a link, which haft does not replace\n\
         hint: run `npm install --ignore-scripts left` there\n",
        1,
    );
    assert_eq!(fixture.names("elsewhere"), ["pad.ts"]);
}

#[test]
fn tools_in_the_home_directory_need_a_folder() {
    let fixture = Fixture::new();
    fixture.tool("home/draft.ts", "left");
    fixture.gives(
        "haft install ~/draft.ts --yes",
        "error: the packages of `$CASE/home/draft.ts` would go into `$CASE/home`, which holds more than tools\n\
         hint: move the tool into a folder of its own, or allow it with `--into $CASE/home`\n",
        2,
    );
    assert_eq!(fixture.sh("haft install ~/draft.ts --yes --into ~").code, 0);
    fixture.gives(
        "haft --tool ~/draft.ts call draft",
        "left 1.2.0, right 1.0.1\n",
        0,
    );
}

// ---- Other package managers, and npm itself.

#[test]
fn what_another_package_manager_keeps_is_left_alone() {
    let fixture = Fixture::new();
    fixture.tool(&format!("{TOOLS}/html/index.ts"), "left");
    let folder = format!("$CASE/{TOOLS}/html");
    for (file, manager) in [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
    ] {
        let lock = fixture.sandbox.write(&format!("{TOOLS}/html/{file}"), "");
        fixture.gives(
            "haft install html --yes",
            &format!(
                "error: the packages in `{folder}` are managed by {manager}: it has a `{file}`\n\
                 hint: run `{manager} add --ignore-scripts left` there\n"
            ),
            1,
        );
        fs::remove_file(lock).expect("ours");
    }
    fixture.sandbox.write(
        &format!("{TOOLS}/html/package.json"),
        "{\"dependencies\": {\"mine\": \"file:../mine\"}}",
    );
    fixture.gives(
        "haft install html --yes",
        &format!(
            "error: the package.json in `{folder}` refers to folders beside it (mine: file:../mine)\n\
             hint: run `npm install --ignore-scripts left` there\n"
        ),
        1,
    );
    fixture
        .sandbox
        .write(&format!("{TOOLS}/html/package.json"), "{");
    let ran = fixture.sh("haft install html --yes");
    assert!(
        ran.code == 1 && ran.output.contains("package.json` is not valid JSON: "),
        "{}",
        ran.output
    );
}

#[test]
fn without_npm_it_says_what_to_do() {
    let fixture = Fixture::new();
    fixture.tool("draft.ts", "left");
    fixture.gives(
        "haft=$(command -v haft); PATH=/nowhere; \"$haft\" install ./draft.ts --yes",
        "error: `haft install` needs npm, which is not on the PATH\n\
         hint: install Node.js, which brings it; or add the packages beside the tool with another package manager, such as `bun add`\n",
        1,
    );
}

// ---- What fails.

#[test]
fn whatever_fails_is_explained_and_leaves_nothing() {
    let fixture = Fixture::new();
    fixture.tool("none/draft.ts", "no-such-package");
    fixture.tool("some/draft.ts", "left");
    fixture.gives(
        "haft install none/draft.ts --yes --json 2>/dev/null",
        "{\"error\":{\"kind\":\"load\",\"message\":\"the registry has no package `no-such-package`\",\"hint\":\"check the name in the import; a private package needs its registry in your npm configuration (`npm config set @SCOPE:registry URL`)\"}}\n",
        1,
    );
    let ran = fixture.sh("npm_config_fetch_retries=0 npm_config_registry=http://127.0.0.1:1/ haft install some/draft.ts --yes");
    assert!(
        ran.code == 1
            && ran
                .output
                .starts_with("error: the registry cannot be reached: "),
        "{}",
        ran.output
    );
    fixture.sandbox.write(
        "some/package.json",
        "{\"dependencies\": {\"left\": \"^9\"}}",
    );
    fixture.gives(
        "haft install some/draft.ts --yes",
        "error: the registry has no version of `left@^9`\nhint: correct the version range in package.json\n",
        1,
    );
    fixture.gives(
        "haft install lfet --yes; haft install ./nothing.ts; haft install registry.json; haft install home",
        "error: there is no tool `lfet`\n\
         hint: name a tool, not a package: `haft install` adds the packages that the tool imports\n\
         error: there is nothing at `$CASE/nothing.ts`\n\
         hint: check the path; relative paths start at the working directory\n\
         nothing to install: every package that the tool imports is there\n\
         error: there is no tool in `$CASE/home`\n\
         hint: name a tool, its file, or a folder with an index.ts or a package.json\n",
        2,
    );
    assert_eq!(fixture.names("none"), ["draft.ts"]);
    assert_eq!(fixture.names("some"), ["draft.ts", "package.json"]);
}

#[test]
fn an_interrupted_installation_changes_nothing() {
    let mut fixture = Fixture::new();
    let folder = format!("{TOOLS}/html");
    fixture.tool(&format!("{folder}/index.ts"), "left");
    assert_eq!(fixture.sh("haft install html --yes").code, 0);
    let before = (
        fixture.read(&format!("{folder}/package.json")),
        fixture.read(&format!("{folder}/package-lock.json")),
    );
    fixture.tool(&format!("{folder}/index.ts"), "slow");
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(130)), ("KILL", None)] {
        let mut child = fixture
            .haft()
            .args(["install", "html", "--yes"])
            .stderr(Stdio::null())
            .spawn()
            .expect("haft is built");
        fixture.registry.is_asked("GET /slow/-/slow-1.0.0.tgz");
        // Two installations at once would lose the packages of one.
        let ran = fixture.sh("haft install html --yes");
        assert!(
            ran.code == 1 && ran.output.contains("another `haft install` is at work in"),
            "{}",
            ran.output
        );
        assert_eq!(
            fixture.sh(&format!("kill -{signal} {}", child.id())).code,
            0
        );
        assert_eq!(child.wait().expect("it is ours").code(), code, "{signal}");
        let after = (
            fixture.read(&format!("{folder}/package.json")),
            fixture.read(&format!("{folder}/package-lock.json")),
        );
        assert_eq!(before, after, "{signal}");
        assert_eq!(
            fixture.names(&format!("{folder}/node_modules")),
            [".package-lock.json", "left", "right"]
        );
        let is_left = fixture.names(&folder).contains(&".haft-install".to_owned());
        assert_eq!(is_left, signal == "KILL", "{signal}");
    }
    // The next installation takes over the folder of a killed one.
    fixture.tool(&format!("{folder}/index.ts"), "@acme/util/deep");
    assert_eq!(fixture.sh("haft install html --yes").code, 0);
    assert_eq!(
        fixture.names(&folder),
        [
            "index.ts",
            "node_modules",
            "package-lock.json",
            "package.json"
        ]
    );
    fixture.gives("haft call index", "util\n", 0);
}

// ---- While a host runs.

#[tokio::test]
async fn a_running_host_picks_the_tool_up() {
    let fixture = Fixture::new();
    fixture.tool(&format!("{TOOLS}/html.ts"), "left");
    let host = fixture.sandbox.host(|_| {});
    let watching = host.watch();
    let mut reloads = watching.reloads();
    let limit = Duration::from_secs(60);
    timeout(limit, watching.ready()).await.expect("it watches");
    assert!(host.catalog().await.find("html").is_none());
    assert_eq!(fixture.sh("haft install --yes").code, 0);
    loop {
        let reload = timeout(limit, reloads.recv())
            .await
            .expect("it is noticed")
            .expect("it watches");
        let change = reload.change.as_deref();
        if change.is_some_and(|change| change.added == ["html"]) {
            break;
        }
    }
    host.shutdown().await;
}
