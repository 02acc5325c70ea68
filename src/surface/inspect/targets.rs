//! The lists of targets in the form that debuggers read.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::json;

use crate::host::InspectedIsolate;

/// Returns the isolates as the list of `/json/list`. `host` is the server as the debugger knows it.
pub(super) fn list(isolates: &[InspectedIsolate], host: &str) -> String {
    let targets = isolates.iter().map(|isolate| {
        let InspectedIsolate { id, title, url } = isolate;
        json!({
            "description": "isolate of haft",
            "devtoolsFrontendUrl": format!(
                "devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws={host}/{id}"
            ),
            "id": id,
            "title": if title.is_empty() { "haft" } else { title },
            "type": "node",
            "url": url,
            "webSocketDebuggerUrl": format!("ws://{host}/{id}"),
        })
    });
    serde_json::Value::from_iter(targets).to_string()
}

/// Returns the object of `/json/version`.
pub(super) fn version() -> String {
    json!({
        "Browser": concat!("haft/", env!("CARGO_PKG_VERSION")),
        "Protocol-Version": "1.3",
    })
    .to_string()
}

/// Returns true if the `Host` of a request is `localhost` or an address.
pub(super) fn is_host_of_the_machine(host: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else {
            return false;
        };
        let port = port.strip_prefix(':');
        return address.parse::<Ipv6Addr>().is_ok() && port.is_none_or(is_port);
    }
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    let is_local = name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok();
    is_local && port.is_none_or(is_port)
}
