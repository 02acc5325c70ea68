//! Benchmark inputs: tool modules, and the scripts with which the peers do the same.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{During, Result};
use crate::files;

/// Number of modules in the large listings.
pub const MANY: usize = 100;

/// The files of the fixture, and the number of each. `*` in a path and `NUMBER` in a text stand for
/// the number of a copy.
const FILES: [(&str, usize, &str); 19] = [
    // A module as people write them: a factory, a handful of zod parameters, a small body.
    ("many/tool_*.ts", MANY, include_str!("module.ts")),
    // The same in JavaScript, which Node can import too.
    ("web/tool_*.mjs", MANY, include_str!("web_module.mjs")),
    // An executable that needs some time to describe itself, and answers with its input.
    (
        "their-home/.ikigai/tools/slow_*",
        50,
        include_str!("executable.sh"),
    ),
    // A YAML shell tool as people write them: a few parameters, steps, a test.
    (
        "yaml-home/.cycod/tools/tool_*.yaml",
        200,
        include_str!("shell_tool.yaml"),
    ),
    // A tool that does next to nothing, so that only the cost of the call is measured.
    ("echo.ts", 1, include_str!("echo.ts")),
    ("web_echo.mjs", 1, include_str!("web_echo.mjs")),
    // A tool with twenty parameters, as large tools have.
    ("wide.ts", 1, include_str!("wide.ts")),
    // A tool with a long result that is rendered.
    ("document.ts", 1, include_str!("document.ts")),
    // A module that starts `true` in a loop and prints the time of one start.
    ("spawn.ts", 1, include_str!("spawn.ts")),
    ("one_by_one.sh", 1, include_str!("one_by_one.sh")),
    // Bun's script: imports modules, calls their factories, lists or calls.
    ("peer/peer.ts", 1, include_str!("peer.ts")),
    ("peer/web_peer.mjs", 1, include_str!("web_peer.mjs")),
    // The tool and the MCP servers that are called, and the script that calls them.
    ("peer/mcp_tools.ts", 1, include_str!("mcp_tools.ts")),
    ("peer/mcp_drive.mjs", 1, include_str!("mcp_drive.mjs")),
    ("peer/mcp_server.mjs", 1, include_str!("mcp_server.mjs")),
    ("peer/mcp_server.py", 1, include_str!("mcp_server.py")),
    // A server that is called through haft, and another program that can stand in front of it.
    ("peer/mcp_bare.mjs", 1, include_str!("mcp_bare.mjs")),
    ("peer/mcp_proxy.py", 1, include_str!("mcp_proxy.py")),
    (
        "upstream-home/.config/haft/config.yaml",
        1,
        include_str!("mcp_upstream.yaml"),
    ),
];

/// A temporary folder with an empty home in it.
pub struct Fixture {
    folder: TempDir,
}

impl Fixture {
    /// Writes all files; the peers' scripts get the node modules at `modules`.
    pub fn make(modules: &Path) -> Result<Self> {
        let doing = || "write the modules to measure".to_owned();
        let folder = tempfile::Builder::new()
            .prefix("haft-bench-")
            .tempdir()
            .during(doing)?;
        let fixture = Self { folder };
        fs::create_dir(fixture.home()).during(doing)?;
        for (path, count, text) in FILES {
            for number in 0..count {
                let number = number.to_string();
                let path = fixture.path().join(path.replace('*', &number));
                files::write(&path, &text.replace("NUMBER", &number))?;
                make_executable(&path).during(doing)?;
            }
        }
        link(modules, &fixture.path().join("peer/node_modules")).during(doing)?;
        Ok(fixture)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(windows)]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn link(target: &Path, at: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(windows)]
fn link(target: &Path, at: &Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_dir(target, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_has_a_name_of_its_own() {
        let modules = tempfile::tempdir().expect("a temporary folder");
        let fixture = Fixture::make(modules.path()).expect("made");
        let many = fixture.path().join("many");
        let text = fs::read_to_string(many.join("tool_42.ts")).expect("there");
        assert!(text.contains(r#"name: "tool_42""#), "{text}");
        assert!(!text.contains("NUMBER"), "{text}");
        assert_eq!(fs::read_dir(many).expect("there").count(), MANY);
    }
}
