//! `cargo xtask layout`: lists the functions of haft that run, so that the linker can place them
//! side by side.
//!
//! Only one in twenty of the program's functions ever runs, and they are spread over the whole
//! file. Each one brings its page into memory, and the system maps the neighbouring pages with it.
//! So most of haft's resident memory was code that never runs. `build.rs` passes the list that is
//! written here to the linker. The linker ignores unknown names (another compiler, other versions
//! of crates), so an old list does no harm. Write it anew after crates were updated.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::{During, Error, Result};
use crate::files;
use crate::{command, workspace};
use crate::{packages, prerequisites};

/// Find out which functions of haft run, and write `layout.gz`.
#[derive(Args)]
pub struct Layout {}

/// A module as people write them, and how many of them are listed.
const MODULE: &str = include_str!("bench/module.ts");
const MODULES: usize = 100;

/// Requests of an MCP client before its first call.
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"layout","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/list"}
"#;
const CALLS: usize = 5_000;

/// Lower limit of the functions in a plausible list.
const MIN_FUNCTIONS: usize = 5_000;

impl Layout {
    pub fn run(self) -> Result<()> {
        prerequisites::for_a_build()?;
        packages::ensure_programs("to see which functions run", &[("valgrind", "valgrind")])?;
        let root = workspace::root();
        let haft = build(&root)?;
        let ground = Ground::make()?;
        let mut functions = BTreeSet::new();
        let question = r#"{"question":"why"}"#;
        for words in [
            &["--version"][..],
            &["list"],
            // Once more, with warm caches.
            &["list"],
            &["call", "tool_0", question],
            &["serve", "mcp"],
        ] {
            functions.extend(ground.functions_of(&haft, words)?);
        }
        if functions.len() < MIN_FUNCTIONS {
            let text = format!("only {} functions were seen to run", functions.len());
            return Err(Error::unexpected(text));
        }
        let path = root.join("layout.gz");
        write(&path, &functions).during(|| format!("write `{}`", path.display()))?;
        println!("{} functions: {}", functions.len(), path.display());
        Ok(())
    }
}

/// Makes a release build with its symbol names.
fn build(root: &Path) -> Result<PathBuf> {
    let mut cargo = command::cargo(root);
    cargo.args(["rustc", "--release", "--package", "haft", "--bin", "haft"]);
    command::run(cargo.args(["--", "-C", "strip=none"]))?;
    Ok(workspace::target_dir(root)?.join("release/haft"))
}

/// Some modules, and an empty home.
struct Ground(tempfile::TempDir);

impl Ground {
    fn make() -> Result<Ground> {
        let making = || "make modules to be listed".to_owned();
        let folder = tempfile::tempdir().during(making)?;
        let tools = folder.path().join(".omp/agent/tools");
        for number in 0..MODULES {
            let text = MODULE.replace("NUMBER", &number.to_string());
            files::write(&tools.join(format!("tool_{number}.ts")), &text)?;
        }
        Ok(Ground(folder))
    }

    /// Returns the functions that run in `haft words…`.
    fn functions_of(&self, haft: &Path, words: &[&str]) -> Result<BTreeSet<String>> {
        let seen = self.0.path().join("callgrind.out");
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["-q", "--tool=callgrind", "--demangle=no"]);
        valgrind.arg(format!("--callgrind-out-file={}", seen.display()));
        valgrind.arg(haft).args(words);
        valgrind.env("HOME", self.0.path()).current_dir(&self.0);
        command::show(&valgrind);
        valgrind.stdin(Stdio::piped()).stdout(Stdio::piped());
        let shown = command::display(&valgrind);
        let running = || format!("run `{shown}`");
        let mut child = valgrind.spawn().during(running)?;
        let mut input = child.stdin.take().expect("it is a pipe");
        // On another thread, because the program may answer before it has read everything. A write
        // error is ignored: a command without input may have ended already.
        let talking = thread::spawn(move || {
            let _ = input.write_all(conversation().as_bytes());
            input
        });
        let mut talking = Some(talking);
        let last = format!(r#""id":{},"#, CALLS - 1);
        for line in child
            .stdout
            .take()
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines())
        {
            // The server runs until its input is closed.
            if line.during(running)?.contains(&last) {
                drop(talking.take().map(JoinHandle::join));
            }
        }
        let status = child.wait().during(running)?;
        if !status.success() {
            return Err(command::failed(&valgrind, status));
        }
        let text = fs::read(&seen).during(|| format!("read `{}`", seen.display()))?;
        Ok(functions_in(&String::from_utf8_lossy(&text)))
    }
}

fn conversation() -> String {
    let calls = (2..CALLS).map(|id| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"tool_1","arguments":{{"question":"why"}}}}}}"#
        ) + "\n"
    });
    HELLO.to_owned() + &calls.collect::<String>()
}

/// Extracts the function names from callgrind's output: `fn=(7) name`, and `cfn=` for callees. A
/// number behind `'` is the recursion depth.
fn functions_in(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter_map(|line| {
        let named = line
            .strip_prefix('c')
            .unwrap_or(line)
            .strip_prefix("fn=(")?;
        let (_, name) = named.split_once(") ")?;
        let name = name.split_once('\'').map_or(name, |(name, _)| name);
        Some(name.to_owned())
    });
    lines.collect()
}

fn write(path: &Path, functions: &BTreeSet<String>) -> std::io::Result<()> {
    let mut file = GzEncoder::new(File::create(path)?, Compression::best());
    for function in functions {
        writeln!(file, "{function}")?;
    }
    file.finish()?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::functions_in;

    #[test]
    fn names_are_taken_once_and_without_their_depth() {
        let text = "ob=(1) haft\nfn=(7) _ZN4haft3runE\n16 5\ncfn=(8) _RNvC4haft4call'2\n\
                    calls=1 2\nfn=(8)\nfn=(9) malloc\nfn=(7)\n";
        let found: Vec<_> = functions_in(text).into_iter().collect();
        assert_eq!(found, ["_RNvC4haft4call", "_ZN4haft3runE", "malloc"]);
    }
}
