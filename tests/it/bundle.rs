//! `haft bundle`: the file as a client unpacks and starts it, and `server.json`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::mcp_client::{Client, TEST_TIMEOUT, text};
use crate::sandbox::Sandbox;

const GREET: &str = r#"
import { shout } from "./lib/shout";
import { end } from "pack";
export default () => ({ name: "greet", description: "Greets.", parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: shout("hello") + end }] }) });
"#;

const CWD: &str = r#"
export default (pi) => ({ name: "where", description: "Says where.", parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: pi.cwd }] }) });
"#;

/// A folder with two tools, a helper and a package. `haft` there starts the haft of the tests, which
/// is too large to be packed in each test.
fn tools() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools/greet.ts", GREET);
    sandbox.write("tools/where/index.ts", CWD);
    sandbox.write(
        "tools/lib/shout.ts",
        "export const shout = (text: string) => text.toUpperCase();",
    );
    sandbox.write("tools/types.d.ts", "export {};");
    sandbox.write("tools/.git/config", "secret");
    sandbox.write(
        "tools/node_modules/pack/package.json",
        r#"{"name": "pack", "version": "1.0.0", "main": "index.js"}"#,
    );
    sandbox.write("tools/node_modules/pack/index.js", "exports.end = '!';");
    let haft = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_haft"));
    sandbox.write("haft", &haft);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.path().join("haft"), mode).expect("it is ours");
    sandbox
}

fn bundle(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox
        .haft()
        .args([
            "bundle",
            "--mcpb",
            "tools",
            "--program",
            "haft",
            "--platform",
            "linux",
        ])
        .args(args)
        .output()
        .expect("haft starts")
}

/// Unpacks a bundle with another program than haft, which keeps the modes as clients do.
fn unpack(sandbox: &Sandbox, file: &str) -> Value {
    let unpack = "import sys, zipfile, os\n\
        with zipfile.ZipFile(sys.argv[1]) as bundle:\n\
        \x20   assert bundle.testzip() is None\n\
        \x20   for one in bundle.infolist():\n\
        \x20       path = bundle.extract(one, 'unpacked')\n\
        \x20       os.chmod(path, one.external_attr >> 16)\n";
    let status = sandbox
        .command("python3")
        .args(["-c", unpack, file])
        .status()
        .expect("Python is needed for these tests");
    assert!(status.success());
    let manifest = fs::read(sandbox.path().join("unpacked/manifest.json")).expect("a manifest");
    serde_json::from_slice(&manifest).expect("JSON")
}

#[test]
fn a_bundle_is_unpacked_and_started_as_its_manifest_says() {
    let sandbox = tools();
    let made = bundle(&sandbox, &["--version", "1.2.0", "--author", "Ada"]);
    let said = String::from_utf8_lossy(&made.stdout);
    assert_eq!(said, "wrote tools-1.2.0.mcpb with 2 tools\n", "{made:?}");
    let manifest = unpack(&sandbox, "tools-1.2.0.mcpb");
    assert_eq!(
        manifest,
        json!({
            "manifest_version": "0.4",
            "name": "tools",
            "version": "1.2.0",
            "description": "Tools: greet, where",
            "author": {"name": "Ada"},
            "server": {
                "type": "binary",
                "entry_point": "server/haft",
                "mcp_config": {
                    "command": "${__dirname}/server/haft",
                    "args": ["--cwd", "${user_config.directory}", "--tool",
                        "${__dirname}/tools/greet.ts", "--tool", "${__dirname}/tools/where", "mcp"],
                    "env": {"HAFT_DISABLED_PROVIDERS":
                        "native,omp-plugins,claude,claude-plugins,codex,plugin,kodelet,ikigai,cycod,aynd"},
                },
            },
            "tools": [{"name": "greet", "description": "Greets."},
                {"name": "where", "description": "Says where."}],
            "user_config": {"directory": {"type": "directory", "title": "Folder",
                "description": "The folder in which the tools work.", "default": "${HOME}",
                "required": false}},
            "compatibility": {"platforms": ["linux"]},
        })
    );
    let folder = sandbox.path().join("unpacked");
    assert!(!folder.join("tools/.git").exists());
    // Started as a client does, where the user has other tools and an untrusted project.
    sandbox.write("home/.omp/tools/other.ts", CWD);
    sandbox.write("work/.omp/tools/project.ts", CWD);
    let replaced = |text: &Value| {
        let text = text.as_str().expect("a text");
        let text = text.replace("${__dirname}", &folder.display().to_string());
        let work = sandbox.path().join("work");
        text.replace("${user_config.directory}", &work.display().to_string())
    };
    let config = &manifest["server"]["mcp_config"];
    let args: Vec<String> = config["args"]
        .as_array()
        .expect("a list")
        .iter()
        .map(replaced)
        .collect();
    let mut command = sandbox.command(&replaced(&config["command"]));
    for (name, value) in config["env"].as_object().expect("an object") {
        command.env(name, replaced(value));
    }
    let child = command
        .args(args)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the bundle starts");
    let work = sandbox.path().join("work");
    let mut client = Client::from_child(child, sandbox);
    client.initialize(json!({}));
    let listed = client.ask("tools/list", json!({}));
    let names: Vec<&Value> = listed["result"]["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, ["greet", "where"]);
    assert_eq!(text(&client.call("greet", json!({}))), "HELLO!");
    let said = client.call("where", json!({}));
    assert_eq!(Path::new(text(&said)), work);
    client.hang_up();
    assert!(client.ends_within(TEST_TIMEOUT).success());
}

#[test]
fn the_same_files_give_the_same_bytes_and_the_package_describes_them() {
    let sandbox = tools();
    sandbox.write(
        "tools/package.json",
        r#"{"name": "@ada/tools", "version": "3.1.4", "description": "Ada's tools.",
            "author": {"name": "Ada"}, "private": true}"#,
    );
    symlink("shout.ts", sandbox.path().join("tools/lib/link.ts")).expect("a link");
    let make = || {
        let made = bundle(&sandbox, &[]);
        let said = String::from_utf8_lossy(&made.stdout);
        assert_eq!(
            said, "wrote ada-tools-3.1.4.mcpb with 2 tools\n",
            "{made:?}"
        );
        fs::read(sandbox.path().join("ada-tools-3.1.4.mcpb")).expect("a bundle")
    };
    assert!(make() == make());
    let manifest = unpack(&sandbox, "ada-tools-3.1.4.mcpb");
    assert_eq!(manifest["description"], "Ada's tools.");
    assert_eq!(manifest["author"], json!({"name": "Ada"}));
    let link = sandbox.path().join("unpacked/tools/lib/link.ts");
    assert!(fs::symlink_metadata(link).expect("a file").is_file());
}

#[test]
fn what_cannot_be_bundled_is_an_error_and_writes_nothing() {
    let refused = |prepare: &dyn Fn(&Path), expected: &str| {
        let sandbox = tools();
        prepare(&sandbox.path());
        let made = bundle(&sandbox, &[]);
        let root = sandbox.path().display().to_string();
        let said = String::from_utf8_lossy(&made.stderr).replace(&root, "ROOT");
        assert!(!made.status.success());
        assert!(said.contains(expected), "{said}");
        let files = fs::read_dir(sandbox.path()).expect("a folder").flatten();
        let names: Vec<String> = files
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .collect();
        assert!(
            !names
                .iter()
                .any(|name| name.contains("mcpb") || name.starts_with(".tmp")),
            "{names:?}"
        );
    };
    refused(
        &|root| fs::rename(root.join("tools"), root.join("others")).expect("renamed"),
        "error: cannot open tools: No such file or directory",
    );
    refused(
        &|root| {
            fs::remove_dir_all(root.join("tools")).expect("removed");
            fs::write(root.join("tools"), "").expect("written");
        },
        "error: tools is not a folder",
    );
    refused(
        &|root| symlink("/etc/hostname", root.join("tools/name")).expect("a link"),
        "error: ROOT/tools/name leads out of the folder, to /etc/hostname",
    );
    refused(
        &|root| symlink("..", root.join("tools/lib/up")).expect("a link"),
        "error: ROOT/tools/lib/up leads to a folder that contains it",
    );
    refused(
        &|root| symlink("nowhere", root.join("tools/lost")).expect("a link"),
        "error: cannot read ROOT/tools/lost: No such file or directory",
    );
    refused(
        &|root| {
            fs::remove_file(root.join("tools/greet.ts")).expect("removed");
            fs::remove_dir_all(root.join("tools/where")).expect("removed");
        },
        "error: tools contains no tool",
    );
    refused(
        &|root| fs::write(root.join("tools/helper.ts"), "export const x = 1;").expect("written"),
        "error: not every module in tools is a tool",
    );
    refused(
        &|root| fs::remove_file(root.join("haft")).expect("removed"),
        "error: cannot put haft into the bundle: No such file or directory",
    );
    refused(
        &|root| {
            drop(std::os::unix::net::UnixListener::bind(root.join("tools/s")).expect("a socket"))
        },
        "error: ROOT/tools/s is neither a file nor a folder",
    );
}

#[test]
fn server_json_describes_this_version_for_the_registry() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let server: Value =
        serde_json::from_slice(&fs::read(root.join("server.json")).expect("a file")).expect("JSON");
    assert_eq!(
        server["$schema"],
        "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    );
    // The limits of the schema.
    let name = server["name"].as_str().expect("a name");
    let (space, own) = name.split_once('/').expect("a namespace");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    assert!(space.chars().all(|c| is_plain(c) && c != '_') && own.chars().all(is_plain));
    assert!(
        (1..=100).contains(
            &server["description"]
                .as_str()
                .expect("a text")
                .chars()
                .count()
        )
    );
    assert!((1..=100).contains(&server["title"].as_str().expect("a text").chars().count()));
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(server["repository"]["source"], "github");
    let packages = server["packages"].as_array().expect("a list");
    assert!(!packages.is_empty());
    for package in packages {
        assert!(
            ["npm", "pypi", "mcpb"]
                .iter()
                .any(|kind| package["registryType"] == **kind)
        );
        assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(package["transport"], json!({"type": "stdio"}));
        assert!(package["identifier"].is_string());
        let arguments = package["packageArguments"].as_array().expect("a list");
        assert_eq!(arguments, &[json!({"type": "positional", "value": "mcp"})]);
    }
}
