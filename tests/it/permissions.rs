//! Enforcement of `permissions`: every API against every kind, programs of every family, tiers, and
//! projects that want more than their user grants. The tests check effects from outside.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;

use serde::Deserialize;

use crate::sandbox::{Sandbox, has_sandboxes};

const KINDS: [&str; 8] = ["read", "write", "net", "env", "run", "sys", "ffi", "import"];

/// Result of one API.
#[derive(Deserialize)]
struct Cell {
    name: String,
    needs: String,
    id: String,
    effect: Option<String>,
    error: Option<String>,
}

/// A program that a tool may try to signal.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server that answers every request, and the paths that were requested.
struct Canary {
    port: u16,
    hits: Arc<Mutex<BTreeSet<String>>>,
}

impl Canary {
    fn start() -> Canary {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port of the loopback");
        let port = listener.local_addr().expect("it is bound").port();
        let hits: Arc<Mutex<BTreeSet<String>>> = Arc::default();
        let seen = hits.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let seen = seen.clone();
                thread::spawn(move || {
                    let mut line = String::new();
                    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
                    let _ = reader.read_line(&mut line);
                    let path = line.split(' ').nth(1).unwrap_or_default();
                    let path = path.trim_start_matches('/').to_owned();
                    seen.lock().expect("no panic holds it").insert(path);
                    let _ = stream.write_all(
                        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
                    );
                });
            }
        });
        Canary { port, hits }
    }

    fn was_hit(&self, id: &str) -> bool {
        let hits = self.hits.lock().expect("no panic holds it");
        hits.contains(id)
    }
}

fn config(none: Option<&str>) -> String {
    let mut text = "limits: {spill_kb: 0}\npermissions:\n".to_owned();
    for kind in KINDS {
        let granted = if Some(kind) == none { "none" } else { "all" };
        text.push_str(&format!("  {kind}: {granted}\n"));
    }
    text
}

/// Runs the table once and returns the number of its cells.
fn run_table(none: Option<&str>) -> usize {
    let sandbox = Sandbox::with_home();
    let at = sandbox.path();
    sandbox.write("tools/table.ts", include_str!("permission_table.ts"));
    sandbox.write("tools/permission_own.txt", "own");
    sandbox.write("tools/permission_own.mjs", "export default 1;");
    sandbox.write("tools/permission_own.cjs", "module.exports = 1;");
    for (extension, text) in [
        ("", "seen"),
        (".json", "{\"seen\": 1}"),
        (".yaml", "seen: 1"),
        (".mjs", "export default 1;"),
        (".cjs", "module.exports = 1;"),
        (".node", "no addon"),
    ] {
        sandbox.write(&format!("elsewhere/seen.txt{extension}"), text);
    }
    for (link, to) in [
        (".environ", "/proc/self/environ"),
        (".status", "/proc/self/status"),
        (".kernel.json", "/proc/sys/kernel/pid_max"),
    ] {
        let link = at.join(format!("elsewhere/seen.txt{link}"));
        symlink(to, link).expect("a directory of ours");
    }
    fs::create_dir(at.join("out")).expect("a directory of ours");
    for number in 0..300 {
        sandbox.write(&format!("gone/cell-{number}"), "here");
    }
    sandbox.write("conf.yaml", &config(none));
    let canary = Canary::start();
    let victim = Victim(Command::new("sleep").arg("600").spawn().expect("a program"));
    let arguments = format!(
        "{{\"port\": {}, \"victim\": {}}}",
        canary.port,
        victim.0.id()
    );
    let mut haft = sandbox.haft();
    haft.env("TABLE_SECRET", "table-secret");
    haft.args(["--config", "conf.yaml", "--tool", "tools/table.ts"]);
    haft.args(["call", "table", &arguments]);
    let ended = haft.output().expect("haft starts");
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let cells: Vec<Cell> = serde_json::from_str(&text).unwrap_or_else(|error| {
        let stderr = String::from_utf8_lossy(&ended.stderr);
        panic!("{none:?}: {error}\n{text}\n{stderr}")
    });
    let wrong: Vec<String> = cells
        .iter()
        .filter_map(|cell| {
            let needs: Vec<&str> = cell.needs.split(' ').collect();
            let is_refused = needs == ["never"]
                || none.is_some_and(|kind| needs.contains(&kind) || needs == ["all"]);
            let how = match (&cell.error, is_refused) {
                (None, false) => None,
                (Some(error), true) if error.contains("is not permitted") => None,
                // Node's own error for this case: callers check its code.
                (Some(error), true) if error.contains("getaddrinfo EPERM") => None,
                (Some(error), true) if needs == ["never"] && error.contains("regular file") => None,
                (None, true) => Some("was not refused".to_owned()),
                (Some(error), _) => Some(error.clone()),
            };
            let has_effect = match cell.effect.as_deref() {
                Some("made") => fs::symlink_metadata(at.join("out").join(&cell.id)).is_ok(),
                Some("gone") => !at.join("gone").join(&cell.id).exists(),
                Some("hit") => canary.was_hit(&cell.id),
                _ => !is_refused,
            };
            if has_sandboxes() && !is_refused && is_closed_by_the_kernel(cell, none) {
                let failed = cell.error.is_some() || (cell.effect.is_some() && !has_effect);
                return (!failed).then(|| format!("{}: the kernel did not refuse it", cell.name));
            }
            let effect = (has_effect == is_refused).then(|| format!("effect: {has_effect}"));
            let is_flags = cell
                .error
                .as_ref()
                .is_some_and(|error| error.contains("--allow"));
            let words = is_flags.then(|| "speaks of Deno's flags".to_owned());
            let wrong: Vec<String> = how.into_iter().chain(effect).chain(words).collect();
            (!wrong.is_empty()).then(|| format!("{}: {}", cell.name, wrong.join("; ")))
        })
        .collect();
    assert!(wrong.is_empty(), "{none:?}: none\n{}", wrong.join("\n"));
    cells.len()
}

/// Returns true if a sandbox refuses more than the permissions do: signals to processes outside, the
/// network's interfaces without a network, and what programs write.
fn is_closed_by_the_kernel(cell: &Cell, none: Option<&str>) -> bool {
    let is_program = cell.needs.split(' ').any(|kind| kind == "run");
    match cell.name.as_str() {
        "process.kill" | "Deno.kill" => true,
        "os.networkInterfaces" | "Deno.networkInterfaces" => none == Some("net"),
        _ => none == Some("write") && is_program && cell.effect.is_some(),
    }
}

#[test]
fn every_api_works_where_everything_is_granted() {
    assert!(run_table(None) >= 120);
}

macro_rules! refuses {
    ($($name:ident: $kind:literal,)*) => {$(
        #[test]
        fn $name() {
            run_table(Some($kind));
        }
    )*};
}

refuses! {
    no_api_reads_without_read: "read",
    no_api_writes_without_write: "write",
    no_api_connects_without_net: "net",
    no_api_shows_variables_without_env: "env",
    no_api_starts_programs_without_run: "run",
    no_api_asks_the_system_without_sys: "sys",
    no_api_loads_native_code_without_ffi: "ffi",
    nothing_else_needs_import: "import",
}

const EXEC: &str = "export default pi => ({name: 't', description: 'd', parameters: {type: 'object', \
    properties: {command: {type: 'string'}, args: {type: 'array', items: {type: 'string'}}, \
    env: {type: 'object'}}}, \
    async execute(_id, {command, args, env}) { const ran = await pi.exec(command, args ?? [], {env}); \
    return {content: [{type: 'text', text: `${ran.code} ${ran.stdout}`}]} }})";

#[test]
fn a_list_of_programs_holds_by_name_and_by_path() {
    let sandbox = Sandbox::with_home();
    sandbox.write("t.ts", EXEC);
    sandbox.write("conf.yaml", "permissions: {run: [echo, /usr/bin/touch]}\n");
    let evil = sandbox.write(
        "evil/echo",
        "#!/bin/sh\n/usr/bin/touch \"$CASE/evil-ran\"\n",
    );
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    symlink("/bin/sh", sandbox.path().join("touch")).expect("a directory of ours");
    let call = |arguments: &str| {
        let line = format!("haft --config conf.yaml --tool t.ts call t '{arguments}'");
        sandbox.sh(&line)
    };
    assert_eq!(call(r#"{"command":"echo","args":["hi"]}"#).output, "0 hi\n");
    let made = call(r#"{"command":"touch","args":["made"]}"#);
    assert!(sandbox.path().join("made").exists(), "{}", made.output);
    for refused in [
        r#"{"command":"sh","args":["-c","touch ran"]}"#,
        r#"{"command":"/bin/sh","args":["-c","touch ran"]}"#,
        r#"{"command":"./touch","args":["-c","/usr/bin/touch ran"]}"#,
        r#"{"command":"./evil/echo"}"#,
        r#"{"command":"echo","env":{"PATH":"evil"}}"#,
        r#"{"command":"echo","env":{"LD_PRELOAD":"./evil.so"}}"#,
    ] {
        let ran = call(refused);
        assert!(
            ran.output.contains("is not permitted"),
            "{refused}: {}",
            ran.output
        );
        assert!(ran.output.contains("conf.yaml"), "{}", ran.output);
    }
    assert!(!sandbox.path().join("ran").exists());
    assert!(!sandbox.path().join("evil-ran").exists());
}

#[test]
fn children_see_the_granted_variables_only() {
    let sandbox = Sandbox::with_home();
    sandbox.write("t.ts", EXEC);
    sandbox.write("conf.yaml", "permissions: {env: [LANG, 'GIT_AUTHOR_*']}\n");
    let ran = sandbox.sh(
        r#"haft --config conf.yaml --tool t.ts call t '{"command":"/usr/bin/printenv","env":{"OWN":"1"}}'"#,
    );
    let mut lines: Vec<&str> = ran.output.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "0 GIT_AUTHOR_EMAIL=ada@example.org",
            "GIT_AUTHOR_NAME=Ada",
            "LANG=C.UTF-8",
            "OWN=1"
        ]
    );
}

#[test]
fn tools_that_are_programs_do_not_run_without_run() {
    let sandbox = Sandbox::with_home();
    let tool = "#!/bin/sh\n/usr/bin/touch \"$HOME/ran-kodelet\"\necho '{\"name\":\"k\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}'\n";
    let kodelet = sandbox.write("home/.kodelet/tools/k", tool);
    fs::set_permissions(&kodelet, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    sandbox.write(
        "home/.cycod/tools/y.yaml",
        "name: y\ndescription: d\nbash: touch \"$HOME/ran-yaml\"\n",
    );
    sandbox.write(
        "home/.config/aynd/tools/p.json",
        r#"{"name": "p", "tools": [{"name": "p", "description": "d", "inputSchema": {"type": "object"},
            "handler": {"type": "shell", "command": "touch ran-plugin"}}]}"#,
    );
    let sees = |granted: &str| {
        sandbox.write(
            "home/.config/haft/config.yaml",
            &format!("permissions: {{run: {granted}}}\n"),
        );
        let list = sandbox.sh("haft list").output;
        let yaml = sandbox.sh("haft call y").output;
        let plugin = sandbox.sh("haft call p").output;
        (list, yaml, plugin)
    };
    let ran = |file: &str| sandbox.path().join(file).exists();
    let (list, yaml, plugin) = sees("none");
    for said in [&list, &yaml, &plugin] {
        assert!(said.contains("is not permitted"), "{said}");
        assert!(said.contains("`permissions.run` is `none`"), "{said}");
    }
    for file in ["home/ran-kodelet", "home/ran-yaml", "ran-plugin"] {
        assert!(!ran(file), "{file}");
    }
    let (_, yaml, _) = sees("[touch]");
    assert!(ran("ran-plugin"), "touch is in the list");
    assert!(!ran("home/ran-yaml"), "bash is not: {yaml}");
    let (_, yaml, _) = sees("all");
    assert!(ran("home/ran-yaml"), "{yaml}");
    assert!(ran("home/ran-kodelet"));
}

/// S9: a trusted project's configuration cannot grant its own or the user's tools what the user
/// refuses.
#[test]
fn a_project_can_only_narrow_and_only_itself() {
    let sandbox = Sandbox::with_home();
    let probe = |name: &str| {
        format!(
            "import * as os from 'node:os';\nexport default pi => ({{name: '{name}', description: 'd', \
             parameters: {{type: 'object'}}, async execute() {{ const can = async f => {{ try {{ await f(); \
             return 'yes' }} catch (e) {{ return /is not permitted/.test(e.message) ? 'no' : String(e) }} }}; \
             const host = await can(() => os.hostname()); const read = await can(() => \
             require('node:fs').readFileSync('/etc/hostname')); const run = await can(() => \
             pi.exec('true')); return {{content: [{{type: 'text', text: `${{host}} ${{read}} ${{run}}`}}]}} }}}})"
        )
    };
    sandbox.write("home/.omp/agent/tools/mine.ts", &probe("mine"));
    sandbox.write("work/.omp/tools/theirs.ts", &probe("theirs"));
    sandbox.write(
        "home/.config/haft/config.yaml",
        "permissions: {sys: none}\n",
    );
    sandbox.write(
        "work/.haft/config.yaml",
        "permissions: {sys: all, read: [/usr], run: all}\nlimits: {heap_mb: 4000, call_timeout: none}\n",
    );
    let page = sandbox.sh("cd work && haft trust --yes").output;
    for line in [
        "permissions.sys: all",
        "permissions.read: [/usr]",
        "limits.heap_mb: 4000",
        "limits.call_timeout: none",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    let call = |tool: &str| sandbox.sh(&format!("cd work && haft call {tool}")).output;
    assert_eq!(
        call("mine"),
        "no yes yes\n",
        "the user's own tool is as the user says"
    );
    assert_eq!(
        call("theirs"),
        "no no yes\n",
        "the project's has what both grant"
    );
    sandbox.write(
        "work/.haft/config.yaml",
        "permissions: {sys: all, read: all}\n",
    );
    let page = sandbox.sh("cd work && haft trust --yes").output;
    assert!(
        page.contains("permissions.read: all  (was [/usr])"),
        "{page}"
    );
    assert!(page.contains("limits.heap_mb: 4000  (gone)"), "{page}");
}

const TIERS: &str = "import * as fs from 'node:fs';\nimport { execFileSync } from 'node:child_process';\n\
    let calls = 0;\nconst tool = (name, approval) => ({name, description: 'd', approval, \
    parameters: {type: 'object', properties: {what: {type: 'string'}}}, \
    async execute(_id, {what}) { calls++; if (what === 'write') fs.writeFileSync(`${name}.made`, ''); \
    if (what === 'run') execFileSync('/usr/bin/touch', [`${name}.made`]); \
    if (what === 'exec') await PI.exec('touch', [`${name}.made`]); \
    return {content: [{type: 'text', text: `ran ${calls} ${fs.existsSync('.')}`}]} }});\nlet PI;\n\
    export default pi => { PI = pi; return [tool('reads', 'read'), \
    tool('claims', () => 'read'), tool('writes', 'write'), tool('runs')] };\n";

#[test]
fn a_call_of_the_tier_read_neither_writes_nor_runs() {
    let sandbox = Sandbox::with_home();
    sandbox.write("t.ts", TIERS);
    let call = |mode: &str, tool: &str, what: &str| {
        let line = format!(
            "haft --tool t.ts call {tool} --arg what={what} --approval-mode {mode} < /dev/null"
        );
        let output = sandbox.sh(&line).output;
        let made = sandbox.path().join(format!("{tool}.made"));
        let was_made = made.exists();
        let _ = fs::remove_file(made);
        (output, was_made)
    };
    for mode in ["yolo", "write", "always-ask"] {
        let (output, _) = call(mode, "reads", "look");
        assert_eq!(output, "ran 1 true\n", "{mode}");
        for what in ["write", "run", "exec"] {
            let (output, was_made) = call(mode, "reads", what);
            assert!(
                !was_made && output.contains("is not permitted"),
                "{mode} {what}: {output}"
            );
            assert!(output.contains("tier `read`"), "{output}");
        }
    }
    // If a call runs because of its own `approval`, that tier restricts the call.
    let (output, was_made) = call("always-ask", "claims", "run");
    assert!(!was_made && output.contains("is not permitted"), "{output}");
    let (output, was_made) = call("yolo", "claims", "run");
    assert!(was_made, "nobody is asked in yolo mode: {output}");
    // A call that runs because its tier is `write` cannot start a program.
    let (output, was_made) = call("write", "writes", "write");
    assert!(was_made, "{output}");
    let (output, was_made) = call("write", "writes", "run");
    assert!(!was_made && output.contains("is not permitted"), "{output}");
    let (output, was_made) = call("yolo", "runs", "run");
    assert!(was_made, "{output}");
}

#[test]
fn nothing_gets_more_rights_than_an_unasked_call_before_the_approval() {
    let sandbox = Sandbox::with_home();
    let body = |at: &str| {
        format!(
            "import {{ execFileSync }} from 'node:child_process';\nconst hit = name => {{ try {{ \
             execFileSync('/usr/bin/touch', [name]) }} catch {{}} }};\n{at}"
        )
    };
    sandbox.write(
        "t.ts",
        &body(
            "hit('by-import');\nexport default () => { hit('by-factory'); return {name: 't', \
             description: 'd', parameters: {type: 'object'}, \
             approval() { hit('by-approval'); return 'exec' }, \
             formatApprovalDetails() { hit('by-details'); return '' }, \
             execute() { return 'ran' }} };\n",
        ),
    );
    let ran = sandbox.sh("haft --tool t.ts call t --approval-mode always-ask < /dev/null");
    assert_eq!(ran.code, 4, "{}", ran.output);
    for file in ["by-import", "by-factory", "by-approval", "by-details"] {
        assert!(!sandbox.path().join(file).exists(), "{file}");
    }
}

#[test]
fn the_user_sets_the_tier_of_a_tool() {
    let sandbox = Sandbox::with_home();
    sandbox.write("t.ts", TIERS);
    let config = |tiers: &str| {
        let text = format!("approval: {{mode: always-ask, tiers: {{{tiers}}}}}\n");
        sandbox.write("home/.config/haft/config.yaml", &text);
    };
    config("reads: exec");
    let ran = sandbox.sh("haft --tool t.ts call reads --arg what=look < /dev/null");
    assert_eq!(ran.code, 4, "it is asked about: {}", ran.output);
    config("runs: read");
    let ran = sandbox.sh("haft --tool t.ts call runs --arg what=run < /dev/null");
    assert!(ran.output.contains("is not permitted"), "{}", ran.output);
    assert!(!sandbox.path().join("runs.made").exists());
}

#[test]
fn a_deny_list_outweighs() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        "t.ts",
        "import * as fs from 'node:fs';\nexport default () => ({name: 't', description: 'd', parameters: \
         {type: 'object', properties: {path: {type: 'string'}}}, execute(_id, {path}) { return \
         {content: [{type: 'text', text: fs.readFileSync(path, 'utf8')}]} }})",
    );
    sandbox.write("open.txt", "open");
    sandbox.write("closed/secret.txt", "secret");
    sandbox.write("conf.yaml", "permissions: {read: {deny: [closed]}}\n");
    let call = |path: &str| {
        sandbox
            .sh(&format!(
                "haft --config conf.yaml --tool t.ts call t --arg path={path}"
            ))
            .output
    };
    assert_eq!(call("open.txt"), "open\n");
    assert!(call("closed/secret.txt").contains("is not permitted"));
}

#[test]
fn a_path_that_may_not_be_read_looks_missing() {
    let sandbox = Sandbox::with_home();
    sandbox.write("conf.yaml", "permissions: {read: [.]}\n");
    sandbox.write("work/there.txt", "there");
    sandbox.write("elsewhere/hidden.txt", "hidden");
    sandbox.write(
        "work/t.ts",
        "import * as fs from 'node:fs';\nimport { promisify } from 'node:util';\n\
         const all = async path => [fs.existsSync(path), await promisify(fs.exists)(path), \
         await new Promise(found => fs.exists(path, found)), await Bun.file(path).exists()];\n\
         export default () => ({name: 't', description: 'd', parameters: {type: 'object'}, \
         async execute() { let stat = ''; try { fs.statSync('../elsewhere/hidden.txt'); } \
         catch (error) { stat = error.name; }\n\
         const found = [await all('there.txt'), await all('../elsewhere/hidden.txt'), \
         await all('/proc/self/cgroup'), stat]; \
         return {content: [{type: 'text', text: JSON.stringify(found)}]}; }});\n",
    );
    let called = sandbox.sh("cd work && haft --config ../conf.yaml --tool t.ts call t");
    let no = "[false,false,false,false]";
    let expected = format!("[[true,true,true,true],{no},{no},\"NotCapable\"]\n");
    assert_eq!(called.output, expected);
}
