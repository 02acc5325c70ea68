//! Programs by other authors that check our interfaces. `cargo xtask test` installs them.

use std::path::PathBuf;
use std::process::Command;

use crate::sandbox::Sandbox;
use crate::served::Served;

/// A tool that accepts any arguments, so that every call that fits the description is valid.
const MODULE: &str = r#"
export default (pi) => ["echo", "reload"].map((name) => ({
  name, description: "Takes anything", parameters: pi.zod.object({}).loose(),
  async execute(_id, params) { return { content: [{ type: "text", text: JSON.stringify(params) }] }; },
}));
"#;

/// The names that make sense in paths. This server has no queue, which it says with 503.
const SETTINGS: &str = r#"
[parameters]
"path.name" = "echo"

[[operations]]
include-operation-id = ["callTool", "listQueue", "getQueued", "cancelQueued", "answerQueued"]
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", 503]
"#;

#[test]
fn schemathesis_finds_nothing_that_breaks_the_description() {
    let sandbox = Sandbox::with_home();
    sandbox.write("module.ts", MODULE);
    sandbox.write("schemathesis.toml", SETTINGS);
    // A judge must not start agents with made-up prompts.
    sandbox.write(
        "home/.config/haft/config.yaml",
        "sessions: {enabled: false}\n",
    );
    let mut command = sandbox.haft();
    command.args([
        "--tool",
        "module.ts",
        "serve",
        "rest",
        "--listen",
        "0",
        "--no-token",
    ]);
    let served = Served::start(&mut command);
    let url = format!("http://{}/api/openapi.json", served.address);
    let program = judge("schemathesis");
    // The checker would wait for the end of the event stream, which never comes. It does not test
    // the endpoint of the API description.
    let judged = Command::new(&program)
        .current_dir(sandbox.path())
        .args(["run", &url, "--exclude-path", "/api/events", "--no-color"])
        .args(["--max-examples", "20", "--seed", "1"])
        .output();
    let judged = judged.unwrap_or_else(|error| {
        let program = program.display();
        panic!("{program}: {error}; `cargo xtask test` installs it")
    });
    let said = String::from_utf8_lossy(&judged.stdout);
    assert!(judged.status.success(), "{said}");
    assert!(
        said.contains("Operations:       26 selected / 27 total"),
        "{said}"
    );
}

/// Path of a program of `tests/judges/requirements.txt`, as `cargo xtask` installs it.
fn judge(name: &str) -> PathBuf {
    let pinned = include_str!("../judges/requirements.txt").trim();
    let folder = installed().join(pinned.replace("==", "-"));
    folder.join("bin").join(name)
}

/// Folder of the programs by other authors that `cargo xtask test` installs.
pub fn installed() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or(home).expect("a user runs this");
    cache.join("haft-judges")
}
