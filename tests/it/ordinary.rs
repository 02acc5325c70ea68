//! Projects as people have them, in the sandbox that is the default: monorepos, repositories,
//! languages that are installed anywhere, folders that are replaced while a host runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use haft::{Call, Config, Flags, Host, Outcome};
use rstest::rstest;
use serde_json::value::RawValue;

use crate::sandbox::{Ran, Sandbox};

struct Project(Sandbox);

impl Project {
    /// Makes a home directory and nothing else, with the sandbox that projects have by default.
    fn new() -> Project {
        let mut sandbox = Sandbox::with_home();
        sandbox.profile_of_the_project_is_configured();
        sandbox.isolation_is_configured();
        Project(sandbox)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.write(path, text);
        if text.starts_with("#!") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        }
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("it is below")).expect("a folder of ours");
        symlink(target, path).expect("a link of ours");
    }

    /// Writes a module whose tool returns the value of `expression`.
    fn module(&self, path: &str, before: &str, expression: &str) {
        let text = format!(
            "{before}\nexport default () => ({{ name: \"t\", description: \"d\", parameters: {{ type: \"object\" }}, \
             async execute() {{ return {{ content: [{{ type: \"text\", text: String({expression}) }}] }} }} }});\n"
        );
        self.write(path, &text);
    }

    /// Trusts the project in `folder`, and runs a line there.
    fn trusted(&self, folder: &str, line: &str) -> Ran {
        let line = format!("cd {folder} && haft trust --yes >trusted.log 2>&1; {line}");
        self.0.sh(&line)
    }
}

/// Imports of a module in `packages/app` of a monorepo, and what comes of them.
#[rstest]
#[case::hoisted_with_dependencies("import d from 'a';", "d", "a+b")]
#[case::required("const d = require('b');", "d", "b")]
#[case::created_require(
    "import { createRequire } from 'node:module'; const d = createRequire(import.meta.url)('a');",
    "d",
    "a+b"
)]
#[case::required_on_demand("", "require('b')", "b")]
#[case::linked_package("import { v } from 'lib';", "v", "lib+c")]
#[case::linked_commonjs("const v = require('old');", "v", "old+c")]
#[case::pnpm("import d from 'p';", "d", "p+q")]
#[case::data_of_a_package("import d from 'data';", "d", "its data")]
#[case::libc(
    "process.report.excludeNetwork = true;",
    "typeof process.report.getReport().header.glibcVersionRuntime",
    "string"
)]
#[case::beside("import { h } from '../../../shared/h';", "h", "shared")]
#[case::required_beside("const { h } = require('../../../shared/old');", "h", "shared old")]
#[case::required_folder(
    "const { h } = require('../../../shared/folder');",
    "h",
    "shared folder"
)]
#[case::not_there(
    "let d; try { require('not-there'); } catch (error) { d = error.code; }",
    "d",
    "MODULE_NOT_FOUND"
)]
#[case::not_there_beside(
    "let d; try { require('./none'); } catch (error) { d = error.code; }",
    "d",
    "MODULE_NOT_FOUND"
)]
fn a_module_reads_its_own_files_in_a_monorepo(
    #[case] before: &str,
    #[case] expression: &str,
    #[case] expected: &str,
) {
    let project = Project::new();
    let package = |folder: &str, name: &str, code: &str| {
        let manifest = format!(r#"{{"name": "{name}", "main": "index.js"}}"#);
        project.write(&format!("repo/{folder}/package.json"), &manifest);
        project.write(&format!("repo/{folder}/index.js"), code);
    };
    package(
        "node_modules/a",
        "a",
        "module.exports = 'a+' + require('b')",
    );
    package("node_modules/b", "b", "module.exports = 'b'");
    package(
        "node_modules/data",
        "data",
        "module.exports = require('fs').readFileSync(__dirname + '/data.txt', 'utf8')",
    );
    project.write("repo/node_modules/data/data.txt", "its data");
    package("packages/lib/node_modules/c", "c", "module.exports = 'c'");
    package(
        "packages/old",
        "old",
        "module.exports = 'old+' + require('c')",
    );
    package("packages/old/node_modules/c", "c", "module.exports = 'c'");
    let store = "node_modules/.pnpm/p@1.0.0/node_modules";
    package(
        &format!("{store}/p"),
        "p",
        "module.exports = 'p+' + require('q')",
    );
    package(&format!("{store}/q"), "q", "module.exports = 'q'");
    project.link(
        "repo/packages/app/node_modules/p",
        "../../../node_modules/.pnpm/p@1.0.0/node_modules/p",
    );
    project.write(
        "repo/packages/lib/package.json",
        r#"{"name": "lib", "type": "module", "exports": "./src/index.ts"}"#,
    );
    project.write(
        "repo/packages/lib/src/index.ts",
        "import c from 'c'; export const v: string = 'lib+' + c;",
    );
    project.link("repo/packages/app/node_modules/lib", "../../lib");
    project.link("repo/packages/app/node_modules/old", "../../old");
    project.write("repo/packages/shared/h.ts", "export const h = 'shared';");
    project.write("repo/packages/shared/old.js", "exports.h = 'shared old';");
    project.write("repo/packages/shared/old/other.js", "");
    project.write(
        "repo/packages/shared/folder/index.js",
        "exports.h = 'shared folder';",
    );
    project.module("repo/packages/app/.omp/tools/t.ts", before, expression);
    let ran = project.trusted("repo/packages/app", "haft call t");
    assert_eq!((ran.output.trim_end(), ran.code), (expected, 0));
}

#[test]
fn a_search_of_require_finds_no_files_of_others() {
    let project = Project::new();
    project.write("home/.ssh/id.js", "module.exports = 'SECRET'");
    project.write("repo/secrets/index.js", "module.exports = 'SECRET'");
    let home = project.at("home").display().to_string();
    let code = format!(
        "const found = []; for (const path of ['{home}/.ssh/id', '{home}/.ssh', '../' + '../../secrets', '{home}/none']) \
         {{ try {{ found.push(require(path)); }} catch (error) {{ found.push(error.code ?? error.name); }} }}"
    );
    project.module("repo/app/.omp/tools/t.ts", &code, "found.join()");
    let ran = project.trusted("repo/app", "haft call t");
    assert!(!ran.output.contains("SECRET"), "{}", ran.output);
    let refused = ran.output.matches("NotCapable").count() + ran.output.matches("EACCES").count();
    assert_eq!(refused, 4, "{}", ran.output);
}

const GIT: &str = "name: g\ndescription: d\ntags: [read]\nbash: git log -1 --format=%s && git status --short --untracked-files=no .\n";

#[rstest]
#[case::sub_folder("repo/packages/app")]
#[case::worktree("tree")]
#[case::folder_of_a_worktree("tree/packages/app")]
#[case::submodule("repo/module")]
#[case::worktree_with_a_space("the tree")]
fn git_works_in_a_part_of_a_repository(#[case] folder: &str) {
    let project = Project::new();
    project.write("repo/packages/app/file", "text\n");
    project.write("other/file", "text\n");
    let made = project.0.sh(
        "set -e; git init -q other; git -C other add .; git -C other commit -qm first\n\
         git init -q repo; cd repo; git -c protocol.file.allow=always submodule --quiet add ../other module\n\
         git add .; git commit -qm first; git worktree add -q ../tree; git worktree add -q -b spaced '../the tree'",
    );
    assert_eq!(made.code, 0, "{}", made.output);
    project.write(&format!("{folder}/.cycod/tools/g.yaml"), GIT);
    project.module(
        &format!("{folder}/.omp/tools/t.ts"),
        "import { execFileSync } from 'node:child_process';",
        "execFileSync('git', ['log', '-1', '--format=%s'])",
    );
    let ran = project.trusted(&format!("'{folder}'"), "haft call g; haft call t");
    assert_eq!(ran.output, "first\nfirst\n");
    // Reading is all: a hook would run outside of the sandbox.
    let common = project.0.sh(&format!(
        "cd '{folder}' && git rev-parse --path-format=absolute --git-common-dir"
    ));
    let hook = format!(
        "{}/hooks/post-commit",
        common
            .output
            .trim()
            .replace("$CASE", &project.at("").display().to_string())
    );
    project.write(
        &format!("{folder}/.cycod/tools/g.yaml"),
        &format!("name: g\ndescription: d\ntags: [run]\nbash: echo evil > '{hook}'; git config core.pager evil\n"),
    );
    let ran = project.trusted(&format!("'{folder}'"), "haft call g --yolo");
    assert_ne!(ran.code, 0, "{}", ran.output);
    assert!(!Path::new(&hook).exists(), "{}", ran.output);
}

/// Program of an installation: it reads its library, and says it.
const PROGRAM: &str = "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/../DATA\"\n";

/// Place of the program, the folder on `PATH`, a mark of the installation, and the file that it reads. `opt` is
/// neither in the home directory nor in the project.
#[rstest]
#[case::hosted_tool_cache(
    "opt/cache/Python/3.11/x64/bin",
    "opt/cache/Python/3.11/x64/bin",
    "",
    "lib/python/encodings"
)]
#[case::libexec("opt/x/bin", "opt/x/bin", "", "libexec/x")]
#[case::conda(
    "opt/conda/bin",
    "opt/conda/bin",
    "opt/conda/conda-meta/history",
    "ssl/cacert.pem"
)]
#[case::environment_of_conda(
    "opt/conda/envs/e/bin",
    "opt/conda/envs/e/bin",
    "opt/conda/envs/e/conda-meta/history",
    "etc/x"
)]
#[case::virtual_environment("opt/venv/bin", "opt/venv/bin", "opt/venv/pyvenv.cfg", "pyvenv.cfg")]
#[case::base_of_an_environment("opt/base/bin", "opt/venv/bin", "opt/venv/pyvenv.cfg", "lib/x")]
#[case::homebrew(
    "opt/brew/Cellar/x/1.0/bin",
    "opt/brew/bin",
    "opt/brew/Cellar/x/1.0/README",
    "lib/x"
)]
#[case::go("opt/go/bin", "opt/go/bin", "opt/go/pkg/tool/asm", "src/fmt/print.go")]
#[case::java(
    "opt/jdk/bin",
    "opt/jdk/bin",
    "opt/jdk/conf/security/java.security",
    "conf/security/java.security"
)]
#[case::versions_elsewhere(
    "opt/pyenv/versions/3.11/bin",
    "opt/pyenv/shims",
    "opt/pyenv/version",
    "lib/x"
)]
#[case::asdf_elsewhere("opt/asdf/installs/x/1/bin", "opt/asdf/shims", "", "lib/x")]
#[case::in_the_home_directory("home/tools/x/bin", "home/tools/x/bin", "", "share/x")]
#[case::nvm(
    "home/.nvm/versions/node/v20/bin",
    "home/.nvm/versions/node/v20/bin",
    "",
    "include/x"
)]
#[case::linked_folder("opt/real/bin", "opt/current/bin", "", "lib/x")]
fn a_language_that_is_installed_anywhere_works(
    #[case] program: &str,
    #[case] on_path: &str,
    #[case] mark: &str,
    #[case] data: &str,
) {
    let mut project = Project::new();
    let prefix = Path::new(program).parent().expect("it is below");
    project.write(&format!("{}/{data}", prefix.display()), "its own\n");
    let text = PROGRAM.replace("DATA", data);
    project.write(&format!("{program}/tool-x"), &text);
    if !mark.is_empty() && mark != format!("{}/{data}", prefix.display()) {
        project.write(mark, "");
    }
    if on_path.ends_with("shims") {
        let shim = format!("#!/bin/sh\nexec {}/tool-x\n", project.at(program).display());
        project.write(&format!("{on_path}/tool-x"), &shim);
    } else if on_path == "opt/current/bin" {
        project.link("opt/current", "real");
    } else if on_path != program {
        let target = project.at(program).join("tool-x");
        project.link(&format!("{on_path}/tool-x"), &target.display().to_string());
    }
    let path = format!(
        "{}:{}",
        project.at(on_path).display(),
        crate::sandbox::search_path()
    );
    project.0.set("PATH", path);
    let tool = "name: y\ndescription: d\ntags: [read]\nbash: tool-x\n";
    project.write("p/.cycod/tools/y.yaml", tool);
    let ran = project.trusted("p", "haft call y");
    assert_eq!(ran.output, "its own\n");
}

/// Folders beside one on `PATH` that belong to the user and not to an installation.
#[rstest]
#[case::home("home/bin", "home/share/diary")]
#[case::local("home/.local/bin", "home/.local/share/keyrings/login")]
#[case::settings_of_conda("opt/conda/bin", "opt/conda/.condarc")]
#[case::settings_of_pip("opt/venv/bin", "opt/venv/pip.conf")]
#[case::services_of_homebrew("opt/brew/bin", "opt/brew/var/db")]
fn a_folder_on_path_opens_no_secrets(#[case] on_path: &str, #[case] secret: &str) {
    let mut project = Project::new();
    for mark in [
        "opt/conda/conda-meta/history",
        "opt/venv/pyvenv.cfg",
        "opt/brew/Cellar/x/y",
    ] {
        project.write(mark, "");
    }
    project.write(&format!("{on_path}/tool-x"), "#!/bin/sh\n");
    project.write(secret, "SECRET\n");
    let path = format!(
        "{}:{}",
        project.at(on_path).display(),
        crate::sandbox::search_path()
    );
    project.0.set("PATH", path);
    let read = format!("tool-x; cat {}", project.at(secret).display());
    let tool = format!("name: y\ndescription: d\ntags: [read]\nbash: {read}\n");
    project.write("p/.cycod/tools/y.yaml", &tool);
    let ran = project.trusted("p", "haft call y");
    assert!(ran.output.contains("Permission denied"), "{}", ran.output);
    assert!(!ran.output.contains("SECRET"), "{}", ran.output);
}

async fn call(host: &Host, tool: &str) -> Outcome {
    let arguments = RawValue::from_string("{}".to_owned()).expect("JSON");
    let call = Call {
        id: tool.to_owned(),
        tool: tool.to_owned(),
        arguments,
    };
    host.call(call, None).outcome().await.expect("it runs")
}

/// A host of the project in `p`, which it trusts, with a module, a YAML tool and an executable that
/// read a file of the project and make a temporary one.
fn running_host(project: &Project, change: impl FnOnce(&mut Config)) -> Host {
    write_tools(project, "p", "one");
    let env = haft::config::Env {
        current_dir: Some(project.at("p")),
        home: Some(project.at("home")),
        ..haft::config::Env::default()
    };
    let mut config = Config::resolve_with(Flags::default(), &env).expect("a configuration");
    config.trust_project = true;
    change(&mut config);
    Host::new(config)
}

fn write_tools(project: &Project, folder: &str, data: &str) {
    project.write(&format!("{folder}/data.txt"), data);
    project.module(
        &format!("{folder}/.omp/tools/t.ts"),
        "import fs from 'node:fs'; import os from 'node:os';",
        "(fs.mkdtempSync(os.tmpdir() + '/x-'), fs.writeFileSync('made.txt', ''), fs.readFileSync('data.txt', 'utf8'))",
    );
    let script = "name: y\ndescription: d\ntags: [read]\nbash: mktemp >/dev/null && touch made.txt && cat data.txt\n";
    project.write(&format!("{folder}/.cycod/tools/y.yaml"), script);
    project.write(
        &format!("{folder}/kodelet-tools/k"),
        "#!/bin/sh\nif [ \"$1\" = description ]; then\n  echo '{\"name\":\"k\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}'\n\
         else mktemp >/dev/null && cat data.txt; fi\n",
    );
}

async fn assert_all_read(host: &Host, expected: &str) {
    for tool in ["t", "y", "custom_tool_k"] {
        let outcome = call(host, tool).await;
        let text = outcome.text();
        assert!(
            !outcome.is_error && text.contains(expected),
            "{tool}: {text}"
        );
    }
}

#[rstest]
#[case::made_again("rm -rf p; cp -r kept p")]
#[case::swapped("mv p old; cp -r kept p")]
#[case::emptied_first("rm -rf p; mkdir p; cp -r kept/. p")]
#[case::moved_into_place("rm -rf p; mkdir -p x/p; cp -r kept/. x/p; mv x/p p")]
#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_is_replaced_works_on(#[case] line: &str) {
    let project = Project::new();
    let host = running_host(&project, |_| {});
    assert_all_read(&host, "one").await;
    write_tools(&project, "kept", "two");
    let ran = project.0.sh(line);
    assert_eq!(ran.code, 0, "{}", ran.output);
    host.refresh().await;
    assert_all_read(&host, "two").await;
    assert!(project.at("p/made.txt").exists());
    host.shutdown().await;
}

/// A module of the user works in the folder that is there, without a sandbox, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_replaced_is_the_working_directory_of_the_user_s_tools() {
    let project = Project::new();
    let host = running_host(&project, |config| {
        config.sandbox.project = Some("full".into())
    });
    assert_all_read(&host, "one").await;
    write_tools(&project, "kept", "two");
    let ran = project.0.sh("mv p old; cp -r kept p");
    assert_eq!(ran.code, 0, "{}", ran.output);
    host.refresh().await;
    assert_all_read(&host, "two").await;
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_temporary_folder_that_was_removed_is_made_again() {
    let project = Project::new();
    let host = running_host(&project, |_| {});
    assert_all_read(&host, "one").await;
    // The folders of all sandboxes of this host, as the tools see them.
    let script = "name: y\ndescription: d\ntags: [read]\nbash: echo $TMPDIR\n";
    project.write("p/.cycod/tools/y.yaml", script);
    project.module(
        "p/.omp/tools/t.ts",
        "import os from 'node:os';",
        "os.tmpdir()",
    );
    host.refresh().await;
    for tool in ["t", "y"] {
        let folder = call(&host, tool).await.text();
        let folder = Path::new(folder.trim());
        assert!(folder.is_dir(), "{tool}: {}", folder.display());
        fs::remove_dir_all(folder).expect("a folder of ours");
    }
    write_tools(&project, "p", "one");
    host.refresh().await;
    assert_all_read(&host, "one").await;
    host.shutdown().await;
}

/// The first process of a user, with a home directory in which nothing is.
#[test]
fn the_first_process_of_a_user_finds_everything() {
    let project = Project::new();
    write_tools(&project, "p", "one");
    let ran = project
        .0
        .sh("cd p && haft trust --yes >/dev/null 2>&1; haft call custom_tool_k; haft list --names");
    assert!(ran.output.contains("one"), "{}", ran.output);
}

/// Relative paths, `process.cwd()`, `Deno.cwd()` and programs agree, wherever haft was started.
#[rstest]
#[case::user("home/.omp/agent/tools", "process")]
#[case::project("p/.omp/tools", "process")]
#[case::sandboxed("home/.omp/agent/tools", "sandbox")]
fn the_working_directory_is_the_host_s(#[case] folder: &str, #[case] isolation: &str) {
    let project = Project::new();
    project.write("p/data.txt", "P");
    project.write("elsewhere/data.txt", "ELSEWHERE");
    project.module(
        &format!("{folder}/t.ts"),
        "import fs from 'node:fs'; import path from 'node:path'; import { execSync } from 'node:child_process'; \
         const { Deno } = (0, eval)('({ Deno })');",
        "(fs.writeFileSync('written.txt', ''), [process.cwd(), Deno.cwd(), path.resolve('.'), String(execSync('pwd')).trim(), \
         fs.readFileSync('data.txt', 'utf8')].map((one) => path.basename(one)).join())",
    );
    let ran = project.0.sh(&format!(
        "cd elsewhere && HAFT_ISOLATION={isolation} haft --cwd ../p --trust-project call t"
    ));
    assert_eq!(ran.output, "p,p,p,p,P\n");
    assert!(project.at("p/written.txt").exists());
    assert!(!project.at("elsewhere/written.txt").exists());
}

/// Extracts the command between backquotes that grants something.
fn permit_in(output: &str) -> String {
    let (_, rest) = output
        .split_once("`haft permit ")
        .unwrap_or_else(|| panic!("{output}"));
    let (command, _) = rest.split_once('`').unwrap_or_else(|| panic!("{output}"));
    format!("haft permit {command}")
}

/// A file, and how its tool fails without a permit.
#[rstest]
#[case::module_that_is_not_loaded(
    "p/.omp/tools/a tool.ts",
    "import fs from 'node:fs'; const x = fs.readFileSync('$CASE/out side/f', 'utf8'); \
     export default () => ({ name: 't', description: 'd', parameters: { type: 'object' }, \
     async execute() { return { content: [{ type: 'text', text: x }] } } });"
)]
#[case::module_that_is_called(
    "p/.omp/tools/called.ts",
    "import fs from 'node:fs'; \
     export default () => ({ name: 't', description: 'd', parameters: { type: 'object' }, \
     async execute() { return { content: [{ type: 'text', text: fs.readFileSync('$CASE/out side/f', 'utf8') }] } } });"
)]
#[case::shell_tool(
    "p/.cycod/tools/t.yaml",
    "name: t\ndescription: d\ntags: [read]\nsecurity:\n  required-permissions: ['filesystem:read:$CASE/out side/f']\nbash: cat '$CASE/out side/f'\n"
)]
#[case::interpreter(
    "p/kodelet-tools/k",
    "#!$CASE/opt/sh\nif [ \"$1\" = description ]; then\n  echo '{\"name\":\"t\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}'\n\
     else echo outside; fi\n"
)]
fn the_command_in_a_refusal_grants_what_is_lacking(#[case] file: &str, #[case] text: &str) {
    let project = Project::new();
    let case = project
        .0
        .path()
        .canonicalize()
        .expect("it exists")
        .display()
        .to_string();
    project.write("out side/f", "outside\n");
    let copied = project.0.sh("mkdir opt && cp /bin/sh opt/sh");
    assert_eq!(copied.code, 0);
    project.write(file, &text.replace("$CASE", &case));
    let name = if file.contains("kodelet") {
        "custom_tool_t"
    } else {
        "t"
    };
    let refused = project.trusted("p", &format!("haft call {name}"));
    assert_ne!(refused.code, 0, "{}", refused.output);
    let command = permit_in(&refused.output).replace("$CASE", &case);
    let permitted = project.0.sh(&format!("cd p && {command}"));
    assert_eq!(permitted.code, 0, "{command}: {}", permitted.output);
    let again = project.0.sh(&format!("cd p && haft call {name}"));
    assert!(
        again.code == 0 && again.output.contains("outside"),
        "{command}: {}",
        again.output
    );
}

#[test]
fn the_command_of_doctor_grants_a_project_everything() {
    let project = Project::new();
    project.write("outside/f", "outside");
    let outside = project.at("outside/f").display().to_string();
    for tool in ["one", "two"] {
        let text = format!(
            "import fs from 'node:fs'; const x = fs.readFileSync('{outside}', 'utf8'); \
             export default () => ({{ name: '{tool}', description: 'd', parameters: {{ type: 'object' }}, \
             async execute() {{ return {{ content: [{{ type: 'text', text: x }}] }} }} }});"
        );
        project.write(&format!("p/.omp/tools/{tool}.ts"), &text);
    }
    project.write(
        "p/.cycod/tools/y.yaml",
        "name: y\ndescription: d\ntags: [read]\nsecurity:\n  required-permissions: ['network:external:api.example.com']\nbash: echo done\n",
    );
    let untrusted = project.0.sh("cd p && haft doctor --project");
    assert_eq!(untrusted.code, 4, "{}", untrusted.output);
    let lacking = project.trusted("p", "haft doctor --project");
    assert_eq!(lacking.code, 1, "{}", lacking.output);
    let (_, command) = lacking
        .output
        .split_once("to grant it: ")
        .expect("a command");
    assert_eq!(command.matches("haft permit ").count(), 3, "{command}");
    let command = command.replace("$CASE", &project.at("").display().to_string());
    let granted = project.0.sh(&format!("cd p && {command}"));
    assert_eq!(granted.code, 0, "{}", granted.output);
    let ran = project
        .0
        .sh("cd p && haft doctor --project && haft call one && haft call two && haft call y");
    assert!(ran.output.contains("nothing is lacking"), "{}", ran.output);
    assert!(
        ran.output.ends_with("outside\noutside\ndone\n"),
        "{}",
        ran.output
    );
    let trusted = project.0.sh("cd p && haft trust");
    assert!(
        !trusted.output.contains("refused by default"),
        "{}",
        trusted.output
    );
}

#[test]
fn trust_lets_a_server_reach_its_own_host_and_nothing_else() {
    let project = Project::new();
    project.write(
        "p/.mcp.json",
        r#"{"mcpServers": {"h": {"type": "http", "url": "http://127.0.0.1:1/mcp"}, "v": {"type": "http", "url": "http://${V:-127.0.0.1}:2/mcp"}}}"#,
    );
    let by_flag = project.0.sh("cd p && haft --trust-project doctor");
    let hint = "`haft permit mcp:h --allow net=127.0.0.1:1` grants it";
    assert!(by_flag.output.contains(hint), "{}", by_flag.output);
    let page = project.0.sh("cd p && haft trust --yes");
    let told = "the server `h` may connect to `127.0.0.1:1`";
    assert!(page.output.contains(told), "{}", page.output);
    let after = project.0.sh("cd p && haft doctor");
    assert!(
        after
            .output
            .contains("`h` cannot be used: error sending request"),
        "{}",
        after.output
    );
    assert!(
        after
            .output
            .contains("`haft permit mcp:v --allow net=127.0.0.1:2` grants it"),
        "{}",
        after.output
    );
    // What the user refuses stays refused when the project is trusted again.
    let refused = project.0.sh(
        "cd p && haft permit mcp:h --deny net=127.0.0.1:1 && sed -i 's/\"type\"/ \"type\"/' .mcp.json && haft trust --yes && haft permit mcp:h --json",
    );
    assert!(
        refused.output.contains(r#""deny":["127.0.0.1:1"]"#),
        "{}",
        refused.output
    );
}

/// A server that answers with what it may do.
const SERVER: &str = r#"#!/usr/bin/env node
import fs from "node:fs"; import readline from "node:readline";
const can = (what) => { try { what(); return true; } catch { return false; } };
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  const result = method === "initialize" ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }
    : method === "tools/list" ? { tools: [{ name: "what", inputSchema: { type: "object" } }] }
    : method === "tools/call" ? { content: [{ type: "text", text: JSON.stringify([process.env.SECRET_TOKEN ?? null, process.env.OWN ?? null, typeof process.env.HOME,
        can(() => fs.readFileSync(process.env.HOME + "/private")), can(() => fs.writeFileSync(process.env.HOME + "/made", ""))]) }] } : undefined;
  const error = result ? undefined : { code: -32601, message: "unknown" };
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result, error }));
}
"#;

#[rstest]
#[case::by_default("", r#"[null,"1","string",true,true]"#)]
#[case::sandbox("isolation: sandbox, ", r#"[null,"1","string",false,false]"#)]
fn a_server_has_few_variables_and_a_sandbox_that_restricts(
    #[case] isolation: &str,
    #[case] expected: &str,
) {
    let mut project = Project::new();
    project.write("home/private", "SECRET");
    project.write("opt/server.mjs", SERVER);
    fs::create_dir(project.at("p")).expect("a folder of ours");
    let server = project.at("opt/server.mjs").display().to_string();
    project.write(
        "home/.config/haft/config.yaml",
        &format!("mcp: {{servers: {{s: {{command: {server}, {isolation}env: {{OWN: '1'}}}}}}}}\n"),
    );
    project.0.set("SECRET_TOKEN", "secret".into());
    let ran = project.0.sh(
        "cd p && haft trust mcp:s --yes >/dev/null 2>&1; haft call what --yolo; haft show what",
    );
    assert!(ran.output.starts_with(expected), "{}", ran.output);
    let shown = if isolation.is_empty() {
        "isolated  process"
    } else {
        "workspace"
    };
    assert!(ran.output.contains(shown), "{}", ran.output);
}

#[test]
fn a_sandbox_that_restricts_nothing_is_told() {
    let project = Project::new();
    project.write("opt/server.mjs", SERVER);
    fs::create_dir(project.at("p")).expect("a folder of ours");
    let server = project.at("opt/server.mjs").display().to_string();
    let config = format!(
        "sandbox: {{user: full}}\nmcp: {{servers: {{s: {{command: {server}, isolation: sandbox}}}}}}\n"
    );
    project.write("home/.config/haft/config.yaml", &config);
    let ran = project.0.sh("cd p && haft list");
    let told =
        "the sandbox of the MCP server `s` restricts nothing: the profile `full` grants everything";
    assert!(ran.output.contains(told), "{}", ran.output);
}

#[test]
fn programs_and_variables_that_fail_in_the_sandbox_are_told() {
    let mut project = Project::new();
    project.write(
        "p/.cycod/tools/y.yaml",
        "name: y\ndescription: d\ntags: [read]\nbash: echo 'Cannot find its modules' >&2; exit 3\n",
    );
    project.write(
        "p/kodelet-tools/k",
        "#!/bin/sh\nif [ \"$1\" = description ]; then\n  echo '{\"name\":\"k\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}'\n\
         else echo \"got $SECRET_TOKEN\"; fi\n",
    );
    project.write(
        "p/kodelet-tools/broken",
        "#!/bin/sh\necho 'no encodings' >&2; exit 1\n",
    );
    project.write(
        "home/.config/haft/config.yaml",
        "custom_tools:\n  env_whitelist: [PATH, SECRET_TOKEN]\n",
    );
    project.0.set("SECRET_TOKEN", "secret".into());
    let ran = project.trusted("p", "haft call y; haft list");
    assert!(
        ran.output
            .contains("[haft: this program ran in the sandbox `workspace`"),
        "{}",
        ran.output
    );
    assert!(ran.output.contains("by hand it has none"), "{}", ran.output);
    assert!(
        ran.output.contains("it does not get SECRET_TOKEN"),
        "{}",
        ran.output
    );
    let command = "haft permit $CASE/p/kodelet-tools/k --allow env=SECRET_TOKEN";
    assert!(ran.output.contains(command), "{}", ran.output);
    let ran = project.0.sh(&format!(
        "cd p && {command} >/dev/null; haft call custom_tool_k"
    ));
    assert!(ran.output.contains("got secret"), "{}", ran.output);
}

const PYTHON: &str = r#"name: py
description: d
tags: [run]
bash: |
  python3 - <<'PYTHON'
  import os, pty, subprocess
  from multiprocessing import Pool, shared_memory
  with Pool(2) as pool: print(pool.map(abs, [1, -2]))
  memory = shared_memory.SharedMemory(create=True, size=10)
  print(sorted(os.listdir("/dev/shm")) == [memory.name])
  memory.close(); memory.unlink()
  pty.spawn(["sh", "-c", "tty"])
  print(sorted(os.listdir("/dev/pts")))
  PYTHON
"#;

/// Shared memory and terminals of the system belong to other programs.
#[test]
fn programs_have_shared_memory_and_terminals_of_their_own() {
    if haft_process::sandbox::available().namespaces.is_empty() {
        return; // Then there are none, which `sandbox.md` says.
    }
    let project = Project::new();
    project.write("p/.cycod/tools/py.yaml", PYTHON);
    let ran = project.trusted("p", "haft call py --yolo");
    assert_eq!(ran.output, "/dev/pts/0\r\n[1, 2]\nTrue\n['ptmx']\n");
}

#[test]
fn a_virtual_environment_is_made_in_the_sandbox() {
    let project = Project::new();
    let by_hand = project.0.sh("python3 -m venv by-hand");
    let tool = "name: py\ndescription: d\ntags: [run]\nbash: python3 -m venv own && own/bin/python -c 'print(1)'\n";
    project.write("p/.cycod/tools/py.yaml", tool);
    let ran = project.trusted("p", "haft call py --yolo");
    // Debian's own Python has no pip to install.
    assert_eq!(ran.code == 0, by_hand.code == 0, "{}", ran.output);
}
