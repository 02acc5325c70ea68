//! Programs of tools in the sandboxes of their profiles: what a session cannot show, because it
//! needs a server (`tests/specs/sandbox` has the rest).

use std::fs;
use std::os::unix::fs::PermissionsExt;

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
