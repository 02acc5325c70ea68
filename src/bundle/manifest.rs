//! `manifest.json` of a bundle.

use serde_json::{Value, json};

use super::{PROGRAM, TOOLS};
use haft_tool::{TerminalText, Tool};

/// Providers of tools of the machine, which a bundle does not offer.
const OTHER_PROVIDERS: &str =
    "native,omp-plugins,claude,claude-plugins,codex,plugin,kodelet,ikigai,cycod,aynd";

/// Description of a bundle for people.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) author: String,
    pub(crate) platform: Platform,
}

/// Operating system of the haft in the bundle, under the names of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Platform {
    Linux,
    Darwin,
    Win32,
}

impl Platform {
    pub(crate) const ALL: [Platform; 3] = [Platform::Linux, Platform::Darwin, Platform::Win32];

    /// Returns the platform of this program.
    pub(crate) fn own() -> Platform {
        match std::env::consts::OS {
            "macos" => Platform::Darwin,
            "windows" => Platform::Win32,
            _ => Platform::Linux,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Returns the text of the manifest. `modules` are the paths of the tools below the folder of
/// tools, `tools` what they offer.
pub(super) fn text(about: &About, modules: &[&str], tools: &[&Tool]) -> String {
    let mut args = vec!["--cwd".to_owned(), "${user_config.directory}".to_owned()];
    for module in modules {
        let path = format!("${{__dirname}}/{TOOLS}/{module}");
        args.extend(["--tool".to_owned(), path.trim_end_matches('/').to_owned()]);
    }
    args.push("mcp".to_owned());
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| {
            let description = TerminalText::from_prose(&tool.description).into_string();
            json!({"name": tool.name, "description": description})
        })
        .collect();
    let manifest = json!({
        "manifest_version": "0.4",
        "name": about.name,
        "version": about.version,
        "description": about.description,
        "author": {"name": about.author},
        "server": {
            "type": "binary",
            "entry_point": PROGRAM,
            "mcp_config": {
                "command": format!("${{__dirname}}/{PROGRAM}"),
                "args": args,
                "env": {"HAFT_DISABLED_PROVIDERS": OTHER_PROVIDERS},
            },
        },
        "tools": tools,
        "user_config": {
            "directory": {
                "type": "directory",
                "title": "Folder",
                "description": "The folder in which the tools work.",
                "default": "${HOME}",
                "required": false,
            },
        },
        "compatibility": {"platforms": [about.platform.as_str()]},
    });
    format!("{manifest:#}\n")
}
