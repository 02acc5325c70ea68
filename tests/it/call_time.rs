//! The time of a call (`limits.call_timeout`) in every family: at its end the call and the programs
//! that it started end, whatever a project declares for its own tools.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use crate::programs::goes;
use crate::sandbox::Sandbox;

/// Writes the number of its process to a file, and waits longer than any test.
const WAIT: &str = "echo $$ > \"$CASE/p/NAME.pid\"; exec sleep 600";

/// A tool that never ends: the file that defines it, its text, and the name by which it is called.
const TOOLS: &[(&str, &str, &str)] = &[
    (
        ".cycod/tools/yaml.yaml",
        "name: yaml\ndescription: d\ntimeout: 600000\nbash: WAIT\ntags: [run]\n",
        "yaml",
    ),
    (
        ".cycod/tools/steps.yaml",
        "name: steps\ndescription: d\ntimeout: 600000\nsteps: [{name: a, timeout: 600000, bash: WAIT}]\n",
        "steps",
    ),
    (
        "kodelet-tools/kodelet",
        "#!/bin/sh\n[ $1 = run ] || { echo '{\"name\":\"kodelet\",\"description\":\"d\",\
         \"input_schema\":{\"type\":\"object\"}}'; exit; }\nWAIT\n",
        "kodelet",
    ),
    (
        ".ikigai/tools/ikigai",
        "#!/bin/sh\n[ \"$1\" != --schema ] || { echo '{\"name\":\"ikigai\",\"description\":\"d\",\
         \"parameters\":{}}'; exit; }\nWAIT\n",
        "ikigai",
    ),
    (
        ".agents/tools/amp",
        "#!/bin/sh\n[ $TOOLBOX_ACTION != describe ] || { echo 'name: amp'; exit; }\nWAIT\n",
        "tb__amp",
    ),
    (
        "bin/gemini",
        "#!/bin/sh\n[ \"$1\" ] || { echo '[{\"name\":\"gemini\"}]'; exit; }\nWAIT\n",
        "gemini",
    ),
    (
        "bin/server.sh",
        "while read -r line; do\n\
         id=$(printf '%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\).*/\\1/p')\n\
         case $line in\n\
         *'\"initialize\"'*) r='{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\
         \"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}';;\n\
         *'\"tools/list\"'*) r='{\"tools\":[{\"name\":\"server\",\"inputSchema\":{\"type\":\"object\"}}]}';;\n\
         *'\"tools/call\"'*) WAIT;;\n\
         *) continue;;\n\
         esac\n\
         printf '{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\\n' \"$id\" \"$r\"\n\
         done\n",
        "server",
    ),
    (
        ".omp/tools/module.ts",
        "export default (pi) => ({name: 'module', description: 'd', parameters: {type: 'object'},\n\
         execute: () => pi.exec('sh', ['-c', `WAIT`])});\n",
        "module",
    ),
];

/// Files that name programs of the table.
const SETTINGS: [(&str, &str); 2] = [
    (
        ".gemini/settings.json",
        r#"{"tools": {"discoveryCommand": "./bin/gemini", "callCommand": "./bin/gemini"}}"#,
    ),
    (
        ".haft/config.yaml",
        "mcp:\n  servers:\n    s: {command: sh, args: [bin/server.sh], timeout: 10m}\n",
    ),
];

/// A trusted project with each tool of the table.
fn project(with_config: &str) -> Sandbox {
    let mut sandbox = Sandbox::with_home();
    let toolbox = sandbox.path().join("p/.agents/tools");
    sandbox.set("AMP_TOOLBOX", toolbox.display().to_string());
    sandbox.set("HAFT_IKIGAI_PROJECT", "true".to_owned());
    for (file, text, name) in TOOLS {
        let wait = WAIT
            .replace("NAME", name)
            .replace("$CASE", &sandbox.path().display().to_string());
        let is_yaml = file.ends_with(".yaml");
        let wait = if is_yaml { format!("'{wait}'") } else { wait };
        let path = sandbox.write(&format!("p/{file}"), &text.replace("WAIT", &wait));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    }
    for (file, text) in SETTINGS {
        let with_config = if file.ends_with("config.yaml") {
            with_config
        } else {
            ""
        };
        sandbox.write(&format!("p/{file}"), &format!("{text}{with_config}"));
    }
    let ran = sandbox.sh("haft trust p --yes");
    assert_eq!(ran.code, 0, "{}", ran.output);
    sandbox
}

fn assert_each_ends(sandbox: &Sandbox, setting: &str) {
    thread::scope(|scope| {
        for (_, _, name) in TOOLS {
            scope.spawn(move || {
                let call = format!("{setting} haft --cwd p call {name} '{{}}' --yolo");
                let ran = sandbox.sh(&call);
                assert_ne!(ran.code, 0, "{name}: {}", ran.output);
                let file = sandbox.path().join(format!("p/{name}.pid"));
                let pid = fs::read_to_string(&file).unwrap_or_default();
                assert!(!pid.is_empty(), "{name} did not run: {}", ran.output);
                assert!(goes(&pid), "{name} is still there: {}", ran.output);
            });
        }
    });
}

#[test]
fn a_call_of_every_family_ends_after_the_time_of_the_user() {
    let sandbox = project("limits: {call_timeout: 10m}\n");
    assert_each_ends(&sandbox, "HAFT_CALL_TIMEOUT=3s");
}

#[test]
fn a_call_of_every_family_ends_after_the_time_of_its_project() {
    let sandbox = project("limits: {call_timeout: 3s}\n");
    assert_each_ends(&sandbox, "");
}
