//! Attempts of a JavaScript tool, and of programs that it starts, to leave the sandbox of the profile
//! `workspace`. Attempts of programs by single system calls are in `crates/process/tests`.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command};

use serde_json::json;

use crate::sandbox::Sandbox;

const TOOL: &str = include_str!("sandbox_attacks.ts");

/// Targets of the attempts.
struct Outside {
    dir: tempfile::TempDir,
    tcp: u16,
    udp: UdpSocket,
    _socket: UnixListener,
    process: Child,
}

impl Outside {
    fn make() -> Outside {
        let dir = tempfile::tempdir().expect("the temporary directory can be written");
        let write = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text).expect("a directory of ours");
        };
        for name in ["secret", "long", "long2", "removed", "removed2"] {
            write(name, "a secret text");
        }
        write("data.json", "{}");
        write("code.mjs", "export default 1;");
        write("code.cjs", "module.exports = 1;");
        write("script", "true");
        let socket = UnixListener::bind(dir.path().join("socket")).expect("a directory of ours");
        let process = Command::new("sleep").arg("600").spawn();
        Outside {
            tcp: serve(),
            udp: UdpSocket::bind("127.0.0.1:0").expect("the loopback"),
            _socket: socket,
            process: process.expect("`sleep` is on every machine"),
            dir,
        }
    }

    fn for_tool(&self, dir: &Path, cache: &Path) -> serde_json::Value {
        let path = |name: &str| self.dir.path().join(name).display().to_string();
        json!({
            "file": path("secret"),
            "folder": self.dir.path().display().to_string(),
            "tcp": self.tcp,
            "udp": self.udp.local_addr().expect("it is bound").port(),
            "socket": path("socket"),
            "pid": self.process.id(),
            "dir": dir.display().to_string(),
            "cache": cache.display().to_string(),
        })
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // It may have ended by a signal of the tool.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts a server that accepts every connection and answers HTTP and WebSocket handshakes.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let length = stream.read(&mut request).unwrap_or_default();
                let request = String::from_utf8_lossy(&request[..length]).into_owned();
                let answer = match key_of(&request) {
                    Some(key) => handshake(&key),
                    None => {
                        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok".into()
                    }
                };
                // A client that has gone needs no answer.
                let _ = stream.write_all(answer.as_bytes());
                let _ = stream.read(&mut [0; 64]);
            });
        }
    });
    port
}

fn key_of(request: &str) -> Option<String> {
    request.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key")
            .then(|| value.trim().to_owned())
    })
}

/// Returns the answer to a WebSocket handshake; `openssl` is a prerequisite of the tests.
fn handshake(key: &str) -> String {
    let script = "printf '%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11' \"$1\" | openssl sha1 -binary | openssl base64";
    let accept = Command::new("sh").args(["-c", script, "sh", key]).output();
    let accept = accept.expect("`sh` is on every machine").stdout;
    let accept = String::from_utf8_lossy(&accept);
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
         sec-websocket-accept: {}\r\n\r\n",
        accept.trim()
    )
}

/// Runs all attempts under that configuration; returns the result of each by its name.
fn attempts(configuration: &str) -> BTreeMap<String, String> {
    let outside = Outside::make();
    let sandbox = Sandbox::with_home();
    let place = tempfile::tempdir().expect("the temporary directory can be written");
    let project = place.path().join("project");
    std::fs::create_dir(&project).expect("a directory of ours");
    std::fs::write(project.join("attacks.ts"), TOOL).expect("a directory of ours");
    let config = sandbox.write("config.yaml", configuration);
    let cache = sandbox.path().join("home/.cache/haft");
    sandbox.write("home/.cache/haft/compiled/entry", "");
    sandbox.write("home/.cache/haft/sandboxed/other/entry", "");
    let output = sandbox
        .haft()
        .current_dir(&project)
        .env("ATTACK_SECRET", "token")
        .env_remove("HAFT_ISOLATION")
        .arg("--config")
        .arg(config)
        .args(["--tool", "attacks.ts", "call", "attacks", "--yolo"])
        .arg(json!({ "outside": outside.for_tool(&project, &cache) }).to_string())
        .output()
        .expect("haft starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let results: Vec<(String, String)> = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr))
    });
    results.into_iter().collect()
}

/// Attempts that need namespaces, or root's rights over other processes, to work at all.
const PRIVILEGED: [&str; 4] = [
    "a program changes a priority",
    "a program lists the memory of the tests",
    "a program mounts in a namespace of its own",
    "a program reads variables of the tests",
];

#[test]
fn no_attempt_leaves_the_sandbox_and_each_works_without_it() {
    let free = "permissions: {ffi: all}\nsandbox: {user: full}\n";
    let bounded = "sandbox: {user: workspace, required: true}\n";
    let (free, bounded) = (attempts(free), attempts(bounded));
    assert!(free.len() >= 60, "{} attempts", free.len());
    let has_namespaces = !haft_process::sandbox::available().namespaces.is_empty();
    let can_work = |name: &str| has_namespaces || !PRIVILEGED.contains(&name);
    let useless = free.iter().filter(|(_, end)| *end != "works");
    let useless: Vec<_> = useless.filter(|(name, _)| can_work(name)).collect();
    assert!(useless.is_empty(), "never work: {useless:#?}");
    let escaped: Vec<_> = bounded.iter().filter(|(_, end)| *end == "works").collect();
    assert!(escaped.is_empty(), "leave the sandbox: {escaped:#?}");
    assert_eq!(free.len(), bounded.len());
}

/// Without the kernel, haft's own checks hold a tool that may start no programs.
#[test]
fn no_attempt_passes_the_checks_of_haft_without_a_sandbox() {
    let checked = attempts(
        "profiles:\n  checked: {isolation: process, read: [.], write: [.], net: none, env: [PATH], \
         run: none, sys: none, ffi: none, import: none}\nsandbox: {user: checked}\n",
    );
    assert!(checked.len() >= 60, "{} attempts", checked.len());
    let passed: Vec<_> = checked.iter().filter(|(_, end)| *end == "works").collect();
    assert!(passed.is_empty(), "{passed:#?}");
}
