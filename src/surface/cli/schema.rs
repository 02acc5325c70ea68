//! `haft schema`: what a model provider is given.
//!
//! Without a name, the tools that a model may see: no hidden ones, and none that the
//! user has not trusted.

use serde::Serialize;
use serde_json::Value;

use super::exit::{Failure, SUCCESS};
use super::session::Session;
use crate::tool::Tool;

/// Print the JSON Schema of one tool's arguments, or of every tool
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft schema greet                  the schema alone
  haft schema                        [{name, description, inputSchema}, …] for a provider")]
pub(super) struct Args {
    /// The tool's name; without it, all tools that a model may see
    name: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Definition<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

impl Args {
    pub(super) async fn run(&self, session: &mut Session<'_>) -> Result<u8, Failure> {
        if let Some(name) = &self.name {
            let entry = session.tool(name).await?;
            session.out.json(&entry.tool.input_schema)?;
        } else {
            let catalog = session.catalog().await?;
            let offered = catalog.tools().filter(|tool| !tool.hidden && tool.trusted);
            let definitions: Vec<_> = offered.map(definition).collect();
            session.out.json(&definitions)?;
        }
        Ok(SUCCESS)
    }
}

fn definition(tool: &Tool) -> Definition<'_> {
    Definition {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.input_schema,
    }
}
