//! `haft bundle`: writes haft and a folder of tools as one file.

use std::path::PathBuf;

use serde_json::Value;

use super::context::CommandContext;
use super::exit::{Failure, SUCCESS};
use super::flags::named;
use super::schema::offered;
use crate::bundle::{self, About, Files, Platform};
use crate::host::Host;
use crate::surface::terminal::say;
use haft_render::{problem, units};
use haft_tool::{Error, ErrorKind, terminal_text};
use haft_tool::{Severity, Tool};

/// Make one file of haft and a folder of tools, which clients install with a click
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft bundle --mcpb tools
  haft bundle --mcpb tools --output ~/site/tools.mcpb --version 1.2.0 --author 'Ada'

docs/bundle.md says what is in the file, and what the tools may do where it is installed.")]
pub(super) struct Args {
    /// The folder with the tools: modules, folders with an index, or a package
    folder: PathBuf,

    /// As an MCP bundle (.mcpb), the only form
    #[arg(long, required = true)]
    mcpb: bool,

    /// The file to write [default: NAME-VERSION.mcpb]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Name of the bundle [default: of package.json, or of the folder]
    #[arg(long)]
    name: Option<String>,

    /// Version of the bundle [default: of package.json, or 1.0.0]
    #[arg(long)]
    version: Option<String>,

    /// Purpose of the tools [default: of package.json, or their names]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Author of the bundle [default: of package.json, or unknown]
    #[arg(long, value_name = "NAME")]
    author: Option<String>,

    /// The haft to put in [default: this one]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// The system that this haft is for
    #[arg(long, value_name = "SYSTEM", value_parser = named(Platform::ALL, Platform::as_str))]
    platform: Option<Platform>,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let files = Files::of(&self.folder)?;
        // Only the tools of the folder, as the bundle offers them.
        let mut config = session.host.config().clone();
        let paths = bundle::tool_paths(&files, &config.cwd.join(&self.folder));
        config.configured_paths = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        config.only_providers = Some(vec!["config".to_owned()]);
        let program = self.program.clone();
        let program = program.unwrap_or_else(|| config.agents.program.clone());
        let host = Host::for_one_call(config);
        let catalog = host.catalog().await;
        host.shutdown().await;
        let problems = catalog.problems.iter();
        let mut errors = problems
            .filter(|problem| problem.severity == Severity::Error)
            .peekable();
        if errors.peek().is_some() {
            for error in errors {
                say(&problem::problem(error, session.home(), session.err));
            }
            let text = format!("not every module in {} is a tool", self.folder.display());
            return Err(Error::new(ErrorKind::Load, text)
                .with_hint("correct them, and put helpers into a folder without an index")
                .into());
        }
        let tools: Vec<&Tool> = offered(&catalog).collect();
        let about = self.about(&tools);
        let default = PathBuf::from(format!("{}-{}.mcpb", about.name, about.version));
        let target = self.output.as_ref().unwrap_or(&default);
        bundle::write(target, &program, &files, &about, &tools)?;
        let count = units::count(tools.len(), "tool");
        session
            .out
            .print_line(&terminal_text!("wrote {} with {count}", target.display()))?;
        Ok(SUCCESS)
    }

    /// Returns the description of the bundle by flags, by the package, or by default.
    fn about(&self, tools: &[&Tool]) -> About {
        let package = std::fs::read_to_string(self.folder.join("package.json")).ok();
        let package: Option<Value> = package.and_then(|text| serde_json::from_str(&text).ok());
        let package = package.unwrap_or_default();
        let of_package = |key: &str| package[key].as_str().map(str::to_owned);
        let folder = std::fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let folder_name = folder
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let author =
            of_package("author").or_else(|| package["author"]["name"].as_str().map(str::to_owned));
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let name = self
            .name
            .clone()
            .or_else(|| of_package("name"))
            .or(folder_name);
        // A name with a scope would be a folder in the name of the file.
        let name = name
            .unwrap_or_else(|| "tools".to_owned())
            .replace(['/', '\\'], "-");
        let or = |given: &Option<String>, found: Option<String>, default: String| {
            given.clone().or(found).unwrap_or(default)
        };
        About {
            name: name.trim_start_matches('@').to_owned(),
            version: or(&self.version, of_package("version"), "1.0.0".to_owned()),
            description: or(
                &self.description,
                of_package("description"),
                format!("Tools: {}", names.join(", ")),
            ),
            author: or(&self.author, author, "unknown".to_owned()),
            platform: self.platform.unwrap_or_else(Platform::own),
        }
    }
}
