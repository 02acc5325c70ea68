//! Benchmark inputs: generated tool modules, and the script with which bun does the same.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{During, Result};

/// A module as people write them: a factory, a handful of zod parameters, a small body.
const MODULE: &str = include_str!("module.ts");
/// A module that starts `true` in a loop and prints the time of one start.
const SPAWN: &str = include_str!("spawn.ts");
/// A tool that does next to nothing, so that only the cost of the call is measured.
const ECHO: &str = include_str!("echo.ts");
/// A tool with twenty parameters, as large tools have.
const WIDE: &str = include_str!("wide.ts");
/// A tool with a long result that is rendered.
const DOCUMENT: &str = include_str!("document.ts");
/// A module in JavaScript, which Node can import too.
const WEB_MODULE: &str = include_str!("web_module.mjs");
/// The trivial tool in JavaScript.
const WEB_ECHO: &str = include_str!("web_echo.mjs");
/// The peer of the server cases, with Express.
const WEB_PEER: &str = include_str!("web_peer.mjs");
/// Bun's script: imports modules, calls their factories, lists or calls.
const PEER: &str = include_str!("peer.ts");

/// An executable that needs some time to describe itself, and answers with its input.
const EXECUTABLE: &str = include_str!("executable.sh");

/// The MCP servers that are called, and the script that calls them.
const MCP: [(&str, &str); 4] = [
    ("mcp_drive.mjs", include_str!("mcp_drive.mjs")),
    ("mcp_server.mjs", include_str!("mcp_server.mjs")),
    ("mcp_server.py", include_str!("mcp_server.py")),
    ("mcp_tools.ts", include_str!("mcp_tools.ts")),
];

/// Number of executables that are asked for their description.
pub const EXECUTABLES: usize = 50;

/// A YAML shell tool as people write them: a few parameters, steps, a test.
const SHELL_TOOL: &str = include_str!("shell_tool.yaml");

/// Number of YAML shell tools that are loaded.
pub const SHELL_TOOLS: usize = 200;

/// Number of modules in the large listing.
pub const MANY: usize = 100;

/// A temporary folder with an empty home in it.
pub struct Fixture {
    folder: TempDir,
}

impl Fixture {
    /// Writes all files; bun's script gets the node modules at `modules`.
    pub fn make(modules: &Path) -> Result<Self> {
        let doing = || "write the modules to measure".to_owned();
        let folder = tempfile::Builder::new()
            .prefix("haft-bench-")
            .tempdir()
            .during(doing)?;
        let fixture = Self { folder };
        for path in [
            fixture.one(),
            fixture.many(),
            fixture.web_modules(),
            fixture.home(),
            fixture.executables(),
            fixture.yaml_home().join(".cycod/tools"),
            fixture.path().join("peer"),
        ] {
            fs::create_dir_all(path).during(doing)?;
        }
        fs::write(fixture.one().join("tool_0.ts"), module(0)).during(doing)?;
        for number in 0..MANY {
            let path = fixture.many().join(format!("tool_{number}.ts"));
            fs::write(path, module(number)).during(doing)?;
        }
        for number in 0..MANY {
            let path = fixture.web_modules().join(format!("tool_{number}.mjs"));
            let text = WEB_MODULE.replace("NUMBER", &number.to_string());
            fs::write(path, text).during(doing)?;
        }
        fs::write(fixture.web_echo(), WEB_ECHO).during(doing)?;
        fs::write(fixture.web_peer(), WEB_PEER).during(doing)?;
        for number in 0..EXECUTABLES {
            let path = fixture.executables().join(format!("slow_{number}"));
            let text = EXECUTABLE.replace("NUMBER", &number.to_string());
            executable(&path, &text).during(doing)?;
        }
        for number in 0..SHELL_TOOLS {
            let file = format!(".cycod/tools/tool_{number}.yaml");
            let text = SHELL_TOOL.replace("NUMBER", &number.to_string());
            fs::write(fixture.yaml_home().join(file), text).during(doing)?;
        }
        fs::write(fixture.spawn(), SPAWN).during(doing)?;
        fs::write(fixture.echo(), ECHO).during(doing)?;
        fs::write(fixture.wide(), WIDE).during(doing)?;
        fs::write(fixture.document(), DOCUMENT).during(doing)?;
        fs::write(fixture.peer(), PEER).during(doing)?;
        for (name, text) in MCP {
            fs::write(fixture.mcp(name), text).during(doing)?;
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

    /// The folder with one module.
    pub fn one(&self) -> PathBuf {
        self.path().join("one")
    }

    /// The folder with many.
    pub fn many(&self) -> PathBuf {
        self.path().join("many")
    }

    /// The home directory of a user who has executables only.
    pub fn their_home(&self) -> PathBuf {
        self.path().join("their-home")
    }

    /// The home directory of a user who has YAML shell tools only.
    pub fn yaml_home(&self) -> PathBuf {
        self.path().join("yaml-home")
    }

    pub fn executables(&self) -> PathBuf {
        self.their_home().join(".ikigai/tools")
    }

    pub fn spawn(&self) -> PathBuf {
        self.path().join("spawn.ts")
    }

    pub fn echo(&self) -> PathBuf {
        self.path().join("echo.ts")
    }

    pub fn document(&self) -> PathBuf {
        self.path().join("document.ts")
    }

    pub fn wide(&self) -> PathBuf {
        self.path().join("wide.ts")
    }

    /// The folder with many modules in JavaScript.
    pub fn web_modules(&self) -> PathBuf {
        self.path().join("web")
    }

    pub fn web_echo(&self) -> PathBuf {
        self.path().join("web_echo.mjs")
    }

    pub fn web_peer(&self) -> PathBuf {
        self.path().join("peer/web_peer.mjs")
    }

    /// A file for the MCP servers, which find their packages beside it.
    pub fn mcp(&self, name: &str) -> PathBuf {
        self.path().join("peer").join(name)
    }

    pub fn peer(&self) -> PathBuf {
        self.path().join("peer/peer.ts")
    }
}

fn module(number: usize) -> String {
    MODULE.replace("NUMBER", &number.to_string())
}

#[cfg(unix)]
fn executable(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(windows)]
fn executable(path: &Path, text: &str) -> std::io::Result<()> {
    fs::write(path, text)
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
        let text = fs::read_to_string(fixture.many().join("tool_42.ts")).expect("there");
        assert!(text.contains(r#"name: "tool_42""#), "{text}");
        assert!(!text.contains("NUMBER"), "{text}");
        assert_eq!(fs::read_dir(fixture.many()).expect("there").count(), MANY);
    }
}
