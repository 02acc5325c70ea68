//! `haft tool get`: prints the definition of a tool from its file.

use super::super::exit::{Failure, SUCCESS};
use super::scope::NamedTool;
use super::{Bench, failed};
use crate::surface::terminal::say;
use crate::tool_files::{Datum, ToolFile, pretty};
use haft_render::text;
use haft_tool::terminal_text;

/// Display the details of a specific tool
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    tool: NamedTool,

    /// yaml or json
    #[arg(long, default_value = "yaml")]
    format: Format,

    /// Path, scope and schema as well
    #[arg(long)]
    detail: bool,
}

/// The forms of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    Yaml,
    Json,
}

impl Args {
    pub(super) fn run(&self, bench: Bench<'_>) -> Result<u8, Failure> {
        let file = self.tool.find(&bench.tool_files)?;
        let details = if self.detail {
            details(&bench, &file)
        } else {
            Vec::new()
        };
        let page = definition(&file, self.format, &details)?;
        bench.out.data(&page)?;
        bench.out.flush()?;
        if let Some(instead) = file.summary().and_then(|summary| summary.deprecated) {
            let name = &self.tool.name;
            say(&match instead {
                "" => terminal_text!("tool '{name}' is deprecated\n"),
                instead => terminal_text!("tool '{name}' is deprecated: {instead}\n"),
            });
        }
        Ok(SUCCESS)
    }
}

/// Returns the definition as text, without the values of secrets. Details are comments above it, or
/// extra keys in JSON.
pub(super) fn definition(
    file: &ToolFile,
    format: Format,
    details: &[(&'static str, Datum)],
) -> Result<String, Failure> {
    let left_out = match format {
        Format::Yaml => {
            let (text, left_out) = file.opened.shown();
            let mut page = String::new();
            for (name, value) in details {
                let value = match value {
                    Datum::Text(text) => text.clone(),
                    other => other.to_json(),
                };
                page.push_str(&format!("# {name}: {value}\n"));
            }
            page.push_str(&text);
            tell(&left_out);
            return Ok(page);
        }
        Format::Json => file.opened.shown_data(),
    };
    let Some((mut data, left_out)) = left_out else {
        let text = format!("'{}' is not valid YAML", file.name());
        let hint = format!("`haft tool validate {}` says where", file.name());
        return Err(failed(text).with_hint(hint).into());
    };
    if let Datum::Object(entries) = &mut data {
        let details = details.iter();
        entries.extend(details.map(|(name, value)| ((*name).to_owned(), value.clone())));
    }
    tell(&left_out);
    Ok(pretty(&data))
}

fn tell(left_out: &[String]) {
    if !left_out.is_empty() {
        let names = left_out.join("`, `");
        say(&terminal_text!("secrets are left out: `{names}`\n"));
    }
}

fn details(bench: &Bench<'_>, file: &ToolFile) -> Vec<(&'static str, Datum)> {
    let path = text::path(&file.path, &bench.config.home);
    let mut details = vec![
        ("path", Datum::Text(path.into_string())),
        ("scope", Datum::Text(file.scope.as_str().to_owned())),
    ];
    let schema = bench.tool_files.schema(file);
    if let Some(schema) = schema.and_then(|schema| Datum::from_json(&schema)) {
        details.push(("schema", schema));
    }
    details
}
