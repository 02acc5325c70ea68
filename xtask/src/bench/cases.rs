//! Table of the benchmark cases: the job of haft and the job of its peer for each case.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::fixture::{EXECUTABLES, Fixture, MANY};

/// Number of children that the loop of the `pi.exec` case starts.
const CHILDREN: usize = 200;

pub struct Case {
    pub title: &'static str,
    pub haft: Job,
    pub peer: Job,
    pub reading: Reading,
    /// Set if haft starts with empty caches. Bun keeps none for modules of this size.
    pub cold: bool,
}

/// A command, and a text that its output contains if the job was done.
pub struct Job {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub expect: String,
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
    /// `benches/host`, which uses the library.
    pub host: &'a Path,
    pub bun: &'a Path,
    /// The Node that runs the official MCP SDK.
    pub node: &'a Path,
    /// A Python that has FastMCP.
    pub python: &'a Path,
}

pub fn all(programs: &Programs<'_>, fixture: &Fixture) -> Vec<Case> {
    let Programs {
        haft, host, bun, ..
    } = *programs;
    let haft_program = haft;
    let nothing = job(bun, words(&["-e", "0"]), "");
    let haft = |arguments: &[&str], tools: &[PathBuf], expect: &str| {
        let tools = tools.iter().flat_map(|tool| ["--tool".into(), tool.into()]);
        job(haft, tools.chain(words(arguments)), expect)
    };
    let bun = |arguments: &[&str], tools: &[PathBuf], expect: &str| {
        let (action, rest) = arguments.split_at(1);
        let script = [fixture.peer().into(), action[0].into()];
        let tools = tools.iter().map(OsString::from);
        job(
            bun,
            script.into_iter().chain(tools).chain(words(rest)),
            expect,
        )
    };

    let one = [fixture.one().join("tool_0.ts")];
    let many: Vec<_> = (0..MANY)
        .map(|n| fixture.many().join(format!("tool_{n}.ts")))
        .collect();
    let last = format!("tool_{}", MANY - 1);
    let question = r#"{"question":"why","limit":7}"#;
    let answer = "readme.md 7";
    let spawn = [fixture.spawn()];
    let count = format!(r#"{{"count":{CHILDREN}}}"#);
    let list = |title, modules: &[PathBuf], expect: &str, cold| Case {
        title,
        haft: haft(&["list"], modules, expect),
        peer: bun(&["list"], modules, expect),
        reading: Reading::Wall,
        cold,
    };
    let wide = wide_arguments();
    let echo = r#"{"text":"hello"}"#;
    let in_a_loop = |title, module: PathBuf, tool: &str, arguments: &str, in_flight: &str| Case {
        title,
        haft: job(
            host,
            [OsString::from("calls"), module.clone().into()]
                .into_iter()
                .chain(words(&[tool, arguments, "hello", in_flight])),
            ".",
        ),
        peer: bun(&["loop", arguments], &[module], "."),
        reading: Reading::Said,
        cold: false,
    };
    // The peer of these cases is the least that Rust can do for the same job, in the same program.
    let beside_bare = |subject: &str, title, ours: &[&str], bare: &[&str]| {
        let side = |arguments| {
            let subject = words(&[subject]).into_iter();
            job(host, subject.chain(words(arguments)), ".")
        };
        Case {
            title,
            haft: side(ours),
            peer: side(bare),
            reading: Reading::Said,
            cold: false,
        }
    };
    let child = |title, ours: &[&str], bare: &[&str]| beside_bare("children", title, ours, bare);
    let shell = |title, ours: &[&str], bare: &[&str]| beside_bare("shell", title, ours, bare);
    let yaml_home = fixture.yaml_home().display().to_string();
    let (their_home, executables) = (fixture.their_home(), fixture.executables());
    let tool = |side: &str| {
        let (home, tool) = (their_home.clone().into(), "slow_0".into());
        let words = words(&["tools", side]).into_iter();
        job(host, words.chain([home, tool]), ".")
    };
    let slowest = format!("slow_{}", EXECUTABLES - 1);
    let one_by_one = r#"for tool in "$0"/*; do "$tool" --schema; done"#;
    let web_modules: Vec<_> = (0..MANY)
        .map(|n| fixture.web_modules().join(format!("tool_{n}.mjs")))
        .collect();
    // One client measures both sides, over as many connections; the peer is Express on Node.
    let served = |title, kind: &str, connections: &str, expect: &str, modules: &[PathBuf]| {
        let side = |server: Vec<OsString>| {
            let subject = words(&["web", kind, connections, expect]).into_iter();
            job(host, subject.chain(server), ".")
        };
        let node = [OsString::from("node"), fixture.web_peer().into()].into_iter();
        let node = node.chain(modules.iter().map(OsString::from)).collect();
        let tools = modules
            .iter()
            .flat_map(|tool| ["--tool".into(), tool.into()]);
        let serve = words(&["serve", "rest", "--listen", "127.0.0.1:0", "--no-token"]);
        let haft = [haft_program.into()].into_iter().chain(tools).chain(serve);
        Case {
            title,
            haft: side(haft.collect()),
            peer: side(node),
            reading: Reading::Said,
            cold: false,
        }
    };
    vec![
        Case {
            title: "start (`--version`, `-e 0`)",
            haft: haft(&["--version"], &[], "haft"),
            peer: nothing,
            reading: Reading::Wall,
            cold: false,
        },
        list("list 1 module, cold", &one, "tool_0", true),
        list("list 100 modules, cold", &many, &last, true),
        list("list 100 modules, again", &many, &last, false),
        Case {
            title: "call 1 tool",
            haft: haft(&["call", "tool_0", question], &one, answer),
            peer: bun(&["call", question], &one, answer),
            reading: Reading::Wall,
            cold: false,
        },
        Case {
            title: "`pi.exec(\"true\")`, each",
            haft: haft(&["call", "spawn_loop", &count], &spawn, "."),
            peer: bun(&["call", &count], &spawn, "."),
            reading: Reading::Said,
            cold: false,
        },
        Case {
            title: "1 of 100 modules saved, loaded again",
            haft: job(
                host,
                words(&["reload"])
                    .into_iter()
                    .chain(many.iter().map(OsString::from)),
                ".",
            ),
            peer: bun(&["reload"], &many[..1], "."),
            reading: Reading::Said,
            cold: false,
        },
        in_a_loop("SDK call", fixture.echo(), "echo", echo, "1"),
        in_a_loop("SDK call, 64 at once", fixture.echo(), "echo", echo, "64"),
        in_a_loop(
            "SDK call, 1024 at once",
            fixture.echo(),
            "echo",
            echo,
            "1024",
        ),
        in_a_loop(
            "SDK call, 20 parameters",
            fixture.wide(),
            "wide",
            &wide,
            "1",
        ),
        Case {
            title: "draw 10,000 lines of Markdown",
            haft: job(
                host,
                [OsString::from("render"), fixture.document().into()],
                ".",
            ),
            peer: bun(&["render"], &[fixture.document()], "."),
            reading: Reading::Said,
            cold: false,
        },
        Case {
            title: "SDK call of a Rust closure, beside the bare closure",
            haft: job(host, words(&["native", "call"]), "."),
            peer: job(host, words(&["native", "bare-call"]), "."),
            reading: Reading::Said,
            cold: false,
        },
        Case {
            title: "discover 50 executables that take 50 ms, beside one by one",
            haft: listing_for(haft_program, &their_home, &slowest),
            peer: job(
                Path::new("sh"),
                words(&["-c", one_by_one])
                    .into_iter()
                    .chain([executables.into()]),
                &slowest,
            ),
            reading: Reading::Wall,
            cold: true,
        },
        Case {
            title: "call of an executable tool",
            haft: tool("call"),
            peer: tool("bare-call"),
            reading: Reading::Said,
            cold: false,
        },
        served(
            "REST: list 100 tools, beside Express",
            "list",
            "16",
            &last,
            &web_modules,
        ),
        served(
            "REST: call of a JS tool, beside Express",
            "call",
            "64",
            "hello",
            &[fixture.web_echo()],
        ),
        shell(
            "load 200 YAML shell tools, processor time, beside a parser",
            &["load", &yaml_home],
            &["parse", &yaml_home],
        ),
        shell("YAML tool with one command", &["call"], &["bare-call"]),
        shell(
            "YAML tool with 100 parallel `sleep 1`",
            &["parallel"],
            &["bare-parallel"],
        ),
        child("child: input, outputs, end", &["call"], &["bare-call"]),
        child(
            "child: 100 MB read",
            &["drain", "100"],
            &["bare-drain", "100"],
        ),
        child(
            "child: 1 GB read",
            &["drain", "1000"],
            &["bare-drain", "1000"],
        ),
        child("child: stop, beyond the grace", &["stop"], &["bare-stop"]),
    ]
}

/// `haft list` for a user with this home directory.
fn listing_for(haft: &Path, home: &Path, expect: &str) -> Job {
    let mut variable = OsString::from("HOME=");
    variable.push(home);
    let arguments = [variable, haft.into(), "list".into()];
    job(Path::new("env"), arguments, expect)
}

/// A value for each parameter of `wide.ts`.
fn wide_arguments() -> String {
    let groups = (0..4).map(|n| {
        format!(
            r#""text_{n}":"hello","count_{n}":{n},"flag_{n}":true,"kind_{n}":"two","list_{n}":["a","b"]"#
        )
    });
    format!("{{{}}}", groups.collect::<Vec<_>>().join(","))
}

fn job(program: &Path, arguments: impl IntoIterator<Item = OsString>, expect: &str) -> Job {
    Job {
        program: program.to_path_buf(),
        arguments: arguments.into_iter().collect(),
        expect: expect.to_owned(),
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}
