//! The cases of the MCP server: the same driver talks to haft and to the servers of other SDKs.

use std::ffi::OsString;
use std::path::Path;

use super::cases::{Case, Job, Programs, Reading};
use super::fixture::{Fixture, MANY};

/// Number of calls of one run.
const CALLS: &str = "20000";
/// Number of calls for the slowest peer.
const FEW: &str = "1000";

pub fn cases(programs: &Programs<'_>, fixture: &Fixture) -> Vec<Case> {
    let Programs {
        haft,
        host,
        bun,
        node,
        python,
        ..
    } = *programs;
    let driven = |what: &[&str], command: Vec<OsString>| Job {
        program: bun.to_path_buf(),
        arguments: [fixture.mcp("mcp_drive.mjs").into_os_string()]
            .into_iter()
            .chain(what.iter().map(OsString::from))
            .chain(command)
            .collect(),
        expect: ".".to_owned(),
    };
    let many: Vec<OsString> = (0..MANY)
        .map(|n| fixture.many().join(format!("tool_{n}.ts")).into())
        .collect();
    let ours = |tools: &[OsString]| {
        let tools = tools
            .iter()
            .flat_map(|tool| ["--tool".into(), tool.clone()]);
        let serving = ["serve".into(), "mcp".into()];
        [haft.into()]
            .into_iter()
            .chain(tools)
            .chain(serving)
            .collect()
    };
    let echo = [fixture.mcp("mcp_tools.ts").into_os_string()];
    let sdk = |runtime: &Path, modules: &[OsString]| {
        let server = fixture.mcp("mcp_server.mjs").into_os_string();
        let command = [runtime.into(), server].into_iter();
        command.chain(modules.iter().cloned()).collect()
    };
    let fastmcp = || vec![python.into(), fixture.mcp("mcp_server.py").into()];
    let case = |title, haft: Job, peer: Job, cold| Case {
        title,
        haft,
        peer,
        reading: Reading::Said,
        cold,
    };
    // A driver in JavaScript would take longer than the servers.
    let called = |count: &str, in_flight: &str, command: Vec<OsString>| Job {
        program: host.to_path_buf(),
        arguments: ["mcp", count, in_flight]
            .into_iter()
            .map(OsString::from)
            .chain(command)
            .collect(),
        expect: ".".to_owned(),
    };
    let calls = |title, count: &str, in_flight: &str, peer: Vec<OsString>| {
        let (haft, peer) = (
            called(count, in_flight, ours(&echo)),
            called(count, in_flight, peer),
        );
        case(title, haft, peer, false)
    };
    let tools = MANY.to_string();
    let list = ["list", tools.as_str()];
    let nothing = vec![bun.into(), "-e".into(), "0".into()];
    vec![
        calls("MCP call, SDK on node", CALLS, "1", sdk(node, &[])),
        calls("MCP call, SDK on bun", CALLS, "1", sdk(bun, &[])),
        calls("MCP call, FastMCP", FEW, "1", fastmcp()),
        calls(
            "MCP call, 64 at once, SDK on node",
            CALLS,
            "64",
            sdk(node, &[]),
        ),
        calls(
            "MCP call, 64 at once, SDK on bun",
            CALLS,
            "64",
            sdk(bun, &[]),
        ),
        calls("MCP call, 64 at once, FastMCP", FEW, "64", fastmcp()),
        case(
            "MCP list of 100 modules, cold, SDK on bun",
            driven(&list, ours(&many)),
            driven(&list, sdk(bun, &many)),
            true,
        ),
        case(
            "MCP list of 100 modules, again, SDK on bun",
            driven(&list, ours(&many)),
            driven(&list, sdk(bun, &many)),
            false,
        ),
        case(
            "MCP list of 100 modules, again, `bun -e 0`",
            driven(&list, ours(&many)),
            driven(&["wall"], nothing),
            false,
        ),
        case(
            "MCP cancellation to AbortSignal, SDK on node",
            driven(&["cancel"], ours(&echo)),
            driven(&["cancel"], sdk(node, &[])),
            false,
        ),
    ]
}
