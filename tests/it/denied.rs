//! Denied entries win over granted ones: each kind of access, each shape of the two entries, and each
//! way to try it.

use std::fs;
use std::os::unix::fs::symlink;

use crate::loopback::{Answer, Server};
use crate::sandbox::Sandbox;

const MODULE: &str = r#"
import * as fs from "node:fs";
import { spawnSync } from "node:child_process";
const text = (text) => ({ content: [{ type: "text", text }] });
const parameters = { type: "object", properties: { op: { type: "string" }, what: { type: "string" } } };
const ops = {
  read: (what) => fs.readFileSync(what, "utf8"),
  readLater: async (what) => await fs.promises.readFile(what, "utf8"),
  write: (what) => fs.writeFileSync(what, "DONE"),
  open: (what) => { fs.closeSync(fs.openSync(what, "r")); return "opened"; },
  env: (what) => process.env[what],
  allEnv: (what) => Object.entries(process.env).join(),
  net: async (what) => await (await fetch(what)).text(),
  spawn: (what) => spawnSync(what, ["file"]).stdout + "",
  command: (what) => Bun.spawnSync([what, "file"]).stdout + "",
  exec: async (what, pi) => (await pi.exec(what, ["file"])).stdout,
  sh: async (what, pi) => (await pi.exec("sh", ["-c", what])).stdout,
};
export default (pi) => ({ name: "t", description: "d", parameters, async execute(_id, { op, what }) {
  try { return text(`${await ops[op](what, pi)}`); } catch (error) { return text(`refused: ${error.message}`); }
} });
"#;

const YAML: &str = "name: y\ndescription: d\nbash: |\n  {C}\nparameters: {C: {type: string, description: \
                    c, required: true}}\ntags: [run]\n";

/// A project with the tools `t` (a module) and `y` (a program).
struct Project(Sandbox);

impl Project {
    fn new() -> Project {
        let mut sandbox = Sandbox::with_home();
        sandbox.set("MYAPP_TOKEN", "SECRET".to_owned());
        sandbox.set("MYAPP_NAME", "open".to_owned());
        sandbox.write("t.ts", MODULE);
        sandbox.write("home/.cycod/tools/y.yaml", YAML);
        sandbox.write("file", "open\n");
        for name in ["a/k", "a/b/k"] {
            sandbox.write(name, "SECRET\n");
        }
        let at = sandbox.path();
        symlink("a", at.join("link")).expect("a folder of ours");
        symlink("a/k", at.join("k")).expect("a folder of ours");
        symlink("/bin/cat", at.join("tac")).expect("a folder of ours");
        Project(sandbox)
    }

    fn permit(&self, permissions: &str) {
        self.0
            .write("conf.yaml", &format!("permissions: {{{permissions}}}\n"));
    }

    /// Calls the module in that isolation.
    fn module(&self, isolation: &str, op: &str, what: &str) -> String {
        let arguments = serde_json::json!({"op": op, "what": what});
        let options = format!("--config conf.yaml --isolation {isolation} --tool t.ts");
        self.0
            .sh(&format!("haft {options} call t '{arguments}'"))
            .output
    }

    /// Runs a command of the YAML tool in a sandbox.
    fn program(&self, command: &str) -> String {
        let options = "--config conf.yaml --isolation sandbox";
        self.0
            .sh(&format!("haft {options} call y --yolo --arg C='{command}'"))
            .output
    }
}

#[test]
fn what_is_denied_is_not_read() {
    let project = Project::new();
    for (permission, path, is_open) in [
        ("read: {allow: [.]}", "a/b/k", true),
        ("read: {allow: [a/b], deny: [a]}", "a/b/k", false),
        ("read: {allow: [a], deny: [a]}", "a/k", false),
        ("read: {allow: [.], deny: [a]}", "a/b/k", false),
        ("read: {allow: [.], deny: [a/b]}", "a/k", true),
        ("read: {allow: [., a/b/k], deny: [a/b]}", "a/b/k", false),
        ("read: {deny: [.]}", "a/k", false),
        // The denied entry is a link, and a link leads to it.
        ("read: {allow: [.], deny: [link]}", "a/k", false),
        ("read: {allow: [.], deny: [a]}", "link/k", false),
        ("read: {allow: [.], deny: [a]}", "k", false),
        ("read: {deny: [a/k]}", "k", false),
        ("read: {allow: [link/b], deny: [link]}", "link/b/k", false),
    ] {
        project.permit(permission);
        let command = format!("cat {path}");
        for (way, output) in [
            ("module", project.module("process", "read", path)),
            (
                "module, later",
                project.module("process", "readLater", path),
            ),
            (
                "module in a sandbox",
                project.module("sandbox", "read", path),
            ),
            ("its program", project.module("sandbox", "sh", &command)),
            ("YAML", project.program(&command)),
        ] {
            let case = format!("{permission} {path}, {way}: {output}");
            assert_eq!(output.contains("SECRET"), is_open, "{case}");
        }
    }
}

#[test]
fn what_is_denied_is_not_written() {
    let project = Project::new();
    for (permission, path, is_open) in [
        ("write: {allow: [.]}", "a/b/k", true),
        ("write: {allow: [a/b], deny: [a]}", "a/b/k", false),
        ("write: {allow: [a], deny: [a]}", "a/new", false),
        ("write: {allow: [.], deny: [a]}", "a/b/k", false),
        ("write: {allow: [.], deny: [link]}", "a/k", false),
        ("write: {allow: [.], deny: [a]}", "link/new", false),
        ("write: {allow: [.], deny: [a]}", "k", false),
        ("write: {deny: [a]}", "a/new", false),
    ] {
        project.permit(permission);
        let file = project.0.path().join(path);
        let before = fs::read_to_string(&file).ok();
        let command = format!("printf DONE > {path}");
        let tries: [(&str, &dyn Fn() -> String); 4] = [
            ("module", &|| project.module("process", "write", path)),
            ("module in a sandbox", &|| {
                project.module("sandbox", "write", path)
            }),
            ("its program", &|| project.module("sandbox", "sh", &command)),
            ("YAML", &|| project.program(&command)),
        ];
        for (way, attempt) in tries {
            let output = attempt();
            let after = fs::read_to_string(&file).ok();
            let case = format!("{permission} {path}, {way}: {output}");
            assert_eq!(after != before, is_open, "{case}");
            match &before {
                Some(text) => fs::write(&file, text).expect("it is ours"),
                None => drop(fs::remove_file(&file)),
            }
        }
    }
}

#[test]
fn a_denied_variable_is_not_seen() {
    let project = Project::new();
    for (permission, name, is_open) in [
        ("env: [PATH, HOME, 'MYAPP_*']", "MYAPP_TOKEN", true),
        (
            "env: {allow: [PATH, HOME, MYAPP_TOKEN], deny: ['MYAPP_*']}",
            "MYAPP_TOKEN",
            false,
        ),
        (
            "env: {allow: [PATH, HOME, MYAPP_TOKEN], deny: [MYAPP_TOKEN]}",
            "MYAPP_TOKEN",
            false,
        ),
        (
            "env: {allow: [PATH, HOME, 'MYAPP_*'], deny: [MYAPP_TOKEN]}",
            "MYAPP_TOKEN",
            false,
        ),
        (
            "env: {allow: [PATH, HOME, 'MYAPP_T*'], deny: ['MYAPP_*']}",
            "MYAPP_TOKEN",
            false,
        ),
        ("env: {deny: ['MYAPP_*']}", "MYAPP_TOKEN", false),
    ] {
        project.permit(permission);
        let command = format!("echo ${name}");
        for (way, output) in [
            ("module", project.module("process", "env", name)),
            ("module, all", project.module("process", "allEnv", name)),
            (
                "module in a sandbox",
                project.module("sandbox", "env", name),
            ),
            ("its program", project.module("process", "sh", &command)),
            ("YAML", project.program(&command)),
        ] {
            let case = format!("{permission} {name}, {way}: {output}");
            assert_eq!(output.contains("SECRET"), is_open, "{case}");
        }
    }
}

#[test]
fn a_denied_host_is_not_reached() {
    let project = Project::new();
    let server = Server::start(|_| Answer::ok("SECRET"));
    let url = server.url("");
    let port = url
        .trim_end_matches('/')
        .rsplit(':')
        .next()
        .expect("a port");
    let mut expected = 0;
    for (permission, host, is_open) in [
        ("net: [localhost]", "localhost", true),
        ("net: [127.0.0.1]", "127.0.0.1", true),
        (
            "net: {allow: ['localhost:PORT'], deny: [localhost]}",
            "localhost",
            false,
        ),
        (
            "net: {allow: [localhost], deny: ['localhost:PORT']}",
            "localhost",
            false,
        ),
        (
            "net: {allow: [localhost], deny: [localhost]}",
            "localhost",
            false,
        ),
        (
            "net: {allow: ['127.0.0.1:PORT'], deny: [localhost]}",
            "127.0.0.1",
            false,
        ),
        (
            "net: {allow: [localhost], deny: [127.0.0.1]}",
            "localhost",
            false,
        ),
        (
            "net: {allow: ['127.0.0.1:PORT'], deny: [127.0.0.0/8]}",
            "127.0.0.1",
            false,
        ),
        ("net: {deny: [127.0.0.1]}", "127.1", false),
        ("net: {deny: [127.0.0.1]}", "2130706433", false),
        ("net: {deny: [localhost]}", "[::ffff:127.0.0.1]", false),
        (
            "net: {allow: [127.0.0.0/8], deny: [127.0.0.0/16]}",
            "127.0.0.1",
            false,
        ),
        (
            "net: {allow: [127.0.0.0/8], deny: [127.1.0.0/16]}",
            "127.0.0.1",
            true,
        ),
    ] {
        project.permit(&permission.replace("PORT", port));
        let url = format!("http://{host}:{port}/");
        let command = format!("curl -gs {url}");
        // Only an entry that names the host itself leads through the proxy into the local network.
        let is_named = is_open && !permission.contains("/8");
        for (way, output, is_open) in [
            ("module", project.module("process", "net", &url), is_open),
            (
                "module in a sandbox",
                project.module("sandbox", "net", &url),
                is_named,
            ),
            (
                "its program",
                project.module("sandbox", "sh", &command),
                is_named,
            ),
            ("YAML", project.program(&command), is_named),
        ] {
            expected += usize::from(is_open);
            let case = format!("{permission} {host}, {way}: {output}");
            assert_eq!(output.contains("SECRET"), is_open, "{case}");
        }
        assert_eq!(server.requests().len(), expected, "{permission} {host}");
    }
}

#[test]
fn a_denied_program_is_not_started() {
    let project = Project::new();
    for (permission, program, is_open) in [
        ("run: [sh, bash, cat]", "cat", true),
        ("run: {deny: [rm]}", "./tac", true),
        ("run: {allow: [sh, bash, cat], deny: [cat]}", "cat", false),
        (
            "run: {allow: [sh, bash, cat], deny: [/bin/cat]}",
            "cat",
            false,
        ),
        (
            "run: {allow: [sh, bash, /usr/bin/cat], deny: [cat]}",
            "/usr/bin/cat",
            false,
        ),
        ("run: {deny: [/bin/cat]}", "cat", false),
        ("run: {deny: [cat]}", "/bin/cat", false),
        ("run: {deny: [cat]}", "./tac", false),
        ("run: {deny: [/usr/bin/cat]}", "./tac", false),
    ] {
        project.permit(permission);
        let command = format!("{program} file");
        for (way, output) in [
            ("spawn", project.module("process", "spawn", program)),
            (
                "Bun.spawnSync",
                project.module("process", "command", program),
            ),
            ("pi.exec", project.module("process", "exec", program)),
            (
                "module in a sandbox",
                project.module("sandbox", "spawn", program),
            ),
            ("its program", project.module("sandbox", "sh", &command)),
            ("YAML", project.program(&command)),
        ] {
            let case = format!("{permission} {program}, {way}: {output}");
            assert_eq!(output.contains("open"), is_open, "{case}");
        }
    }
    // A denied folder contains them all, by whatever name it is reached.
    project.permit("run: {deny: [/bin]}");
    for op in ["command", "exec"] {
        let output = project.module("process", op, "cat");
        assert!(output.contains("is not permitted"), "{op}: {output}");
    }
    let output = project.program("cat file");
    assert!(output.contains("is not permitted"), "{output}");
}

#[test]
fn what_a_permit_denies_nothing_grants() {
    let project = Project::new();
    project.permit("read: all");
    project.0.write("home/.omp/agent/tools/t.ts", MODULE);
    let run = |line: &str| project.0.sh(line).output;
    let read = |path: &str| {
        run(&format!(
            "haft call t '{{\"op\": \"read\", \"what\": \"{path}\"}}'"
        ))
    };
    assert!(read("a/b/k").contains("SECRET"));
    run("haft permit t --allow read=a/b --allow read=k");
    for denied in ["a", "link", "/"] {
        run(&format!("haft permit t --deny read={denied}"));
        for path in ["a/b/k", "k", "link/k"] {
            let output = read(path);
            assert!(
                output.contains("is not permitted"),
                "{denied} {path}: {output}"
            );
            assert!(!output.contains("SECRET"), "{denied} {path}: {output}");
        }
        run(&format!("haft permit t --remove read={denied}"));
    }
    assert!(read("a/b/k").contains("SECRET"));
}

#[test]
fn modules_use_harmless_devices_under_every_profile() {
    let project = Project::new();
    project.permit("read: [a], write: [a]");
    for isolation in ["process", "sandbox"] {
        for device in ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"] {
            let code = format!("/dev/../{}", &device[1..]);
            for path in [device, &code] {
                let output = project.module(isolation, "open", path);
                assert_eq!(output, "opened\n", "{isolation} {path}");
            }
        }
        let output = project.module(isolation, "open", "/dev/mem");
        assert!(output.contains("is not permitted"), "{output}");
        let output = project.module(isolation, "write", "/dev/null");
        assert_eq!(output, "undefined\n");
    }
    project.permit("read: {allow: [a], deny: [/dev]}");
    let output = project.module("process", "open", "/dev/null");
    assert!(output.contains("is not permitted"), "{output}");
}
