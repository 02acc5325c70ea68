//! Programs of tools in the sandboxes of their profiles: what a session cannot show, because it
//! needs a server (`tests/specs/sandbox` has the rest).

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use crate::loopback::{Answer, Server};
use crate::sandbox::Sandbox;

/// One of Kodelet's tools, which connects to hosts through the proxy of its variables and by itself.
const TOOL: &str = r#"#!/bin/bash
if [ "$1" = description ]; then echo '{"name":"get","description":"d"}'; exit; fi
login=${HTTP_PROXY#http://}
get() {
    exec 3<>"/dev/tcp/127.0.0.1/${login##*:}"
    printf 'GET http://%s/ HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\nConnection: close\r\n\r\n' \
        "$1" "$1" "$(printf %s "${login%@*}" | base64 -w0)" >&3
    tail -n +2 <&3 | sed '1,/^\r$/d'
    echo
}
get 127.0.0.1:PORT
get localhost:PORT
(exec 4<>/dev/tcp/127.0.0.1/PORT) 2>&1 | grep -o 'Permission denied' | head -1
"#;

#[test]
fn programs_reach_only_the_hosts_of_their_profile() {
    let server = Server::start(|_| Answer::ok("the page"));
    let port = server
        .url("")
        .rsplit(':')
        .next()
        .unwrap_or_default()
        .to_owned();
    let port = port.trim_end_matches('/');
    let sandbox = Sandbox::with_home();
    let path = sandbox.write("home/.kodelet/tools/get", &TOOL.replace("PORT", port));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    sandbox.write(
        "home/.config/haft/config.yaml",
        "profiles: {one: {extends: workspace, net: [127.0.0.1]}}\nsandbox: {user: one}\n",
    );
    let ran = sandbox.sh("haft call custom_tool_get | tail -n +3 | sed '/^$/d'");
    let refusal = format!(
        "`net` access to `localhost:{port}` is not permitted: `net` is `[127.0.0.1]` in the profile \
         `one` of ~/.config/haft/config.yaml, which `sandbox.user` in \
         ~/.config/haft/config.yaml names\n\
         hint: `haft permit NAME --allow net=localhost:{port}` grants it to the tool NAME"
    );
    assert_eq!(
        ran.output,
        format!("the page\n{refusal}\nPermission denied\n")
    );
    assert_eq!(server.requests().len(), 1);
}

/// Number of the system call `landlock_create_ruleset`, on every architecture.
const LANDLOCK_CREATE_RULESET: i64 = 444;

/// Runs `work` on a thread whose programs see a kernel without Landlock.
fn without_landlock<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let denied = SeccompAction::Errno(Errno::OPNOTSUPP.raw_os_error().unsigned_abs());
    let calls = BTreeMap::from([(LANDLOCK_CREATE_RULESET, Vec::new())]);
    let target = ARCH.try_into().expect("seccomp knows it");
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, denied, target);
    let filter: BpfProgram = filter.expect("a filter").try_into().expect("a program");
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            apply_filter(&filter).expect("filters are available");
            work()
        });
        thread.join().expect("the work ends")
    })
}

/// Tools that access files, start a program, and end their process.
const MODULE: &str = r#"
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
export default (pi) => [
  tool("reads", async (_id, { path }) => says(readFileSync(path, "utf8"))),
  tool("writes", async () => {
    const path = join(tmpdir(), `haft-test-${process.pid}`);
    writeFileSync(path, "written");
    const text = readFileSync(path, "utf8");
    rmSync(path);
    return says(text);
  }),
  tool("dies", async () => process.kill(process.pid, "SIGKILL")),
];
"#;

#[test]
fn modules_run_in_a_worker_where_the_kernel_has_no_landlock() {
    let sandbox = Sandbox::with_home();
    sandbox.write("home/.omp/agent/tools/module.ts", MODULE);
    sandbox.write("data", "the data");
    let config = "sandbox: {user: workspace, required: false}\n";
    sandbox.write("home/.config/haft/config.yaml", config);
    sandbox.write("required.yaml", &config.replace("false", "true"));
    let sh = |line: &str| without_landlock(|| sandbox.sh(line));
    let missing = "any of its rights on programs (this system has no sandbox: the kernel has no \
                   Landlock, or it is not enabled (`lsm=`))";

    let ran = sh("haft call reads --arg path=data");
    assert_eq!((ran.code, ran.output.as_str()), (0, "the data\n"));
    let ran = sh("haft call writes");
    assert_eq!((ran.code, ran.output.as_str()), (0, "written\n"));
    let refused = sh("haft call reads --arg path=/etc/passwd").output;
    assert!(
        refused.starts_with(
            "`read` access to `/etc/passwd` is not permitted: `read` is `[$CASE, $TMPDIR]`"
        ),
        "{refused}"
    );
    let dies = sh("haft call dies");
    assert_ne!(dies.code, 137, "haft goes on: {}", dies.output);
    assert!(dies.output.contains("SIGKILL"), "{}", dies.output);
    let shown = sh("haft show reads | grep ^isolated").output;
    assert_eq!(
        shown,
        format!("isolated  sandbox, not enforced: {missing}\n")
    );
    let doctor = sh("haft doctor").output;
    let warning = format!("this system does not enforce {missing}");
    assert!(doctor.contains(&warning), "{doctor}");

    let ran = sh("haft --config required.yaml call reads --arg path=data");
    assert_ne!(ran.code, 0);
    assert!(
        ran.output.contains("`sandbox.required` is true"),
        "{}",
        ran.output
    );
}
