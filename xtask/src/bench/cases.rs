//! Table of the benchmark cases: the commands of haft and of its peer for the same job.
//!
//! `haft`, `host` (`benches/host`, which uses the library), `bun`, `node` and `python` stand for the
//! measured programs, `@` for the folder of the fixture, and `*` for each of [`MANY`] numbers.
//! `host` itself prints the time of one repetition.

use std::path::Path;

use super::fixture::{Fixture, MANY};

pub struct Case {
    pub title: &'static str,
    pub haft: &'static str,
    pub peer: &'static str,
    /// A text that each side prints if it did its job.
    pub expect: &'static str,
    pub reading: Reading,
    /// Set if haft starts with empty caches. Bun keeps none for modules of this size.
    pub cold: bool,
}

/// Meaning of a run's number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// From the start of the process to its end.
    Wall,
    /// The microseconds that the program printed.
    Said,
}

/// The programs that are measured.
pub struct Programs<'a> {
    pub haft: &'a Path,
    pub host: &'a Path,
    pub bun: &'a Path,
    /// The Node that runs the official MCP SDK.
    pub node: &'a Path,
    /// A Python that has FastMCP.
    pub python: &'a Path,
}

/// A case that measures whole processes, which print `expect`.
const fn wall(
    title: &'static str,
    expect: &'static str,
    haft: &'static str,
    peer: &'static str,
) -> Case {
    Case {
        title,
        haft,
        peer,
        expect,
        reading: Reading::Wall,
        cold: false,
    }
}

/// A case whose programs print a number of microseconds.
const fn said(title: &'static str, haft: &'static str, peer: &'static str) -> Case {
    Case {
        reading: Reading::Said,
        ..wall(title, ".", haft, peer)
    }
}

impl Case {
    const fn cold(self) -> Case {
        Case { cold: true, ..self }
    }
}

pub const CASES: &[Case] = &[
    wall(
        "start (`--version`, `-e 0`)",
        "",
        "haft --version",
        "bun -e 0",
    ),
    wall(
        "list 1 module, cold",
        "tool_0",
        "haft --tool=@many/tool_0.ts list",
        "bun @peer/peer.ts list @many/tool_0.ts",
    )
    .cold(),
    wall(
        "list 100 modules, cold",
        "tool_99",
        "haft --tool=@many/tool_*.ts list",
        "bun @peer/peer.ts list @many/tool_*.ts",
    )
    .cold(),
    wall(
        "list 100 modules, again",
        "tool_99",
        "haft --tool=@many/tool_*.ts list",
        "bun @peer/peer.ts list @many/tool_*.ts",
    ),
    wall(
        "call 1 tool",
        "readme.md 7",
        r#"haft --tool=@many/tool_0.ts call tool_0 {"question":"why","limit":7}"#,
        r#"bun @peer/peer.ts call @many/tool_0.ts {"question":"why","limit":7}"#,
    ),
    said(
        "`pi.exec(\"true\")`, each",
        r#"haft --tool=@spawn.ts call spawn_loop {"count":200}"#,
        r#"bun @peer/peer.ts call @spawn.ts {"count":200}"#,
    ),
    said(
        "1 of 100 modules saved, loaded again",
        "host reload @many/tool_*.ts",
        "bun @peer/peer.ts reload @many/tool_0.ts",
    ),
    said(
        "SDK call",
        r#"host calls @echo.ts echo {"text":"hello"} hello 1"#,
        r#"bun @peer/peer.ts loop @echo.ts {"text":"hello"}"#,
    ),
    said(
        "SDK call, 64 at once",
        r#"host calls @echo.ts echo {"text":"hello"} hello 64"#,
        r#"bun @peer/peer.ts loop @echo.ts {"text":"hello"}"#,
    ),
    said(
        "SDK call, 1024 at once",
        r#"host calls @echo.ts echo {"text":"hello"} hello 1024"#,
        r#"bun @peer/peer.ts loop @echo.ts {"text":"hello"}"#,
    ),
    said(
        "SDK call, 20 parameters",
        "host calls @wide.ts wide WIDE hello 1",
        "bun @peer/peer.ts loop @wide.ts WIDE",
    ),
    said(
        "SDK call of a Rust closure, beside the bare closure",
        "host native call",
        "host native bare-call",
    ),
    said(
        "draw 10,000 lines of Markdown",
        "host render @document.ts",
        "bun @peer/peer.ts render @document.ts",
    ),
    wall(
        "discover 50 executables that take 50 ms, beside one by one",
        "slow_49",
        "env HOME=@their-home haft list",
        "sh @one_by_one.sh @their-home/.ikigai/tools",
    )
    .cold(),
    said(
        "call of an executable tool",
        "host tools call @their-home slow_0",
        "host tools bare-call @their-home slow_0",
    ),
    // One client measures both sides, over as many connections; the peer is Express on Node.
    said(
        "REST: list 100 tools, beside Express",
        "host web list 16 tool_99 haft --tool=@web/tool_*.mjs SERVE_REST",
        "host web list 16 tool_99 node @peer/web_peer.mjs @web/tool_*.mjs",
    ),
    said(
        "REST: call of a JS tool, beside Express",
        "host web call 64 hello haft --tool=@web_echo.mjs SERVE_REST",
        "host web call 64 hello node @peer/web_peer.mjs @web_echo.mjs",
    ),
    // The peer is the least that Rust, or bash, can do for the same job.
    said(
        "load 200 YAML shell tools, processor time, beside a parser",
        "host shell load @yaml-home",
        "host shell parse @yaml-home",
    ),
    said(
        "YAML tool with one command",
        "host shell call",
        "host shell bare-call",
    ),
    said(
        "YAML tool with 100 parallel `sleep 1`",
        "host shell parallel",
        "host shell bare-parallel",
    ),
    said(
        "child: input, outputs, end",
        "host children call",
        "host children bare-call",
    ),
    said(
        "child: 100 MB read",
        "host children drain 100",
        "host children bare-drain 100",
    ),
    said(
        "child: 1 GB read",
        "host children drain 1000",
        "host children bare-drain 1000",
    ),
    said(
        "child: stop, beyond the grace",
        "host children stop",
        "host children bare-stop",
    ),
    // The driver is in Rust, because one in JavaScript would take longer than the servers.
    said(
        "MCP call, SDK on node",
        "host mcp 20000 1 echo haft --tool=@peer/mcp_tools.ts serve mcp",
        "host mcp 20000 1 echo node @peer/mcp_server.mjs",
    ),
    said(
        "MCP call, SDK on bun",
        "host mcp 20000 1 echo haft --tool=@peer/mcp_tools.ts serve mcp",
        "host mcp 20000 1 echo bun @peer/mcp_server.mjs",
    ),
    said(
        "MCP call, FastMCP",
        "host mcp 1000 1 echo haft --tool=@peer/mcp_tools.ts serve mcp",
        "host mcp 1000 1 echo python @peer/mcp_server.py",
    ),
    said(
        "MCP call, 64 at once, SDK on node",
        "host mcp 20000 64 echo haft --tool=@peer/mcp_tools.ts serve mcp",
        "host mcp 20000 64 echo node @peer/mcp_server.mjs",
    ),
    said(
        "MCP call, 64 at once, SDK on bun",
        "host mcp 20000 64 echo haft --tool=@peer/mcp_tools.ts serve mcp",
        "host mcp 20000 64 echo bun @peer/mcp_server.mjs",
    ),
    said(
        "MCP call, 64 at once, FastMCP",
        "host mcp 1000 64 echo haft --tool=@peer/mcp_tools.ts serve mcp",
        "host mcp 1000 64 echo python @peer/mcp_server.py",
    ),
    said(
        "MCP list of 100 modules, cold, SDK on bun",
        "bun @peer/mcp_drive.mjs list 100 haft --tool=@many/tool_*.ts serve mcp",
        "bun @peer/mcp_drive.mjs list 100 bun @peer/mcp_server.mjs @many/tool_*.ts",
    )
    .cold(),
    said(
        "MCP list of 100 modules, again, SDK on bun",
        "bun @peer/mcp_drive.mjs list 100 haft --tool=@many/tool_*.ts serve mcp",
        "bun @peer/mcp_drive.mjs list 100 bun @peer/mcp_server.mjs @many/tool_*.ts",
    ),
    // Behind both sides is the same server; `benches/runs` compares more proxies, in turn.
    said(
        "MCP call of a server behind haft, beside the direct call",
        "host mcp 20000 1 echo env HOME=@upstream-home NODE=@peer/node_modules/.bin/node \
         UPSTREAM=@peer/mcp_bare.mjs haft serve mcp",
        "host mcp 20000 1 echo node @peer/mcp_bare.mjs",
    ),
    said(
        "MCP call of a server behind haft, 64 at once, beside the direct call",
        "host mcp 20000 64 echo env HOME=@upstream-home NODE=@peer/node_modules/.bin/node \
         UPSTREAM=@peer/mcp_bare.mjs haft serve mcp",
        "host mcp 20000 64 echo node @peer/mcp_bare.mjs",
    ),
    said(
        "MCP call of a server behind haft, beside FastMCP's proxy",
        "host mcp 1000 1 echo env HOME=@upstream-home NODE=@peer/node_modules/.bin/node \
         UPSTREAM=@peer/mcp_bare.mjs haft serve mcp",
        "host mcp 1000 1 echo python @peer/mcp_proxy.py @peer/node_modules/.bin/node \
         @peer/mcp_bare.mjs",
    ),
    said(
        "MCP list of 100 modules, again, `bun -e 0`",
        "bun @peer/mcp_drive.mjs list 100 haft --tool=@many/tool_*.ts serve mcp",
        "bun @peer/mcp_drive.mjs wall bun -e 0",
    ),
    said(
        "MCP cancellation to AbortSignal, SDK on node",
        "bun @peer/mcp_drive.mjs cancel haft --tool=@peer/mcp_tools.ts serve mcp",
        "bun @peer/mcp_drive.mjs cancel node @peer/mcp_server.mjs",
    ),
];

/// Returns the words of a command of the table, with the placeholders replaced.
pub fn words(command: &str, programs: &Programs<'_>, fixture: &Fixture) -> Vec<String> {
    let path = |path: &Path| vec![path.display().to_string()];
    let word = |word: &str| match word {
        "haft" => path(programs.haft),
        "host" => path(programs.host),
        "bun" => path(programs.bun),
        "node" => path(programs.node),
        "python" => path(programs.python),
        "WIDE" => vec![wide_arguments()],
        "SERVE_REST" => "serve rest --listen 127.0.0.1:0 --no-token"
            .split(' ')
            .map(str::to_owned)
            .collect(),
        word => {
            let word = word.replace('@', &format!("{}/", fixture.path().display()));
            if word.contains('*') {
                (0..MANY)
                    .map(|n| word.replace('*', &n.to_string()))
                    .collect()
            } else {
                vec![word]
            }
        }
    };
    command.split(' ').flat_map(word).collect()
}

/// Returns a value for each parameter of `wide.ts`.
fn wide_arguments() -> String {
    let groups = (0..4).map(|n| {
        format!(
            r#""text_{n}":"hello","count_{n}":{n},"flag_{n}":true,"kind_{n}":"two","list_{n}":["a","b"]"#
        )
    });
    format!("{{{}}}", groups.collect::<Vec<_>>().join(","))
}
