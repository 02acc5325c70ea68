//! A project that is not trusted, with code in every place that some program would run it from: no
//! command of haft runs any of it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::Sandbox;

/// Every command, and every flow that looks at a project. Servers are ended after a while.
const COMMANDS: &[&str] = &[
    "haft list",
    "haft list --json --no-cache",
    "haft --verbose list",
    "haft show mod",
    "haft show custom_tool_kode",
    "haft schema",
    "haft schema mod",
    "haft schema --for openai-strict",
    "haft schema --check",
    "haft call mod '{}'",
    "haft call mod '{}' --json",
    "haft call mod '{}' --dry-run",
    "haft call custom_tool_kode '{}'",
    "haft call iki '{}'",
    "haft call yam '{}' --approval-mode yolo",
    "haft call yam '{}' --dry-run",
    "haft call plugged '{}'",
    "haft call mod '{}' --session x --auto-approve",
    "haft doctor",
    "haft doctor --json",
    "haft doctor --clients",
    "haft config",
    "haft config --schema",
    "haft refresh",
    "haft trust",
    "haft trust --list",
    "haft trust --revoke",
    "haft install --dry-run",
    "haft install mod",
    "haft install --yes",
    "haft tool list",
    "haft tool get yam",
    "haft tool validate yam",
    "haft tool validate .cycod/tools/yam.yaml",
    "haft tool run yam",
    "haft tool run yam --dry-run",
    "haft tool test yam",
    "haft tool export yam",
    "haft test",
    "haft test --list",
    "haft test .omp",
    "haft test --record",
    "haft test --live",
    "haft agents list",
    "haft agents config claude-code",
    "haft agents config codex",
    "haft agents config cursor",
    "haft completions bash",
    "haft completions zsh",
    "haft new js fresh && rm -r .omp/tools/fresh",
    "printf 'mod {}\\n/tools\\n/show mod\\n/problems\\n/reload\\n' | haft repl",
    "printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}' \
       '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}' \
       '{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"mod\",\"callId\":\"c\",\"arguments\":{}}}' \
       '{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/refresh\"}' | haft rpc",
    "printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}}}' \
       '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}' \
       '{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}' \
       '{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"mod\",\"arguments\":{}}}' | haft serve mcp",
    "timeout 6 haft watch & sleep 2; echo '// changed' >> .omp/tools/mod.ts; echo '#' >> .cycod/tools/yam.yaml; wait",
    "timeout 6 haft serve --listen 127.0.0.1:0 > served.txt 2>&1 & sleep 2; echo '// again' >> .omp/tools/mod.ts; wait",
    "haft --system-tools --builtin-tools list",
    "cd sub && haft list && haft test && haft doctor",
];

/// Makes a project with a canary in each place. `leave` is a shell command that creates a canary
/// file.
fn project(sandbox: &Sandbox) {
    let folder = sandbox.path().join("canaries");
    fs::create_dir(&folder).expect("a directory of ours");
    let folder = folder.display().to_string();
    let js =
        |name: &str| format!("require(\"node:fs\").writeFileSync(\"{folder}/{name}\", \"\");\n");
    let esm = |name: &str| {
        format!(
            "import {{ writeFileSync }} from \"node:fs\";\nwriteFileSync(\"{folder}/{name}\", \"\");\n"
        )
    };
    let tool = |name: &str| {
        format!(
            "{}export default () => ({{ name: \"{name}\", description: \"d\", parameters: {{ type: \"object\" }}, \
             execute() {{ return {{ content: [] }}; }} }});\n",
            esm(name)
        )
    };
    let sh = |name: &str| format!("touch {folder}/{name}");
    let write = |path: &str, text: &str| {
        sandbox.write(&format!("p/{path}"), text);
    };
    let program = |path: &str, name: &str| {
        let path = sandbox.write(
            &format!("p/{path}"),
            &format!("#!/bin/sh\n{}\necho '{{}}'\n", sh(name)),
        );
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(path, mode).expect("a file of ours");
    };
    for place in [
        ".omp/tools/mod.ts",
        ".claude/tools/clod.ts",
        ".codex/tools/dex.js",
        ".omp/tools/deep/index.ts",
    ] {
        let name = place.replace('/', "-");
        write(
            place,
            &tool(if place == ".omp/tools/mod.ts" {
                "mod"
            } else {
                &name
            }),
        );
    }
    write(
        ".omp/tools/mod.tool-test.ts",
        &format!("{}export default [];\n", esm("script-test")),
    );
    write(
        "sub/beside.tool-test.mjs",
        &format!("{}export default [];\n", esm("script-test-2")),
    );
    write(
        "sub/data.tool-test.json",
        "{\"module\": \"../.omp/tools/mod.ts\", \"tests\": [{\"name\": \"n\", \"arguments\": {}, \"live\": true, \"expect\": {}}]}",
    );
    write(
        ".omp/plugins/package.json",
        "{\"dependencies\": {\"plug\": \"1\"}, \"scripts\": {\"postinstall\": \"touch ../../../canaries/script\"}}",
    );
    write(
        ".omp/plugins/node_modules/plug/package.json",
        "{\"name\": \"plug\", \"omp\": {\"tools\": [\"plugged.ts\"]}}",
    );
    write(
        ".omp/plugins/node_modules/plug/plugged.ts",
        &tool("plugged"),
    );
    write(".omp/config.yml", "extensions: [./ext]\n");
    write("ext/tools/extended.ts", &tool("extended"));
    for place in [
        "kodelet-tools/kode",
        ".kodelet/tools/kode2",
        ".ikigai/tools/iki",
    ] {
        program(place, &place.replace('/', "-"));
    }
    write(
        ".cycod/tools/yam.yaml",
        &format!(
            "name: yam\ndescription: d\nbash: {}\ntags: [read]\ntests:\n- name: t\n  parameters: {{}}\n\
             resources:\n  cleanup:\n  - final-command: {}\n",
            sh("yaml"),
            sh("yaml-cleanup")
        ),
    );
    write(".haft/config.yaml", "tools: [./named.ts]\n");
    write("named.ts", &tool("named"));
    for (path, name) in [
        ("vitest.config.ts", "vitest"),
        ("tsconfig-plugin.js", "tsconfig"),
        (".pnpmfile.cjs", "pnpmfile"),
        ("node_modules/zod/index.js", "zod"),
        ("node_modules/@sinclair/typebox/index.js", "typebox"),
    ] {
        write(path, &js(name));
    }
    write(
        "node_modules/zod/package.json",
        "{\"name\": \"zod\", \"main\": \"index.js\"}",
    );
    write(
        "package.json",
        &format!(
            "{{\"name\": \"p\", \"type\": \"commonjs\", \"scripts\": {{\"preinstall\": \"{0}\", \"postinstall\": \"{0}\", \"prepare\": \"{0}\"}}, \"dependencies\": {{\"nothing-of-the-kind\": \"1\"}}}}",
            sh("npm-script")
        ),
    );
    write(
        ".npmrc",
        &format!(
            "node-options=--require {folder}/../p/tsconfig-plugin.js\nscript-shell={folder}/../p/shell\ngit={folder}/../p/shell\n"
        ),
    );
    write("bunfig.toml", "preload = [\"./tsconfig-plugin.js\"]\n");
    write(
        "deno.json",
        "{\"preload\": [\"./tsconfig-plugin.js\"], \"importMap\": \"./map.json\"}",
    );
    write(".envrc", &sh("envrc"));
    write(
        ".env",
        "NODE_OPTIONS=--require ./tsconfig-plugin.js\nHAFT_TRUST_PROJECT=1\nHAFT_TOOLS=named.ts\n",
    );
    program("shell", "shell");
    let server = format!(
        "{{\"mcpServers\": {{\"x\": {{\"command\": \"sh\", \"args\": [\"-c\", \"{}\"]}}}}}}",
        sh("mcp-server")
    );
    for path in [
        ".mcp.json",
        ".cursor/mcp.json",
        ".gemini/settings.json",
        ".claude/settings.local.json",
    ] {
        write(path, &server);
    }
    write(".vscode/mcp.json", &server.replace("mcpServers", "servers"));
    write(
        ".codex/config.toml",
        &format!(
            "[mcp_servers.x]\ncommand = \"sh\"\nargs = [\"-c\", \"{}\"]\n",
            sh("codex")
        ),
    );
    write(
        ".claude/settings.json",
        &format!(
            "{{\"hooks\": {{\"SessionStart\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"{}\"}}]}}]}}, \"apiKeyHelper\": \"{}\"}}",
            sh("hook"),
            sh("helper")
        ),
    );
    // Git runs programs that a repository's configuration names.
    let git = sandbox.sh("cd p && git init -q . && git add -A >/dev/null 2>&1; git commit -qm x");
    assert_eq!(git.code, 0, "{}", git.output);
    let names = [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "alias.status",
    ];
    for name in names {
        let program = format!("{folder}/../p/shell");
        let set = sandbox.sh(&format!("cd p && git config {name} {program}"));
        assert_eq!(set.code, 0, "{}", set.output);
    }
}

fn canaries(sandbox: &Sandbox) -> BTreeSet<String> {
    let entries = fs::read_dir(sandbox.path().join("canaries")).expect("a directory of ours");
    entries
        .map(|entry| {
            entry
                .expect("a file of ours")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

#[test]
fn no_command_runs_code_of_an_untrusted_project() {
    let sandbox = Sandbox::with_home();
    project(&sandbox);
    // Setting the trap may have triggered it.
    for canary in canaries(&sandbox) {
        fs::remove_file(sandbox.path().join("canaries").join(canary)).expect("a file of ours");
    }
    for command in COMMANDS {
        let ran = sandbox.sh(&format!("export HAFT_IKIGAI_PROJECT=1; cd p && {command}"));
        let flown = canaries(&sandbox);
        assert!(flown.is_empty(), "{command} ran {flown:?}:\n{}", ran.output);
    }
    // The trap itself works.
    let mut said = String::new();
    for command in [
        "haft --trust-project list --no-cache",
        "haft --trust-project test",
        "haft --trust-project call yam '{}' --approval-mode yolo",
    ] {
        let ran = sandbox.sh(&format!("export HAFT_IKIGAI_PROJECT=1; cd p && {command}"));
        said.push_str(&ran.output);
    }
    let flown = canaries(&sandbox);
    for canary in [
        "mod",
        "plugged",
        "named",
        "extended",
        "script-test",
        "kodelet-tools-kode",
        ".ikigai-tools-iki",
        "yaml",
    ] {
        assert!(
            flown.contains(canary),
            "{canary} is not among {flown:?}:\n{said}"
        );
    }
}

/// Makes a project `p` whose build files run code, and returns whether it ran since.
fn project_with_build_files() -> Sandbox {
    let sandbox = Sandbox::with_home();
    let run = "echo ran >> \"$HOME/trace\"; echo '[{\"name\": \"t\"}]'";
    // `tools` is a file, too.
    let recipe = run.replace('$', "$$");
    let make = format!(".PHONY: tools list\ntools list:\n\t@{recipe}\n");
    sandbox.write("p/Makefile", &make);
    sandbox.write("p/makefile.mk", &make);
    let package = serde_json::json!({"name": "p", "scripts": {"tools": run}});
    sandbox.write("p/package.json", &package.to_string());
    for path in ["p/tools", "p/bin/tools", "p/node_modules/.bin/tools"] {
        let path = sandbox.write(path, &format!("#!/bin/sh\n{run}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    }
    sandbox
}

fn has_run(sandbox: &Sandbox) -> bool {
    fs::remove_file(sandbox.path().join("home/trace")).is_ok()
}

/// Commands in the settings of the user run in an empty folder until the project is trusted.
#[test]
fn commands_of_the_user_find_nothing_of_an_untrusted_project() {
    let mut sandbox = project_with_build_files();
    let path = std::env::var("PATH").unwrap_or_default();
    let haft = std::path::PathBuf::from(env!("CARGO_BIN_EXE_haft"));
    let folder = haft.parent().expect("a folder").display().to_string();
    let project = sandbox.path().join("p").display().to_string();
    sandbox.set(
        "PATH",
        format!("{project}/node_modules/.bin:./bin:{folder}:{path}"),
    );
    for command in [
        "make -s tools",
        "env make -s tools",
        "make -sf makefile.mk tools",
        "npm run -s tools",
        "sh -c ./tools",
        "sh -c 'make -s tools'",
        "sh -c '. ./tools'",
        "sh -c 'cd \"$OLDPWD\" && ./tools'",
        "sh -c 'cd \"$PWD\" && ./tools'",
        "sh -c 'cd - > /dev/null; ./tools'",
        "sh -c 'cd .. && make -s tools'",
        "tools",
        "sh tools",
        "./tools",
    ] {
        let settings =
            serde_json::json!({"tools": {"discoveryCommand": command, "callCommand": "cat"}});
        sandbox.write("home/.gemini/settings.json", &settings.to_string());
        for line in ["list", "schema", "doctor", "call t '{}'"] {
            let ran = sandbox.sh(&format!("cd p && haft {line}"));
            assert!(!has_run(&sandbox), "{command}, {line}: {}", ran.output);
        }
    }
    // Such a call runs there, too.
    let settings = serde_json::json!({"tools": {
        "discoveryCommand": "echo '[{\"name\": \"tools\"}]'", "callCommand": "make",
    }});
    sandbox.write("home/.gemini/settings.json", &settings.to_string());
    let ran = sandbox.sh("cd p && haft call tools '{}'");
    assert!(!has_run(&sandbox), "{}", ran.output);
    assert!(ran.output.contains("empty folder"), "{}", ran.output);
    let _ = sandbox.sh("haft trust p --yes");
    let ran = sandbox.sh("cd p && haft call tools '{}'");
    assert!(has_run(&sandbox), "{}", ran.output);
}

/// A project without tools can be trusted for the sake of such commands.
#[test]
fn commands_of_the_user_run_in_a_trusted_project() {
    let sandbox = project_with_build_files();
    let settings =
        serde_json::json!({"tools": {"discoveryCommand": "make -s list", "callCommand": "cat"}});
    sandbox.write("home/.gemini/settings.json", &settings.to_string());
    let ran = sandbox.sh("cd p && haft list");
    assert!(
        ran.output.contains("it ran in an empty folder"),
        "{}",
        ran.output
    );
    assert!(!has_run(&sandbox));
    let ran = sandbox.sh("cd p && haft trust --yes && haft list");
    assert!(has_run(&sandbox), "{}", ran.output);
    let ran = sandbox.sh("cd p && haft trust --revoke && haft list");
    assert!(!has_run(&sandbox), "{}", ran.output);
}

/// The same holds for executables of the user, and for servers that are started for their list.
#[test]
fn programs_of_the_user_describe_themselves_in_an_empty_folder() {
    let sandbox = project_with_build_files();
    let tool = sandbox.write("home/.kodelet/tools/k", "#!/bin/sh\nmake -s tools\n");
    fs::set_permissions(tool, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    sandbox.write(
        "home/.config/haft/config.yaml",
        "mcp: {servers: {s: {command: sh, args: [-c, 'make -s tools'], startup_timeout: 5s}}}\n",
    );
    let ran = sandbox.sh("cd p && haft list");
    assert!(!has_run(&sandbox), "{}", ran.output);
    assert!(ran.output.contains("MCP server"), "{}", ran.output);
    let ran = sandbox.sh("cd p && haft --trust-project list");
    assert!(has_run(&sandbox), "{}", ran.output);
}
